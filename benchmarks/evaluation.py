"""The linear probe beside scikit-learn's logistic regression, and where the quick suite's time goes.

python benchmarks/evaluation.py [RUN]   writes benchmarks/results/evaluation.md (some minutes)

RUN is a finished run whose features are made already, as of `nonneg demo`; its measurements are taken again, into a
temporary file.
"""

import sys
import tempfile
import time
from pathlib import Path

import torch
from _results import table, write
from sklearn.linear_model import LogisticRegression

from nonneg.evaluation import Subject, evaluate
from nonneg.evaluation.linear_probe import STRENGTHS, fit_probe

THREADS, CLASSES, WIDTH, TRAIN, TEST = 2, 10, 512, 50_000, 10_000
Data = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def features() -> Data:
    """Of a backbone's kind: non-negative, of unequal scales, classes that overlap."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(CLASSES, 64, generator=generator)
    mixing = torch.randn(64, WIDTH, generator=generator) / 8
    scales = torch.rand(WIDTH, generator=generator) * 2 + 0.1

    def part(n: int) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.randint(CLASSES, (n,), generator=generator)
        inner = centres[y] + 2.5 * torch.randn(n, 64, generator=generator)
        x = (inner @ mixing + 0.3 * torch.randn(n, WIDTH, generator=generator)).relu() * scales
        return x, y

    return *part(TRAIN), *part(TEST)


def ours(data: Data, strengths: tuple[float, ...]) -> tuple[float, float, float]:
    """Seconds, accuracy and the strength that was taken."""
    x, y, x_test, y_test = data
    start = time.perf_counter()
    probe = fit_probe(x, y, strengths)
    accuracy = probe.accuracy(x_test, y_test)
    return time.perf_counter() - start, accuracy, probe.strength


def theirs(data: Data, strengths: tuple[float, ...]) -> tuple[float, float]:
    """The same by scikit-learn: the best of the strengths on a held-out tenth, then all of it."""
    x, y, x_test, y_test = (part.numpy() for part in data)
    start = time.perf_counter()
    mean, deviation = x.mean(0), x.std(0)
    x, x_test = (x - mean) / deviation, (x_test - mean) / deviation

    def fit(strength: float, rows: slice) -> LogisticRegression:
        n = len(x[rows])
        return LogisticRegression(C=1 / (strength * n), max_iter=1000).fit(x[rows], y[rows])

    held, rest = slice(0, len(x) // 10), slice(len(x) // 10, None)
    best = strengths[0]
    if len(strengths) > 1:
        best = max(strengths, key=lambda strength: fit(strength, rest).score(x[held], y[held]))
    accuracy = fit(best, slice(None)).score(x_test, y_test)
    return time.perf_counter() - start, accuracy


def probe_table(data: Data) -> str:
    rows = []
    one = (ours(data, STRENGTHS)[2],)
    for words, strengths in (("one strength", one), (f"the best of {len(STRENGTHS)} strengths", STRENGTHS)):
        seconds, accuracy, _ = ours(data, strengths)
        their_seconds, their_accuracy = theirs(data, strengths)
        ratio = f"{their_seconds / seconds:.1f}×"
        rows.append([f"nonneg, {words}", f"{seconds:.1f}", f"{accuracy:.2%}", ""])
        rows.append([f"scikit-learn, {words}", f"{their_seconds:.1f}", f"{their_accuracy:.2%}", ratio])
    return table(["", "seconds", "test accuracy", "its time over ours"], rows)


def suite_table(run: str) -> str:
    subject = Subject.of_run(run)
    with tempfile.TemporaryDirectory() as folder:
        found = evaluate(subject, Path(folder) / "metrics.json")
    seconds = {part: next(iter(numbers.values())).seconds or 0.0 for part, numbers in found.items()}
    total = sum(seconds.values())
    rows = [[part, f"{taken:.1f}", f"{taken / total:.0%}"] for part, taken in seconds.items()]
    return table(["protocol", "seconds", "part"], [*rows, ["all", f"{total:.1f}", "100%"]])


def main() -> None:
    torch.set_num_threads(THREADS)
    data = features()
    how = (
        f"{TRAIN:,} × {WIDTH} training features, {TEST:,} test, {CLASSES} classes, float32; {THREADS} threads. Ours is "
        "L-BFGS in torch, each strength from the solution of the stronger one; theirs lbfgs with max_iter=1000 on the "
        "same standardised features, at the same penalty."
    )
    sections = [("Linear probe", f"{how}\n\n{probe_table(data)}")]
    if len(sys.argv) > 1:
        sections.append(("The quick suite", f"On the run {Path(sys.argv[1]).name}.\n\n{suite_table(sys.argv[1])}"))
    command = "python benchmarks/evaluation.py runs/demo/ncl"
    write("evaluation", "Evaluation: time", sections, ["torch", "scikit-learn"], command)


if __name__ == "__main__":
    main()
