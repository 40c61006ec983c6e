"""What is measured: features of a training and a test part, a run's or of an array file."""

from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from nonneg._errors import UserError
from nonneg.activations import is_non_negative
from nonneg.data import DataSet
from nonneg.data.arrays import read_npz
from nonneg.evaluation.features import Features, Progress, default_device, features_of_run
from nonneg.models import Model, load
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["Source", "Subject"]

SEED = 0


class Source:
    """The run that features are of: what is needed to make others like them. Read when it is touched."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = RunFolder(Path(folder))
        if not self.folder.is_done():
            raise UserError(f"Expected a finished run in {folder}, got none; train it, or go on with it by --resume.")
        self.recipe = read_file(self.folder.recipe)

    @cached_property
    def model(self) -> Model:
        return load(self.folder.path).to(default_device())

    @cached_property
    def data(self) -> DataSet:
        return self.recipe.data.load()


class Subject:
    """h and z of samples to learn from and of others to be measured on; `source` is None where no run made them."""

    def __init__(
        self,
        name: str,
        train: Features,
        test: Features,
        classes: tuple[str, ...] = (),
        source: Source | None = None,
        seed: int = SEED,
    ) -> None:
        self.name = name
        self.train = train
        self.test = test
        self.classes = classes
        self.source = source
        self.seed = seed

    @classmethod
    def of_run(cls, folder: str | Path, progress: Progress = lambda done, of: None) -> "Subject":
        """A finished run, on its own data."""
        source = Source(folder)
        train, test = features_of_run(folder, progress)
        return cls(str(folder), train, test, source.data.classes, source)

    @classmethod
    def of_arrays(cls, path: str | Path) -> "Subject":
        """An array file of `features` and, if it has them, `labels`, `test_features`, `test_labels`, `classes`.

        Both h and z are the features; without a test part, the training part is measured.
        """
        arrays = read_npz(Path(path))
        if "features" not in arrays:
            raise UserError(f"Expected features in {path}, got {', '.join(sorted(arrays)) or 'nothing'}; name them so.")

        def part(prefix: str) -> Features:
            x = torch.from_numpy(arrays[f"{prefix}features"]).float()
            y = arrays.get(f"{prefix}labels")
            labels = None if y is None else torch.from_numpy(y).long()
            if x.ndim != 2 or (labels is not None and labels.shape != x.shape[:1]):
                raise UserError(
                    f"Expected {prefix}features (n, d) and {prefix}labels (n,) in {path}, got {tuple(x.shape)} and "
                    f"{None if labels is None else tuple(labels.shape)}."
                )
            return Features(x, x, labels, torch.arange(len(x)))

        train = part("")
        test = part("test_") if "test_features" in arrays else train
        return cls(str(path), train, test, tuple(map(str, arrays.get("classes", ()))))

    @property
    def labelled(self) -> bool:
        return self.train.labels is not None and self.test.labels is not None

    @property
    def non_negative(self) -> bool:
        """Whether z is non-negative by what made it; of an array file, by its values."""
        if self.source is not None:
            return is_non_negative(self.source.recipe.model.activation)
        return bool((self.train.z >= 0).all())

    def labels(self) -> tuple[Tensor, Tensor]:
        """Of both parts, for a protocol that needs them."""
        if self.train.labels is None or self.test.labels is None:
            raise UserError(f"Expected labelled data for this measurement, got {self.name} without labels.")
        return self.train.labels, self.test.labels

    def signed(self, features: Features) -> Float[Tensor, "n d"]:
        """p(h), what σ₊ is put on; z where it isn't known."""
        if self.source is None:
            return features.z
        with torch.no_grad():
            like = next(self.source.model.parameters())
            return self.source.model.project(features.h.to(like)).float().cpu()
