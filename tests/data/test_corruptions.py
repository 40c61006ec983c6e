"""Each corruption against its published definition in slow or other people's functions; seeds, sizes, damage."""

import colorsys
import math
import re
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage
from torch.nn import functional as F

from nonneg._errors import UserError
from nonneg.data import load
from nonneg.data.corruptions import NAMES, STAND_INS, blur, corrupt, digital, edges, filters, noise, stylise, weather
from nonneg.data.corruptions.plasma import plasma
from tests.data import pictures

SEVERITIES = (1, 2, 3, 4, 5)
STILL = {"defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression"}  # nothing is drawn
# The published constants of these don't make every severity worse than the one before it, pixel by pixel.
NOT_ONE_WAY = {"glass_blur", "motion_blur", "elastic_transform", "snow", "frost", "fog"}
SMALL, LARGE = 32, 65  # the constants change above 64 pixels


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def smooth(n, channels, height, width=None):
    """Soft colours, with edges."""
    width = width or height
    x = np.random.default_rng(0).random((n, channels, height, width))
    x = ndimage.gaussian_filter(x, (0, 0, 2, 2))
    x = (x - x.min()) / (x.max() - x.min())
    x[..., height // 3 :, : width // 2] *= 0.5
    return torch.from_numpy((x * 255).round().astype(np.uint8))


def compare(name, severity, pixels, expected, atol=0.51):
    """Every picture is what `expected` makes of its floats (h, w, c), to the rounding."""
    made = corrupt(pixels, name, severity, seed=0).double().numpy()
    for row, picture in zip(made, pixels.numpy(), strict=True):
        x = picture.transpose(1, 2, 0) / 255
        np.testing.assert_allclose(row.transpose(1, 2, 0), 255 * np.clip(expected(x), 0, 1), rtol=0, atol=atol)


both_sizes = pytest.mark.parametrize("size", [SMALL, LARGE])
both_colours = pytest.mark.parametrize("channels", [1, 3])
every_severity = pytest.mark.parametrize("severity", SEVERITIES)


# Those that draw nothing


@both_sizes
@both_colours
@every_severity
def test_contrast(size, channels, severity):
    left = {SMALL: [0.75, 0.5, 0.4, 0.3, 0.15], LARGE: [0.4, 0.3, 0.2, 0.1, 0.05]}[size][severity - 1]

    def expected(x):
        mean = x.mean((0, 1))
        return (x - mean) * left + mean

    compare("contrast", severity, smooth(2, channels, size), expected)


@pytest.mark.parametrize("size", [12, LARGE])
@both_colours
@every_severity
def test_brightness(size, channels, severity):
    more = {12: [0.05, 0.1, 0.15, 0.2, 0.3], LARGE: [0.1, 0.2, 0.3, 0.4, 0.5]}[size][severity - 1]

    def changed(pixel):
        red, green, blue = pixel if channels == 3 else pixel.repeat(3)
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb(hue, saturation, min(value + more, 1))[:channels]

    pixels = smooth(1, channels, size)
    pixels[..., :2, :2] = 0  # black has no hue
    compare("brightness", severity, pixels, lambda x: np.apply_along_axis(changed, 2, x))


@pytest.mark.parametrize("side", [(32, 32), (28, 28), (30, 17), (224, 224), (100, 70)])
@both_colours
@every_severity
def test_pixelate(side, channels, severity):
    shares = [0.95, 0.9, 0.85, 0.75, 0.65] if max(side) <= 64 else [0.6, 0.5, 0.4, 0.3, 0.25]
    height, width = side

    def expected(x):
        def resized(channel):
            few = tuple(int(s * shares[severity - 1]) for s in (width, height))
            picture = Image.fromarray(channel.astype(np.float32))
            return np.asarray(picture.resize(few, Image.Resampling.BOX).resize((width, height), Image.Resampling.BOX))

        return np.stack([resized(x[..., c]) for c in range(channels)], 2)

    compare("pixelate", severity, smooth(1, channels, *side), expected, atol=0.52)


def softened_disc(radius, sigma):
    field, taps = (8, 3) if radius <= 8 else (radius, 5)
    down, across = np.mgrid[-field : field + 1, -field : field + 1]
    disc = (down**2 + across**2 <= radius**2).astype(float)
    tap = np.exp(-((np.arange(taps) - taps // 2) ** 2) / (2 * sigma**2))
    disc /= disc.sum()
    for axis in (0, 1):
        disc = ndimage.correlate1d(disc, tap / tap.sum(), axis, mode="mirror")
    return disc


@pytest.mark.parametrize("size", [7, SMALL, LARGE])
@both_colours
@every_severity
def test_defocus_blur(size, channels, severity):
    small = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)]
    large = [(3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)]
    kernel = softened_disc(*(small if size <= 64 else large)[severity - 1])

    def expected(x):
        return ndimage.correlate(x, kernel[:, :, None], mode="mirror")

    compare("defocus_blur", severity, smooth(1, channels, size), expected)


def clipped_zoom(x, factor):
    """The middle of (h, w), enlarged by scipy."""
    height, width = x.shape
    part = [math.ceil(s / factor) for s in x.shape]
    top, left = (height - part[0]) // 2, (width - part[1]) // 2
    x = ndimage.zoom(x[top : top + part[0], left : left + part[1]], factor, order=1)
    top, left = (x.shape[0] - height) // 2, (x.shape[1] - width) // 2
    return x[top : top + height, left : left + width]


@pytest.mark.parametrize("side", [(28, 28), (32, 32), (20, 33), (LARGE, LARGE)])
@both_colours
@every_severity
def test_zoom_blur(side, channels, severity):
    small = [np.arange(1, end, 0.01) for end in (1.06, 1.11, 1.16, 1.21, 1.26)]
    large = [np.arange(1, *to) for to in ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))]
    factors = (small if max(side) <= 64 else large)[severity - 1]

    def expected(x):
        zoomed = [
            np.stack([clipped_zoom(x[..., c], factor) for c in range(channels)], 2) for factor in factors.tolist()
        ]
        return (x + sum(zoomed)) / (len(zoomed) + 1)

    compare("zoom_blur", severity, smooth(1, channels, *side), expected)


