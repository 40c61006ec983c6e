"""Checkpoints as solo-learn and the NCL reference code write them, against the network that wrote them."""

import argparse
import os
import pickle
import re
import zipfile
from collections import OrderedDict

import pytest
import torch
import torchvision
from torch import nn

from nonneg._errors import UserError
from nonneg.activations import rep_relu
from nonneg.models import ModelSettings, build_backbone, load, read_solo_checkpoint, save
from nonneg.models.settings import RESNETS
from nonneg.models.solo_checkpoint import _resnet_like

CIFAR = {"mean": (0.4914, 0.4822, 0.4465), "std": (0.247, 0.243, 0.261)}
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


class Planted:
    """Makes a folder if it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def solo_learn(cifar=True, widths=(40, 24)):
    """As solo-learn builds SimCLR: torchvision's ResNet without its last layer, for CIFAR another stem, padded by 2."""
    backbone = torchvision.models.resnet18()
    width = backbone.inplanes
    backbone.fc = nn.Identity()
    if cifar:
        backbone.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=2, bias=False)
        backbone.maxpool = nn.Identity()
    projector = nn.Sequential(nn.Linear(width, widths[0]), nn.ReLU(), nn.Linear(widths[0], widths[1]))
    method = nn.ModuleDict({"backbone": backbone, "classifier": nn.Linear(width, 10), "projector": projector})
    backbone(torch.rand(8, 3, 32, 32))  # so that batch norm has seen something
    return method.to(memory_format=torch.channels_last).eval()


def checkpoint(method, **more):
    """What Lightning puts beside the weights."""
    return {
        "epoch": 199,
        "global_step": 39_000,
        "pytorch-lightning_version": "1.6.4",
        "state_dict": OrderedDict(method.state_dict(), queue=torch.rand(5)),
        "loops": {"fit_loop": {"state_dict": {}}},
        "callbacks": {"Checkpointer": {"path": argparse.Namespace(dir="trained_models")}},
        "optimizer_states": [torch.optim.SGD(method.parameters(), lr=0.4, momentum=0.9).state_dict()],
        "lr_schedulers": [{"_step_count": 3, "verbose": False}],
        "hparams_name": "cfg",
        "hyper_parameters": argparse.Namespace(method="simclr", lr=0.4),
        **more,
    }


@pytest.fixture(scope="module")
def method():
    torch.manual_seed(0)
    return solo_learn()


@pytest.fixture(scope="module")
def file(method, tmp_path_factory):
    path = tmp_path_factory.mktemp("solo") / "ncl-ep=199.ckpt"
    torch.save(checkpoint(method), path)
    return path


def test_the_model_is_the_network_that_wrote_the_checkpoint(method, file):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(file, weights_only=True)
    model = read_solo_checkpoint(file, activation="rep_relu")
    assert model.settings == ModelSettings(
        backbone="resnet18", stem_padding=2, projector=(40, 24), activation="rep_relu", **CIFAR
    )
    x = torch.rand(3, 3, 32, 32)
    normalised = torchvision.transforms.functional.normalize(x, **CIFAR)
    with torch.no_grad():
        expected_h = method["backbone"](normalised)
        h, z = model.both(x)
        torch.testing.assert_close(h, expected_h, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(z, rep_relu(method["projector"](expected_h)), rtol=1e-4, atol=1e-5)
    for ours, theirs in ((model.backbone, method["backbone"]), (model.projector, method["projector"])):
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in ours.state_dict().items())
    assert not model.training


def test_what_is_given_is_taken(file):
    model = read_solo_checkpoint(
        str(file), activation="identity", mean=(0.0,) * 3, std=(1.0,) * 3, image_size=48, stem_padding=1
    )
    given = model.settings
    assert (given.activation, given.mean, given.std) == ("identity", (0, 0, 0), (1, 1, 1))
    assert (given.image_size, given.stem_padding) == (48, 1)
    assert model.backbone.conv1.padding == (1, 1)


def test_the_activation_has_to_be_given(file):
    with pytest.raises(TypeError, match="activation"):
        read_solo_checkpoint(file)
    with pytest.raises(UserError, match="leaky_relu"):
        read_solo_checkpoint(file, activation="leakyrelu")


