"""The measurements as torchmetrics classes, which gather rows over batches and processes and then call the function.

They live apart from the functions because importing torchmetrics takes longer than importing torch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from nonneg import _arrays, _checks
from nonneg._arrays import Features, Labels
from nonneg.metrics.alive import alive
from nonneg.metrics.class_consistency import class_consistency
from nonneg.metrics.correlation import correlation
from nonneg.metrics.effective_rank import effective_rank
from nonneg.metrics.knn_accuracy import knn_predict
from nonneg.metrics.retrieval import retrieval
from nonneg.metrics.sepin import sepin
from nonneg.metrics.sparsity import sparsity

__all__ = [
    "Alive",
    "ClassConsistency",
    "Correlation",
    "EffectiveRank",
    "KnnAccuracy",
    "Retrieval",
    "Sepin",
    "Sparsity",
]


class _Rows(Metric):
    """Keeps the rows of what `update` gets, in as many lists as the measurement has arguments."""

    full_state_update = False
    is_differentiable = False

    def __init__(self, *names: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._names = names
        for name in names:
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def _keep(self, *rows: Tensor) -> None:
        for name, tensor in zip(self._names, rows, strict=True):
            getattr(self, name).append(tensor)

    def _all(self) -> list[Tensor]:
        states = [getattr(self, name) for name in self._names]
        if any(isinstance(state, list) and not state for state in states):
            raise ValueError(f"Expected update to be called before {type(self).__name__}.compute, got no rows.")
        return [torch.cat(state) if isinstance(state, list) else state for state in states]

    def _scalar(self, value: float) -> Tensor:
        return torch.tensor(value, device=self.device)


class _OfFeatures(_Rows):
    """A measurement of features alone."""

    def __init__(self, **settings: Any) -> None:
        super().__init__("z", **settings)

    def update(self, z: Features) -> None:
        self._keep(_arrays.features(z))


class _OfLabelled(_Rows):
    """A measurement of features and labels."""

    def __init__(self, **settings: Any) -> None:
        super().__init__("z", "y", **settings)

    def update(self, z: Features, y: Labels) -> None:
        features = _arrays.features(z)
        self._keep(features, _arrays.labels(y, features))


class Sparsity(_OfFeatures):
    """`sparsity` over batches and processes.

    >>> metric = Sparsity()
    >>> metric.update(torch.tensor([[0.0, 3.0]]))
    >>> metric.update(torch.tensor([[0.0, 0.0]]))
    >>> metric.compute()
    tensor(0.7500)
    """

    def compute(self) -> Tensor:
        return self._scalar(sparsity(*self._all()))


class Alive(_OfFeatures):
    """`alive` over batches and processes."""

    def compute(self) -> Tensor:
        return self._scalar(alive(*self._all()))


class Correlation(_OfFeatures):
    """`correlation` over batches and processes."""

    def compute(self) -> Tensor:
        return self._scalar(correlation(*self._all()))


class EffectiveRank(_OfFeatures):
    """`effective_rank` over batches and processes."""

    def compute(self) -> Tensor:
        return self._scalar(effective_rank(*self._all()))


class ClassConsistency(_OfLabelled):
    """`class_consistency` over batches and processes."""

    def compute(self) -> Tensor:
        return self._scalar(class_consistency(*self._all()))


class Retrieval(_OfLabelled):
    """`retrieval` over batches and processes: {"precision": …, "map": …}."""

    def __init__(self, k: int = 10, **settings: Any) -> None:
        super().__init__(**settings)
        _checks.positive(k, "k")
        self.k = k

    def compute(self) -> dict[str, Tensor]:
        z, y = self._all()
        return {name: self._scalar(value) for name, value in retrieval(z, y, self.k).items()}


class Sepin(_Rows):
    """`sepin` over batches and processes of two views: {"1": …, "10": …, "100": …, "all": …}."""

    def __init__(self, k: Sequence[int] = (1, 10, 100), temperature: float = 0.2, **settings: Any) -> None:
        super().__init__("z1", "z2", **settings)
        _checks.temperature(temperature)
        self.k = tuple(k)
        self.temperature = temperature

    def update(self, z1: Features, z2: Features) -> None:
        first, second = _arrays.features(z1, "z1"), _arrays.features(z2, "z2")
        _checks.same_shape(first, second)
        self._keep(first, second)

    def compute(self) -> dict[str, Tensor]:
        z1, z2 = self._all()
        return {str(k): self._scalar(value) for k, value in sepin(z1, z2, self.k, self.temperature).items()}


class KnnAccuracy(Metric):
    """`knn_accuracy` of test batches against training features given once; it keeps two counts, no rows.

    >>> metric = KnnAccuracy(torch.eye(2), torch.tensor([0, 1]), k=1)
    >>> metric.update(torch.tensor([[2.0, 1.0], [2.0, 1.0]]), torch.tensor([0, 1]))
    >>> metric.compute()
    tensor(0.5000)
    """

    full_state_update = False
    is_differentiable = False
    correct: Tensor
    total: Tensor

    def __init__(
        self, z_train: Features, y_train: Labels, k: int = 20, temperature: float = 0.07, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.z_train, self.y_train, self.k, self.temperature = z_train, y_train, k, temperature
        self.add_state("correct", default=torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("total", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, z: Features, y: Labels) -> None:
        predicted = knn_predict(self.z_train, self.y_train, z, self.k, self.temperature)
        self.correct += (predicted == _arrays.labels(y, predicted, "test labels")).sum().to(self.correct.device)
        self.total += len(predicted)

    def compute(self) -> Tensor:
        return self.correct / self.total
