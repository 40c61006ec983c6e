"""Pictures to learn from: data sets by name or path, views of them, and batches.

load       a data set by name (fashion-small, digits, mnist, cifar10 …), folder:PATH or npz:PATH
DataSet    a training part, a test part and class names; a part is `Images` (in memory) or `Files`
views      random crops, flips, colours and blurs in batches, on the device, seeded
Batches    what a step of training gets: this process's share of every batch, the same however many processes
evaluation_batches   pictures in order, as a model sees them when it is measured
read_npz   the arrays of an array file
"""

from nonneg.data import views
from nonneg.data.arrays import read_npz
from nonneg.data.batches import Batch, Batches, evaluation_batches
from nonneg.data.datasets import DataSet, Files, Images, Split
from nonneg.data.load import load
from nonneg.data.named import NAMES

__all__ = [
    "NAMES",
    "Batch",
    "Batches",
    "DataSet",
    "Files",
    "Images",
    "Split",
    "evaluation_batches",
    "load",
    "read_npz",
    "views",
]
