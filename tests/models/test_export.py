"""A model in a file for others: what it computes there, for any number of pictures; whole or not there."""

import errno
import importlib.util
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from nonneg._errors import UserError
from nonneg.models import Model, ModelSettings
from nonneg.models.export import export

FORMATS = ("onnx", "torch")
SMALL = {"backbone": "small", "projector": (8, 5), "image_size": 8}
RESNET = {"backbone": "resnet18", "projector": (4,), "image_size": 16, "channels": 1, "activation": "softplus"}


def run(path, format, x):
    """h and z, by the other program."""
    if format == "onnx":
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return {
            name: torch.from_numpy(y) for name, y in zip("hz", session.run(["h", "z"], {"x": x.numpy()}), strict=True)
        }
    return torch.export.load(path).module()(x)


def assert_same(path, format, model, x, rtol=1e-4):
    with torch.no_grad():
        h, z = model.cpu().float().eval().both(x)
    found = run(path, format, x)
    assert sorted(found) == ["h", "z"]
    torch.testing.assert_close(found["h"], h, rtol=rtol, atol=1e-5)
    torch.testing.assert_close(found["z"], z, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize(
    ("values", "kept", "format"),
    [
        (SMALL | {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}, (4, 1), "onnx"),
        (SMALL | {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}, (4, 1), "torch"),
        (RESNET, None, "onnx"),
        (RESNET, None, "torch"),
        ({"backbone": "timm:test_vit", "projector": (), "image_size": 32, "activation": "identity"}, None, "onnx"),
    ],
    ids=["small, shortened, onnx", "small, shortened, torch", "resnet18, onnx", "resnet18, torch", "timm, onnx"],
)
def test_h_and_z_are_the_models_for_any_number_of_pictures_and_nothing_is_printed(
    values, kept, format, tmp_path, capfd
):
    model = Model(ModelSettings(**values))
    side, channels = model.settings.image_size, model.settings.channels
    model(torch.rand(8, channels, side, side))  # batch norm sees something
    model = model if kept is None else model.shortened(kept)
    path = tmp_path / "new" / f"model.{'onnx' if format == 'onnx' else 'pt2'}"
    assert export(model, path, format) < 1e-5
    assert capfd.readouterr() == ("", "")
    for n in (1, 5):
        assert_same(path, format, model, torch.rand(n, channels, side, side))
    assert list(path.parent.iterdir()) == [path]
    if format == "onnx":
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (x,) = session.get_inputs()
        assert (x.name, x.shape, x.type) == ("x", ["n", channels, side, side], "tensor(float)")
        outputs = [(y.name, y.shape) for y in session.get_outputs()]
        assert outputs == [("h", ["n", model.width]), ("z", ["n", model.dimensions])]


def test_the_model_and_the_dice_stay_as_they_are(tmp_path):
    model = Model(ModelSettings(**SMALL)).double()
    model.backbone.eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(7)
    export(model, tmp_path / "model.pt2", "torch")
    assert model.training and not model.backbone.training
    assert all(p.requires_grad for p in model.parameters())
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == before[name].dtype and torch.equal(tensor, before[name]), name
    after = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), after)
    assert_same(tmp_path / "model.pt2", "torch", model, torch.rand(2, 3, 8, 8))


def test_the_difference_to_large_features_is_a_share_of_them(tmp_path):
    model = Model(ModelSettings(**SMALL, activation="exp"))
    nn.init.constant_(model.projector[2].bias, 10.5)
    assert model.eval()(torch.rand(1, 3, 8, 8)).max() > 1e4
    assert export(model, tmp_path / "model.pt2", "torch") < 1e-5


# Refused, and nothing is there


def refused(model, path, format, message):
    before = sorted(path.parent.iterdir())
    with pytest.raises(UserError, match=f"^{message}") as caught:
        export(model, path, format)
    assert "\n" not in str(caught.value)
    assert sorted(path.parent.iterdir()) == before


def test_another_format(tmp_path):
    message = "Expected the format to be onnx or torch, got 'ONNX'; choose one of them."
    refused(Model(ModelSettings(**SMALL)), tmp_path / "model", "ONNX", re.escape(message))


def test_a_place_that_cannot_be_written_to_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.export, "export", lambda *_, **__: pytest.fail("the work was done"))
    (tmp_path / "file").touch()
    model = Model(ModelSettings(**SMALL))
    with pytest.raises(UserError, match=r"^Expected to be able to write .*, got: Is a directory\.$"):
        export(model, tmp_path, "torch")
    with pytest.raises(UserError, match=r"^Expected to be able to write .*file/model, got: File exists\.$"):
        export(model, tmp_path / "file" / "model", "torch")


@pytest.mark.parametrize("package", ["onnxruntime", "onnxscript", "onnx"])
def test_a_package_that_is_not_installed(package, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == package else found(name, *more)
    )
    message = rf"Expected the package {package}, which is not installed; run pip install 'nonneg\[onnx\]'\.$"
    refused(Model(ModelSettings(**SMALL)), tmp_path / "model.onnx", "onnx", message)


class ByNumber(nn.Module):
    """Another function of as many pictures as an export sees."""

    def forward(self, x):
        return x.mean((2, 3)) if len(x) == 2 else x.amax((2, 3))


class ByValue(nn.Module):
    def forward(self, x):
        return x.mean((2, 3)) if x.sum() > 0 else x.amax((2, 3))


@pytest.mark.parametrize("backbone", [ByNumber(), ByValue()], ids=["number", "value"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_backbone_that_no_graph_can_follow(backbone, format, tmp_path, capfd):
    model = Model(ModelSettings(backbone="custom", projector=(4,), image_size=8), backbone)
    message = f"Expected a model that can be exported to {format}, got the backbone custom, of which torch says: "
    refused(model, tmp_path / "model", format, message)
    assert capfd.readouterr() == ("", "")


def test_a_file_that_does_something_else(tmp_path, monkeypatch):
    (tmp_path / "model.pt2").write_text("from before")
    model = Model(ModelSettings(**SMALL))
    other = Model(ModelSettings(**SMALL))
    of = torch.export.export

    def exported(named, *how, **more):
        named.model = other.eval()
        program = of(named, *how, **more)
        named.model = model.eval()
        return program

    monkeypatch.setattr(torch.export, "export", exported)
    message = "Expected the exported model to agree with the model to 0.0001, got a difference of "
    refused(model, tmp_path / "model.pt2", "torch", message)
    assert (tmp_path / "model.pt2").read_text() == "from before"


def test_a_model_that_makes_no_numbers(tmp_path):
    model = Model(ModelSettings(**SMALL))
    nn.init.constant_(model.projector[2].bias, np.nan)
    refused(model, tmp_path / "model.pt2", "torch", "Expected .* got a difference of nan; ")


def test_a_model_beyond_what_onnx_can_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("nonneg.models.export._ONNX_LIMIT", 1000)
    message = r"Expected a model below 2 GiB, the most that an ONNX file holds, got \d\.\d GiB; export it as torch\.$"
    refused(Model(ModelSettings(**SMALL)), tmp_path / "model.onnx", "onnx", message)


def test_a_full_disk(tmp_path, monkeypatch):
    def full(path, *_, **__):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    refused(Model(ModelSettings(**SMALL)), tmp_path / "model.pt2", "torch", "Expected room on the disk for ")
