"""`nonneg recipes`."""

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nonneg import recipes as shipped

__all__ = ["recipes"]


def recipes(name: str | None) -> None:
    """All of them, a line each, or one whole."""
    if name is not None:
        typer.echo(shipped.text(name), nl=False)
        return
    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for known in shipped.names():
        table.add_row(known, Text(shipped.summary(known)))
    if not console.is_terminal:
        console.width = 1000  # a recipe is a line, for grep
    console.print(table)
