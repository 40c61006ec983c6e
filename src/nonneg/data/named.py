"""Data sets by name: the one that ships, scikit-learn's, torchvision's, ImageNet-100."""

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nonneg._errors import UserError
from nonneg.data.arrays import as_pixels, read_arrays
from nonneg.data.datasets import DataSet, Images
from nonneg.data.folder import ReportBad, read_folder

__all__ = ["NAMES", "default_root", "read_named"]

Reader = Callable[[str, Path, bool, str, ReportBad], DataSet]

# What torchvision raises where files are absent, cut off or altered, and what a network does.
_FAILURES = (RuntimeError, OSError, HTTPException, ValueError, TypeError, AssertionError, EOFError, KeyError)


def default_root() -> Path:
    """Where downloaded sets are kept: $NONNEG_DATA, or ~/.cache/nonneg."""
    return Path(os.environ.get("NONNEG_DATA") or Path.home() / ".cache" / "nonneg")


def read_named(name: str, root: Path, download: bool, on_bad_file: str, report_bad: ReportBad) -> DataSet:
    """The data set of a name out of `NAMES`."""
    return _READERS[name](name, root, download, on_bad_file, report_bad)


def _fashion_small(name: str, root: Path, download: bool, on_bad_file: str, report_bad: ReportBad) -> DataSet:
    """12,000 training and 2,000 test pictures of Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017), shipped."""
    with resources.as_file(resources.files("nonneg.data") / "fashion_small.npz") as path:
        return read_arrays(path, name)


def _digits(name: str, root: Path, download: bool, on_bad_file: str, report_bad: ReportBad) -> DataSet:
    """scikit-learn's 1,797 digits of 8×8, the last 360 for testing."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images * (255 / 16)).round().astype(np.uint8)
    pixels, labels = as_pixels(images), torch.from_numpy(digits.target.astype(np.int64))
    train, test = slice(0, -360), slice(-360, None)
    return DataSet(
        name, Images(pixels[train], labels[train]), Images(pixels[test], labels[test]), tuple(map(str, range(10)))
    )


def _torchvision(class_name: str) -> Reader:
    def read(name: str, root: Path, download: bool, on_bad_file: str, report_bad: ReportBad) -> DataSet:
        from torchvision import datasets

        kind = getattr(datasets, class_name)
        try:
            with redirect_stdout(sys.stderr):  # what torchvision prints; standard output is for results
                train, test = (kind(root, train=part, download=download) for part in (True, False))
        except _FAILURES as error:
            if download:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise UserError(
                    f"Expected to download {name} to {root}, got: {reason}; check the network and the folder, remove "
                    "what is there of it, and do it again."
                ) from error
            raise UserError(
                f"Expected {name} below {root}, got nothing whole that torchvision knows there; download it with "
                "data.download=true, or say where it is with data.root=FOLDER."
            ) from error
        return DataSet(name, _in_memory(train), _in_memory(test), tuple(map(str, train.classes)))

    return read


def _in_memory(part: Any) -> Images:
    images = part.data.numpy() if isinstance(part.data, torch.Tensor) else part.data
    return Images(as_pixels(images), torch.as_tensor(part.targets, dtype=torch.int64))


def _imagenet100(name: str, root: Path, download: bool, on_bad_file: str, report_bad: ReportBad) -> DataSet:
    """The field's usual hundred classes of an ImageNet folder with train/ and val/."""
    folder = root / "imagenet100" if (root / "imagenet100").is_dir() else root
    if not (folder / "train").is_dir():
        raise UserError(
            f"Expected ImageNet's train/ and val/ in {root} (or {root / 'imagenet100'}), got no train/ there; say "
            "where they are with data.root=FOLDER. ImageNet is not downloaded for you."
        )
    text = (resources.files("nonneg.data") / "imagenet100.txt").read_text()
    classes = [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]
    return read_folder(folder, name, classes, on_bad_file, report_bad)


_READERS: dict[str, Reader] = {
    "fashion-small": _fashion_small,
    "digits": _digits,
    "fashion-mnist": _torchvision("FashionMNIST"),
    "mnist": _torchvision("MNIST"),
    "cifar10": _torchvision("CIFAR10"),
    "cifar100": _torchvision("CIFAR100"),
    "imagenet100": _imagenet100,
}
NAMES = tuple(_READERS)
