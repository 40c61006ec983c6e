"""The rows are the most expected dimensions with their top pictures, and the figure shows those at their places."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from nonneg.data import Images, load
from nonneg.report import Rows, dimension_rows, draw_rows
from nonneg.training import RunFolder
from tests.data.pictures import files
from tests.finished_runs import array_file, finished_run

# Rows of length 1: expected activation of the training part is (0, 0.6, 0.7, 0.1).
Z_TRAIN = np.array([[0, 0.6, 0.8, 0], [0, 0.6, 0.8, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0.8, 0.2, 0.5657]], np.float32)
Z_TEST = np.array(
    [[0, 1, 0, 0], [0, 3, 4, 0], [0, 0, 5, 0], [0, 0.8, 0.6, 0], [0, 0, 0, 1], [0, 0.28, 0.96, 0]], np.float32
)


@pytest.fixture
def run(tmp_path):
    """Six test pictures of classes 0, 1, 2, 0, 1, 2 and features that are known."""
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=5, n_test=6), dimensions=4)
    put(tmp_path / "run", Z_TRAIN, Z_TEST)
    return tmp_path / "run"


def put(folder, train, test, labelled=True, numbers=None):
    for name, z in (("train", train), ("test", test)):
        n = np.arange(len(z))
        path = RunFolder(folder).features(name)
        path.parent.mkdir(exist_ok=True)
        labels = {"labels": n % 3} if labelled else {}
        np.savez(path, h=z, z=z, numbers=numbers if name == "test" and numbers is not None else n, **labels)


def test_the_rows_are_the_most_expected_dimensions_of_the_training_part_with_their_top_test_pictures(run):
    rows = dimension_rows(run, "NCL", rows=3, columns=4)
    assert rows.dimensions == [1, 2, 3]  # by means 0.6, 0.56 and 0.11
    # Of the rows scaled to length 1: 1, 0.6, 0, 0.8, 0, 0.28 in dimension 1; 0, 0.8, 1, 0.6, 0, 0.96 in dimension 2.
    assert rows.samples[:2].tolist() == [[0, 3, 1, 5], [2, 5, 1, 3]]
    assert rows.samples[2, 0] == 4
    assert rows.title == "NCL"
    assert torch.equal(rows.pictures.pixels, load(f"npz:{run.parent / 'data.npz'}").test.pixels)


def test_a_caption_is_the_main_class_and_its_share_of_all_pictures_that_are_on(run):
    """Not only of those that are shown."""
    rows = dimension_rows(run, "NCL", rows=4, columns=1)
    assert rows.dimensions == [1, 2, 3, 0]
    # Dimension 1 is on for 0, 1, 3 and 5, of classes 0, 1, 0 and 2; dimension 2 for 1, 2, 3 and 5.
    assert rows.captions == ["boot\n50% of 4", "hat\n50% of 4", "coat\n100% of 1", "never on"]


def test_there_are_no_more_rows_and_columns_than_dimensions_and_pictures(run):
    rows = dimension_rows(run, "NCL")
    assert rows.samples.shape == (4, 6)
    draw_rows(run / "a.png", [rows])


def test_unlabelled_pictures_have_no_captions(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=5, n_test=6, labelled=False), dimensions=4)
    put(tmp_path / "run", Z_TRAIN, Z_TEST, labelled=False)
    rows = dimension_rows(tmp_path / "run", "NCL", rows=2, columns=3)
    assert rows.captions == ["", ""]
    assert rows.samples.tolist() == [[0, 3, 1], [2, 5, 1]]
    draw_rows(tmp_path / "a.png", [rows])


def test_signed_features_are_ranked_by_their_mean(tmp_path):
    data = array_file(tmp_path / "data.npz", n=5, n_test=6)
    finished_run(tmp_path / "run", data, activation="identity", dimensions=4)
    put(tmp_path / "run", Z_TRAIN * [1, -1, 1, 1], Z_TEST * [1, -1, 1, 1])
    rows = dimension_rows(tmp_path / "run", "CL", rows=4, columns=2)
    assert rows.dimensions == [2, 3, 0, 1]
    assert rows.samples[3].tolist() == [2, 4]  # none is above 0


def test_pictures_that_were_skipped_are_not_counted(tmp_path):
    """The pictures of the features' rows are shown, which are not the files of the same numbers."""
    for part in ("train", "test"):
        files(tmp_path / "pets" / part / "cat", 9, bad=(2, 4))
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3, on_bad_file="skip", dimensions=4)
    kept = [0, 1, 3, 5, 6, 7, 8]
    put(tmp_path / "run", Z_TRAIN, np.vstack([Z_TEST, Z_TEST[:1]]), labelled=False, numbers=np.array(kept))
    rows = dimension_rows(tmp_path / "run", "NCL", rows=2, columns=3)
    assert rows.samples.tolist() == [[0, 8, 5], [3, 7, 1]]
    draw_rows(tmp_path / "a.png", [rows])


# The figure

PALETTE = torch.tensor([(r, g, b) for r in (0, 90, 180) for g in (20, 100, 200) for b in (60, 160, 250)])


