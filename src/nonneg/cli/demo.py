"""`nonneg demo`: CL and NCL on the pictures that ship, side by side."""

from pathlib import Path

import typer

from nonneg import report, training
from nonneg.cli.compare import show
from nonneg.cli.evaluate import Teller
from nonneg.evaluation import compare, measure_run
from nonneg.training import RunFolder, recipes
from nonneg.training.progress_bar import ProgressBar

__all__ = ["demo"]

RUNS = {"CL": "fashion-small-cl", "NCL": "fashion-small-ncl"}


def demo(out: Path) -> None:
    """Two runs that differ in one line, a table, a picture of what the dimensions stand for, and a page of it all."""
    rows = []
    for title, name in RUNS.items():
        folder = out / title.lower()
        _trained(name, folder)
        with Teller(f"measuring {title}") as tell:
            measure_run(folder, tell=tell)
        rows.append(report.dimension_rows(folder, title))
        report.draw_rows(RunFolder(folder).report / "dimensions.png", [rows[-1]])
    beside = out / "dimensions.png"
    report.draw_rows(beside, rows)
    comparison = compare([out / title.lower() for title in RUNS])
    typer.echo()
    show(comparison)
    page = report.write_comparison(out / "index.html", comparison)
    typer.echo(
        f"\nThe same network, data and seed twice; the second has one line more: z = nonneg.rep_relu(z)\n"
        f"Each row of {beside} is a dimension, with the test pictures that activate it most.\n"
        f"All of it, to look at: {page}"
    )


def _trained(name: str, folder: Path) -> None:
    run = RunFolder(folder)
    if run.is_done():
        typer.echo(f"{name} is trained already, in {folder}")
    elif run.recipe.is_file():
        training.resume(folder, watcher=ProgressBar())
    else:
        training.train(recipes.read(name), folder, watcher=ProgressBar())
