"""Retrieval: are a test sample's nearest others of its class?"""

from nonneg import metrics
from nonneg.evaluation.features import Progress
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["measure"]

FIRST = 10


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """precision@10 and mAP@10 of z over the test samples, leave one out by cosine (metrics.retrieval)."""
    if subject.test.labels is None or len(subject.test.z) < 2:
        return {}
    k = min(FIRST, len(subject.test.z) - 1)
    each = metrics.retrieval_each(subject.test.z, subject.test.labels, k)
    return {name: mean_of(values, subject.seed) for name, values in each.items()}
