"""Pictures of a part as squares of one size, many on one sheet, and arrays as data URIs."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from nonneg.data import Images, Split
from nonneg.data.folder import read_picture

__all__ = ["Sheet", "data_uri", "sheet", "square"]

_NATURAL = 64  # pictures of up to so many pixels a side are shown pixel by pixel
_SMALLER = 88  # the side of what larger ones are made
_ROW = 20  # pictures


@dataclass(frozen=True)
class Sheet:
    """Many pictures in one image, for a page to show one at a time: CSS of its background, by percentages.

    Each picture has a margin of its own edge's pixels, so that none of its neighbours is seen where they meet.
    """

    uri: str
    size: str  # background-size
    places: dict[int, str]  # background-position, by the picture's number
    pixelated: bool


def sheet(pictures: Split, samples: Sequence[int]) -> Sheet:
    """The pictures of these numbers, each once."""
    chosen = list(dict.fromkeys(samples))
    small = isinstance(pictures, Images) and max(pictures.pixels.shape[2:]) <= _NATURAL
    side = min(pictures.pixels.shape[2:]) if small and isinstance(pictures, Images) else _SMALLER
    columns = min(_ROW, len(chosen))
    rows = -(-len(chosen) // columns)
    cell = side + 2
    canvas = np.zeros((rows * cell, columns * cell, 3), np.uint8)
    for position, number in enumerate(chosen):
        top, left = position // columns * cell, position % columns * cell
        tile = square(pictures, number, side)
        canvas[top : top + cell, left : left + cell] = np.pad(tile, ((1, 1), (1, 1), (0, 0)), "edge")

    def place(position: int) -> str:
        # p% puts the point at p of the image onto the point at p of the box.
        shares = (
            (at * cell + 1) / (count * cell - side)
            for at, count in ((position % columns, columns), (position // columns, rows))
        )
        return " ".join(f"{share:.4%}" for share in shares)

    size = f"{columns * cell / side:.4%} {rows * cell / side:.4%}"
    places = {number: place(position) for position, number in enumerate(chosen)}
    return Sheet(data_uri(canvas, lossless=small), size, places, small)


def square(pictures: Split, index: int, side: int) -> UInt8[np.ndarray, "side side 3"]:
    """The middle square of a picture, at this size."""
    picture = _picture(pictures, index)
    height, width = picture.shape[1:]
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    middle = picture[None, :, top : top + edge, left : left + edge]
    mode = "bilinear" if edge > side else "nearest"
    scaled = F.interpolate(middle, (side, side), mode=mode, antialias=edge > side)
    pixels: np.ndarray = scaled[0].permute(1, 2, 0).round().clamp(0, 255).byte().numpy()
    return pixels


def data_uri(pixels: UInt8[np.ndarray, "h w c"], lossless: bool = True) -> str:
    """A PNG, or a JPEG that is a tenth of its size; grey ones are kept as such."""
    channels = pixels.shape[2]
    grey = channels == 3 and bool((pixels == pixels[..., :1]).all())
    image = Image.fromarray(pixels[..., 0] if grey else pixels)
    file = io.BytesIO()
    if lossless:
        image.save(file, "PNG", optimize=True)
    else:
        image.save(file, "JPEG", quality=85)
    kind = "png" if lossless else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


def _picture(pictures: Split, index: int) -> Float32[Tensor, "3 h w"]:
    if isinstance(pictures, Images):
        return pictures.pixels[index].float().expand(3, -1, -1)
    return torch.from_numpy(np.array(read_picture(pictures.paths[index]))).permute(2, 0, 1).float()
