"""The demo panel, calibrated, as one drawing: for the front page of the manual, and as files for the README.

``python docs/_ext/panel_picture.py`` draws the files again. Places along the width are in per cent, so that the letters
keep their size on a narrow screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import evenhand as eh
from evenhand.look import DARK, LIGHT, STATUS

STATIC = Path(__file__).parent.parent / "_static"
PLACES = 10
STORY = 13
"""So many objects from the top are drawn, and below them the one that fell furthest out of the places."""

OF_THE_PAGE = {name: f"var(--eh-{name})" for name in LIGHT}
"""The colours of a page that the drawing is part of: they change with its theme."""

FILES = {"panel-light.svg": LIGHT, "panel-dark.svg": DARK}

COLOURS = {
    "in": ("in", "in", "in-soft"),
    "undecided": ("open", "open-fill", "open-soft"),
    "out": ("out", "out", "out-soft"),
}
"""For each status, the colours of words, dots and bars."""

WHAT = (
    "A calibrated panel. Above, proposals by rank: a dot for the value, a bar for its 90% interval, a tick for the "
    "plain average, the chance of one of 10 places, and whether the proposal is in, open or out. Below, assessors from "
    "generous to strict: a bar for the bias, a line for its 90% interval."
)

ROW = 23
TOP = 52
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


class Drawing:
    """Marks of a drawing, by tokens of colour."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        self.colours = colours
        self.marks: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float, dashes: str = "") -> None:
        """Draw a line; x is in per cent."""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.marks.append(
            f'<line x1="{x1:.1f}%" y1="{y1:g}" x2="{x2:.1f}%" y2="{y2:g}" '
            f'stroke="{self.colours[colour]}" stroke-width="{width:g}"{dashed}/>'
        )

    def bar(self, x1: float, x2: float, y: float, height: float, colour: str) -> None:
        """Draw a bar between two places around a height."""
        self.marks.append(
            f'<rect x="{min(x1, x2):.1f}%" y="{y - height / 2:g}" width="{abs(x2 - x1):.1f}%" height="{height:g}" '
            f'rx="2" fill="{self.colours[colour]}"/>'
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        """Draw a dot."""
        self.marks.append(f'<circle cx="{x:.1f}%" cy="{y:g}" r="4" fill="{self.colours[colour]}"/>')

    def text(self, x: float, y: float, words: str, colour: str = "ink", *, how: str = "") -> None:
        """Write words, around the middle of a line; ``how`` may be ``end``, ``middle``, ``bold`` and ``small``."""
        anchor = next((f' text-anchor="{one}"' for one in ("end", "middle") if one in how), "")
        bold = ' font-weight="600"' if "bold" in how else ""
        small = ' font-size="12"' if "small" in how else ""
        look = f'fill="{self.colours[colour]}"{anchor}{bold}{small}'
        self.marks.append(f'<text x="{x:.1f}%" y="{y + 4.5:g}" {look}>{escape(words)}</text>')

    def mark(self, x: float, y: float, status: str) -> None:
        """Draw the mark of a status: full, half or empty."""
        colour = self.colours["open-fill" if status == "undecided" else status]
        fill = colour if status == "in" else "none"
        self.marks.append(
            f'<circle cx="{x:.1f}%" cy="{y:g}" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.8"/>'
        )
        if status == "undecided":
            self.marks.append(
                f'<svg x="{x:.1f}%" y="{y - 4:g}" overflow="visible">'
                f'<path d="M0 0a4 4 0 0 0 0 8z" fill="{colour}"/></svg>'
            )


def draw(colours: Mapping[str, str]) -> str:
    """Return the drawing as SVG in the given colours."""
    fit = eh.calibrate(eh.demo())
    ranking = eh.rank(fit, top=PLACES)
    drawing = Drawing(colours)
    below = draw_values(drawing, ranking)
    height = draw_biases(drawing, fit, below + 34)
    marks = "\n".join(drawing.marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" width="100%" height="{height}" role="img" '
        f'aria-label="{escape(WHAT)}" font-family="{FONT}" font-size="13">\n'
        f"{marks}\n</svg>\n"
    )


def draw_values(drawing: Drawing, ranking: eh.Ranking) -> int:
    """Draw objects by rank, with a rule below the last place; return where the drawing ends."""
    values = ranking.fit.values.columns()
    chance = ranking.columns()["p_top"]
    average = eh.simple_average(ranking.fit.panel).values.estimate
    decision = eh.decide(ranking, PLACES)
    status = decision.status
    order = (-ranking.fit.values.estimate).argsort(kind="stable").tolist()
    lost = max((-average).argsort(kind="stable")[:PLACES].tolist(), key=order.index)

    def across(points: float) -> float:
        return 19 + (points - 40) / 60 * 47

    drawing.text(6, TOP - 32, "Proposal", "ink-2", how="bold small")
    drawing.text(across(70), TOP - 32, "Value", "ink-2", how="middle bold small")
    drawing.text(80, TOP - 32, "Chance", "ink-2", how="end bold small")
    drawing.text(84, TOP - 32, "Status", "ink-2", how="bold small")
    rows = list(rows_of(order, lost, status, decision.line_words()))
    end = TOP + ROW * len(rows)
    for points in range(40, 101, 10):
        drawing.text(across(points), TOP - 12, str(points), "ink-3", how="middle small")
        drawing.line(across(points), TOP, across(points), end, "grid", 1)
    for at, (rank, o) in enumerate(rows):
        y = TOP + ROW * at + ROW / 2
        if o is None:
            drawing.text(6, y, rank, "ink-3", how="small")
            if at == PLACES:
                drawing.line(0, y - ROW / 2, 100, y - ROW / 2, "ink", 2)
            continue
        colour, fill, soft = COLOURS[status[o]]
        lower, upper, mean = values["lower"][o], values["upper"][o], float(average[o])
        drawing.text(4, y, rank, "ink-2", how="end small")
        drawing.text(6, y, values["object"][o], how="bold")
        drawing.line(across(mean), y, across(min(max(mean, lower), upper)), y, "ink-3", 1)
        drawing.bar(across(lower), across(upper), y, 8, soft)
        drawing.line(across(mean), y - 6, across(mean), y + 6, "ink", 2)
        drawing.dot(across(values["value"][o]), y, fill)
        drawing.text(80, y, percent(chance[o]), colour, how="end")
        drawing.mark(85, y, status[o])
        drawing.text(87.5, y, STATUS[status[o]][0], colour, how="bold")
    drawing.text(0, end + 16, "Dot: value. Bar: 90% interval. Tick: plain average.", "ink-3", how="small")
    return end + 28


def rows_of(order: list[int], lost: int, status: Sequence[str], line: str) -> Iterator[tuple[str, int | None]]:
    """Yield rank and object for each row; a row without an object says where the line is, or who is left out."""
    place = order.index(lost)
    rows = [(str(at + 1), o) for at, o in enumerate(order[:STORY])]
    yield from rows[:PLACES]
    yield line, None
    yield from rows[PLACES:]
    yield more(order[STORY:place], status), None
    yield str(place + 1), lost
    yield more(order[place + 1 :], status), None


def more(objects: list[int], status: Sequence[str]) -> str:
    """Return how many are left out of each status."""
    counts = Counter(status[o] for o in objects)
    told = [f"{counts[name]} {word.lower()}" for name, (word, _) in STATUS.items() if counts[name]]
    return f"{len(objects)} more: {', '.join(told)}" if len(told) > 1 else f"{told[0].replace(' ', ' more, all ')}"


def percent(chance: float) -> str:
    """Return a chance as people read it."""
    if chance > 0.99:
        return ">99%"
    return "<1%" if chance < 0.01 else f"{100 * chance:.0f}%"


def draw_biases(drawing: Drawing, fit: eh.Fit, top: int) -> int:
    """Draw assessors from generous to strict about zero; return where the drawing ends."""
    biases = fit.biases.columns()

    def across(points: float) -> float:
        return 51.5 + points / 25 * 23

    order = (-fit.biases.estimate).argsort(kind="stable").tolist()
    end = top + 20 + ROW * len(order)
    drawing.text(0, top - 12, "Assessor", "ink-2", how="bold small")
    drawing.text(across(0), top - 12, "Bias, in points", "ink-2", how="middle bold small")
    for points in range(-20, 21, 10):
        words = f"{points:+d}".replace("-", "−") if points else "0"
        drawing.text(across(points), top + 8, words, "ink-3", how="middle small")
        drawing.line(across(points), top + 20, across(points), end, "ink-3" if points == 0 else "grid", 1)
    for at, a in enumerate(order):
        y = top + 20 + ROW * at + ROW / 2
        bias, lower, upper = biases["bias"][a], biases["lower"][a], biases["upper"][a]
        sure = lower > 0 or upper < 0
        side = "generous" if bias > 0 else "strict"
        colour, soft, words = (side, f"{side}-soft", side) if sure else ("out", "out-soft", "like the panel")
        drawing.text(0, y, biases["assessor"][a])
        drawing.bar(across(0), across(bias), y, 10, soft)
        drawing.line(across(lower), y, across(upper), y, colour, 1.8)
        drawing.dot(across(bias), y, colour)
        drawing.text(100, y, words, colour if sure else "ink-3", how="end bold" if sure else "end")
    return end + 6


if __name__ == "__main__":
    for name, tokens in FILES.items():
        (STATIC / name).write_text(draw(tokens), encoding="utf-8")
        print(STATIC / name)
