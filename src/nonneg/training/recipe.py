"""A recipe: everything that a run depends on, typed, frozen, and saved with the run."""

from pathlib import Path
from typing import Literal, Self

import torch
from pydantic import Field, model_validator

from nonneg._errors import UserError
from nonneg._settings import Settings
from nonneg.activations import is_non_negative
from nonneg.data import DataSet, Images, load
from nonneg.data.folder import ReportBad, ignore
from nonneg.data.views import ViewSettings
from nonneg.models import ModelSettings
from nonneg.training.methods import MethodSettings
from nonneg.training.methods.simclr import SimCLRSettings
from nonneg.training.optimisers import AdamWSettings, OptimiserSettings

__all__ = ["CheckpointSettings", "DataSettings", "HardwareSettings", "Recipe", "ScheduleSettings", "inherit", "resolve"]


class DataSettings(Settings):
    """Which pictures, and where they are."""

    name: str = "fashion-small"  # a known name, folder:PATH or npz:PATH
    root: Path | None = None  # where named sets are kept; $NONNEG_DATA or ~/.cache/nonneg if not said
    download: bool = False
    on_bad_file: Literal["fatal", "skip"] = "fatal"
    workers: int = Field(4, ge=0)  # that decode large pictures; small ones need none

    def load(self, report_bad: ReportBad = ignore) -> DataSet:
        return load(self.name, self.root, self.download, self.on_bad_file, report_bad)


class ScheduleSettings(Settings):
    """The learning rate rises for `warm_up_epochs`, then falls as a cosine to `final` times its peak."""

    warm_up_epochs: float = Field(0, ge=0)
    final: float = Field(0.0, ge=0, le=1)


class CheckpointSettings(Settings):
    """The last checkpoint is written after every epoch, and in between when so many minutes have passed."""

    every_minutes: float = Field(10, gt=0)
    keep_every_epochs: int | None = Field(None, ge=1)  # also keep a checkpoint of its own of each so many epochs


class HardwareSettings(Settings):
    """What to run on; a run's result does not depend on it but for rounding."""

    accelerator: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int | Literal["auto"] = 1  # processes on this machine; auto is one a GPU
    nodes: int = Field(1, ge=1)  # machines, started by torchrun or SLURM
    precision: Literal["auto", "float32", "bfloat16", "float16", "float64"] = "auto"
    channels_last: bool = True
    compile: bool = False  # torch.compile
    deterministic: bool = False  # on a GPU; a CPU always is
    sync_batch_norm: bool = False  # statistics over all GPUs' batches

    @model_validator(mode="after")
    def _some_device(self) -> Self:
        if self.devices != "auto" and self.devices < 1:
            raise ValueError("a number of devices of at least 1")
        return self


class Recipe(Settings):
    """What `nonneg train` reads: a data set, its views, a model, a method, an optimiser."""

    name: str = "run"
    data: DataSettings = DataSettings()
    views: ViewSettings = ViewSettings()
    model: ModelSettings = ModelSettings()
    method: MethodSettings = SimCLRSettings()
    optimiser: OptimiserSettings = AdamWSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    epochs: int = Field(100, ge=1)
    batch_size: int = Field(256, ge=2)  # of all processes together
    chunk_size: int | None = Field(None, ge=1)  # pictures at a time through the model, for a batch beyond memory
    start_from: Path | None = None  # a run whose backbone to begin with (fine-tuning)
    freeze_backbone: bool = False
    seed: int = Field(0, ge=0)
    checkpoints: CheckpointSettings = CheckpointSettings()
    hardware: HardwareSettings = HardwareSettings()
    log_to: tuple[Literal["tensorboard", "wandb"], ...] = ()  # beside log.csv

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.schedule.warm_up_epochs > self.epochs:
            raise ValueError(
                f"a recipe whose warm_up_epochs ({self.schedule.warm_up_epochs:g}) are no more than its epochs "
                f"({self.epochs})"
            )
        if self.method.name == "nce" and not is_non_negative(self.model.activation):
            raise ValueError(f"a recipe with a non-negative model.activation for nce, not {self.model.activation}")
        if self.freeze_backbone and self.start_from is None:
            raise ValueError("a recipe with start_from where freeze_backbone is true: random weights would be frozen")
        return self


# What may differ when a run goes on: where it runs and what it writes beside its weights.
FREE_ON_RESUME = ("hardware", "log_to", "checkpoints", "data.root", "data.download", "data.workers")


def resolve(recipe: Recipe, data: DataSet) -> Recipe:
    """The recipe with what the data says: channels, the size of a view, mean and deviation of the colours."""
    if recipe.model.kept is not None:
        raise UserError(
            f"Expected a recipe without model.kept to train by, got one that keeps {len(recipe.model.kept)} columns; "
            "say model.kept=null, and shorten the finished run by 'nonneg select'."
        )
    said = recipe.model.model_fields_set
    facts: dict[str, object] = {"channels": data.train.channels, "image_size": recipe.views.size}
    for key, fact in facts.items():
        if key in said and getattr(recipe.model, key) != fact:
            raise UserError(
                f"Expected model.{key} to be {fact}, as the data's, got {getattr(recipe.model, key)}; leave it out."
            )
    if recipe.model.mean is None and recipe.model.std is None:
        facts["mean"], facts["std"] = _colours(data)
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=facts)})


def inherit(recipe: Recipe, source: ModelSettings) -> Recipe:
    """The recipe of a run that begins with another's backbone: its network, its colours."""
    facts = {}
    for key in ("backbone", "small_images", "stem_padding", "mean", "std"):
        said, fact = getattr(recipe.model, key), getattr(source, key)
        if key in recipe.model.model_fields_set and said != fact:
            raise UserError(
                f"Expected model.{key} to be {fact}, as in the run of start_from, got {said}; leave it out."
            )
        facts[key] = fact
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=facts)})


def _colours(data: DataSet) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel; ImageNet's for large pictures, which are not all read for it."""
    if not isinstance(data.train, Images):
        return (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    pixels = data.train.pixels
    counts = torch.stack([torch.bincount(pixels[:, c].flatten().int(), minlength=256) for c in range(pixels.shape[1])])
    share = counts.double() / counts.sum(1, keepdim=True)
    value = torch.arange(256, dtype=torch.float64) / 255
    mean = share @ value
    std = (share @ value.square() - mean.square()).clamp_min(0).sqrt().clamp_min(1 / 255)
    return tuple(round(m, 6) for m in mean.tolist()), tuple(round(s, 6) for s in std.tolist())
