"""An .npz with `images` (n, h, w[, 3]) uint8, and perhaps `labels`, `test_images`, `test_labels`, `classes`."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import UInt8
from torch import Tensor

from nonneg._errors import UserError
from nonneg.data.datasets import DataSet, Images

__all__ = ["as_pixels", "read_arrays", "read_npz"]

Arrays = dict[str, npt.NDArray[Any]]

# What numpy, zipfile and zlib raise on a file that is cut off, altered, packed in an unknown way or no .npz at all; a
# pickle is a ValueError, a header that asks for more memory than there is a MemoryError, a .npy has no `with`.
_UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(path: Path) -> Arrays:
    """The arrays of a file, by name; one that would need a pickle is refused."""
    if not path.is_file():
        raise UserError(f"Expected an array file at {path}, got no file there; check the path.")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except _UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"Expected an .npz of plain arrays, got {path}, which can't be read as one ({reason}); write it with "
            "numpy.savez."
        ) from error


def read_arrays(path: Path, name: str) -> DataSet:
    """The data set in an .npz of pictures."""
    arrays = read_npz(path)
    if "images" not in arrays:
        raise UserError(
            f"Expected pictures, an array 'images', in {path}, got {', '.join(sorted(arrays)) or 'no arrays'}; give a "
            "file that has images (n, h, w[, 3]) of type uint8."
        )
    train = _split(arrays, "images", "labels", path)
    test = _split(arrays, "test_images", "test_labels", path) if "test_images" in arrays else None
    if test is not None and test.channels != train.channels:
        raise UserError(
            f"Expected test_images of {train.channels} channels, as images, got {test.channels} in {path}; convert "
            "one of them."
        )
    return DataSet(name, train, test, _classes(arrays.get("classes"), train, test, path))


def as_pixels(images: npt.NDArray[Any]) -> UInt8[Tensor, "n c h w"]:
    """(n, h, w) or (n, h, w, c) as (n, c, h, w)."""
    pixels = torch.from_numpy(np.ascontiguousarray(images))
    return (pixels.unsqueeze(3) if pixels.ndim == 3 else pixels).permute(0, 3, 1, 2).contiguous()


def _split(arrays: Arrays, images: str, labels: str, path: Path) -> Images:
    pixels = arrays[images]
    if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] not in (1, 3)):
        raise UserError(
            f"Expected {images} of shape (n, h, w) or (n, h, w, 3) and type uint8, got {pixels.shape} {pixels.dtype} "
            f"in {path}; convert them."
        )
    if pixels.size == 0:
        raise UserError(f"Expected at least one picture in {images}, got shape {pixels.shape} in {path}.")
    y = arrays.get(labels)
    if y is None:
        return Images(as_pixels(pixels), None)
    if y.shape != pixels.shape[:1] or y.dtype.kind not in "iu":
        raise UserError(
            f"Expected {labels} to be {len(pixels)} class numbers, one a picture, got {y.dtype} of shape {y.shape} in "
            f"{path}; number the classes from 0."
        )
    if y.min() < 0:
        raise UserError(f"Expected {labels} of at least 0, got {y.min()} in {path}; number the classes from 0.")
    return Images(as_pixels(pixels), torch.from_numpy(y.astype(np.int64)))


def _classes(names: npt.NDArray[Any] | None, train: Images, test: Images | None, path: Path) -> tuple[str, ...]:
    labels = [part.labels for part in (train, test) if part is not None and part.labels is not None]
    if not labels:
        return ()
    count = int(max(y.max() for y in labels)) + 1
    if names is None:
        return tuple(map(str, range(count)))
    if names.ndim != 1 or names.dtype.kind != "U":
        raise UserError(f"Expected classes to be a row of names, got {names.dtype} of shape {names.shape} in {path}.")
    if len(names) < count:
        raise UserError(f"Expected a name for each of {count} classes, got {len(names)} in 'classes' of {path}.")
    return tuple(map(str, names))
