"""`nonneg compare`."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nonneg import evaluation, report
from nonneg._errors import UserError
from nonneg.evaluation import Comparison
from nonneg.evaluation.tables import FORMATS, cell_text, difference_text, write_table
from nonneg.evaluation.wording import label

__all__ = ["compare", "show", "table"]


def compare(runs: Sequence[Path], out: Path | None, form: str | None) -> None:
    """Print runs side by side, in a table or as text; `out` is a page."""
    if form is not None and form not in FORMATS:
        raise UserError(f"Expected --format to be one of {', '.join(FORMATS)}, got {form!r}.")
    comparison = evaluation.compare(runs)
    if form is not None:
        typer.echo(write_table(comparison, form), nl=False)
    else:
        show(comparison)
    if out is not None:
        typer.echo(f"Wrote {report.write_comparison(out, comparison)}", err=form is not None)


def show(comparison: Comparison) -> None:
    """The table; without intervals where the terminal has no room for them."""
    console = Console()
    if not console.is_terminal:
        console.width = 1000  # a measurement is a line, for grep
    console.print(table(comparison, intervals=console.width >= 40 + 25 * len(comparison.columns)))


def table(comparison: Comparison, intervals: bool = True) -> Table:
    """A row a measurement, a column a run or the seeds of one; the best in bold where the intervals allow."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("")
    for column in comparison.columns:
        runs = len(column.folders)
        made.add_column(Text(column.title if runs == 1 else f"{column.title} ({runs} seeds)"), justify="right")
    several = len(comparison.columns) > 1
    if several:
        made.add_column("difference", justify="right")

    def short(text: str) -> str:
        return text if intervals else text.partition(" (")[0]

    for row in comparison.rows:
        cells = [Text(short(cell_text(row, c)), style="bold" if c and c.best else "") for c in row.cells]
        made.add_row(Text(label(row.part, row.name)), *cells, *([short(difference_text(row))] if several else []))
    return made
