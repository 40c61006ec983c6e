"""h and z of the right pictures, in order, made once; and the array file of any other data."""

import re

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import Images, load
from nonneg.data.views import centre_crop
from nonneg.evaluation import extract, features, features_of_run, write_features
from nonneg.models import Model, ModelSettings
from nonneg.training import RunFolder
from tests.data.pictures import files, noise
from tests.finished_runs import CLASSES, array_file, finished_run


@pytest.fixture
def run(tmp_path):
    """A run's folder, its model, its data."""
    data = array_file(tmp_path / "data.npz")
    return tmp_path / "run", finished_run(tmp_path / "run", data), load(data)


def by_hand(model, split):
    """One picture at a time, in evaluation mode."""
    model.eval()
    with torch.no_grad():
        rows = [model.both(picture[None].float() / 255) for picture in split.pixels]
    return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))


def test_they_are_the_models_picture_by_picture(run):
    _, model, data = run
    h, z = by_hand(model, data.train)
    found = extract(model.train(), data.train)
    assert torch.allclose(found.h, h, atol=1e-5)
    assert torch.allclose(found.z, z, atol=1e-5)
    assert h.std(0).max() > 0.1, "the model tells pictures apart"
    assert found.labels.tolist() == data.train.labels.tolist()
    assert found.numbers.tolist() == list(range(36))


def test_more_pictures_than_a_batch_come_in_order_and_are_counted():
    split = Images(noise(520, 1, 8, 8), torch.arange(520))
    told = []
    found = extract(Model(ModelSettings(projector=(4,), channels=1)), split, progress=lambda *n: told.append(n))
    assert told == [(512, 520), (520, 520)]
    assert found.labels.tolist() == list(range(520))
    assert (len(found.h), len(found.z)) == (520, 520)


def test_the_models_modes_and_statistics_are_those_from_before(run):
    _, model, data = run
    model.train()
    model.backbone.eval()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    extract(model, data.test)
    assert model.training
    assert not any(module.training for module in model.backbone.modules())
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, state[name]), name


def test_a_model_in_double_precision_is_asked_in_double_and_answers_in_float32(run):
    _, model, data = run
    single = extract(model, data.test)
    double = extract(model.double(), data.test)
    assert double.h.dtype == double.z.dtype == torch.float32
    assert torch.allclose(double.h, single.h, atol=1e-5)


def test_pictures_of_another_size_are_seen_at_the_models(tmp_path):
    data = load(array_file(tmp_path / "a.npz", side=20))
    model = Model(ModelSettings(projector=(4,), channels=1, image_size=8)).eval()
    with torch.no_grad():
        h = model.encode(centre_crop(data.test.pixels, 8))
    assert torch.allclose(extract(model, data.test).h, h, atol=1e-5)


def test_files_that_are_skipped_leave_rows_labels_and_numbers_aligned(tmp_path):
    model = Model(ModelSettings(projector=(4,), image_size=8)).eval()
    whole = extract(model, files(tmp_path / "whole", 7))
    reported = []
    split = files(tmp_path / "whole", 7, bad=(0, 3))
    found = extract(model, split, on_bad_file="skip", report_bad=reported.append)
    kept = [1, 2, 4, 5, 6]
    assert found.numbers.tolist() == found.labels.tolist() == kept
    assert torch.allclose(found.z, whole.z[kept], atol=1e-6)
    assert reported == [split.paths[0], split.paths[3]]
    with pytest.raises(UserError, match=r"000\.png, which can't be decoded"):
        extract(model, split)


def test_a_runs_features_are_of_its_own_pictures_and_kept(run):
    folder, model, data = run
    for found, split in zip(features_of_run(folder), (data.train, data.test), strict=True):
        h, z = by_hand(model, split)
        assert torch.allclose(found.h, h, atol=1e-5)
        assert torch.allclose(found.z, z, atol=1e-5)
        assert found.labels.tolist() == split.labels.tolist()
    for name, n in (("train", 36), ("test", 24)):
        with np.load(RunFolder(folder).features(name)) as arrays:
            assert {key: arrays[key].shape for key in arrays} == {
                "h": (n, 128),
                "z": (n, 12),
                "labels": (n,),
                "numbers": (n,),
            }


def test_kept_features_are_read_without_data_or_model(run):
    folder, _, _ = run
    made = features_of_run(folder)
    path = RunFolder(folder).features("test")
    np.savez(path, h=made[1].h, z=np.full((24, 12), 7, np.float32), labels=made[1].labels, numbers=np.arange(24))
    RunFolder(folder).model.unlink()
    (folder.parent / "data.npz").unlink()
    read = features_of_run(folder)
    assert torch.equal(read[0].z, made[0].z)
    assert read[1].z.unique().tolist() == [7]


def test_without_a_test_part_the_training_part_is_evaluated_and_without_labels_there_are_none(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "a.npz", n_test=0, labelled=False))
    train, test = features_of_run(tmp_path / "run")
    assert torch.equal(train.z, test.z)
    assert train.labels is None is test.labels


def test_kept_features_that_are_something_else_are_refused(run):
    folder, _, _ = run
    features_of_run(folder)
    path = RunFolder(folder).features("train")
    np.savez(path, features=np.eye(3))
    message = f"Expected h, z and numbers in {path}, got features; remove it to have it made again."
    with pytest.raises(UserError, match=re.escape(message)):
        features_of_run(folder)


def test_a_folder_that_is_no_run_or_not_done_is_refused(run, tmp_path):
    with pytest.raises(UserError, match=r"none/recipe\.yaml, got nothing"):
        features_of_run(tmp_path / "none")
    RunFolder(run[0]).model.unlink()
    with pytest.raises(UserError, match=r"^Expected a run's folder, got .*run, which holds no model\.safetensors"):
        features_of_run(run[0])


@pytest.mark.parametrize("which", ["h", "z"])
def test_an_array_file_of_all_pictures_can_be_read_by_others(run, tmp_path, which):
    _, model, data = run
    write_features(tmp_path / "new" / "f.npz", model, data, which)
    with np.load(tmp_path / "new" / "f.npz") as arrays:
        assert sorted(arrays) == ["classes", "features", "labels", "test_features", "test_labels"]
        for prefix, split in (("", data.train), ("test_", data.test)):
            expected = by_hand(model, split)[0 if which == "h" else 1]
            assert np.allclose(arrays[f"{prefix}features"], expected, atol=1e-5)
            assert arrays[f"{prefix}features"].dtype == np.float32
            assert arrays[f"{prefix}labels"].tolist() == split.labels.tolist()
        assert tuple(arrays["classes"]) == CLASSES
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["f.npz"]


def test_an_array_file_of_unlabelled_pictures_holds_features_alone(run, tmp_path):
    data = load(array_file(tmp_path / "b.npz", n_test=0, labelled=False))
    write_features(tmp_path / "f.npz", run[1], data, "z")
    with np.load(tmp_path / "f.npz") as arrays:
        assert list(arrays) == ["features"]


def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(run, tmp_path, monkeypatch):
    _, model, data = run
    monkeypatch.setattr(features, "extract", lambda *_: pytest.fail("the work was done"))
    (tmp_path / "file").touch()
    for place, reason in ((tmp_path, "Is a directory"), (tmp_path / "file" / "f.npz", "File exists")):
        with pytest.raises(UserError, match=rf"^Expected to be able to write {re.escape(str(place))}, got: {reason}"):
            write_features(place, model, data, "z")
