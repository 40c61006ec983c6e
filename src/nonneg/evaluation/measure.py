"""All measurements of a run, by one protocol, kept in its metrics.json."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import torch

from nonneg import _files, metrics
from nonneg._errors import UserError
from nonneg.data import Batches
from nonneg.evaluation.features import Features, Progress, default_device, features_of_run
from nonneg.evaluation.linear_probe import linear_probe
from nonneg.models import load
from nonneg.training.recipe import Recipe
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["measure_run"]

# SEPIN's cost grows with the square of the samples where features are dense.
_PAIRS = 2000
_BATCH = 250


def measure_run(folder: str | Path, progress: Progress = lambda done, of: None) -> dict[str, float]:
    """Probe and k-NN accuracy of h and z, and what z is like, on the n test pictures (SEPIN on at most 2,000).

    What stands in metrics.json already is not measured again.
    """
    run = RunFolder(Path(folder))
    if not run.is_done():
        raise UserError(f"Expected a finished run in {folder}, got none; train it, or go on with it by --resume.")
    found = _kept(run.metrics)
    recipe = read_file(run.recipe)
    train, test = features_of_run(folder, progress)
    for name, measure in _MEASUREMENTS.items():
        if name not in found:
            found |= measure(run, recipe, train, test)
            _files.write_text(run.metrics, json.dumps(found, indent=2) + "\n")
    return found


def _probes(run: RunFolder, recipe: Recipe, train: Features, test: Features) -> dict[str, float]:
    if train.labels is None or test.labels is None:
        return {}
    found = {}
    for name, x, x_test in (("h", train.h, test.h), ("z", train.z, test.z)):
        found[f"probe_{name}"] = linear_probe(x, train.labels, x_test, test.labels)
        found[f"knn_{name}"] = metrics.knn_accuracy(x, train.labels, x_test, test.labels, k=min(20, len(x)))
    return found


def _properties(run: RunFolder, recipe: Recipe, train: Features, test: Features) -> dict[str, float]:
    z = test.z
    if not metrics.alive(z):
        raise UserError(
            f"Expected features to measure, got only zeros from {run.path}, whose dimensions are all dead (collapse); "
            "train it anew with model.activation=rep_relu or a lower optimiser.lr."
        )
    found = {
        "n": float(len(z)),
        "sparsity": metrics.sparsity(z),
        "alive": metrics.alive(z),
        "correlation": metrics.correlation(z),
        "effective_rank": metrics.effective_rank(z),
    }
    if test.labels is not None:
        found["consistency"] = metrics.class_consistency(z, test.labels)
        if len(z) > 1:
            at_ten = metrics.retrieval(z, test.labels, k=min(10, len(z) - 1))
            found |= {f"retrieval_{key}": value for key, value in at_ten.items()}
    return found


def _sepin(run: RunFolder, recipe: Recipe, train: Features, test: Features) -> dict[str, float]:
    """Of two views of the test pictures, by the views that the run was trained with; the same views for every run."""
    pictures = recipe.data.load().evaluated().thinned(_PAIRS)
    if len(pictures) < 2:
        return {}
    device = default_device()
    model = load(run.path).to(device)
    batches = Batches(
        pictures,
        recipe.views,
        batch_size=len(pictures) // math.ceil(len(pictures) / _BATCH),  # that leaves hardly any out
        view_count=2,
        seed=0,
        device=device,
        workers=recipe.data.workers,
        on_bad_file=recipe.data.on_bad_file,
    )
    with torch.no_grad():
        pairs = [[model.features(view) for view in batch.views] for batch in batches]
    z1, z2 = (torch.cat(z) for z in zip(*pairs, strict=True))
    found = metrics.sepin(z1, z2, k=[k for k in (1, 10, 100) if k <= z1.shape[1]])
    return {f"sepin_{k}": value for k, value in found.items()}


def _kept(path: Path) -> dict[str, float]:
    """What was measured before."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"Expected measurements in JSON in {path}, got something else; remove it to measure again.")
    return found


# By the last of the keys that each adds: training may have written others of them.
_Measurement = Callable[[RunFolder, Recipe, Features, Features], dict[str, float]]
_MEASUREMENTS: dict[str, _Measurement] = {"knn_z": _probes, "effective_rank": _properties, "sepin_all": _sepin}
