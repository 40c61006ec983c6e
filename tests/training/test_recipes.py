"""Recipes by name and file, changed from the command line, written and read back, and compared."""

import pytest
import yaml

from nonneg import recipes as shipped
from nonneg._errors import UserError
from nonneg.training import recipes
from nonneg.training.recipe import FREE_ON_RESUME, Recipe
from nonneg.training.recipes import first_difference, read, read_file, write
from tests.training import tiny

NAME = "fashion-small-ncl"


def refused(which, *changes):
    with pytest.raises(UserError) as caught:
        read(which, changes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# By name and file


@pytest.mark.parametrize("name", shipped.names())
def test_every_shipped_recipe_is_valid_and_says_what_it_is(name):
    recipe = read(name)
    assert recipe.name == name
    first = shipped.text(name).splitlines()[0]
    assert first == f"# {shipped.summary(name)}"
    assert len(shipped.summary(name)) > 10
    method = name.removesuffix("-mlp").rpartition("-")[2]
    words = {"cl": "CL", "ncl": "NCL", "ce": "Cross entropy", "nce": "NCE"}
    assert shipped.summary(name).startswith(words[method])
    assert name.startswith(recipe.data.name)


@pytest.mark.parametrize("name", shipped.names())
def test_every_shipped_recipe_is_the_method_of_its_name(name):
    recipe = read(name)
    method, activation, mlp = recipe.method.name, recipe.model.activation, bool(recipe.model.projector)
    if name.endswith("-cl"):
        assert (method, activation) == ("simclr", "identity")
    elif name.endswith("-ncl"):
        assert method == "simclr"
        assert activation in ("rep_relu", "relu")
    else:
        assert method == ("nce" if "-nce" in name else "ce")
        assert mlp == name.endswith("-mlp")


@pytest.mark.parametrize("name", [name for name in shipped.names() if name.endswith("-ncl")])
def test_cl_and_ncl_differ_in_the_activation_alone(name):
    cl, ncl = read(name.replace("-ncl", "-cl")), read(name)
    assert cl == ncl.model_copy(
        update={"name": cl.name, "model": ncl.model.model_copy(update={"activation": "identity"})}
    )


def test_a_file_is_read_and_named_by_its_own_name_unless_it_says_another(tmp_path):
    (tmp_path / "mine.yaml").write_text("epochs: 3\n")
    assert read(str(tmp_path / "mine.yaml")) == Recipe(name="mine", epochs=3)
    (tmp_path / "mine.yaml").write_text("{epochs: 3, name: other}\n")
    assert read(str(tmp_path / "mine.yaml")).name == "other"
    (tmp_path / "no ending").write_text("{epochs: 4}")
    assert read(str(tmp_path / "no ending")).epochs == 4


def test_a_name_that_nobody_knows_gets_the_nearest():
    assert refused("fashion-smal-ncl") == (
        "Expected a recipe's name or a .yaml file, got 'fashion-smal-ncl'; did you mean 'fashion-small-ncl'? "
        "'nonneg recipes' lists them."
    )


def test_a_file_that_is_none_or_no_recipe_is_refused(tmp_path):
    path = tmp_path / "r.yaml"
    assert refused(str(path)) == f"Expected a recipe in {path}, got no file there; check the path."
    path.write_bytes(b"\xff\xfe\x00")
    assert refused(str(path)).startswith(f"Expected a recipe in {path}, got nothing that can be read as one")
    path.write_text("a: [1")
    assert refused(str(path)).startswith(f"Expected a recipe in YAML in {path}, got what can't be parsed")
    for text, kind in (("- a", "list"), ("", "NoneType"), ("word", "str")):
        path.write_text(text)
        assert refused(str(path)) == f"Expected a recipe of keys and values in {path}, got {kind}."
    path.write_text("!!python/object/apply:os.getcwd []")
    assert refused(str(path)).startswith(f"Expected a recipe in YAML in {path}")
    path.write_text("1: 2")
    assert refused(str(path)).startswith("Expected")


# Changes


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("epochs=7", 7),
        ("seed=3", 3),
        ("optimiser.lr=1e-3", 1e-3),
        ("optimiser.lr=1E-3", 1e-3),
        ("optimiser.lr=.5", 0.5),
        ("optimiser.betas=[0.8,0.9]", (0.8, 0.9)),
        ("optimiser.betas=[0.8, 1e-1]", (0.8, 0.1)),
        ("model.projector=[]", ()),
        ("model.projector=[12, 7]", (12, 7)),
        ("chunk_size=16", 16),
        ("chunk_size=null", None),
        ("method.temperature=null", None),
        ("hardware.compile=true", True),
        ("hardware.devices=auto", "auto"),
        ("hardware.devices=2", 2),
        ("log_to=[wandb,tensorboard]", ("wandb", "tensorboard")),
        ("checkpoints.every_minutes=0.5", 0.5),
        ("data.name=npz:/some/where=here.npz", "npz:/some/where=here.npz"),
    ],
)
def test_a_change_reaches_its_place_and_nothing_else(change, value):
    changed = read(NAME, [change])
    place = changed
    for key in change.partition("=")[0].split("."):
        place = getattr(place, key)
    assert place == value
    assert type(place) is type(value)
    flat, before = (recipes._flat(r.model_dump()) for r in (changed, read(NAME)))
    assert {key for key in flat if flat[key] != before[key]} <= {change.partition("=")[0]}


