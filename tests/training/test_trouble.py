"""When a line is said, once, and what it says."""

import pytest

from nonneg.training.trouble import diverged, feature_warning

REMEDY = "try model.activation=rep_relu or a lower optimiser.lr."


def told(alive, dimensions=100, non_negative=True):
    """The line of each epoch, as a run asks for it."""
    rows = [{"epoch": epoch, "alive": float(count)} for epoch, count in enumerate(alive, 1)]
    found = [feature_warning(rows[: i + 1], dimensions, non_negative) for i in range(len(rows))]
    return {epoch: line for epoch, line in enumerate(found, 1) if line is not None}


def test_a_healthy_run_is_silent():
    assert told([100, 90, 80, 80, 70, 60, 55]) == {}
    assert told([12, 11, 10, 12]) == {}
    assert told([float("nan")]) == {}


def test_collapse_is_said_when_it_happens_and_again_if_it_comes_back():
    line = "Epoch {}: every dimension is dead (collapse); " + REMEDY
    assert told([0]) == {1: line.format(1)}
    assert told([100, 0, 0, 0, 90, 0]) == {2: line.format(2), 6: line.format(6)}
    assert told([0, 0], non_negative=False) == {1: line.format(1)}


@pytest.mark.parametrize("non_negative", [True, False])
def test_few_alive_dimensions_are_said_once(non_negative):
    found = told([11, 10, 9, 8, 7, 12, 9], non_negative=non_negative)
    assert found == {3: f"Epoch 3: 9 of 100 dimensions are alive; {REMEDY}"}


def test_a_fall_by_more_than_half_in_five_epochs_is_said_once():
    found = told([100, 90, 80, 70, 60, 49, 40, 39, 38])
    assert found == {6: f"Epoch 6: alive dimensions fell from 100 to 49 in 5 epochs; {REMEDY}"}
    assert told([100, 50]) == {}
    assert told([100, 90, 80, 70, 60, 55, 50, 45, 41, 38, 36]) == {}  # slowly, over more than five


def test_a_control_may_have_any_number_alive():
    assert told([100, 30, 20, 10], non_negative=False) == {}


def test_a_loss_that_is_no_number_is_told_with_where_and_what_to_try():
    error = diverged("a finite loss, got nan", "epoch 3, step 17 of 46", 0.123456, "The last good checkpoint is x.")
    assert str(error) == (
        "Expected a finite loss, got nan at epoch 3, step 17 of 46 with a learning rate of 0.123; try a lower "
        "optimiser.lr, more schedule.warm_up_epochs or hardware.precision=float32. The last good checkpoint is x."
    )
