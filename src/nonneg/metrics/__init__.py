"""Measurements of features, a measurement a file: functions of a tensor or array that return Python floats.

sparsity           share of a sample's entries that are off          `sparsity_each`: sample by sample
alive              how many dimensions some sample switches on
class_consistency  does a dimension that is on stand for one class?  `class_profile`: which, dimension by dimension
correlation        how alike are two dimensions?                     `correlation_matrix`: all pairs
effective_rank     how many directions are used?
sepin              what does a dimension tell that the others don't? `sepin_scores`: dimension by dimension
retrieval          are the nearest others of the same class?         `retrieval_each`: sample by sample
knn_accuracy       can the class be read off the nearest?            `knn_predict`: the classes read

Each has a torchmetrics class of its CamelCase name, in `accumulating`, for batches and processes.
"""

from typing import TYPE_CHECKING

from nonneg import _lazy
from nonneg.metrics.alive import alive
from nonneg.metrics.class_consistency import ClassProfile, class_consistency, class_profile
from nonneg.metrics.correlation import correlation, correlation_matrix
from nonneg.metrics.effective_rank import effective_rank
from nonneg.metrics.knn_accuracy import knn_accuracy, knn_predict
from nonneg.metrics.retrieval import retrieval, retrieval_each
from nonneg.metrics.sepin import sepin, sepin_scores
from nonneg.metrics.sparsity import sparsity, sparsity_each

if TYPE_CHECKING:
    from nonneg.metrics.accumulating import (
        Alive,
        ClassConsistency,
        Correlation,
        EffectiveRank,
        KnnAccuracy,
        Retrieval,
        Sepin,
        Sparsity,
    )

__all__ = [
    "Alive",
    "ClassConsistency",
    "ClassProfile",
    "Correlation",
    "EffectiveRank",
    "KnnAccuracy",
    "Retrieval",
    "Sepin",
    "Sparsity",
    "alive",
    "class_consistency",
    "class_profile",
    "correlation",
    "correlation_matrix",
    "effective_rank",
    "knn_accuracy",
    "knn_predict",
    "retrieval",
    "retrieval_each",
    "sepin",
    "sepin_scores",
    "sparsity",
    "sparsity_each",
]

_CLASSES = (
    "Alive",
    "ClassConsistency",
    "Correlation",
    "EffectiveRank",
    "KnnAccuracy",
    "Retrieval",
    "Sepin",
    "Sparsity",
)

__getattr__ = _lazy.loader(__name__, names=dict.fromkeys(_CLASSES, "accumulating"))