def test_a_later_change_wins():
    assert read(NAME, ["epochs=3", "epochs=4"]).epochs == 4


@pytest.mark.parametrize("order", [1, -1])
def test_another_method_optimiser_or_preset_begins_its_part_anew_in_any_order(order):
    changes = ["optimiser.momentum=0.5", "optimiser.name=sgd", "views.name=cifar", "views.blur=0.1"]
    changes += ["method.name=nce", "method.weights=non-negative"]
    recipe = read("cifar10-ncl", changes[::order])
    assert recipe.optimiser.model_dump() == {
        "name": "sgd",
        "lr": 0.06,  # SGD's own, not LARS's 0.4
        "momentum": 0.5,
        "nesterov": False,
        "weight_decay": 5e-4,
    }
    assert recipe.method.model_dump() == {"name": "nce", "weights": "non-negative"}  # and no temperature
    other = read(NAME, changes[::order])
    assert (other.views.size, other.views.crop, other.views.blur) == (32, (0.08, 1.0), 0.1)  # not grey's 28


def test_the_same_name_again_keeps_what_was_set():
    assert read("cifar10-ncl", ["optimiser.name=lars"]) == read("cifar10-ncl")
    assert read(NAME, ["method.name=simclr", "views.name=grey"]) == read(NAME)


def test_other_data_keeps_its_folder(tmp_path):
    (tmp_path / "r.yaml").write_text("data: {name: cifar10, root: /somewhere}")
    assert str(read(str(tmp_path / "r.yaml"), ["data.name=mnist"]).data.root) == "/somewhere"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("epoch=3", "Expected a key that a recipe knows, got 'epoch'; did you mean 'epochs'?"),
        ("optimiser.lrr=3", "Expected a key that a recipe knows, got 'optimiser.lrr'; did you mean 'lr'?"),
        ("views.szie=3", "Expected a key that a recipe knows, got 'views.szie'; did you mean 'size'?"),
        ("model.bacbone=x", "Expected a key that a recipe knows, got 'model.bacbone'; did you mean 'backbone'?"),
        (
            "method.temprature=1",
            "Expected a key that a recipe knows, got 'method.temprature'; did you mean 'temperature'?",
        ),
        ("data.name.x=3", "Expected a key that a recipe knows, got 'data.name.x': name has no keys of its own."),
        ("optimiser.lr=0", "Expected optimiser.lr to be greater than 0, got 0."),
        ("optimiser.lr=nan", "Expected optimiser.lr to be a finite number, got nan."),
        ("optimiser.name=adam", "Expected optimiser.name to be one of 'lars', 'adamw', 'sgd', got 'adam'."),
        ("method.name=supco", "Expected method.name to be one of 'simclr', 'supcon', 'ce', 'nce', got 'supco'."),
        ("hardware.accelerator=tpu", "Expected hardware.accelerator to be 'auto', 'cpu', 'cuda' or 'mps', got 'tpu'."),
        ("hardware.devices=0", "Expected hardware to be a number of devices of at least 1, got {'devices': 0}."),
        ("epochs=1.5", "Expected epochs to be a valid integer, got a number with a fractional part, got 1.5."),
        ("epochs=[1", "Expected a YAML value for epochs, got '[1'."),
        ("log_to=[csv]", "Expected log_to to be 'tensorboard' or 'wandb', got 'csv'."),
        ("=3", "Expected a change as key=value, got '=3'; for example epochs=20."),
        ("epochs", "Expected a change as key=value, got 'epochs'; for example epochs=20."),
        ("batch_size=1", "Expected batch_size to be greater than or equal to 2, got 1."),
        (
            "freeze_backbone=true",
            "Expected a recipe with start_from where freeze_backbone is true: random weights would be frozen.",
        ),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_in_a_line(change, line):
    assert refused(NAME, change) == line


