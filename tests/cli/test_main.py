"""Exit statuses and the one line: 2 for what the user got wrong, 1 for a fault, as a shell has it for signals."""

import os
import signal
import subprocess
import sys

import pytest

from nonneg import cli
from nonneg._errors import UserError
from nonneg.cli import commands
from nonneg.cli.main import run
from nonneg.training import Interrupted


@pytest.fixture
def failing(monkeypatch):
    """`nonneg recipes` raises this."""

    def fail(error):
        def raising(name):
            raise error

        monkeypatch.setattr("nonneg.cli.recipes.recipes", raising)

    return fail


def test_help_and_no_words_at_all_are_fine(nonneg):
    for words in ((), ("--help",), ("-h",)):
        said = nonneg(*words)
        assert (said.status, said.err) == (0, "")
        assert "Usage: nonneg" in said.out
        assert all(
            name in said.out for name in ("demo", "train", "recipes", "embed", "eval", "compare", "select", "export")
        )


def test_the_console_script_exits_with_the_status(monkeypatch, capsys):
    for words, status in ((["--version"], 0), (["nonsense"], 2)):
        monkeypatch.setattr(sys, "argv", ["nonneg", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == status


WRONG_WORDS = [
    (["trainn"], "No such command 'trainn'. Did you mean 'train'? 'nonneg --help' says what there is."),
    (["--nope"], "No such option: --nope. 'nonneg --help' says what there is."),
    (["train", "--resum", "x"], "No such option: --resum"),
    (["embed"], "Missing argument 'RUN'. 'nonneg --help' says what there is."),
    (["embed", "run"], "Missing argument 'DATA'."),
    (["recipes", "a", "b"], "Got unexpected extra argument"),
    (["train", "--out"], "Option '--out' requires an argument."),
]


@pytest.mark.parametrize(("words", "line"), WRONG_WORDS, ids=[" ".join(words) for words, _ in WRONG_WORDS])
def test_words_that_the_command_line_does_not_know(refused, words, line):
    assert refused(*words).startswith(line)


WRONG = [
    ("train", "Expected a recipe first, got nothing; 'nonneg recipes' lists them."),
    ("train epochs=3", "Expected a recipe first, got epochs=3;"),
    ("train fashion-small-nc", "got 'fashion-small-nc'; did you mean 'fashion-small-ncl'?"),
    ("train none.yaml", "Expected a recipe in none.yaml, got no file there; check the path."),
    ("train folder.yaml", "Expected a recipe in folder.yaml, got no file there; check the path."),
    ("train broken.yaml", "Expected a recipe in YAML in broken.yaml, got what can't be parsed:"),
    ("train bytes.yaml", "bytes.yaml"),
    ("train tiny.npz", "tiny.npz"),
    ("train tiny.yaml epocs=3", "Expected a key that a recipe knows, got 'epocs'; did you mean 'epochs'?"),
    ("train tiny.yaml model.projectr=3", "got 'model.projectr'; did you mean 'projector'?"),
    ("train tiny.yaml epochs=many", "Expected epochs to be a valid integer"),
    ("train tiny.yaml epochs=0", "Expected epochs to be greater than or equal to 1, got 0."),
    ("train tiny.yaml epochs", "Expected a change as key=value, got 'epochs'; for example epochs=20."),
    ("train tiny.yaml method.name=supcn", "Expected method.name to be one of 'simclr', 'supcon', 'ce', 'nce', got"),
    ("train tiny.yaml seed=2020-13-45", "Expected seed to be"),
    ("train tiny.yaml batch_size=100", "Expected a batch_size between 1 and 36, the number of training samples, got"),
    ("train tiny.yaml data.name=npz:none.npz", "Expected an array file at none.npz, got no file there"),
    ("train tiny.yaml data.name=npz:features.npz", "Expected pictures, an array 'images', in features.npz"),
    ("train tiny.yaml data.name=folder:none", "Expected a folder of pictures at none, got no folder there"),
    ("train tiny.yaml data.name=fashoin", "got 'fashoin'; did you mean 'fashion-small'?"),
    ("train tiny.yaml start_from=none", "Expected a run's folder or a .safetensors file, got none, where nothing is."),
    ("train tiny.yaml --out file", "Expected a new folder for the run, got file, which is there already;"),
    ("train tiny.yaml --out file/run", "Expected to be able to write file/run, got: Not a directory."),
    ("train tiny.yaml --out .", "Expected a new folder for the run, got ., which is there already;"),
    ("train --resume none", "Expected a run's folder, got none, which holds no recipe.yaml; check the path."),
    ("train --resume file", "Expected a run's folder, got file, which holds no recipe.yaml; check the path."),
    ("recipes nope", "Expected a recipe's name, got 'nope'; did you mean"),
    ("embed none digits", "Expected a run's folder or a .safetensors file, got none, where nothing is."),
    ("embed file digits", "Expected a whole safetensors file, got file"),
    ("embed tiny.npz digits", "Expected a whole safetensors file, got tiny.npz"),
    ("embed folder.yaml digits", "Expected a run's folder, got folder.yaml, which holds no model.safetensors"),
    ("demo --out file", "file/cl"),
]


@pytest.mark.parametrize(("words", "line"), WRONG, ids=[words for words, _ in WRONG])
def test_what_the_user_got_wrong_is_one_line(refused, tmp_path, words, line):
    import numpy as np

    (tmp_path / "file").touch()
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "broken.yaml").write_text("epochs: [1,\n\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    np.savez(tmp_path / "features.npz", features=np.eye(3))
    before = sorted(tmp_path.rglob("*"))
    assert line in refused(*words.split())
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def test_names_with_line_breaks_are_put_on_one_line(refused, failing):
    assert refused("train", "tiny.yaml", "data.name=npz:a\nb.npz").startswith("Expected an array file at a b.npz")
    failing(UserError("Expected one,\ngot\r\nthree lines."))
    assert refused("recipes") == "Expected one, got three lines."


def test_a_fault_of_ours_is_a_traceback(failing):
    for error in (RuntimeError("a bug"), EOFError("an end"), ValueError("a value"), OSError("a disk")):
        failing(error)
        with pytest.raises(type(error), match=str(error)):
            run(["recipes"])


def test_ctrl_c_is_130(nonneg, failing):
    failing(KeyboardInterrupt())
    assert nonneg("recipes") == (130, "", "Stopped.\n")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_go_on(nonneg, failing, number, status):
    failing(Interrupted(number, "Stopped after epoch 1; go on."))
    assert nonneg("recipes") == (status, "", "Stopped after epoch 1; go on.\n")


def test_a_command_that_leaves_early_keeps_its_status(failing):
    import typer

    failing(typer.Exit(5))
    assert run(["recipes"]) == 5
    failing(SystemExit(3))
    with pytest.raises(SystemExit):
        run(["recipes"])


@pytest.mark.parametrize("words", [["recipes"], ["--version"], ["--help"]], ids=" ".join)
def test_a_reader_that_has_gone_is_no_matter(words):
    """As after `nonneg recipes | head -1`."""
    end, beginning = os.pipe()
    os.close(end)
    code = f"import sys; from nonneg.cli.main import run; sys.exit(run({words}))"
    done = subprocess.run([sys.executable, "-c", code], stdout=beginning, stderr=subprocess.PIPE)
    os.close(beginning)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_the_commands_are_those_that_are_tested():
    assert {command.callback.__name__ for command in commands.app.registered_commands} == {
        "demo",
        "train",
        "recipes",
        "embed",
        "evaluate",
        "compare",
        "select",
        "export",
    }
