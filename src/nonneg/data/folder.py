"""A folder of pictures: train/ and val/ or test/ of class folders, class folders alone, or pictures without classes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from nonneg._errors import UserError
from nonneg.data.arrays import as_pixels
from nonneg.data.datasets import DataSet, Files, Images, Split

__all__ = ["ReportBad", "ignore", "read_folder", "read_picture"]

ReportBad = Callable[[Path], None]

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})

# Pictures of one size and at most so many pixels a side are kept in memory, up to this many bytes.
_SMALL_SIDE = 96
_MEMORY = 4 * 2**30


def ignore(path: Path) -> None:
    """Tell nobody of a file that was skipped."""


def read_folder(
    folder: Path,
    name: str,
    classes: Sequence[str] | None = None,
    on_bad_file: str = "fatal",
    report_bad: ReportBad = ignore,
) -> DataSet:
    """The data set in a folder; `classes` chooses class folders by name.

    Small pictures are decoded here; a file that can't be is fatal, or skipped and told to `report_bad`. Large ones are
    decoded when they are needed, by `Batches` and `evaluation_batches`, which treat them alike.
    """
    if not folder.is_dir():
        raise UserError(f"Expected a folder of pictures at {folder}, got no folder there; check the path.")
    train_folder = folder / "train" if (folder / "train").is_dir() else folder
    test_folders = [folder / part for part in ("test", "val") if (folder / part).is_dir()]
    if test_folders and train_folder == folder:
        raise UserError(
            f"Expected train/ beside {test_folders[0].name}/ in {folder}, got none; move or rename the folders."
        )
    names = _class_names(train_folder, classes)
    # ImageNet's test/ has no classes, its val/ has.
    test_folders.sort(key=lambda part: not any((part / name).is_dir() for name in names))
    parts = [_files(part, names) for part in (train_folder, *test_folders[:1])]
    train, *test = (_in_memory(part, on_bad_file, report_bad) for part in parts)
    return DataSet(name, train, test[0] if test else None, names)


def read_picture(path: Path) -> Image.Image:
    """A picture in RGB. One that can't be decoded is a UserError that names it."""
    try:
        with Image.open(path) as picture:
            if picture.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut off at 255, not scale
                return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8)).convert("RGB")
            return picture.convert("RGB")
    except Exception as error:  # Pillow's decoders raise anything: struct.error, IndexError, zlib.error …
        raise UserError(
            f"Expected a picture, got {path}, which can't be decoded ({type(error).__name__}); mend or remove it, or "
            "set data.on_bad_file=skip."
        ) from error


def _class_names(folder: Path, chosen: Sequence[str] | None) -> tuple[str, ...]:
    if chosen is None:
        return tuple(sorted(p.name for p in folder.iterdir() if not p.name.startswith(".") and _pictures(p)))
    missing = [name for name in chosen if not (folder / name).is_dir()]
    if missing:
        raise UserError(
            f"Expected a folder for each of {len(chosen)} classes in {folder}, got none for {len(missing)} of them, "
            f"{missing[0]} for one; check that it is the right folder."
        )
    return tuple(chosen)


def _files(folder: Path, classes: Sequence[str]) -> Files:
    if not classes:
        paths = _pictures(folder)
        if not paths:
            raise UserError(f"Expected pictures or class folders in {folder}, got neither; {_endings()}.")
        return Files(tuple(paths), None)
    per_class = [_pictures(folder / name) for name in classes]
    labels = torch.tensor([i for i, paths in enumerate(per_class) for _ in paths], dtype=torch.int64)
    if not len(labels):
        raise UserError(f"Expected pictures in the class folders of {folder}, got none; {_endings()}.")
    return Files(tuple(path for paths in per_class for path in paths), labels)


def _pictures(folder: Path) -> list[Path]:
    """Those below a folder, sorted, without hidden ones, which are other programs' and often no pictures."""
    if not folder.is_dir():
        return []
    found = (p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS and not _hidden(p.relative_to(folder)))
    return sorted(p for p in found if p.is_file())


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _endings() -> str:
    return f"a picture ends in {', '.join(sorted(ENDINGS))}"


def _in_memory(files: Files, on_bad_file: str, report_bad: ReportBad) -> Split:
    """The pictures themselves if they are small, of one size, and few enough; else the files."""
    sizes = {size for path in _spread(files.paths) if (size := _size(path))}
    if len(sizes) != 1 or max(side := next(iter(sizes))) > _SMALL_SIDE:
        return files
    if len(files) * side[0] * side[1] * 3 > _MEMORY:
        return files
    pixels, kept, bad = [], [], []
    for index, path in enumerate(files.paths):
        try:
            picture = read_picture(path)
        except UserError:
            if on_bad_file == "fatal":
                raise
            bad.append(path)
            continue
        if picture.size != side:
            return files
        pixels.append(np.asarray(picture))
        kept.append(index)
    if not kept:
        raise UserError(f"Expected pictures, got {len(bad)} files that can't be decoded, {bad[0]} the first of them.")
    for path in bad:
        report_bad(path)
    return Images(as_pixels(np.stack(pixels)), None if files.labels is None else files.labels[kept])


def _spread(paths: Sequence[Path], count: int = 20) -> list[Path]:
    return [paths[int(i)] for i in np.unique(np.linspace(0, len(paths) - 1, count).astype(int))]


def _size(path: Path) -> tuple[int, int] | None:
    try:
        with Image.open(path) as picture:
            return picture.size
    except Exception:  # as in read_picture; whoever decodes it says so
        return None
