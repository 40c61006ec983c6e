"""What a number is called and how it is written."""

import pytest

from nonneg.evaluation.results import Result
from nonneg.evaluation.wording import better, label, shown, with_interval


@pytest.mark.parametrize(
    ("part", "name", "words"),
    [
        ("linear_probe", "z/top5", "linear probe on z, top 5"),
        ("properties", "consistency", "class consistency"),
        ("sepin", "10", "SEPIN@10 ×100"),
        ("retrieval", "map", "retrieval mAP@10"),
        ("few_shot", "h/1%", "few shot: h, 1%"),
        ("dimension_selection", "ea_relu/64/probe", "dimension selection: ea relu, 64, probe"),
        ("baselines", "nmf_h/consistency", "baselines: nmf h, consistency"),
        ("training", "accuracy", "accuracy while training"),
    ],
)
def test_a_measurement_in_words(part, name, words):
    assert label(part, name) == words


@pytest.mark.parametrize(
    ("part", "name", "value", "text"),
    [
        ("linear_probe", "h", 0.8376, "83.8%"),
        ("properties", "alive", 72.0, "72"),
        ("properties", "correlation", 0.0331, "0.033"),
        ("baselines", "pca_h/correlation", 0.0331, "0.033"),
        ("baselines", "pca_h/effective_rank", 12.34, "12.3"),
        ("sepin", "all", 0.0047, "0.47"),
        ("knn", "h", float("nan"), "–"),
    ],
)
def test_a_number_as_it_is_written(part, name, value, text):
    assert shown(part, name, value) == text


def test_an_interval_stands_behind_it():
    assert with_interval("knn", "h", Result(0.8, 9, 0.75, 0.86)) == "80.0% (75.0–86.0)"
    assert with_interval("knn", "h", Result(0.8, 9)) == "80.0%"


def test_which_way_is_better():
    assert [better("properties", name) for name in ("correlation", "alive", "sparsity")] == [-1, 0, 1]
    assert [better("baselines", name) for name in ("pca_h/correlation", "nmf_h/probe")] == [-1, 1]
