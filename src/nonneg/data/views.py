"""Views of pictures: random crops, flips, colours and blurs, a batch at a time, on the device, from drawn parameters.

Crop, resize and flip are one linear map a side, a small matrix a picture; so is the blur. A batch is then a few matrix
products, which measures 3 to 4 times as fast as kornia on a CPU (`benchmarks/views.py`). What is random is drawn on the
CPU from a seed, for the whole batch of all processes, so that a view is the same on every device and in every layout.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int, UInt8
from pydantic import Field, model_validator
from torch import Tensor

from nonneg._settings import Settings

__all__ = ["PRESETS", "Draw", "ViewSettings", "centre_crop", "draw", "draw_crops", "make"]

# Numbers that are worked on together on a CPU, so that what is in between stays in its cache.
_TOGETHER = 200_000


class ViewSettings(Settings):
    """How a view differs from its picture. A probability is per picture; strengths are torchvision's."""

    name: Literal["cifar", "imagenet", "grey"] = "cifar"
    size: int = Field(32, ge=1)  # pixels a side
    crop: tuple[float, float] = (0.08, 1.0)  # share of the picture's area
    flip: float = Field(0.5, ge=0, le=1)
    jitter: float = Field(0.8, ge=0, le=1)  # probability of all four
    brightness: float = Field(0.8, ge=0)
    contrast: float = Field(0.8, ge=0)
    saturation: float = Field(0.8, ge=0)
    hue: float = Field(0.2, ge=0, le=0.5)
    grey: float = Field(0.2, ge=0, le=1)
    blur: float = Field(0.5, ge=0, le=1)
    blur_sigma: tuple[float, float] = (0.1, 2.0)  # pixels
    solarise: float = Field(0.0, ge=0, le=1)

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, values: object) -> object:
        """What is not said is the preset's."""
        if isinstance(values, dict):
            return PRESETS.get(values.get("name", "cifar"), {}) | values
        return values

    @model_validator(mode="after")
    def _ranges(self) -> "ViewSettings":
        for name, (low, high), most in (("crop", self.crop, 1.0), ("blur_sigma", self.blur_sigma, float("inf"))):
            if not 0 < low <= high <= most:
                raise ValueError(f"{name} a range within (0, {most:g}], from low to high")
        return self


PRESETS: dict[str, dict[str, object]] = {
    "cifar": {},
    "imagenet": {"size": 224},
    # Digits and clothes: no colours to change, and a crop of a twelfth makes another thing of them. Light and dark say
    # little of what they are: strong jitter and solarising make features of shape (README, "The demo").
    "grey": {
        "size": 28,
        "crop": (0.4, 1.0),
        "brightness": 0.8,
        "contrast": 0.8,
        "saturation": 0.0,
        "hue": 0.0,
        "grey": 0.0,
        "solarise": 0.2,
    },
}


class Draw(NamedTuple):
    """What was drawn for n views, a row each, on the CPU."""

    crop: Int[Tensor, "n 4"] | None  # top, left, height, width; None where the pictures are cropped already
    flip: Tensor  # bool
    factors: Float[Tensor, "n 4"]  # brightness, contrast, saturation, hue
    order: Int[Tensor, " 4"]  # in which the four are applied, the same for the batch
    grey: Tensor  # bool
    sigma: Float[Tensor, " n"]  # of the blur; 0 is none
    solarise: Tensor  # bool

    def rows(self, part: slice | Tensor) -> "Draw":
        """Some of the views."""
        drawn = self._asdict()
        return self._replace(**{k: x[part] for k, x in drawn.items() if k != "order" and x is not None})


def draw(settings: ViewSettings, n: int, side: tuple[int, int], generator: torch.Generator) -> Draw:
    """Parameters of n views of pictures that are `side` (height, width) large."""

    def chance(p: float) -> Tensor:
        return torch.rand(n, generator=generator) < p

    def uniform(low: float, high: float) -> Tensor:
        return torch.rand(n, generator=generator) * (high - low) + low

    crop = draw_crops(settings.crop, torch.tensor([side]).expand(n, 2), generator)
    flip = chance(settings.flip)
    strengths = (settings.brightness, settings.contrast, settings.saturation)
    factors = torch.stack(
        [*(uniform(max(0.0, 1 - s), 1 + s) for s in strengths), uniform(-settings.hue, settings.hue)], 1
    )
    still = torch.tensor([1.0, 1.0, 1.0, 0.0])
    factors = torch.where(chance(settings.jitter)[:, None], factors, still)
    order = torch.randperm(4, generator=generator)
    grey = chance(settings.grey)
    sigma = uniform(*settings.blur_sigma) * chance(settings.blur)
    return Draw(crop, flip, factors, order, grey, sigma, chance(settings.solarise))


