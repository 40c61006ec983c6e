"""A parent that has imported everything forks children that train by the command, and kills them: for test_kill.py.

Prints JSON: how far the run's checkpoint was after each kill, and how the child ended that nobody killed.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch

torch.set_num_threads(1)  # before anything computes: a pool of threads doesn't live on in a fork

from nonneg.cli.main import run as command  # noqa: E402
from nonneg.training import RunFolder, checkpoint, hardware, progress_bar, trainer  # noqa: E402, F401 (once for all)

KILLS = 20


def forked(words):
    """A child that runs `nonneg` with these words."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.dup2(2, 1)  # standard output is ours
            status = command(words)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def ended(process):
    """Its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def step_of(run):
    if not run.last_checkpoint.exists():
        return 0
    return torch.load(run.last_checkpoint, weights_only=True)["progress"]["step"]


def words_for(run, recipe):
    """As somebody would who sees what is there."""
    if run.recipe.is_file():
        return ["train", "--resume", str(run.path)]
    return ["train", str(recipe), "--out", str(run.path)]


def main(recipe, folder):
    began = time.monotonic()
    assert ended(forked(["train", str(recipe), "--out", str(folder / "whole")])) == 0
    whole_seconds = time.monotonic() - began

    moments = random.Random(0)
    run = RunFolder(folder / "killed")
    found = {"steps": [], "statuses": [], "parts": 0}
    for _ in range(KILLS):
        process = forked(words_for(run, recipe))
        # Together as long as the whole run takes; a good part of it children spend on beginning.
        time.sleep(moments.uniform(0, 2 * whole_seconds / KILLS))
        os.kill(process, signal.SIGKILL)
        found["statuses"].append(ended(process))
        found["steps"].append(step_of(run))
        found["parts"] += len(list(run.path.rglob("*.part")))
    found["last"] = ended(forked(words_for(run, recipe)))
    print(json.dumps(found))  # noqa: T201 (the test reads it)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
