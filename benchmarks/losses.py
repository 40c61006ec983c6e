"""InfoNCE beside lightly's NTXentLoss: time and memory of forward + backward, each in a process of its own.

python benchmarks/losses.py            writes benchmarks/results/losses.md (about 10 minutes)
"""

import statistics
import sys
import time

import torch
from _memory import Peak, resident
from _results import in_process, table, write

import nonneg

REPEATS = 10


def measure(which: str, rows: int, dimensions: int, repeats: int) -> None:
    """Print loss, median seconds and extra peak megabytes (above inputs and gradients)."""
    torch.manual_seed(0)
    z1 = torch.randn(rows // 2, dimensions)
    z2 = z1 + torch.randn(rows // 2, dimensions)
    for z in (z1, z2):
        z.requires_grad_()
        z.grad = torch.zeros_like(z)
    loss = _loss(which)
    small = torch.randn(64, dimensions, requires_grad=True)
    loss(small, small + 0.1).backward()  # load what is loaded once
    held = resident()
    seconds = []
    with Peak() as peak:
        for _ in range(repeats):
            start = time.perf_counter()
            value = loss(z1, z2)
            value.backward()
            seconds.append(time.perf_counter() - start)
    print(value.item(), statistics.median(seconds), (peak.highest - held) / 2**20)


def _loss(which: str) -> torch.nn.Module:
    if which == "nonneg":
        return nonneg.losses.InfoNCE(temperature=0.2)
    if which == "lightly":
        from lightly.loss import NTXentLoss

        return NTXentLoss(temperature=0.2)
    from pytorch_metric_learning.losses import NTXentLoss, SelfSupervisedLoss

    return SelfSupervisedLoss(NTXentLoss(temperature=0.2))


def main() -> None:
    rows, results = [], {}
    for name, size in [("lightly", 16384), ("nonneg", 16384), ("nonneg", 131072), ("pml", 1024), ("nonneg", 1024)]:
        repeats = 1 if size > 100_000 else REPEATS
        loss, seconds, megabytes = map(float, in_process(__file__, name, size, 256, repeats))
        results[name, size] = seconds, megabytes
        label = {"lightly": "lightly NTXentLoss", "pml": "pytorch-metric-learning NTXentLoss"}.get(
            name, "nonneg InfoNCE"
        )
        rows.append([label, f"{size:,}", f"{loss:.4f}", f"{seconds:.3g}", f"{megabytes:,.0f}", repeats])
    (theirs, theirs_mb), (ours, ours_mb) = results["lightly", 16384], results["nonneg", 16384]
    verdict = (
        f"At 2n = 16,384 nonneg is **{theirs / ours:.1f}×** as fast as lightly and needs "
        f"**1/{theirs_mb / ours_mb:.0f}** of its extra memory; "
        f"at 2n = 131,072 it needs {results['nonneg', 131072][1]:,.0f} MB."
    )
    text = "float32, d = 256, τ = 0.2, median seconds; memory is the peak above inputs and gradients."
    header = ["loss", "rows (2n)", "value", "seconds", "extra MB", "repeats"]
    write(
        "losses",
        "InfoNCE: time and memory",
        [("Forward + backward", f"{text}\n\n{table(header, rows)}\n\n{verdict}")],
        ["torch", "lightly", "pytorch-metric-learning"],
        "python benchmarks/losses.py",
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main()
