"""SEPIN: what does a dimension tell that the others don't? Of two views of the test pictures."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from nonneg import metrics
from nonneg.data import Batches
from nonneg.evaluation.features import Progress, default_device
from nonneg.evaluation.results import Result
from nonneg.evaluation.subject import Source, Subject

__all__ = ["measure", "two_views"]

# SEPIN's cost grows with the square of the samples where features are dense.
_PAIRS = 2000
_BATCH = 250


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """SEPIN@1, 10, 100 and all, in nats (metrics.sepin), of at most 2,000 test pictures."""
    if subject.source is None:
        return {}
    pair = two_views(subject.source, subject.seed)
    if pair is None:
        return {}
    z1, z2 = pair
    found = metrics.sepin(z1, z2, k=[k for k in (1, 10, 100) if k <= z1.shape[1]])
    return {str(k): Result(value, len(z1), seed=subject.seed) for k, value in found.items()}


def two_views(source: Source, seed: int) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]] | None:
    """z of two views of the pictures, by the views that the run was trained with; the same views for every run."""
    pictures = source.data.evaluated().thinned(_PAIRS)
    if len(pictures) < 2:
        return None
    recipe = source.recipe
    batches = Batches(
        pictures,
        recipe.views,
        batch_size=len(pictures) // math.ceil(len(pictures) / _BATCH),  # that leaves hardly any out
        view_count=2,
        seed=seed,
        device=default_device(),
        workers=recipe.data.workers,
        on_bad_file=recipe.data.on_bad_file,
    )
    with torch.no_grad():
        pairs = [[source.model.features(view) for view in batch.views] for batch in batches]
    z1, z2 = (torch.cat(z) for z in zip(*pairs, strict=True))
    return z1, z2
