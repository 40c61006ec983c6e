"""Small residual networks for pictures of 28 to 32 pixels on a CPU: `small` and, for colours, `medium`."""

from collections import OrderedDict
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["MEDIUM_WIDTH", "SMALL_WIDTH", "medium", "small"]

SMALL_WIDTH, MEDIUM_WIDTH = 128, 256


def small(channels: int = 3) -> nn.Module:
    """A stem that halves the size, a residual block at each of 32, 64 and 128 channels, mean over places.

    A stem that keeps the size would take three times as long.

    >>> sum(p.numel() for p in small().parameters())
    307360
    """
    return _network(channels, 32, 2, (32, 64, SMALL_WIDTH), (1, 2, 2))


def medium(channels: int = 3) -> nn.Module:
    """A stem that keeps the size, a residual block at each of 64, 128 and 256 channels, each halving it.

    >>> sum(p.numel() for p in medium().parameters())
    1207840
    """
    return _network(channels, 32, 1, (64, 128, MEDIUM_WIDTH), (2, 2, 2))


def _network(channels: int, stem: int, stride: int, widths: Sequence[int], strides: Sequence[int]) -> nn.Module:
    blocks = [
        _Block(before, after, stride) for before, after, stride in zip((stem, *widths), widths, strides, strict=False)
    ]
    network = nn.Sequential(
        OrderedDict(
            stem=_convolution(channels, stem, stride=stride),
            norm=nn.BatchNorm2d(stem),
            relu=nn.ReLU(inplace=True),
            **{f"block{i}": block for i, block in enumerate(blocks, 1)},
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
