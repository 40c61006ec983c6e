"""A page is one file that needs no other, says what was measured, and says nothing where there is nothing."""

import json
import re
import time

import numpy as np
import pytest

from nonneg._errors import UserError
from nonneg.evaluation.comparison import Cell, Comparison, Row
from nonneg.evaluation.results import Result
from nonneg.report import write_comparison, write_report
from nonneg.training import RunFolder
from tests.finished_runs import array_file, finished_run
from tests.report.pages import PARTS, Page, columns_of, reported_run, with_features

EVIL = "<script>alert(1)</script>"
QUOTES = "\"'><img src=x onerror=alert(1)> & co"
ALL = ["dimensions", "measurements", "maps", "distributions", "correlation", "selection", "training"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The page of a run beside a plain one."""
    folder = tmp_path_factory.mktemp("pair")
    plain = reported_run(folder / "cl", activation="identity")
    return write_report(reported_run(folder / "ncl"), beside=plain)


def test_the_page_is_in_the_runs_folder_and_has_all_sections(pair):
    assert pair == pair.parent.parent / "report" / "index.html"
    assert Page(pair).ids() == ALL


def test_nothing_is_loaded_from_elsewhere(pair):
    page = Page(pair)
    for tag, attributes in page.elements:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "video", "audio")
        for name in ("src", "href", "srcset", "action", "poster", "data", "xlink:href"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, name)
    assert not re.findall(r"https?:|//[a-z]", re.sub(r"base64,[\w+/=]+", "", page.source))
    assert all(uri.startswith("data:image/") for uri in re.findall(r"url\((.*?)\)", page.source))
    assert "@import" not in page.style
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "script" not in policy


def test_the_page_is_for_phones_and_for_light_and_dark(pair):
    page = Page(pair)
    metas = {a.get("name"): a.get("content") for a in page.all("meta")}
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    assert metas["color-scheme"] == "light dark"
    dark = page.style[page.style.index("@media (prefers-color-scheme: dark)") :]
    names = re.findall(r"(--[a-z0-9-]+):", page.style[: -len(dark)])
    assert len(names) == 22
    assert all(re.search(rf"{name}: #", dark) for name in names), "each colour has a dark one"
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", page.source))
    assert used <= set(names)


def test_every_number_is_that_of_metrics_json(pair):
    """As text, in full behind it; those of the head and of the table, for both runs."""
    found = Page(pair).values
    expected = [r.value for numbers in PARTS.values() for r in numbers.values() if r.value == r.value]
    head = [PARTS["linear_probe"]["h"], *PARTS["properties"].values()]
    assert sorted(value for value, _ in found) == sorted(2 * expected + 2 * [r.value for r in head])
    words = dict(found)
    assert [words[v] for v in (0.8425, 0.0326, 11, 0.0385)] == ["84.2%", "0.033", "11", "3.85"]


def test_intervals_and_sizes_stand_beside_the_numbers(pair):
    text = " ".join(Page(pair).text.split())
    assert "linear probe on h 84.2% (71.0–93.0) 84.2% (71.0–93.0) +0.0" in text
    assert "retrieval precision@10 – – – 24" in text


@pytest.mark.parametrize("name", [EVIL, QUOTES])
def test_names_are_shown_as_they_are_and_do_nothing(tmp_path, name):
    run = reported_run(tmp_path / "run", classes=(name, "b", "c"))
    recipe = RunFolder(run).recipe
    recipe.write_text(recipe.read_text().replace("name: run", f"name: {json.dumps(name)}"))
    log = RunFolder(run).log
    log.write_text(log.read_text().replace("epoch", "epoch,<b>bold</b>", 1).replace("\n1,", "\n1,3,"))
    page = Page(write_report(run))
    assert page.all("script") == []
    assert page.all("b") == [a for a in page.all("b") if set(a) == {"style", "title"}]
    assert all(a["src"].startswith("data:") for a in page.all("img"))
    assert name in page.text
    assert any(a["aria-label"].startswith(f"{name}: activation") for a in page.all("i"))
    assert page.source.count("<title>") == page.source.count("</title>")


def test_a_folder_may_be_called_anything(tmp_path):
    run = reported_run(tmp_path / "a <b> & 'c'")
    page = Page(write_report(run))
    assert f"nonneg eval '{tmp_path}/a <b> & '\"'\"'c'\"'\"''" in page.text


def test_a_run_that_was_neither_measured_nor_logged_has_pictures(tmp_path):
    page = Page(write_report(reported_run(tmp_path / "run", parts=None, log=None)))
    assert page.ids() == ["dimensions", "maps", "distributions", "correlation"]
    assert "Not measured yet." in page.text
    assert page.values == []


def test_parts_that_are_missing_are_left_out(tmp_path):
    few = {"properties": {"sparsity": PARTS["properties"]["sparsity"]}}
    page = Page(write_report(reported_run(tmp_path / "run", parts=few)))
    assert page.ids() == [name for name in ALL if name != "selection"]
    assert page.values == [(0.9184, "91.8%")] * 2


def test_without_labels_nothing_is_said_of_classes(tmp_path):
    run = reported_run(tmp_path / "run", labelled=False, parts={"properties": {"alive": PARTS["properties"]["alive"]}})
    page = Page(write_report(run))
    assert page.ids() == [name for name in ALL if name != "selection"]
    assert page.with_class("bar") == []
    assert page.with_class("classes") == []
    assert "no labels" in page.text
    assert "class" not in page.text.replace("class consistency", "")
    assert all(re.fullmatch(r"activation \d\.\d\d, picture \d+", a["aria-label"]) for a in page.all("i"))


def test_a_collapsed_run_has_a_page(tmp_path):
    run = reported_run(tmp_path / "run", parts=None)
    with_features(run, np.zeros((36, 12)), np.zeros((24, 12)), labels=[0, 1, 2])
    page = Page(write_report(run))
    assert page.ids() == ["dimensions", "distributions", "training"]
    assert page.text.count("never on") == 12


def test_thousands_of_pictures_of_several_kinds_stay_small(tmp_path):
    """Noise, which is as large as pictures get."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2000, 32, 32, 3), np.uint8)
    labels = np.arange(2000) % 100
    names = [f"class {k}" for k in range(100)]
    np.savez(
        tmp_path / "d.npz",
        images=images[:50],
        labels=labels[:50],
        test_images=images,
        test_labels=labels,
        classes=names,
    )
    finished_run(tmp_path / "run", f"npz:{tmp_path / 'd.npz'}", channels=3, dimensions=256)
    z = np.maximum(rng.normal(size=(2000, 256)), 0)
    with_features(tmp_path / "run", z[:50], z, labels=labels)
    began = time.process_time()
    path = write_report(tmp_path / "run")
    assert path.stat().st_size < 2e6
    assert time.process_time() - began < 15


def test_an_unfinished_run_is_refused(tmp_path):
    run = reported_run(tmp_path / "run", parts=None)
    RunFolder(run).model.unlink()
    with pytest.raises(UserError, match=r"Expected a finished run in .*run, got none"):
        write_report(run)


def test_a_run_of_the_same_recipe_is_no_plain_one(tmp_path):
    """Seeds are one column, in which there is nothing to stand beside."""
    run, twin = reported_run(tmp_path / "run", parts={"knn": {"h": Result(0.5, 24)}}), tmp_path / "twin"
    twin.mkdir()
    for path in (RunFolder(run).recipe, RunFolder(run).model, RunFolder(run).metrics):
        (twin / path.name).write_bytes(path.read_bytes())
    with pytest.raises(UserError, match=r"Expected a run of another recipe beside .*run, got .*twin"):
        write_report(run, beside=twin)


def test_a_page_that_was_there_is_replaced(tmp_path):
    run = reported_run(tmp_path / "run")
    path = RunFolder(run).report / "index.html"
    path.parent.mkdir()
    path.write_text("old")
    assert write_report(run) == path
    assert Page(path).ids() == ALL
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]


