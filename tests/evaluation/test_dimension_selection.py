"""Selected columns are worth what a look at them by hand gives, and nothing of the test part chooses them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from nonneg._errors import UserError
from nonneg.data import load
from nonneg.evaluation import dimension_selection
from nonneg.evaluation.dimension_selection import Columns, counts, measure, rankings, sweep, worth
from nonneg.evaluation.features import Features, extract
from nonneg.evaluation.linear_probe import fit_probe, linear_probe
from nonneg.evaluation.subject import Subject
from tests.finished_runs import array_file, finished_run
from tests.references import metrics as reference

CLASSES = 8
PLACES = torch.randperm(32, generator=torch.Generator().manual_seed(5))  # of the class columns, then the others'


def by_class(n=240, noise=0.0, seed=0):
    """A column a class, 16 columns of noise that is on now and then, 8 dead ones; all in disorder."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % CLASSES
    on = F.one_hot(y, CLASSES) * (1 + noise * torch.rand(n, CLASSES, generator=draw))
    others = noise * torch.rand(n, 16, generator=draw) * (torch.rand(n, 16, generator=draw) < 0.2)
    z = torch.zeros(n, 32)
    z[:, PLACES[:24]] = torch.cat([on, others], 1)
    return z, y


def columns(noise=0.3):
    """All at once: a training part and another one to be measured on."""
    return Columns(*by_class(240, noise), *by_class(160, noise, seed=1))


def subject(z, y, z_test, y_test):
    parts = (Features(x, x, labels, torch.arange(len(x))) for x, labels in ((z, y), (z_test, y_test)))
    return Subject("planted", *parts)


def values(found):
    return {name: result.value for name, result in found.items()}


def test_expected_activation_keeps_the_class_columns_and_they_are_enough():
    parts = columns()
    ranked = rankings(parts.x, parts.x)
    assert set(ranked["ea_relu"][0][:CLASSES].tolist()) == set(PLACES[:CLASSES].tolist())
    found = values(sweep(parts, parts))
    assert found["ea_relu/8/probe"] == found["all/32/probe"] == 1.0
    assert found["ea_relu/8/precision"] == found["ea_relu/8/map"] == 1.0
    assert found["random/8/probe"] < 0.7


def test_without_noise_a_probe_knows_the_classes_that_are_kept_and_guesses_one_of_the_others():
    parts = columns(noise=0.0)
    orders = rankings(parts.x, parts.x)["random"]
    found = values(sweep(parts, parts))
    for m in (4, 8, 16):
        kept = [len(set(order[:m].tolist()) & set(PLACES[:CLASSES].tolist())) for order in orders]
        assert found[f"random/{m}/probe"] == pytest.approx(np.mean([min(k + 1, CLASSES) / CLASSES for k in kept]))
    assert found["ea_relu/4/probe"] == 5 / 8


def test_the_ways_by_hand():
    z = by_class(noise=0.3)[0].double()
    p = z - torch.rand(32, generator=torch.Generator().manual_seed(1)).double()
    unit, unit_p = reference.unit_rows(z.numpy()), reference.unit_rows(p.numpy())
    ranked = {way: [order.tolist() for order in orders] for way, orders in rankings(z, p).items()}
    assert ranked["ea_relu"] == [np.argsort(-unit.mean(0), kind="stable").tolist()]
    assert ranked["ea_signed"] == [np.argsort(-unit_p.mean(0), kind="stable").tolist()] != ranked["ea_relu"]
    assert ranked["variance"] == [np.argsort(-unit.var(0), kind="stable").tolist()] != ranked["ea_relu"]
    assert len({tuple(order) for order in ranked["random"]}) == 10
    assert all(sorted(order) == list(range(32)) for orders in ranked.values() for order in orders)


def test_signs_decide_what_there_is_an_expected_activation_of():
    z = by_class()[0]
    assert set(rankings(z, z)) == {"ea_relu", "variance", "random"}
    assert set(rankings(z - 0.1, z - 0.1)) == {"ea_signed", "variance", "random"}
    assert set(rankings(z, z - 0.1)) == {"ea_relu", "ea_signed", "variance", "random"}


@pytest.mark.parametrize(("d", "expected"), [(1, []), (7, []), (8, [4]), (12, [4]), (64, [4, 8, 16, 32])])
def test_counts_are_powers_of_two_up_to_a_half(d, expected):
    assert counts(d) == expected