def test_it_is_saved_and_loaded_as_any_model(file, tmp_path):
    model = read_solo_checkpoint(file, activation="relu")
    save(model, tmp_path / "model.safetensors")
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(load(tmp_path)(x), model(x))


def test_the_stem_for_larger_pictures_is_seen_from_its_size(tmp_path):
    method = solo_learn(cifar=False)
    # solo-learn's first releases call the backbone an encoder.
    state = {name.replace("backbone.", "encoder."): tensor for name, tensor in method.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "old.ckpt")
    model = read_solo_checkpoint(tmp_path / "old.ckpt", activation="relu")
    assert model.settings == ModelSettings(
        **{"backbone": "resnet18", "small_images": False, "stem_padding": 2, "projector": (40, 24)},
        **{"activation": "relu", "image_size": 224, **IMAGENET},
    )
    x = torch.rand(2, 3, 64, 64)
    h = method["backbone"](torchvision.transforms.functional.normalize(x, **IMAGENET))
    torch.testing.assert_close(model.encode(x), h, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RESNETS)
def test_every_resnet_is_known_by_its_shapes(name, tmp_path):
    with torch.device("meta"):
        backbone, width = build_backbone(ModelSettings(backbone=name, small_images=name != "resnet50"))
    assert _resnet_like(backbone.state_dict(), name != "resnet50", tmp_path) == (name, width)


def test_a_backbone_that_is_no_resnet_is_given_as_a_module(tmp_path):
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 12))
    state = {f"backbone.{name}": tensor for name, tensor in network.state_dict().items()}
    state |= {f"projector.{name}": tensor for name, tensor in nn.Sequential(nn.Linear(12, 6)).state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "vit.ckpt")
    with pytest.raises(
        UserError, match=r"got another backbone \(1.weight, 1.bias …\); .* give the module as backbone="
    ):
        read_solo_checkpoint(tmp_path / "vit.ckpt", activation="relu")
    blank = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 12))
    model = read_solo_checkpoint(tmp_path / "vit.ckpt", activation="relu", image_size=16, backbone=blank)
    assert model.settings.backbone == "custom"
    assert torch.equal(model.backbone[1].weight, network[1].weight)


# Hostile


def test_what_is_planted_in_a_checkpoint_is_not_done(method, tmp_path):
    folder = tmp_path / "made"
    planted = checkpoint(method, hyper_parameters={"cfg": Planted(folder)}, callbacks=[Planted(folder)])
    planted["state_dict"]["momentum_backbone.conv1.weight"] = Planted(folder)
    torch.save(planted, tmp_path / "planted.ckpt")
    x = torch.rand(2, 3, 32, 32)
    assert read_solo_checkpoint(tmp_path / "planted.ckpt", activation="relu")(x).shape == (2, 24)
    assert not folder.exists()
    with pytest.raises(FileExistsError):  # the second plant finds the folder that the first one made
        torch.load(tmp_path / "planted.ckpt", weights_only=False)
    assert folder.is_dir()


def test_planted_in_place_of_a_weight_it_is_not_done_either(method, tmp_path):
    folder = tmp_path / "made"
    planted = checkpoint(method)
    planted["state_dict"]["projector.0.bias"] = Planted(folder)
    torch.save(planted, tmp_path / "planted.ckpt")
    with pytest.raises(UserError, match="damaged"):
        read_solo_checkpoint(tmp_path / "planted.ckpt", activation="relu")
    assert not folder.exists()


# Refused: one line each


def refused(path, message, **given):
    with pytest.raises(UserError, match=f"^{message}$") as caught:
        read_solo_checkpoint(path, **{"activation": "relu", **given})
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "no.ckpt"
    refused(path, f"Expected a checkpoint, got {re.escape(str(path))}, where no file is; check the path.")


def test_a_file_that_is_cut_short(file, tmp_path):
    whole = file.read_bytes()
    for part in (0.02, 0.5, 0.999):
        cut = tmp_path / "cut.ckpt"
        cut.write_bytes(whole[: int(part * len(whole))])
        refused(cut, "Expected a whole checkpoint, got .*cut.ckpt, which is cut short or damaged; copy .* again.")


