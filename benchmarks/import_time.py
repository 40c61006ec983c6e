"""What `import nonneg` costs beyond `import torch`.

python benchmarks/import_time.py       writes benchmarks/results/import_time.md
"""

import statistics

from _results import HERE, in_process, table, write

REPEATS = 10


def main() -> None:
    statements = {
        "import torch": "import torch",
        "import torch, nonneg": "import torch, nonneg",
        "… and nonneg.losses, nonneg.metrics": "import torch, nonneg; nonneg.losses; nonneg.metrics",
        "… and a torchmetrics class": "import torch, nonneg; nonneg.metrics.Sparsity",
    }
    program = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    taken: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(REPEATS):  # in turns, so that a slow moment meets all
        for name, statement in statements.items():
            taken[name].append(float(in_process("-c", program.format(statement))[0]))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    base = medians["import torch"]
    rows = [[f"`{name}`" if name[0] != "…" else name, f"{m:.3f}", f"{m - base:+.3f}"] for name, m in medians.items()]
    write(
        "import_time",
        "Import time",
        [("Seconds, median of ten processes each", table(["", "seconds", "beyond torch"], rows))],
        ["torch", "torchmetrics"],
        f"python {HERE.name}/import_time.py",
    )


if __name__ == "__main__":
    main()
