"""`nonneg export` writes a file that other programs run, and says how well it agrees."""

import importlib.util
import re

import numpy as np
import onnxruntime
import pytest
import torch

from nonneg.data import load
from tests.finished_runs import finished_run


@pytest.fixture
def model(nonneg, tmp_path):
    return finished_run(tmp_path / "run", f"npz:{tmp_path / 'tiny.npz'}")


def test_the_file_makes_what_embed_writes(nonneg, model, tmp_path):
    said = nonneg("export", "run", "-o", "out/model.onnx")
    assert (said.status, said.err) == (0, "")
    assert re.fullmatch(r"Wrote out/model\.onnx; the largest difference to the model is (0|\de-\d\d)\n", said.out)
    assert nonneg("embed", "run", "npz:tiny.npz").status == 0
    session = onnxruntime.InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    pictures = load(f"npz:{tmp_path / 'tiny.npz'}").train.pixels.float() / 255
    (z,) = session.run(["z"], {"x": pictures.numpy()})
    with np.load(tmp_path / "features.npz") as arrays:
        np.testing.assert_allclose(z, arrays["features"], rtol=1e-4, atol=1e-5)


def test_a_program_of_torch_and_a_model_alone_will_do(nonneg, model, tmp_path):
    said = nonneg("export", "run/model.safetensors", "--format", "torch", "-o", "model.pt2")
    assert (said.status, said.err) == (0, "")
    x = torch.rand(5, 1, 8, 8)
    with torch.no_grad():
        found = torch.export.load(tmp_path / "model.pt2").module()(x)
        torch.testing.assert_close(found["z"], model(x), rtol=1e-4, atol=1e-5)


WRONG = [
    ("run -o m --format ONNX", "Expected the format to be onnx or torch, got 'ONNX'; choose one of them."),
    ("run", "Missing option '--out'"),
    ("none -o m", "Expected a run's folder or a .safetensors file, got none, where nothing is."),
    ("tiny.npz -o m", "Expected a whole safetensors file, got tiny.npz"),
    ("run -o run", "Expected to be able to write run, got: Is a directory."),
    ("run -o tiny.npz/m", "Expected to be able to write tiny.npz/m, got:"),
]


@pytest.mark.parametrize(("words", "line"), WRONG, ids=[words for words, _ in WRONG])
def test_what_the_user_got_wrong_is_one_line(refused, model, tmp_path, words, line):
    before = sorted(tmp_path.rglob("*"))
    assert refused("export", *words.split()).startswith(line)
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def test_a_package_that_is_not_installed_is_named_with_its_extra(refused, model, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if "onnx" in name else found(name, *a))
    assert refused("export", "run", "-o", "model.onnx") == (
        "Expected the package onnxruntime, which is not installed; run pip install 'nonneg[onnx]'."
    )
