"""Non-negative contrastive learning: sparse, readable features by one line, `z = nonneg.rep_relu(z)`.

activations  σ₊, here as nonneg.relu, rep_relu, softplus, sigmoid, exp and the module NonNegative
losses       InfoNCE, Spectral, SupervisedInfoNCE, ClipLoss, NonNegCrossEntropy; chunked for huge batches
metrics      sparsity, class consistency, correlation, effective rank, SEPIN, retrieval, k-NN
selection    expected activation, shortening to the most used dimensions

Importing the package is cheap: each part, torch with it, loads when it is touched.
"""

from typing import TYPE_CHECKING

from nonneg import _lazy

if TYPE_CHECKING:
    from nonneg import activations, losses, metrics, selection
    from nonneg.activations import NonNegative, exp, relu, rep_relu, sigmoid, softplus

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

_ACTIVATIONS = ("NonNegative", "exp", "relu", "rep_relu", "sigmoid", "softplus")

__getattr__ = _lazy.loader(
    __name__,
    modules=("activations", "losses", "metrics", "selection"),
    names=dict.fromkeys(_ACTIVATIONS, "activations"),
)


def __dir__() -> list[str]:
    return __all__
