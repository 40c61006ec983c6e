"""What the features are like while they are learnt, on the same pictures after every epoch."""

import torch

from nonneg import metrics
from nonneg.data import Split, evaluation_batches
from nonneg.models import Model
from nonneg.training.methods import Method
from nonneg.training.recipe import DataSettings

__all__ = ["SAMPLE", "describe"]

SAMPLE = 1000  # pictures


def describe(
    model: Model, method: Method, sample: Split, device: torch.device, settings: DataSettings
) -> dict[str, float]:
    """Sparsity and alive dimensions; with labels also consistency, and the accuracy of a method that predicts."""
    training = model.training
    model.eval()
    size, like = model.settings.image_size, next(model.parameters())
    numbers, features = [], []
    with torch.no_grad():
        for batch, x in evaluation_batches(
            sample, size, device, workers=settings.workers, on_bad_file=settings.on_bad_file
        ):
            numbers.append(batch)
            features.append(model.features(x.to(like.dtype)))
        z = torch.cat(features)
        scores = method.predict(z) if method.predicts else None
    model.train(training)
    if not z.isfinite().all():
        return {"sparsity": float("nan"), "alive": float("nan")}
    found = {"sparsity": metrics.sparsity(z), "alive": float(metrics.alive(z))}
    if sample.labels is not None:
        y = sample.labels[torch.cat(numbers)].to(device)
        if found["alive"]:
            found["consistency"] = metrics.class_consistency(z, y)
        if scores is not None:
            found["accuracy"] = float((scores.argmax(1) == y).double().mean())
    return found
