"""What an epoch costs as data and dimensions grow.

python benchmarks/train_cost.py       writes benchmarks/results/train_cost.md (about five minutes on 2 cores)
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from _results import table, write

from nonneg import training
from nonneg.data import DataSet, Images
from nonneg.training import recipes
from nonneg.training.watcher import Silent

THREADS, ONCE, EPOCHS = 2, 6144, 3
TIMES, DIMENSIONS = (1, 2, 4), (256, 1024, 4096)


class _Pace(Silent):
    def __init__(self) -> None:
        self.seen: list[float] = []

    def epoch(self, row: Mapping[str, float]) -> None:
        self.seen.append(row["views_per_second"])


def seconds(pictures: int, dimensions: int) -> tuple[float, float]:
    """Of an epoch's steps, the median of all epochs but the first; and views a second in it."""
    pixels = torch.randint(0, 256, (pictures, 1, 28, 28), generator=torch.Generator().manual_seed(0)).byte()
    changes = [f"model.projector=[512, {dimensions}]", f"epochs={EPOCHS}"]
    watcher = _Pace()
    with tempfile.TemporaryDirectory() as folder:
        training.train(
            recipes.read("fashion-small-ncl", changes),
            Path(folder) / "run",
            data=DataSet("noise", Images(pixels, None), None, ()),
            watcher=watcher,
        )
    pace = float(np.median(watcher.seen[1:]))
    return 2 * pictures / pace, pace


def main() -> None:
    torch.set_num_threads(THREADS)
    rows = []
    base = None
    for dimensions in DIMENSIONS:
        for times in TIMES:
            taken, pace = seconds(times * ONCE, dimensions)
            base = base or taken
            rows.append([f"d = {dimensions:,}, {times}×", f"{taken:.1f}", f"{taken / base:.2f}×", f"{pace:,.0f}"])
    how = (
        f"The recipe fashion-small-ncl (backbone small, 28 × 28 × 1, batch 256, projector 512 → d) on {ONCE:,} "
        f"pictures and on 2 and 4 times as many; {THREADS} threads; the median of epochs 2 to {EPOCHS}."
    )
    body = table(["", "seconds an epoch", "over the first", "views/s"], rows)
    command = "python benchmarks/train_cost.py"
    write("train_cost", "Training: seconds an epoch", [("How", how), ("Cost", body)], ["torch", "lightning"], command)


if __name__ == "__main__":
    main()
