"""Views a second of training end to end, beside lightly, solo-learn's pieces, and the limit: the model's own step.

python benchmarks/train_throughput.py     writes benchmarks/results/train_throughput.md (about 15 minutes on 2 cores)

Every contestant trains the same backbone on the same CIFAR-sized pictures, 256 a batch, two views each, in a process of
its own, in turn, several rounds.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _results import in_process, table, write
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from nonneg import losses, training
from nonneg.data import DataSet, Images
from nonneg.models import Model, ModelSettings
from nonneg.models.backbones import build_backbone
from nonneg.training import hardware, recipes
from nonneg.training.recipe import HardwareSettings
from nonneg.training.watcher import Silent

THREADS, BATCH, WORKERS, ROUNDS = 2, 256, 2, 3
STEPS = {"resnet18": 6, "small": 24}  # that are timed, of each contestant in each round
WARM_UP = 2


def pictures(n: int) -> Tensor:
    """Noise with neighbours alike, (n, 3, 32, 32): as costly as photographs, which would have to be downloaded."""
    coarse = torch.rand(n, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    return (nn.functional.interpolate(coarse, size=32, mode="bilinear") * 255).byte()


def ours(name: str) -> float:
    """`nonneg train cifar10-ncl` as it is, but for backbone, stem padding (the peers' 1) and a short epoch."""
    data = DataSet("noise", Images(pictures(BATCH * STEPS[name]), None), None, ())
    changes = [f"model.backbone={name}", "model.stem_padding=1", "epochs=2", "schedule.warm_up_epochs=1"]
    seen: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        training.train(recipes.read("cifar10-ncl", changes), Path(folder) / "run", data=data, watcher=_Pace(seen))
    return seen[-1]


class _Pace(Silent):
    def __init__(self, seen: list[float]) -> None:
        self.seen = seen

    def epoch(self, row: Mapping[str, float]) -> None:
        self.seen.append(row["views_per_second"])


def limit(name: str) -> float:
    """Forward, backward and step of our model, in our precision, on one batch that is ready."""
    recipe = recipes.read("cifar10-ncl")
    fabric = hardware.build_fabric(HardwareSettings())
    model = Model(ModelSettings(backbone=name, projector=recipe.model.projector, image_size=32))
    model = model.to(memory_format=torch.channels_last)
    optimiser = recipe.optimiser.build(model)
    module, optimiser = fabric.setup(model, optimiser)
    loss = losses.InfoNCE(0.2)
    views = torch.rand(2 * BATCH, 3, 32, 32)

    def step() -> None:
        fabric.backward(loss(*module(views).chunk(2)))
        optimiser.step()
        optimiser.zero_grad()

    return _paced(name, (step for _ in range(WARM_UP + STEPS[name])))


def lightly(name: str) -> float:
    """The SimCLR example of its documentation, with DataLoader workers and this backbone."""
    from lightly.loss import NTXentLoss
    from lightly.models.modules import SimCLRProjectionHead
    from lightly.transforms.simclr_transform import SimCLRTransform

    backbone, width = build_backbone(ModelSettings(backbone=name))
    model = nn.Sequential(backbone, SimCLRProjectionHead(width, 512, 128))
    transform = SimCLRTransform(input_size=32, gaussian_blur=0.0)
    return _by_loader(name, model, NTXentLoss(), transform)


def solo_pieces(name: str) -> float:
    """Solo-learn's pipeline: torchvision's changes of Pillow pictures in workers, the loss by whole matrices."""
    change = transforms.Compose(
        [
            transforms.RandomResizedCrop(32, (0.08, 1.0), interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
            transforms.RandomGrayscale(0.2),
            transforms.RandomApply([transforms.GaussianBlur(3, (0.1, 2.0))], 0.5),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
        ]
    )
    backbone, width = build_backbone(ModelSettings(backbone=name))
    model = nn.Sequential(backbone, nn.Linear(width, 2048), nn.ReLU(), nn.Linear(2048, 256))

    def loss(z1: Tensor, z2: Tensor) -> Tensor:
        z = nn.functional.normalize(torch.cat([z1, z2]), dim=1)
        similarity = (z @ z.T / 0.2).fill_diagonal_(-torch.inf)
        return nn.functional.cross_entropy(similarity, torch.arange(len(z)).roll(len(z1)))

    return _by_loader(name, model, loss, lambda picture: [change(picture), change(picture)])


class _Pictures(Dataset[list[Tensor]]):
    def __init__(self, n: int, change: Callable[[Image.Image], list[Tensor]]) -> None:
        self.pixels = pictures(n).permute(0, 2, 3, 1).contiguous().numpy()
        self.change = change

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> list[Tensor]:
        return self.change(Image.fromarray(self.pixels[index]))


def _by_loader(name: str, model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], change: Any) -> float:
    loader = DataLoader(
        _Pictures(BATCH * (WARM_UP + STEPS[name]), change), BATCH, shuffle=True, drop_last=True, num_workers=WORKERS
    )
    optimiser = torch.optim.SGD(model.parameters(), lr=0.06)

    def steps() -> Iterator[Callable[[], None]]:
        for views in loader:
            yield lambda views=views: step(*views)

    def step(first: Tensor, second: Tensor) -> None:
        loss(model(first), model(second)).backward()
        optimiser.step()
        optimiser.zero_grad()

    return _paced(name, steps())


def _paced(name: str, steps: Iterator[Callable[[], None]]) -> float:
    """Views a second of the steps after the first few, waiting for their data included."""
    for step in islice(steps, WARM_UP):
        step()
    start, count = time.perf_counter(), 0
    for step in steps:
        step()
        count += 1
    return 2 * BATCH * count / (time.perf_counter() - start)


CONTESTANTS = {"nonneg train": ours, "the limit": limit, "lightly": lightly, "solo-learn's pieces": solo_pieces}


def main() -> None:
    sections = []
    for backbone in STEPS:
        pace: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        for _ in range(ROUNDS):
            for name in CONTESTANTS:  # in turn, so that what disturbs one disturbs all
                pace[name].append(float(in_process(__file__, backbone, name)[-1]))
        median = {name: float(np.median(values)) for name, values in pace.items()}
        own = median["nonneg train"]
        rows = [
            [name, f"{median[name]:,.0f}", f"{min(values):,.0f}–{max(values):,.0f}", f"{own / median[name]:.2f}×"]
            for name, values in pace.items()
        ]
        body = table(["", "views/s", f"of {ROUNDS} rounds", "ours over it"], rows)
        sections.append((f"{backbone}, batch {BATCH}, 32 × 32 × 3", body))
    precision = hardware.precision_name(hardware.build_fabric(HardwareSettings()))
    how = (
        f"Ours is the recipe cifar10-ncl in {precision}, channels_last, all views by the preset cifar (blur included). "
        "The limit is its forward, backward and LARS step on one batch that is ready. lightly is the SimCLR example "
        f"of its documentation (float32, no blur, {WORKERS} DataLoader workers). solo-learn 1.0.2 asks for torch 1.9.1 "
        f"and does not install beside this one, so its pipeline's pieces stand for it. {THREADS} threads."
    )
    command = "python benchmarks/train_throughput.py"
    write("train_throughput", "Training: views a second", [("How", how), *sections], _PACKAGES, command)


_PACKAGES = ["torch", "torchvision", "lightning", "lightly", "pillow"]

if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    if len(sys.argv) == 3:
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        print(CONTESTANTS[sys.argv[2]](sys.argv[1]))
    else:
        main()
