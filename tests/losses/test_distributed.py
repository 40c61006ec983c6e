"""Two and three real processes with uneven batches have the loss and the gradients of one process with all the rows."""

import time

import pytest
import torch
from torch import multiprocessing

from tests.losses import processes
from tests.losses.every_loss import assert_equal

LIMIT = 120  # seconds

NAMES = [(world, name) for world in processes.SIZES for name in processes.runs(world)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each process found, by number of processes; they are started once for all tests."""
    found = {}

    def of(world):
        if world not in found:
            found[world] = run_processes(world, tmp_path_factory.mktemp(f"processes_{world}"))
        return found[world]

    return of


def run_processes(world, folder):
    started = multiprocessing.spawn(processes.work, (world, folder), nprocs=world, join=False)
    deadline = time.monotonic() + LIMIT
    try:
        while not started.join(timeout=1):
            assert time.monotonic() < deadline, f"{world} processes did not end within {LIMIT} s"
    finally:
        for process in started.processes:
            if process.is_alive():
                process.kill()
    return [torch.load(folder / f"{rank}.pt") for rank in range(world)]


@pytest.mark.parametrize(("world", "name"), NAMES)
def test_many_processes_are_one(world, name, results):
    run = processes.runs(world)[name]
    ranks = [of_rank[name] for of_rank in results(world)]
    together = processes.outcome(run, run.views, run.row_weights(), lambda model: model)

    # A mean or a sum is differentiated by every process, so their gradients add up to that of `world` losses.
    copies = 1 if run.reduction == "none" else world
    for rank, of_rank in enumerate(ranks):
        value = run.shares(together["value"])[rank] if run.reduction == "none" else together["value"]
        rows = [run.shares(gradient)[rank] * copies for gradient in together["rows"]]
        assert_equal((of_rank["value"], *of_rank["rows"]), (value, *rows), 1e-9)
        assert_equal(tuple(of_rank.get("model", ())), tuple(together.get("model", ())), 1e-9)
    added = tuple(sum(gradients) / copies for gradients in zip(*(r["parameters"] for r in ranks), strict=True))
    assert_equal(added, tuple(together["parameters"]), 1e-9)


@pytest.mark.parametrize("world", processes.SIZES)
def test_the_rows_of_one_process_alone_have_another_loss(world):
    """So that the equality above says that rows were exchanged."""
    for name, run in processes.runs(world).items():
        if "CrossEntropy" in name or run.reduction != "mean" or 1 in run.sizes:
            continue
        views = tuple(run.shares(x)[0] for x in run.views)
        alone = run.loss()(*run.case.arguments(*views))
        assert abs(alone - run.loss()(*run.case.arguments(*run.views))) > 1e-6
