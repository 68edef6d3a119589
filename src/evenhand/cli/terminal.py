"""What a person sees on a terminal of each answer: the summary as tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenhand.cli.decision import alerted, drawn_from, short, show_decision
from evenhand.cli.showing import (
    Summary,
    interval_text,
    number_text,
    say,
    say_left_out,
    say_list,
    say_notes,
    show_table,
    show_written,
    some,
)
from evenhand.words import chance, count_of, decimals, percent, quoted, sentence

if TYPE_CHECKING:
    from evenhand.answers.decision import Decision
    from evenhand.cluster.calibrate import DistributedFit
    from evenhand.panel.panel import Panel

_MOST_CRITERIA: Final = 4
"""Up to this many criteria the values of each stand beside those of all together."""

_MOST_GROUPS: Final = 20
"""Groups, and assessments that would join them."""

_MOST: Final = 10
"""Rows of a table, unless fewer or all are asked for."""

_VARIANCES: Final = {
    "value_sd": "spread of values",
    "bias_sd": "spread of biases",
    "scale_sd": "spread of log scales",
    "power": "power of confidence",
    "factor_strength": "evenness of noise factors",
    "freedom": "degrees of freedom of the noise",
    "noise_sd": "noise of a score of confidence 1",
}


_SAID_BY_ALERTS: Final = {"perfect_agreement": "grid", "few_scores": "few_degrees"}
"""Kinds of notes that say no more than an alert of the kind beside."""

_VERDICTS: Final = ("other ranking", "erratic", "bunched", "too few scores to tell", "consistent")
"""Those whom one should talk to come first."""


def show_fit(summary: Summary, rows: int, decision: Decision | None = None, *, calibrated: bool = True) -> None:
    """Print the decision where places were asked for, values, biases where they were fitted, and what they rest on."""
    assuming = summary.get("assuming", "")
    with alerted(summary["alerts"], decides=decision is not None, assuming=assuming) as is_provisional:
        if decision is not None:
            show_decision(decision, rows, is_provisional=is_provisional, alerts=summary["alerts"])
            say("")
        say(f"{_panel_line(summary['panel'])} {_method_line(summary)}")
        digits = _digits(summary["objects"])
        if decision is None or _has_more_than_values(summary):
            _show_values(summary, rows, digits)
        if calibrated:
            _show_biases(summary, rows, digits)
        fit = summary["fit"]
        facts = [
            f"residual {number_text(fit['residual'])} with {count_of(fit['degrees_of_freedom'], 'degree')} of freedom",
            f"spectral gap {number_text(fit['mu2'])}",
        ]
        if fit["rms_uncertainty"] is not None:
            facts.append(f"typical uncertainty {number_text(fit['rms_uncertainty'])}")
        say(f"{sentence('; '.join(facts))}.")
        _show_criteria(summary)
        _show_model(summary, rows)
        _show_reliability(summary, rows)
    # the log-evidence is in files and JSON only, and so are its notes; outlying scores have a table of their own
    hidden = ("evidence", *(("outlying",) if summary.get("outlying") else ()))
    _say_notes(summary, lambda note: note["kind"].startswith(hidden))


def _say_notes(summary: Summary, is_hidden: Callable[[Summary], bool] = lambda _note: False) -> None:
    """Print notes, but for those that are hidden and those that an alert has said."""
    said = {_SAID_BY_ALERTS.get(alert["kind"]) for alert in summary["alerts"]}
    say_notes(note for note in summary["notes"] if note["kind"] not in said and not is_hidden(note))


def _digits(records: Sequence[Summary]) -> int:
    """Return the decimals of points for a table of values."""
    values = [record["value"] for record in records]
    spread, size = max(values, default=0.0) - min(values, default=0.0), max(map(abs, values), default=0.0)
    return decimals(spread if spread > 1e-9 * size else 0.0)  # what is less is rounding


def _has_more_than_values(summary: Summary) -> bool:
    """Return whether values stand beside something that a decision does not show: criteria, or chances of grades."""
    return "criteria" in summary or any(record.get("grades") for record in summary["objects"])


def _show_values(summary: Summary, rows: int, digits: int) -> None:
    ordered = sorted(summary["objects"], key=lambda record: (record.get("component", 1), record["rank"]))
    group = ["group"] if any("component" in record for record in ordered) else []
    criteria = summary.get("criteria", [])[:_MOST_CRITERIA]
    by_criterion = [{record["object"]: record["value"] for record in part["objects"]} for part in criteria]
    graded = any(record.get("grades") for record in ordered)
    titled = any(record.get("title") for record in ordered)
    interval = f"{percent(summary['interval'])} interval"

    def cells(record: Summary) -> list[object]:
        found = [
            *([record["component"]] if group else []),
            *(f"{record['rank']:,}", record["object"], *[short(record.get("title"))] * titled),
            *(number_text(record[name], digits=digits) for name in ("value", "sd")),
            *(interval_text(record, digits), record["assessments"]),
            *(number_text(values.get(record["object"]), digits=digits) for values in by_criterion),
        ]
        if graded:
            likeliest = max(record["grades"], key=record["grades"].get)
            found.append(f"{likeliest} ({chance(record['grades'][likeliest])})")
        return found

    columns = [*group, "#", "object", *["title"] * titled, "value", "sd", interval, "scores"]
    columns += [part["criterion"] for part in criteria] + ["likeliest grade"] * graded
    spare = ("scores", "sd", "title", *(part["criterion"] for part in reversed(criteria)), interval)
    show_table(columns, ordered, cells, text=("object", "title"), spare=spare, most=rows, what="object")


def _show_biases(summary: Summary, rows: int, digits: int) -> None:
    by_bias = sorted(summary["assessors"], key=lambda record: (record.get("component", 1), -record["bias"]))
    group = ["group"] if any("component" in record for record in by_bias) else []
    interval = f"{percent(summary['interval'])} interval"
    folds = {}
    if 1 < rows < len(by_bias):  # the most generous and the strictest
        first = rows // 2
        folds = {first: f"{count_of(len(by_bias) - rows, 'more assessor')} (--rows 0 shows all)"}
        by_bias = [*by_bias[:first], *by_bias[first - rows :]]
    show_table(
        [*group, "assessor", "bias", "sd", interval, "scores"],
        by_bias,
        lambda record: [
            *([record["component"]] if group else []),
            record["assessor"],
            number_text(record["bias"], sign=True, digits=digits),
            number_text(record["sd"], digits=digits),
            interval_text(record, digits, sign=True),
            record["assessments"],
        ],
        spare=("scores", "sd", interval),
        most=rows,
        what="assessor",
        folds=folds,
    )
    say("A positive bias is generous, a negative one strict.")


def _show_reliability(summary: Summary, rows: int) -> None:
    """Print how good the panel is and how each assessor fits in, where that was asked for."""
    told = summary.get("reliability")
    if told is None:
        return
    say(*told["sentences"])
    say_notes(told["notes"])
    if not told["assessors"]:
        return
    columns = ["assessor", "verdict", "scores", "infit", "z", "outfit", "z", "agreement", "spread"]
    numbers = ("infit", "infit_z", "outfit", "outfit_z", "agreement", "spread")
    show_table(
        columns,
        sorted(told["assessors"], key=lambda record: _VERDICTS.index(record["verdict"])),
        lambda record: [
            *(record["assessor"], record["verdict"], record["scores"]),
            *(number_text(record[name], sign=name.endswith("_z")) for name in numbers),
        ],
        text=columns[:2],
        whole=columns[1:2],
        spare=("z", "outfit", "scores", "spread", "infit", "agreement"),
        most=rows,
        what="assessor",
    )


def _show_model(summary: Summary, rows: int) -> None:
    """Print what a refined model found: numbers of the model, covariates, scales, noise factors, outlying scores."""
    most = 0 if rows == 0 else min(rows, _MOST)

    def tell(key: str, label: str, columns: Sequence[str], records: list[Summary], most: int = 0) -> None:
        signed = key == "covariates"
        if records:
            interval = f"{percent(summary['interval'])} interval"
            show_table(
                [*columns, "sd", interval],
                records,
                lambda record: [
                    _VARIANCES.get(record[label], record[label]) if key == "variances" else record[label],
                    number_text(record["estimate"], sign=signed),
                    number_text(record["sd"]),
                    interval_text(record, 2, sign=signed),
                ],
                text=columns[:1],
                whole=columns[:1],
                spare=("sd", interval),
                most=most,
                what=label,
            )

    tell("variances", "variance", ("of the model", "estimate"), summary.get("variances", []))
    confidence = summary.get("declared_confidence")
    if confidence is not None:
        say(sentence(confidence["words"]))
    tell("covariates", "covariate", ("covariate", "points"), summary.get("covariates", []), most)
    for key, column in (("scales", "scale"), ("noise_factors", "noise factor")):
        tell(key, "assessor", ("assessor", column), sorted(summary.get(key, []), key=_away_from_one), most)
    tell("thresholds", "threshold", ("threshold", "latent"), summary.get("thresholds", []))
    if summary.get("outlying"):
        show_table(
            ["outlying score", "by", "on", "expected", "sds away"],
            summary["outlying"],
            lambda record: [
                f"{record['score']:g}",
                *(record["assessor"], record["object"]),
                number_text(record["expected"]),
                number_text(record["surprise"], sign=True, digits=1),
            ],
            text=("by", "on"),
            spare=("expected",),
            most=most,
            what="outlying score",
        )


def _away_from_one(record: Summary) -> float:
    """Order factors: the furthest from 1 first, half as much and twice as much alike."""
    estimate: float = record["estimate"]
    return -max(estimate, 1 / estimate) if estimate > 0 else float("-inf")


def _show_criteria(summary: Summary) -> None:
    """Print the weights of the criteria, and how the errors of one reading are correlated."""
    if "criteria" not in summary:
        return
    weights = ", ".join(f"{part['criterion']} {part['weight']:.3g}" for part in summary["criteria"])
    say(f"Weights of the criteria: {weights}.")
    found = [record for record in summary["correlation"] if record["correlation"] is not None]
    if found:
        pairs = ", ".join(
            f"{record['first']} and {record['second']} {record['correlation']:.2f}"
            + ("" if record["error"] is None else f" ± {record['error']:.2f}")
            for record in found[:_MOST]
        )
        say(f"Correlation of the errors of one reading: {pairs}.")
        say_left_out(len(found) - _MOST, "pair")


def show_distributed(fit: DistributedFit, rows: int) -> None:
    """Print counts, residual, noise, the largest estimates of the smaller side, and where the rest is."""
    summary = fit.summary
    panel, found = summary["panel"], summary["fit"]
    counts = ", ".join(count_of(panel[f"{word}s"], word) for word in ("object", "assessor", "assessment"))
    say(f"{counts}; {summary['solver']['name']}: {summary['solver']['reason']}.")
    facts = [f"residual {found['residual']:.6g} with {count_of(found['degrees_of_freedom'], 'degree')} of freedom"]
    for name, words in (("noise_variance", "noise variance"), ("mu2", "spectral gap")):
        if found[name] is not None:
            facts.append(f"{words} {found[name]:.4g}")
    say(f"{sentence('; '.join(facts))}.", "")
    of_values = fit.side == "object"
    most = min(len(fit.labels), 10 if rows == 0 else min(rows, 10))
    size = [-value if of_values else -abs(value) for value in fit.estimate.tolist()]
    order = sorted(range(len(size)), key=size.__getitem__)[:most]
    say(f"{'Highest values' if of_values else 'Largest biases'}:")
    show_table(
        [fit.side, "value" if of_values else "bias", *["sd"] * (fit.sd is not None)],
        order,
        lambda at: [
            fit.labels[at],
            number_text(float(fit.estimate[at]), sign=not of_values, digits=3),
            *([] if fit.sd is None else [number_text(float(fit.sd[at]), digits=3)]),
        ],
    )
    say_notes(summary["notes"])
    say(f"Written to {fit.out.name}: objects, assessors, residuals, summary.json.")


def show_check(summary: Summary, *, explain: bool = False) -> None:
    """Print how a file was read and how its panel is connected; with ``explain``, why it was read so."""
    reading = summary["reading"]
    if reading is not None:
        say(reading["sentence"], hang=2)
        say(*(f"  {reason}" for reason in reading["why"] if explain), hang=2)
    # which groups there are is the answer itself
    with alerted([alert for alert in summary["alerts"] if alert["kind"] != "groups"]):
        _show_connections(summary)
    say_notes(problem for problem in summary["problems"] if problem["kind"] != "not_connected")


def _show_connections(summary: Summary) -> None:
    """Print what a panel is made of, and what its comparisons hang on."""
    say(_panel_line(summary))
    if summary["ok"] and summary["assessors"] == 1:
        say("Connected, but there is only one assessor: a bias cannot be told from the values.")
    elif summary["ok"]:
        gap = f" (spectral gap {number_text(summary['mu2'])}; 1 is best, 0 is disconnected)"
        say(f"Connected: all assessors can be compared{'' if summary['mu2'] is None else gap}.")
    else:
        _show_groups(summary)
    bridges = summary["bridges"]
    if bridges:
        shown = some([f"{quoted(pair['assessor'])} on {quoted(pair['object'])}" for pair in bridges])
        word = "assessment hangs" if len(bridges) == 1 else "assessments hang"
        say(f"{len(bridges):,} {word} by a thread (nothing else links the two sides): {shown}.")
    cutting = summary["articulation_assessors"]
    if cutting:
        say(f"Without one of these assessors, objects or assessors would be cut off: {some(cutting)}.")


def _show_groups(summary: Summary) -> None:
    """Print the groups that cannot be compared, and what would join them."""
    groups = summary["components"]
    say(f"Not connected: {len(groups)} groups that cannot be compared.")
    for at, group in enumerate(groups[:_MOST_GROUPS], start=1):
        say(f"Group {at}")
        say_list("  objects", group["objects"])
        say_list("  assessors", group["assessors"])
    say_left_out(len(groups) - _MOST_GROUPS, "group")
    say("These further assessments would join them:")
    for pair in summary["suggestions"][:_MOST_GROUPS]:
        say(f"  {pair['assessor']} on {pair['object']}", hang=2)
    say_left_out(len(summary["suggestions"]) - _MOST_GROUPS, "suggestion")


def show_problems(summary: Summary) -> None:
    """Print every problem of a file that cannot be read as a panel."""
    problems = summary["problems"]
    say_notes(problems[:100], before="")
    say_left_out(len(problems) - 100, "problem")


def show_comparison(summary: Summary) -> None:
    """Print the methods side by side."""
    with alerted(summary["alerts"]):
        _show_methods(summary)
        _show_agreement(summary)
        advice = summary["recommendation"]
        name = "" if advice["method"] is None else f": {advice['method']}"
        say(f"Recommended{name}: {advice['reason']}")
    from evenhand.models.additive import METHODS

    # a dash says it for refinements, most of which have no log-evidence, and for z-scores
    refined = [record["method"] for record in summary["methods"] if record["method"] not in METHODS]
    dashes = tuple(f"no log-evidence for {method}:" for method in refined)
    _say_notes(summary, lambda note: note["message"].startswith(dashes))


def _show_methods(summary: Summary) -> None:
    columns = {
        "residual": "residual",
        "scaled": "residual_scaled",
        "rms uncertainty": "rms_uncertainty",
        "of values": "rms_uncertainty_values",
        "log-evidence": "log_evidence",
        "held-out error": "loo_rmse",
    }
    show_table(
        ["method", *columns, "behind best"],
        summary["methods"],
        lambda record: [record["method"], *(number_text(record[key]) for key in columns.values()), _behind(record)],
        text=("method",),
        whole=("method",),
        spare=("residual", "scaled", "of values", "rms uncertainty", "log-evidence", "held-out error"),
    )


def _show_agreement(summary: Summary) -> None:
    """Print how well methods agree.

    The paper's methods beside each other and beside the one recommended: of refinements there are too many pairs.
    """
    if not summary["r2"]:
        return
    main = {record["method"] for record in summary["methods"] if "+" not in record["method"]}
    pairs = list(zip(summary["r2"], summary["rank_changes"], strict=True))
    beside = {*main, summary["recommendation"]["method"]}
    shown = [one for one in pairs if one[0]["a"] in main and one[0]["b"] in beside]
    show_table(
        ["methods", "R² of values", "largest rank change", "object"],
        shown,
        lambda one: [
            f"{one[0]['a']} / {one[0]['b']}",
            "–" if one[0]["r2"] is None else f"{one[0]['r2']:.4f}",
            f"{one[1]['largest']:,}",
            one[1]["object"],
        ],
        text=("methods", "object"),
        spare=("object", "largest rank change"),
    )
    say_left_out(len(pairs) - len(shown), "pair")


def _behind(record: Summary) -> str:
    """Return how far the mean log density falls behind that of the best, with its standard error."""
    behind, error = record["loo_behind"], record["loo_behind_error"]
    if behind is None:
        return "–"
    return "best" if behind == 0 == error else f"{behind:.3f} ± {'–' if error is None else f'{error:.3f}'}"


def show_ranking(summary: Summary, rows: int, decision: Decision | None = None) -> None:
    """Print the decision, or without places the ranks with their uncertainty."""
    assuming = summary.get("assuming", "")
    with alerted(summary["alerts"], decides=decision is not None, assuming=assuming) as is_provisional:
        if decision is None:
            _show_ranks(summary, rows)
            say(drawn_from(summary["draws"], summary["seed"]))
        else:
            show_decision(decision, rows, is_provisional=is_provisional, alerts=summary["alerts"])
    _say_notes(summary, lambda note: note["kind"] == "lottery")


def _show_ranks(summary: Summary, rows: int) -> None:
    ordered = sorted(summary["objects"], key=lambda record: record["rank"])
    digits = _digits(ordered)
    titled = any(record.get("title") for record in ordered)
    ranks = f"{percent(summary['interval'])} ranks"
    show_table(
        ["#", "object", *["title"] * titled, "value", ranks, "expected", "first"],
        ordered,
        lambda record: [
            *(f"{record['rank']:,}", record["object"], *[short(record.get("title"))] * titled),
            number_text(record["value"], digits=digits),
            f"{record['rank_lower']:,}–{record['rank_upper']:,}",
            f"{record['expected_rank']:.1f}",
            chance(record["p_first"]),
        ],
        text=("object", "title"),
        spare=("expected", "title", ranks),
        most=rows,
        what="object",
    )
    say("Expected is the mean of the rank, first the chance to be first.")


def show_influence(summary: Summary, rows: int, top: int | None) -> None:
    """Print what scores and assessors did, in plain words."""

    def say_first(title: str, records: list[Summary], order: Callable[[Summary], float], words: Any) -> None:
        say(title)
        say(*(f"  {words(record)}" for record in sorted(records, key=order)[: rows or None]), hang=2)

    def of_score(record: Summary) -> str:
        way = "above" if record["held_out_error"] > 0 else "below"
        return (
            f"{record['assessor']} on {record['object']}: {record['score']:g}, "
            f"{number_text(abs(record['held_out_error']))} {way} what all other scores predict; "
            f"moves the value by {number_text(record['pull'], sign=True)}"
        )

    with alerted(summary["alerts"]):
        say_first(
            "Why values differ from plain averages, largest first:",
            summary["objects"],
            lambda record: -abs(record["difference"]),
            lambda record: f"{record['object']}: {record['reason']}",
        )
        checked = [record for record in summary["assessments"] if record["pull"] is not None]
        pull = "Scores that pull their object's value the most:"
        say_first(pull, checked, lambda record: -abs(record["pull"]), of_score)
        alone = [
            f"{quoted(one['assessor'])} on {quoted(one['object'])}"
            for one in summary["assessments"]
            if one["pull"] is None
        ]
        if alone:
            say(f"Nothing else can check: {some(alone)}.")
        # first those without whom the panel would fall apart
        say_first(
            "Without an assessor:",
            summary["assessors"],
            lambda one: -float("inf") if one["largest_change"] is None else -abs(one["largest_change"]),
            lambda one: _deletion(one, top),
        )
        bounds = summary["robustness"]
        if bounds is not None:
            say(
                f"Robustness: a change of all scores of size d (in declared uncertainties) moves no value of total "
                f"confidence C by more than {number_text(bounds['constant'])} d / √C; spectral gap "
                f"{number_text(bounds['mu2'])}."
            )
    _say_notes(summary)


def _deletion(record: Summary, top: int | None) -> str:
    who = quoted(record["assessor"])
    if record["largest_change"] is None:
        return f"without {who}: {record['note']}"
    change = number_text(record["largest_change"], sign=True)
    text = f"without {who}: {quoted(record['object'])} would move most beside the others, by {change}"
    if top is not None:
        changes = [
            f"{', '.join(map(quoted, record[key]))} would {verb} the top {top}"
            for key, verb in (("entering", "enter"), ("leaving", "leave"))
            if record[key]
        ]
        text += f"; {'; '.join(changes) or f'the top {top} would stay the same'}"
    return text + (f"; no score left for {', '.join(map(quoted, record['lost']))}" if record["lost"] else "")


def show_next(summary: Summary) -> None:
    """Print the assessments that would help most."""
    with alerted(summary["alerts"]):
        now, then = number_text(summary["now"]), number_text(summary["then"])
        with_all = f", and {then} with all of these" if summary["assessments"] else ""
        if summary["top"] is None:
            say(f"Mean variance of the values now: {now}{with_all}. What would narrow it most, together:")
        else:
            line = f"Expected number of objects on the wrong side of place {summary['top']}: {now}{with_all}."
            say(f"{line} What would lower it most, together:")
        show_table(
            ["assessor", "object", "gain"],
            summary["assessments"],
            lambda record: [record["assessor"], record["object"], number_text(record["gain"])],
        )
        if not summary["assessments"]:
            say("There is no further assessment to make: everybody has read all that is open to them.")
    _say_notes(summary)


def show_packed(panel: Panel, place: Path, parts: int) -> None:
    """Say what was packed and where, and what was noted on the way."""
    say(f"{panel!r} packed{'' if parts == 1 else f' in {parts:,} parts'}.")
    show_written([place])
    say_notes({"where": note.where, "message": note.message} for note in panel.notes)


def _panel_line(panel: Summary) -> str:
    counts = [count_of(panel[name], name[:-1]) for name in ("objects", "assessors", "assessments")]
    declared = {
        "uncertainty": "with declared uncertainties",
        "confidence": "with declared confidences",
        "level": "with confidence levels",
        "none": "without declared confidence",
    }[panel["confidence"]]
    return f"{counts[0]}, {counts[1]}, {counts[2]} {declared}."


def _method_line(summary: Summary) -> str:
    gauge = "" if summary["gauge"] is None else f", gauge {summary['gauge']}"
    return f"{sentence(summary['model']['words'])} ({summary['method']}{gauge})."
