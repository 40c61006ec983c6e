"""Who is told how a run goes: nobody, a progress bar, a test."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["Plan", "Silent", "Watcher"]


@dataclass(frozen=True)
class Plan:
    """What a run is about to do."""

    name: str
    folder: Path
    device: str
    precision: str
    processes: int
    epochs: int
    steps: int  # an epoch
    first_step: int  # over all epochs; above 0 when a run goes on
    views_a_step: int
    dimensions: int


class Watcher(Protocol):
    """What a run tells. Only the first process tells it."""

    def begins(self, plan: Plan) -> None: ...

    def step(self, step: int, loss: float) -> None:
        """`step` over all epochs, from 1."""

    def epoch(self, row: Mapping[str, float]) -> None:
        """A row of the log."""

    def warns(self, line: str) -> None: ...

    def ends(self) -> None:
        """However the run ended."""


class Silent:
    """Tells nobody."""

    def begins(self, plan: Plan) -> None:
        pass

    def step(self, step: int, loss: float) -> None:
        pass

    def epoch(self, row: Mapping[str, float]) -> None:
        pass

    def warns(self, line: str) -> None:
        pass

    def ends(self) -> None:
        pass
