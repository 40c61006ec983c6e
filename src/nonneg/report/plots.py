"""Plots as SVG: lines, histograms, points. Colours are the page's, so that they follow its light or dark.

A plot is as wide as its place and has its words in it as text; what is named by a user is escaped.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from markupsafe import Markup

__all__ = ["Series", "class_colour", "histogram", "line_chart", "per_cent", "plain", "scatter"]

_WIDTH, _HEIGHT = 360, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 10, 36
_COLOURS = 8  # of runs
_CLASS_COLOURS = 10
_MARKED = 40  # a line of no more points has them marked
_LABELLED = 12  # no more classes than this are named inside of a plot
_LONGEST = 20  # name inside of a plot
_LETTER, _LINE = 6.5, 12  # about
_MOST = 400  # points of a line: more than there are pixels

Form = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """A run's line; `number` says which colour."""

    title: str
    number: int
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def per_cent(value: float) -> str:
    """A share.

    >>> per_cent(0.25), per_cent(0.005)
    ('25%', '0.5%')
    """
    return f"{100 * value:.3g}%"


def plain(value: float) -> str:
    """A number that needs no more than four digits.

    >>> plain(2.0), plain(0.12345), plain(12345.0)
    ('2', '0.1235', '12,345')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def class_colour(number: int) -> str:
    """CSS of a class's colour: ten that are easy to tell apart, then hues that are far from the last."""
    return f"var(--class-{number})" if number < _CLASS_COLOURS else f"hsl({number * 137.508 % 360:.0f} 55% 55%)"


def line_chart(title: str, series: Sequence[Series], x_label: str, form: Form = plain, log_x: bool = False) -> Markup:
    """A line a series; a value that is none (NaN) leaves a gap. With `log_x` the ticks are the values of x."""
    series = [_thinned(s) for s in series]
    known = [(x, y) for s in series for x, y in s.points if math.isfinite(y) and (x > 0 or not log_x)]
    if not known:
        return Markup("")
    scale = math.log2 if log_x else float
    xs, ys = zip(*known, strict=True)
    axes = _Axes((scale(min(xs)), scale(max(xs))), _padded(min(ys), max(ys)))
    x_ticks = _some(sorted(set(xs))) if log_x else [t for t in _ticks(min(xs), max(xs)) if t == int(t)]
    lines = [_line(s, axes, scale, form) for s in series]
    return _figure(title, axes, [(scale(x), plain(x)) for x in x_ticks], x_label, form, lines)


def histogram(
    title: str,
    groups: Sequence[tuple[str, int, Float[np.ndarray, " n"]]],
    x_label: str,
    bins: int = 25,
) -> Markup:
    """How shares (from 0 to 1) are spread: for each run (title, number, values) the share of values in each bin."""
    counts = [
        (name, number, np.histogram(values, bins, (0, 1))[0] / max(1, len(values))) for name, number, values in groups
    ]
    highest = max((float(heights.max()) for *_, heights in counts), default=0.0)
    if not highest:
        return Markup("")
    axes = _Axes((0, 1), (0, highest * 1.05))
    shapes = []
    for name, number, heights in counts:
        corners = [axes.at(0, 0)]
        for i, height in enumerate(heights.tolist()):
            corners += [axes.at(i / bins, height), axes.at((i + 1) / bins, height)]
        outline = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in [*corners, axes.at(1, 0)])
        shapes.append(
            Markup('<g class="run-{}"><title>{}</title><path class="area" d="{}"/></g>').format(
                number % _COLOURS, name, outline
            )
        )
    ticks = [(t, per_cent(t)) for t in (0, 0.25, 0.5, 0.75, 1)]
    return _figure(title, axes, ticks, x_label, per_cent, shapes)