# Several runs


def cell(value, best=False, deviation=None):
    return Cell(value, value - 0.1, value + 0.1, deviation, 24, best)


def compared(tmp_path, *rows):
    runs = [reported_run(tmp_path / name, parts=None) for name in ("a", "b", "c")]
    return Comparison(columns_of(*runs), tuple(rows))


def test_bold_is_what_the_comparison_says_is_best(tmp_path):
    comparison = compared(
        tmp_path,
        Row("knn", "h", (cell(0.3), cell(0.95, best=True), None), (0.65, 0.5, 0.8)),
        Row("knn", "z", (cell(0.2), cell(0.9), cell(0.1)), None),
    )
    path = write_comparison(tmp_path / "pages" / "compare.html", comparison)
    assert path == tmp_path / "pages" / "compare.html"
    page = Page(path)
    assert re.findall(r"<strong>(.*?)</strong>", page.source) == ['<data value="0.95">95.0%</data>']
    assert [value for value, _ in page.values] == [0.3, 0.95, 0.2, 0.9, 0.1]
    text = " ".join(page.text.split())
    assert "k-NN on h 30.0% (20.0–40.0) 95.0% (85.0–105.0) – +65.0 (+50.0 to +80.0) 24" in text
    assert f"nonneg compare {tmp_path}/a {tmp_path}/b {tmp_path}/c --out {path}" in text


