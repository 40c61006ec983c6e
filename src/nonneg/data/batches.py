"""The batches of training: shuffled by (seed, epoch), each process its share of every batch, any step to begin at."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int64
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from nonneg import _seeds
from nonneg._errors import UserError
from nonneg.data import views
from nonneg.data.datasets import Files, Images, Split
from nonneg.data.folder import ReportBad, ignore, read_picture

__all__ = ["Batch", "Batches", "evaluation_batches"]

Array = npt.NDArray[np.uint8]


class Batch(NamedTuple):
    """One process's share of a batch."""

    views: tuple[Float[Tensor, "n c s s"], ...]
    labels: Int64[Tensor, " n"] | None


@dataclass
class Batches:
    """An epoch of batches, made ready on `device`. Iterating begins at `first_step` of `epoch`.

    Samples and views depend on (seed, epoch, step) alone: the processes' shares, put together in order of rank, are the
    batch that one process would see. What is left over at the end of an epoch waits for the next shuffle. A file that
    can't be decoded ends the iteration, or is left out of its batch and told to `report_bad`, the first time that this
    process meets it.
    """

    split: Split
    settings: views.ViewSettings
    batch_size: int  # of all processes together
    view_count: int
    seed: int
    device: torch.device
    rank: int = 0
    processes: int = 1
    workers: int = 0
    on_bad_file: str = "fatal"
    report_bad: ReportBad = ignore
    epoch: int = 0
    first_step: int = 0
    _bad: set[Path] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= len(self.split):
            raise UserError(
                f"Expected a batch_size between 1 and {len(self.split)}, the number of training samples, got "
                f"{self.batch_size}."
            )
        if self.batch_size % self.processes:
            raise UserError(
                f"Expected a batch_size that {self.processes} processes can share evenly, got {self.batch_size}."
            )
        if isinstance(self.split, Images):
            self._pixels = _near(self.split.pixels, self.device)

    def __len__(self) -> int:
        return len(self.split) // self.batch_size

    def __iter__(self) -> Iterator[Batch]:
        order = torch.randperm(len(self.split), generator=_seeds.generator(self.seed, "order", self.epoch))
        share = self.batch_size // self.processes
        own = torch.arange(self.rank * share, (self.rank + 1) * share)  # places in the batch
        steps = range(self.first_step, len(self))
        samples = [order[step * self.batch_size + own] for step in steps]
        if isinstance(self.split, Images):
            for step, chosen in zip(steps, samples, strict=True):
                pixels = self._pixels[chosen.to(self._pixels.device)].to(self.device)
                yield self._batch(step, own, chosen, [pixels] * self.view_count, cropped=False)
        else:
            crops = _Crops(self.settings, self.view_count, self.seed, self.epoch)
            decoded = _decoded(self.split, samples, crops, self.workers, self.device, self.on_bad_file, self._report)
            for step, chosen, (good, pictures) in zip(steps, samples, decoded, strict=True):
                if not len(good):
                    raise UserError(
                        "Expected pictures that can be decoded, got a batch without one, with "
                        f"{self.split.paths[int(chosen[0])]} in it; mend or remove the files."
                    )
                yield self._batch(step, own[good], chosen[good], pictures.unbind(1), cropped=True)

    def _batch(self, step: int, places: Tensor, chosen: Tensor, pictures: Sequence[Tensor], cropped: bool) -> Batch:
        made = []
        for number, pixels in enumerate(pictures):
            generator = _seeds.generator(self.seed, "view", self.epoch, step, number)
            side = (pixels.shape[2], pixels.shape[3])
            drawn = views.draw(self.settings, self.batch_size, side, generator).rows(places)
            made.append(views.make(pixels, drawn._replace(crop=None) if cropped else drawn, self.settings))
        labels = None if self.split.labels is None else self.split.labels[chosen].to(self.device, non_blocking=True)
        return Batch(tuple(made), labels)

    def _report(self, path: Path) -> None:
        if path not in self._bad:
            self._bad.add(path)
            self.report_bad(path)


def evaluation_batches(
    split: Split,
    size: int,
    device: torch.device,
    batch_size: int = 512,
    workers: int = 0,
    on_bad_file: str = "fatal",
    report_bad: ReportBad = ignore,
) -> Iterator[tuple[Int64[Tensor, " n"], Float[Tensor, "n c s s"]]]:
    """Sample numbers and pictures in order, whole or their middle square, as the model sees them when it is measured.

    A file that can't be decoded is fatal, or its number is left out and its path told to `report_bad`.
    """
    samples = torch.split(torch.arange(len(split)), batch_size)
    if isinstance(split, Images):
        for chosen in samples:
            yield chosen, views.centre_crop(split.pixels[chosen].to(device), size)
        return
    found = False
    decoded = _decoded(split, samples, _Middle(size), workers, device, on_bad_file, report_bad)
    for chosen, (good, pixels) in zip(samples, decoded, strict=True):
        if len(good):
            found = True
            yield chosen[good], pixels.float() / 255
    if not found:
        raise UserError(f"Expected pictures that can be decoded, got none in {len(split)} files.")


