"""What each of several processes runs for test_distributed.py, and what one process runs to compare with."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tests.losses.every_loss import CASES, Case, D, batch

# Rows of each process, by how many processes there are.
SIZES = {2: (5, 3), 3: (5, 3, 4)}


class Run(NamedTuple):
    """A loss, its reduction, and the batch of all processes."""

    case: Case
    reduction: str
    views: tuple[Tensor, Tensor, Tensor]
    sizes: tuple[int, ...]
    tile: int | None = None

    def loss(self) -> nn.Module:
        how = {} if self.tile is None else {"tile": self.tile}
        return self.case.make(reduction=self.reduction, **how).double()

    def shares(self, x: Tensor) -> tuple[Tensor, ...]:
        """Rows of all processes as a tuple of each one's; `x` may hold one view or, one after the other, both."""
        blocks = [torch.split(block, self.sizes) for block in x.split(sum(self.sizes))]
        return tuple(torch.cat(blocks_of_one) for blocks_of_one in zip(*blocks, strict=True))

    def row_weights(self) -> Tensor:
        return torch.linspace(1, 2, sum(self.sizes) * (1 if self.case.labelled else 2), dtype=torch.float64)


def runs(world: int) -> dict[str, Run]:
    sizes = SIZES[world]
    n = sum(sizes)
    views = batch(n)
    found = {
        f"{name}, {reduction}": Run(case, reduction, views, sizes)
        for name, case in CASES.items()
        for reduction in (("mean",) if "not normalised" in name else ("mean", "sum", "none"))
    }
    for name in ("InfoNCE", "SupervisedInfoNCE", "ClipLoss"):
        found[f"{name}, tile 2"] = Run(CASES[name], "mean", views, sizes, tile=2)
    for d in (1, 40):
        found[f"Spectral, {d} columns"] = Run(CASES["Spectral"], "mean", batch(n, d), sizes)
    one_on_each, alone = 9, 10 + torch.arange(n)
    y = torch.where(torch.isin(torch.arange(n), torch.tensor([0, 5, 8])), one_on_each, alone)
    y[[2, 3]] = 0
    for reduction in ("mean", "none"):
        found[f"SupervisedInfoNCE, a class with a row on each process, {reduction}"] = Run(
            CASES["SupervisedInfoNCE"], reduction, (*views[:2], y), sizes
        )
    single = (*batch(world)[:2], torch.zeros(world, dtype=torch.int64))
    for name, case in CASES.items():
        found[f"{name}, one row on each process"] = Run(case, "mean", single, (1,) * world)
    return found


class Training(nn.Module):
    """An encoder and the loss of what it makes, as DistributedDataParallel wraps them."""

    def __init__(self, run: Run):
        super().__init__()
        torch.manual_seed(3)
        self.encoder = nn.Linear(run.views[0].shape[1], D).double()
        self.loss = run.loss()
        self.case = run.case

    def forward(self, z1: Tensor, z2: Tensor, y: Tensor) -> Tensor:
        z1, z2 = self.encoder(torch.cat([z1, z2])).chunk(2)
        return self.loss(*self.case.arguments(z1, z2, y))


def outcome(run: Run, views: tuple[Tensor, Tensor, Tensor], weights: Tensor, wrap: Callable[[nn.Module], nn.Module]):
    """The loss, its gradients with regard to the rows and its own parameters, and those of a model trained by it."""
    loss = run.loss()
    z1, z2 = (z.clone().requires_grad_() for z in views[:2])
    value = loss(*run.case.arguments(z1, z2, views[2]))
    (value if run.reduction != "none" else value @ weights).backward()
    result = {
        "value": value.detach(),
        "rows": [z.grad for z in (z1, z2) if z.grad is not None],
        "parameters": [p.grad for p in loss.parameters()],
    }
    if run.reduction == "mean":
        model = wrap(Training(run))
        model(*views).backward()
        result["model"] = [p.grad for p in model.parameters()]
    return result


def work(rank: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    results = {}
    for name, run in runs(world).items():
        views = tuple(run.shares(x)[rank] for x in run.views)
        results[name] = outcome(run, views, run.shares(run.row_weights())[rank], DistributedDataParallel)
    torch.save(results, folder / f"{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()
