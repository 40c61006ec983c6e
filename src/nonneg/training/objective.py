"""Model and method as the one module that is trained, from a batch to a loss."""

from torch import Tensor, nn

from nonneg import losses
from nonneg.data import Batch
from nonneg.models import Model
from nonneg.training.methods import Method

__all__ = ["Objective"]


class Objective(nn.Module):
    """The loss of a batch; all that an optimiser moves and a checkpoint holds."""

    def __init__(self, model: Model, method: Method, chunk_size: int | None, freeze_backbone: bool) -> None:
        super().__init__()
        self.model = model
        self.method = method
        self.freeze_backbone = freeze_backbone
        self.features = model.features if chunk_size is None else losses.chunked(model.features, chunk_size)
        if freeze_backbone:
            model.backbone.requires_grad_(False)

    def forward(self, batch: Batch) -> Tensor:
        loss: Tensor = self.method(self.features, batch)
        return loss

    def train(self, mode: bool = True) -> "Objective":
        """A frozen backbone's batch norms don't move either."""
        super().train(mode)
        if self.freeze_backbone:
            self.model.backbone.eval()
        return self