def test_worth_is_that_of_the_columns_alone():
    parts = columns(noise=2.0)
    chosen = PLACES[[0, 3, 9, 14, 21]]
    found = worth(parts, [chosen], strength=1e-2)
    x, x_test = parts.x[:, chosen], parts.x_test[:, chosen]
    assert found["probe"].value == linear_probe(x, parts.y, x_test, parts.y_test, strengths=(1e-2,)) < 1
    assert values(found) == values(worth(replace(parts, x=x, x_test=x_test), [torch.arange(5)], strength=1e-2))
    assert all(result.n == 160 and result.low < result.value < result.high for result in found.values())


def test_retrieval_is_the_references():
    draw = torch.Generator().manual_seed(3)
    x, y = torch.rand(60, 12, generator=draw).double(), torch.arange(60) % 3
    chosen = torch.tensor([1, 5, 7, 11])
    found = worth(Columns(x, y, x, y), [chosen], strength=1e-2)
    by_hand = reference.retrieval(x[:, chosen].numpy(), y.numpy(), k=10)
    assert {name: found[name].value for name in by_hand} == pytest.approx(by_hand)


def test_of_several_choices_it_is_the_mean():
    parts = columns(noise=2.0)
    choices = [PLACES[:4], PLACES[4:8], PLACES[20:24]]
    singly = [values(worth(parts, [chosen], strength=1e-2)) for chosen in choices]
    together = values(worth(parts, choices, strength=1e-2))
    assert together == pytest.approx({name: np.mean([one[name] for one in singly]) for name in together})


def test_the_sweep_is_worth_of_the_first_by_each_way_at_the_strength_for_all_columns():
    z = columns(noise=2.0)
    p = replace(z, x=z.x - 0.7 * z.x[:, PLACES], x_test=z.x_test - 0.7 * z.x_test[:, PLACES])
    found = sweep(z, p, seed=2)
    ranked, whole = rankings(z.x, p.x, seed=2), torch.arange(32)
    strength, strength_p = (fit_probe(side.x, side.y, seed=2).strength for side in (z, p))
    expected = {}
    for way in ("ea_relu", "ea_signed", "variance", "random"):
        side = (p, strength_p) if way == "ea_signed" else (z, strength)
        for m in (4, 8, 16):
            of_way = worth(side[0], [order[:m] for order in ranked[way]], side[1], seed=2)
            expected |= {f"{way}/{m}/{name}": result for name, result in of_way.items()}
    expected |= {f"all/32/{name}": result for name, result in worth(z, [whole], strength, seed=2).items()}
    expected |= {f"all_signed/32/{name}": result for name, result in worth(p, [whole], strength_p, seed=2).items()}
    assert found == expected


def test_another_data_set_is_measured_on_the_columns_chosen_here():
    z = columns()
    swapped = z.x[:, PLACES.flip(0)], z.x_test[:, PLACES.flip(0)]  # the class columns are elsewhere
    other = replace(z, x=swapped[0], x_test=swapped[1])
    found = values(sweep(z, z, transfer=(other, other)))
    best = rankings(z.x, z.x)["ea_relu"][0][:8]
    strength = fit_probe(other.x, other.y).strength
    by_hand = linear_probe(other.x[:, best], other.y, other.x_test[:, best], other.y_test, (strength,))
    assert found["ea_relu/8/transfer"] == by_hand < 0.7
    assert found["all/32/transfer"] == 1.0
    assert {name: found[name] for name in found if not name.endswith("transfer")} == values(sweep(z, z))


def test_seeds_choose_the_draws_and_nothing_else():
    parts = columns()
    assert sweep(parts, parts, seed=1) == sweep(parts, parts, seed=1)
    one, other = rankings(parts.x, parts.x, seed=1), rankings(parts.x, parts.x, seed=2)
    assert {way: torch.equal(one[way][0], other[way][0]) for way in one} == {
        "ea_relu": True,
        "variance": True,
        "random": False,
    }


def test_progress_counts_every_way_and_number_and_all():
    told = []
    sweep(columns(), columns(), progress=lambda *n: told.append(n))
    assert told == [(done, 10) for done in range(1, 11)]


def test_dead_columns_are_worth_chance_and_a_sorted_test_part_is_no_help():
    y = torch.arange(200) // 50
    dead = Columns(torch.zeros(200, 8), y, torch.zeros(200, 8), y)
    found = values(sweep(dead, dead))
    assert found["ea_relu/4/probe"] == found["all/8/probe"] == 0.25
    assert found["ea_relu/4/precision"] == pytest.approx(0.25, abs=0.005)  # one may not find itself
    assert found["ea_relu/4/map"] < 0.18  # 0.25 if the nearest of the alike were all of one class


