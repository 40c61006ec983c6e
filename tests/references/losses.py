"""The losses as slow, obvious formulas: a loop over the rows, in float64, one loss a row, through autograd."""

import torch


def unit(row):
    return row / row.norm() if row.any() else row * 0


def similarities(rows, others, normalize=True):
    if normalize:
        rows, others = [unit(row) for row in rows], [unit(row) for row in others]
    return torch.stack([torch.stack([row @ other for other in others]) for row in rows])


def infonce(z1, z2, temperature=0.2, normalize=True):
    """−log exp(s_ip/τ) / Σ_{j≠i} exp(s_ij/τ), p the other view of i."""
    n = len(z1)
    rows = torch.cat([z1, z2])
    s = similarities(rows, rows, normalize) / temperature
    losses = []
    for i in range(2 * n):
        others = torch.stack([s[i, j] for j in range(2 * n) if j != i])
        losses.append(torch.logsumexp(others, 0) - s[i, (i + n) % (2 * n)])
    return torch.stack(losses)


def supervised_infonce(z, y, temperature=0.2, normalize=True):
    """−1/|P_i| Σ_{p∈P_i} log exp(s_ip/τ) / Σ_{j≠i} exp(s_ij/τ), P_i the others of i's class; 0 if there are none."""
    n = len(z)
    s = similarities(z, z, normalize) / temperature
    losses = []
    for i in range(n):
        others = torch.logsumexp(torch.stack([s[i, j] for j in range(n) if j != i]), 0)
        positives = [others - s[i, p] for p in range(n) if p != i and y[p] == y[i]]
        losses.append(torch.stack(positives).mean() if positives else 0 * others)
    return torch.stack(losses)


def clip(image, text, temperature=0.07):
    """−log softmax_j(s_ij/τ)_i of every image, then −log softmax_j(s_ji/τ)_i of every text."""
    s = similarities(image, text) / temperature
    to_text = [torch.logsumexp(s[i], 0) - s[i, i] for i in range(len(s))]
    to_image = [torch.logsumexp(s[:, i], 0) - s[i, i] for i in range(len(s))]
    return torch.stack(to_text + to_image)


def spectral(z1, z2):
    """−2·f(x)·f(x⁺) + mean over x⁻ of (f(x)·f(x⁻))², x⁻ every view of every other sample."""
    n = len(z1)
    rows = torch.cat([z1, z2])
    s = similarities(rows, rows, normalize=False)
    losses = []
    for i in range(2 * n):
        negatives = [s[i, j] ** 2 for j in range(2 * n) if j % n != i % n]
        losses.append(-2 * s[i, (i + n) % (2 * n)] + torch.stack(negatives).mean())
    return torch.stack(losses)


def non_neg_cross_entropy(f, y, weight):
    """−log exp(f·w_y) / Σ_c exp(f·w_c), f and w as they come."""
    losses = []
    for row, label in zip(f, y, strict=True):
        scores = torch.stack([row @ w for w in weight])
        losses.append(torch.logsumexp(scores, 0) - scores[label])
    return torch.stack(losses)
