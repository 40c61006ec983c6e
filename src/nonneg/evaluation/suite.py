"""All protocols by name, and what runs those that were asked for, one after another, kept as they end.

A protocol is a file with `measure(subject, progress)`, and its line in `PROTOCOLS`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nonneg._errors import UserError, nearest
from nonneg.data import DataSet
from nonneg.evaluation import (
    baselines,
    dimension_selection,
    few_shot,
    fine_tuning,
    input_noise,
    knn,
    label_noise,
    out_of_distribution,
    properties,
    results,
    retrieval,
    sepin,
    transfer,
)
from nonneg.evaluation.features import Progress
from nonneg.evaluation.linear_probe import measure as linear_probe
from nonneg.evaluation.results import Result
from nonneg.evaluation.subject import Subject

__all__ = ["ELSEWHERE", "PROTOCOLS", "SUITES", "Protocol", "chosen", "evaluate", "evaluate_on", "measure_run"]

Tell = Callable[[str], Progress]


@dataclass(frozen=True)
class Protocol:
    """How it is measured, and what it needs."""

    measure: Callable[[Subject, Progress], dict[str, Result]]
    needs_labels: bool = True
    needs_run: bool = False
    quick: bool = False


PROTOCOLS: dict[str, Protocol] = {
    "linear_probe": Protocol(linear_probe, quick=True),
    "knn": Protocol(knn.measure, quick=True),
    "properties": Protocol(properties.measure, needs_labels=False, quick=True),
    "retrieval": Protocol(retrieval.measure, quick=True),
    "sepin": Protocol(sepin.measure, needs_labels=False, needs_run=True, quick=True),
    "few_shot": Protocol(few_shot.measure),
    "label_noise": Protocol(label_noise.measure),
    "dimension_selection": Protocol(dimension_selection.measure),
    "input_noise": Protocol(input_noise.measure, needs_run=True),
    "out_of_distribution": Protocol(out_of_distribution.measure, needs_run=True),
    "baselines": Protocol(baselines.measure, needs_labels=False),
    "fine_tuning": Protocol(fine_tuning.measure, needs_run=True),
}

# Those that need another data set: one with classes of its own, and one with the run's.
ELSEWHERE: dict[str, Callable[[Subject, DataSet, Progress], dict[str, Result]]] = {
    "transfer": transfer.measure,
    "shifted": out_of_distribution.measure_shifted,
}

SUITES: dict[str, tuple[str, ...]] = {
    "quick": tuple(name for name, protocol in PROTOCOLS.items() if protocol.quick),
    "full": tuple(PROTOCOLS),
}


def chosen(words: Sequence[str]) -> tuple[str, ...]:
    """The protocols of suites and of single names, in the order of the table, each once.

    >>> chosen(["knn", "linear_probe", "knn"])
    ('linear_probe', 'knn')
    """
    known = [*SUITES, *PROTOCOLS]
    for word in words:
        if word not in known:
            raise UserError(
                f"Expected a suite ({', '.join(SUITES)}) or a protocol ({', '.join(PROTOCOLS)}), got {word!r}; "
                f"did you mean {nearest(word, known)!r}?"
            )
    wanted = {name for word in words for name in SUITES.get(word, (word,))}
    return tuple(name for name in PROTOCOLS if name in wanted)


def evaluate(
    subject: Subject,
    file: Path,
    names: Sequence[str] = SUITES["quick"],
    again: bool = False,
    tell: Tell = lambda name: lambda done, of: None,
) -> dict[str, dict[str, Result]]:
    """Measure what `file` doesn't hold yet, or all that is named if `again`; it is written after each protocol.

    What a protocol needs and the subject doesn't have (labels, a run) leaves it out. `tell` is told which begins, and
    what it returns how far it is.
    """
    found = results.read(file)
    for name in names:
        protocol = PROTOCOLS[name]
        if name in found and not again:
            continue
        if (protocol.needs_labels and not subject.labelled) or (protocol.needs_run and subject.source is None):
            continue
        numbers = _timed(partial(protocol.measure, subject), tell(name))
        if numbers:
            found[name] = numbers
            results.write(file, found)
    return found


def evaluate_on(
    subject: Subject,
    file: Path,
    part: str,
    data: DataSet,
    again: bool = False,
    tell: Tell = lambda name: lambda done, of: None,
) -> dict[str, dict[str, Result]]:
    """`transfer` or `shifted` on another data set, beside what `file` holds: "h/stl10" is h's number on stl10."""
    found = results.read(file)
    name = Path(data.name.rpartition(":")[2]).name.removesuffix(".npz")
    if again or f"h/{name}" not in found.get(part, {}):
        numbers = _timed(partial(ELSEWHERE[part], subject, data), tell(f"{part}, {name}"))
        found[part] = found.get(part, {}) | {f"{key}/{name}": number for key, number in numbers.items()}
        results.write(file, found)
    return found


def measure_run(
    folder: str | Path,
    names: Sequence[str] = SUITES["quick"],
    again: bool = False,
    tell: Tell = lambda name: lambda done, of: None,
) -> Mapping[str, Mapping[str, Result]]:
    """`evaluate` a finished run, kept in its metrics.json; its features are made once and kept too."""
    subject = Subject.of_run(folder, tell("features"))
    assert subject.source is not None
    return evaluate(subject, subject.source.folder.metrics, names, again, tell)


def _timed(measure: Callable[[Progress], dict[str, Result]], progress: Progress) -> dict[str, Result]:
    began = time.perf_counter()
    numbers = measure(progress)
    took = time.perf_counter() - began
    return {key: number.took(took) for key, number in numbers.items()}
