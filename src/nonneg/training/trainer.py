"""Train a model by a recipe, in a folder, from the beginning or from where a run stopped."""

import copy
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from nonneg import models
from nonneg._errors import UserError
from nonneg.data import DataSet
from nonneg.training import recipes
from nonneg.training.recipe import Recipe, inherit
from nonneg.training.run import Run
from nonneg.training.run_folder import RunFolder
from nonneg.training.watcher import Watcher

__all__ = ["resume", "train"]


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    data: DataSet | None = None,
    backbone: nn.Module | None = None,
    watcher: Watcher | None = None,
) -> RunFolder:
    """A new run in a new folder. Stopped at any moment, it can be resumed.

    `data` in place of what the recipe names, and a `backbone` for `model.backbone: custom`, are given from Python; who
    resumes such a run gives them again.
    """
    if recipe.start_from is not None:
        recipe = inherit(recipe, models.load(recipe.start_from, copy.deepcopy(backbone)).settings)
    run = Run(recipe, RunFolder(Path(folder)), data, backbone, watcher)
    run.train(begin=True)
    return run.folder


def resume(
    folder: str | Path,
    changes: Sequence[str] = (),
    *,
    data: DataSet | None = None,
    backbone: nn.Module | None = None,
    watcher: Watcher | None = None,
) -> RunFolder:
    """A run goes on as if it had never stopped; one that is done stays as it is.

    `changes` (`key=value`) may say where it runs and what it logs, not what it learns.
    """
    run_folder = RunFolder(Path(folder))
    if not run_folder.recipe.is_file():
        raise UserError(f"Expected a run's folder, got {folder}, which holds no recipe.yaml; check the path.")
    recipe = recipes.read(str(run_folder.recipe), changes)
    run_folder.check_resumed(recipe)
    if not run_folder.is_done():
        Run(recipe, run_folder, data, backbone, watcher).train(begin=False)
    return run_folder
