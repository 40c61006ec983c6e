"""The small residual network: 0.3 M parameters, for pictures of 28 to 32 pixels on a CPU."""

from collections import OrderedDict

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["WIDTH", "small"]

WIDTH = 128


def small(channels: int = 3) -> nn.Module:
    """Stem, a residual block at each of 32, 64 and 128 channels, each but the first halving the size; mean over places.

    >>> sum(p.numel() for p in small().parameters())
    307360
    """
    network = nn.Sequential(
        OrderedDict(
            stem=_convolution(channels, 32),
            norm=nn.BatchNorm2d(32),
            relu=nn.ReLU(inplace=True),
            block1=_Block(32, 32, stride=1),
            block2=_Block(32, 64, stride=2),
            block3=_Block(64, WIDTH, stride=2),
            pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
        )
    )
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


class _Block(nn.Module):
    """relu(x + f(x)), f two 3×3 convolutions with batch norm (He et al., CVPR 2016); x goes by a 1×1 to a new width."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(before, after, stride=stride)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = _convolution(after, after)
        self.norm2 = nn.BatchNorm2d(after)
        same = before == after and stride == 1
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(_convolution(before, after, size=1, stride=stride), nn.BatchNorm2d(after))
        )

    def forward(self, x: Float[Tensor, "n before h w"]) -> Float[Tensor, "n after h2 w2"]:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.shortcut(x) + self.norm2(self.conv2(y)), inplace=True)


def _convolution(before: int, after: int, size: int = 3, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(before, after, size, stride=stride, padding=size // 2, bias=False)
