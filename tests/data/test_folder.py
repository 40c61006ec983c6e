"""Folders of pictures: how they are laid out, what stays in memory, and files that can't be decoded."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

from nonneg._errors import UserError
from nonneg.data import Files, Images
from nonneg.data.folder import read_folder, read_picture
from tests.data.pictures import save


def grow(folder, layout, height=8, width=8):
    """Pictures at these paths below a folder, each of its own colours."""
    return {path: save(folder / path, height, width, seed=i) for i, path in enumerate(layout)}


def stacked(pixels, paths):
    return torch.from_numpy(np.stack([pixels[path] for path in paths])).permute(0, 3, 1, 2)


CLASSES = ["train/cat/1.png", "train/cat/2.png", "train/dog/1.png"]


@pytest.mark.parametrize("part", ["test", "val"])
def test_training_and_test_parts_of_class_folders(tmp_path, part):
    pixels = grow(tmp_path, [*CLASSES, f"{part}/dog/9.png", f"{part}/cat/8.png"])
    data = read_folder(tmp_path, "pets")
    assert (data.name, data.classes) == ("pets", ("cat", "dog"))
    assert torch.equal(data.train.pixels, stacked(pixels, CLASSES))
    assert data.train.labels.tolist() == [0, 0, 1]
    assert torch.equal(data.test.pixels, stacked(pixels, [f"{part}/cat/8.png", f"{part}/dog/9.png"]))
    assert data.test.labels.tolist() == [0, 1]


def test_a_test_part_without_classes_stands_back_for_one_with_them(tmp_path):
    grow(tmp_path, [*CLASSES, "test/1.png", "val/dog/1.png"])
    assert read_folder(tmp_path, "a").test.labels.tolist() == [1]


def test_class_folders_alone_have_no_test_part(tmp_path):
    grow(tmp_path, ["cat/1.png", "dog/deep/er/1.png"])
    data = read_folder(tmp_path, "a")
    assert (data.classes, data.test) == (("cat", "dog"), None)
    assert data.train.labels.tolist() == [0, 1]


def test_pictures_alone_have_no_labels_and_come_sorted(tmp_path):
    pixels = grow(tmp_path, ["b.png", "c.PNG", "a.bmp"])
    data = read_folder(tmp_path, "a")
    assert (data.classes, data.test, data.train.labels) == ((), None, None)
    assert torch.equal(data.train.pixels, stacked(pixels, ["a.bmp", "b.png", "c.PNG"]))


def test_what_is_no_picture_or_hidden_is_not_seen(tmp_path):
    grow(tmp_path, ["cat/1.png", ".trash/1.png", "cat/._1.png", "cat/.thumbs/1.png"])
    (tmp_path / "cat" / "notes.txt").write_text("a cat")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dog.png").mkdir()
    data = read_folder(tmp_path, "a")
    assert data.classes == ("cat",)
    assert len(data.train) == 1


def test_chosen_classes_come_in_the_order_they_are_chosen_in(tmp_path):
    grow(tmp_path, [*CLASSES, "train/eel/1.png", "val/eel/1.png", "val/cat/1.png", "val/dog/1.png"])
    data = read_folder(tmp_path, "a", ["eel", "cat"])
    assert data.classes == ("eel", "cat")
    assert data.train.labels.tolist() == [0, 1, 1]
    assert data.test.labels.tolist() == [0, 1]


# Memory or files


@pytest.mark.parametrize(("side", "kind"), [((96, 90), Images), ((97, 20), Files)])
def test_small_pictures_are_kept_in_memory(tmp_path, side, kind):
    grow(tmp_path, ["a.png", "b.png"], *side)
    train = read_folder(tmp_path, "a").train
    assert type(train) is kind
    assert len(train) == 2
    assert train.channels == 3


def test_pictures_of_different_sizes_stay_files(tmp_path):
    """Also where the one that differs is not among the first that are looked at."""
    grow(tmp_path, [f"{i:02}.png" for i in range(50)])
    save(tmp_path / "01.png", 9, 8, seed=0)
    train = read_folder(tmp_path, "a").train
    assert train == Files(tuple(tmp_path / f"{i:02}.png" for i in range(50)), None)


def test_more_than_the_memory_stays_files(tmp_path, monkeypatch):
    grow(tmp_path, ["a.png", "b.png"])
    monkeypatch.setattr("nonneg.data.folder._MEMORY", 2 * 8 * 8 * 3)
    assert isinstance(read_folder(tmp_path, "a").train, Images)
    monkeypatch.setattr("nonneg.data.folder._MEMORY", 2 * 8 * 8 * 3 - 1)
    assert isinstance(read_folder(tmp_path, "a").train, Files)


# Files that can't be decoded


def test_a_bad_file_is_fatal_by_default(tmp_path):
    grow(tmp_path, CLASSES)
    bad = tmp_path / "train/cat/15.png"
    bad.write_text("no picture")
    with pytest.raises(UserError, match=rf"^Expected a picture, got {re.escape(str(bad))}, which can't be decoded \("):
        read_folder(tmp_path, "a")


def test_a_bad_file_is_skipped_with_its_label_and_reported_once(tmp_path):
    pixels = grow(tmp_path, [*CLASSES, "test/dog/1.png"])
    bad = [tmp_path / "train/cat/15.png", tmp_path / "test/cat/1.png"]
    for path in bad:
        path.parent.mkdir(exist_ok=True)
        path.write_text("no picture")
    reported = []
    data = read_folder(tmp_path, "a", on_bad_file="skip", report_bad=reported.append)
    assert reported == bad
    assert torch.equal(data.train.pixels, stacked(pixels, CLASSES))
    assert data.train.labels.tolist() == [0, 0, 1]
    assert data.test.labels.tolist() == [1]


def test_bad_files_among_pictures_that_stay_files_are_left_to_whoever_decodes_them(tmp_path):
    grow(tmp_path, ["a.png", "c.png"])
    save(tmp_path / "d.png", 9, 9, seed=0)
    (tmp_path / "b.png").write_text("no picture")
    reported = []
    train = read_folder(tmp_path, "a", on_bad_file="skip", report_bad=reported.append).train
    assert isinstance(train, Files)
    assert len(train) == 4
    assert reported == []


def test_a_folder_of_bad_files_only_is_refused(tmp_path):
    """Their sizes can be read, their pixels can't."""
    for name in ("a.png", "b.png"):
        save(tmp_path / name, 60, 60, seed=0)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[:200])
    with pytest.raises(UserError, match=r"got 2 files that can't be decoded, .*a\.png the first of them\.$"):
        read_folder(tmp_path, "a", on_bad_file="skip")


