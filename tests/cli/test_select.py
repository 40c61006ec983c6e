"""`nonneg select` makes a run that every command takes."""

import numpy as np
import pytest

from nonneg import models
from nonneg.training import RunFolder, recipes
from tests.finished_runs import finished_run


@pytest.fixture
def model(nonneg, tmp_path):
    return finished_run(tmp_path / "run", f"npz:{tmp_path / 'tiny.npz'}")


def embedded(nonneg, run, which="z"):
    assert nonneg("embed", run, "npz:tiny.npz", "-o", "f.npz", "--which", which).status == 0
    with np.load("f.npz") as arrays:
        return {name: arrays[name] for name in arrays}


def test_the_run_embeds_to_the_chosen_columns(nonneg, model, tmp_path):
    assert nonneg("select", "run", "--dims", "4", "-o", "runs/four") == (0, "Wrote runs/four\n", "")
    kept = list(recipes.read_file(RunFolder(tmp_path / "runs" / "four").recipe).model.kept)
    assert len(kept) == 4
    for name, long in embedded(nonneg, "run").items():
        short = embedded(nonneg, "runs/four")[name]
        assert np.array_equal(short, long[:, kept] if "features" in name else long)
    assert np.array_equal(embedded(nonneg, "runs/four", "h")["features"], embedded(nonneg, "run", "h")["features"])


def test_it_can_be_shortened_again_and_is_done(nonneg, model, tmp_path):
    for words in ("run --dims 6 -o six", "six --dims 2 --out two"):
        assert nonneg("select", *words.split()).status == 0
    assert models.load(tmp_path / "two").dimensions == 2
    assert nonneg("train", "--resume", "two") == (0, "Done: two\n", "")


WRONG = [
    ("run --dims 0 -o new", "Expected dims between 1 and 12, the number of dimensions of run, got 0; choose one of"),
    ("run --dims 13 -o new", "Expected dims between 1 and 12, the number of dimensions of run, got 13; choose one of"),
    ("run --dims many -o new", "Invalid value for '--dims': "),
    ("run --dims 3", "Missing option '--out'"),
    ("run -o new", "Missing option '--dims'"),
    ("none --dims 3 -o new", "Expected a finished run in none, got none; train it, or go on with it by --resume."),
    ("undone --dims 3 -o new", "Expected a finished run in undone, got none; train it, or go on with it by --resume."),
    ("run --dims 3 -o run", "Expected a new folder for the run, got run, which is there already;"),
    ("run --dims 3 -o tiny.npz", "Expected a new folder for the run, got tiny.npz, which is there already;"),
    ("broken --dims 3 -o new", "Expected a recipe in YAML in broken/recipe.yaml, got what can't be parsed:"),
]


@pytest.mark.parametrize(("words", "line"), WRONG, ids=[words for words, _ in WRONG])
def test_what_the_user_got_wrong_is_one_line(refused, model, tmp_path, words, line):
    (tmp_path / "undone").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "recipe.yaml").write_text("{")
    (tmp_path / "broken" / "model.safetensors").write_bytes((tmp_path / "run" / "model.safetensors").read_bytes())
    before = sorted(tmp_path.rglob("*"))
    assert refused("select", *words.split()).startswith(line)
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def test_a_recipe_of_a_shortened_run_is_not_trained_by(nonneg, refused, model):
    assert nonneg("select", "run", "--dims", "4", "-o", "four").status == 0
    said = refused("train", "four/recipe.yaml", "--out", "new")
    assert said.startswith("Expected a recipe without model.kept to train by, got one that keeps 4 columns;")