def coloured(*shape, first=0, side=(10, 10)):
    """Rows of pictures, each of a colour of its own, that are not in the order of their numbers."""
    count = int(np.prod(shape))
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
    colours = PALETTE[first : first + count].to(torch.uint8)
    pictures = Images(colours[:, :, None, None].expand(-1, -1, *side).contiguous(), None)
    return Rows("a", list(range(shape[0])), order.reshape(shape), [""] * shape[0], pictures)


def decoded(path):
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return np.asarray(picture.convert("RGB"))


def places(path, rows, first=0):
    """Left, top, width and height of each of the figure's pictures, in pixels: (rows, columns, 4)."""
    pixels = decoded(path).astype(int)
    found = []
    for number in rows.samples.flatten().tolist():
        ys, xs = np.where((np.abs(pixels - PALETTE[first + number].numpy()) < 3).all(2))
        assert len(ys) == (np.ptp(xs) + 1) * (np.ptp(ys) + 1), "a picture is a full rectangle, there once"
        found.append((xs.min(), ys.min(), np.ptp(xs) + 1, np.ptp(ys) + 1))
    return np.array(found).reshape(*rows.samples.shape, 4)


def test_the_figure_shows_each_picture_at_its_place(tmp_path):
    rows = coloured(3, 5)
    draw_rows(tmp_path / "a.png", [rows])
    where = places(tmp_path / "a.png", rows)
    left, top, width, height = where.transpose(2, 0, 1)
    assert (np.ptp(left, 0) == 0).all(), "columns stand below one another"
    assert (np.ptp(top, 1) == 0).all(), "rows stand beside one another"
    assert (np.abs(np.diff(left, axis=1) - 0.62 * 120) < 2).all(), "from left to right, 0.62 inches apart"
    assert (np.abs(np.diff(top, axis=0) - 0.62 * 120) < 2).all(), "from top to bottom"
    assert (np.abs(width / height - 1) < 0.1).all()
    assert height.min() > 60


def test_runs_stand_beside_one_another_whatever_their_sizes(tmp_path):
    first, second = coloured(2, 4), coloured(3, 2, first=8)
    draw_rows(tmp_path / "a.png", [first, second])
    one, other = places(tmp_path / "a.png", first), places(tmp_path / "a.png", second, first=8)
    assert one[..., 0].max() + 60 < other[..., 0].min()
    assert one[0, 0, 1] == other[0, 0, 1]
    assert np.abs(other[..., 2] - one[0, 0, 2]).max() < 4, "pictures are not stretched where there are fewer"


def test_the_middle_square_of_a_picture_is_shown(tmp_path):
    """A wide and a high one, whose ends are of another colour."""
    rows = coloured(1, 2, side=(10, 10))
    for axis in (2, 3):
        ends = torch.full_like(rows.pictures.pixels, 255)
        wide = Images(torch.cat([ends, rows.pictures.pixels, ends], axis), None)
        draw_rows(tmp_path / "a.png", [Rows("a", [0], rows.samples, [""], wide)])
        assert places(tmp_path / "a.png", rows)[0, :, 3].min() > 60


def test_grey_pictures_and_large_files_are_shown_alike(tmp_path):
    grey = Images(torch.tensor([40, 120]).to(torch.uint8)[:, None, None, None].expand(2, 1, 9, 9).contiguous(), None)
    split = files(tmp_path / "pictures", 2)
    for path, value in zip(split.paths, (40, 120), strict=True):
        Image.new("RGB", (200, 150), (value,) * 3).save(path)
    shown = []
    for pictures in (grey, split):
        draw_rows(tmp_path / "a.png", [Rows("a", [0], torch.tensor([[1, 0]]), ["b"], pictures)])
        shown.append(decoded(tmp_path / "a.png")[..., 0])
    assert np.array_equal(*shown)
    counts = [(shown[0] == value).sum() for value in (40, 120)]
    assert min(counts) > 60 * 60
    assert np.where(shown[0] == 120)[1].max() < np.where(shown[0] == 40)[1].min()


@pytest.mark.parametrize(
    "name", ["$x", r"a $\frac{$ b", "Tom & <b>Jerry</b>", "two\nlines\n\nor three", "靴 ⛵", "", "%d {x}"]
)
def test_a_class_may_be_called_anything(tmp_path, name):
    finished_run(tmp_path / "run", array_file(tmp_path / "d.npz", n=5, n_test=6, classes=(name, "b", "c")))
    rows = dimension_rows(tmp_path / "run", name)
    assert all(caption.count("\n") <= 1 for caption in rows.captions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_rows(tmp_path / "new" / "a.png", [rows])
    assert decoded(tmp_path / "new" / "a.png").shape[1] > 500


def test_a_long_name_is_cut_to_its_room(tmp_path):
    names = ("x" * 24, "y" * 25, "z")
    finished_run(tmp_path / "run", array_file(tmp_path / "d.npz", n=5, n_test=6, classes=names), dimensions=4)
    put(tmp_path / "run", Z_TRAIN, np.array([[0, 1, 0, 0], [0, 0, 1, 0]], np.float32))
    captions = dimension_rows(tmp_path / "run", "NCL", rows=2).captions
    assert [caption.partition("\n")[0] for caption in captions] == ["x" * 24, "y" * 23 + "…"]
