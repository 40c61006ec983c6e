"""A run in this process: it is made, begins or goes on, and leaves a model."""

import copy
import json
import math
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import Tensor, nn

from nonneg import _files, _seeds, models
from nonneg._errors import UserError
from nonneg.activations import is_non_negative
from nonneg.data import Batches, DataSet, Split
from nonneg.models import Model
from nonneg.training import checkpoint, hardware, interruption, logs, statistics, trouble
from nonneg.training.checkpoint import Progress
from nonneg.training.methods import Shape
from nonneg.training.objective import Objective
from nonneg.training.optimisers import learning_rate
from nonneg.training.recipe import Recipe, resolve
from nonneg.training.run_folder import RunFolder
from nonneg.training.watcher import Plan, Silent, Watcher

__all__ = ["Run"]

# Steps between two looks at the losses on an accelerator, which waits for its work to be done at each.
_LOOK_EVERY = 16


class Run:
    """The state of one training process."""

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        data: DataSet | None,
        backbone: nn.Module | None,
        watcher: Watcher | None,
    ) -> None:
        """All that may refuse the recipe, before anything is written."""
        self.folder = folder
        self.fabric = hardware.build_fabric(recipe.hardware)
        self.bad_files: list[Path] = []
        self.data = recipe.data.load(self.bad_files.append) if data is None else data
        self.recipe = resolve(recipe, self.data)
        self.objective = _objective(self.recipe, self.data, backbone)
        if recipe.start_from is not None and not folder.last_checkpoint.exists():
            _start_from(recipe.start_from, self.objective.model, backbone)
        logs.check(recipe)
        self.sample = self.data.evaluated().thinned(statistics.SAMPLE)
        self.watcher = watcher or Silent()
        self.progress = Progress()

    def train(self, begin: bool) -> None:
        hardware.prepare(self.fabric, self.recipe.hardware)
        if not self.fabric.is_global_zero:
            self.watcher = Silent()
        self.batches = self._batches()
        self.began_at = self.saved_at = time.monotonic()
        with ExitStack() as held:
            self._agreed(lambda: self._take_folder(held, begin))
            self._set_up()
            self.logs = logs.open_logs(self.recipe, self.folder.path, len(self.progress.rows)) if self._writes() else []
            for log in self.logs:
                held.callback(log.close)
            held.callback(self.watcher.ends)
            self.watcher.begins(self._plan())
            for path in self.bad_files:
                self._tell_bad_file(path)
            self.request = held.enter_context(interruption.listening())
            for epoch in range(self.progress.step // len(self.batches), self.recipe.epochs):
                self._epoch(epoch)
            self._finish()

    def _take_folder(self, held: ExitStack, begin: bool) -> None:
        if begin:
            self.folder.check_new()  # before a lock is put into somebody else's folder
        held.enter_context(self.folder.locked())
        if begin:
            self.folder.begin(self.recipe)

    def _set_up(self) -> None:
        recipe, fabric, objective = self.recipe, self.fabric, self.objective
        if recipe.hardware.sync_batch_norm and fabric.device.type == "cuda":
            objective = nn.SyncBatchNorm.convert_sync_batchnorm(objective)  # type: ignore[no-untyped-call]  # torch gives it no types
        if recipe.hardware.channels_last:
            objective = objective.to(memory_format=torch.channels_last)
        if recipe.hardware.compile:
            objective.model.backbone.compile()
        optimiser = recipe.optimiser.build(objective)
        self.module, self.optimiser = fabric.setup(objective, optimiser)
        self.objective = objective
        if self.folder.last_checkpoint.exists():
            self.progress, scaler = checkpoint.load(self.folder.last_checkpoint, objective, optimiser)
            fabric.strategy.precision.load_state_dict(scaler)

    def _epoch(self, epoch: int) -> None:
        steps, began, first = len(self.batches), time.monotonic(), self.progress.step
        self.batches.epoch, self.batches.first_step = epoch, first - epoch * steps
        look_every = 1 if self.fabric.device.type == "cpu" else _LOOK_EVERY
        last = (epoch + 1) * steps - 1
        self.module.train()
        unseen: list[Tensor] = []
        for step, batch in enumerate(self.batches, first):
            rate = self._set_rate(step)
            torch.manual_seed(_seeds.seed_of(self.recipe.seed, "step", step, self.fabric.global_rank))
            loss: Tensor = self.module(batch)
            self.fabric.backward(loss)
            self.optimiser.step()
            self.optimiser.zero_grad()
            unseen.append(loss.detach())
            if step == last or len(unseen) == look_every:
                self._look(unseen, rate)
                unseen.clear()
                if step != last:
                    self._save_if_due()
        pace = (last + 1 - first) * self._plan().views_a_step / (time.monotonic() - began)
        self._end_epoch(epoch, rate, pace)

    def _set_rate(self, step: int) -> float:
        schedule, steps = self.recipe.schedule, len(self.batches)
        peak = self.recipe.optimiser.lr * self.recipe.batch_size / 256
        warm_up = round(schedule.warm_up_epochs * steps)
        rate = learning_rate(step, self.recipe.epochs * steps, warm_up, peak, schedule.final * peak)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        return rate

    def _look(self, unseen: Sequence[Tensor], rate: float) -> None:
        """Count the steps whose losses are looked at now, and hear whether a process was asked to stop."""
        losses = torch.stack(list(unseen)).float()
        if self.fabric.world_size > 1:
            asked = torch.tensor(self.request.signal_number or 0, device=losses.device)
            losses = self.fabric.all_reduce(losses, reduce_op="mean")  # type: ignore[assignment]  # a tensor for a tensor
            asked = self.fabric.all_reduce(asked, reduce_op="max")  # type: ignore[assignment]
            self.request.signal_number = int(asked) or None
        for loss in losses.tolist():
            self.progress.step += 1
            if not math.isfinite(loss):
                raise self._diverged(f"a finite loss, got {loss}", rate)
            self.progress.loss_sum += loss
            self.watcher.step(self.progress.step, loss)

    def _save_if_due(self) -> None:
        if self.request.signal_number:
            self._stop()
        elif time.monotonic() - self.saved_at > 60 * self.recipe.checkpoints.every_minutes:
            self._save(self.folder.last_checkpoint)

    def _end_epoch(self, epoch: int, rate: float, pace: float) -> None:
        progress, recipe = self.progress, self.recipe
        if self._writes():
            progress.rows.append(
                {
                    "epoch": epoch + 1,
                    "step": progress.step,
                    "loss": progress.loss_sum / len(self.batches),
                    "learning_rate": rate,
                    **self._describe(self.sample),
                    "views_per_second": pace,
                    "seconds": self._seconds(),
                }
            )
            logs.write_csv(self.folder.log, progress.rows)
            for log in self.logs:
                log.add(progress.rows[-1])
            self.watcher.epoch(progress.rows[-1])
            model = recipe.model
            line = trouble.feature_warning(
                progress.rows, self.objective.model.dimensions, is_non_negative(model.activation)
            )
            if line is not None:
                self.watcher.warns(line)
        progress.loss_sum = 0.0
        self._save(self.folder.last_checkpoint)
        keep = recipe.checkpoints.keep_every_epochs
        if keep is not None and (epoch + 1) % keep == 0:
            self._save(self.folder.checkpoint(epoch + 1))
        if self.request.signal_number and epoch + 1 < recipe.epochs:
            self._stop()

    def _describe(self, pictures: Split) -> dict[str, float]:
        model, method = self.objective.model, self.objective.method
        return statistics.describe(model, method, pictures, self.fabric.device, self.recipe.data)

    def _save(self, path: Path) -> None:
        if not all(p.isfinite().all() for p in self.objective.parameters()):  # by the step after a loss that was finite
            raise self._diverged("finite weights, got others", self.optimiser.param_groups[0]["lr"])
        if self._writes():
            self.progress.seconds, self.began_at = self._seconds(), time.monotonic()
            scaler = self.fabric.strategy.precision.state_dict()
            checkpoint.save(path, self.progress, self.objective, self.optimiser.optimizer, scaler)
        self.saved_at = time.monotonic()

    def _stop(self) -> None:
        self._save(self.folder.last_checkpoint)
        number = self.request.signal_number or signal.SIGINT
        raise interruption.Interrupted(
            number,
            f"Stopped after {self._where()}; everything is saved. Go on with: nonneg train --resume {self.folder.path}",
        )

    def _diverged(self, what: str, rate: float) -> UserError:
        saved = self.folder.last_checkpoint
        kept = f"The last good checkpoint is {saved}." if saved.exists() else "No checkpoint was written before it."
        return trouble.diverged(what, self._where(), rate, kept)

    def _where(self) -> str:
        """`epoch 3, step 17 of 46`."""
        epoch, step = divmod(self.progress.step - 1, len(self.batches))
        return f"epoch {epoch + 1}, step {step + 1} of {len(self.batches)}"

    def _finish(self) -> None:
        if self._writes():
            if self.objective.method.predicts:
                pictures = self.data.evaluated()
                found = {key: {"value": value, "n": len(pictures)} for key, value in self._describe(pictures).items()}
                _files.write_text(self.folder.metrics, json.dumps({"training": found}, indent=2) + "\n")
            models.save(self.objective.model, self.folder.model)
        self.fabric.barrier()

    def _seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self.began_at

    def _writes(self) -> bool:
        return self.fabric.is_global_zero

    def _plan(self) -> Plan:
        fabric, recipe = self.fabric, self.recipe
        return Plan(
            name=recipe.name,
            folder=self.folder.path,
            device=str(fabric.device) if fabric.device.type == "cpu" else torch.cuda.get_device_name(fabric.device),
            precision=hardware.precision_name(fabric),
            processes=fabric.world_size,
            epochs=recipe.epochs,
            steps=len(self.batches),
            first_step=self.progress.step,
            views_a_step=recipe.batch_size * self.objective.method.views,
            dimensions=self.objective.model.dimensions,
        )

    def _batches(self) -> Batches:
        recipe, data = self.recipe, self.recipe.data
        return Batches(
            self.data.train,
            recipe.views,
            recipe.batch_size,
            self.objective.method.views,
            recipe.seed,
            self.fabric.device,
            self.fabric.global_rank,
            self.fabric.world_size,
            data.workers,
            data.on_bad_file,
            self._tell_bad_file,
        )

    def _tell_bad_file(self, path: Path) -> None:
        self.watcher.warns(f"Skipped {path}, which can't be decoded.")

    def _agreed(self, action: Callable[[], None]) -> None:
        """Done by the first process alone; what it refuses, every process refuses."""
        refused: UserError | None = None
        if self._writes():
            try:
                action()
            except UserError as error:
                refused = error
        if self.fabric.world_size > 1:
            refused = self.fabric.broadcast(refused)
        if refused is not None:
            raise refused


def _objective(recipe: Recipe, data: DataSet, backbone: nn.Module | None) -> Objective:
    torch.manual_seed(_seeds.seed_of(recipe.seed, "weights"))
    model = Model(recipe.model, backbone)
    method = recipe.method.build(Shape(model.dimensions, max(1, len(data.classes))))
    if method.needs_labels and data.train.labels is None:
        raise UserError(
            f"Expected labelled data for the method {recipe.method.name}, got {data.name}, which has no labels; "
            "choose method.name=simclr or other data."
        )
    return Objective(model, method, recipe.chunk_size, recipe.freeze_backbone)


def _start_from(source: Path, model: Model, backbone: nn.Module | None) -> None:
    weights = models.load(source, copy.deepcopy(backbone)).backbone.state_dict()
    try:
        model.backbone.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(
            f"Expected a backbone as that of {source}, got one for {model.settings.channels} channels and pictures of "
            f"{model.settings.image_size} pixels a side, which its weights don't fit; take data and views as its own."
        ) from error
