"""A model: pictures to h and to features."""

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nonneg._errors import UserError
from nonneg.activations import NonNegative
from nonneg.models.backbones import build_backbone, width_of
from nonneg.models.projector import Projector
from nonneg.models.settings import ModelSettings

__all__ = ["Model"]


class Model(nn.Module):
    """h = e((x − mean) / std), z = σ₊(p(h)), of pictures x in [0, 1]; normalisation of z is left to loss and measure.

    `width` is that of h, `dimensions` that of z, of which the settings may have kept but a few columns. A backbone of
    your own goes with `backbone="custom"`.

    >>> model = Model(ModelSettings(backbone="small", projector=(64, 16)))
    >>> h, z = model.both(torch.rand(4, 3, 32, 32))
    >>> h.shape, z.shape, bool((z >= 0).all())
    (torch.Size([4, 128]), torch.Size([4, 16]), True)
    """

    kept: Tensor | None
    mean: Tensor | None
    std: Tensor | None

    def __init__(self, settings: ModelSettings, backbone: nn.Module | None = None) -> None:
        super().__init__()
        if backbone is None:
            backbone, width = build_backbone(settings)
        elif settings.backbone == "custom":
            width = width_of(backbone, settings)
        else:
            raise UserError(
                f"Expected no module with the backbone {settings.backbone!r}, got a {type(backbone).__name__}; "
                'leave it out, or set backbone="custom".'
            )
        self.backbone = backbone
        self.projector = Projector(width, settings.projector)
        self.activation = NonNegative(settings.activation)
        self.width = width
        self._keep(settings)
        self.register_buffer("mean", _per_channel(settings.mean))
        self.register_buffer("std", _per_channel(settings.std))

    def encode(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n width"]:
        """h, what a probe or a search uses."""
        self._check(x)
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        h: Tensor = self.backbone(x)
        return h

    def project(self, h: Float[Tensor, "n width"]) -> Float[Tensor, "n d"]:
        """p(h), signed; of it the columns that are kept."""
        p: Tensor = self.projector(h)
        return p if self.kept is None else p.index_select(1, self.kept)

    def features(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """z = σ₊(p(h)), what the loss gets."""
        return self.both(x)[1]

    def both(self, x: Float[Tensor, "n c h w"]) -> tuple[Float[Tensor, "n width"], Float[Tensor, "n d"]]:
        """h and z in one pass."""
        h = self.encode(x)
        return h, self.activation(self.project(h))

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        return self.features(x)

    def shortened(self, columns: Int[Tensor, " m"] | Sequence[int]) -> "Model":
        """A copy that makes these features alone, in this order, by the same weights.

        >>> model = Model(ModelSettings(projector=(16,)))
        >>> short = model.shortened([9, 2])
        >>> x = torch.rand(4, 3, 32, 32)
        >>> torch.equal(short.eval()(x), model.eval()(x)[:, [9, 2]])
        True
        """
        chosen = [int(column) for column in columns]
        if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= c < self.dimensions for c in chosen):
            raise UserError(
                f"Expected different columns between 0 and {self.dimensions - 1}, at least one, got {chosen}; "
                "choose among the model's."
            )
        own = self.settings.kept or range(self.dimensions)
        short = copy.deepcopy(self)
        short._keep(self.settings.model_copy(update={"kept": tuple(own[column] for column in chosen)}))
        return short

    def _keep(self, settings: ModelSettings) -> None:
        kept, all_of_them = settings.kept, self.projector.dimensions
        if kept is not None and max(kept) >= all_of_them:
            raise UserError(
                f"Expected kept to be columns below {all_of_them}, the width of h, got {max(kept)}; keep others."
            )
        self.settings = settings
        self.dimensions = all_of_them if kept is None else len(kept)
        # Not stored with the weights: the settings say it.
        device = next((p.device for p in self.parameters()), None)
        self.register_buffer("kept", None if kept is None else torch.tensor(kept, device=device), persistent=False)

    def _check(self, x: Tensor) -> None:
        channels = self.settings.channels
        if x.ndim != 4 or x.shape[1] != channels:
            raise UserError(
                f"Expected pictures of shape (n, {channels}, height, width), got {tuple(x.shape)}; "
                "convert them, or train a model with other channels."
            )
        if not x.is_floating_point():
            raise UserError(
                f"Expected pictures as floats in [0, 1], got {str(x.dtype).removeprefix('torch.')}; "
                "convert them with .float() / 255."
            )


def _per_channel(values: tuple[float, ...] | None) -> Tensor | None:
    return None if values is None else torch.tensor(values).reshape(1, -1, 1, 1)
