"""Make the data set that ships: a class-balanced part of Fashion-MNIST, the same file every time.

python benchmarks/make_fashion_small.py fashion-mnist.npz        writes src/nonneg/data/fashion_small.npz

The argument is the whole of Fashion-MNIST as an array file: images, labels, test_images, test_labels, classes.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parent.parent / "src" / "nonneg" / "data" / "fashion_small.npz"
PER_CLASS = {"": 1200, "test_": 200}


def balanced(labels: np.ndarray, per_class: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of `per_class` samples of every class, in the order of the whole."""
    chosen = [rng.choice(np.flatnonzero(labels == y), per_class, replace=False) for y in np.unique(labels)]
    return np.sort(np.concatenate(chosen))


def main(source: Path) -> None:
    whole = np.load(source)
    rng = np.random.default_rng(0)
    arrays = {"classes": whole["classes"]}
    for part, per_class in PER_CLASS.items():
        chosen = balanced(whole[f"{part}labels"], per_class, rng)
        arrays[f"{part}images"] = whole[f"{part}images"][chosen]
        arrays[f"{part}labels"] = whole[f"{part}labels"][chosen].astype(np.uint8)
    # numpy.savez_compressed, but with the highest level and without the time of day.
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in sorted(arrays.items()):
            written = io.BytesIO()
            np.save(written, array)
            entry = zipfile.ZipInfo(f"{name}.npy")
            archive.writestr(entry, written.getvalue(), zipfile.ZIP_DEFLATED, 9)
    print(f"{TARGET}: {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
