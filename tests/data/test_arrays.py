"""Array files: what is in them, and one clear line for each that is wrong."""

import io
import re
import zipfile

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data.arrays import read_arrays, read_npz

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 4, 6), dtype=np.uint8)
COLOURED = RNG.integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)
Y = np.array([0, 2, 1, 2, 0])


@pytest.fixture
def written(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    return write


def test_pictures_labels_and_names_are_those_of_the_file(written):
    path = written(images=COLOURED, labels=Y, test_images=COLOURED[:2], test_labels=Y[:2], classes=["a", "b", "c"])
    data = read_arrays(path, "npz:a")
    assert (data.name, data.classes) == ("npz:a", ("a", "b", "c"))
    assert torch.equal(data.train.pixels, torch.from_numpy(COLOURED).permute(0, 3, 1, 2))
    assert data.train.pixels.is_contiguous()
    assert data.train.labels.tolist() == Y.tolist()
    assert torch.equal(data.test.pixels, data.train.pixels[:2])
    assert data.test.labels.tolist() == [0, 2]


@pytest.mark.parametrize("images", [GREY, GREY[..., None]], ids=["(n, h, w)", "(n, h, w, 1)"])
def test_grey_pictures_have_one_channel(written, images):
    data = read_arrays(written(images=images), "a")
    assert torch.equal(data.train.pixels, torch.from_numpy(GREY)[:, None])
    assert (data.train.labels, data.test, data.classes) == (None, None, ())


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.uint64, ">i4"])
def test_labels_of_any_integer_type_are_read(written, dtype):
    labels = read_arrays(written(images=GREY, labels=Y.astype(dtype)), "a").train.labels
    assert labels.dtype == torch.int64
    assert labels.tolist() == Y.tolist()


def test_classes_without_names_are_numbered_as_far_as_either_part_goes(written):
    data = read_arrays(written(images=GREY, labels=Y, test_images=GREY[:1], test_labels=[4]), "a")
    assert data.classes == ("0", "1", "2", "3", "4")


def test_a_training_part_without_labels_may_have_a_test_part_with_them(written):
    data = read_arrays(written(images=GREY, test_images=GREY, test_labels=Y, classes=["a", "b", "c"]), "a")
    assert data.train.labels is None
    assert data.classes == ("a", "b", "c")


WRONG = [
    ({"labels": Y}, "Expected pictures, an array 'images', in {path}, got labels; give a file that has images"),
    (
        {"features": np.zeros((5, 2)), "labels": Y},
        "Expected pictures, an array 'images', in {path}, got features, labels; give a file that has images",
    ),
    ({}, "Expected pictures, an array 'images', in {path}, got no arrays; give"),
    ({"images": GREY.astype(np.float32)}, "type uint8, got (5, 4, 6) float32 in {path}; convert them."),
    ({"images": GREY[0]}, "Expected images of shape (n, h, w) or (n, h, w, 3) and type uint8, got (4, 6) uint8 in"),
    ({"images": COLOURED.transpose(0, 3, 1, 2)}, "got (5, 3, 4, 6) uint8 in {path}; convert them."),
    ({"images": GREY[:0]}, "Expected at least one picture in images, got shape (0, 4, 6) in {path}."),
    (
        {"images": GREY, "labels": Y[:4]},
        "Expected labels to be 5 class numbers, one a picture, got int64 of shape (4,) in {path}; number the classes "
        "from 0.",
    ),
    ({"images": GREY, "labels": Y.astype(float)}, "got float64 of shape (5,) in {path}; number"),
    ({"images": GREY, "labels": Y == 0}, "got bool of shape (5,) in {path}; number"),
    ({"images": GREY, "labels": Y - 1}, "Expected labels of at least 0, got -1 in {path}; number the classes from 0."),
    (
        {"images": GREY, "test_images": GREY, "test_labels": Y[:1]},
        "Expected test_labels to be 5 class numbers",
    ),
    ({"images": GREY, "test_images": COLOURED}, "Expected test_images of 1 channels, as images, got 3 in {path};"),
    (
        {"images": GREY, "labels": Y, "classes": ["a", "b"]},
        "Expected a name for each of 3 classes, got 2 in 'classes' of {path}.",
    ),
    (
        {"images": GREY, "labels": Y, "classes": [1, 2, 3]},
        "Expected classes to be a row of names, got int64 of shape (3,) in {path}.",
    ),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_with_the_arrays_is_one_line(written, arrays, message):
    path = written(**arrays)
    refused(lambda: read_arrays(path, "a"), message.format(path=path))


def refused(call, message):
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("Expected ")


def test_a_file_that_is_not_there_is_named(tmp_path):
    refused(lambda: read_npz(tmp_path / "none.npz"), f"Expected an array file at {tmp_path / 'none.npz'}, got no file")
    refused(lambda: read_npz(tmp_path), f"Expected an array file at {tmp_path}, got no file there; check the path.")


def _bytes_of(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return bytearray(file.getvalue())


def _altered(count=8):
    whole = _bytes_of(images=GREY)
    middle = len(whole) // 3
    whole[middle : middle + count] = bytes(count)
    return whole


def _single():
    file = io.BytesIO()
    np.save(file, GREY)
    return file.getvalue()


def _packed_in_an_unknown_way():
    """The method of compression in both of a zip's headers made one that nobody has."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("images.npy", _single())
    whole = bytearray(file.getvalue())
    for place in (8, whole.index(b"PK\x01\x02") + 10):
        whole[place : place + 2] = (99).to_bytes(2, "little")
    return whole


UNREADABLE = {
    "empty": b"",
    "text": b"images, labels\n1, 2\n",
    "cut off": _bytes_of(images=GREY)[:-40],
    "cut short": _bytes_of(images=GREY)[:30],
    "altered": _altered(),
    "one array": _single(),
    "unknown packing": _packed_in_an_unknown_way(),
    "pickle": _bytes_of(images=np.array([{"a": 1}, None], dtype=object)),
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    refused(lambda: read_npz(path), f"Expected an .npz of plain arrays, got {path}, which can't be read as one (")


def test_a_pickle_is_not_loaded(tmp_path):
    """Reading this one would make a folder."""

    class Evil:
        def __reduce__(self):
            import os

            return os.mkdir, (str(tmp_path / "made"),)

    np.savez(tmp_path / "a.npz", images=np.array([Evil()], dtype=object))
    refused(lambda: read_npz(tmp_path / "a.npz"), "Object arrays cannot be loaded")
    assert not (tmp_path / "made").exists()


def test_features_can_be_read_by_whoever_wants_them(written):
    arrays = read_npz(written(features=np.eye(3, dtype=np.float32), labels=Y[:3]))
    assert sorted(arrays) == ["features", "labels"]
    assert np.array_equal(arrays["features"], np.eye(3))