def _near(pixels: Tensor, device: torch.device) -> Tensor:
    """On the device if there is ample room, else where it is."""
    if device.type != "cuda":
        return pixels
    free, _ = torch.cuda.mem_get_info(device)
    return pixels.to(device) if pixels.nbytes < free / 4 else pixels


# Pictures in files


def _decoded(
    files: Files,
    samples: Sequence[Tensor],
    read: Callable[[int, Image.Image], Array],
    workers: int,
    device: torch.device,
    on_bad_file: str,
    report_bad: ReportBad,
) -> Iterator[tuple[Tensor, Tensor]]:
    """For each batch of sample numbers: the places in it of those that could be decoded, and what was read of them."""
    loader: DataLoader[Any] = DataLoader(
        _Pictures(files.paths, read),
        batch_sampler=[chosen.tolist() for chosen in samples],
        num_workers=min(workers, _cores()),  # a DataLoader warns of more
        collate_fn=_stack,
        pin_memory=device.type == "cuda",
        worker_init_fn=_ignore_signals,
        generator=torch.Generator(),  # else a DataLoader draws from everybody's random numbers
    )
    for chosen, (places, pictures, problems) in zip(samples, loader, strict=True):
        for place, problem in problems:
            if on_bad_file == "fatal":
                raise UserError(problem)
            report_bad(files.paths[int(chosen[place])])
        yield places, pictures.to(device, non_blocking=True)


class _Pictures(Dataset[Tensor | str]):
    """What is read of each picture, where the workers are; or what is wrong with its file."""

    def __init__(self, paths: Sequence[Path], read: Callable[[int, Image.Image], Array]) -> None:
        self.paths, self.read = paths, read

    def __getitem__(self, index: int) -> Tensor | str:
        try:
            picture = read_picture(self.paths[index])
        except UserError as error:  # told, not raised: a DataLoader would wrap it in a worker's traceback
            return str(error)
        return torch.from_numpy(self.read(index, picture))


@dataclass(frozen=True)
class _Crops:
    """The crops of a picture's views, resized."""

    settings: views.ViewSettings
    view_count: int
    seed: int
    epoch: int

    def __call__(self, index: int, picture: Image.Image) -> Array:
        sides = torch.tensor([[picture.height, picture.width]]).expand(self.view_count, 2)
        boxes = views.draw_crops(self.settings.crop, sides, _seeds.generator(self.seed, "crop", self.epoch, index))
        return np.stack(
            [
                _resized(picture, self.settings.size, (left, top, left + width, top + height))
                for top, left, height, width in boxes.double().tolist()
            ]
        )


@dataclass(frozen=True)
class _Middle:
    """The middle square of 7/8 of the shorter side, as is usual for large pictures."""

    size: int

    def __call__(self, index: int, picture: Image.Image) -> Array:
        side = min(picture.size) * 7 / 8
        left, top = (picture.width - side) / 2, (picture.height - side) / 2
        return _resized(picture, self.size, (left, top, left + side, top + side))


def _resized(picture: Image.Image, size: int, box: tuple[float, float, float, float]) -> Array:
    """(c, s, s)"""
    small = picture.resize((size, size), Image.Resampling.BILINEAR, box, reducing_gap=2.0)
    return np.array(small).transpose(2, 0, 1)


def _stack(items: list[Tensor | str]) -> tuple[Tensor, Tensor, list[tuple[int, str]]]:
    """Places of the good ones, their pictures, places and problems of the bad ones."""
    good = [(place, item) for place, item in enumerate(items) if isinstance(item, Tensor)]
    places = torch.tensor([place for place, _ in good], dtype=torch.int64)
    pictures = torch.stack([item for _, item in good]) if good else torch.empty(0, dtype=torch.uint8)
    return places, pictures, [(place, item) for place, item in enumerate(items) if isinstance(item, str)]


def _cores() -> int:
    """Those that this process may use, as a DataLoader counts them."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _ignore_signals(worker: int) -> None:
    """Ctrl-C and SIGTERM reach a whole group of processes; the main one decides what becomes of the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