def draw_crops(area: tuple[float, float], sides: Int[Tensor, "n 2"], generator: torch.Generator) -> Int[Tensor, "n 4"]:
    """Boxes (top, left, height, width) of a share of the area and an aspect ratio of 3:4 to 4:3, as torchvision's.

    The first of ten tries that fits; else the middle, as large as the ratio allows.
    """
    n, tries = len(sides), 10
    height, width = sides[:, :1].float(), sides[:, 1:].float()
    share = torch.rand(n, tries, generator=generator) * (area[1] - area[0]) + area[0]
    limit = torch.log(torch.tensor(4 / 3))
    ratio = torch.exp((torch.rand(n, tries, generator=generator) * 2 - 1) * limit)
    pixels = height * width * share
    w, h = (pixels * ratio).sqrt().round(), (pixels / ratio).sqrt().round()
    fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
    found, first = fits.any(1), fits.int().argmax(1, keepdim=True)
    middle_w = torch.minimum(width, (height * 4 / 3).round()).squeeze(1)
    middle_h = torch.minimum(height, (width * 4 / 3).round()).squeeze(1)
    w = torch.where(found, w.gather(1, first).squeeze(1), middle_w)
    h = torch.where(found, h.gather(1, first).squeeze(1), middle_h)
    room_h, room_w = height.squeeze(1) - h, width.squeeze(1) - w
    place = torch.rand(n, 2, generator=generator)
    top = torch.where(found, (place[:, 0] * (room_h + 1)).floor(), (room_h / 2).floor())
    left = torch.where(found, (place[:, 1] * (room_w + 1)).floor(), (room_w / 2).floor())
    return torch.stack([top, left, h, w], 1).long()


