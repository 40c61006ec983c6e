"""Fine-tuning: how good does a classifier get that begins with a run's backbone and trains all weights?"""

from dataclasses import replace
from pathlib import Path

import torch

from nonneg import training
from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.data import DataSet, Files, Images, Split
from nonneg.data.views import ViewSettings
from nonneg.evaluation import results
from nonneg.evaluation.features import Progress
from nonneg.evaluation.few_shot import labelled
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Source, Subject
from nonneg.training import Recipe, RunFolder, Watcher, recipes
from nonneg.training.watcher import Plan, Silent

__all__ = ["fine_tune", "measure"]

EPOCHS = 10
FOLDER = "fine-tuned"
_BATCH = 256
_LEAST_CROP = 0.2  # as in the supervised recipes


def fine_tune(
    folder: str | Path,
    out: str | Path,
    epochs: int,
    label_share: float = 1.0,
    watcher: Watcher | None = None,
) -> RunFolder:
    """A linear classifier on h and the backbone, trained together by cross entropy on the run's data.

    SimCLR's protocol (Chen et al., ICML 2020, B.5): SGD with Nesterov momentum, lr 0.05·batch/256, no warm-up, no
    weight decay, crops and flips alone. `label_share` of each class is trained on, the first draw of `few_shot`. What
    is in `out` already goes on, or stays if it is done.
    """
    source, run = Source(folder), RunFolder(Path(out))
    data = _thinned(source.data, label_share)
    recipe = _recipe(source, epochs, label_share, len(data.train))
    if not run.recipe.is_file():
        return training.train(recipe, run.path, data=data, watcher=watcher)
    _check_same(run, recipe)
    return training.resume(run.path, data=data, watcher=watcher)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of the classifier after 10 epochs, which are kept as a run in `fine-tuned` in the run's folder."""
    if subject.source is None:
        raise UserError(
            f"Expected a run, whose model can be trained, got {subject.name}, which holds features alone; "
            "give a run's folder."
        )
    subject.labels()
    folder = subject.source.folder.path
    run = fine_tune(folder, folder / FOLDER, EPOCHS, watcher=_Steps(progress))
    n = len(subject.test.numbers)
    correct = torch.arange(n) < round(_accuracy(run) * n)  # which ones are, the interval doesn't depend on
    return {"accuracy": mean_of(correct, subject.seed)}


def _recipe(source: Source, epochs: int, label_share: float, samples: int) -> Recipe:
    """Of the same data, pictures and backbone; what it depends on beyond a recipe's keys is in its name."""
    run = source.recipe
    crop = (max(_LEAST_CROP, ViewSettings(name=run.views.name).crop[0]), 1.0)
    only_crops = {"crop": crop, "jitter": 0.0, "grey": 0.0, "blur": 0.0, "solarise": 0.0}
    return validated(
        Recipe,
        {
            "name": f"{run.name}-fine-tuned" + ("" if label_share == 1 else f"-{label_share:g}"),
            "data": run.data,
            "views": run.views.model_dump() | only_crops,
            "model": run.model.model_dump() | {"projector": (), "kept": None, "activation": "identity"},
            "method": {"name": "ce"},
            "optimiser": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.0},
            "epochs": epochs,
            "batch_size": min(_BATCH, samples),
            "start_from": source.folder.path.resolve(),
            "seed": run.seed,
        },
    )


def _check_same(run: RunFolder, recipe: Recipe) -> None:
    """What is there must have been made as it would be now; the run that it began with may have been moved."""
    before = recipes.read_file(run.recipe)
    difference = recipes.first_difference(before, recipe.model_copy(update={"start_from": before.start_from}))
    if difference is not None:
        key, old, new = difference
        raise UserError(
            f"Expected {run.path} to be fine-tuned with {key} {new!r}, got one with {old!r}; remove it, or choose "
            "another folder."
        )


def _thinned(data: DataSet, share: float) -> DataSet:
    """With a share of the labels, and the pictures that they are of, to train on."""
    if share == 1:
        return data
    train = data.train
    if train.labels is None:
        raise UserError(f"Expected labelled data to fine-tune on, got {data.name} without labels; choose another run.")
    return replace(data, train=_chosen(train, labelled(train.labels, share).tolist()))


def _chosen(split: Split, numbers: list[int]) -> Split:
    labels = None if split.labels is None else split.labels[numbers]
    if isinstance(split, Images):
        return Images(split.pixels[numbers], labels)
    return Files(tuple(split.paths[number] for number in numbers), labels, split.channels)


def _accuracy(run: RunFolder) -> float:
    """Of the classifier on the evaluated part, as training wrote it."""
    kept = results.read(run.metrics).get("training", {})
    if "accuracy" not in kept:
        raise UserError(f"Expected an accuracy in {run.metrics}, got none; remove {run.path} to fine-tune again.")
    return kept["accuracy"].value


class _Steps(Silent):
    """A run's steps as progress."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.steps = 0

    def begins(self, plan: Plan) -> None:
        self.steps = plan.epochs * plan.steps

    def step(self, step: int, loss: float) -> None:
        self.progress(step, self.steps)
