"""Runs: the same again from the same seed, the same after any stop, and plain words for what can't be."""

import json
import math
import os
import signal

import pytest
import torch
from torch import nn

from nonneg import _seeds, losses, models, training
from nonneg._errors import UserError
from nonneg.data import Batches, DataSet, views
from nonneg.training import Interrupted, RunFolder
from tests.data import pictures
from tests.training import tiny

METHODS = {
    "simclr": {},
    "spectral": {"method": {"name": "simclr", "loss": "spectral"}},
    "supcon": {"method": {"name": "supcon"}},
    "ce": {"method": {"name": "ce"}},
    "nce": {"method": {"name": "nce"}},
}


def train(folder, recipe=None, watcher=None, data=None, **changes):
    """With batch norms and all, unless the recipe says otherwise."""
    recipe = recipe or tiny.recipe(**changes)
    backbone = tiny.backbone() if recipe.model.backbone == "custom" else None
    return training.train(recipe, folder, data=data or tiny.data(), backbone=backbone, watcher=watcher)


def resume(folder, changes=(), watcher=None, backbone=None):
    return training.resume(folder, changes, data=tiny.data(), backbone=backbone, watcher=watcher)


def steps_done(folder):
    path = RunFolder(folder).last_checkpoint
    return torch.load(path, weights_only=True)["progress"]["step"] if path.exists() else 0


# The same again


@pytest.mark.parametrize("name", METHODS)
def test_the_same_recipe_and_seed_end_at_the_same_weights_bit_for_bit(name, tmp_path):
    seen = tiny.Recorder(), tiny.Recorder()
    first = train(tmp_path / "a", watcher=seen[0], **METHODS[name])
    torch.manual_seed(123)  # what was drawn before has no say
    torch.rand(100)
    again = train(tmp_path / "b", watcher=seen[1], **METHODS[name])
    assert tiny.weights(first) == tiny.weights(again)
    assert seen[0].losses == seen[1].losses
    assert first.recipe.read_text() == again.recipe.read_text()
    other = train(tmp_path / "c", seed=1, **METHODS[name])
    ours, theirs = (models.load(run.path).state_dict() for run in (first, other))
    assert not any(torch.equal(ours[key], theirs[key]) for key in ours if key.endswith("weight"))


@pytest.mark.parametrize("name", METHODS)
def test_what_is_learnt_is_learnt_well(name, tmp_path):
    """Four colours can be told apart: losses fall, and those who see labels are right."""
    seen = tiny.Recorder()
    recipe = tiny.recipe(epochs=16, optimiser={"lr": 0.1}, **METHODS[name])
    run = train(tmp_path / "run", recipe, watcher=seen)
    early, late = (sum(part) / 8 for part in (seen.losses[:8], seen.losses[-8:]))
    assert late < early - 0.1
    assert seen.steps == list(range(1, 65))
    if name in ("ce", "nce"):
        assert json.loads(run.metrics.read_text())["training"]["accuracy"]["value"] > 0.9
        assert seen.rows[-1]["accuracy"] > 0.9
    else:
        assert not run.metrics.exists()
    assert models.load(run.path).settings.activation == "rep_relu"


