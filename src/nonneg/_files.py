"""Files that are whole or not there: written beside their place, brought to the disk, and renamed."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nonneg._errors import UserError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path to write to, which takes the target's place when the block ends well and is removed when it doesn't."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    with told_plainly(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield part
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)


# A folder that may not be written to, or a path on which something else stands.
_REFUSED = frozenset(
    {
        *(errno.EACCES, errno.EROFS, errno.EPERM),
        *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP),
    }
)


def check_writable(target: Path) -> None:
    """Refuse before the work is done, not after it."""
    with told_plainly(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        part.touch()
        part.unlink()


@contextmanager
def told_plainly(target: Path) -> Iterator[None]:
    """A full disk or a folder that may not be written to is the user's to mend."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"Expected room on the disk for {target}, got none; free some and do it again.") from error
        if error.errno in _REFUSED:
            raise UserError(f"Expected to be able to write {target}, got: {error.strerror}.") from error
        raise


def write_text(target: Path, text: str) -> None:
    """The whole text, or what was there before."""
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")


def write_arrays(target: Path, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """An .npz."""
    with replacing(target) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy 1.26 would store an allow_pickle as an array
