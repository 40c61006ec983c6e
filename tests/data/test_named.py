"""Data sets by name: torchvision's from files as it keeps them, ImageNet's hundred classes, and what ships."""

import pickle
import re
import struct
from hashlib import md5
from http.client import IncompleteRead
from importlib import resources
from urllib.error import URLError

import numpy as np
import pytest
import torch
from torchvision import datasets

from nonneg._errors import UserError
from nonneg.data import Images
from nonneg.data.folder import ignore
from nonneg.data.named import NAMES, default_root, read_named
from tests.data.pictures import save

RNG = np.random.default_rng(0)


def read(name, root, download=False, on_bad_file="fatal", report_bad=ignore):
    return read_named(name, root, download, on_bad_file, report_bad)


def write_mnist(folder):
    """The four files of MNIST's kind, three training pictures and two others."""
    folder.mkdir(parents=True)
    parts = {}
    for prefix, n in (("train", 3), ("t10k", 2)):
        pixels = RNG.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        labels = np.arange(n, dtype=np.uint8) + 5
        header = struct.pack(">IIII", 0x803, n, 28, 28)
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, n) + labels.tobytes())
        parts[prefix] = pixels, labels
    return parts


@pytest.mark.parametrize(("name", "kind"), [("mnist", "MNIST"), ("fashion-mnist", "FashionMNIST")])
def test_mnist_and_its_like_are_read_from_their_files(tmp_path, name, kind):
    written = write_mnist(tmp_path / kind / "raw")
    data = read(name, tmp_path)
    assert data.name == name
    assert len(data.classes) == 10
    for part, prefix in ((data.train, "train"), (data.test, "t10k")):
        pixels, labels = written[prefix]
        assert torch.equal(part.pixels, torch.from_numpy(pixels)[:, None])
        assert part.labels.dtype == torch.int64
        assert part.labels.tolist() == labels.tolist()


def write_cifar(folder, kind, monkeypatch):
    """CIFAR's files with one picture each, their sums made known to torchvision."""
    folder = folder / kind.base_folder
    folder.mkdir(parents=True)
    key = "labels" if kind is datasets.CIFAR10 else "fine_labels"
    pixels = {}

    def put(name, content):
        (folder / name).write_bytes(pickle.dumps(content))
        return [name, md5((folder / name).read_bytes()).hexdigest()]

    for part in ("train_list", "test_list"):
        names = [name for name, _ in getattr(kind, part)]
        for name in names:
            pixels[name] = RNG.integers(0, 256, (1, 3, 32, 32), dtype=np.uint8)
        sums = [put(name, {"data": pixels[name].reshape(1, -1), key: [i]}) for i, name in enumerate(names)]
        monkeypatch.setattr(kind, part, sums)
    classes = [f"class {i}" for i in range(7)]
    name, checksum = put(kind.meta["filename"], {kind.meta["key"]: classes})
    monkeypatch.setattr(kind, "meta", {**kind.meta, "filename": name, "md5": checksum})
    return pixels, classes


@pytest.mark.parametrize(("name", "kind"), [("cifar10", datasets.CIFAR10), ("cifar100", datasets.CIFAR100)])
def test_cifar_is_read_from_its_files(tmp_path, monkeypatch, name, kind):
    pixels, classes = write_cifar(tmp_path, kind, monkeypatch)
    data = read(name, tmp_path)
    assert data.classes == tuple(classes)
    *train, test = pixels.values()
    assert torch.equal(data.train.pixels, torch.from_numpy(np.concatenate(train)))
    assert data.train.labels.tolist() == list(range(len(train)))
    assert torch.equal(data.test.pixels, torch.from_numpy(test))
    assert data.test.labels.tolist() == [0]


# Not there, and not to be had


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10", "cifar100"])
def test_a_set_that_is_not_there_says_how_to_get_it(tmp_path, name):
    with pytest.raises(UserError) as caught:
        read(name, tmp_path)
    assert str(caught.value) == (
        f"Expected {name} below {tmp_path}, got nothing whole that torchvision knows there; download it with "
        "data.download=true, or say where it is with data.root=FOLDER."
    )