def test_runs_stand_beside_one_another_each_with_its_sheet(tmp_path):
    page = Page(write_comparison(tmp_path / "compare.html", compared(tmp_path)))
    assert [tag for tag, _ in page.with_class("gallery")] == ["article"] * 3
    assert page.source.count("background-image: url(data:image/png") == 3
    assert [len(page.with_class(f"sheet-{k}")) for k in range(4)] == [1, 1, 1, 0]


def test_seeds_are_one_column_of_means(tmp_path):
    first, second = (reported_run(tmp_path / name, parts=None) for name in ("a", "b"))
    column = columns_of(first)[0]
    column = type(column)("a", (first, second), column.recipe)
    row = Row("knn", "h", (cell(0.5, deviation=0.012),), None)
    text = " ".join(Page(write_comparison(tmp_path / "c.html", Comparison((column,), (row,)))).text.split())
    assert "a (2 seeds)" in text
    assert "k-NN on h 50.0% ± 1.2 24" in text
    assert "2 runs; pictures and curves of seed 0" in text
    assert f"nonneg compare {first} {second} --out" in text


def test_runs_of_different_data_have_their_own_classes(tmp_path):
    runs = [reported_run(tmp_path / "a"), reported_run(tmp_path / "b", classes=("x", "y"))]
    page = Page(write_comparison(tmp_path / "c.html", Comparison(columns_of(*runs), ())))
    assert len(page.with_class("classes")) == 4  # of pictures and of maps
    assert "3 classes" in page.text
    assert "2 classes" in page.text


def test_data_that_two_runs_are_of_are_loaded_once(tmp_path, monkeypatch):
    from nonneg.training.recipe import DataSettings

    data = array_file(tmp_path / "d.npz")
    for name, activation in (("a", "relu"), ("b", "identity")):
        finished_run(tmp_path / name, data, activation)
        with_features(tmp_path / name, np.eye(12)[np.arange(36) % 12], np.eye(12)[np.arange(24) % 12], [0, 1, 2])
    loaded, load = [], DataSettings.load
    monkeypatch.setattr(DataSettings, "load", lambda self: loaded.append(self.name) or load(self))
    write_comparison(tmp_path / "c.html", Comparison(columns_of(tmp_path / "a", tmp_path / "b"), ()))
    assert loaded == [data]
