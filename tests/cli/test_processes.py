"""Of several processes only the first speaks."""

import pytest

from nonneg.cli.processes import is_first


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("LOCAL_RANK", raising=False)


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, True),
        ({"RANK": "0", "LOCAL_RANK": "0"}, True),
        ({"RANK": "1", "LOCAL_RANK": "1"}, False),
        ({"RANK": "8", "LOCAL_RANK": "0"}, False),  # of the second machine
        ({"LOCAL_RANK": "0"}, True),
        ({"LOCAL_RANK": "1"}, False),
    ],
    ids=str,
)
def test_it_is_the_one_of_rank_0(monkeypatch, nonneg, environment, first):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_first() == first
    said = nonneg("nonsense")
    assert said.status == 2
    assert bool(said.err) == first


def test_the_others_do_not_say_that_they_are_done(monkeypatch, nonneg):
    monkeypatch.setattr("nonneg.training.resume", lambda *_, **__: None)
    assert nonneg("train", "--resume", "run") == (0, "Done: run\n", "")
    monkeypatch.setenv("RANK", "1")
    assert nonneg("train", "--resume", "run") == (0, "", "")
