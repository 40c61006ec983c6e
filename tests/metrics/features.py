"""Features to measure, as hypothesis strategies and fixed examples."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def labelled(draw, samples=(3, 12), dimensions=(1, 6), signed=None):
    """(z, y): continuous values, so that there are no ties, with zeros as a ReLU leaves them unless signed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(*samples)), draw(st.integers(*dimensions))
    z = rng.normal(size=(n, d))
    if not (draw(st.booleans()) if signed is None else signed):
        z = np.maximum(z, 0)
        z[0, 0] = 1.0  # something is alive
    return z, rng.integers(0, 3, n)


def sparse(n=40, d=12, seed=0):
    """Non-negative features with most entries zero and labels that they tell something about."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    z = np.maximum(rng.normal(size=(n, d)) - 0.8, 0)
    z[np.arange(n), y] += rng.random(n) + 0.1
    return z, y
