"""`nonneg eval`."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nonneg import data, evaluation, report
from nonneg._errors import UserError
from nonneg.cli.bar import counting
from nonneg.cli.options import in_options
from nonneg.evaluation import Result, Subject
from nonneg.evaluation.features import Progress
from nonneg.evaluation.suite import chosen, evaluate_on
from nonneg.evaluation.wording import label, with_interval

__all__ = ["Teller", "evaluate", "table"]


class Teller:
    """One bar at a time, for the protocol that is at work."""

    def __init__(self, title: str) -> None:
        self.title, self.held = title, ExitStack()

    def __call__(self, name: str) -> Progress:
        self.held.close()
        return self.held.enter_context(counting(f"{self.title}: {name.replace('_', ' ')}"))

    def __enter__(self) -> "Teller":
        return self

    def __exit__(self, *_: object) -> None:
        self.held.close()


def evaluate(
    run: str,
    suite: Sequence[str],
    elsewhere: Mapping[str, Sequence[str]],
    root: Path | None,
    download: bool,
    again: bool,
    beside: Path | None,
) -> None:
    """Measure a run, or features in an array file; print what is known of it, and write a run's page.

    `elsewhere` is data sets by protocol: transfer, shifted; `root` is where they are kept. `beside` is the run
    that the page compares it with.
    """
    names = chosen([word for words in suite for word in words.split(",")])
    if beside is not None and run.startswith("npz:"):
        raise UserError(f"Expected a run to show beside {beside}, got an array file, {run}, which has no page.")
    with in_options():
        others = [(part, data.load(name, root, download)) for part, sets in elsewhere.items() for name in sets]
    with Teller(run) as tell:
        if run.startswith("npz:"):
            path = Path(run.removeprefix("npz:"))
            subject, file = Subject.of_arrays(path), path.with_suffix(".metrics.json")
        else:
            subject, file = Subject.of_run(run, tell("features")), Path(run) / "metrics.json"
        found = evaluation.evaluate(subject, file, names, again, tell)
        for part, other in others:
            found = evaluate_on(subject, file, part, other, again, tell)
    if not found:
        raise UserError(f"Expected something to measure of {run} by {', '.join(names)}, got neither labels nor a run.")
    console = Console()
    if not console.is_terminal:
        console.width = 1000  # a number is a line, for grep
    console.print(table(found))
    typer.echo(f"Kept in {file}")
    if subject.source is not None:
        typer.echo(f"To look at: {report.write_report(run, beside)}")


def table(found: Mapping[str, Mapping[str, Result]]) -> Table:
    """A row a number, with its interval, how many samples it is of, and the seconds that its protocol took."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("")
    for title in ("value (95% interval)", "n", "seconds"):
        made.add_column(title, justify="right")
    for part, numbers in found.items():
        for position, (name, result) in enumerate(numbers.items()):
            seconds = "" if position or result.seconds is None else f"{result.seconds:.1f}"
            made.add_row(Text(label(part, name)), with_interval(part, name, result), f"{result.n:,}", seconds)
    return made
