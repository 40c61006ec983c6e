"""A model as a file: safetensors with the settings in its header, so that it is read without running anything."""

import itertools
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialized
from torch import Tensor, nn

from nonneg._errors import UserError
from nonneg._files import replacing
from nonneg._settings import validated
from nonneg.models import _weights
from nonneg.models.model import Model
from nonneg.models.settings import ModelSettings

__all__ = ["FILE", "load", "save"]

FILE = "model.safetensors"
_KEY, _FORMAT = "nonneg", 1


def save(model: Model, path: Path) -> None:
    """Weights, buffers and settings; the file is whole or not there."""
    header = {"format": _FORMAT, "settings": model.settings.model_dump(mode="json")}
    # Copies, as safetensors refuses tensors that share memory, and so that whole means contiguous and on the CPU.
    tensors = {
        name: tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, tensor in model.state_dict().items()
    }
    with replacing(path) as part:
        # Not safetensors' own writing to a file: its error for a full disk is none that `replacing` knows.
        part.write_bytes(serialized(tensors, {_KEY: json.dumps(header)}))


def load(where: str | Path, backbone: nn.Module | None = None) -> Model:
    """The model of a run's folder or of a .safetensors file, on the CPU, in eval mode, bit for bit as it was saved.

    >>> import tempfile
    >>> model = Model(ModelSettings(projector=(8,))).eval()
    >>> x = torch.rand(2, 3, 32, 32)
    >>> with tempfile.TemporaryDirectory() as run:
    ...     save(model, Path(run) / "model.safetensors")
    ...     torch.equal(load(run)(x), model(x))
    True
    """
    file = _file(Path(where))
    try:
        with safe_open(file, framework="pt", device="cpu") as stored:
            metadata = stored.metadata() or {}
            tensors: dict[str, Tensor] = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError) as error:
        raise UserError(f"Expected a whole safetensors file, got {file}: {error}; save the model again.") from error
    model = Model(_settings(metadata, file), backbone)
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        if name in tensors:
            tensor.data = tensor.data.to(tensors[name].dtype)
    _weights.fill(model, tensors, file)
    return model.eval()


def _file(where: Path) -> Path:
    if where.is_dir():
        if not (where / FILE).is_file():
            raise UserError(f"Expected a run's folder, got {where}, which holds no {FILE}; check the path.")
        return where / FILE
    if not where.exists():
        raise UserError(f"Expected a run's folder or a .safetensors file, got {where}, where nothing is.")
    return where


def _settings(metadata: dict[str, str], file: Path) -> ModelSettings:
    if _KEY not in metadata:
        raise UserError(
            f"Expected a model saved by nonneg, got {file}, whose header doesn't say which model it is; "
            "build the model and load its weights by safetensors."
        )
    try:
        header: Any = json.loads(metadata[_KEY])
        version, values = int(header["format"]), header["settings"]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"Expected a format and settings in the header of {file}, got {metadata[_KEY]!r}.") from error
    if version > _FORMAT:
        raise UserError(
            f"Expected a model of format {_FORMAT}, the newest that this nonneg knows, got {version} in {file}; "
            "upgrade nonneg."
        )
    return validated(ModelSettings, values)
