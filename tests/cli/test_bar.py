"""A bar for those who watch it move, and nothing for those who don't."""

import io

import pytest
from rich.console import Console

from nonneg.cli import bar


def printed(monkeypatch, terminal):
    out = io.StringIO()
    monkeypatch.setattr(bar, "Console", lambda: Console(file=out, force_terminal=terminal, width=100))
    with bar.counting("pets [all] through run") as progress:
        progress(40, 160)
        progress(160, 160)
    return out.getvalue()


def test_where_nobody_watches_nothing_is_printed(monkeypatch, capsys):
    assert printed(monkeypatch, False) == ""
    assert capsys.readouterr() == ("", "")


def test_in_a_terminal_it_counts_and_goes_away(monkeypatch):
    out = printed(monkeypatch, True)
    assert "160/160" in out
    assert "pets [all] through run" in out, "what is counted is not read as markup"
    assert out.endswith("\x1b[2K"), "the line is erased at the end"


def test_an_error_inside_passes_through():
    with pytest.raises(KeyError), bar.counting("pets") as progress:
        progress(1, 2)
        raise KeyError
