"""Transfer: how much of another data set's classes can a linear map read off a run's features?"""

from nonneg._errors import UserError
from nonneg.data import DataSet, Split
from nonneg.evaluation.features import Features, Progress, extract
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Source, Subject

__all__ = ["measure"]


def measure(subject: Subject, data: DataSet, progress: Progress) -> dict[str, Result]:
    """Accuracy on `data`'s test part of probes on h and z of its training part, both made by the run's model."""
    source = subject.source
    if source is None:
        raise UserError(
            f"Expected a run, whose model can be shown other pictures, got {subject.name}, which holds features alone; "
            "give a run's folder."
        )
    test = _fitting_test_part(source, data)
    total = len(data.train) + len(test)

    def made(split: Split, before: int) -> Features:
        settings = source.recipe.data
        return extract(
            source.model,
            split,
            workers=settings.workers,
            on_bad_file=settings.on_bad_file,
            progress=lambda done, of: progress(before + done, total),
        )

    seen, unseen = made(data.train, 0), made(test, len(data.train))
    assert seen.labels is not None and unseen.labels is not None
    found = {}
    for name in ("h", "z"):
        probe = fit_probe(getattr(seen, name), seen.labels, seed=subject.seed)
        found[name] = mean_of(probe.correct(getattr(unseen, name), unseen.labels), subject.seed)
    return found


def _fitting_test_part(source: Source, data: DataSet) -> Split:
    """The test part of data that a probe can be fitted and measured on."""
    channels = source.model.settings.channels
    if data.train.channels != channels:
        raise UserError(
            f"Expected pictures of {channels} channels, as those of {source.folder.path}, got {data.train.channels} in "
            f"{data.name}; convert them, or choose other data."
        )
    if data.test is None:
        raise UserError(f"Expected data with a test part, got {data.name}, which has none; choose other data.")
    if data.train.labels is None or data.test.labels is None:
        raise UserError(f"Expected labelled data, got {data.name}, which has no labels; choose other data.")
    return data.test
