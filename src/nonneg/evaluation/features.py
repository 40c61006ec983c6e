"""h and z of pictures, in order, for everything that is measured or shown."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from nonneg import _files
from nonneg._errors import UserError
from nonneg.data import DataSet, Split, evaluation_batches
from nonneg.data.arrays import read_npz
from nonneg.data.folder import ReportBad, ignore
from nonneg.models import Model, load
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["Features", "extract", "features_of_run", "write_features"]

# Told how many pictures are done, of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Features:
    """Of n pictures: h, z, their labels if they have any, and which pictures of their part they are."""

    h: Float32[Tensor, "n width"]
    z: Float32[Tensor, "n d"]
    labels: Int64[Tensor, " n"] | None
    numbers: Int64[Tensor, " n"]  # 0 to n − 1, but where files that can't be decoded were skipped


def extract(
    model: Model,
    split: Split,
    device: torch.device | None = None,
    workers: int = 0,
    on_bad_file: str = "fatal",
    progress: Progress = lambda done, of: None,
    report_bad: ReportBad = ignore,
) -> Features:
    """h and z of every picture, whole (small ones) or its middle, in float32, on the CPU.

    The model is moved to the device; its modes are those from before.
    """
    device = device or default_device()
    modes = {module: module.training for module in model.modules()}
    model = model.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]  # torch's stub has no layout
    like = next(model.parameters())
    batches = []
    try:
        with torch.no_grad():
            for chosen, x in evaluation_batches(
                split, model.settings.image_size, device, 512, workers, on_bad_file, report_bad
            ):
                h, z = model.both(x.to(like.dtype))
                batches.append((chosen, h.float().cpu(), z.float().cpu()))
                progress(int(chosen[-1]) + 1, len(split))
    finally:
        for module, training in modes.items():
            module.training = training
    numbers, hs, zs = (torch.cat(parts) for parts in zip(*batches, strict=True))
    return Features(hs, zs, None if split.labels is None else split.labels[numbers], numbers)


def features_of_run(folder: str | Path, progress: Progress = lambda done, of: None) -> tuple[Features, Features]:
    """Of the training and the evaluated part of the run's own data; made once, then read from features/."""
    run = RunFolder(Path(folder))
    parts: dict[str, Features] = {}
    data: DataSet | None = None
    for name in ("train", "test"):
        path = run.features(name)
        if not path.is_file():
            recipe = read_file(run.recipe)
            data = data or recipe.data.load()
            split = data.train if name == "train" else data.evaluated()
            made = extract(
                load(folder), split, workers=recipe.data.workers, on_bad_file=recipe.data.on_bad_file, progress=progress
            )
            arrays = {"h": made.h.numpy(), "z": made.z.numpy(), "numbers": made.numbers.numpy()}
            _files.write_arrays(path, arrays if made.labels is None else arrays | {"labels": made.labels.numpy()})
        parts[name] = _read(path)
    return parts["train"], parts["test"]


def write_features(
    path: Path,
    model: Model,
    data: DataSet,
    which: str,
    workers: int = 0,
    on_bad_file: str = "fatal",
    progress: Progress = lambda done, of: None,
    report_bad: ReportBad = ignore,
) -> None:
    """An array file of all of a data set's `h` or `z`: features, labels, test_features, test_labels, classes."""
    _files.check_writable(path)
    arrays: dict[str, np.ndarray] = {}
    for prefix, split in (("", data.train), ("test_", data.test)):
        if split is not None:
            made = extract(model, split, None, workers, on_bad_file, progress, report_bad)
            arrays[f"{prefix}features"] = getattr(made, which).numpy()
            if made.labels is not None:
                arrays[f"{prefix}labels"] = made.labels.numpy()
    if data.classes:
        arrays["classes"] = np.array(data.classes)
    _files.write_arrays(path, arrays)


def default_device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _read(path: Path) -> Features:
    arrays = read_npz(path)
    if not {"h", "z", "numbers"} <= set(arrays):
        raise UserError(
            f"Expected h, z and numbers in {path}, got {', '.join(sorted(arrays))}; remove it to have it made again."
        )
    labels = torch.from_numpy(arrays["labels"]) if "labels" in arrays else None
    h, z, numbers = (torch.from_numpy(arrays[name]) for name in ("h", "z", "numbers"))
    return Features(h, z, labels, numbers)