def test_pictures_of_every_mode_are_read_as_colours(tmp_path):
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    for mode in ("L", "RGB", "RGBA", "CMYK"):
        Image.fromarray(grey).convert(mode).save(tmp_path / f"{mode}.tif")
        read = np.asarray(read_picture(tmp_path / f"{mode}.tif"))
        assert np.array_equal(read, np.repeat(grey[:, :, None], 3, 2)), mode
    Image.fromarray(grey.astype(np.uint16) << 8).save(tmp_path / "16.png")
    assert np.array_equal(np.asarray(read_picture(tmp_path / "16.png"))[:, :, 0], grey)


@pytest.mark.parametrize("error", [IndexError, OSError, MemoryError, Image.DecompressionBombError])
def test_whatever_a_decoder_raises_names_the_file(tmp_path, monkeypatch, error):
    save(tmp_path / "a.png", 4, 4, seed=0)

    def fail(*_):
        raise error("broken")

    monkeypatch.setattr(Image.Image, "convert", fail)
    with pytest.raises(UserError, match=rf"a\.png, which can't be decoded \({error.__name__}\); mend or remove it"):
        read_picture(tmp_path / "a.png")


# Folders that can't be read


@pytest.mark.parametrize(
    ("layout", "classes", "message"),
    [
        (["a.txt"], None, "Expected pictures or class folders in {}, got neither; a picture ends in .bmp, .gif, "),
        (["test/cat/1.png"], None, "Expected train/ beside test/ in {}, got none; move or rename the folders."),
        (["cat/1.png", "val/cat/1.png"], None, "Expected train/ beside val/ in {}, got none;"),
        ([*CLASSES, "test/eel/1.png"], None, "Expected pictures in the class folders of {}/test, got none; a picture"),
        (
            CLASSES,
            ["dog", "eel", "gnu"],
            "Expected a folder for each of 3 classes in {}/train, got none for 2 of them, eel for one; check",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(tmp_path, layout, classes, message):
    grow(tmp_path, [path for path in layout if path.endswith("png")])
    with pytest.raises(UserError, match="^" + re.escape(message.format(tmp_path))):
        read_folder(tmp_path, "a", classes)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        UserError, match=r"^Expected a folder of pictures at .*none, got no folder there; check the path"
    ):
        read_folder(tmp_path / "none", "a")
