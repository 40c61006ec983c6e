"""What a run says in a terminal, and in a file where nobody watches it move."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from nonneg import training
from nonneg.training import progress_bar
from nonneg.training.progress_bar import ProgressBar
from nonneg.training.watcher import Plan
from tests.training import tiny

PLAN = Plan(
    name="tiny-ncl",
    folder=Path("runs/tiny-ncl"),
    device="cpu",
    precision="float32",
    processes=1,
    epochs=4,
    steps=50,
    first_step=0,
    views_a_step=512,
    dimensions=256,
)
ROW = {"epoch": 1, "loss": 4.5678, "sparsity": 0.98765, "alive": 107.0, "views_per_second": 12345.6}


@pytest.fixture
def clock(monkeypatch):
    """Time as told."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress_bar.time, "monotonic", clock.monotonic)
    return clock


def told(clock, terminal, plan=PLAN, first=1, row=ROW):
    """What is printed of 50 steps in 25 seconds and the row of their epoch."""
    out = io.StringIO()
    bar = ProgressBar(Console(file=out, force_terminal=terminal, width=200, color_system=None))
    bar.begins(plan)
    for step in range(first, first + 50):
        clock.now += 0.5
        bar.step(step, 5.0 if step == first else 4.0)
    if terminal:
        bar.bar.refresh()
    bar.epoch(row)
    if terminal:
        clock.now += 0.5
        bar.step(first + 50, 4.0)
        bar.bar.refresh()
    bar.warns("Epoch 1: [all] is not well.")
    bar.ends()
    return out.getvalue()


def test_where_nobody_watches_there_is_a_line_an_epoch_and_nothing_else(clock):
    assert told(clock, terminal=False) == (
        "tiny-ncl begins: 4 epochs of 50 steps on cpu in float32, in runs/tiny-ncl\n"
        "epoch 1/4  loss 4.568  sparsity 98.8%  alive 107/256  12,346 views/s  1:15 left\n"
        "Epoch 1: [all] is not well.\n"
    )


def test_accuracy_is_told_where_there_is_one(clock):
    assert "alive 107/256  accuracy 87.6%  12,346 views/s" in told(clock, False, row=ROW | {"accuracy": 0.8759})


def test_a_run_that_goes_on_says_so_and_is_timed_from_there(clock):
    from dataclasses import replace

    plan = replace(PLAN, first_step=100, processes=2, epochs=40, steps=1000)
    lines = told(clock, False, plan, first=101).splitlines()
    assert lines[0] == "tiny-ncl goes on after step 100 on 2 × cpu in float32, in runs/tiny-ncl"
    # 39,850 steps at half a second
    assert lines[1].endswith("  5:32:05 left")


def test_in_a_terminal_there_is_a_bar_with_all_of_it(clock):
    screen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told(clock, terminal=True))
    # 5, then 49 times 4, each with a weight of a twentieth: 4 + 0.95⁴⁹
    assert "epoch 1/4  loss 4.081  1,024 views/s 1:15 left" in screen
    assert "epoch 2/4  loss 4.077  sparsity 98.8%  alive 107/256  1,024 views/s 1:14 left" in screen
    assert "━" in screen
    assert "Epoch 1: [all] is not well." in screen
    assert "begins: 4 epochs" in screen


def test_the_last_step_is_of_the_last_epoch(clock):
    out = io.StringIO()
    bar = ProgressBar(Console(file=out, force_terminal=True, width=200, color_system=None))
    bar.begins(PLAN)
    for step in range(1, 201):
        clock.now += 0.5
        bar.step(step, 1.0)
    bar.ends()
    assert "epoch 4/4" in out.getvalue()
    assert "epoch 5/4" not in out.getvalue()
    assert bar.left() == 0


def test_a_real_run_in_both(tmp_path):
    for terminal in (False, True):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=200, color_system=None)
        training.train(
            tiny.custom(),
            tmp_path / str(terminal),
            data=tiny.data(),
            backbone=tiny.backbone(),
            watcher=ProgressBar(console),
        )
        lines = [line for line in out.getvalue().splitlines() if line]
        if not terminal:
            assert len(lines) == 4
            assert all(re.match(rf"epoch {i}/3  loss \d\.\d{{3}}  sparsity ", lines[i]) for i in (1, 2, 3))
        assert lines[0].startswith("tiny begins: 3 epochs of 4 steps on cpu in float32, in ")
        assert "Lightning" not in out.getvalue()