def test_shuffled_labels_give_chance():
    z, y = by_class(800, noise=0.3)
    z_test, y_test = by_class(1600, noise=0.3, seed=1)
    mixed, mixed_test = (labels[torch.randperm(len(labels))] for labels in (y, y_test))
    found = values(worth(Columns(z, mixed, z_test, mixed_test), [PLACES[:8]], strength=1e-2))
    assert abs(found["probe"] - 1 / 8) < 4 * math.sqrt(1 / 8 * 7 / 8 / 1600)
    assert abs(found["precision"] - 1 / 8) < 0.02


def chosen_by(protocol, monkeypatch):
    """Which columns, at which strength, a protocol takes of a subject, by what it has measured."""

    def choose(of):
        taken = []

        def record(columns, choices, strength, seed):
            taken.append(([chosen.tolist() for chosen in choices], strength))
            return {}

        with monkeypatch.context() as patch:
            patch.setattr(dimension_selection, "worth", record)
            protocol(of)
        return taken

    return choose


def looks_at_the_test_part(choose):
    """Whether other test samples make it choose other columns."""
    z, y = by_class(noise=0.3)
    z_test, y_test = by_class(160, noise=0.3, seed=1)
    return choose(subject(z, y, z_test, y_test)) != choose(subject(z, y, 9 * z_test[:, PLACES], y_test))


def test_selection_never_looks_at_the_test_part_and_a_look_would_be_seen(monkeypatch):
    def leaking(of):
        both = torch.cat([of.train.z, of.test.z])
        return [[order.tolist() for order in orders] for orders in rankings(both, both).values()]

    def leaking_protocol(of):
        both = torch.cat([of.train.z, of.test.z])
        monkeypatch.setattr(dimension_selection, "rankings", lambda z, p, seed: rankings(both, both, seed))
        return measure(of, lambda *_: None)

    assert looks_at_the_test_part(leaking)
    assert not looks_at_the_test_part(chosen_by(lambda of: measure(of, lambda *_: None), monkeypatch))
    assert looks_at_the_test_part(chosen_by(leaking_protocol, monkeypatch))


def test_a_run_is_measured_on_its_z_and_its_signed_features(tmp_path):
    model = finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=60, n_test=45))
    found = measure(Subject.of_run(tmp_path / "run"), lambda *_: None)
    data = load(f"npz:{tmp_path / 'data.npz'}")
    train, test = extract(model, data.train), extract(model, data.test)
    with torch.no_grad():
        p, p_test = model.project(train.h), model.project(test.h)
    sides = Columns(train.z, train.labels, test.z, test.labels), Columns(p, train.labels, p_test, test.labels)
    assert set(found) == {
        f"{way}/{what}"
        for way in ("ea_relu/4", "ea_signed/4", "variance/4", "random/4", "all/12", "all_signed/12")
        for what in ("probe", "precision", "map")
    }
    assert values(found) == pytest.approx(values(sweep(*sides)))


@pytest.mark.parametrize(("activation", "more"), [("identity", set()), ("gelu", {"all_signed"})])
def test_a_run_of_signed_features_and_another_data_set(tmp_path, activation, more):
    """Without an activation z is p, and there is no other way of having all of it."""
    model = finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=40), activation=activation)
    other = load(array_file(tmp_path / "other.npz", n=30, n_test=20))
    transfer = extract(model, other.train), extract(model, other.test)
    found = measure(Subject.of_run(tmp_path / "run"), lambda *_: None, transfer)
    assert {name.split("/")[0] for name in found} == {"ea_signed", "variance", "random", "all"} | more
    assert {name.split("/")[2] for name in found} == {"probe", "precision", "map", "transfer"}
    assert found["all/12/transfer"].n == 20


def test_one_test_sample_has_none_to_be_retrieved():
    z, y = by_class(40)
    found = worth(Columns(z, y, z[:1], y[:1]), [PLACES[:4]], strength=1e-2)
    assert set(found) == {"probe"}


def test_what_does_not_belong_together_is_refused():
    z, y = by_class(40)
    with pytest.raises(ValueError, match=r"^Expected features of 32 dimensions, got 31"):
        Columns(z, y, z[:, 1:], y)
    with pytest.raises(ValueError, match=r"^Expected 40 test labels, one a sample, got shape \(39,\)"):
        Columns(z, y, z, y[1:])
    with pytest.raises(ValueError, match=r"^Expected train_z and train_p of the same shape, got \(40, 32\) and"):
        rankings(z, z[:, 1:])
    with pytest.raises(UserError, match=r"^Expected labelled data to select dimensions for, got planted without"):
        measure(subject(z, None, z, None), lambda *_: None)
