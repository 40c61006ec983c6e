"""A run in a terminal: a bar that moves, or a line an epoch where nobody watches it move."""

import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from nonneg.training.watcher import Plan

__all__ = ["ProgressBar"]

_SMOOTH = 0.05  # weight of a new step in the loss that is shown


class ProgressBar:
    """A `Watcher` that shows epoch, loss, sparsity, alive dimensions, views a second and the time left."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self.loss: float | None = None

    def begins(self, plan: Plan) -> None:
        self.plan, self.done, self.began = plan, plan.first_step, time.monotonic()
        self.features, self.loss = "", None
        where = plan.device if plan.processes == 1 else f"{plan.processes} × {plan.device}"
        verb = "goes on after" if plan.first_step else "begins:"
        what = f"step {plan.first_step:,}" if plan.first_step else f"{plan.epochs} epochs of {plan.steps:,} steps"
        self._print(f"{plan.name} {verb} {what} on {where} in {plan.precision}, in {plan.folder}")
        self.bar = Progress(
            SpinnerColumn(), BarColumn(30), TextColumn("{task.description}"), _Left(self), console=self.console
        )
        self.task = self.bar.add_task("", total=plan.epochs * plan.steps, completed=plan.first_step)
        if self.console.is_terminal:
            self.bar.start()

    def step(self, step: int, loss: float) -> None:
        self.done = step
        self.loss = loss if self.loss is None else self.loss + _SMOOTH * (loss - self.loss)
        if self.console.is_terminal:
            epoch = min((step - 1) // self.plan.steps + 1, self.plan.epochs)
            text = f"epoch {epoch}/{self.plan.epochs}  loss {self.loss:.3f}{self.features}  {self._pace():,.0f} views/s"
            self.bar.update(self.task, completed=step, description=text)

    def epoch(self, row: Mapping[str, float]) -> None:
        self.features = f"  sparsity {row['sparsity']:.1%}  alive {row['alive']:.0f}/{self.plan.dimensions}"
        if "accuracy" in row:
            self.features += f"  accuracy {row['accuracy']:.1%}"
        if not self.console.is_terminal:
            self._print(
                f"epoch {row['epoch']:.0f}/{self.plan.epochs}  loss {row['loss']:.3f}{self.features}  "
                f"{row['views_per_second']:,.0f} views/s  {_clock(self.left())} left"
            )

    def warns(self, line: str) -> None:
        self._print(line)

    def ends(self) -> None:
        if self.console.is_terminal:
            self.bar.stop()

    def left(self) -> float:
        """Seconds, at the pace so far."""
        steps = self.done - self.plan.first_step
        return (self.plan.epochs * self.plan.steps - self.done) * (time.monotonic() - self.began) / max(1, steps)

    def _pace(self) -> float:
        steps = self.done - self.plan.first_step
        return steps * self.plan.views_a_step / max(1e-9, time.monotonic() - self.began)

    def _print(self, line: str) -> None:
        self.console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)


class _Left(ProgressColumn):
    def __init__(self, owner: ProgressBar) -> None:
        super().__init__()
        self.owner = owner

    def render(self, task: Task) -> Text:
        return Text(f"{_clock(self.owner.left())} left" if task.completed > self.owner.plan.first_step else "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
