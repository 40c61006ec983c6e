"""Cross entropy as a contrastive loss on non-negative features."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from nonneg import _checks
from nonneg._rows import bounded, full_precision, product
from nonneg.activations import NonNegative, rep_relu
from nonneg.losses import _distributed
from nonneg.losses._reduction import check_reduction, reduce

__all__ = ["NonNegCrossEntropy"]


class NonNegCrossEntropy(nn.Module):
    """NCE: −log exp(f₊·w_y) / Σ_c exp(f₊·w_c) with f₊ = σ₊(f) (NCL, ICLR 2024).

    The class weights w stand where a contrastive loss has samples. They are learnt here: `weights="free"` or
    `"non-negative"` (σ₊ is then rep_relu). `logits(f)` gives f₊·w, to predict with.

    >>> loss = NonNegCrossEntropy(num_features=8, num_classes=3)
    >>> loss(torch.zeros(4, 8), torch.tensor([0, 1, 2, 0]))  # log 3: no feature is on
    tensor(1.0986, grad_fn=<DivBackward0>)
    """

    def __init__(
        self,
        num_features: int,
        num_classes: int,
        activation: str = "rep_relu",
        weights: str = "free",
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        _checks.positive(num_features, "num_features")
        _checks.positive(num_classes, "num_classes")
        _checks.choice(weights, ("free", "non-negative"), "weights")
        check_reduction(reduction)
        self.activation = NonNegative(activation)
        self.weight = nn.Parameter(torch.empty(num_classes, num_features))
        self.weights = weights
        self.reduction = reduction
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/√d as in nn.Linear, or in the positive half of it."""
        bound = self.weight.shape[1] ** -0.5
        nn.init.uniform_(self.weight, 0.0 if self.weights == "non-negative" else -bound, bound)

    def logits(self, f: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """f₊·w_c for every class c."""
        _checks.float_matrix(f, "f")
        _checks.width(f, self.weight.shape[1])
        w = rep_relu(self.weight) if self.weights == "non-negative" else self.weight
        f = bounded(self.activation(full_precision(f)))
        return product(f, w.to(f.dtype).T)

    def forward(self, f: Float[Tensor, "n d"], y: Integer[Tensor, " n"]) -> Tensor:
        logits = self.logits(f)
        _checks.labels(y, len(f))
        _checks.labels_below(y, len(self.weight))
        _checks.at_least_two(_distributed.total(len(f), f.device))
        return reduce(F.cross_entropy(logits, y.long(), reduction="none"), self.reduction)

    def extra_repr(self) -> str:
        classes, features = self.weight.shape
        return f"num_features={features}, num_classes={classes}, weights={self.weights!r}"
