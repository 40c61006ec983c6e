"""A bar for work that counts samples."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["counting"]


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to be told (done, of how many); where nobody watches a bar move, nothing is printed."""
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
