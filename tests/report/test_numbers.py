"""Numbers are written as elsewhere and kept in full behind it."""

import pytest

from nonneg.evaluation.comparison import Cell, Comparison, Row
from nonneg.report.numbers import figures, tables


def row(part, name, *values):
    return Row(part, name, tuple(v and Cell(v, v - 0.1, v + 0.1, None, 50, False) for v in values), None)


def test_the_headline_is_in_its_order_and_of_what_was_measured():
    rows = (row("properties", "alive", 7.0), row("knn", "h", 0.9), row("linear_probe", "h", 0.12345))
    made = figures(Comparison((), rows))
    assert [figure.label for figure in made] == ["linear probe on h", "alive dimensions"]
    assert (made[0].numbers[0].text, made[0].numbers[0].value) == ("12.3%", 0.12345)
    assert (made[0].numbers[0].around, made[1].numbers[0].around) == ("(2.3–22.3)", "(7–7)")


def test_long_parts_have_tables_of_their_own():
    few = [row("knn", "h", 0.5, None), row("knn", "z", 0.5, 0.6), row("retrieval", "map", 0.1, 0.2)]
    many = [row("dimension_selection", f"random/{k}/probe", 0.3, 0.4) for k in range(17)]
    first, second = tables(Comparison((), (*few[:2], *many, few[2])))
    assert (first.part, second.part) == (None, "dimension selection")
    assert [line.label for line in first.lines] == ["k-NN on h", "k-NN on z", "retrieval mAP@10"]
    assert [line.first for line in first.lines] == [True, False, True]
    assert len(second.lines) == 17


def test_what_was_not_measured_is_none_and_what_is_none_has_no_value():
    (table,) = tables(Comparison((), (row("knn", "h", float("nan"), None),)))
    number, missing = table.lines[0].numbers
    assert (number.text, number.value) == ("–", None)
    assert missing is None
    assert table.lines[0].n == 50


@pytest.mark.parametrize("deviation, around", [(0.012, "± 1.2"), (None, "")])
def test_seeds_have_a_deviation(deviation, around):
    cell = Cell(0.5, None, None, deviation, 50, False)
    (table,) = tables(Comparison((), (Row("knn", "h", (cell,), None),)))
    assert table.lines[0].numbers[0].around == around


def test_nothing_measured_is_no_table():
    assert tables(Comparison((), ())) == figures(Comparison((), ())) == []
