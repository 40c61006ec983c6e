"""`nonneg demo`: CL and NCL on the pictures that ship, side by side."""

from collections.abc import Mapping
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from nonneg import report, training
from nonneg.cli.bar import counting
from nonneg.evaluation import measure_run
from nonneg.training import RunFolder, recipes
from nonneg.training.progress_bar import ProgressBar

__all__ = ["TABLE", "demo"]

RUNS = {"CL": "fashion-small-cl", "NCL": "fashion-small-ncl"}

# What a measurement is called, its key in metrics.json, and how it is printed.
TABLE = (
    ("linear probe on h", "probe_h", "{:.1%}"),
    ("linear probe on z", "probe_z", "{:.1%}"),
    ("k-NN on h", "knn_h", "{:.1%}"),
    ("k-NN on z", "knn_z", "{:.1%}"),
    ("class consistency", "consistency", "{:.1%}"),
    ("sparsity", "sparsity", "{:.1%}"),
    ("alive dimensions", "alive", "{:.0f}"),
    ("correlation", "correlation", "{:.3f}"),
    ("effective rank", "effective_rank", "{:.1f}"),
    ("SEPIN@10 ×100", "sepin_10", "{:.2f}"),
    ("retrieval precision@10", "retrieval_precision", "{:.1%}"),
    ("retrieval mAP@10", "retrieval_map", "{:.1%}"),
)


def demo(out: Path) -> None:
    """Two runs that differ in one line, a table, and a picture of what the dimensions stand for."""
    found, rows = {}, []
    for title, name in RUNS.items():
        folder = out / title.lower()
        _trained(name, folder)
        with counting(f"measuring {title}") as progress:
            found[title] = measure_run(folder, progress)
        rows.append(report.dimension_rows(folder, title))
        report.draw_rows(RunFolder(folder).report / "dimensions.png", [rows[-1]])
    beside = out / "dimensions.png"
    report.draw_rows(beside, rows)
    typer.echo()
    Console().print(table(found))
    typer.echo(
        f"\nThe same network, data and seed twice; the second has one line more: z = nonneg.rep_relu(z)\n"
        f"Each row is a dimension, with the test pictures that activate it most: {beside}"
    )


def table(found: Mapping[str, Mapping[str, float]]) -> Table:
    """A row a measurement, a column a run."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("on the test pictures")
    for title in found:
        made.add_column(title, justify="right")
    for name, key, form in TABLE:
        scale = 100 if "×100" in name else 1
        made.add_row(name, *(form.format(scale * values[key]) for values in found.values()))
    return made


def _trained(name: str, folder: Path) -> None:
    run = RunFolder(folder)
    if run.is_done():
        typer.echo(f"{name} is trained already, in {folder}")
    elif run.recipe.is_file():
        training.resume(folder, watcher=ProgressBar())
    else:
        training.train(recipes.read(name), folder, watcher=ProgressBar())