def test_a_method_and_an_activation_that_dont_fit_are_refused():
    assert refused(NAME, "method.name=nce", "model.activation=identity") == (
        "Expected a recipe with a non-negative model.activation for nce, not identity."
    )
    assert refused(NAME, "method.loss=spectral").startswith(
        "Expected method to be without temperature, which the spectral loss does not have"
    )


def test_a_part_without_a_name_where_one_is_needed_is_refused(tmp_path):
    (tmp_path / "r.yaml").write_text("epochs: 3")
    assert refused(str(tmp_path / "r.yaml"), "optimiser.lr=0.1") == (
        "Expected 'optimiser.name' to be given, got nothing; add it to the recipe."
    )


# Written and compared


@pytest.mark.parametrize("name", shipped.names())
def test_written_and_read_it_is_the_same(name, tmp_path):
    recipe = read(name, ["start_from=/some/run", "data.root=/some/where", "log_to=[wandb]", "model.mean=null"])
    write(recipe, tmp_path / "recipe.yaml")
    assert read_file(tmp_path / "recipe.yaml") == recipe
    assert read(str(tmp_path / "recipe.yaml")) == recipe
    assert first_difference(read_file(tmp_path / "recipe.yaml"), recipe) is None


def test_what_is_written_is_whole(tmp_path):
    write(read(NAME), tmp_path / "recipe.yaml")
    written = yaml.safe_load((tmp_path / "recipe.yaml").read_text())
    assert written == read(NAME).model_dump(mode="json")
    assert list(written) == list(Recipe.model_fields)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ([], None),
        (["epochs=21"], ("epochs", 14, 21)),
        (["optimiser.lr=0.5", "seed=4"], ("optimiser.lr", 0.003, 0.5)),
        (["optimiser.name=sgd"], ("optimiser.name", "adamw", "sgd")),
        (["model.projector=[7]"], ("model.projector", [512, 256], [7])),
        (["data.name=digits"], ("data.name", "fashion-small", "digits")),
        (["data.on_bad_file=skip"], ("data.on_bad_file", "fatal", "skip")),
        (["chunk_size=4"], ("chunk_size", None, 4)),
        (["name=other"], ("name", NAME, "other")),
        (["hardware.devices=2", "hardware.precision=float64", "log_to=[wandb]", "data.root=/x"], None),
        (["data.workers=0", "data.download=true", "checkpoints.every_minutes=1"], None),
    ],
)
def test_the_first_difference_that_matters_is_found(changes, difference):
    assert first_difference(read(NAME), read(NAME, changes)) == difference


def test_a_key_that_only_one_has_is_a_difference():
    here, there = read("cifar10-ncl"), read("cifar10-ncl", ["optimiser.name=adamw", "optimiser.lr=0.4"])
    assert first_difference(here, there) == ("optimiser.name", "lars", "adamw")
    simclr, supcon = tiny.recipe(method={"name": "simclr"}), tiny.recipe(method={"name": "supcon"})
    assert first_difference(simclr, supcon) == ("method.name", "simclr", "supcon")


@pytest.mark.parametrize("key", FREE_ON_RESUME)
def test_what_is_free_on_resume_is_in_a_recipe(key):
    place = read(NAME)
    for part in key.split("."):
        place = getattr(place, part)
