"""What a person sees of alerts and of a decision: what may be wrong, who is in, open and out, and where the line is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from evenhand.cli.bars import bars
from evenhand.cli.layout import cut
from evenhand.cli.showing import Summary, knows, make_table, say, say_list, show_table, width
from evenhand.look import STATUS
from evenhand.words import chance, count_of, lowered, number, percent

if TYPE_CHECKING:
    from evenhand.answers.decision import Decision, Standing, Status

_STYLES: Final[dict[Status, str]] = {"in": "bold blue", "undecided": "yellow", "out": "dim"}
STATUSES: Final = {status: (*STATUS[status][::-1], style) for status, style in _STYLES.items()}
"""Shape, word and style of each status."""

_ALARM: Final = {"stop": "bold reverse red", "check": "bold red"}
_NARROW: Final = 60
"""On fewer columns headlines are brief."""

_LONGEST_TITLE: Final = 32
_FIRST: Final = 4
"""Rows from the top that are shown, however far down the line is."""

_SPARE: Final = ("lot", "plain", "interval", "ranks", "title")
"""Columns to be left out where there is no room, the first first; the bars go before all of them."""


@contextmanager
def alerted(alerts: Sequence[Summary], *, decides: bool = False, assuming: str = "") -> Iterator[bool]:
    """Print alerts around an answer: those to act upon before it, notes after; say within whether it is provisional."""
    for alert in alerts:
        if alert["level"] != "note":
            _show_alert(alert, decides=decides)
    is_stopped = any(alert["level"] == "stop" for alert in alerts)
    if is_stopped and not decides:
        say(f"What follows is provisional{f': {assuming}' if assuming else ', until that is settled'}.", "")
    yield is_stopped
    for alert in alerts:
        if alert["level"] == "note":
            _show_alert(alert, decides=decides)


def _show_alert(alert: Summary, *, decides: bool) -> None:
    """Print one alert: what it is, its cases, what else would come out, and what to do."""
    level, headline = alert["level"], alert["headline"]
    word = {"stop": "No decision yet" if decides else "Stop", "check": "Check", "note": "Note"}[level]
    head = _ended(headline if headline.startswith(f"{word} ") else f"{word}: {headline[:1].lower()}{headline[1:]}")
    if level == "note":
        say(" ".join([head, *alert["lines"], _ended(alert["remedy"])]), hang=2)
        return
    say(head, style=_ALARM[level], hang=2)
    for line in alert["lines"]:
        say(f"  {line}", hang=2)
    if alert["outcomes"]:
        _show_outcomes(alert["outcomes"])
    if alert["remedy"]:
        say(f"  {_ended(alert['remedy'])}", hang=2)
    say("")


def _ended(sentence: str) -> str:
    return sentence if not sentence or sentence.endswith((".", "!", "?")) else f"{sentence}."


def _show_outcomes(outcomes: Sequence[Summary]) -> None:
    """Print side by side what would come out if a score were another."""
    groups = [group for group in STATUSES if group in outcomes[0]]
    show_table(
        ["if the score is", "rank", *(STATUSES[group][1] for group in groups)],
        outcomes,
        lambda one: [
            one["case"],
            "–" if one["place"] is None else f"{one['place']:,}",
            *(f"{len(one[group]):,}" for group in groups),
        ],
        text=("if the score is",),
    )


def status_cell(status: Status | None) -> tuple[str, str]:
    """Return a status as shape and word, or as a word where shapes cannot be written, with its style."""
    if status is None:
        return "–", ""
    shape, word, style = STATUSES[status]
    return (f"{shape} {word}" if knows(shape) else word), style


def show_decision(
    decision: Decision, rows: int, *, is_provisional: bool = False, alerts: Sequence[Summary] = ()
) -> None:
    """Print the finding, the table with the line drawn, who is in, open and out, and what averages would decide.

    What alerts say that must be read beside the finding follows it.
    """
    room = width()
    by_method = any(alert["doubtful"] for alert in alerts)
    told = decision.headline if room is None or room >= _NARROW else decision.brief
    finding = told(by_method=by_method)
    say(f"Provisional: {lowered(finding)}." if is_provisional else f"{finding}.", style="bold")
    say(*(alert["beside"] for alert in alerts if alert["beside"]))
    _show_standings(decision, rows)
    for status, labels in zip(STATUSES, (decision.inside, decision.undecided, decision.outside), strict=True):
        say_list(STATUSES[status][1], labels)
    if decision.drawn is not None:
        drawn = ", ".join(decision.drawn) or "nobody, as no place is open"
        say(f"Drawn by lot (seed {decision.lottery_seed}): {drawn}.", hang=2)
    ranking = decision.ranking
    apart = decision.line_words().partition(". ")[2]  # the line itself is in the table
    if apart and decision.line is not None and not apart.startswith(decision.line[0].object):
        apart = lowered(apart)  # the noun before a number begins the sentence no more
    said = [f"At the line, {apart}" if apart else "", decision.averages_words()]
    if decision.caution is None:  # else an alert has said why nobody is in or out
        said.append(decision.meaning())
    say(*(one for one in said if one), drawn_from(ranking.draws, ranking.seed))


def drawn_from(draws: int, seed: int) -> str:
    """Return what ranks rest on."""
    return f"From {draws:,} draws, seed {seed}."


def _show_standings(decision: Decision, rows: int) -> None:
    """Print the table of a decision."""
    standings, breaks, folds = _around_the_line(decision, rows)
    interval = f"{percent(decision.fit.values.interval)} interval"
    titled = any(one.title for one in decision.standings)
    noun, digits = decision.fit.panel.noun, decision.digits

    def cells(one: Standing) -> list[object]:
        ends = [number(end, digits) for end in (one.lower, one.upper)]
        return [
            *(f"{one.place:,}", one.object, *[short(one.title)] * titled, number(one.value, digits)),
            *("–" if one.lower is None else " to ".join(ends), number(one.average, digits)),
            *(f"{one.rank_lower:,}–{one.rank_upper:,}", chance(one.chance), status_cell(one.status)),
            *["drawn" if one.drawn else ""] * (decision.drawn is not None),
        ]

    columns = ["#", noun, *["title"] * titled, "value", interval, "plain", "ranks", "chance", "status"]
    columns += ["lot"] * (decision.drawn is not None)
    text, spare = [noun, "title", "status", "lot"], [interval if name == "interval" else name for name in _SPARE]
    found = [cells(one) for one in standings]
    room = _room_for_bars(columns, found, text)
    drawn = bars(standings, room, [status_cell(one.status)[1] for one in standings]) if room else None
    if drawn is not None:
        at = columns.index("value") + 1
        columns.insert(at, drawn[0])
        for row, bar in zip(found, drawn[1], strict=True):
            row.insert(at, bar)
        text.append(drawn[0])
    show_table(columns, found, lambda row: row, text=text, spare=spare, breaks=breaks, folds=folds)


def short(title: str | None) -> str:
    """Return a title that leaves room beside it."""
    return cut(title or "", _LONGEST_TITLE)


def _room_for_bars(columns: Sequence[str], rows: Sequence[Sequence[object]], text: Sequence[str]) -> int:
    """Return the columns of the terminal that a table leaves, where shapes can be drawn."""
    room = width()
    if room is None or not knows("━●"):
        return 0
    sizes = make_table(columns, rows, text=text).natural()
    return room - sum(size + 2 for size in sizes)


def _around_the_line(decision: Decision, rows: int) -> tuple[list[Standing], dict[int, str], dict[int, str]]:
    """Return the standings to show, where the line is among them, and what is folded: the top and both sides of it."""
    everyone, places = decision.standings, decision.places
    count = len(everyone)
    shown = list(range(count))
    if 0 < rows < count:
        top = min(_FIRST, rows // 2)
        first = min(max(places - (rows - top + 1) // 2, top), count - rows + top)
        shown = [*range(top), *range(first, first + rows - top)]
    before = [-1, *shown]
    folds = {
        at: f"{now - last - 1:,} more{' (--rows 0 shows all)' if now == count else ''}"
        for at, (last, now) in enumerate(zip(before, [*shown, count], strict=True))
        if now - last > 1
    }
    inner = 0 < places < count
    line = {sum(at < places for at in shown): count_of(places, "place")} if inner else {}
    return [everyone[at] for at in shown], line, folds
