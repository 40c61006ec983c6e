"""SEPIN: what does a dimension tell that the others don't?"""

import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features
from nonneg._rows import unit_rows
from nonneg.metrics._rows import ACTIVE, pieces

__all__ = ["sepin", "sepin_scores"]


def sepin(
    z1: Features, z2: Features, k: Sequence[int] = (1, 10, 100), temperature: float = 0.2
) -> dict[int | str, float]:
    """SEPIN@k, the mean of the k largest of `sepin_scores`, and that of all, in nats (Do and Tran, ICLR 2020).

    Papers print it ×100.

    >>> import torch
    >>> z = torch.eye(4)[[0, 1, 2, 0, 1, 2]]
    >>> {key: round(value, 4) for key, value in sepin(z, z, k=(1, 3)).items()}  # the fourth column is dead
    {1: 0.4272, 3: 0.4272, 'all': 0.3204}
    """
    scores = sepin_scores(z1, z2, temperature)
    for count in k:
        _checks.dimensions(count, len(scores), "k")
    sorted_scores = scores.sort(descending=True).values
    result: dict[int | str, float] = {count: float(sorted_scores[:count].mean()) for count in k}
    return result | {"all": float(scores.mean())}


def sepin_scores(z1: Features, z2: Features, temperature: float = 0.2) -> Float[Tensor, " d"]:
    """I(x; z_i given the rest) of every dimension, as L(Z without column i) − L(Z), L the InfoNCE of two views.

    Rows are scaled to length 1 again without the column. Inactive entries (at most 1e-5 of a row's length) count as
    zero, and removing a column changes only the rows that use it: the work is that of the active entries, each against
    all rows.

    >>> import torch
    >>> sepin_scores(torch.eye(3), torch.eye(3))
    tensor([0.5276, 0.5276, 0.5276], dtype=torch.float64)
    """
    first, second = _arrays.features(z1, "z1"), _arrays.features(z2, "z2")
    _checks.same_shape(first, second)
    _checks.at_least_two(len(first))
    _checks.temperature(temperature)
    u = _active_unit_rows(torch.cat([first, second]))
    bits = 1 / (temperature * math.log(2))  # a cosine is worth so many bits of similarity
    change = _change_of_sums(u, bits) - 2 * _change_of_positives(u, bits)
    return (change * math.log(2) / len(u)).to(first.device)


def _active_unit_rows(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    z = z.cpu() if z.device.type == "mps" else z  # which has no float64
    u = unit_rows(z.double())
    return unit_rows(u.where(u.abs() > ACTIVE, 0.0))


def _change_of_positives(u: Float[Tensor, "n d"], bits: float) -> Float[Tensor, " d"]:
    """Σ over pairs of the change of their similarity, in bits, when a column goes."""
    first, second = u.chunk(2)
    change = u.new_zeros(u.shape[1])
    for rows in pieces(*first.shape):
        a, b = first[rows], second[rows]
        together = torch.linalg.vecdot(a, b)[:, None]
        without = (together - a * b) * _rescale(a) * _rescale(b)
        change += (without - together).sum(0)
    return bits * change


def _change_of_sums(u: Float[Tensor, "n d"], bits: float) -> Float[Tensor, " d"]:
    """Σ over rows of the change of log₂ Σ_{j≠i} 2^s_ij when a column goes."""
    samples, dimensions = u.shape
    # Where a row is nearly one entry, what is left without it is a small difference, which float32 doesn't have.
    exact = torch.float32 if u.abs().max() < 0.95 and bits < 30 else torch.float64
    wide = torch.float32 if bits < 60 else torch.float64  # 2^±bits, summed
    columns = list(_columns(u.T.contiguous()))
    used = (u != 0).T.to(wide)
    change = u.new_zeros(dimensions)
    sums = u.new_empty(samples)
    sums_without = [value.new_zeros(len(value)) for _, value, _ in columns]
    u_exact = u.to(exact)
    for tile in pieces(samples, samples // 2):
        similarity = (u_exact * bits) @ u_exact[tile].T  # (n, m), bits
        power = torch.exp2(similarity.to(wide))
        power.diagonal(-tile.start).zero_()
        sums[tile] = power.sum(0)
        from_users = used @ power  # (d, m): what each column's users add to a row's sum
        for i, (row, value, scale) in enumerate(columns):
            own = slice(*torch.searchsorted(row, row.new_tensor([tile.start, tile.stop])).tolist())
            inside = row[own] - tile.start
            without = _without(similarity, bits, row, value, scale, own, inside).to(wide).exp2_()
            without[torch.arange(own.start, own.stop, device=row.device), inside] = 0.0
            sums_without[i] += without.sum(1)
            growth = ((without.sum(0) - from_users[i]) / sums[tile]).log1p_()
            growth[inside] = 0.0  # the users' own change comes of their whole sums, below
            change[i] += growth.sum()
    change /= math.log(2)
    for i, (row, _, _) in enumerate(columns):
        change[i] += (sums_without[i] / sums[row]).log2_().sum()
    return change


def _without(
    similarity: Float[Tensor, "n m"],
    bits: float,
    row: Int[Tensor, " k"],
    value: Float[Tensor, " k"],
    scale: Float[Tensor, " k"],
    own: slice,
    inside: Int[Tensor, " l"],
) -> Float[Tensor, "k m"]:
    """The similarity of a column's users to the tile's rows when the column is gone: (s_ab − u_a·u_b) / (ρ_a·ρ_b)."""
    value, scale = value.to(similarity), scale.to(similarity)
    without = similarity.index_select(0, row).mul_(scale[:, None])
    where = slice(None) if len(inside) == similarity.shape[1] else inside
    users = without[:, where] * scale[own]
    without[:, where] = users.addr_(value * scale, value[own] * scale[own], alpha=-bits)
    return without


def _columns(transposed: Float[Tensor, "d n"]) -> Iterable[tuple[Tensor, Tensor, Tensor]]:
    """For each dimension: the rows that use it, their values, and what scales each to length 1 without it."""
    for column in transposed:
        row = column.nonzero().squeeze(1)
        value = column[row]
        yield row, value, _rescale(value)


def _rescale(value: Tensor) -> Tensor:
    """1/√(1 − u²), 0 where nothing is left of the row."""
    rest = 1 - value.square()
    return torch.where(rest > 0.5 * ACTIVE**2, rest.clamp_min(ACTIVE**2 / 2).rsqrt(), 0.0)
