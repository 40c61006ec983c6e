"""The list of recipes, a line each for grep, and one of them whole."""

from nonneg import recipes as shipped


def test_every_recipe_is_a_line_with_what_it_is(nonneg):
    said = nonneg("recipes")
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert [line.split()[0] for line in lines] == shipped.names()
    for line, name in zip(lines, shipped.names(), strict=True):
        assert line.split(maxsplit=1)[1].rstrip() == shipped.summary(name)


def test_in_a_terminal_long_lines_are_folded_to_its_width(nonneg, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes a terminal of it
    monkeypatch.setenv("COLUMNS", "60")
    lines = nonneg("recipes").out.splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) > len(shipped.names())


def test_one_is_shown_as_it_is(nonneg):
    for name in ("fashion-small-ncl", "cifar10-ce"):
        assert nonneg("recipes", name) == (0, shipped.text(name), "")


def test_brackets_in_a_recipe_are_no_markup(nonneg, monkeypatch):
    text = "# NCL [bold] of [/bold] all\nmodel: {projector: [512, 256]}  # :smile: " + "long " * 50 + "\n"
    monkeypatch.setattr(shipped, "names", lambda: ["one"])
    monkeypatch.setattr(shipped, "text", lambda name: text)
    assert nonneg("recipes", "one").out == text
    assert nonneg("recipes").out.split(maxsplit=1)[1].rstrip() == "NCL [bold] of [/bold] all"


def test_what_is_shown_can_be_saved_and_changed(nonneg, refused, tmp_path):
    (tmp_path / "mine.yaml").write_text(nonneg("recipes", "fashion-small-ncl").out)
    line = refused("train", "mine.yaml", "batch_size=100000")
    assert line.startswith("Expected a batch_size between 1 and 12000")
