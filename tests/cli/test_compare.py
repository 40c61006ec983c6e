"""`nonneg compare`: a table, text for elsewhere, a page."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from nonneg.cli.compare import table
from nonneg.evaluation.comparison import Cell, Column, Comparison, Row
from nonneg.training import Recipe
from tests.finished_runs import finished_run


@pytest.fixture
def runs(tmp_path, nonneg):
    """CL and NCL, measured."""
    for name, activation in (("cl", "identity"), ("ncl", "rep_relu")):
        finished_run(tmp_path / name, f"npz:{tmp_path / 'tiny.npz'}", activation)
        assert nonneg("eval", name).status == 0
    return "cl", "ncl"


def test_a_table_of_both(nonneg, runs):
    said = nonneg("compare", *runs)
    assert (said.status, said.err) == (0, "")
    heading, *lines = said.out.splitlines()
    assert heading.split() == ["cl", "ncl", "difference"]
    (sparsity,) = [line for line in lines if line.startswith("sparsity")]
    assert sparsity.split()[1] == "0.0%"


def test_text_for_elsewhere_and_a_page(nonneg, runs, tmp_path):
    said = nonneg("compare", *runs, "--format", "csv", "-o", "page.html")
    assert said.status == 0
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert {row["column"] for row in rows} == {"cl", "ncl"}
    assert said.err == "Wrote page.html\n"
    assert "<html" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none"], "Expected a finished run in none, got none;"),
        (["cl", "--format", "xls"], "Expected --format to be one of csv, json, md, latex, got 'xls'."),
        (["cl", "-o", "none/../cl"], "Expected to be able to write "),
    ],
    ids=str,
)
def test_bad_input_is_one_line(nonneg, runs, words, line):
    said = nonneg("compare", *words)
    assert said.status == 2
    assert said.err.startswith(line)
    assert said.err.count("\n") == 1


def test_a_narrow_terminal_has_the_numbers_without_intervals():
    cells = (Cell(0.5, 0.45, 0.55, None, 9, False), Cell(0.7, 0.65, 0.75, None, 9, True))
    columns = (Column("a", (Path("a"),), Recipe()), Column("b", (Path("b"),), Recipe()))
    comparison = Comparison(columns, (Row("knn", "h", cells, (0.2, 0.13, 0.27)),))
    wide = "k-NN on h 50.0% (45.0–55.0) 70.0% (65.0–75.0) +20.0 (+13.0 to +27.0)"
    for intervals, expected in ((True, wide), (False, "k-NN on h 50.0% 70.0% +20.0")):
        console = Console(width=120, record=True, file=io.StringIO())
        console.print(table(comparison, intervals))
        assert " ".join(console.export_text().splitlines()[1].split()) == expected