@both_sizes
@both_colours
@every_severity
def test_jpeg_compression(size, channels, severity):
    quality = {SMALL: [80, 65, 58, 50, 40], LARGE: [25, 18, 15, 10, 7]}[size][severity - 1]

    def expected(x):
        file = BytesIO()
        Image.fromarray((x * 255).round().astype(np.uint8).squeeze()).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file)).reshape(x.shape) / 255

    compare("jpeg_compression", severity, smooth(2, channels, size), expected, atol=1e-6)


# Noise, by its moments: before it is clipped


@pytest.mark.parametrize(
    ("size", "deviations"), [(SMALL, (0.04, 0.06, 0.08, 0.09, 0.10)), (LARGE, (0.08, 0.12, 0.18, 0.26, 0.38))]
)
def test_gaussian_noise_has_the_published_deviation(size, deviations):
    x = torch.full((20, 3, size, size), 0.3)
    for severity, deviation in zip(SEVERITIES, deviations, strict=True):
        changed = noise.gaussian_noise(x, severity, generator()) - x
        assert changed.mean().item() == pytest.approx(0, abs=0.02 * deviation)
        assert changed.std().item() == pytest.approx(deviation, rel=0.02)
        assert torch.corrcoef(changed.transpose(0, 1).flatten(1))[0, 1].abs() < 0.03  # channels apart


