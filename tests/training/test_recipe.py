"""What a recipe takes from its data, and from the run whose backbone it begins with."""

from pathlib import Path

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import DataSet, Files, Images
from nonneg.models import ModelSettings
from nonneg.training.recipe import DataSettings, Recipe, inherit, resolve
from tests.data import pictures
from tests.training import tiny


def test_channels_size_and_colours_are_the_datas():
    data = tiny.data()
    resolved = resolve(tiny.recipe(), data)
    pixels = data.train.pixels.numpy().astype(np.float64) / 255
    assert (resolved.model.channels, resolved.model.image_size) == (3, 8)
    np.testing.assert_allclose(resolved.model.mean, pixels.mean((0, 2, 3)), atol=1e-6)
    np.testing.assert_allclose(resolved.model.std, pixels.std((0, 2, 3)), atol=1e-6)
    assert resolved.model_copy(update={"model": tiny.recipe().model}) == tiny.recipe()
    assert resolve(resolved, data) == resolved  # as a run that goes on does


def test_grey_pictures_have_one_channel():
    grey = DataSet("grey", pictures.images(10, channels=1), None, ())
    model = resolve(tiny.recipe(), grey).model
    assert (model.channels, len(model.mean), len(model.std)) == (1, 1, 1)


def test_one_colour_has_no_deviation_to_divide_by_but_a_step_of_it():
    flat = DataSet("flat", Images(torch.full((4, 1, 8, 8), 51, dtype=torch.uint8), None), None, ())
    model = resolve(tiny.recipe(), flat).model
    assert model.mean == (0.2,)
    assert model.std == (round(1 / 255, 6),)


def test_the_test_part_has_no_say():
    with_test, without = (resolve(tiny.recipe(), tiny.data(test=test)) for test in (True, False))
    assert with_test == without


def test_large_pictures_have_imagenets_colours():
    files = DataSet("files", Files((Path("nowhere.png"),) * 4, None), None, ())
    model = resolve(tiny.recipe(), files).model
    assert model.mean == (0.485, 0.456, 0.406)
    assert model.std == (0.229, 0.224, 0.225)


def test_colours_that_are_said_stay():
    recipe = tiny.recipe(model={"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]})
    assert resolve(recipe, tiny.data()).model.mean == (0.5,) * 3


@pytest.mark.parametrize(("key", "said", "fact"), [("channels", 1, 3), ("image_size", 32, 8)])
def test_what_contradicts_the_data_is_refused(key, said, fact):
    with pytest.raises(UserError) as caught:
        resolve(tiny.recipe(model={key: said}), tiny.data())
    assert str(caught.value) == f"Expected model.{key} to be {fact}, as the data's, got {said}; leave it out."


# Fine-tuning

SOURCE = ModelSettings(
    backbone="resnet18",
    small_images=False,
    stem_padding=2,
    projector=(7,),
    activation="identity",
    mean=(0.1, 0.2, 0.3),
    std=(0.4, 0.5, 0.6),
)


def test_a_backbone_comes_with_its_network_and_its_colours_and_not_with_its_head():
    recipe = Recipe(start_from="run", model={"projector": [5], "activation": "relu"})
    model = inherit(recipe, SOURCE).model
    assert model.model_dump() == SOURCE.model_dump() | {"projector": (5,), "activation": "relu"}
    assert resolve(inherit(recipe, SOURCE), tiny.data()).model.mean == SOURCE.mean


def test_a_backbone_without_colours_keeps_none_of_its_own_and_saying_the_same_is_fine():
    recipe = Recipe(start_from="run", model={"backbone": "resnet18", "stem_padding": 2})
    assert inherit(recipe, SOURCE).model.backbone == "resnet18"


@pytest.mark.parametrize(("key", "said"), [("backbone", "small"), ("stem_padding", 1), ("small_images", True)])
def test_another_network_than_the_runs_is_refused(key, said):
    with pytest.raises(UserError) as caught:
        inherit(Recipe(start_from="run", model={key: said}), SOURCE)
    fact = getattr(SOURCE, key)
    assert str(caught.value) == (
        f"Expected model.{key} to be {fact}, as in the run of start_from, got {said}; leave it out."
    )


# Data


@pytest.mark.parametrize("on_bad_file", ["skip", "fatal"])
def test_a_bad_file_is_told_or_fatal_as_it_is_said(on_bad_file, tmp_path):
    for number in range(4):
        pictures.save(tmp_path / "a" / f"{number}.png", 8, 8, seed=number)
    (tmp_path / "a" / "2.png").write_text("no picture")
    told = []
    settings = DataSettings(name=f"folder:{tmp_path}", on_bad_file=on_bad_file)
    if on_bad_file == "fatal":
        with pytest.raises(UserError, match=r"2\.png, which can't be decoded"):
            settings.load(told.append)
        return
    assert len(settings.load(told.append).train) == 3
    assert told == [tmp_path / "a" / "2.png"]
