"""`nonneg embed` writes what the model makes of every picture."""

import re

import numpy as np
import pytest
import torch
from PIL import Image

from nonneg.data import load
from tests.data.pictures import files, save
from tests.finished_runs import CLASSES, array_file, finished_run


@pytest.fixture
def model(nonneg, tmp_path):
    return finished_run(tmp_path / "run", f"npz:{tmp_path / 'tiny.npz'}")


def arrays(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file}


@pytest.mark.parametrize("which", ["z", "h"])
@pytest.mark.parametrize("run", ["run", "run/model.safetensors"])
def test_the_file_holds_what_the_model_makes(nonneg, model, tmp_path, which, run):
    option = [] if which == "z" else ["--which", which]
    assert nonneg("embed", run, "npz:tiny.npz", "-o", "out/f.npz", *option) == (0, "Wrote out/f.npz\n", "")
    data = load(f"npz:{tmp_path / 'tiny.npz'}")
    found = arrays(tmp_path / "out" / "f.npz")
    assert sorted(found) == ["classes", "features", "labels", "test_features", "test_labels"]
    for prefix, split in (("", data.train), ("test_", data.test)):
        with torch.no_grad():
            expected = model.both(split.pixels.float() / 255)["hz".index(which)]
        assert np.allclose(found[f"{prefix}features"], expected, atol=1e-5)
        assert found[f"{prefix}labels"].tolist() == split.labels.tolist()
    assert found["features"].std() > 0.01
    assert tuple(found["classes"]) == CLASSES


def test_without_a_name_it_is_features_npz_here(nonneg, model, tmp_path):
    assert nonneg("embed", "run", "npz:tiny.npz").out == "Wrote features.npz\n"
    assert (tmp_path / "features.npz").is_file()


def test_unlabelled_pictures_and_such_of_another_size_will_do(nonneg, model, tmp_path):
    array_file(tmp_path / "other.npz", n=5, n_test=0, side=17, labelled=False)
    assert nonneg("embed", "run", "npz:other.npz", "-o", "f.npz").status == 0
    found = arrays(tmp_path / "f.npz")
    assert {name: array.shape for name, array in found.items()} == {"features": (5, 12)}


def test_a_data_set_by_name_is_one_word(nonneg, model, tmp_path):
    assert nonneg("embed", "run", "digits", "-o", "f.npz").status == 0
    assert arrays(tmp_path / "f.npz")["test_features"].shape == (360, 12)


def test_pictures_of_other_channels_are_refused(refused, model, tmp_path):
    array_file(tmp_path / "colour.npz", channels=3)
    assert refused("embed", "run", "npz:colour.npz") == (
        "Expected pictures of 1 channels, as the model's, got 3 in npz:colour.npz; convert them."
    )
    assert not (tmp_path / "features.npz").exists()


@pytest.mark.parametrize("size", [8, 300], ids=["small", "large"])
def test_files_that_cannot_be_decoded_are_fatal_or_named_and_left_out(nonneg, refused, tmp_path, size):
    finished_run(tmp_path / "run", "digits", channels=3)
    for i in range(4):
        save(tmp_path / "pets" / "cat" / f"{i}.png", size, size, seed=i)
    bad = tmp_path / "pets" / "cat" / "1.png"
    bad.write_text("no picture")
    line = refused("embed", "run", "folder:pets")
    assert re.match(r"Expected a picture, got .*1\.png, which can't be decoded", line)
    assert line.endswith("mend or remove it, or use --skip-bad-files.")
    said = nonneg("embed", "run", "folder:pets", "--skip-bad-files")
    assert said.status == 0
    assert said.err == "Skipped pets/cat/1.png, which can't be decoded.\n"
    assert arrays(tmp_path / "features.npz")["features"].shape == (3, 12)


def test_large_pictures_are_decoded_as_in_training(nonneg, tmp_path):
    model = finished_run(tmp_path / "run", "digits", channels=3)
    split = files(tmp_path / "pets" / "cat", 3)
    for i, path in enumerate(split.paths):
        Image.new("RGB", (200 + i, 130), (60 * i, 100, 200)).save(path)
    assert nonneg("embed", "run", "folder:pets").status == 0
    flat = torch.tensor([[60 * i, 100, 200] for i in range(3)]) / 255
    with torch.no_grad():
        expected = model.features(flat[:, :, None, None].expand(-1, -1, 8, 8).contiguous())
    assert np.allclose(arrays(tmp_path / "features.npz")["features"], expected, atol=1e-5)


WRONG = [
    ("run npz:tiny.npz --which x", "Expected --which to be z (features) or h (backbone), got 'x'."),
    ("run npz:none.npz", "Expected an array file at none.npz, got no file there; check the path."),
    ("run npz:features.npz", "Expected pictures, an array 'images', in features.npz, got features;"),
    ("run cifra10", "did you mean 'cifar10'?"),
    ("run cifar10 --root none", "download it with --download, or say where it is with --root FOLDER."),
    ("run npz:tiny.npz -o run", "Expected to be able to write run, got: Is a directory."),
    ("run npz:tiny.npz -o tiny.npz/f.npz", "Expected to be able to write tiny.npz/f.npz, got:"),
    ("undone npz:tiny.npz", "Expected a run's folder, got undone, which holds no model.safetensors; check the path."),
]


@pytest.mark.parametrize(("words", "line"), WRONG, ids=[words for words, _ in WRONG])
def test_what_is_wrong_is_said_in_the_words_of_the_command(refused, model, tmp_path, words, line):
    (tmp_path / "undone").mkdir()
    if "features" in words:
        np.savez(tmp_path / "features.npz", features=np.eye(3))
    assert line in refused("embed", *words.split())


def test_a_run_whose_recipe_is_broken_still_has_its_model(nonneg, model, tmp_path):
    (tmp_path / "run" / "recipe.yaml").write_text("{")
    assert nonneg("embed", "run", "npz:tiny.npz").status == 0
