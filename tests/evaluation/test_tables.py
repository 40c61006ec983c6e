"""A comparison as text: the numbers are those of the comparison, in every format."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from nonneg.evaluation.comparison import Cell, Column, Comparison, Row
from nonneg.evaluation.tables import FORMATS, write_table
from nonneg.training import Recipe


@pytest.fixture
def comparison():
    columns = (
        Column("plain|one", (Path("a"),), Recipe()),
        Column("ncl_100%", (Path("b0"), Path("b1")), Recipe()),
    )
    rows = (
        Row(
            "linear_probe",
            "h",
            (Cell(0.5, 0.45, 0.55, None, 100, False), Cell(0.7, 0.65, 0.75, 0.0123, 100, True)),
            (0.2, 0.125, 0.275),
        ),
        Row("properties", "correlation", (Cell(0.25, None, None, None, 100, False), None), None),
        Row("sepin", "10", (Cell(math.nan, None, None, None, 9, False), Cell(0.024, None, None, None, 9, False)), None),
    )
    return Comparison(columns, rows)


def test_markdown_is_a_table_that_people_read(comparison):
    assert write_table(comparison, "md") == (
        "|  | plain\\|one | ncl_100% (2 seeds) | difference |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| linear probe on h | 50.0% (45.0–55.0) | **70.0% ± 1.2** | +20.0 (+12.5 to +27.5) |\n"
        "| correlation | 0.250 | – | – |\n"
        "| SEPIN@10 ×100 | – | 2.40 | – |\n"
    )


def test_csv_has_every_digit(comparison):
    rows = list(csv.DictReader(io.StringIO(write_table(comparison, "csv"))))
    assert [(row["part"], row["name"], row["column"], row["value"]) for row in rows] == [
        ("linear_probe", "h", "plain|one", "0.5"),
        ("linear_probe", "h", "ncl_100%", "0.7"),
        ("properties", "correlation", "plain|one", "0.25"),
        ("sepin", "10", "plain|one", "nan"),
        ("sepin", "10", "ncl_100%", "0.024"),
    ]
    assert (rows[1]["runs"], rows[1]["deviation"], rows[1]["best"]) == ("2", "0.0123", "True")


def test_json_is_json_for_anyone(comparison):
    found = json.loads(write_table(comparison, "json"), parse_constant=pytest.fail)
    assert found["columns"][1] == {"title": "ncl_100%", "folders": ["b0", "b1"]}
    assert found["rows"][0]["cells"][1]["deviation"] == 0.0123
    assert found["rows"][0]["difference"] == [0.2, 0.125, 0.275]
    assert found["rows"][1]["cells"][1] is None
    assert found["rows"][2]["cells"][0]["value"] is None


def test_latex_escapes_what_latex_takes_for_its_own(comparison):
    text = write_table(comparison, "latex")
    assert " & plain|one & ncl\\_100\\% (2 seeds) \\\\" in text
    assert "linear probe on h & 50.0\\% (45.0--55.0) & \\textbf{70.0\\% $\\pm$ 1.2} \\\\" in text
    assert text.count("\\\\") == 4


def test_a_format_that_nobody_knows_is_refused(comparison):
    with pytest.raises(ValueError, match=r"^Expected format to be one of csv, json, md, latex, got 'xls'\."):
        write_table(comparison, "xls")
    assert list(FORMATS) == ["csv", "json", "md", "latex"]
