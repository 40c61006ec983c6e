"""Pictures of noise and of smooth colours, in tensors and in files."""

import numpy as np
import torch
from PIL import Image

from nonneg.data import Files, Images


def noise(n, channels, height, width, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, channels, height, width), dtype=torch.uint8, generator=generator)


def images(n, channels=3, side=8, labelled=True):
    return Images(noise(n, channels, side, side), torch.arange(n) if labelled else None)


def save(path, height, width, seed):
    """A PNG, which keeps its pixels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def files(folder, n, bad=()):
    """n pictures of different sizes, whose labels are their numbers; the bad ones are text."""
    paths = []
    for i in range(n):
        path = folder / f"{i:03}.png"
        if i in bad:
            path.write_text("no picture")
        else:
            save(path, 12 + i % 5, 10 + i % 3, seed=i)
        paths.append(path)
    return Files(tuple(paths), torch.arange(n))
