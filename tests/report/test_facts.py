"""The facts are the recipe's."""

from nonneg.evaluation import shorten
from nonneg.report.facts import facts
from tests.report.pages import reported_run, shown_runs


def test_each_run_has_its_own(tmp_path):
    first = reported_run(tmp_path / "a", parts=None)
    second = reported_run(tmp_path / "b", parts=None, activation="identity", labelled=False)
    found = dict(facts(shown_runs(first, second)))
    assert found["σ₊"] == ["rep_relu", "identity"]
    assert found["data"] == [
        f"npz:{tmp_path}/a.npz: 36 training, 24 test pictures, 3 classes",
        f"npz:{tmp_path}/b.npz: 36 training, 24 test pictures, no labels",
    ]
    assert found["projector"] == ["16 → 12 = dimensions of z"] * 2
    assert found["epochs"] == ["100, batch 256"] * 2
    assert found["folder"] == [str(first), str(second)]


def test_a_shortened_run_says_what_it_kept(tmp_path):
    long = reported_run(tmp_path / "a", parts=None)
    shorten(long, 5, tmp_path / "b")
    assert dict(facts(shown_runs(tmp_path / "b")))["projector"] == ["16 → 12, of which z is 5"]
