"""`nonneg eval`: a table of what is known, kept beside what it is of."""

import json

import numpy as np
import pytest

from tests.finished_runs import array_file, finished_run


@pytest.fixture
def run(tmp_path, nonneg):
    finished_run(tmp_path / "run", f"npz:{tmp_path / 'tiny.npz'}")
    return tmp_path / "run"


def test_it_prints_what_it_keeps(nonneg, run):
    said = nonneg("eval", run)
    assert (said.status, said.err) == (0, "")
    kept = json.loads((run / "metrics.json").read_text())
    assert set(kept) == {"linear_probe", "knn", "properties", "retrieval", "sepin"}
    lines = said.out.splitlines()
    knn = kept["knn"]["z"]
    (line,) = [line for line in lines if line.startswith("k-NN on z")]
    assert f"{knn['value']:.1%} ({100 * knn['low']:.1f}–{100 * knn['high']:.1f})" in line
    assert line.split()[-1] == "24"
    assert lines[-2:] == [f"Kept in {run / 'metrics.json'}", f"To look at: {run / 'report' / 'index.html'}"]
    assert f"{knn['value']:.1%}" in (run / "report" / "index.html").read_text()


def test_protocols_by_name_and_a_second_time_what_is_known(nonneg, run):
    first = nonneg("eval", run, "--suite", "few_shot,properties").out
    assert "few shot: h, 10%" in first
    assert "k-NN" not in first
    kept = (run / "metrics.json").read_text()
    assert nonneg("eval", run, "--suite", "properties").out == first
    assert (run / "metrics.json").read_text() == kept
    nonneg("eval", run, "--suite", "knn", "--again")
    assert set(json.loads((run / "metrics.json").read_text())) == {"few_shot", "properties", "knn"}


def test_other_data_sets_by_name(nonneg, run, tmp_path):
    array_file(tmp_path / "sketch.npz", n=30, n_test=20)
    words = ("--suite", "knn", "--transfer", f"npz:{tmp_path / 'sketch.npz'}", "--shifted", "npz:sketch.npz")
    said = nonneg("eval", run, *words)
    assert (said.status, said.err) == (0, "")
    kept = json.loads((run / "metrics.json").read_text())
    assert set(kept["transfer"]) == set(kept["shifted"]) == {"h/sketch", "z/sketch"}
    assert kept["transfer"]["h/sketch"]["n"] == 20
    assert "transfer: h, sketch" in said.out
    kept["transfer"]["h/sketch"]["value"] = 0.125
    (run / "metrics.json").write_text(json.dumps(kept))
    assert "12.5%" in nonneg("eval", run, *words).out  # known already


def test_features_of_an_array_file(nonneg, tmp_path):
    x, y = np.eye(3, dtype=np.float32)[np.arange(30) % 3], np.arange(30) % 3
    np.savez(tmp_path / "f.npz", features=x, labels=y, test_features=x, test_labels=y)
    said = nonneg("eval", "npz:f.npz")
    assert (said.status, said.err) == (0, "")
    assert "100.0%" in said.out
    assert said.out.splitlines()[-1] == "Kept in f.metrics.json"
    assert "sepin" not in json.loads((tmp_path / "f.metrics.json").read_text())


def test_the_page_shows_it_beside_a_plain_run(nonneg, run, tmp_path):
    finished_run(tmp_path / "plain", f"npz:{tmp_path / 'tiny.npz'}", "identity")
    assert nonneg("eval", "plain", "--suite", "knn").status == 0
    said = nonneg("eval", run, "--suite", "knn", "--beside", "plain")
    assert (said.status, said.err) == (0, "")
    assert "beside plain" in (run / "report" / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none"], "Expected a finished run in none, got none; train it, or go on with it by --resume."),
        (["run", "--suite", "quik"], "Expected a suite (quick, full) or a protocol (linear_probe, knn, "),
        (["npz:none.npz"], "Expected an array file at none.npz, got no file there"),
        (["npz:tiny.npz"], "Expected features in tiny.npz, got classes, images, labels, "),
        (["npz:tiny.npz", "--beside", "run"], "Expected a run to show beside run, got an array file, npz:tiny.npz, "),
        (
            ["run", "--transfer", "cifar10", "--root", "sets"],
            "Expected cifar10 below sets, got nothing whole that torchvision knows there; download it with --download, "
            "or say where it is with --root FOLDER.",
        ),
        (["run", "--transfer", "cifra10"], "Expected a data set out of fashion-small, "),
    ],
    ids=str,
)
def test_bad_input_is_one_line(refused, run, words, line):
    assert refused("eval", *words).startswith(line)
