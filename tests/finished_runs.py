"""Runs that are done without having been trained: a folder with a recipe and a model of random weights."""

import numpy as np
import torch

from nonneg import models
from nonneg.models import Model, ModelSettings
from nonneg.training import Recipe, RunFolder, recipes
from nonneg.training.recipe import DataSettings

CLASSES = ("boot", "coat", "hat")


def array_file(path, n=36, n_test=24, side=8, channels=1, labelled=True, classes=CLASSES):
    """Pictures of noise on top of a grey that tells the class."""
    rng = np.random.default_rng(0)
    arrays = {}
    for prefix, count in (("", n), ("test_", n_test)):
        if count:
            labels = np.arange(count) % len(classes)
            noise = rng.integers(0, 60, (count, side, side, channels))
            arrays[f"{prefix}images"] = (noise + 60 * labels[:, None, None, None]).astype(np.uint8)
            if labelled:
                arrays[f"{prefix}labels"] = labels
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays, **({"classes": classes} if labelled else {}))
    return f"npz:{path}"


def finished_run(folder, data, activation="rep_relu", channels=1, on_bad_file="fatal", dimensions=12):
    """The model that is in the folder now."""
    torch.manual_seed(0)
    settings = ModelSettings(
        projector=(16, dimensions),
        activation=activation,
        channels=channels,
        image_size=8,
        mean=(0.4,) * channels,
        std=(0.2,) * channels,
    )
    model = Model(settings)
    for _ in range(10):  # statistics for the batch norms
        model(0.4 + 0.2 * torch.randn(16, channels, 8, 8))
    recipe = Recipe(
        data=DataSettings(name=data, on_bad_file=on_bad_file, workers=0),
        views={"name": "grey", "size": 8},
        model=settings,
    )
    run = RunFolder(folder)
    recipes.write(recipe, run.recipe)
    models.save(model, run.model)
    return models.load(folder)
