"""The torchmetrics classes give over batches, and over two processes, what the functions give on everything at once."""

import inspect

import pytest
import torch
from torch import distributed, multiprocessing
from torchmetrics import Metric, MetricCollection

from nonneg import metrics
from tests.metrics.features import sparse

SPLITS = ([13, 27], [40], [1, 20, 19])


def _all():
    """name -> (the class ready to use, its arguments, what the function gives)."""
    z, y = (torch.tensor(a) for a in sparse())
    noisy = (z + 0.1 * torch.tensor(sparse(seed=1)[0])).float()
    z = z.float()
    train, labels = noisy, y.flip(0)
    return {
        "Sparsity": (metrics.Sparsity(), (z,), metrics.sparsity(z)),
        "Alive": (metrics.Alive(), (z,), metrics.alive(z)),
        "Correlation": (metrics.Correlation(), (z,), metrics.correlation(z)),
        "EffectiveRank": (metrics.EffectiveRank(), (z,), metrics.effective_rank(z)),
        "ClassConsistency": (metrics.ClassConsistency(), (z, y), metrics.class_consistency(z, y)),
        "Retrieval": (metrics.Retrieval(k=5), (z, y), metrics.retrieval(z, y, 5)),
        "Sepin": (
            metrics.Sepin(k=(1, 5)),
            (z, noisy),
            {str(k): value for k, value in metrics.sepin(z, noisy, (1, 5)).items()},
        ),
        "KnnAccuracy": (
            metrics.KnnAccuracy(train, labels, k=5),
            (z, y),
            metrics.knn_accuracy(train, labels, z, y, k=5),
        ),
    }


def _update(metric, arguments, sizes):
    for batch in zip(*(torch.split(argument, sizes) for argument in arguments), strict=True):
        metric.update(*batch)


def test_every_class_is_here():
    classes = {name for name, value in inspect.getmembers(metrics.accumulating, inspect.isclass) if name[0] != "_"}
    assert set(_all()) == classes & set(metrics.__all__)


@pytest.mark.parametrize("name", _all())
@pytest.mark.parametrize("sizes", SPLITS, ids=str)
def test_batches_give_what_everything_at_once_gives(name, sizes):
    metric, arguments, expected = _all()[name]
    assert isinstance(metric, Metric)
    for _ in range(2):  # reset forgets
        _update(metric, arguments, sizes)
        value = metric.compute()
        got = {k: v.item() for k, v in value.items()} if isinstance(value, dict) else value.item()
        assert got == pytest.approx(expected, abs=1e-6)
        metric.reset()


def test_a_collection_takes_them():
    _, arguments, _ = _all()["Retrieval"]
    collection = MetricCollection([metrics.ClassConsistency(), metrics.Retrieval(k=5)])
    collection.update(*arguments)
    assert set(collection.compute()) == {"ClassConsistency", "precision", "map"}


@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_computing_before_an_update_says_so():
    with pytest.raises(ValueError, match=r"Expected update to be called before Sparsity.compute, got no rows"):
        metrics.Sparsity().compute()


def _worker(rank, path):
    distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    try:
        for name, (metric, arguments, expected) in _all().items():
            mine = [argument[:15] if rank == 0 else argument[15:] for argument in arguments]  # uneven
            _update(metric, mine, [5, len(mine[0]) - 5])
            value = metric.compute()
            got = {k: v.item() for k, v in value.items()} if isinstance(value, dict) else value.item()
            assert got == pytest.approx(expected, abs=1e-6), name
    finally:
        distributed.destroy_process_group()


def test_two_processes_give_what_one_gives(tmp_path):
    multiprocessing.spawn(_worker, (str(tmp_path / "meeting"),), nprocs=2)