def make(pixels: UInt8[Tensor, "n c h w"], drawn: Draw, settings: ViewSettings) -> Float[Tensor, "n c s s"]:
    """The views: floats from 0 to 1, row i of `pixels` with row i of what was drawn."""
    shape = (pixels.shape[1], settings.size, settings.size)
    views = pixels.new_empty((len(pixels), *shape), dtype=torch.float32)
    together = max(1, _TOGETHER // math.prod(shape)) if pixels.device.type == "cpu" else max(1, len(pixels))
    for start in range(0, len(pixels), together):
        part = slice(start, start + together)
        views[part] = _make(pixels[part], drawn.rows(part), settings)
    return views


def centre_crop(pixels: UInt8[Tensor, "n c h w"], size: int) -> Float[Tensor, "n c s s"]:
    """What a view is compared with: the whole picture, or its middle square, at the size of a view, from 0 to 1."""
    height, width = pixels.shape[2:]
    if (height, width) == (size, size):
        return pixels.float() / 255
    side = min(height, width)
    box = torch.tensor([[(height - side) // 2, (width - side) // 2, side, side]], device=pixels.device)
    n = len(pixels)
    return _crop(pixels.float() / 255, box.expand(n, 4), box.new_zeros(n), size)


def _make(pixels: Tensor, drawn: Draw, settings: ViewSettings) -> Tensor:
    device = pixels.device
    x = pixels.float() / 255
    if drawn.crop is None:
        x = _some(x, drawn.flip, lambda x: x.flip(3))
    else:
        x = _crop(x, drawn.crop.to(device), drawn.flip.to(device), settings.size)
    x = _jitter(x, drawn.factors.to(device), drawn.order.tolist(), settings)
    if x.shape[1] == 3:
        x = _some(x, drawn.grey, lambda x: _luminance(x).expand_as(x))
    blurred = drawn.sigma > 0
    weights = _gaussian(drawn.sigma[blurred].to(device), settings.size)
    x = _some(x, blurred, lambda x: _both_sides(x, weights, weights))
    return _some(x, drawn.solarise, lambda x: torch.minimum(x, 1 - x))


def _some(x: Tensor, chosen: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Change the chosen pictures in place. Which ones is known on the CPU: the device need not be waited for."""
    rows = chosen.nonzero()[:, 0].to(x.device)
    if len(rows):
        x[rows] = change(x[rows])
    return x


def _crop(x: Tensor, box: Tensor, flip: Tensor, size: int) -> Tensor:
    """Cut a box out, resize it bilinearly with antialiasing, and mirror it."""
    rows = _resize(box[:, 0], box[:, 2], torch.zeros_like(flip), x.shape[2], size)
    return _both_sides(x, rows, _resize(box[:, 1], box[:, 3], flip, x.shape[3], size))


def _resize(start: Tensor, length: Tensor, flip: Tensor, old: int, new: int) -> Float[Tensor, "n new old"]:
    """Weights of the old pixels in the new ones: a triangle as wide as a pixel of the coarser grid, within the box."""
    start, length = start[:, None].float(), length[:, None].float()
    scale = length / new
    place = torch.arange(new, device=start.device) + 0.5
    place = torch.lerp(place.expand(len(start), new), new - place, flip.float()[:, None])
    pixel = torch.arange(old, device=start.device) + 0.5 - start  # (n, old), from the box's edge
    inside = (pixel * (length - pixel)).sign_().clamp_min_(0)[:, None]
    wide = scale.clamp_min(1)
    apart = ((pixel / wide)[:, None] - (place * scale / wide)[:, :, None]).abs_().clamp_max_(1)
    weight = torch.addcmul(inside, apart, inside, value=-1)
    return weight.div_(weight.sum(2, keepdim=True))


def _both_sides(x: Float[Tensor, "n c h w"], rows: Float[Tensor, "n p h"], columns: Float[Tensor, "n q w"]) -> Tensor:
    """rows·x·columnsᵀ for every picture and channel."""
    n, c, h, w = x.shape
    x = torch.bmm(x.reshape(n, c * h, w), columns.transpose(1, 2)).view(n, c, h, -1)
    return torch.matmul(rows[:, None], x)


def _gaussian(sigma: Float[Tensor, " n"], size: int) -> Float[Tensor, "n s s"]:
    """Gaussian weights of every pixel in every other along a side, summing to 1 at the edges too; σ = 0 is identity."""
    apart = torch.arange(1 - size, size, device=sigma.device)
    exponent = apart.square() / (2 * sigma.clamp_min(1e-3).square())[:, None]
    # e⁻⁴⁰ is nothing to a float32; denormal numbers would make the matrix products 20 times as slow.
    profile = torch.exp(-exponent.clamp_max_(40))
    weight = profile.unfold(1, size, 1).flip(1)  # row i holds the distances from −i to size − 1 − i
    return weight.div_(weight.sum(2, keepdim=True))


def _jitter(x: Tensor, factors: Tensor, order: list[int], settings: ViewSettings) -> Tensor:
    steps = (
        (_brightness, settings.brightness),
        (_contrast, settings.contrast),
        (_saturation, settings.saturation),
        (_hue, settings.hue),
    )
    for i in order:
        change, strength = steps[i]
        if settings.jitter and strength and (x.shape[1] == 3 or i < 2):
            x = change(x, factors[:, i, None, None, None])
    return x


# In place, and a factor a picture in each step: on a CPU, torch.lerp with two of them takes 5 times as long.


def _brightness(x: Tensor, factor: Tensor) -> Tensor:
    return x.mul_(factor).clamp_(0, 1)


def _contrast(x: Tensor, factor: Tensor) -> Tensor:
    mean = _luminance(x.mean(3, keepdim=True).mean(2, keepdim=True))
    return x.mul_(factor).add_(mean * (1 - factor)).clamp_(0, 1)


def _saturation(x: Tensor, factor: Tensor) -> Tensor:
    grey = _luminance(x) * (1 - factor)
    return x.mul_(factor).add_(grey).clamp_(0, 1)


def _hue(x: Float[Tensor, "n 3 h w"], turns: Float[Tensor, "n 1 1 1"]) -> Float[Tensor, "n 3 h w"]:
    """Turn the hue of HSV, value and saturation unchanged."""
    red, green, blue = x.unbind(1)
    value = torch.maximum(torch.maximum(red, green), blue)
    chroma = value - torch.minimum(torch.minimum(red, green), blue)
    # How far each channel is below the brightest, 0 to 1; rounded up, whether it is below it at all.
    below = (value[:, None] - x).div_(chroma.clamp_min(1e-8)[:, None])
    r, g, b = below.unbind(1)
    # Hue in sixths of a turn, from the brightest channel's sector: red 0, green 2, blue 4.
    hue = torch.lerp(b - g, torch.lerp((r - b).add_(2), (g - r).add_(4), g.ceil()), r.ceil())
    hue = hue.div_(6).add_(turns[:, 0])
    # A channel is lowest where the hue is opposite to it: red, green, blue.
    apart = hue[:, None] + torch.tensor([3 / 6, 1 / 6, -1 / 6], device=x.device)[:, None, None]
    apart = apart.sub_(apart.round()).abs_()  # turns, at most a half
    return torch.addcmul(value[:, None], chroma[:, None], apart.mul_(-6).add_(2).clamp_(0, 1), value=-1)


def _luminance(x: Tensor) -> Tensor:
    """Grey of ITU-R 601, as torchvision's."""
    if x.shape[1] == 1:
        return x
    return (x[:, :1] * 0.2989).add_(x[:, 1:2], alpha=0.587).add_(x[:, 2:], alpha=0.114)
