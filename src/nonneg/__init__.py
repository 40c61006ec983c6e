"""Non-negative contrastive learning: sparse, readable features by one line, `z = nonneg.rep_relu(z)`.

activations  σ₊, here as nonneg.relu, rep_relu, softplus, sigmoid, exp and the module NonNegative
losses       InfoNCE, Spectral, SupervisedInfoNCE, ClipLoss, NonNegCrossEntropy; chunked for huge batches
metrics      sparsity, class consistency, correlation, effective rank, SEPIN, retrieval, k-NN
selection    expected activation, shortening to the most used dimensions
data         pictures by name or path, views of them, batches
models       backbones, projector, σ₊; `load` reads a run's model: .encode(x) -> h, .features(x) -> z
training     recipes, methods, runs that can be gone on with
evaluation   what a run's features are worth
report       what there is to look at

Importing the package is cheap: each part, torch with it, loads when it is touched.
"""

from typing import TYPE_CHECKING

from nonneg import _lazy

if TYPE_CHECKING:
    from nonneg import activations, data, evaluation, losses, metrics, models, report, selection, training
    from nonneg.activations import NonNegative, exp, relu, rep_relu, sigmoid, softplus
    from nonneg.models import load

__version__ = "0.1.0"

__all__ = [
    "NonNegative",
    "activations",
    "data",
    "evaluation",
    "exp",
    "load",
    "losses",
    "metrics",
    "models",
    "relu",
    "rep_relu",
    "report",
    "selection",
    "sigmoid",
    "softplus",
    "training",
]

_ACTIVATIONS = ("NonNegative", "exp", "relu", "rep_relu", "sigmoid", "softplus")

__getattr__ = _lazy.loader(
    __name__,
    modules=("activations", "data", "evaluation", "losses", "metrics", "models", "report", "selection", "training"),
    names=dict.fromkeys(_ACTIVATIONS, "activations") | {"load": "models"},
)


def __dir__() -> list[str]:
    return __all__