@pytest.mark.parametrize("size", [0, 3, 16, 100])
def test_a_file_that_is_cut_off_is_nothing_whole(tmp_path, size):
    write_mnist(tmp_path / "MNIST" / "raw")
    target = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    target.write_bytes(target.read_bytes()[:size])
    with pytest.raises(UserError, match="got nothing whole that torchvision knows there"):
        read("mnist", tmp_path)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (URLError("no route to host"), "<urlopen error no route to host>"),
        (TimeoutError("timed out"), "timed out"),
        (IncompleteRead(b"abc"), "IncompleteRead(3 bytes read)"),
        (RuntimeError("Error downloading x:\nTried y, got:\n  z"), "Error downloading x: Tried y, got: z"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_a_network_that_fails_is_one_line(tmp_path, monkeypatch, error, reason):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("torchvision.datasets.cifar.download_and_extract_archive", fail)
    with pytest.raises(UserError) as caught:
        read("cifar10", tmp_path, download=True)
    assert str(caught.value) == (
        f"Expected to download cifar10 to {tmp_path}, got: {reason}; check the network and the folder, remove what is "
        "there of it, and do it again."
    )


def test_it_is_downloaded_only_when_asked_and_nothing_is_printed_on_standard_output(tmp_path, monkeypatch, capsys):
    asked = []

    class Set:
        classes = ("a",)
        data = torch.zeros(1, 28, 28, dtype=torch.uint8)
        targets = torch.zeros(1, dtype=torch.uint8)

        def __init__(self, root, train, download):
            asked.append((root, train, download))
            print("Files already downloaded and verified")  # noqa: T201 (as torchvision's do)

    monkeypatch.setattr(datasets, "MNIST", Set)
    read("mnist", tmp_path)
    read("mnist", tmp_path, download=True)
    assert asked == [(tmp_path, train, download) for download in (False, True) for train in (True, False)]
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("downloaded") == 4


# ImageNet's hundred classes


@pytest.fixture
def hundred():
    text = (resources.files("nonneg.data") / "imagenet100.txt").read_text()
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]


def test_there_are_a_hundred_classes_named_as_wordnet_does(hundred):
    assert len(hundred) == 100 == len(set(hundred))
    assert all(re.fullmatch(r"n\d{8}", name) for name in hundred)


@pytest.mark.parametrize("below", ["", "imagenet100"])
def test_imagenet100_is_the_listed_classes_of_a_folder(tmp_path, hundred, below):
    for part in ("train", "val"):
        for name in [*hundred, "n00000001"]:
            save(tmp_path / below / part / name / "1.png", 4, 100, seed=0)
    data = read("imagenet100", tmp_path)
    assert data.classes == tuple(hundred)
    assert data.train.labels.tolist() == data.test.labels.tolist() == list(range(100))
    assert {path.parent.name for path in data.train.paths} == set(hundred)


def test_imagenet100_passes_on_what_to_do_with_bad_files(tmp_path, hundred):
    for name in hundred:
        save(tmp_path / "train" / name / "1.png", 4, 4, seed=0)
    bad = tmp_path / "train" / hundred[3] / "0.png"
    bad.write_text("no picture")
    with pytest.raises(UserError, match=re.escape(str(bad))):
        read("imagenet100", tmp_path)
    reported = []
    assert len(read("imagenet100", tmp_path, on_bad_file="skip", report_bad=reported.append).train) == 100
    assert reported == [bad]


def test_an_absent_imagenet_says_what_is_needed(tmp_path):
    with pytest.raises(UserError, match=r"got no train/ there; say where they are with data\.root=FOLDER"):
        read("imagenet100", tmp_path)


# What needs no files


def test_what_ships_is_balanced_and_named(tmp_path):
    data = read("fashion-small", tmp_path / "none")
    assert data.train.pixels.shape == (12_000, 1, 28, 28)
    assert data.test.pixels.shape == (2_000, 1, 28, 28)
    assert data.train.labels.bincount().tolist() == [1200] * 10
    assert data.test.labels.bincount().tolist() == [200] * 10
    assert data.classes[9] == "Ankle boot"


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    data, expected = read("digits", tmp_path / "none"), load_digits()
    pixels = torch.cat([data.train.pixels, data.test.pixels])[:, 0]
    assert np.allclose(pixels.numpy() / 255 * 16, expected.images, atol=0.04)
    assert pixels.max() == 255
    assert torch.cat([data.train.labels, data.test.labels]).tolist() == expected.target.tolist()
    assert (len(data.train), len(data.test), len(data.classes)) == (1437, 360, 10)
    assert isinstance(data.train, Images)


def test_sets_are_kept_in_the_cache_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("NONNEG_DATA", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("NONNEG_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_root() == tmp_path / ".cache" / "nonneg"


def test_the_names_are_those_that_were_promised():
    assert NAMES == ("fashion-small", "digits", "fashion-mnist", "mnist", "cifar10", "cifar100", "imagenet100")
