"""A map of features: test samples as points, near where they are alike (t-SNE)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from markupsafe import Markup
from torch import Tensor
from torch.nn import functional as F

from nonneg import _seeds
from nonneg.report.plots import scatter
from nonneg.report.shown import Shown

__all__ = ["FeatureMap", "feature_maps"]

# About 1.3 s a map of 1,000 samples on one core; a page of many runs has fewer samples a map.
_SAMPLES = 1000
_SAMPLES_A_PAGE = 8000
_STEPS = 500  # half as many as usual, for a divergence 3% higher
_FEWEST = 10


@dataclass(frozen=True)
class FeatureMap:
    title: str
    of: str  # h or z
    samples: int
    plot: Markup


def feature_maps(runs: list[Shown]) -> list[FeatureMap]:
    """h and z of each run; the same samples for all runs of a data set. None of features that are all the same."""
    most = min(_SAMPLES, _SAMPLES_A_PAGE // (2 * len(runs)))
    found = []
    for run in runs:
        n = len(run.test.z)
        chosen = torch.randperm(n, generator=_seeds.generator(0, "map"))[:most].sort().values
        labels = run.test.labels[chosen].numpy() if run.labelled and run.test.labels is not None else None
        for of, features in (("h", run.test.h), ("z", run.test.z)):
            points = _tsne(features[chosen])
            if points is not None:
                title = f"{run.title}: map of {of}"
                plot = scatter(title, points.numpy(), labels, run.data.classes)
                found.append(FeatureMap(run.title, of, len(chosen), plot))
    return found


def _tsne(features: Float[Tensor, "n d"]) -> Float[Tensor, "n 2"] | None:
    """Places in the plane, from rows of length 1."""
    from sklearn.manifold import TSNE

    unit = F.normalize(features.double(), dim=1)
    n, d = unit.shape
    if n < _FEWEST or d < 2 or float(unit.std(0).max()) < 1e-6:
        return None
    tsne = TSNE(init="pca", perplexity=min(30.0, (n - 1) / 3), random_state=0, max_iter=_STEPS)
    return torch.from_numpy(tsne.fit_transform(unit.numpy()))
