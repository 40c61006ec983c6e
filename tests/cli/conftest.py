"""The command in this process: its exit status and what it prints."""

from typing import NamedTuple

import pytest

from nonneg.cli.main import run
from tests.finished_runs import array_file

RECIPE = """
data: {{name: "{data}", workers: 0}}
views: {{name: grey, size: 8}}
model: {{backbone: small, projector: [16, 12]}}
epochs: 2
batch_size: 16
hardware: {{accelerator: cpu, precision: float32}}
"""


class Said(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def nonneg(capsys, tmp_path, monkeypatch):
    """Runs a command in an empty folder where tiny.yaml and tiny.npz are."""
    monkeypatch.chdir(tmp_path)
    data = array_file(tmp_path / "tiny.npz")
    (tmp_path / "tiny.yaml").write_text(RECIPE.format(data=data))

    def call(*words):
        capsys.readouterr()
        return Said(run([str(word) for word in words]), *capsys.readouterr())

    return call


@pytest.fixture
def refused(nonneg):
    """One that the user got wrong: status 2, one line, nothing else, and what it says."""

    def call(*words):
        said = nonneg(*words)
        assert (said.status, said.out) == (2, ""), said
        assert said.err.count("\n") == 1, said.err
        assert said.err.endswith(("\n",))
        return said.err.rstrip("\n")

    return call
