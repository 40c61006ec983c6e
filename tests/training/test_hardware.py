"""What a run computes on and in, and that Lightning says nothing of its own."""

import logging
import warnings

import pytest
import torch

from nonneg import training
from nonneg._errors import UserError
from nonneg.training import hardware
from nonneg.training.recipe import HardwareSettings
from tests.training import tiny

PRECISIONS = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def on_cpu(**settings):
    return hardware.build_fabric(HardwareSettings(accelerator="cpu", **settings))


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_precision_is_what_is_computed_in(name):
    fabric = on_cpu(precision=name)
    assert hardware.precision_name(fabric) == name
    hardware.prepare(fabric, HardwareSettings())
    layer = fabric.setup(torch.nn.Linear(2, 2))
    inner = []
    layer.module.register_forward_hook(lambda module, given, made: inner.append(made.dtype))
    layer(torch.ones(1, 2))
    assert inner == [PRECISIONS[name]]
    # bfloat16 is autocast: weights stay as they are
    assert layer.weight.dtype == (torch.float64 if name == "float64" else torch.float32)


@pytest.mark.parametrize("native", [True, False])
def test_auto_is_bfloat16_where_it_is_native_and_else_float32(native, monkeypatch):
    monkeypatch.setattr(hardware, "has_bfloat16", lambda device_type: native)
    assert hardware.precision_name(on_cpu(precision="auto")) == ("bfloat16" if native else "float32")
    assert hardware.precision_name(on_cpu(precision="float32")) == "float32"


@pytest.mark.parametrize(
    ("capability", "can", "expected"),
    [
        ("AVX512", {"avx512_bf16": True}, True),
        ("AVX512", {"amx_bf16": True, "avx512_bf16": False}, True),
        ("AVX512", {"avx512_f": True}, False),
        ("AVX2", {"avx512_bf16": True}, False),  # torch was told to do without
        ("NEON", {}, False),
    ],
)
def test_bfloat16_on_a_cpu_is_a_matter_of_its_instructions(capability, can, expected, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can)
    assert hardware.has_bfloat16("cpu") is expected


@pytest.mark.parametrize("supported", [True, False])
def test_bfloat16_on_a_gpu_is_not_the_emulated_one(supported, monkeypatch):
    asked = []
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: asked.append(including_emulation) or supported
    )
    assert hardware.has_bfloat16("cuda") is supported
    assert asked == [False]
    assert hardware.has_bfloat16("mps") is False


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_gpu_that_is_not_there_is_refused_in_a_line(tmp_path):
    with pytest.raises(UserError) as caught:
        training.train(
            tiny.custom(hardware={"accelerator": "cuda"}), tmp_path / "run", data=tiny.data(), backbone=tiny.backbone()
        )
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(
        "Expected hardware that is here, got accelerator cuda, devices 1 and nodes 1, of which Lightning says: "
    )
    assert list(tmp_path.iterdir()) == []


def test_a_single_process_meets_nobody():
    fabric = on_cpu()
    assert (fabric.world_size, fabric.global_rank, fabric.device.type) == (1, 0, "cpu")


@pytest.mark.parametrize("settings", [{}, {"devices": 1, "nodes": 1}, {"devices": 4}])
def test_under_torchrun_processes_are_those_that_it_began(settings, monkeypatch):
    """Also when a run goes on, whose recipe says what it began with."""
    told = {"TORCHELASTIC_RUN_ID": "x", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "6"}
    for key, value in told.items():
        monkeypatch.setenv(key, value)
    assert hardware._processes(HardwareSettings(**settings)) == (2, 3)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert hardware._processes(HardwareSettings(**settings)) == (settings.get("devices", 1), 1)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float64", "float16"])
def test_nothing_is_announced(precision, tmp_path, capfd):
    heard = []
    listener = logging.Handler()
    listener.emit = heard.append
    logging.root.addHandler(listener)
    level = logging.root.level
    logging.root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            training.train(
                tiny.custom(epochs=1, hardware={"precision": precision}),
                tmp_path / "run",
                data=tiny.data(),
                backbone=tiny.backbone(),
            )
    finally:
        logging.root.removeHandler(listener)
        logging.root.setLevel(level)
    assert [record for record in heard if record.name.startswith(("lightning", "torch"))] == []
    assert [str(w.message) for w in warned] == []
    assert capfd.readouterr() == ("", "")
    assert logging.root.manager.disable == 0  # who logs afterwards is heard


def test_settings_after_another_run_are_not_that_runs(tmp_path):
    """float64 doesn't stay behind as everybody's default."""
    training.train(
        tiny.custom(epochs=1, hardware={"precision": "float64"}),
        tmp_path / "run",
        data=tiny.data(),
        backbone=tiny.backbone(),
    )
    assert torch.get_default_dtype() == torch.float32
