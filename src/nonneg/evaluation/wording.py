"""What a measurement is called where people read it, how its number is written, and which way is better."""

import math

from nonneg.evaluation.results import Result

__all__ = ["better", "label", "shown", "with_interval"]

_LABELS = {
    "linear_probe": "linear probe on {}",
    "knn": "k-NN on {}",
    "retrieval": "retrieval {}",
    "sepin": "SEPIN@{} ×100",
    "training": "{} while training",
}
_NAMES = {
    ("properties", "consistency"): "class consistency",
    ("properties", "alive"): "alive dimensions",
    ("properties", "effective_rank"): "effective rank",
    ("retrieval", "precision"): "retrieval precision@10",
    ("retrieval", "map"): "retrieval mAP@10",
}
# What is no share of something, by the last word of its name, and how it is written.
_FORMS = {"alive": "{:.0f}", "correlation": "{:.3f}", "effective_rank": "{:.1f}"}
# Neither way is better, or less is.
_NO_MATTER, _LESS = {"alive", "effective_rank", "n"}, {"correlation"}


def label(part: str, name: str) -> str:
    """A measurement in words.

    >>> label("linear_probe", "h/top5")
    'linear probe on h, top 5'
    """
    if (part, name) in _NAMES:
        return _NAMES[part, name]
    words = name.replace("/top5", ", top 5").replace("_", " ").replace("/", ", ")
    if part in _LABELS:
        return _LABELS[part].format(words)
    return words if part == "properties" else f"{part.replace('_', ' ')}: {words}"


def shown(part: str, name: str, value: float) -> str:
    """A number as it is written: a share in per cent, SEPIN times 100.

    >>> shown("knn", "h", 0.8125), shown("properties", "correlation", 0.0331), shown("sepin", "10", 0.024)
    ('81.2%', '0.033', '2.40')
    """
    if math.isnan(value):
        return "–"
    if part == "sepin":
        return f"{100 * value:.2f}"
    return _FORMS.get(name.rpartition("/")[2], "{:.1%}").format(value)


def with_interval(part: str, name: str, result: Result) -> str:
    """`81.2% (79.4–82.9)`, or the number alone."""
    text = shown(part, name, result.value)
    if result.low is None or result.high is None:
        return text
    low, high = (shown(part, name, bound).removesuffix("%") for bound in (result.low, result.high))
    return f"{text} ({low}–{high})"


def better(part: str, name: str) -> int:
    """1 where more is better, −1 where less is, 0 where neither."""
    last = name.rpartition("/")[2]
    return 0 if last in _NO_MATTER else -1 if last in _LESS else 1
