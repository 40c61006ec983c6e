"""k-NN accuracy: can the class be read off the nearest training samples?"""

import torch
from jaxtyping import Int
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features, Labels, TestFeatures, TestLabels
from nonneg._rows import unit_rows
from nonneg.metrics._rows import pieces

__all__ = ["knn_accuracy", "knn_predict"]


def knn_accuracy(
    z_train: Features, y_train: Labels, z_test: TestFeatures, y_test: TestLabels, k: int = 20, temperature: float = 0.07
) -> float:
    """Share of test samples whose class is that of the k training samples nearest by cosine, voting with exp(s/τ).

    The protocol of Wu et al. (CVPR 2018), with DINO's and solo-learn's k and τ.

    >>> import torch
    >>> knn_accuracy(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[2.0, 1.0]]), torch.tensor([0]), k=1)
    1.0
    """
    predicted = knn_predict(z_train, y_train, z_test, k, temperature)
    y_test = _arrays.labels(y_test, predicted, "test labels")
    return float((predicted == y_test).double().mean())


def knn_predict(
    z_train: Features, y_train: Labels, z_test: TestFeatures, k: int = 20, temperature: float = 0.07
) -> Int[Tensor, " m"]:
    """The class that each test sample's neighbours vote for.

    >>> import torch
    >>> knn_predict(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[2.0, 1.0], [0.0, 1.0]]), k=2)
    tensor([0, 1])
    """
    train = _arrays.features(z_train, "training features")
    y_train = _arrays.labels(y_train, train, "training labels")
    test = _arrays.features(z_test, "test features").to(train)
    _checks.width(test, train.shape[1])
    _checks.neighbours(k, len(train), "training samples")
    _checks.temperature(temperature)
    train = unit_rows(train)
    classes = int(y_train.max()) + 1
    predictions = []
    for rows in pieces(len(test), len(train)):
        nearest = (unit_rows(test[rows]) @ train.T).topk(k)
        weights = ((nearest.values - nearest.values[:, :1]) / temperature).exp()
        votes = weights.new_zeros(len(weights), classes).scatter_add_(1, y_train[nearest.indices], weights)
        predictions.append(votes.argmax(1))
    return torch.cat(predictions)
