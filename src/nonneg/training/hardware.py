"""What a run runs on: devices, processes and precision, by Lightning Fabric."""

import atexit
import gc
import os
from typing import Literal

import torch
from lightning.fabric import Fabric

from nonneg._errors import UserError
from nonneg._quiet import quiet
from nonneg.training.recipe import HardwareSettings

__all__ = ["build_fabric", "has_bfloat16", "precision_name", "prepare"]

_Lightnings = Literal["32-true", "64-true", "bf16-mixed", "16-mixed"]
_PRECISIONS: dict[str, _Lightnings] = {
    "float32": "32-true",
    "float64": "64-true",
    "bfloat16": "bf16-mixed",  # autocast: weights, sums and losses stay in float32
    "float16": "16-mixed",
}


def build_fabric(settings: HardwareSettings) -> Fabric:
    """Fabric on the recipe's devices. Further processes begin at its `launch`, unless torchrun or SLURM began them."""
    devices, nodes = _processes(settings)
    device_type = _device_type(settings)
    precision = settings.precision
    if precision == "auto":
        precision = "bfloat16" if has_bfloat16(device_type) else "float32"
    alone = devices == 1 and nodes == 1
    try:
        with quiet():
            return Fabric(
                accelerator=device_type,
                devices=devices,
                num_nodes=nodes,
                strategy="auto" if alone else "ddp",
                precision=_PRECISIONS[precision],
            )
    except (ValueError, RuntimeError) as error:  # both are Lightning's for what the machine doesn't have
        raise UserError(
            f"Expected hardware that is here, got accelerator {settings.accelerator}, devices {settings.devices} and "
            f"nodes {settings.nodes}, of which Lightning says: {' '.join(str(error).split())}"
        ) from error


def has_bfloat16(device_type: str) -> bool:
    """Whether bfloat16 is native there, not emulated."""
    if device_type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device_type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX512":
        can = torch.cpu.get_capabilities()
        return bool(can.get("avx512_bf16") or can.get("amx_bf16"))
    return False


def prepare(fabric: Fabric, settings: HardwareSettings) -> None:
    """What is set for the whole process before the model is made; the processes meet."""
    with quiet():
        fabric.launch()
    if fabric.world_size > 1:
        atexit.unregister(_part)
        atexit.register(_part)
    if fabric.device.type == "cuda":
        torch.backends.cudnn.benchmark = not settings.deterministic
        torch.use_deterministic_algorithms(settings.deterministic)


def precision_name(fabric: Fabric) -> str:
    """The recipe's word for what Fabric computes in."""
    chosen = fabric.strategy.precision.precision
    return next(ours for ours, lightnings in _PRECISIONS.items() if lightnings == chosen)


def _part() -> None:
    """Gloo's threads are ended before the interpreter: one that drops a tensor after it aborts the process."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
        gc.collect()  # the last run's module holds the group too, and is part of a cycle


def _device_type(settings: HardwareSettings) -> str:
    if settings.accelerator != "auto":
        return settings.accelerator
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _processes(settings: HardwareSettings) -> tuple[int | Literal["auto"], int]:
    """Devices of each machine, and machines. Under torchrun they are there already, whatever a recipe says."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        local = int(os.environ["LOCAL_WORLD_SIZE"])
        return local, int(os.environ["WORLD_SIZE"]) // local
    return settings.devices, settings.nodes
