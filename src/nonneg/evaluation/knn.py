"""k-NN: is the class that of the nearest training samples?"""

from nonneg import metrics
from nonneg.evaluation.features import Progress
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["measure"]

NEIGHBOURS = 20


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of h and z by the 20 nearest training samples (metrics.knn_accuracy)."""
    y, y_test = subject.labels()
    found = {}
    for name in ("h", "z"):
        x, x_test = getattr(subject.train, name), getattr(subject.test, name)
        predicted = metrics.knn_predict(x, y, x_test, k=min(NEIGHBOURS, len(x)))
        found[name] = mean_of(predicted.cpu() == y_test, subject.seed)
    return found
