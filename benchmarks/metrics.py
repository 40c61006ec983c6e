"""All measurements on 10,000 × 2,048 features with 97% zeros, beside scikit-learn's and torchmetrics' where they have
the same one; SEPIN beside the loop that it replaces; memory of retrieval and k-NN at 60,000 × 512.

    python benchmarks/metrics.py           writes benchmarks/results/metrics.md (about 6 minutes)
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from _memory import Peak, resident
from _results import in_process, table, write

from nonneg import metrics
from nonneg.losses import InfoNCE


def features(n: int, d: int, classes: int = 10, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Non-negative features, 97% zeros, each dimension used mostly by one class."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=generator)
    of_class = torch.randint(classes, (d,), generator=generator)
    z = torch.randn(n, d, generator=generator) - 2.13 + 1.1 * (of_class == y[:, None])
    return z.relu_(), y


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2]


def all_together() -> str:
    z, y = features(10_000, 2_048)
    half = len(z) // 2
    ours = {
        "sparsity": lambda: metrics.sparsity(z),
        "alive": lambda: metrics.alive(z),
        "class_consistency": lambda: metrics.class_consistency(z, y),
        "correlation": lambda: metrics.correlation(z),
        "effective_rank": lambda: metrics.effective_rank(z),
        "retrieval": lambda: metrics.retrieval(z, y),
        "knn_accuracy": lambda: metrics.knn_accuracy(z[:half], y[:half], z[half:], y[half:]),
        "sepin (5,000 pairs)": lambda: metrics.sepin(z[:half], z[half:]),
    }
    peers = {
        "correlation": ("scikit-learn cosine_similarity", lambda: _sklearn_correlation(z)),
        "retrieval": ("scikit-learn NearestNeighbors", lambda: _sklearn_neighbours(z, 11)),
        "knn_accuracy": ("scikit-learn KNeighborsClassifier", lambda: _sklearn_knn(z, y, half)),
        "effective_rank": (
            "torchmetrics has none; numpy svd",
            lambda: np.linalg.svd(z.double().numpy(), compute_uv=False),
        ),
    }
    taken = {name: seconds(call, 1 if "sepin" in name else 3) for name, call in ours.items()}
    total = sum(taken.values())
    rows = []
    for name, own in taken.items():
        peer, call = peers.get(name, ("", None))
        theirs = seconds(call, 1) if call else None
        ratio = f"{theirs / own:.1f}×" if theirs else ""
        rows.append([name, f"{own:.2f}", f"{own / total:.0%}", peer, f"{theirs:.2f}" if theirs else "", ratio])
    rows.append(["all", f"{total:.2f}", "100%", "", "", ""])
    text = f"Sparsity {metrics.sparsity(z):.1%}; seconds on all cores. The ratio is the peer's time over ours."
    return f"{text}\n\n{table(['measurement', 'seconds', 'part', 'peer', 'its seconds', 'ratio'], rows)}"


def _sklearn_correlation(z: torch.Tensor) -> float:
    from sklearn.metrics.pairwise import cosine_similarity

    return float(np.abs(cosine_similarity(z.T.numpy())).mean())


def _sklearn_neighbours(z: torch.Tensor, k: int) -> object:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(z.numpy()).kneighbors(z.numpy())


def _sklearn_knn(z: torch.Tensor, y: torch.Tensor, half: int) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(20, metric="cosine", algorithm="brute", weights=lambda d: np.exp((1 - d) / 0.07))
    return float(model.fit(z[:half].numpy(), y[:half].numpy()).score(z[half:].numpy(), y[half:].numpy()))


def sepin_beside_the_loop(columns: int = 32) -> str:
    z1, _ = features(4_096, 1_024)
    generator = torch.Generator().manual_seed(1)
    z2 = (z1 + 0.3 * torch.rand(z1.shape, generator=generator) * (z1 > 0)).contiguous()
    start = time.perf_counter()
    scores = metrics.sepin_scores(z1, z2)
    ours = time.perf_counter() - start
    loss = InfoNCE(temperature=0.2)
    whole = loss(z1.double(), z2.double())
    start = time.perf_counter()
    loop = []
    for i in range(columns):
        keep = torch.arange(z1.shape[1]) != i
        loop.append(loss(z1[:, keep], z2[:, keep]))
    theirs = (time.perf_counter() - start) / columns * z1.shape[1]
    exact = torch.stack(
        [loss(z1[:, torch.arange(1024) != i].double(), z2[:, torch.arange(1024) != i].double()) for i in range(4)]
    )
    error = (scores[:4] - (exact - whole)).abs().max().item()
    rows = [
        ["nonneg.metrics.sepin_scores", f"{ours:.1f}", ""],
        ["loop, the loss again without each column", f"{theirs:.0f}", f"scaled up from {columns} of 1,024 columns"],
    ]
    verdict = (
        f"**{theirs / ours:.0f}×** as fast; largest difference from the float64 loop (4 columns) {error:.1e} nats."
    )
    text = f"4,096 pairs × 1,024 columns, {metrics.sparsity(z1):.1%} zeros. The loop uses our own InfoNCE in float32."
    return f"{text}\n\n{table(['', 'seconds', ''], rows)}\n\n{verdict}"


def memory(which: str) -> None:
    """Print seconds and extra peak megabytes of one measurement at 60,000 × 512."""
    z = torch.rand(60_000, 512)
    y = torch.randint(10, (60_000,))
    small = slice(0, 100)
    calls = {
        "retrieval": lambda s: metrics.retrieval(z[s], y[s]),
        "knn_accuracy": lambda s: metrics.knn_accuracy(z[s], y[s], z[s], y[s]),
        "sepin_dense": lambda s: metrics.sepin_scores(z[s][:8192, :16] - 0.5, z[s][:8192, :16] - 0.4),
    }
    calls[which](small)
    held = resident()
    start = time.perf_counter()
    with Peak() as peak:
        calls[which](slice(None))
    print(time.perf_counter() - start, (peak.highest - held) / 2**20)


def memory_table() -> str:
    rows = []
    for which, size in [
        ("retrieval", "60,000 × 512, all against all"),
        ("knn_accuracy", "60,000 × 512 against itself"),
        ("sepin_dense", "8,192 pairs × 16, dense"),
    ]:
        taken, megabytes = map(float, in_process(__file__, which))
        rows.append([which, size, f"{taken:.1f}", f"{megabytes:,.0f}"])
    return "Peak above the features, each in a process of its own.\n\n" + table(
        ["measurement", "size", "seconds", "extra MB"], rows
    )


def main() -> None:
    write(
        "metrics",
        "Measurements: time and memory",
        [
            ("All together, 10,000 × 2,048, 97% zeros", all_together()),
            ("SEPIN beside the loop that it replaces", sepin_beside_the_loop()),
            ("Memory", memory_table()),
        ],
        ["torch", "scikit-learn", "torchmetrics"],
        "python benchmarks/metrics.py",
    )


if __name__ == "__main__":
    memory(sys.argv[1]) if len(sys.argv) > 1 else main()
