"""Batches: the shares of several processes are the batch of one, a later start is a later part, bad files are named."""

import os
import signal
import threading

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import Batches, batches, evaluation_batches, views
from nonneg.data.views import ViewSettings
from tests.data.pictures import files, images, noise, save

CPU = torch.device("cpu")
SETTINGS = ViewSettings(size=9, solarise=0.2)


def batches_of(split, batch_size=6, seed=0, **more):
    return Batches(split, SETTINGS, batch_size=batch_size, view_count=2, seed=seed, device=CPU, **more)


@pytest.fixture(params=["in memory", "files", "files, some bad"])
def split(request, tmp_path):
    if request.param == "in memory":
        return images(27, side=10)
    return files(tmp_path, 27, bad=(3, 4, 11, 20) if "bad" in request.param else ())


def assert_same(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second) > 0
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.labels, b.labels)
        assert len(a.views) == len(b.views)
        assert all(torch.equal(x, y) for x, y in zip(a.views, b.views, strict=True))


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_processes_shares_together_are_the_batch_of_one(split, processes):
    whole = list(batches_of(split, on_bad_file="skip"))
    shares = [list(batches_of(split, on_bad_file="skip", rank=r, processes=processes)) for r in range(processes)]
    assert len(whole) == 4
    for step, batch in enumerate(whole):
        of_step = [share[step] for share in shares]
        assert torch.equal(torch.cat([share.labels for share in of_step]), batch.labels)
        for number in range(2):
            together = torch.cat([share.views[number] for share in of_step])
            torch.testing.assert_close(together, batch.views[number], rtol=0, atol=1e-6)


@pytest.mark.parametrize("first_step", [0, 1, 3])
def test_starting_later_gives_what_a_whole_epoch_gives_from_there(split, first_step):
    whole = list(batches_of(split, on_bad_file="skip", epoch=2))
    assert_same(batches_of(split, on_bad_file="skip", epoch=2, first_step=first_step), whole[first_step:])


def test_starting_at_the_end_gives_nothing(split):
    assert list(batches_of(split, on_bad_file="skip", first_step=4)) == []


def test_epochs_and_steps_can_be_set_between_two_iterations(split):
    reused = batches_of(split, on_bad_file="skip")
    list(reused)
    reused.epoch, reused.first_step = 1, 2
    assert_same(reused, batches_of(split, on_bad_file="skip", epoch=1, first_step=2))


def test_every_sample_comes_at_most_once_an_epoch_and_epochs_are_shuffled_apart():
    split = images(27, side=10)
    epochs = [torch.cat([batch.labels for batch in batches_of(split, epoch=epoch)]) for epoch in range(30)]
    for order in epochs:
        assert len(order) == 24 == len(set(order.tolist()))
    assert len({tuple(order.tolist()) for order in epochs}) == 30
    assert set(torch.cat(epochs).tolist()) == set(range(27))


def test_labels_are_those_of_the_pictures_that_are_viewed():
    split = images(8, side=9)
    plain = ViewSettings(size=9, crop=(1.0, 1.0), flip=0, jitter=0, grey=0, blur=0)
    (batch,) = Batches(split, plain, batch_size=8, view_count=1, seed=0, device=CPU)
    for view, label in zip(batch.views[0], batch.labels, strict=True):
        # A box of the whole area is square only at times; its colours are the picture's whatever it is.
        means = split.pixels.float().mean((2, 3)) / 255
        assert (means - view.mean((1, 2))).abs().sum(1).argmin() == label


def test_views_of_a_picture_differ_from_view_to_view_step_to_step_epoch_to_epoch_and_seed_to_seed(tmp_path):
    same = noise(1, 3, 10, 10).expand(27, -1, -1, -1).contiguous()
    in_memory = images(27)
    in_memory = type(in_memory)(same, in_memory.labels)
    made = [
        view
        for epoch in (0, 1)
        for seed in (0, 1)
        for b in batches_of(in_memory, epoch=epoch, seed=seed)
        for view in b.views
    ]
    assert len({view.numpy().tobytes() for batch in made for view in batch}) == 2 * 2 * 4 * 2 * 6


