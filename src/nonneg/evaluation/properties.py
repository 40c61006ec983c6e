"""What features are like: how sparse, how consistent with the classes, how alike one another."""

from nonneg import metrics
from nonneg._errors import UserError
from nonneg.evaluation.features import Progress
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["measure"]


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Of z of the test samples. Sparsity's interval is over samples, consistency's over alive dimensions."""
    z, seed = subject.test.z, subject.seed
    n = len(z)
    alive = metrics.alive(z)
    if not alive:
        raise UserError(
            f"Expected features to measure, got only zeros from {subject.name}, whose dimensions are all dead "
            "(collapse); train it anew with model.activation=rep_relu or a lower optimiser.lr."
        )
    found = {
        "sparsity": mean_of(metrics.sparsity_each(z), seed),
        "alive": Result(alive, n),
        "correlation": Result(metrics.correlation(z), n),
        "effective_rank": Result(metrics.effective_rank(z), n),
    }
    if subject.test.labels is not None:
        profile = metrics.class_profile(z, subject.test.labels)
        shares = mean_of(profile.consistency[profile.samples > 0], seed)
        found = {"consistency": Result(shares.value, n, shares.low, shares.high, seed)} | found
    return found
