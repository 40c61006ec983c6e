"""A model through a file: bit for bit the same, whole or not there, and a plain word where it is neither."""

import errno
import json
import re
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from nonneg._errors import UserError
from nonneg.models import Model, ModelSettings, load, save


@pytest.fixture
def model():
    """Small, and with something in the statistics of its batch norm."""
    model = Model(ModelSettings(projector=(8, 5), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), activation="softplus"))
    for _ in range(2):
        model(torch.rand(4, 3, 16, 16))
    return model


@pytest.fixture
def file(model, tmp_path):
    save(model, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def assert_same(loaded, model):
    assert loaded.settings == model.settings
    ours, theirs = loaded.state_dict(), model.state_dict()
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert ours[name].dtype == tensor.dtype, name
        # As bytes: NaN is NaN, and −0 is not 0.
        one, other = (t.contiguous().view(-1).view(torch.uint8) for t in (ours[name], tensor))
        assert torch.equal(one, other), name


def test_it_comes_back_bit_for_bit_and_ready_for_use(model, file):
    model.backbone.stem.weight.data[0, 0, 0] = torch.tensor([torch.nan, -0.0, torch.inf])
    save(model, file)
    loaded = load(file)
    assert_same(loaded, model)
    assert loaded.backbone.norm.num_batches_tracked == 2
    assert loaded.backbone.norm.running_mean.any()
    assert not any(module.training for module in loaded.modules())
    assert all(p.requires_grad for p in loaded.parameters())


def test_the_folder_of_a_run_and_words_for_a_path_do_as_well(model, file):
    assert_same(load(file.parent), model)
    assert_same(load(str(file)), model)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_every_tensor_keeps_its_type(dtype, model, tmp_path):
    model.projector.to(dtype)  # and the backbone stays
    save(model, tmp_path / "model.safetensors")
    assert_same(load(tmp_path), model)


def test_a_layout_in_memory_is_no_obstacle(model, tmp_path):
    model.to(memory_format=torch.channels_last)
    save(model, tmp_path / "model.safetensors")
    assert_same(load(tmp_path), model)


def tied():
    """Two layers of one weight, which safetensors by itself refuses."""
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(192, 192), nn.Linear(192, 192))
    backbone[2].weight = backbone[1].weight
    return backbone


def test_a_backbone_of_ones_own_is_given_again(tmp_path):
    model = Model(ModelSettings(backbone="custom", image_size=8, projector=(4,)), tied())
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path, backbone=tied())
    assert_same(loaded, model)
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(loaded(x), model.eval()(x))
    with pytest.raises(UserError, match=r"^Expected a module with the backbone 'custom', got none; "):
        load(tmp_path)
    with pytest.raises(
        UserError, match=f"^Expected {tmp_path}.* missing: backbone.3.weight, backbone.3.bias; unknown: "
    ):
        load(tmp_path, backbone=nn.Sequential(nn.Flatten(), nn.Identity(), nn.Identity(), nn.Linear(192, 192)))


def test_saving_leaves_the_model_as_it_is(model, tmp_path):
    before = {name: (tensor.clone(), tensor.data_ptr()) for name, tensor in model.state_dict().items()}
    save(model, tmp_path / "model.safetensors")
    assert model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name][0])
        assert tensor.data_ptr() == before[name][1]


def test_the_settings_can_be_read_without_us(model, file):
    with safe_open(file, framework="pt") as stored:
        header = json.loads(stored.metadata()["nonneg"])
    assert header == {"format": 1, "settings": model.settings.model_dump(mode="json")}


# Whole or not there


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), (UserError, "Expected room on the disk for ")),
        (OSError(errno.EIO, "Input/output error"), (OSError, "Input/output error")),
        (KeyboardInterrupt("stop"), (KeyboardInterrupt, "stop")),
    ],
    ids=["full", "broken", "interrupted"],
)
@pytest.mark.parametrize("there_before", [True, False])
def test_a_write_that_fails_half_way_leaves_what_was_there(
    there_before, failure, told, model, file, tmp_path, monkeypatch
):
    whole = file.read_bytes()
    if not there_before:
        file.unlink()
    seen = []

    def half(path, data):
        with path.open("wb") as part:
            part.write(data[: len(data) // 2])
        seen.append(path)
        raise failure

    monkeypatch.setattr(Path, "write_bytes", half)
    nn.init.zeros_(model.projector[0].weight)
    with pytest.raises(told[0], match=told[1]):
        save(model, file)
    assert seen and seen != [file]
    assert list(tmp_path.iterdir()) == [file] * there_before
    if there_before:
        assert file.read_bytes() == whole


# Refused: one line each


def refused(where, message):
    with pytest.raises(UserError, match=f"^{message}$") as caught:
        load(where)
    assert "\n" not in str(caught.value)


def rewritten(file, header=None, **changes):
    """The same file with other tensors (None: without) and another header."""
    with safe_open(file, framework="pt") as stored:
        metadata = stored.metadata()
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (it is no dict)
    tensors = {name: tensor for name, tensor in (tensors | changes).items() if tensor is not None}
    save_file(tensors, file, metadata if header is None else {"nonneg": header})


def test_a_path_to_nothing(tmp_path):
    refused(tmp_path / "no", "Expected a run's folder or a .safetensors file, got .*, where nothing is.")


def test_a_folder_without_a_model(tmp_path):
    refused(tmp_path, "Expected a run's folder, got .*, which holds no model.safetensors; check the path.")


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.9999])
def test_a_file_that_is_cut_short(part, file):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part * len(whole))])
    refused(file, "Expected a whole safetensors file, got .*; save the model again.")


def test_a_file_of_another_kind(tmp_path):
    torch.save({"state_dict": {}}, tmp_path / "last.ckpt")
    refused(tmp_path / "last.ckpt", "Expected a whole safetensors file, got .*; save the model again.")


def test_a_safetensors_file_of_someone_else(tmp_path):
    save_file({"weight": torch.rand(2)}, tmp_path / "theirs.safetensors", {"format": "pt"})
    refused(
        tmp_path / "theirs.safetensors",
        "Expected a model saved by nonneg, got .*, whose header doesn't say which model it is; build the model .*",
    )


@pytest.mark.parametrize("header", ["{", "[]", "3", '{"format": 1}', '{"format": "new", "settings": {}}', "null"])
def test_a_header_that_says_nothing(header, file):
    rewritten(file, header)
    refused(file, f"Expected a format and settings in the header of .*, got {re.escape(repr(header))}.")


def test_a_newer_format(file):
    rewritten(file, json.dumps({"format": 2, "settings": {"hyperbolic": True}}))
    refused(file, "Expected a model of format 1, the newest that this nonneg knows, got 2 in .*; upgrade nonneg.")


def test_settings_of_another_version(file):
    rewritten(file, json.dumps({"format": 1, "settings": {"hyperbolic": True}}))
    with pytest.raises(UserError, match="'hyperbolic'"):
        load(file)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"projector.2.bias": None}, "missing: projector.2.bias"),
        ({"projector.4.bias": torch.rand(5)}, "unknown: projector.4.bias"),
        ({"projector.2.bias": torch.rand(6)}, r"of another shape: projector.2.bias \(6,\) for \(5,\)"),
        ({"mean": None}, "missing: mean"),
    ],
    ids=["missing", "unknown", "another shape", "missing mean"],
)
def test_weights_that_are_not_this_models(changes, problem, file):
    rewritten(file, **changes)
    refused(file, f"Expected .* to hold this model's weights, got {problem}; check its settings or its backbone.")
