"""The command line: exit status 0, 2 for what the user got wrong (one line), 1 for what went wrong on our side."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, cast

import typer
from typer.main import get_command

from nonneg._errors import UserError
from nonneg.cli.commands import app
from nonneg.cli.processes import is_first

__all__ = ["main", "run"]

# Typer carries its own click or uses the installed one, by version; this is the class in either.
_UsageError: type[Exception] = cast(Any, typer.BadParameter.__base__)


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """One command; its exit status."""
    try:
        return _status(words)
    except UserError as error:
        return _says(str(error), 2)
    except _UsageError as error:
        message = cast(Any, error).format_message()
        return _says(f"{message}{'' if message.endswith(('.', '?')) else '.'} 'nonneg --help' says what there is.", 2)
    except KeyboardInterrupt:
        return _says("Stopped.", 128 + signal.SIGINT)
    except (BrokenPipeError, SystemExit) as error:  # of `nonneg recipes | head`; rich ends by SystemExit then
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        from nonneg.cli.interrupted import status_of

        status = status_of(error)
        if status is None:
            raise
        return _says(str(error), status)


def _status(words: Sequence[str]) -> int:
    """Without typer's own `main`, which makes something else of Ctrl-C, closed pipes and ends of files."""
    command = get_command(app)
    try:
        with command.make_context("nonneg", list(words) or ["--help"]) as context:
            command.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _says(message: str, status: int) -> int:
    """In one line, whatever names are in it."""
    if is_first():
        print(" ".join(message.splitlines()), file=sys.stderr)  # noqa: T201 (it is what the command prints)
    return status