@pytest.mark.parametrize(("size", "photons"), [(SMALL, (500, 250, 100, 75, 50)), (LARGE, (60, 25, 12, 5, 3))])
@pytest.mark.parametrize("level", [0.2, 0.8])
def test_shot_noise_is_a_count_of_photons(size, photons, level):
    x = torch.full((10, 3, size, size), level)
    for severity, count in zip(SEVERITIES, photons, strict=True):
        changed = noise.shot_noise(x, severity, generator())
        torch.testing.assert_close(changed * count, (changed * count).round(), rtol=0, atol=1e-3)
        assert changed.mean().item() == pytest.approx(level, rel=0.03)
        assert changed.var().item() == pytest.approx(level / count, rel=0.06)


@pytest.mark.parametrize(
    ("size", "shares"), [(SMALL, (0.01, 0.02, 0.03, 0.05, 0.07)), (LARGE, (0.03, 0.06, 0.09, 0.17, 0.27))]
)
def test_impulse_noise_is_salt_and_pepper_in_every_channel(size, shares):
    x = torch.full((80, 3, size, size), 0.5)
    for severity, share in zip(SEVERITIES, shares, strict=True):
        changed = noise.impulse_noise(x, severity, generator())
        assert (changed == 1).double().mean().item() == pytest.approx(share / 2, rel=0.1)
        assert (changed == 0).double().mean().item() == pytest.approx(share / 2, rel=0.1)
        assert set(changed.unique().tolist()) == {0.0, 0.5, 1.0}


# Filters that the others are made of


@pytest.mark.parametrize(("old", "new"), [(30, 28), (28, 30), (224, 67), (21, 28), (7, 3), (1, 4), (5, 1), (32, 32)])
def test_the_means_of_boxes_are_pillows(old, new):
    for row, column in zip(np.eye(old, dtype=np.float32), filters.box(old, new).T, strict=True):
        expected = Image.fromarray(row[None]).resize((new, 1), Image.Resampling.BOX)
        np.testing.assert_allclose(column, np.asarray(expected)[0], atol=1e-6)


@pytest.mark.parametrize(("edge", "mode"), [("repeat", "nearest"), ("reflect", "reflect"), ("mirror", "mirror")])
@pytest.mark.parametrize(("sigma", "radius", "size"), [(1.5, 6, 20), (0.4, 2, 5), (9.0, 36, 8)])
def test_a_gaussian_along_a_side_is_scipys(edge, mode, sigma, radius, size):
    x = np.random.default_rng(0).random(size)
    expected = ndimage.gaussian_filter1d(x, sigma, mode=mode, radius=radius)
    np.testing.assert_allclose(filters.gaussian(sigma, radius, size, edge) @ torch.from_numpy(x), expected, atol=1e-12)


def moved(x, radius, sigma, degrees):
    """ImageMagick's motion blur of (h, w), pixel by pixel."""
    height, width = x.shape
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    angle = math.radians(degrees)
    out = np.zeros_like(x)
    for row in range(height):
        for column in range(width):
            for k, weight in enumerate(weights / weights.sum()):
                down = row + math.ceil(k * math.sin(angle) - 0.5)
                across = column + math.ceil(k * math.cos(angle) - 0.5)
                out[row, column] += weight * x[min(max(down, 0), height - 1), min(max(across, 0), width - 1)]
    return out


@pytest.mark.parametrize(("radius", "sigma"), [(6, 1.5), (15, 8.0)])
def test_motion_blur_along_a_line_of_each_pictures_own_angle(radius, sigma):
    x = np.random.default_rng(0).random((4, 3, 9, 12))
    degrees = [-45.0, 12.5, 0.0, -110.0]
    made = filters.motion_blurred(torch.from_numpy(x), radius, sigma, torch.tensor(degrees))
    for picture, result, angle in zip(x, made, degrees, strict=True):
        for channel, blurred in zip(picture, result, strict=True):
            np.testing.assert_allclose(blurred, moved(channel, radius, sigma, angle), atol=1e-12)


