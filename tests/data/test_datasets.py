"""Parts of a data set: how many, evenly thinned, and which part measurements are made on."""

from pathlib import Path

import pytest
import torch

from nonneg.data import DataSet, Files, Images
from tests.data.pictures import images


def split(kind, n, labelled=True):
    if kind is Images:
        return images(n, labelled=labelled)
    return Files(tuple(Path(f"{i}.png") for i in range(n)), torch.arange(n) if labelled else None)


def numbers(part):
    return [int(path.stem) for path in part.paths] if isinstance(part, Files) else part.labels.tolist()


@pytest.mark.parametrize("kind", [Images, Files])
@pytest.mark.parametrize(
    ("count", "expected"), [(4, [0, 2, 5, 7]), (10, list(range(10))), (99, list(range(10))), (0, [])]
)
def test_thinned_parts_are_even_from_beginning_to_end(kind, count, expected):
    whole = split(kind, 10)
    part = whole.thinned(count)
    assert type(part) is kind
    assert numbers(part) == part.labels.tolist() == expected
    if kind is Images:
        assert torch.equal(part.pixels, whole.pixels[expected])


@pytest.mark.parametrize("kind", [Images, Files])
def test_parts_without_labels_stay_without(kind):
    part = split(kind, 10, labelled=False).thinned(3)
    assert part.labels is None
    assert len(part) == 3


def test_no_picture_is_taken_twice_however_many_there_are():
    whole = Files(tuple([Path("a.png")] * 130_001), torch.arange(130_001))
    assert len(set(whole.thinned(130_000).labels.tolist())) == 130_000


def test_channels_are_the_pictures():
    assert [images(2, channels=c).channels for c in (1, 3)] == [1, 3]
    assert split(Files, 1).channels == 3


def test_measurements_are_made_on_the_test_part_or_else_on_the_training_part():
    train, test = images(3), images(2)
    assert DataSet("a", train, test, ()).evaluated() is test
    assert DataSet("a", train, None, ()).evaluated() is train
