"""The pages: one file each, which needs nothing but itself, of one run or of several."""

import shlex
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from nonneg import _files
from nonneg._errors import UserError
from nonneg.evaluation import results
from nonneg.evaluation.comparison import Column, Comparison, compare
from nonneg.report import curves, distributions
from nonneg.report.facts import facts
from nonneg.report.feature_map import feature_maps
from nonneg.report.gallery import gallery
from nonneg.report.heat_map import heat_map, opacity
from nonneg.report.numbers import figures, tables
from nonneg.report.plots import class_colour
from nonneg.report.shown import Shown, shown
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["write_comparison", "write_report"]

_NAMED = 3  # runs that a title has room for


def write_report(folder: str | Path, beside: str | Path | None = None) -> Path:
    """RUN/report/index.html: what the run is, what its dimensions stand for, what was measured.

    `beside` is the run to compare it with, as the plain one (CL beside NCL); it stands first.
    """
    folders = [Path(run) for run in (beside, folder) if run is not None]
    comparison = _compared(folders)
    if len(comparison.columns) < len(folders):
        raise UserError(
            f"Expected a run of another recipe beside {folder}, got {beside}, which is the same or differs by its seed "
            "only; compare seeds by 'nonneg compare'."
        )
    path = RunFolder(Path(folder)).report / "index.html"
    _files.check_writable(path)
    runs = shown(comparison.columns)
    kind = "Run" if beside is None else f"Run, beside {runs[0].title}"
    command = "\n".join(f"nonneg eval {_quoted(run)}" for run in folders)
    return _write(path, kind, runs[-1].title, runs, comparison, command)


def write_comparison(path: str | Path, comparison: Comparison) -> Path:
    """A page of several runs side by side, as `compare` finds them."""
    path = Path(path)
    _files.check_writable(path)
    runs = shown(comparison.columns)
    folders = " ".join(_quoted(folder) for column in comparison.columns for folder in column.folders)
    command = f"nonneg compare {folders} --out {_quoted(path)}"
    title = ", ".join(run.title for run in runs) if len(runs) <= _NAMED else f"{len(runs)} runs"
    return _write(path, "Side by side", title, runs, comparison, command)


def _compared(folders: list[Path]) -> Comparison:
    """As `compare`; a run that was not measured has pictures and curves all the same."""
    if any(results.read(RunFolder(folder).metrics) for folder in folders):
        return compare(folders)
    for folder in folders:
        if not RunFolder(folder).is_done():
            raise UserError(f"Expected a finished run in {folder}, got none; train it, or go on with it by --resume.")
    recipes = [read_file(RunFolder(folder).recipe) for folder in folders]
    return Comparison(tuple(Column(r.name, (folder,), r) for folder, r in zip(folders, recipes, strict=True)), ())


def _write(path: Path, kind: str, title: str, runs: list[Shown], comparison: Comparison, command: str) -> Path:
    template = _environment().get_template("page.html.jinja")
    _files.write_text(
        path,
        template.render(
            kind=kind,
            title=title,
            command=command,
            runs=runs,
            facts=facts(runs),
            figures=figures(comparison),
            tables=tables(comparison),
            galleries=[gallery(run) for run in runs],
            sparsity=distributions.sparsity_plot(runs),
            consistency=distributions.consistency_plot(runs),
            heat_maps=[found for run in runs if (found := heat_map(run))],
            opacities=[(cosine, opacity(cosine)) for cosine in (0.01, 0.1, 0.25, 0.5, 1.0)],
            sepin=curves.sepin_curve(comparison, runs),
            selection=curves.selection_curves(comparison, runs),
            maps=feature_maps(runs),
            legends=_legends(runs),
            training=curves.training_curves(runs),
            training_command="\n".join(f"nonneg train {_quoted(run.folder.recipe)} --out NEW" for run in runs),
        ),
    )
    return path


def _legends(runs: list[Shown]) -> list[list[tuple[str, str]]]:
    """Classes and their colours, once for each set of classes."""
    sets = dict.fromkeys(run.data.classes for run in runs if run.labelled)
    return [[(name, class_colour(k)) for k, name in enumerate(classes)] for classes in sets]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("nonneg.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["per_cent"] = lambda share: f"{share:.0%}"
    return environment


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