def scatter(
    title: str,
    points: Float[np.ndarray, "n 2"],
    labels: Int[np.ndarray, " n"] | None,
    names: Sequence[str],
) -> Markup:
    """Points without axes, coloured by class; a few classes are named where the middle of their points is."""
    low, high = points.min(0), points.max(0)
    span = float((high - low).max()) or 1.0
    side = _WIDTH - 24
    places = (points - (low + high) / 2) / span * side + _WIDTH / 2
    which = np.zeros(len(points), np.int64) if labels is None else labels
    groups, words = [], list[tuple[float, float, str]]()
    for number in np.unique(which).tolist():
        own = places[which == number]
        name = names[number] if labels is not None and number < len(names) else ""
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in own.tolist())
        colour = "var(--run-1)" if labels is None else class_colour(number)
        groups.append(
            Markup('<g><title>{}</title><path class="dots" style="stroke:{}" d="{}"/></g>').format(name, colour, dots)
        )
        if name and len(names) <= _LABELLED:
            x, y = np.median(own, 0).tolist()
            word = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            half = _LETTER / 2 * len(word)
            words.append((min(max(x, half), _WIDTH - half), y, word))
    texts = [Markup('<text x="{:.0f}" y="{:.0f}">{}</text>').format(*word) for word in _apart(words)]
    return Markup(
        '<svg class="plot scatter" viewBox="0 0 {} {}" role="img"><title>{}</title>{}<g class="names">{}</g></svg>'
    ).format(_WIDTH, _WIDTH, title, Markup("").join(groups), Markup("").join(texts))


@dataclass(frozen=True)
class _Axes:
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data is in the picture."""
        right = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return _LEFT + right * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)


def _figure(
    title: str, axes: _Axes, x_ticks: Sequence[tuple[float, str]], x_label: str, form: Form, content: Sequence[Markup]
) -> Markup:
    """The plot's frame: lines at the ticks of y, ticks of x, their words."""
    grid = []
    for value in _ticks(*axes.y):
        _, y = axes.at(axes.x[0], value)
        grid.append(
            Markup(
                '<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
                '<text x="{}" y="{:.1f}" class="y">{}</text>'
            ).format(_LEFT, _WIDTH - _RIGHT, y, y, _LEFT - 6, y + 3.5, form(value))
        )
    for value, words in x_ticks:
        x, _ = axes.at(value, axes.y[0])
        grid.append(Markup('<text x="{:.1f}" y="{}" class="x">{}</text>').format(x, _HEIGHT - _BOTTOM + 15, words))
    grid.append(
        Markup('<text x="{}" y="{}" class="x label">{}</text>').format(
            (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_label
        )
    )
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img"><title>{}</title>{}{}</svg>').format(
        _WIDTH, _HEIGHT, title, Markup("").join(grid), Markup("").join(content)
    )


def _line(series: Series, axes: _Axes, scale: Callable[[float], float], form: Form) -> Markup:
    path, drawing, marks = [], False, []
    for x, y in series.points:
        if not math.isfinite(y) or (x <= 0 and scale is math.log2):
            drawing = False
            continue
        left, top = axes.at(scale(x), y)
        path.append(f"{'L' if drawing else 'M'}{left:.1f} {top:.1f}")
        drawing = True
        if len(series.points) <= _MARKED:
            words = f"{series.title}: {form(y)} at {plain(x)}"
            marks.append(
                Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2.2"><title>{}</title></circle>').format(left, top, words)
            )
    return Markup('<g class="run-{}"><title>{}</title><path class="line{}" d="{}"/>{}</g>').format(
        series.number % _COLOURS,
        series.title,
        " dashed" if series.dashed else "",
        "".join(path),
        Markup("").join(marks),
    )


def _apart(words: Sequence[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Words moved down until none is on another."""
    placed: list[tuple[float, float, str]] = []
    for x, y, word in sorted(words, key=lambda word: word[1]):
        for left, above, other in placed:
            if y < above + _LINE and abs(x - left) < _LETTER / 2 * (len(word) + len(other)):
                y = above + _LINE
        placed.append((x, y, word))
    return placed


def _thinned(series: Series) -> Series:
    """Evenly, with both ends."""
    n = len(series.points)
    if n <= _MOST:
        return series
    chosen = np.linspace(0, n - 1, _MOST).round().astype(int).tolist()
    return replace(series, points=[series.points[i] for i in chosen])


def _padded(low: float, high: float) -> tuple[float, float]:
    """Some room above and below; from zero where that is near."""
    room = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return (0.0 if 0 <= low < 0.4 * (high - low) else low - room), high + room


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high.

    >>> _ticks(0, 0.97)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    span = high - low
    if not span > 0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(span / about))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times * about >= span * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _some(values: Sequence[float], most: int = 9) -> list[float]:
    """Every value, every second, every third …, so that their words have room."""
    return list(values[:: -(-len(values) // most)])
