"""What stands between h and the features while training."""

from itertools import pairwise

from torch import nn

__all__ = ["Projector"]


class Projector(nn.Sequential):
    """Linear layers to these widths, ReLU between them, no batch norm (SimCLR, ICML 2020); no widths: p(h) = h.

    >>> Projector(512, (2048, 256))
    Projector(
      (0): Linear(in_features=512, out_features=2048, bias=True)
      (1): ReLU()
      (2): Linear(in_features=2048, out_features=256, bias=True)
    )
    """

    def __init__(self, width: int, widths: tuple[int, ...]) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise((width, *widths)):
            layers += [nn.ReLU()] * bool(layers) + [nn.Linear(before, after)]
        super().__init__(*layers)
        self.dimensions = (width, *widths)[-1]