def test_a_byte_that_fell_over(file, tmp_path):
    whole = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        # Of a weight that is read: the first one of the stem.
        name = next(name for name in archive.namelist() if name.endswith("/data/0"))
        whole[archive.getinfo(name).header_offset + 300] ^= 1
    (tmp_path / "fell.ckpt").write_bytes(whole)
    refused(
        tmp_path / "fell.ckpt", "Expected a whole checkpoint, got .*, which is cut short or damaged; copy .* again."
    )


def test_the_format_from_before_the_zip(tmp_path):
    torch.save({"state_dict": {}}, tmp_path / "old.ckpt", _use_new_zipfile_serialization=False)
    refused(tmp_path / "old.ckpt", "Expected a checkpoint in PyTorch's zip format, got .*; if PyTorch before 1.6 .*")


def test_a_zip_file_of_other_things(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.ckpt", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refused(tmp_path / "other.ckpt", "Expected a file that torch.save wrote, got .*, a zip file of other things.")


@pytest.mark.parametrize("stored", [{"model": {}}, [1, 2], argparse.Namespace(state_dict={}), {"state_dict": 3}])
def test_no_weights(stored, tmp_path):
    torch.save(stored, tmp_path / "none.ckpt")
    refused(tmp_path / "none.ckpt", "Expected a checkpoint with a state_dict, got .*, which has none; .*")


def test_no_backbone(tmp_path):
    torch.save({"state_dict": {"model.weight": torch.rand(2)}}, tmp_path / "none.ckpt")
    refused(tmp_path / "none.ckpt", "Expected a checkpoint with a backbone, got .*, which has none; .*")


@pytest.mark.parametrize(
    ("name", "tensor", "problem"),
    [
        ("layer3.1.bn2.running_var", None, "missing: layer3.1.bn2.running_var"),
        ("fc.weight", torch.rand(10, 512), "unknown: fc.weight"),
        (
            *("layer1.0.conv1.weight", torch.rand(48, 64, 3, 3)),
            r"of another shape: layer1.0.conv1.weight \(48, 64, 3, 3\) for \(64, 64, 3, 3\)",
        ),
    ],
)
def test_what_differs_from_the_nearest_resnet_is_named(name, tensor, problem, method, tmp_path):
    state = method.state_dict() | {f"backbone.{name}": tensor}
    torch.save({"state_dict": {k: v for k, v in state.items() if v is not None}}, tmp_path / "other.ckpt")
    refused(tmp_path / "other.ckpt", f"Expected the backbone in .* to hold this model's weights, got {problem}; .*")


@pytest.mark.parametrize(
    ("projector", "message"),
    [
        ({}, "Expected a projector of linear layers with ReLU between, as SimCLR has, in .*, got none; .*"),
        (
            nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6)).state_dict(),
            r"Expected a projector .*, got one of 9 tensors \(projector.0.weight, .* …\); .*",
        ),
        (nn.Linear(12, 6).state_dict(), "Expected a projector .*, got one of 2 tensors .*"),
        (nn.Sequential(nn.Linear(12, 8, bias=False), nn.ReLU()).state_dict(), "Expected a projector .* 1 tensors .*"),
        (
            nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(9, 6)).state_dict(),
            r"Expected the projector in .*, got of another shape: 2.weight \(6, 9\) for \(6, 8\); .*",
        ),
        (
            # A layer between them would take 160 GB: refused before it is built.
            {
                f"{i}.{what}": torch.rand(200_000, *more)
                for i in (0, 2)
                for what, more in (("weight", [1]), ("bias", []))
            },
            r"Expected the projector in .*, got of another shape: 2.weight \(200000, 1\) for \(200000, 200000\); .*",
        ),
    ],
    ids=["none", "batch norm", "one layer by another name", "no bias", "layers that don't fit", "made-up widths"],
)
def test_a_projector_that_ours_is_not(projector, message, tmp_path):
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 12))
    state = {f"backbone.{name}": tensor for name, tensor in backbone.state_dict().items()}
    state |= {f"projector.{name}": tensor for name, tensor in projector.items()}
    torch.save({"state_dict": state}, tmp_path / "other.ckpt")
    refused(tmp_path / "other.ckpt", message, backbone=backbone, image_size=8)


def test_a_mean_without_a_deviation(file):
    refused(file, "Expected std to be given if and only if mean is, got None.", mean=(0.5, 0.5, 0.5))
