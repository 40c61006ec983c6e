"""A name or a path leads to its reader, with everything that was said about it."""

import re

import numpy as np
import pytest

from nonneg._errors import UserError
from nonneg.data import Images, load
from tests.data.pictures import noise, save


def test_a_name_is_looked_for_where_it_is_said_or_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NONNEG_DATA", str(tmp_path / "cache"))
    for root, place in ((tmp_path / "root", "root"), (str(tmp_path / "root"), "root"), (None, "cache")):
        with pytest.raises(UserError, match=f"^Expected cifar10 below {re.escape(str(tmp_path / place))}, got"):
            load("cifar10", root)


def test_a_folder_or_an_array_file_is_read_by_its_path(tmp_path):
    pixels = save(tmp_path / "pets" / "cat" / "1.png", 4, 5, seed=0)
    np.savez(tmp_path / "a.npz", images=pixels[None])
    for name in (f"folder:{tmp_path / 'pets'}", f"npz:{tmp_path / 'a.npz'}"):
        data = load(name)
        assert data.name == name
        assert np.array_equal(data.train.pixels[0].permute(1, 2, 0).numpy(), pixels)


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.savez(tmp_path / "a.npz", images=noise(2, 1, 4, 4)[:, 0].numpy())
    assert len(load("npz:~/a.npz").train) == 2


def test_a_bad_file_is_fatal_or_skipped_and_reported(tmp_path):
    save(tmp_path / "1.png", 4, 5, seed=0)
    (tmp_path / "2.png").write_text("no picture")
    with pytest.raises(UserError, match=r"2\.png, which can't be decoded"):
        load(f"folder:{tmp_path}")
    reported = []
    data = load(f"folder:{tmp_path}", on_bad_file="skip", report_bad=reported.append)
    assert isinstance(data.train, Images)
    assert len(data.train) == 1
    assert reported == [tmp_path / "2.png"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("cifar", "cifar10"), ("fashion_small", "fashion-small"), ("folder:", "folder:PATH"), ("npy:a.npz", "npz:PATH")],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(name, nearest):
    with pytest.raises(
        UserError, match=rf"imagenet100, folder:PATH, npz:PATH, got '{name}'; did you mean '{nearest}'\?$"
    ):
        load(name)
