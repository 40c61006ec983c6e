"""What torch holds in memory while something runs."""

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Alive(TorchDispatchMode):
    """Watches every result of every operation, forward and backward: the largest one, and the most alive at once.

    `largest` counts elements, `peak` bytes; what was there before is not counted.
    """

    def __init__(self):
        super().__init__()
        self.largest = 0
        self.peak = 0
        self._storages = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        old = {x.untyped_storage()._cdata for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        for result in tree_leaves(results):
            storage = result.untyped_storage() if isinstance(result, Tensor) else None
            if storage is not None and storage._cdata not in old:
                self.largest = max(self.largest, result.numel())
                self._storages[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self._storages = {key: held for key, held in self._storages.items() if not held[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._storages.values()))
        return results
