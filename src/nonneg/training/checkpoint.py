"""Checkpoints: everything that a run needs to go on as if nothing had happened, in one file without code."""

import io
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from nonneg import _files
from nonneg._errors import UserError

__all__ = ["Progress", "load", "save"]

_FORMAT = 1


@dataclass
class Progress:
    """How far a run is. Random numbers need no state: they depend on the seed, the epoch and the step."""

    step: int = 0  # over all epochs
    loss_sum: float = 0.0  # over the steps of this epoch
    seconds: float = 0.0  # of training, in all sessions
    rows: list[dict[str, float]] = field(default_factory=list)  # the log, an epoch each


def save(path: Path, progress: Progress, objective: nn.Module, optimiser: Optimizer, scaler: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all."""
    contents = {
        "format": _FORMAT,
        "progress": asdict(progress),
        "objective": objective.state_dict(),
        "optimiser": optimiser.state_dict(),
        "scaler": scaler,
    }
    buffer = io.BytesIO()  # so that a full disk is an OSError, which torch.save makes a RuntimeError of
    torch.save(contents, buffer)
    with _files.replacing(path) as part, part.open("wb") as file:
        file.write(buffer.getbuffer())


def load(path: Path, objective: nn.Module, optimiser: Optimizer) -> tuple[Progress, dict[str, Any]]:
    """Read a checkpoint into the objective and its optimiser; how far it was, and the gradient scaler's state."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an unusual pickle, which is none of ours
            contents = torch.load(path, map_location="cpu", weights_only=True)
        if contents["format"] != _FORMAT:
            raise UserError(
                f"Expected a checkpoint of format {_FORMAT}, got format {contents['format']} in {path}; "
                "go on with the version of nonneg that wrote it."
            )
        objective.load_state_dict(contents["objective"])
        optimiser.load_state_dict(contents["optimiser"])
        return Progress(**contents["progress"]), contents["scaler"]
    except UserError:
        raise
    except Exception as error:  # torch raises anything on what is cut off or not ours: IndexError, struct.error …
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UserError(
            f"Expected a checkpoint of this run in {path}, got a file that can't be read as one ({reason}); "
            "begin a new run."
        ) from error
