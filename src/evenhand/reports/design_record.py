"""How a design came about, for its summary and in sentences: signals, derived conflicts, a floor, a draw, prices."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from evenhand.design.lottery import commitment
from evenhand.design.result import Design
from evenhand.reports.summary import Summary
from evenhand.words import count_of, is_or_are

_REASONS = {"author": "as authors", "co-author": "by co-authors", "domain": "by domain"}


def record_of(design: Design, *, priced: bool) -> Summary:
    """Return what a summary says of how a design came about: nothing of what was not asked for.

    Where ``priced``, what a floor or a draw costs is searched for.
    """
    record = design.record
    found: dict[str, Any] = {}
    if record.signals:
        found["signals"] = [asdict(one) for one in record.signals]
    if record.derived:
        found["derived_conflicts"] = [asdict(one) for one in record.derived]
    if record.floor is not None:
        found["floor"] = {"expertise": record.floor, "bound": record.floor_bound}
    drawn = record.lottery
    if drawn is not None:
        task = design.task
        found["lottery"] = {
            "max_probability": drawn.max_probability,
            "largest_probability": drawn.largest,
            "designs": len(drawn.deck),
            "worth": "expertise" if task.expertise is not None else "precision",
            "expected": drawn.expected,
            "bound": drawn.bound,
            "without_cap": drawn.free,
            "seed": design.seed,
            "salt": record.salt,
            "commitment": commitment(design.seed, record.salt),
        }
        found["marginals"] = [
            {"assessor": task.assessors[a], "object": task.objects[o], "probability": p}
            for a, o, p in zip(task.assessor.tolist(), task.object.tolist(), drawn.marginals.tolist(), strict=True)
            if p > 0
        ]
    if record.freed is not None:
        found["price"] = _price(design) if priced else None
    return found


def _price(design: Design) -> Summary | None:
    """Return what a design is like beside the one that a search finds without a floor and without a draw."""
    without = design.without
    if without is None:
        return None
    names = ("mean_variance", "mean_sd", "max_sd", "mean_expertise", "least_expertise")
    found: dict[str, Any] = {name: {"with": getattr(design, name), "without": getattr(without, name)} for name in names}
    return {**found, "variance_higher_by": design.mean_variance / without.mean_variance - 1}


def describe_record(summary: Summary) -> list[str]:
    """Return in sentences how a design came about."""
    lines = [_signal(one) for one in summary.get("signals", ())]
    derived = summary.get("derived_conflicts", ())
    if derived:
        reasons = Counter(one["reason"].partition(" ")[0] for one in derived)
        how = ", ".join(f"{count:,} {_REASONS[reason]}" for reason, count in sorted(reasons.items()))
        lines.append(
            f"{count_of(len(derived), 'pair')} {is_or_are(len(derived))} in conflict for who wrote the object: {how}."
        )
    price = summary.get("price")
    floor = summary.get("floor")
    if floor is not None:
        words = f"Floor: the readers of every object have a mean expertise of at least {floor['expertise']:.2f}"
        highest = floor["bound"] - floor["expertise"] < 0.005
        words += ", as high as it can be" if highest else f"; no design could have more than {floor['bound']:.2f}"
        if price is not None:
            words += f" (without it {price['least_expertise']['without']:.2f})"
        lines.append(f"{words}.")
    drawn = summary.get("lottery")
    if drawn is not None:
        lines += _drawn(drawn)
    if price is not None:
        lines.append(_costs(price, floor is not None, drawn is not None))
    return lines


def _signal(one: Summary) -> str:
    name = one["signal"].capitalize()
    alone = "" if one["alone"] is None else f", {one['alone']:.2f} if they alone decided"
    return (
        f"{name}, {100 * one['weight']:.0f}% of the weight: {one['mean']:.2f} on average in this design{alone}, "
        f"{one['possible']:.2f} over all pairs; {100 * one['high']:.0f}% of its pairs above neutral, "
        f"{100 * one['low']:.0f}% below."
    )


def _drawn(drawn: Summary) -> list[str]:
    return [
        f"Drawn by lot: no pair had a probability above {drawn['max_probability']:g}, the largest being "
        f"{drawn['largest_probability']:.3g}. Expected {drawn['worth']} of a pair {drawn['expected']:.3f}, without the "
        f"cap up to {drawn['without_cap']:.3f}.",
        f"Commitment to the seed {drawn['seed']} and the salt: {drawn['commitment']}.",
    ]


def _costs(price: Summary, is_floor: bool, is_drawn: bool) -> str:
    what = " and ".join(name for name, there in (("floor", is_floor), ("draw", is_drawn)) if there)
    variance, expertise = price["mean_variance"], price["mean_expertise"]
    words = (
        f"Price of the {what}: mean variance of a value {variance['with']:.3f} instead of {variance['without']:.3f} "
        f"({100 * price['variance_higher_by']:+.1f}%)"
    )
    if expertise["with"] is not None:
        words += f", mean expertise {expertise['with']:.2f} instead of {expertise['without']:.2f}"
    return f"{words}."
