"""A sheet shows each picture at its place and nothing of its neighbours."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from nonneg.data import Images
from nonneg.report.pictures import data_uri, sheet, square
from tests.data.pictures import files


def decoded(uri):
    kind, _, content = uri.removeprefix("data:image/").partition(";base64,")
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        assert image.format.lower() == kind
        return np.asarray(image.convert("RGBA" if image.mode == "RGBA" else "RGB"))


def noise(n, channels=1, height=8, width=8):
    generator = torch.Generator().manual_seed(0)
    return Images(torch.randint(0, 256, (n, channels, height, width), generator=generator, dtype=torch.uint8), None)


def seen(made, number, side):
    """What a browser puts into a box of `side` pixels: CSS's background-size and background-position."""
    pixels = decoded(made.uri)
    share = [float(v) / 100 for v in re.findall(r"(-?[\d.]+)%", made.size)]
    width, height = round(share[0] * side, 1), round(share[1] * side, 1)
    assert (width, height) == (pixels.shape[1], pixels.shape[0]), "a pixel is a pixel in a box of this size"
    x, y = (float(v) / 100 for v in re.findall(r"(-?[\d.]+)%", made.places[number]))
    left, top = x * (width - side), y * (height - side)
    assert (left, top) == pytest.approx((round(left), round(top)), abs=0.01)
    return pixels[round(top) :, round(left) :][:side, :side]


@pytest.mark.parametrize("count", [1, 2, 20, 21, 45])
def test_each_picture_is_seen_whole_at_its_place(count):
    pictures = noise(50)
    numbers = torch.randperm(50)[:count].tolist()
    made = sheet(pictures, numbers)
    assert made.pixelated
    for number in numbers:
        expected = pictures.pixels[number, 0][:, :, None].expand(-1, -1, 3).numpy()
        assert np.array_equal(seen(made, number, 8), expected)


def test_a_picture_that_is_shown_often_is_on_the_sheet_once():
    twice = sheet(noise(5), [3, 1, 3, 3, 1])
    assert twice == sheet(noise(5), [3, 1])
    assert decoded(twice.uri).shape == (10, 20, 3)


def test_a_picture_has_a_margin_of_its_own_edge():
    """A browser that scales the sheet mixes neighbours."""
    pixels = decoded(sheet(noise(4), [0, 1, 2, 3]).uri)
    for k in range(4):
        cell = pixels[:, 10 * k : 10 * k + 10]
        assert np.array_equal(cell[0], cell[1])
        assert np.array_equal(cell[-1], cell[-2])
        assert np.array_equal(cell[:, 0], cell[:, 1])
        assert np.array_equal(cell[:, -1], cell[:, -2])


def test_large_pictures_are_made_small_and_smooth(tmp_path):
    split = files(tmp_path, 2)
    for path, colour in zip(split.paths, [(250, 0, 0), (0, 0, 250)], strict=True):
        Image.new("RGB", (300, 200), colour).save(path)
    made = sheet(split, [1, 0])
    assert not made.pixelated
    assert made.uri.startswith("data:image/jpeg;")
    assert np.abs(seen(made, 0, 88).astype(int) - (250, 0, 0)).max() < 8
    assert np.abs(seen(made, 1, 88).astype(int) - (0, 0, 250)).max() < 8


def test_the_middle_square_is_taken():
    pictures = noise(1, 3, 4, 10)
    assert np.array_equal(square(pictures, 0, 4), pictures.pixels[0, :, :, 3:7].permute(1, 2, 0).numpy())
    assert np.array_equal(square(pictures, 0, 8)[::2, ::2], square(pictures, 0, 4)), "nearest when made larger"


def test_a_png_holds_every_value_and_grey_takes_less():
    colours = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)
    assert np.array_equal(decoded(data_uri(colours)), colours)
    grey = np.repeat(np.random.default_rng(0).integers(0, 256, (60, 50, 1), np.uint8), 3, 2)
    assert np.array_equal(decoded(data_uri(grey)), grey)
    assert len(data_uri(grey)) < 1.5 * 60 * 50
    clear = np.random.default_rng(0).integers(0, 256, (6, 5, 4), np.uint8)
    assert np.array_equal(decoded(data_uri(clear)), clear)
