"""Non-negative contrastive learning: sparse, readable features by one line, `z = nonneg.rep_relu(z)`.

activations  σ₊, here as nonneg.relu, rep_relu, softplus, sigmoid, exp and the module NonNegative
losses       InfoNCE, Spectral, SupervisedInfoNCE, ClipLoss, NonNegCrossEntropy; chunked for huge batches
metrics      sparsity, class consistency, correlation, effective rank, SEPIN, retrieval, k-NN
selection    expected activation, shortening to the most used dimensions

Importing the package imports torch and numpy; each part loads when it is touched.
"""

from typing import TYPE_CHECKING

from nonneg import _lazy
from nonneg.activations import NonNegative, exp, relu, rep_relu, sigmoid, softplus

if TYPE_CHECKING:
    from nonneg import activations, losses, metrics, selection

__version__ = "0.1.0"

__all__ = [
    "NonNegative",
    "activations",
    "exp",
    "losses",
    "metrics",
    "relu",
    "rep_relu",
    "selection",
    "sigmoid",
    "softplus",
]

__getattr__ = _lazy.submodules(__name__, ["losses", "metrics", "selection"])


def __dir__() -> list[str]:
    return __all__