@pytest.mark.parametrize("size", [12, LARGE])
def test_motion_blur_has_the_published_constants(size, monkeypatch):
    small = [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)]
    large = [(10, 3), (15, 5), (15, 8), (15, 12), (20, 15)]
    used = []
    monkeypatch.setattr(blur, "motion_blurred", lambda x, *how: used.append(how) or x)
    for severity in SEVERITIES:
        blur.motion_blur(torch.rand(2000, 1, 1, size), severity, generator())
    assert [how[:2] for how in used] == (small if size == 12 else large)
    for *_, degrees in used:
        assert -45 <= degrees.min() < -43 and 43 < degrees.max() <= 45
        assert degrees.mean().item() == pytest.approx(0, abs=2)


@pytest.mark.parametrize(("farthest", "side"), [(1, (8, 8)), (2, (14, 9)), (4, (20, 20)), (4, (6, 6))])
def test_glass_moves_pixels_as_numpy_does(farthest, side):
    """The published loop, with its tuple assignment on (h, w, 3), in which both sides are views."""
    height, width = side
    steps = torch.randint(-farthest, farthest, (2, 3, *side), generator=generator())
    source = blur.glass(steps, farthest)
    for n in range(3):
        x = np.random.default_rng(n).random((height, width, 3))
        expected = x.copy()
        for row in range(height - farthest, farthest, -1):
            for column in range(width - farthest, farthest, -1):
                there = row + int(steps[0, n, row, column]), column + int(steps[1, n, row, column])
                expected[row, column], expected[there] = expected[there], expected[row, column]
        np.testing.assert_array_equal(x.reshape(-1, 3)[source[n]].reshape(height, width, 3), expected)


@pytest.mark.parametrize("size", [SMALL, LARGE])
@every_severity
def test_glass_blur_is_a_blur_before_and_after(size, severity, monkeypatch):
    small = [(0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)]
    large = [(0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)]
    sigma, farthest, rounds = (small if size == SMALL else large)[severity - 1]
    used = []

    def nowhere(steps, farthest):
        used.append((farthest, int(steps.min()), int(steps.max())))
        return torch.arange(size * size).expand(steps.shape[1], -1)

    monkeypatch.setattr(blur, "glass", nowhere)

    def expected(x):
        for _ in range(2):
            x = ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest", truncate=4)
        return x

    compare("glass_blur", severity, smooth(1, 3, size), expected)
    assert used == [(farthest, -farthest, farthest - 1)] * rounds


# Weather


def slow_plasma(side, decay, generator):
    """Diamond–square point by point, with the draws of the fast one: middle, top and left of every cell."""
    size = 1
    while size < max(2, side):
        size *= 2
    height, step, reach = np.zeros((size, size)), size, 100.0
    while step > 1:
        half, count = step // 2, size // step
        drawn = (2 * torch.rand(3, 1, count, count, generator=generator) - 1).numpy()[:, 0] * reach**2

        def at(row, column, height=height):
            return height[row % size, column % size]

        for i in range(count):
            for j in range(count):
                r, c = i * step, j * step
                corners = at(r, c), at(r + step, c), at(r, c + step), at(r + step, c + step)
                height[r + half, c + half] = sum(corners) / 4 + drawn[0, i, j]
        for i in range(count):
            for j in range(count):
                r, c = i * step, j * step
                for which, (row, column) in enumerate(((r, c + half), (r + half, c)), 1):
                    around = (
                        at(row - half, column),
                        at(row + half, column),
                        at(row, column - half),
                        at(row, column + half),
                    )
                    height[row, column] = sum(around) / 4 + drawn[which, i, j]
        step, reach = half, reach / decay
    return (height - height.min()) / (height.max() - height.min())


@pytest.mark.parametrize("side", [1, 2, 8, 13, 28])
@pytest.mark.parametrize("decay", [3.0, 1.4])
def test_clouds_are_the_diamond_square_fractal(side, decay):
    made = plasma(1, (side, side), decay, generator())
    expected = slow_plasma(side, decay, generator())
    assert made.shape == (1, 1, side, side)
    np.testing.assert_allclose(made[0, 0], expected[:side, :side], atol=1e-5)


