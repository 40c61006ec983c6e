"""Out of distribution: do the classes still show when the pictures are corrupted, sketched, stylised, or another's?"""

from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from nonneg._errors import UserError, nearest
from nonneg.data import DataSet, Images, evaluation_batches
from nonneg.data.corruptions import NAMES, STAND_INS, corrupt
from nonneg.evaluation.features import Features, Progress, default_device, extract
from nonneg.evaluation.linear_probe import LinearProbe, fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Source, Subject

__all__ = ["measure", "measure_shifted"]

SEVERITIES = (1, 2, 3, 4, 5)
PICTURES = 2000

# Learnt once for all that is measured of a subject.
_fitted: WeakKeyDictionary[Subject, dict[str, LinearProbe]] = WeakKeyDictionary()


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy on changed pictures of probes on h and z that were learnt on the training part as it is.

    At most 2,000 test pictures, at the model's size. `corrupted` is the mean over the 15 corruptions at 5 severities, a
    corruption's own number that over its severities; edges and stylised pictures have no severities.
    """
    source, probes = _source(subject), _probes(subject)
    pixels, labels = _as_evaluated(source)
    steps = [
        ("clean", 0),
        *((name, severity) for name in NAMES for severity in SEVERITIES),
        *((s, 0) for s in STAND_INS),
    ]
    right: dict[str, list[dict[str, Tensor]]] = {}
    for number, (name, severity) in enumerate(steps):
        changed = pixels if name == "clean" else corrupt(pixels, name, severity, subject.seed)
        features = extract(source.model, Images(changed, labels), progress=_as_part(progress, number, len(steps)))
        right.setdefault(name, []).append(_right(probes, features, labels))
    found = {}
    for which in probes:
        # Of each picture, the share of a corruption's severities at which its class is found.
        shares = {name: torch.stack([of[which] for of in answers]).mean(0) for name, answers in right.items()}
        shares["corrupted"] = torch.stack([shares[name] for name in NAMES]).mean(0)
        for name in ("clean", "corrupted", *NAMES, *STAND_INS):
            found[f"{which}/{name}"] = mean_of(shares[name], subject.seed)
    return found


def measure_shifted(subject: Subject, data: DataSet, progress: Progress) -> dict[str, Result]:
    """Accuracy of the same probes on the evaluated part of another data set of the same classes, told by their names.

    It may have fewer classes.
    """
    source, probes = _source(subject), _probes(subject)
    split = data.evaluated()
    if split.labels is None:
        raise UserError(f"Expected labelled data to measure a shift on, got {data.name} without labels.")
    numbers = _class_numbers(data, subject)
    settings = source.recipe.data
    features = extract(
        source.model, split, workers=settings.workers, on_bad_file=settings.on_bad_file, progress=progress
    )
    assert features.labels is not None
    right = _right(probes, features, numbers[features.labels])
    return {which: mean_of(share, subject.seed) for which, share in right.items()}


def _source(subject: Subject) -> Source:
    if subject.source is None:
        raise UserError(
            f"Expected a run, whose model can look at other pictures, got features alone in {subject.name}; give the "
            "run's folder."
        )
    return subject.source


def _probes(subject: Subject) -> dict[str, LinearProbe]:
    if subject not in _fitted:
        y, _ = subject.labels()
        _fitted[subject] = {
            which: fit_probe(getattr(subject.train, which), y, seed=subject.seed) for which in ("h", "z")
        }
    return _fitted[subject]


def _as_evaluated(source: Source) -> tuple[UInt8[Tensor, "n c s s"], Int64[Tensor, " n"]]:
    """The pictures that are changed: in memory, whole or their middle, as large as the model sees them."""
    split = source.data.evaluated().thinned(PICTURES)
    settings = source.recipe.data
    numbers, pixels = [], []
    for chosen, x in evaluation_batches(
        split, source.model.settings.image_size, default_device(), 512, settings.workers, settings.on_bad_file
    ):
        numbers.append(chosen)
        pixels.append((x * 255).round().to(torch.uint8))
    assert split.labels is not None
    return torch.cat(pixels), split.labels[torch.cat(numbers)]


def _right(
    probes: dict[str, LinearProbe], features: Features, y: Int64[Tensor, " n"]
) -> dict[str, Float[Tensor, " n"]]:
    return {which: (probe.scores(getattr(features, which)).argmax(1) == y).double() for which, probe in probes.items()}


def _class_numbers(data: DataSet, subject: Subject) -> Int64[Tensor, " c"]:
    """The run's number of each of the data set's classes."""
    for name in data.classes:
        if name not in subject.classes:
            raise UserError(
                f"Expected the classes of {subject.name} in {data.name}, got {name!r}; did you mean "
                f"{nearest(name, subject.classes)!r}? Rename it, or leave it out."
            )
    return torch.tensor([subject.classes.index(name) for name in data.classes])


def _as_part(progress: Progress, number: int, count: int) -> Progress:
    """Of `count` passes over the same pictures, the one of this number."""
    return lambda done, of: progress(number * of + done, count * of)
