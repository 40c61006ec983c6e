"""The measurements as slow, obvious loops over samples and dimensions, in float64 on numpy arrays."""

import math
from collections import Counter

import numpy as np


def unit_rows(z):
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    return np.divide(z, norms, out=np.zeros_like(z), where=norms > 0)


def active(z):
    return np.abs(unit_rows(z)) > 1e-5


def sparsity(z):
    return float(np.mean([sum(not on for on in row) / len(row) for row in active(z)]))


def alive(z):
    return float(sum(any(column) for column in active(z).T))


def class_shares(z, y):
    """For each alive dimension the shares of its active samples by class."""
    shares = []
    for column in active(z).T:
        classes = [label for on, label in zip(column, y, strict=True) if on]
        if classes:
            shares.append([count / len(classes) for count in Counter(classes).values()])
    return shares


def class_consistency(z, y):
    return float(np.mean([max(share) for share in class_shares(z, y)]))


def mean_entropy(z, y):
    return float(np.mean([-sum(p * math.log(p) for p in share) for share in class_shares(z, y)]))


def correlation(z):
    columns = [column for column, on in zip(z.T, active(z).T, strict=True) if any(on)]
    cosines = [
        abs(a @ b) / math.sqrt((a @ a) * (b @ b))
        for i, a in enumerate(columns)
        for j, b in enumerate(columns)
        if i != j
    ]
    return float(np.mean(cosines)) if cosines else 0.0


def effective_rank(z):
    values = np.linalg.svd(z, compute_uv=False)
    shares = values / values.sum()
    return math.exp(-sum(p * math.log(p) for p in shares if p > 0))


def infonce(z1, z2, temperature):
    u = unit_rows(np.concatenate([z1, z2]))
    n = len(z1)
    total = 0.0
    for i in range(2 * n):
        similarity = [u[i] @ u[j] / temperature for j in range(2 * n)]
        others = [s for j, s in enumerate(similarity) if j != i]
        largest = max(others)
        log_sum = largest + math.log(sum(math.exp(s - largest) for s in others))
        total += log_sum - similarity[(i + n) % (2 * n)]
    return total / (2 * n)


def sepin_scores(z1, z2, temperature):
    whole = infonce(z1, z2, temperature)
    return np.array(
        [infonce(np.delete(z1, i, 1), np.delete(z2, i, 1), temperature) - whole for i in range(z1.shape[1])]
    )


def retrieval(z, y, k):
    u = unit_rows(z)
    precisions, averages = [], []
    for i in range(len(z)):
        others = [j for j in range(len(z)) if j != i]
        nearest = sorted(others, key=lambda j: -(u[i] @ u[j]))[:k]
        hits = [y[j] == y[i] for j in nearest]
        relevant = sum(y[j] == y[i] for j in others)
        precisions.append(sum(hits) / k)
        average = sum(sum(hits[: r + 1]) / (r + 1) for r in range(k) if hits[r])
        averages.append(average / min(k, relevant) if relevant else 0.0)
    return {"precision": float(np.mean(precisions)), "map": float(np.mean(averages))}


def knn_accuracy(z_train, y_train, z_test, y_test, k, temperature):
    train, test = unit_rows(z_train), unit_rows(z_test)
    right = 0
    for row, label in zip(test, y_test, strict=True):
        similarity = train @ row
        votes = np.zeros(max(y_train) + 1)
        for j in np.argsort(-similarity)[:k]:
            votes[y_train[j]] += math.exp(similarity[j] / temperature)
        right += votes.argmax() == label
    return right / len(test)
