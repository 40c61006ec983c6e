"""Views against slow loops and torchvision's functions; what is drawn, and that a view is its own picture's alone."""

import math

import pytest
import torch
from pydantic import ValidationError
from torchvision.transforms.v2 import functional as torchvision

from nonneg.data import views
from nonneg.data.views import Draw, ViewSettings
from tests.data.pictures import noise
from tests.references import views as slow

STILL = {"flip": 0.0, "jitter": 0.0, "grey": 0.0, "blur": 0.0, "solarise": 0.0}


def drawn(settings, n, side, seed=0):
    return views.draw(settings, n, side, torch.Generator().manual_seed(seed))


def still(n, crop=None):
    """Nothing drawn that changes a picture."""
    no = torch.zeros(n, dtype=torch.bool)
    factors = torch.tensor([1.0, 1.0, 1.0, 0.0]).repeat(n, 1)
    return Draw(crop, no, factors, torch.arange(4), no, torch.zeros(n), no)


def close(actual, expected, atol=3e-6):
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=0, atol=atol)


# Against the loops


@pytest.mark.parametrize(
    ("preset", "channels", "side", "size"),
    [
        ("cifar", 3, (8, 8), 8),
        ("cifar", 3, (13, 9), 6),
        ("cifar", 3, (5, 7), 9),
        ("grey", 1, (8, 8), 8),
        ("grey", 1, (6, 11), 7),
        ("imagenet", 3, (12, 12), 5),
        ("cifar", 3, (1, 4), 3),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_view_is_that_of_the_loops(preset, channels, side, size, seed):
    settings = ViewSettings(name=preset, size=size, solarise=0.4, blur_sigma=(0.1, 3.0))
    pixels, draws = noise(8, channels, *side, seed=seed), drawn(settings, 8, side, seed)
    made = views.make(pixels, draws, settings)
    for row in range(8):
        close(made[row], slow.view(pixels[row].numpy(), draws, row, size), atol=2e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_that_are_cropped_already_are_changed_in_all_other_ways(channels):
    settings = ViewSettings(size=7, solarise=0.4)
    pixels, draws = noise(8, channels, 7, 7), drawn(settings, 8, (7, 7))._replace(crop=None)
    assert draws.flip.any()
    made = views.make(pixels, draws, settings)
    for row in range(8):
        close(made[row], slow.view(pixels[row].numpy(), draws, row, 7), atol=2e-5)


# Against torchvision, where it means the same


def one(n, **changes):
    return still(n, torch.tensor([[0, 0, 16, 16]]).expand(n, 4))._replace(**changes)


PLAIN = ViewSettings(size=16)


@pytest.mark.parametrize(("side", "size"), [((16, 16), 16), ((30, 21), 8), ((9, 14), 20)])
def test_a_crop_is_torchvisions_resized_crop_with_antialiasing(side, size):
    settings = ViewSettings(size=size, **STILL)
    pixels, draws = noise(20, 3, *side), drawn(settings, 20, side)
    made = views.make(pixels, draws, settings)
    for row, box in enumerate(draws.crop.tolist()):
        close(made[row], torchvision.resized_crop(pixels[row].float() / 255, *box, [size, size], antialias=True))


def test_a_flip_is_torchvisions():
    pixels = noise(4, 3, 16, 16)
    flip = torch.tensor([True, False, True, False])
    made = views.make(pixels, one(4, flip=flip), PLAIN)
    close(made[flip], torchvision.horizontal_flip(pixels[flip].float() / 255), atol=1e-6)
    close(made[~flip], pixels[~flip].float() / 255, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("place", "factors", "change"),
    [
        (0, (0.2, 1.0, 1.8), torchvision.adjust_brightness),
        (1, (0.2, 1.0, 1.8), torchvision.adjust_contrast),
        (2, (0.2, 1.0, 1.8), torchvision.adjust_saturation),
        (3, (-0.5, -0.1, 0.0, 0.2, 0.5), torchvision.adjust_hue),
    ],
)
def test_colours_are_torchvisions(channels, place, factors, change):
    pixels = noise(len(factors), channels, 16, 16)
    draws = one(len(factors))
    draws.factors[:, place] = torch.tensor(factors)
    made = views.make(pixels, draws, PLAIN)
    for row, factor in enumerate(factors):
        close(made[row], change(pixels[row].float() / 255, factor), atol=1e-5)


def test_colours_change_in_the_order_that_was_drawn():
    pixels, factors = noise(2, 3, 16, 16), torch.tensor([[1.6, 0.3, 1.5, 0.2]]).repeat(2, 1)
    changes = [torchvision.adjust_brightness, torchvision.adjust_contrast]
    changes += [torchvision.adjust_saturation, torchvision.adjust_hue]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        expected = pixels.float() / 255
        for i in order:
            expected = changes[i](expected, factors[0, i].item())
        close(views.make(pixels, one(2, factors=factors, order=torch.tensor(order)), PLAIN), expected, atol=1e-5)


def test_grey_is_torchvisions_and_a_picture_without_colours_stays():
    chosen = torch.tensor([True, False])
    pixels = noise(2, 3, 16, 16)
    made = views.make(pixels, one(2, grey=chosen), PLAIN)
    close(made[0], torchvision.rgb_to_grayscale(pixels[0].float() / 255, 3), atol=1e-4)  # 0.2989 or 0.299
    close(made[1], pixels[1].float() / 255, atol=1e-6)
    assert torch.equal(views.make(pixels[:, :1], one(2, grey=chosen), PLAIN), pixels[:, :1].float() / 255)


def test_a_blur_is_torchvisions_with_a_wide_kernel_away_from_the_edges():
    """Torchvision mirrors a picture at its edges; ours are weighted as what there is."""
    settings = ViewSettings(size=64)
    pixels, sigmas = noise(4, 3, 64, 64), torch.tensor([0.1, 0.7, 2.0, 3.0])
    made = views.make(pixels, still(4)._replace(sigma=sigmas), settings)
    for row, sigma in enumerate(sigmas.tolist()):
        expected = torchvision.gaussian_blur(pixels[row].float() / 255, [49, 49], [sigma, sigma])
        close(made[row][:, 24:40, 24:40], expected[:, 24:40, 24:40])


def test_a_blur_keeps_an_even_picture():
    pixels = torch.full((1, 1, 16, 16), 51, dtype=torch.uint8)
    close(views.make(pixels, one(1, sigma=torch.tensor([2.0])), PLAIN), torch.full((1, 1, 16, 16), 0.2))


def test_solarising_is_torchvisions():
    pixels = noise(2, 3, 16, 16)
    made = views.make(pixels, one(2, solarise=torch.tensor([True, False])), PLAIN)
    close(made[0], torchvision.solarize(pixels[0].float() / 255, 0.5), atol=1e-6)
    close(made[1], pixels[1].float() / 255, atol=1e-6)


# What stays


@pytest.mark.parametrize("channels", [1, 3])
def test_settings_that_change_nothing_give_the_picture_back(channels):
    settings = ViewSettings(size=16, crop=(1.0, 1.0), **STILL)
    pixels = noise(5, channels, 16, 16)
    whole = drawn(settings, 5, (16, 16))._replace(crop=torch.tensor([[0, 0, 16, 16]]).expand(5, 4))
    assert torch.equal(views.make(pixels, whole, settings), pixels.float() / 255)
    assert torch.equal(views.make(pixels, whole._replace(crop=None), settings), pixels.float() / 255)


def test_the_pictures_themselves_are_left_alone():
    settings, pixels = ViewSettings(size=8), noise(4, 3, 8, 8)
    before = pixels.clone()
    views.make(pixels, drawn(settings, 4, (8, 8)), settings)
    assert torch.equal(pixels, before)


def test_values_stay_from_0_to_1():
    settings = ViewSettings(size=8, jitter=1.0, hue=0.5, solarise=0.5)
    made = views.make(noise(300, 3, 8, 8), drawn(settings, 300, (8, 8)), settings)
    assert made.dtype == torch.float32
    assert made.min() > -1e-6
    assert made.max() < 1 + 1e-6


# A view is its own picture's


@pytest.mark.parametrize("preset", ["cifar", "grey"])
def test_a_view_does_not_depend_on_the_others_in_its_batch(preset):
    settings = ViewSettings(name=preset, size=9)
    pixels, draws = noise(12, 3, 9, 9), drawn(settings, 12, (9, 9))
    made = views.make(pixels, draws, settings)
    for row in range(12):
        others = noise(12, 3, 9, 9, seed=1)
        others[row] = pixels[row]
        assert torch.equal(views.make(others, draws, settings)[row], made[row])


@pytest.mark.parametrize(("channels", "side", "size"), [(1, 28, 28), (3, 32, 32), (3, 17, 9), (1, 5, 11), (3, 9, 40)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_part_of_the_batch_has_the_views_of_the_whole(channels, side, size, threads):
    settings = ViewSettings(size=size, solarise=0.2)
    pixels, draws = noise(24, channels, side, side), drawn(settings, 24, (side, side))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        made = views.make(pixels, draws, settings)
        for n in (1, 5, 12):
            parts = [slice(i, i + n) for i in range(0, 24, n)]
            together = torch.cat([views.make(pixels[p], draws.rows(p), settings) for p in parts])
            torch.testing.assert_close(together, made, rtol=0, atol=1e-6)
    finally:
        torch.set_num_threads(before)


def test_what_is_worked_on_together_does_not_matter(monkeypatch):
    settings = ViewSettings(size=8)
    pixels, draws = noise(10, 3, 8, 8), drawn(settings, 10, (8, 8))
    made = views.make(pixels, draws, settings)
    for together in (1, 3 * 64 * 3, 10**9):
        monkeypatch.setattr(views, "_TOGETHER", together)
        assert torch.equal(views.make(pixels, draws, settings), made)


def test_rows_chosen_by_slice_and_by_number_are_the_same():
    draws = drawn(ViewSettings(), 6, (8, 8))
    for by_slice, by_number in zip(draws.rows(slice(2, 5)), draws.rows(torch.tensor([2, 3, 4])), strict=True):
        assert torch.equal(by_slice, by_number)
    assert torch.equal(draws.rows(slice(0, 1)).order, draws.order)


# What is drawn


def test_the_same_seed_draws_the_same_and_another_one_something_else():
    settings = ViewSettings()
    first, again, other = (drawn(settings, 50, (32, 32), seed) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(getattr(first, k), getattr(other, k)) for k in ("crop", "flip", "factors", "sigma"))


def test_nothing_is_drawn_from_everybodys_random_numbers():
    before = torch.get_rng_state()
    drawn(ViewSettings(), 5, (8, 8))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("side", [(32, 32), (200, 50), (33, 90), (1, 1), (3, 400)])
@pytest.mark.parametrize("area", [(0.08, 1.0), (0.3, 0.5)])
def test_boxes_lie_inside_the_picture_with_area_and_aspect_in_their_ranges(side, area):
    height, width = side
    boxes = views.draw_crops(area, torch.tensor([side]).expand(3000, 2), torch.Generator().manual_seed(0))
    top, left, h, w = boxes.double().unbind(1)
    assert (h >= 1).all() and (w >= 1).all()
    assert (top >= 0).all() and (left >= 0).all()
    assert (top + h <= height).all() and (left + w <= width).all()
    if min(side) >= 32:  # rounded to whole pixels, either side by a half
        middle = (torch.minimum(h, w) == min(side)) & (h * w > area[1] * height * width)
        fitted = ~middle
        assert ((w + 0.5) / (h - 0.5) >= 3 / 4)[fitted].all() and ((w - 0.5) / (h + 0.5) <= 4 / 3)[fitted].all()
        assert ((h + 0.5) * (w + 0.5) >= area[0] * height * width).all()
        assert ((h - 0.5) * (w - 0.5) <= area[1] * height * width)[fitted].all()


def test_boxes_are_everywhere_and_of_all_sizes_and_aspects():
    n = 20_000
    generator = torch.Generator().manual_seed(0)
    top, left, h, w = views.draw_crops((0.08, 0.5), torch.tensor([[96, 96]]).expand(n, 2), generator).double().unbind(1)
    share = h * w / 96**2
    assert share.mean().item() == pytest.approx(0.29, abs=0.005)  # even from 0.08 to 0.5
    assert share.std().item() == pytest.approx(0.42 / math.sqrt(12), abs=0.005)
    ratio = torch.log(w / h)
    assert ratio.mean().item() == pytest.approx(0, abs=0.01)
    assert ratio.std().item() == pytest.approx(2 * math.log(4 / 3) / math.sqrt(12), abs=0.005)
    for start, room in ((top, 96 - h), (left, 96 - w)):
        assert (start / room).mean().item() == pytest.approx(0.5, abs=0.01)
        assert (start == 0).any() and (start == room).any()


@pytest.mark.parametrize(("side", "box"), [((10, 1000), (0, 493, 10, 13)), ((1000, 10), (493, 0, 13, 10))])
def test_where_no_box_fits_it_is_the_middle_as_large_as_the_aspect_allows(side, box):
    boxes = views.draw_crops((1.0, 1.0), torch.tensor([side]).expand(5, 2), torch.Generator().manual_seed(0))
    assert boxes.tolist() == [list(box)] * 5


def test_every_picture_has_a_box_of_its_own_size():
    sides = torch.tensor([[8, 8], [100, 60], [20, 300]]).repeat(500, 1)
    boxes = views.draw_crops((0.9, 1.0), sides, torch.Generator().manual_seed(0))
    assert (boxes[:, :2] + boxes[:, 2:] <= sides).all()
    assert (boxes[0::3, 2] >= 7).all() and (boxes[1::3, 2] > 8).all() and (boxes[2::3, 2] >= 18).all()


def test_probabilities_and_ranges_are_the_settings():
    settings = ViewSettings(
        flip=0.3, jitter=0.6, grey=0.1, blur=0.7, solarise=0.25, brightness=0.4, contrast=1.5, saturation=0.2, hue=0.1
    )
    n = 20_000
    draws = drawn(settings, n, (32, 32))
    for happened, p in ((draws.flip, 0.3), (draws.grey, 0.1), (draws.sigma > 0, 0.7), (draws.solarise, 0.25)):
        assert happened.double().mean().item() == pytest.approx(p, abs=0.015)
    jittered = (draws.factors != torch.tensor([1.0, 1.0, 1.0, 0.0])).any(1)
    assert jittered.double().mean().item() == pytest.approx(0.6, abs=0.015)
    ranges = ((0.6, 1.4), (0.0, 2.5), (0.8, 1.2), (-0.1, 0.1))  # a factor is never below 0
    for column, (low, high) in zip(draws.factors[jittered].double().T, ranges, strict=True):
        spread_evenly(column, low, high)
    spread_evenly(draws.sigma[draws.sigma > 0].double(), 0.1, 2.0)


def spread_evenly(values, low, high):
    width = high - low
    assert low - 1e-6 <= values.min() < low + 0.01 * width
    assert high - 0.01 * width < values.max() <= high + 1e-6
    assert values.mean().item() == pytest.approx((low + high) / 2, abs=0.02 * width)
    assert values.std().item() == pytest.approx(width / math.sqrt(12), abs=0.02 * width)


def test_what_is_drawn_for_one_step_of_a_view_says_nothing_of_another():
    settings = ViewSettings(flip=0.5, jitter=0.5, grey=0.5, blur=0.5, solarise=0.5)
    draws = drawn(settings, 20_000, (32, 32))
    jittered = draws.factors[:, 0] != 1
    happened = torch.stack([draws.flip, jittered, draws.grey, draws.sigma > 0, draws.solarise]).double()
    correlation = torch.corrcoef(happened) - torch.eye(5)
    assert correlation.abs().max() < 0.03


def test_every_order_of_the_colours_comes():
    orders = {tuple(drawn(ViewSettings(), 1, (8, 8), seed).order.tolist()) for seed in range(300)}
    assert len(orders) == 24


# As it is measured


def test_a_picture_of_the_right_size_is_measured_whole():
    pixels = noise(3, 3, 16, 16)
    assert torch.equal(views.centre_crop(pixels, 16), pixels.float() / 255)


@pytest.mark.parametrize(
    ("side", "box"), [((20, 30), (0, 5, 20, 20)), ((31, 20), (5, 0, 20, 20)), ((8, 8), (0, 0, 8, 8))]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_another_is_measured_by_its_middle_square(side, box, channels):
    pixels = noise(3, channels, *side)
    close(views.centre_crop(pixels, 16), torchvision.resized_crop(pixels.float() / 255, *box, [16, 16], antialias=True))


# Settings


def test_a_preset_is_what_is_not_said():
    assert ViewSettings() == ViewSettings(name="cifar")
    assert ViewSettings(name="imagenet").size == 224
    grey = ViewSettings(name="grey", crop=(0.5, 0.9))
    assert (grey.size, grey.crop, grey.brightness, grey.hue, grey.flip) == (28, (0.5, 0.9), 0.8, 0.0, 0.5)


def test_no_other_preset_is_known_than_can_be_named():
    for name in views.PRESETS:
        assert ViewSettings(name=name).name == name
    with pytest.raises(ValidationError, match="cifar"):
        ViewSettings(name="cifar100")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"crop": (0.0, 1.0)}, r"crop a range within \(0, 1\], from low to high"),
        ({"crop": (0.5, 1.1)}, "crop a range"),
        ({"crop": (0.9, 0.1)}, "crop a range"),
        ({"blur_sigma": (2.0, 0.1)}, "blur_sigma a range"),
        ({"flip": 1.5}, "less than or equal to 1"),
        ({"hue": 0.6}, r"less than or equal to 0\.5"),
        ({"size": 0}, "greater than or equal to 1"),
        ({"flop": 0.5}, "Extra inputs"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValidationError, match=message):
        ViewSettings(**wrong)


def test_a_probability_of_one_and_of_none_are_certain():
    sure = drawn(ViewSettings(flip=1.0, jitter=1.0, grey=1.0, blur=1.0, solarise=1.0), 200, (8, 8))
    assert sure.flip.all() and sure.grey.all() and (sure.sigma > 0).all() and sure.solarise.all()
    never = drawn(ViewSettings(**STILL), 200, (8, 8))
    assert not never.flip.any() and not never.grey.any() and not never.sigma.any() and not never.solarise.any()
    assert (never.factors == torch.tensor([1.0, 1.0, 1.0, 0.0])).all()