def test_every_cloud_is_another_and_goes_from_0_to_1():
    clouds = plasma(5, (32, 32), 2.0, generator())
    assert clouds.amin((1, 2, 3)).tolist() == [0.0] * 5
    assert clouds.amax((1, 2, 3)).tolist() == [1.0] * 5
    assert len({tuple(cloud.flatten().tolist()) for cloud in clouds}) == 5


@both_sizes
@both_colours
@every_severity
def test_fog(size, channels, severity):
    small = [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)]
    large = [(1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)]
    thickness, decay = (small if size == SMALL else large)[severity - 1]
    x = smooth(3, channels, size).double() / 255
    x[1] *= 0.5
    cloud = plasma(3, (size, size), decay, generator())
    made = weather.fog(x, severity, generator())
    for picture, clouds, result in zip(x, cloud, made, strict=True):
        most = picture.max()
        torch.testing.assert_close(result, (picture + thickness * clouds) * most / (most + thickness))


@both_sizes
@both_colours
@every_severity
def test_frost_mixes_picture_and_ice_in_the_published_shares(size, channels, severity):
    small = [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)]
    large = [(1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)]
    of_picture, of_ice = (small if size == SMALL else large)[severity - 1]
    x = smooth(6, channels, size).double() / 255
    ice = (weather.frost(x, severity, generator()) - of_picture * x) / of_ice
    assert ice.min() >= 0 and ice.max() <= 1
    assert 0.35 < ice.mean() < 0.75, "neither a trace nor a wall"
    assert ice.std((2, 3)).min() > 0.05, "a texture"
    torch.testing.assert_close(ice, weather.frost(torch.zeros_like(x), severity, generator()) / of_ice)
    if channels == 3:
        assert (ice[:, 0] <= ice[:, 1] + 1e-9).all() and (ice[:, 1] <= ice[:, 2] + 1e-9).all(), "blue"


