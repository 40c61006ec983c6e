"""Every command has words and help, and asking for it brings in nothing heavy."""

import json
import subprocess
import sys

import pytest

from nonneg import __version__
from nonneg.cli import commands
from tests.test_imports import HEAVY

NAMES = ("demo", "train", "recipes", "embed", "eval", "compare", "select", "export")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(nonneg, name):
    for option in ("--help", "-h"):
        said = nonneg(name, option)
        assert (said.status, said.err) == (0, "")
        assert f"Usage: nonneg {name}" in said.out
    command = next(c for c in commands.app.registered_commands if name in (c.name, c.callback.__name__))
    assert " ".join(command.callback.__doc__.split())[:30] in " ".join(said.out.split())


def test_the_version_is_the_packages(nonneg):
    assert nonneg("--version") == (0, f"nonneg {__version__}\n", "")


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["--version"], ["recipes"], ["nonsense"]], ids=str)
def test_answering_brings_in_nothing_heavy(words):
    code = (
        "import json, sys; from nonneg.cli.main import run; status = run(sys.argv[1:]); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "nonneg.cli.commands" in loaded
    allowed = {"typer", "rich"} if words == ["--help"] else {"typer", "rich", "pydantic"}  # which typer parses with
    assert not loaded & ((HEAVY | {"torch", "numpy", "yaml", "jaxtyping"}) - allowed)


def test_every_option_is_handed_on(monkeypatch, nonneg, tmp_path):
    got = []
    for name in ("compare", "demo", "embed", "evaluate", "export", "recipes", "select", "train"):
        monkeypatch.setattr(f"nonneg.cli.{name}.{name}", lambda *given: got.append(given))
    monkeypatch.setattr("nonneg.cli.train.resume", lambda *given: got.append(given))
    for words in (
        "demo --out a",
        "demo",
        "recipes",
        "recipes x",
        "train x a=1 b=2 --out o",
        "train x --out o a=1",
        "train --resume r a=1",
        "embed r d",
        "embed r d -o f.npz --which h --root t --download --skip-bad-files",
        "eval r",
        "eval npz:f.npz --suite knn,sepin --suite full --transfer a --shifted b --shifted c --root t --download "
        "--again --beside s",
        "compare r s",
        "compare r -o p.html --format md",
        "select r --dims 3 -o s",
        "export r -o f",
        "export r --out f --format torch",
    ):
        assert nonneg(*words.split()).status == 0
    path = type(tmp_path)
    assert got == [
        (path("a"),),
        (path("runs/demo"),),
        (None,),
        ("x",),
        (["x", "a=1", "b=2"], path("o")),
        (["x", "a=1"], path("o")),
        (path("r"), ["a=1"], None),
        (path("r"), "d", path("features.npz"), "z", None, False, False),
        (path("r"), "d", path("f.npz"), "h", path("t"), True, True),
        ("r", ["quick"], {"transfer": [], "shifted": []}, None, False, False, None),
        (
            "npz:f.npz",
            ["knn,sepin", "full"],
            {"transfer": ["a"], "shifted": ["b", "c"]},
            path("t"),
            True,
            True,
            path("s"),
        ),
        ([path("r"), path("s")], None, None),
        ([path("r")], path("p.html"), "md"),
        (path("r"), 3, path("s")),
        (path("r"), "onnx", path("f")),
        (path("r"), "torch", path("f")),
    ]
