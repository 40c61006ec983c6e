"""How sparsity is spread over samples, and consistency over dimensions."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from nonneg import metrics
from nonneg.report.plots import histogram
from nonneg.report.shown import Shown

__all__ = ["consistency_plot", "sparsity_plot"]


def sparsity_plot(runs: Sequence[Shown]) -> Markup:
    """The share of inactive entries, sample by sample."""
    groups = [(run.title, run.number, metrics.sparsity_each(run.test.z).numpy()) for run in runs]
    return histogram("Sparsity per sample", groups, "inactive entries of a sample")


def consistency_plot(runs: Sequence[Shown]) -> Markup:
    """The share of the most frequent class, alive dimension by alive dimension; empty without labels."""
    groups = [(run.title, run.number, _consistencies(run)) for run in runs if run.labelled]
    return histogram("Consistency per dimension", groups, "most frequent class of a dimension")


def _consistencies(run: Shown) -> np.ndarray:
    if run.test.labels is None or not metrics.alive(run.test.z):
        return np.zeros(0)
    profile = metrics.class_profile(run.test.z, run.test.labels)
    shares: np.ndarray = profile.consistency[profile.samples > 0].numpy()
    return shares
