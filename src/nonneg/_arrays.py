"""Tensors and numpy arrays alike, checked and in full precision."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _checks

Features = Float[Tensor, "n d"] | Float[np.ndarray, "n d"]
Labels = Int[Tensor, " n"] | Int[np.ndarray, " n"]
TestFeatures = Float[Tensor, "m d"] | Float[np.ndarray, "m d"]
TestLabels = Int[Tensor, " m"] | Int[np.ndarray, " m"]


def features(z: Tensor | np.ndarray, name: str = "features") -> Float[Tensor, "n d"]:
    """A finite matrix of floats without gradient, half precision made float32, on the device where it was."""
    tensor = _tensor(z)
    _checks.float_matrix(tensor, name)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    _checks.finite(tensor, name)
    return tensor


def labels(y: Tensor | np.ndarray, z: Tensor, name: str = "labels") -> Int[Tensor, " n"]:
    """Class numbers from 0, one a row of `z`, on its device."""
    tensor = _tensor(y)
    _checks.labels(tensor.cpu(), len(z), name)
    return tensor.to(z.device, torch.int64)


def _tensor(array: Tensor | np.ndarray) -> Tensor:
    return array.detach() if isinstance(array, Tensor) else torch.as_tensor(np.asarray(array))
