"""The tensors of a file that torch.save wrote (its zip format), with nothing in the file run."""

import math
import struct
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nonneg._errors import UserError
from nonneg.models._pickled import Call, Name, Outside, followed

_DTYPES = {
    "torch.DoubleStorage": torch.float64,
    "torch.FloatStorage": torch.float32,
    "torch.HalfStorage": torch.float16,
    "torch.BFloat16Storage": torch.bfloat16,
    "torch.LongStorage": torch.int64,
    "torch.IntStorage": torch.int32,
    "torch.ShortStorage": torch.int16,
    "torch.CharStorage": torch.int8,
    "torch.ByteStorage": torch.uint8,
    "torch.BoolStorage": torch.bool,
}


def read_tensors(file: Path, entry: str, prefixes: tuple[str, ...]) -> dict[str, Tensor]:
    """The tensors under this entry of the stored dictionary whose names begin so; others are not read."""
    if not file.is_file():
        raise UserError(f"Expected a checkpoint, got {file}, where no file is; check the path.")
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(archive, file, entry, prefixes)
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"Expected a file that can be read, got {file}: {error.strerror}.") from error
    except _DAMAGE as error:
        raise UserError(_what_is_wrong(file)) from error


class _Damaged(Exception):
    pass


# zipfile has no one error for bytes that can't be: words that are no Unicode, versions from the future, early ends …
_DAMAGE = (_Damaged, zipfile.BadZipFile, ValueError, KeyError, EOFError, RuntimeError, struct.error)


def _read(archive: zipfile.ZipFile, file: Path, entry: str, prefixes: tuple[str, ...]) -> dict[str, Tensor]:
    names = set(archive.namelist())
    folder = next((name.removesuffix("data.pkl") for name in sorted(names) if name.endswith("/data.pkl")), None)
    if folder is None:
        raise UserError(f"Expected a file that torch.save wrote, got {file}, a zip file of other things.")
    # Files from before PyTorch 2.1 don't say; they are nearly all little.
    order = _record(archive, f"{folder}byteorder") if f"{folder}byteorder" in names else b"little"
    if order != sys.byteorder.encode():
        raise UserError(
            f"Expected numbers of the byte order {sys.byteorder}, got others in {file}; save it again here."
        )
    stored = followed(_record(archive, f"{folder}data.pkl"))
    values = stored.get(entry) if isinstance(stored, dict) else None
    if not isinstance(values, dict):
        raise UserError(f"Expected a checkpoint with a {entry}, got {file}, which has none; is it the right file?")
    found = {name: _stored_tensor(value) for name, value in values.items() if name.startswith(prefixes)}
    # Many names for one storage could otherwise ask for any amount of memory.
    if sum(tensor.bytes for tensor in found.values()) > file.stat().st_size:
        raise _Damaged
    storages = {key: bytearray(_record(archive, f"{folder}data/{key}")) for key in {t.key for t in found.values()}}
    return {name: tensor.of(storages[tensor.key]) for name, tensor in found.items()}


def _record(archive: zipfile.ZipFile, name: str) -> bytes:
    """As torch.save writes them, not compressed: so none is larger than the file."""
    record = archive.getinfo(name)
    if record.compress_type != zipfile.ZIP_STORED or record.file_size != record.compress_size:
        raise _Damaged
    return archive.read(record)


@dataclass(frozen=True)
class _StoredTensor:
    key: str
    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def of(self, storage: bytearray) -> Tensor:
        """A view of the storage."""
        held = len(storage) // self.dtype.itemsize
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        if last >= held or self.bytes > len(storage):
            raise _Damaged
        flat = torch.frombuffer(storage, dtype=self.dtype, count=held)
        return flat.as_strided(self.shape, self.stride, self.offset)


def _stored_tensor(value: Any) -> _StoredTensor:
    match value:
        case Call(
            "torch._utils._rebuild_tensor_v2",
            (
                Outside(("storage", Name(storage), str(key), _, _)),
                int(offset),
                tuple(shape),
                tuple(stride),
                *_,
            ),
        ) if storage in _DTYPES and len(shape) == len(stride) <= 8:
            numbers = (offset, *shape, *stride)
            if all(isinstance(n, int) and 0 <= n < 2**62 for n in numbers) and 0 not in shape:
                return _StoredTensor(key, _DTYPES[storage], offset, shape, stride)
    raise _Damaged


def _what_is_wrong(file: Path) -> str:
    with file.open("rb") as beginning:
        zipped = beginning.read(4) == b"PK\x03\x04"
    if zipped:
        return f"Expected a whole checkpoint, got {file}, which is cut short or damaged; copy or download it again."
    return (
        f"Expected a checkpoint in PyTorch's zip format, got {file}, which is no zip file; "
        "if PyTorch before 1.6 wrote it, save it again with a later one."
    )