SMALL_SNOW = [
    (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
    (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
]
LARGE_SNOW = [
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
]


@pytest.mark.parametrize("side", [(12, 12), (5, 65)])
@both_colours
@every_severity
def test_snow(side, channels, severity):
    mean, deviation, factor, threshold, radius, sigma, left = (SMALL_SNOW if side == (12, 12) else LARGE_SNOW)[
        severity - 1
    ]
    x = smooth(1, channels, *side).double() / 255
    made = weather.snow(x, severity, generator())[0]
    same = generator()
    flakes = mean + deviation * torch.randn(1, 1, *side, generator=same).double().numpy()[0, 0]
    flakes = clipped_zoom(flakes, factor)
    flakes = np.clip(np.where(flakes < threshold, 0, flakes), 0, 1)
    flakes = moved(flakes, radius, sigma, float(torch.rand(1, generator=same) * 90 - 135))
    picture = x[0].numpy()
    grey = np.tensordot((0.299, 0.587, 0.114), picture, 1) if channels == 3 else picture[0]
    expected = left * picture + (1 - left) * np.maximum(picture, 1.5 * grey + 0.5) + flakes + np.rot90(flakes, 2)
    np.testing.assert_allclose(made, expected, atol=1e-6)


# Elastic


@pytest.mark.parametrize("side", [(32, 32), (28, 28), (20, 33), (LARGE, LARGE), (224, 224)])
@every_severity
def test_elastic_transform(side, severity):
    height, width = side
    small = [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)]
    large = [(2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)]
    shares, slip = (small, 1) if max(side) <= 64 else (large, 244 / 224)
    alpha, sigma, far = (c * min(side) * slip for c in shares[severity - 1])
    x = smooth(1, 3, *side).double() / 255
    made = digital.elastic_transform(x, severity, generator())[0]

    same = generator()
    corners = np.array([[1, 1], [1, -1], [-1, -1]]) * (min(side) // 3) + (width // 2, height // 2)
    to = corners + far * (2 * torch.rand(1, 3, 2, generator=same, dtype=torch.float64)[0].numpy() - 1)
    # A point (x, y, 1) of the new picture comes from one of the old: the three moved points from where they were.
    back = np.linalg.solve(np.column_stack([to, np.ones(3)]), corners)
    down, across = np.mgrid[:height, :width]
    old_x, old_y = np.moveaxis(np.stack([across, down, np.ones(side)], 2) @ back, 2, 0)
    drawn = 2 * torch.rand(1, 2, *side, generator=same)[0].double().numpy() - 1
    shift = drawn * alpha
    if sigma:
        shift = [ndimage.gaussian_filter(d, sigma, mode="reflect", truncate=3) * alpha for d in drawn]
    for channel, result in zip(x[0].numpy(), made, strict=True):
        warped = ndimage.map_coordinates(channel, (old_y, old_x), order=1, mode="mirror")
        expected = ndimage.map_coordinates(warped, (down + shift[1], across + shift[0]), order=1, mode="reflect")
        np.testing.assert_allclose(result, expected, atol=1e-4)


# All of them


def test_the_names_are_those_of_the_paper():
    assert (
        *("gaussian_noise", "shot_noise", "impulse_noise"),
        *("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
        *("snow", "frost", "fog", "brightness"),
        *("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    ) == NAMES
    assert STAND_INS == ("edges", "stylised")


@pytest.mark.parametrize("name", (*NAMES, *STAND_INS))
@both_colours
@pytest.mark.parametrize("side", [(28, 28), (32, 32), (224, 224), (5, 9), (1, 1), (70, 3)])
def test_pictures_of_every_size_stay_of_their_size_and_type(name, channels, side):
    pixels = pictures.noise(2, channels, *side)
    before = pixels.clone()
    changed = corrupt(pixels, name, 5, seed=0)
    assert changed.shape == pixels.shape and changed.dtype == torch.uint8
    assert torch.equal(pixels, before)
    if side[0] > 1:
        assert not torch.equal(changed, pixels)


@pytest.mark.parametrize("name", (*NAMES, *STAND_INS))
def test_no_pictures_stay_none(name):
    assert corrupt(pictures.noise(0, 3, 8, 8), name, 1, seed=0).shape == (0, 3, 8, 8)


@pytest.mark.parametrize("name", (*NAMES, *STAND_INS))
def test_the_same_seed_makes_the_same_pictures_and_another_others(name):
    pixels = smooth(6, 3, 32)
    everybodys = torch.get_rng_state()
    first, again, other = (corrupt(pixels, name, 3, seed) for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), everybodys)
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (name in STILL | {"edges"})


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_changed_one_by_one_however_many_there_are(name):
    """450 of them are worked on in two pieces."""
    pixels = smooth(1, 3, 32).expand(450, -1, -1, -1)
    changed = corrupt(pixels, name, 4, seed=0).flatten(1)
    if name in STILL:
        assert (changed == corrupt(pixels[:1], name, 4, seed=0).flatten()).all()
    else:
        # Angles of motion come to a few dozen ways of rounding its steps.
        assert len(changed.unique(dim=0)) > (40 if name == "motion_blur" else 449)


def damage(clean, name):
    """Mean squared error by severity."""
    return [(corrupt(clean, name, severity, seed=0).double() - clean).square().mean().item() for severity in SEVERITIES]


@both_colours
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_ONE_WAY])
def test_a_higher_severity_does_more_damage(name, channels):
    small = load("fashion-small").test.pixels[:40].expand(-1, channels, -1, -1)
    large = F.interpolate(small[:6].float(), (96, 96), mode="bilinear").to(torch.uint8)
    for clean in (small, large):
        decibels = [10 * math.log10(255**2 / error) for error in damage(clean, name)]
        assert decibels == sorted(decibels, reverse=True), decibels
        assert decibels[0] - decibels[-1] > 1, decibels


@pytest.mark.parametrize("name", sorted(NOT_ONE_WAY - {"elastic_transform"}))  # whose waves become finer, not higher
def test_the_highest_severity_does_more_damage_than_the_lowest(name):
    low, *_, high = damage(load("fashion-small").test.pixels[:100], name)
    assert high > 1.2 * low


@pytest.mark.parametrize("severity", [0, 6, -1, 2.0, None])
def test_another_severity_is_refused(severity):
    message = f"Expected a severity out of 1, 2, 3, 4, 5, got {severity!r}; 5 is the strongest."
    with pytest.raises(UserError, match=re.escape(message)):
        corrupt(pictures.noise(1, 3, 8, 8), "fog", severity, seed=0)


def test_a_name_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(
        UserError, match=r"^Expected a corruption out of gaussian_noise, .*'fogg'; did you mean 'fog'\?"
    ):
        corrupt(pictures.noise(1, 3, 8, 8), "fogg", 1, seed=0)


@pytest.mark.parametrize("pixels", [torch.rand(1, 3, 8, 8), pictures.noise(1, 2, 8, 8), pictures.noise(1, 3, 8, 8)[0]])
def test_pictures_of_another_kind_are_refused(pixels):
    with pytest.raises(
        UserError, match=r"^Expected pictures of shape \(n, 1 or 3, height, width\) and type uint8, got"
    ):
        corrupt(pixels, "fog", 1, seed=0)


# Stand-ins


@both_colours
def test_edges_are_sobels_dark_on_white(channels):
    pixels = smooth(3, channels, 20, 14)
    made = edges(pixels)
    for picture, drawn in zip(pixels.double().numpy(), made, strict=True):
        grey = np.tensordot((0.299, 0.587, 0.114), picture, 1) if channels == 3 else picture[0]
        slope = np.hypot(*(ndimage.sobel(grey, axis, mode="nearest") for axis in (0, 1)))
        for channel in drawn:
            np.testing.assert_allclose(channel, 255 * (1 - slope / slope.max()), atol=0.51)


def test_a_picture_without_edges_is_white():
    assert (edges(torch.full((2, 3, 6, 6), 70, dtype=torch.uint8)) == 255).all()


@both_colours
def test_a_stylised_picture_has_its_own_phases_and_anothers_spectrum(channels):
    pixels = pictures.noise(5, channels, 16, 15) // 8 + torch.arange(60, 160, 20, dtype=torch.uint8).view(5, 1, 1, 1)
    made = stylise(pixels, seed=0)
    before, after = np.fft.fft2(pixels), np.fft.fft2(made)
    apart = np.abs(np.abs(after)[:, None] - np.abs(before)[None]).mean((2, 3, 4))  # rounding is about 0.3·15
    partners = apart.argmin(1)
    assert sorted(partners) == list(range(5)), "each is another's once"
    assert (partners != np.arange(5)).all()
    assert apart.min(1).max() < 6 < np.partition(apart, 1)[:, 1].min()
    means = pixels.double().mean((2, 3))
    torch.testing.assert_close(made.double().mean((2, 3)), means[partners.tolist()], rtol=0, atol=0.15)
    turned = np.angle(after / before)[np.abs(after) > 150]
    assert np.abs(turned).mean() < 0.05


def test_a_picture_alone_keeps_its_style():
    alone = smooth(1, 3, 12)
    assert torch.equal(stylise(alone, seed=0), alone)


def test_stand_ins_have_no_severities():
    pixels = smooth(4, 3, 12)
    assert torch.equal(corrupt(pixels, "edges", 1, seed=2), edges(pixels))
    assert torch.equal(corrupt(pixels, "edges", 99, seed=2), edges(pixels))
    assert torch.equal(corrupt(pixels, "stylised", 5, seed=2), stylise(pixels, seed=2))
