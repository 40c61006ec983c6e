"""Our views beside kornia's, batched on tensors, and torchvision's, a Pillow picture at a time in one process.

python benchmarks/views.py           writes benchmarks/results/views.md (about a minute)
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from _results import table, write
from kornia import augmentation
from PIL import Image
from torchvision.transforms import v2

from nonneg.data import load, views
from nonneg.data.views import ViewSettings

THREADS, BATCH, REPEATS = 2, 256, 25
# Peers cut a blur off: here four pixels away, two of the widest deviations. Ours is as wide as the picture.
KERNEL = 9


def ours(settings: ViewSettings, pixels: torch.Tensor) -> Callable[[], torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def make() -> torch.Tensor:
        drawn = views.draw(settings, len(pixels), (pixels.shape[2], pixels.shape[3]), generator)
        return views.make(pixels, drawn, settings)

    return make


def kornias(s: ViewSettings, pixels: torch.Tensor) -> Callable[[], torch.Tensor]:
    size = (s.size, s.size)
    if pixels.shape[1] == 3:
        colours = [augmentation.ColorJitter(s.brightness, s.contrast, s.saturation, s.hue, p=s.jitter)]
        colours += [augmentation.RandomGrayscale(p=s.grey)]
    else:  # its ColorJitter wants three channels
        colours = [augmentation.RandomBrightness((1 - s.brightness, 1 + s.brightness), p=s.jitter)]
        colours += [augmentation.RandomContrast((1 - s.contrast, 1 + s.contrast), p=s.jitter)]
    change = augmentation.AugmentationSequential(
        augmentation.RandomResizedCrop(size, scale=s.crop),
        augmentation.RandomHorizontalFlip(p=s.flip),
        *colours,
        augmentation.RandomGaussianBlur((KERNEL, KERNEL), s.blur_sigma, p=s.blur),
        data_keys=["input"],
        same_on_batch=False,
    )
    return lambda: change(pixels.float() / 255)


def torchvisions(s: ViewSettings, pixels: torch.Tensor) -> Callable[[], torch.Tensor]:
    change = v2.Compose(
        [
            v2.RandomResizedCrop(s.size, scale=s.crop),
            v2.RandomHorizontalFlip(s.flip),
            v2.RandomApply([v2.ColorJitter(s.brightness, s.contrast, s.saturation, s.hue)], s.jitter),
            *([v2.RandomGrayscale(s.grey)] if s.grey else []),
            v2.RandomApply([v2.GaussianBlur(KERNEL, s.blur_sigma)], s.blur),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    pictures = [np.ascontiguousarray(picture.permute(1, 2, 0).squeeze().numpy()) for picture in pixels]
    return lambda: torch.stack([change(Image.fromarray(picture)) for picture in pictures])


def measured(settings: ViewSettings, pixels: torch.Tensor) -> str:
    calls = {
        "nonneg.data.views": ours(settings, pixels),
        "kornia, batched": kornias(settings, pixels),
        "torchvision v2, a Pillow picture at a time": torchvisions(settings, pixels),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(REPEATS + 2):
        for name, call in calls.items():  # in turn, so that what disturbs one disturbs all
            start = time.perf_counter()
            made = call()
            if repeat >= 2:
                taken[name].append(time.perf_counter() - start)
            assert made.shape == (len(pixels), pixels.shape[1], settings.size, settings.size)
    median = {name: float(np.median(times)) for name, times in taken.items()}
    own = median["nonneg.data.views"]
    rows = [
        [
            name,
            f"{len(pixels) / median[name]:,.0f}",
            f"{1e3 * median[name]:.1f}",
            f"{1e3 * np.percentile(times, 25):.1f}–{1e3 * np.percentile(times, 75):.1f}",
            f"{median[name] / own:.1f}×",
        ]
        for name, times in taken.items()
    ]
    return table(["", "views/s", "ms a batch", "middle half", "time over ours"], rows)


def main() -> None:
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    grey = load("fashion-small").train.thinned(BATCH).pixels
    # Noise with neighbours alike: as costly as photographs, which would have to be downloaded.
    coarse = torch.rand(BATCH, 3, 8, 8, generator=generator)
    coloured = (torch.nn.functional.interpolate(coarse, size=32, mode="bilinear") * 255).byte()
    how = (
        f"{BATCH} pictures a batch from uint8 to float32, {THREADS} threads (torchvision: one process), medians of "
        f"{REPEATS} repeats in turn."
    )
    write(
        "views",
        "Views: speed",
        [
            ("32 × 32 × 3, preset cifar", f"{how}\n\n{measured(ViewSettings(name='cifar'), coloured)}"),
            ("28 × 28 × 1, preset grey", f"{how}\n\n{measured(ViewSettings(name='grey'), grey)}"),
        ],
        ["torch", "kornia", "torchvision", "pillow"],
        "python benchmarks/views.py",
    )


if __name__ == "__main__":
    main()
