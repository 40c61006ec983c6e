"""A data set by its name or path."""

from collections.abc import Callable
from pathlib import Path

from nonneg._errors import UserError, nearest
from nonneg.data.arrays import read_arrays
from nonneg.data.datasets import DataSet
from nonneg.data.folder import ReportBad, ignore, read_folder
from nonneg.data.named import NAMES, default_root, read_named

__all__ = ["load"]

# A hub or a sharded stream is one entry more: its prefix, and a function of what stands behind the colon.
_BY_PATH: dict[str, Callable[[Path, str, str, ReportBad], DataSet]] = {
    "folder": lambda path, name, on_bad_file, report_bad: read_folder(path, name, None, on_bad_file, report_bad),
    "npz": lambda path, name, on_bad_file, report_bad: read_arrays(path, name),
}


def load(
    name: str,
    root: str | Path | None = None,
    download: bool = False,
    on_bad_file: str = "fatal",
    report_bad: ReportBad = ignore,
) -> DataSet:
    """A data set of `NAMES`, `folder:PATH` or `npz:PATH`; `report_bad` is told of each file that is skipped.

    >>> data = load("fashion-small")
    >>> len(data.train), len(data.test), data.classes[:2]
    (12000, 2000, ('T-shirt/top', 'Trouser'))
    """
    if name in NAMES:
        place = default_root() if root is None else Path(root).expanduser()
        return read_named(name, place, download, on_bad_file, report_bad)
    kind, colon, path = name.partition(":")
    if colon and kind in _BY_PATH and path:
        return _BY_PATH[kind](Path(path).expanduser(), name, on_bad_file, report_bad)
    known = [*NAMES, *(f"{prefix}:PATH" for prefix in _BY_PATH)]
    raise UserError(
        f"Expected a data set out of {', '.join(known)}, got {name!r}; did you mean {nearest(name, known)!r}?"
    )
