"""What the runs are: a line a fact of their recipes, a column a run."""

from collections.abc import Sequence

from nonneg.report.shown import Shown

__all__ = ["facts"]


def facts(runs: Sequence[Shown]) -> list[tuple[str, list[str]]]:
    """(what it is, as each run has it)."""
    lines = [_of_run(run) for run in runs]
    return [(name, [line[name] for line in lines]) for name in lines[0]]


def _of_run(run: Shown) -> dict[str, str]:
    recipe, model = run.recipe, run.recipe.model
    method = recipe.method.model_dump()
    classes = f", {len(run.data.classes)} classes" if run.labelled else ", no labels"
    return {
        "recipe": recipe.name,
        "data": f"{recipe.data.name}: {len(run.train.z):,} training, {len(run.test.z):,} test pictures{classes}",
        "backbone": f"{model.backbone}, h of {run.test.h.shape[1]:,}",
        "projector": f"{' → '.join(f'{width:,}' for width in model.projector) or 'none'}{_kept(run)}",
        "σ₊": model.activation,
        "method": ", ".join(
            [method.pop("name"), *(f"{key} {value}" for key, value in method.items() if value is not None)]
        ),
        "epochs": f"{recipe.epochs:,}, batch {recipe.batch_size:,}",
        "seed": str(recipe.seed) if run.seeds == 1 else f"{run.seeds} runs; pictures and curves of seed {recipe.seed}",
        "folder": str(run.folder.path),
    }


def _kept(run: Shown) -> str:
    """What z is of the projector's dimensions."""
    kept = run.recipe.model.kept
    return " = dimensions of z" if kept is None else f", of which z is {len(kept):,}"
