"""A run's most used dimensions as a run of their own (NCL, ICLR 2024: 512 of 2048 do as well as all)."""

import shutil
from pathlib import Path

from nonneg import _files, models, selection
from nonneg._errors import UserError
from nonneg.activations import is_non_negative
from nonneg.data.arrays import read_npz
from nonneg.evaluation.features import Progress, features_of_run
from nonneg.models import load
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["shorten"]


def shorten(folder: str | Path, dims: int, out: str | Path, progress: Progress = lambda done, of: None) -> RunFolder:
    """A new run's folder, whose features are the `dims` of largest expected activation over the training part.

    Most expected first. Model, recipe, features and log go with it; what was measured does not.
    """
    source, target = RunFolder(Path(folder)), RunFolder(Path(out))
    if not source.is_done():
        raise UserError(f"Expected a finished run in {folder}, got none; train it, or go on with it by --resume.")
    recipe, model = read_file(source.recipe), load(folder)
    if not 1 <= dims <= model.dimensions:
        raise UserError(
            f"Expected dims between 1 and {model.dimensions}, the number of dimensions of {folder}, got {dims}; "
            "choose one of these."
        )
    target.check_new()
    if not target.path.exists():
        _files.check_writable(target.path)
    train, _ = features_of_run(folder, progress)
    chosen = selection.select(train.z, dims, not is_non_negative(model.settings.activation))
    short = model.shortened(chosen)
    target.check_new()  # before a lock is put into somebody else's folder
    with target.locked():
        target.begin(recipe.model_copy(update={"model": short.settings}))
        for part in ("train", "test"):
            arrays = read_npz(source.features(part))
            _files.write_arrays(target.features(part), arrays | {"z": arrays["z"][:, chosen.numpy()]})
        if source.log.is_file():
            with _files.replacing(target.log) as copied:
                shutil.copyfile(source.log, copied)
        models.save(short, target.model)  # last: with it the run is done
    return target
