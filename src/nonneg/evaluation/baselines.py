"""What else could have been done with the same samples: other features of as many dimensions as z, measured as z is.

Each is fitted on the training part alone. h is what the encoder gives; the pictures' own pixels show what needs none.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from sklearn.decomposition import PCA, MiniBatchNMF, non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor
from torch.nn import functional as F

from nonneg import _seeds, metrics
from nonneg.data import Images, Split
from nonneg.evaluation import knn, properties, retrieval
from nonneg.evaluation.features import Features, Progress
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.sparse_autoencoder import sparse_codes
from nonneg.evaluation.subject import Subject

__all__ = ["OF_H", "OF_PIXELS", "measure", "measurements", "nmf", "pca", "random_relu", "raw", "sae"]

# What a sparse autoencoder leaves on: a sixteenth, so that 94% are zero, as of NCL's features more than 90% are.
_ON = 16
# Of NMF: how many samples and steps fit the parts, and how often all codes are gone through.
_BATCH = 1024
_STEPS = 200
_ROUNDS = 20

Pair = tuple[Float[Tensor, "n k"], Float[Tensor, "m k"]]
# Of x, x_test, the wanted number of dimensions and a seed: other features of both.
Method = Callable[[Tensor, Tensor, int, int], Pair]


def raw(x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, seed: int = 0) -> Pair:
    """As they are, whatever d."""
    return x, x_test


def pca(x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, seed: int = 0) -> Pair:
    """(x − mean)Vᵀ with V the d first principal directions, or all there are if fewer.

    >>> x = torch.tensor([[0.0, 1.0], [4.0, 1.0]])
    >>> pca(x, x[:1], d=1)[0].abs()
    tensor([[2.], [2.]])
    """
    if (x == x[0]).all():
        return torch.zeros_like(x), torch.zeros_like(x_test)
    fitted = PCA(min(d, *x.shape), random_state=_seeds.seed_of(seed, "pca") % 2**32).fit(x.numpy())
    return torch.from_numpy(fitted.transform(x.numpy())), torch.from_numpy(fitted.transform(x_test.numpy()))


def nmf(x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, seed: int = 0) -> Pair:
    """argmin over W ≥ 0 of ‖x − WH‖², H ≥ 0 of d unit rows (or as many as x has columns or rows) by mini-batch NMF.

    A column that is negative somewhere in training is shifted up by its minimum there; what is below that is 0. W is
    found by coordinate descent: the multiplicative updates that fit H never reach a zero.

    >>> x = torch.eye(2).repeat(8, 1)
    >>> nmf(x, x[:2], d=2)[1].round()
    tensor([[1., 0.],
            [0., 1.]])
    """
    lowest = x.amin(0).clamp_max(0)
    x, x_test = ((part - lowest).clamp_min(0) for part in (x, x_test))
    if not x.any():
        return x, torch.zeros_like(x_test)
    state = _seeds.seed_of(seed, "nmf") % 2**32
    with warnings.catch_warnings():
        # To be near the minimum will do, as it does for the other methods.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = MiniBatchNMF(
            min(d, *x.shape),
            init="nndsvda",
            batch_size=_BATCH,
            max_iter=math.ceil(_STEPS / math.ceil(len(x) / _BATCH)),
            random_state=state,
        ).fit(x.numpy())
        parts = F.normalize(torch.from_numpy(fitted.components_).to(x), dim=1).numpy()
        codes = [
            non_negative_factorization(
                part.numpy(), H=parts, n_components=len(parts), update_H=False, tol=1e-3, max_iter=_ROUNDS
            )[0]
            for part in (x, x_test)
        ]
    return torch.from_numpy(codes[0]), torch.from_numpy(codes[1])


def sae(x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, seed: int = 0) -> Pair:
    """Codes of a sparse autoencoder of width d of which a sixteenth is on."""
    return sparse_codes(x, x_test, d, max(1, d // _ON), seed)


def random_relu(x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, seed: int = 0) -> Pair:
    """ReLU(xG) with G of independent normal numbers of variance 1/w: a ReLU that nothing was trained for."""
    draw = torch.randn(x.shape[1], d, generator=_seeds.generator(seed, "random projection")).to(x)
    draw /= x.shape[1] ** 0.5
    return F.relu(x @ draw), F.relu(x_test @ draw)


OF_H: dict[str, Method] = {"raw_h": raw, "pca_h": pca, "nmf_h": nmf, "sae_h": sae, "random_h": random_relu}
OF_PIXELS: dict[str, Method] = {"pca_pixels": pca, "nmf_pixels": nmf}


def measurements(train: Features, test: Features, seed: int = 0) -> dict[str, Result]:
    """Of z of the two parts, as a run's own z is measured: probe, k-NN, retrieval, consistency, other properties.

    Where no dimension of the test part is alive there are none; where labels are missing, only what needs none.
    """
    if not metrics.alive(test.z):
        return {}
    subject = Subject("", train, test, seed=seed)
    found = {}
    if subject.labelled:
        y, y_test = subject.labels()
        found["probe"] = mean_of(fit_probe(train.z, y, seed=seed).correct(test.z, y_test), seed)
        nearest = metrics.knn_predict(train.z, y, test.z, k=min(knn.NEIGHBOURS, len(y)))
        found["knn"] = mean_of(nearest == y_test, seed)
    return found | retrieval.measure(subject, _quiet) | properties.measure(subject, _quiet)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """`measurements` of each method's features, as "nmf_h/consistency"; of pixels, for pictures in memory only."""
    d, seed = subject.train.z.shape[1], subject.seed
    jobs = [(name, method, (subject.train.h, subject.test.h)) for name, method in OF_H.items()]
    pixels = _pixels(subject)
    if pixels is not None:
        jobs += [(name, method, pixels) for name, method in OF_PIXELS.items()]
    found: dict[str, Result] = {}
    for done, (name, method, (x, x_test)) in enumerate(jobs, 1):
        z, z_test = method(x, x_test, d, seed)
        numbers = measurements(replace(subject.train, z=z), replace(subject.test, z=z_test), seed)
        found |= {f"{name}/{key}": number for key, number in numbers.items()}
        progress(done, len(jobs))
    return found


def _pixels(subject: Subject) -> Pair | None:
    """In [0, 1], a row a picture, of the samples that there are features of."""
    if subject.source is None:
        return None
    data = subject.source.data

    def rows(split: Split, of: Features) -> Tensor | None:
        return split.pixels[of.numbers].flatten(1).float() / 255 if isinstance(split, Images) else None

    train, test = rows(data.train, subject.train), rows(data.evaluated(), subject.test)
    return None if train is None or test is None else (train, test)


def _quiet(done: int, of: int) -> None:
    """What takes a moment tells of no progress."""