def test_crops_of_a_file_differ_from_view_to_view_epoch_to_epoch_and_seed_to_seed(tmp_path):
    split = files(tmp_path, 1)
    plain = ViewSettings(size=9, flip=0, jitter=0, grey=0, blur=0)
    made = [
        view
        for epoch in (0, 1)
        for seed in (0, 1)
        for batch in Batches(split, plain, batch_size=1, view_count=2, seed=seed, device=CPU, epoch=epoch)
        for view in batch.views
    ]
    assert len({view.numpy().tobytes() for view in made}) == 8


def test_a_file_is_cropped_as_it_would_be_in_memory(tmp_path):
    """Pillow's resize on whole numbers beside ours, within a rounding or two."""
    pixels = np.stack([save(tmp_path / f"{i}.png", 20, 16, seed=i) for i in range(6)])
    split = files(tmp_path / "none", 0)
    split = type(split)(tuple(tmp_path / f"{i}.png" for i in range(6)), torch.arange(6))
    (batch,) = batches_of(split)
    for number in range(2):
        draws = views.draw(SETTINGS, 6, (9, 9), batches._seeds.generator(0, "view", 0, 0, number))
        boxes = torch.stack(
            [
                views.draw_crops(
                    SETTINGS.crop, torch.tensor([[20, 16]] * 2), batches._seeds.generator(0, "crop", 0, int(i))
                )[number]
                for i in batch.labels
            ]
        )
        whole = torch.from_numpy(pixels[batch.labels]).permute(0, 3, 1, 2)
        made = views.make(whole, draws._replace(crop=boxes), SETTINGS)
        assert (made - batch.views[number]).abs().mean() < 3 / 255


def test_sets_without_labels_have_batches_without(tmp_path):
    unlabelled = images(8, labelled=False)
    assert all(batch.labels is None for batch in batches_of(unlabelled))


def test_one_view_or_three_are_made_as_asked():
    split = images(6, side=10)
    for count in (1, 3):
        (batch,) = Batches(split, SETTINGS, batch_size=6, view_count=count, seed=0, device=CPU)
        assert [tuple(view.shape) for view in batch.views] == [(6, 3, 9, 9)] * count


def test_everybodys_random_numbers_are_left_alone(split):
    before = torch.get_rng_state()
    list(batches_of(split, on_bad_file="skip"))
    list(evaluation_batches(split, 9, CPU, on_bad_file="skip"))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_number_of_steps_is_that_of_whole_batches():
    assert [len(batches_of(images(n), batch_size=6)) for n in (6, 11, 12)] == [1, 1, 2]


@pytest.mark.parametrize("batch_size", [28, 0])
def test_a_batch_larger_than_the_data_or_empty_is_refused(batch_size):
    with pytest.raises(UserError, match=rf"between 1 and 27, the number of training samples, got {batch_size}\."):
        batches_of(images(27), batch_size=batch_size)


def test_a_batch_that_cannot_be_shared_evenly_is_refused():
    with pytest.raises(UserError, match=r"that 4 processes can share evenly, got 6\."):
        batches_of(images(27), processes=4)


# Workers


def test_workers_give_what_the_main_process_does(tmp_path):
    split = files(tmp_path, 27, bad=(3, 4, 11, 20))
    reported = {0: [], 2: []}
    made = {
        workers: list(batches_of(split, workers=workers, on_bad_file="skip", report_bad=reported[workers].append))
        for workers in (0, 2)
    }
    assert_same(made[0], made[2])
    assert reported[0] == reported[2] != []


def test_workers_give_pictures_to_measure_in_order(tmp_path):
    split = files(tmp_path, 27, bad=(3, 4, 11, 20))
    found = [list(evaluation_batches(split, 9, CPU, 5, workers, "skip")) for workers in (0, 2)]
    for (numbers, pixels), (others, other_pixels) in zip(*found, strict=True):
        assert torch.equal(numbers, others)
        assert torch.equal(pixels, other_pixels)


