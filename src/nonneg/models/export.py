"""A model as a file for other programs: ONNX, or a program of torch.export; checked before it is there."""

import contextlib
import copy
import importlib.util
import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.export import ExportedProgram

from nonneg import _files
from nonneg._errors import UserError, needs_extra
from nonneg._quiet import quiet
from nonneg.models.model import Model

__all__ = ["export"]

_TOLERANCE = 1e-4
_BATCHES = (1, 3)  # checked, of which neither is the size that the export saw
_ONNX_LIMIT = 2**31  # bytes of a protocol buffer

Outputs = dict[str, Tensor]


def export(model: Model, path: str | Path, format: str = "onnx") -> float:
    """A file of one graph: pictures x (n, c, s, s) in [0, 1] to h and z, float32, for any n; format onnx or torch.

    It takes its place once it has done on random pictures what the model does. The largest difference is what comes
    back, as a share of the largest value of h or z where that is above 1.

    >>> import tempfile
    >>> from nonneg.models import ModelSettings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(Model(ModelSettings(projector=(8,))), Path(folder) / "model.pt2", "torch") < 1e-4
    True
    """
    if format not in _FORMATS:
        raise UserError(f"Expected the format to be {' or '.join(_FORMATS)}, got {format!r}; choose one of them.")
    write, read = _FORMATS[format]
    path = Path(path)
    _files.check_writable(path)
    # A copy: the caller's stays on its device, in its modes and types.
    named = _Named(copy.deepcopy(model).cpu().float()).eval().requires_grad_(False)
    try:
        with _files.replacing(path) as part, _silent(), torch.no_grad():
            write(named, part)
            exported = read(part)
            difference = float(torch.stack([_difference(named, exported, n) for n in _BATCHES]).max())
            if not difference <= _TOLERANCE:  # NaN is not
                raise UserError(
                    f"Expected the exported model to agree with the model to {_TOLERANCE:g}, got a difference of "
                    f"{difference:.2g}; look for NaN in its weights, or export it in the other format."
                )
    except RuntimeError as error:  # torch's, for a network that it can't follow
        reason = " ".join(str(error).partition("\n")[0].split())
        raise UserError(
            f"Expected a model that can be exported to {format}, got the backbone {model.settings.backbone}, of which "
            f"torch says: {reason}"
        ) from error
    return difference


class _Named(nn.Module):
    """h and z by name."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Float[Tensor, "n c s s"]) -> Outputs:
        h, z = self.model.both(x)
        return {"h": h, "z": z}

    def pictures(self, n: int) -> Float[Tensor, "n c s s"]:
        settings = self.model.settings
        generator = torch.Generator().manual_seed(n)
        return torch.rand(n, settings.channels, settings.image_size, settings.image_size, generator=generator)


def _difference(named: _Named, exported: Callable[[Tensor], Outputs], n: int) -> Tensor:
    x = named.pictures(n)
    expected, got = named(x), exported(x)
    # torch's maximum, for which NaN is the largest
    shares = [(got[name] - value).abs().max() / value.abs().max().clamp_min(1) for name, value in expected.items()]
    return torch.stack(shares).max()


def _followed(named: _Named) -> ExportedProgram:
    return torch.export.export(named, (named.pictures(2),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=1)}})


def _write_torch(named: _Named, part: Path) -> None:
    with part.open("wb") as file:  # by its name torch would ask for one that ends in .pt2
        torch.export.save(_followed(named), file)


def _read_torch(part: Path) -> Callable[[Tensor], Outputs]:
    with part.open("rb") as file:
        return torch.export.load(file).module()


def _write_onnx(named: _Named, part: Path) -> None:
    for package in ("onnxruntime", "onnxscript", "onnx"):
        if importlib.util.find_spec(package) is None:
            raise needs_extra(package, "onnx")
    size = sum(tensor.nbytes for tensor in named.state_dict().values())
    if size >= _ONNX_LIMIT:
        raise UserError(
            f"Expected a model below 2 GiB, the most that an ONNX file holds, got {size / 2**30:.1f} GiB; "
            "export it as torch."
        )
    program = torch.onnx.export(
        _followed(named),
        input_names=["x"],
        output_names=["h", "z"],
        dynamic_shapes={"x": {0: "n"}},
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    program.save(part, external_data=False)


def _read_onnx(part: Path) -> Callable[[Tensor], Outputs]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(part, options, providers=["CPUExecutionProvider"])

    def run(x: Tensor) -> Outputs:
        names = ["h", "z"]
        return dict(zip(names, map(torch.from_numpy, session.run(names, {"x": x.numpy()})), strict=True))

    return run


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Without what the exporters warn of, log and print: what matters is checked."""
    with (
        quiet(logging.ERROR),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield


_FORMATS = {"onnx": (_write_onnx, _read_onnx), "torch": (_write_torch, _read_torch)}
