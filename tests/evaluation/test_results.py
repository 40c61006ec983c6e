"""Numbers with intervals, and the file that keeps them."""

import json
import math

import pytest
import torch

from nonneg._errors import UserError
from nonneg.evaluation import results
from nonneg.evaluation.results import Result, mean_of


def test_the_interval_is_that_of_the_mean_of_a_sample():
    """Of 0 and 1, the binomial's: 1.96·√(p(1 − p)/n) to either side."""
    correct = torch.arange(2000) % 5 != 0
    found = mean_of(correct)
    half = 1.96 * math.sqrt(0.8 * 0.2 / 2000)
    assert (found.value, found.n) == (pytest.approx(0.8), 2000)
    assert found.low == pytest.approx(0.8 - half, abs=0.15 * half)
    assert found.high == pytest.approx(0.8 + half, abs=0.15 * half)


def test_it_covers_the_truth_about_19_times_in_20():
    inside = 0
    for draw in range(200):
        sample = torch.rand(60, generator=torch.Generator().manual_seed(draw))
        found = mean_of(sample, seed=draw)
        inside += found.low <= 0.5 <= found.high
    assert 0.88 <= inside / 200 <= 0.99


def test_the_same_seed_gives_the_same_interval_and_another_another():
    sample = torch.rand(50)
    assert mean_of(sample, 1) == mean_of(sample, 1) != mean_of(sample, 2)


def test_one_that_never_varies_has_no_width():
    assert mean_of(torch.ones(7)) == Result(1.0, 7, 1.0, 1.0, 0)


def test_many_samples_are_drawn_a_piece_at_a_time(monkeypatch):
    sample = torch.rand(400)
    whole = mean_of(sample)
    monkeypatch.setattr(results, "_AT_ONCE", 1000)
    pieces = mean_of(sample)
    assert pieces.low == pytest.approx(whole.low, abs=0.01)
    assert pieces.high == pytest.approx(whole.high, abs=0.01)


def test_what_is_written_is_read(tmp_path):
    parts = {
        "knn": {"h": Result(0.5, 10, 0.4, 0.6, 0, 1.25), "z": Result(0.25, 10)},
        "sepin": {"1": Result(float("nan"), 3)},
    }
    file = tmp_path / "run" / "metrics.json"
    results.write(file, parts)
    found = results.read(file)
    assert found["knn"] == parts["knn"]
    assert math.isnan(found["sepin"]["1"].value)
    plain = json.loads(file.read_text())
    assert plain["knn"]["z"] == {"value": 0.25, "n": 10}
    assert plain["sepin"]["1"]["value"] is None
    assert results.read(tmp_path / "none.json") == {}


@pytest.mark.parametrize("content", ["{", "[1, 2]", "\xff", '{"knn": 3}', '{"knn": {"h": 0.5}}', '{"knn": {"h": {}}}'])
def test_a_metrics_file_that_is_something_else_is_refused(tmp_path, content):
    file = tmp_path / "metrics.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=r"^Expected measurements in JSON in .*metrics\.json, got something else"):
        results.read(file)