def test_the_first_steps_are_those_of_a_loop_by_hand(tmp_path):
    """Views, loss, optimiser and learning rate, put together without the run."""
    recipe = tiny.custom(optimiser={"name": "sgd", "lr": 0.5, "weight_decay": 0.0}, schedule={"warm_up_epochs": 0.5})
    seen = tiny.Recorder()
    run = train(tmp_path / "run", recipe, watcher=seen)
    data = tiny.data()
    resolved = training.recipes.read_file(run.recipe)
    backbone = tiny.backbone()
    torch.manual_seed(_seeds.seed_of(0, "weights"))
    model = models.Model(resolved.model, backbone)
    optimiser = torch.optim.SGD(model.parameters(), 1.0, momentum=0.9)
    found = []
    for step in range(12):
        batches = Batches(data.train, recipe.views, 16, 2, 0, torch.device("cpu"), epoch=step // 4, first_step=step % 4)
        x1, x2 = next(iter(batches)).views
        loss = losses.InfoNCE(0.2)(model.features(x1), model.features(x2))
        peak = 0.5 * 16 / 256
        rate = peak * (step + 1) / 2 if step < 2 else peak * (1 + math.cos(math.pi * (step - 2) / 10)) / 2
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    assert seen.losses == pytest.approx(found, rel=1e-4)
    after = models.load(run.path, tiny.backbone()).state_dict()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(after[name], tensor, rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.parametrize("precision", ["bfloat16", "float64"])
def test_other_precisions_train_and_go_on_too(precision, tmp_path):
    recipe = tiny.recipe(hardware={"precision": precision}, data={"workers": 0})
    whole = train(tmp_path / "whole", recipe)
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", recipe, watcher=tiny.Recorder(6, tiny.kill))
    assert tiny.weights(resume(tmp_path / "run")) == tiny.weights(whole)
    dtypes = {p.dtype for p in models.load(whole.path).parameters()}
    assert dtypes == {torch.float64 if precision == "float64" else torch.float32}


def test_the_layout_in_memory_changes_rounding_alone(tmp_path):
    runs = [
        train(tmp_path / str(last), epochs=1, hardware={"channels_last": last, "precision": "float64"})
        for last in (True, False)
    ]
    ours, theirs = (models.load(run.path).state_dict() for run in runs)
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=1e-6, atol=1e-8, msg=name)


# Stopped and resumed

OPTIMISERS = {
    "lars": {"name": "lars", "lr": 2.0},
    "adamw": {"name": "adamw", "lr": 0.03},
    "sgd": {"name": "sgd", "lr": 0.5},
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [1, 4, 6, 11])
def test_a_signal_saves_says_how_to_go_on_and_the_run_ends_as_if_nothing_had_been(number, after, tmp_path):
    whole = train(tmp_path / "whole")
    stop = tiny.Recorder(after, lambda: os.kill(os.getpid(), number))
    with pytest.raises(Interrupted) as caught:
        train(tmp_path / "run", watcher=stop)
    assert caught.value.exit_status == 128 + number
    epoch, step = divmod(after - 1, 4)
    assert str(caught.value) == (
        f"Stopped after epoch {epoch + 1}, step {step + 1} of 4; everything is saved. Go on with: nonneg train "
        f"--resume {tmp_path / 'run'}"
    )
    assert stop.ended == 1
    assert stop.steps[-1] == after == steps_done(tmp_path / "run")
    assert not RunFolder(tmp_path / "run").is_done()
    rest = tiny.Recorder()
    run = resume(tmp_path / "run", watcher=rest)
    assert rest.steps == list(range(after + 1, 13))
    assert rest.plans[0].first_step == after
    assert tiny.weights(run) == tiny.weights(whole)


def test_a_signal_in_the_last_step_comes_too_late_to_stop_a_run(tmp_path):
    run = train(tmp_path / "run", watcher=tiny.Recorder(12, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    assert run.is_done()


@pytest.mark.parametrize(
    ("name", "every_minutes", "after", "saved"),
    [
        *(("adamw", 1e-9, after, after - 1) for after in (1, 6, 8, 12)),
        *(("adamw", 10, after, saved) for after, saved in ((3, 0), (6, 4))),
        ("lars", 1e-9, 7, 6),
        ("sgd", 1e-9, 7, 6),
    ],
)
def test_killed_a_run_goes_on_from_its_last_checkpoint(name, every_minutes, after, saved, tmp_path):
    how = {"optimiser": OPTIMISERS[name], "checkpoints": {"every_minutes": every_minutes}}
    whole = train(tmp_path / "whole", **how)
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=tiny.Recorder(after, tiny.kill), **how)
    assert steps_done(tmp_path / "run") == saved
    rest = tiny.Recorder()
    run = resume(tmp_path / "run", watcher=rest)
    assert rest.steps[0] == saved + 1
    assert tiny.weights(run) == tiny.weights(whole)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_goes_on_in_the_middle_of_an_epoch(name, tmp_path):
    whole = train(tmp_path / "whole", **METHODS[name])
    how = {"checkpoints": {"every_minutes": 1e-9}, **METHODS[name]}
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=tiny.Recorder(7, tiny.kill), **how)
    run = resume(tmp_path / "run")
    assert tiny.weights(run) == tiny.weights(whole)
    if whole.metrics.exists():
        assert run.metrics.read_text() == whole.metrics.read_text()


def test_stopped_after_every_single_step_it_ends_there_too(tmp_path):
    whole = train(tmp_path / "whole", epochs=2, model={"activation": "softplus"})

    def stop():
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(tmp_path / "run", watcher=tiny.Recorder(1, stop), epochs=2, model={"activation": "softplus"})
    for after in range(2, 8):
        with pytest.raises(Interrupted):
            resume(tmp_path / "run", watcher=tiny.Recorder(after, stop))
    assert tiny.weights(resume(tmp_path / "run")) == tiny.weights(whole)


class Dropping(nn.Module):
    """A backbone that draws random numbers of its own."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(tiny.backbone(), nn.Dropout(0.3))

    def forward(self, x):
        return self.network(x)


def test_dropout_draws_the_same_after_a_stop(tmp_path):
    recipe = tiny.custom(checkpoints={"every_minutes": 1e-9})
    data = tiny.data()
    whole = training.train(recipe, tmp_path / "whole", data=data, backbone=Dropping())
    with pytest.raises(tiny.Killed):
        training.train(recipe, tmp_path / "run", data=data, backbone=Dropping(), watcher=tiny.Recorder(6, tiny.kill))
    assert tiny.weights(resume(tmp_path / "run", backbone=Dropping())) == tiny.weights(whole)


def test_a_chunked_run_goes_on_too(tmp_path):
    whole = train(tmp_path / "whole", chunk_size=8)
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", chunk_size=8, watcher=tiny.Recorder(6, tiny.kill))
    assert tiny.weights(resume(tmp_path / "run")) == tiny.weights(whole)


def test_killed_after_its_last_checkpoint_a_run_has_only_its_model_to_write(tmp_path, monkeypatch):
    def killed(*_):
        raise tiny.Killed

    with monkeypatch.context() as patch, pytest.raises(tiny.Killed):
        patch.setattr(models, "save", killed)
        train(tmp_path / "run")
    assert steps_done(tmp_path / "run") == 12
    rest = tiny.Recorder()
    run = resume(tmp_path / "run", watcher=rest)
    assert rest.steps == []
    assert tiny.weights(run) == tiny.weights(train(tmp_path / "whole"))


def test_a_run_that_is_done_stays_as_it_is(tmp_path):
    run = train(tmp_path / "run")
    before = {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in run.path.rglob("*")}
    seen = tiny.Recorder()
    assert resume(tmp_path / "run", watcher=seen) == run
    assert seen.plans == []
    after = {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in run.path.rglob("*")}
    assert after == before
    with pytest.raises(UserError, match="epochs is 3, got 4"):
        resume(tmp_path / "run", ["epochs=4"])


# Trouble


class Breaking(nn.Module):
    """A backbone whose outputs, or whose gradient alone, become infinite at some training step."""

    def __init__(self, step, where="output"):
        super().__init__()
        self.network, self.step, self.where, self.seen = tiny.backbone(), step, where, 0

    def forward(self, x):
        h = self.network(x)
        self.seen += self.training
        if self.training and self.seen == self.step:
            if self.where == "output":
                return h * math.inf
            h.register_hook(lambda gradient: gradient * math.inf)
        return h


@pytest.mark.parametrize(("step", "kept"), [(7, 4), (2, 0), (12, 8)])
@pytest.mark.parametrize("name", ["simclr", "ce"])
def test_a_loss_that_is_no_number_stops_the_run_with_where_and_the_last_good_checkpoint(name, step, kept, tmp_path):
    seen = tiny.Recorder()
    recipe = tiny.custom(optimiser={"name": "sgd", "lr": 0.16}, model={"activation": "identity"}, **METHODS[name])
    with pytest.raises(UserError) as caught:
        training.train(recipe, tmp_path / "run", data=tiny.data(), backbone=Breaking(step), watcher=seen)
    epoch, within = divmod(step - 1, 4)
    rate = 0.01 * (1 + math.cos(math.pi * (step - 1) / 12)) / 2
    checkpoint = tmp_path / "run" / "checkpoints" / "last.ckpt"
    last = f"The last good checkpoint is {checkpoint}." if kept else "No checkpoint was written before it."
    assert str(caught.value) == (
        f"Expected a finite loss, got nan at epoch {epoch + 1}, step {within + 1} of 4 with a learning rate of "
        f"{rate:.3g}; try a lower optimiser.lr, more schedule.warm_up_epochs or hardware.precision=float32. {last}"
    )
    assert steps_done(tmp_path / "run") == kept
    assert seen.ended == 1
    assert seen.steps == list(range(1, step))


@pytest.mark.parametrize("every_minutes", [1e-9, 10])
def test_weights_that_are_no_numbers_are_not_kept_as_good_ones(every_minutes, tmp_path):
    """The loss of a step may be finite and the weights after it not."""
    recipe = tiny.custom(checkpoints={"every_minutes": every_minutes})
    with pytest.raises(UserError, match=r"^Expected finite weights, got others at epoch 2, step 4 of 4 with"):
        training.train(recipe, tmp_path / "run", data=tiny.data(), backbone=Breaking(8, "gradient"))
    assert steps_done(tmp_path / "run") == (7 if every_minutes < 1 else 4)
    saved = torch.load(RunFolder(tmp_path / "run").last_checkpoint, weights_only=True)
    assert all(value.isfinite().all() for value in saved["objective"].values())


def test_collapse_is_told(tmp_path):
    backbone = tiny.backbone()
    seen = tiny.Recorder()
    recipe = tiny.custom(model={"projector": [], "activation": "relu"})
    with torch.no_grad():
        backbone[1].bias.fill_(-100)
    training.train(recipe, tmp_path / "run", data=tiny.data(), backbone=backbone, watcher=seen)
    assert seen.lines == [
        "Epoch 1: every dimension is dead (collapse); try model.activation=rep_relu or a lower optimiser.lr."
    ]


# Fine-tuning


def test_a_run_begins_with_the_backbone_of_another_and_a_head_of_its_own(tmp_path):
    before = train(tmp_path / "before", model={"mean": [0.4, 0.5, 0.6], "std": [0.3, 0.2, 0.1]})
    how = {"method": {"name": "ce"}, "start_from": str(before.path), "optimiser": {"name": "sgd", "lr": 1e-9}}
    after = train(tmp_path / "after", epochs=1, **how)
    source, made = (models.load(run.path) for run in (before, after))
    assert made.settings == source.settings
    for (name, p), q in zip(source.backbone.named_parameters(), made.backbone.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6, msg=name)
    assert not torch.allclose(source.projector[0].weight, made.projector[0].weight, atol=1e-3)
    scratch = models.load(train(tmp_path / "scratch", epochs=1, **how | {"start_from": None}).path)
    assert not torch.allclose(source.backbone.stem.weight, scratch.backbone.stem.weight, atol=1e-3)


def test_fine_tuning_killed_goes_on_without_the_run_that_it_began_with(tmp_path):
    before = train(tmp_path / "before", epochs=1)
    how = {"method": {"name": "ce"}, "start_from": str(before.path)}
    whole = train(tmp_path / "whole", **how)
    for name, after in (("early", 2), ("late", 6)):
        with pytest.raises(tiny.Killed):
            train(tmp_path / name, watcher=tiny.Recorder(after, tiny.kill), **how)
    assert tiny.weights(resume(tmp_path / "early")) == tiny.weights(whole)  # before its first checkpoint
    before.model.unlink()
    assert tiny.weights(resume(tmp_path / "late")) == tiny.weights(whole)


def test_a_backbone_of_ones_own_can_be_begun_with_too(tmp_path):
    before = train(tmp_path / "before", tiny.custom(epochs=1))
    recipe = tiny.custom(
        epochs=1, method={"name": "ce"}, start_from=str(before.path), optimiser={"name": "sgd", "lr": 1e-9}
    )
    other = tiny.backbone()
    nn.init.zeros_(other[1].weight)
    after = training.train(recipe, tmp_path / "after", data=tiny.data(), backbone=other)
    weights = [models.load(run.path, tiny.backbone()).backbone[1].weight for run in (before, after)]
    torch.testing.assert_close(*weights)


def test_a_backbone_that_the_data_doesnt_fit_is_refused_before_a_folder_is_made(tmp_path):
    before = train(tmp_path / "before", epochs=1)
    grey = DataSet("grey", pictures.images(32, channels=1), None, tuple(map(str, range(32))))
    with pytest.raises(UserError) as caught:
        train(tmp_path / "after", data=grey, start_from=str(before.path))
    assert "\n" not in str(caught.value)
    assert "1 channel" in str(caught.value)
    assert not (tmp_path / "after").exists()


def test_a_run_to_begin_with_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^Expected a run's folder or a \.safetensors file, got "):
        train(tmp_path / "run", start_from=str(tmp_path / "nothing"))
    assert list(tmp_path.iterdir()) == []


# Supervised


@pytest.mark.parametrize("name", ["ce", "nce"])
@pytest.mark.parametrize("test", [True, False])
def test_the_accuracy_of_a_run_is_that_of_its_model_and_head_by_hand(name, test, tmp_path):
    data = tiny.data(test=test)
    recipe = tiny.recipe(epochs=1, optimiser={"lr": 0.01}, **METHODS[name])
    run = train(tmp_path / "run", recipe, data=data)
    head = torch.load(run.last_checkpoint, weights_only=True)["objective"]
    part = data.test if test else data.train
    with torch.no_grad():
        z = models.load(run.path).features(views.centre_crop(part.pixels, 8))
    if name == "ce":
        scores = z @ head["method.classifier.weight"].T + head["method.classifier.bias"]
    else:
        scores = z @ head["method.loss.weight"].T
    accuracy = (scores.argmax(1) == part.labels).double().mean()
    metrics = json.loads(run.metrics.read_text())["training"]
    assert metrics["accuracy"] == {"value": pytest.approx(float(accuracy)), "n": len(part)}
    assert 0 < metrics["accuracy"]["value"] < 1
    assert metrics.keys() == {"accuracy", "sparsity", "alive", "consistency"}


# What can't be


def test_a_batch_that_is_larger_than_the_data_leaves_no_folder(tmp_path):
    with pytest.raises(UserError, match=r"^Expected a batch_size between 1 and 64, the number of training samples"):
        train(tmp_path / "run", batch_size=65)
    assert list(tmp_path.iterdir()) == []


def test_a_module_without_a_name_for_it_and_a_name_without_a_module_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"^Expected no module with the backbone 'small', got a Sequential"):
        training.train(tiny.recipe(), tmp_path / "run", data=tiny.data(), backbone=tiny.backbone())
    with pytest.raises(UserError, match=r"^Expected a module with the backbone 'custom', got none"):
        training.train(tiny.custom(), tmp_path / "run", data=tiny.data())
    assert list(tmp_path.iterdir()) == []


# Pictures in files


@pytest.mark.parametrize("small", [True, False])
def test_a_bad_file_that_is_skipped_is_told_once(small, tmp_path):
    """Small pictures are decoded when they are loaded, others when they are needed."""
    for number in range(24):
        side = 10 if small else 10 + number % 3
        pictures.save(tmp_path / "pictures" / "ab"[number % 2] / f"{number:02}.png", side, side, seed=number)
    bad = tmp_path / "pictures" / "a" / "04.png"
    bad.write_text("no picture")
    seen = tiny.Recorder()
    recipe = tiny.recipe(
        data={"name": f"folder:{tmp_path / 'pictures'}", "on_bad_file": "skip", "workers": 0},
        batch_size=6,
        model={"projector": [6]},
    )
    run = training.train(recipe, tmp_path / "run", watcher=seen)
    assert seen.lines == [f"Skipped {bad}, which can't be decoded."]
    assert run.is_done()
    assert len(seen.plans) == 1
    fatal = recipe.model_copy(update={"data": recipe.data.model_copy(update={"on_bad_file": "fatal"})})
    with pytest.raises(UserError, match=rf"^Expected a picture, got {bad}, which can't be decoded"):
        training.train(fatal, tmp_path / "fatal")


def test_workers_that_decode_leave_a_run_as_it_would_be_without(tmp_path):
    for number in range(12):
        pictures.save(tmp_path / "pictures" / f"{number:02}.png", 10 + number, 12, seed=number)
    runs = [
        training.train(
            tiny.recipe(data={"name": f"folder:{tmp_path / 'pictures'}", "workers": workers}, batch_size=6, epochs=2),
            tmp_path / str(workers),
        )
        for workers in (0, 2)
    ]
    assert tiny.weights(runs[0]) == tiny.weights(runs[1])


# What is told


def test_a_watcher_is_told_the_plan(tmp_path):
    seen = tiny.Recorder()
    train(tmp_path / "run", watcher=seen, name="mine")
    (plan,) = seen.plans
    assert (plan.name, plan.folder, plan.device, plan.precision) == ("mine", tmp_path / "run", "cpu", "float32")
    assert (plan.processes, plan.epochs, plan.steps, plan.first_step) == (1, 3, 4, 0)
    assert (plan.views_a_step, plan.dimensions) == (32, 8)
    assert seen.ended == 1