def test_workers_start_beside_threads_use_one_each_and_leave_signals_to_the_main_process(tmp_path):
    split = files(tmp_path, 4)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.rand(300, 300) @ torch.rand(300, 300)  # the threads are there
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        ((_, told),) = batches._decoded(split, [torch.arange(4)], _tell, 2, CPU, "fatal", print)
    finally:
        done.set()
        other.join()
        torch.set_num_threads(before)
    assert os.getpid() not in told[:, 0].tolist()
    assert told[:, 1:].tolist() == [[1, True, True]] * 4


def _tell(index, picture):
    ignored = [signal.getsignal(number) == signal.SIG_IGN for number in (signal.SIGINT, signal.SIGTERM)]
    return np.array([os.getpid(), torch.get_num_threads(), *ignored])


# Bad files


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_file_ends_it_by_default_in_one_line_that_names_it(tmp_path, workers):
    split = files(tmp_path, 6, bad=(2,))
    for iteration in (batches_of(split, workers=workers), evaluation_batches(split, 9, CPU, workers=workers)):
        with pytest.raises(UserError) as caught:
            list(iteration)
        assert str(caught.value) == (
            f"Expected a picture, got {split.paths[2]}, which can't be decoded (UnidentifiedImageError); mend or "
            "remove it, or set data.on_bad_file=skip."
        )


def test_a_bad_file_that_is_skipped_is_reported_once_and_missing_from_its_batch(tmp_path):
    split, reported = files(tmp_path, 12, bad=(2, 7)), []
    made = batches_of(split, on_bad_file="skip", report_bad=reported.append)
    for epoch in range(3):
        made.epoch = epoch
        labels = torch.cat([batch.labels for batch in made])
        assert sorted(labels.tolist()) == [0, 1, 3, 4, 5, 6, 8, 9, 10, 11]
    assert sorted(reported) == [split.paths[2], split.paths[7]]


def test_skipping_leaves_the_views_of_the_others_as_they_were(tmp_path):
    good, bad = files(tmp_path / "good", 6), files(tmp_path / "bad", 6, bad=(4,))
    (whole,), (less,) = batches_of(good), batches_of(bad, on_bad_file="skip")
    kept = whole.labels != 4
    assert torch.equal(less.labels, whole.labels[kept])
    for number in range(2):
        assert torch.equal(less.views[number], whole.views[number][kept])


def test_a_batch_without_one_good_file_is_refused(tmp_path):
    split = files(tmp_path, 6, bad=range(6))
    with pytest.raises(UserError, match=r"got a batch without one, with .*00\d\.png in it"):
        list(batches_of(split, on_bad_file="skip"))


# To measure


def test_pictures_to_measure_come_whole_and_in_order():
    split = images(10, side=9)
    found = list(evaluation_batches(split, 9, CPU, batch_size=4))
    assert [numbers.tolist() for numbers, _ in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert torch.equal(torch.cat([pixels for _, pixels in found]), split.pixels.float() / 255)


def test_files_to_measure_are_their_middle_and_skipped_ones_leave_a_gap_in_the_numbers(tmp_path):
    split, reported = files(tmp_path, 10, bad=(0, 1, 2, 5)), []
    found = list(evaluation_batches(split, 6, CPU, 3, on_bad_file="skip", report_bad=reported.append))
    assert [numbers.tolist() for numbers, _ in found] == [[3, 4], [6, 7, 8], [9]]  # of the first three none is left
    assert reported == [split.paths[i] for i in (0, 1, 2, 5)]
    assert [tuple(pixels.shape) for _, pixels in found] == [(2, 3, 6, 6), (3, 3, 6, 6), (1, 3, 6, 6)]


def test_the_middle_is_seven_eighths_of_the_shorter_side(tmp_path):
    pixels = save(tmp_path / "0.png", 24, 16, seed=0)
    split = files(tmp_path / "none", 0)
    split = type(split)((tmp_path / "0.png",), None)
    ((numbers, middle),) = evaluation_batches(split, 14, CPU)
    assert numbers.tolist() == [0]
    assert torch.equal(middle[0], torch.from_numpy(pixels[5:19, 1:15]).permute(2, 0, 1).float() / 255)


def test_nothing_to_measure_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"got none in 3 files\."):
        list(evaluation_batches(files(tmp_path, 3, bad=range(3)), 9, CPU, on_bad_file="skip"))
