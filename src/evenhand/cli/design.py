"""``evenhand design``: who should read what, before the scores come in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from evenhand.cli import options as ask
from evenhand.cli.options import Options, Output, command, part
from evenhand.cli.showing import Summary, number_text, say, say_left_out, say_notes, show_next_step, show_table
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.design.change import Alternates, Changes
    from evenhand.design.inputs import Members
    from evenhand.design.result import Design, Outlook
    from evenhand.design.there import There
    from evenhand.panel.confidence import Form
    from evenhand.panel.graph import Side
    from evenhand.reports.exports import System

OBJECTIVES: Final = ("variance", "differences", "worst", "gap", "determinant", "top")
"""As in :mod:`evenhand.design.task`, which is not imported before there is work."""

ACTIONS: Final = ("primaryreview", "secondaryreview", "pcreview", "externalreview", "metareview")
"""What HotCRP can be told to do with a pair."""

SYSTEMS: Final = ("hotcrp", "openreview", "cmt")
"""As in :mod:`evenhand.reports.exports`."""

TABLES: Final = ("assignments", "objects", "assessors", "lost", "by_readings")

_PICTURES: Final = (".svg", ".png", ".pdf", ".html")


class _Who(Options, heading="Who and what"):
    """Who reads, and what there is to read."""

    objects: str | None = ask.text(
        "FILE|N",
        "What is to be assessed: a file with a column object, or how many. Columns per_object, topics and linking are "
        "used too; titles, links and groups go along to tables and sheets. Here and below, files of HotCRP, EasyChair, "
        "CMT and OpenReview are known.",
        reads=True,
    )
    assessors: str | None = ask.text(
        "FILE|N",
        "Who assesses: a file with a column assessor, or how many. Columns min_load, max_load, cost and topics are "
        "used too; names and e-mail addresses go along.",
        reads=True,
    )
    object_: str | None = ask.text("COLUMN", "Column of objects in these files, if its name is not recognised.")
    assessor: str | None = ask.text("COLUMN", "Column of assessors in these files, likewise.")
    conflicts: Path | None = ask.path(
        "FILE", "Pairs that must not be: a file with columns assessor and object.", reads=True
    )
    fixed: Path | None = ask.path("FILE", "Pairs that must be: a file with columns assessor and object.", reads=True)
    linking: tuple[str, ...] = ask.text("LABEL", "An object that everybody reads. May be repeated.", multiple=True)


class _Earlier(Options, heading="What is there already"):
    """A design or scores that are there already."""

    extend: Path | None = ask.path(
        "FILE",
        "A design or scores that are there already: all of it stays. --objects and --assessors are then for new ones, "
        "or have all of them.",
        reads=True,
    )
    scores: Path | None = ask.path("FILE", "Scores that are in, where --extend has a design.", reads=True)
    add: int | None = ask.whole("N", "How many assessments to add, wherever they help most.")
    left: str | None = ask.text(
        "LABEL,...|FILE", "Assessors who have left: what they have not scored goes to others.", reads=True
    )
    since: Path | None = ask.path(
        "FILE", "An earlier design: says what has changed since. Default: that of --extend.", reads=True
    )

    def check(self) -> None:
        """Refuse what needs a design that is there."""
        if self.extend is None:
            ask.refuse("goes with --extend FILE, which has what is there.", "scores", "add", "left")

    def there(self, object_: str | None, assessor: str | None) -> There:
        """Return what is there, and who has left."""
        from evenhand.design.there import There
        from evenhand.io import read_panel
        from evenhand.io.designs import labels_left, read_there

        found = read_there(str(self.extend), object=object_, assessor=assessor)
        scores = None if self.scores is None else read_panel(self.scores, object=object_, assessor=assessor)
        return There.of(found, scores=scores, left=[] if self.left is None else labels_left(self.left))


class _Loads(Options, heading="How much"):
    """How much is to be read."""

    per_object: int | None = ask.whole("R", "Assessments of each object. With --target-sd, at most so many.")
    min_load: int | None = ask.whole("L", "Fewest objects for each assessor.", least=0)
    max_load: int | None = ask.whole(
        "L", "Most objects for each assessor. Default: an even share of what is left.", least=0
    )
    loads: str = ask.choice(
        ["even", "free"],
        "Share work evenly, nobody without any, or let it fall where it makes values most precise.",
        default="even",
    )
    target_sd: float | None = ask.positive(
        "SD", "Find the cheapest design whose values have this mean standard deviation."
    )


class _Together(Options, heading="Who reads together"):
    """Who may, must and must not read together."""

    require: tuple[str, ...] = ask.text(
        "COLUMN=VALUE:N",
        "At least N assessors with this value in a column of theirs for every object: role=senior:1. May be repeated.",
        multiple=True,
    )
    limit: tuple[str, ...] = ask.text(
        "COLUMN[=VALUE]:N",
        "At most N assessors of any one value of a column, institution:1, or of this one, role=student:1, for an "
        "object. May be repeated.",
        multiple=True,
    )
    apart: Path | None = ask.path(
        "FILE", "Assessors who must not read the same object: a file with two columns of assessors.", reads=True
    )
    linked: Path | None = ask.path(
        "FILE", "Objects that must have a reader in common: a file with two columns of objects.", reads=True
    )
    authors: Path | None = ask.path(
        "FILE",
        "Who wrote what: a file with columns author and object. Nobody reads their own work, and no two each other's.",
        reads=True,
    )

    def check(self) -> None:
        """Refuse what has not the form that is asked for."""
        self.asked()

    def asked(self) -> dict[str, dict[str, Any]]:
        """Return what is required and limited, as the library takes it."""
        found: dict[str, dict[str, Any]] = {"require": {}, "limit": {}}
        for name, texts, form in (
            ("require", self.require, "COLUMN=VALUE:N"),
            ("limit", self.limit, "COLUMN:N or COLUMN=VALUE:N"),
        ):
            for text in texts:
                what, _, number = text.rpartition(":")
                column, equals, value = (one.strip() for one in what.partition("="))
                known = found[name].get(column)
                is_whole = number.strip().isdecimal() and bool(column) and bool(value) == bool(equals)
                if not is_whole or (name == "require" and not value):
                    raise click.UsageError(f"--{name} {text} has not the form {form}, such as role=senior:1.")
                if (known is not None and not value) or isinstance(known, int) or (value and value in (known or {})):
                    raise click.UsageError(f"--{name} says twice what holds for {what}: leave one out.")
                if value:
                    found[name].setdefault(column, {})[value] = int(number)
                else:
                    found[name][column] = int(number)
        return found


class _Expected(Options, heading="How well they know it"):
    """How well assessors know objects."""

    expertise: Path | None = ask.path(
        "FILE",
        "Levels (high, medium, low) or numbers from 0 to 1: columns assessor, object, expertise; or a column of "
        "assessors and one for each object. Topics in both lists do the same.",
        reads=True,
    )
    uncertainty: str | None = ask.text(
        "X|FILE",
        "Expected standard deviation of a score in points: a number, or a file as for --expertise.",
        reads=True,
    )
    only_listed: bool = ask.flag("Choose only pairs that the file of expertise lists.")
    expertise_weight: float = ask.option(
        "From 0, what makes values precise, to 1, expertise alone.",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="W",
    )
    factor: float = ask.number(None, "Ratio of the uncertainties of neighbouring levels.", default=1.75)

    def check(self) -> None:
        """Refuse a number that leaves no room to compute with."""
        if self.points is not None and ask.is_extreme(self.points):
            raise click.UsageError(f"--uncertainty {self.points:g} is too extreme to compute with.")

    @property
    def points(self) -> float | None:
        """The expected standard deviation, where it is a number."""
        try:
            return None if self.uncertainty is None else float(self.uncertainty)
        except ValueError:
            return None

    @property
    def is_file(self) -> bool:
        """Whether expected standard deviations stand in a file."""
        return self.uncertainty is not None and self.points is None


class _Signals(Options, heading="Bids, and conflicts of authors"):
    """What assessors would like to read, what it weighs, and what they must not read for who wrote it."""

    bids: Path | None = ask.path(
        "FILE",
        "Bids: yes, maybe or no, or whole numbers from -20 to 20, in columns assessor, object and bid, or a column of "
        "assessors and one for each object. A bid that is not there is neutral.",
        reads=True,
    )
    weights: str | None = ask.text(
        "NAME=W,...", "What bids, topics and expertise weigh beside each other, such as bids=1,topics=1,expertise=2."
    )
    conflict_domains: bool = ask.flag(
        "Assessors must not read what somebody with an e-mail address of the same domain wrote: needs columns email of "
        "assessors and authors of objects."
    )
    coauthors: Path | None = ask.path(
        "FILE", "Pairs of people who wrote together: assessors must not read what a co-author wrote.", reads=True
    )

    @property
    def shares(self) -> dict[str, float] | None:
        """The weights by name."""
        if self.weights is None:
            return None
        found: dict[str, float] = {}
        for one in self.weights.split(","):
            name, equals, text = one.partition("=")
            try:
                found[name.strip()] = float(text)
            except ValueError:
                equals = ""
            if not equals:
                raise click.UsageError(f"--weights takes names with numbers, such as bids=1,topics=2, not {one!r}.")
        return found


class _Chance(Options, heading="A floor and a draw"):
    """What every object must have, and what is left to chance."""

    floor: bool = ask.flag(
        "Make the smallest mean expertise of an object's readers as large as can be, and then the rest; shows the "
        "price."
    )
    max_probability: float | None = ask.option(
        "Draw the design by lot, no pair being likelier than P, so that nobody can count on reading anything.",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="P",
    )
    salt: str = ask.option(
        "Words that go with the seed into the draw and into its commitment.", default="", metavar="TEXT"
    )
    commitment: str | None = ask.text(
        "HASH", "Check that seed and salt are those of a commitment published before: SHA-256 of 'evenhand SEED SALT'."
    )

    def check_commitment(self, seed: int) -> None:
        """Refuse a seed and a salt that are not those committed to."""
        if self.commitment is None:
            return
        from evenhand.design.lottery import commitment

        if commitment(seed, self.salt) != self.commitment.strip().casefold():
            message = "This seed and this salt do not give that commitment: use those that it was made of."
            raise InputError(message, kind="commitment")


class _Aim(Options, heading="What makes it good"):
    """What makes a design good."""

    objective: str = ask.choice(
        OBJECTIVES,
        "Mean variance of the values; of their differences; the worst value; the spectral gap; the determinant; or "
        "decisions on a top K.",
        default="variance",
    )
    top: int | None = ask.whole("K", "Places, for --objective top.")
    value_sd: float | None = ask.positive("SD", "How far the values are expected to spread, for --objective top.")


class _Search(Options, heading="The work"):
    """How a design is searched for."""

    seed: int = ask.whole("N", "Seed of all random choices: the same seed gives the same design.", least=0, default=0)
    effort: float = ask.positive("X", "How long to search, relative to what is usual.", default=1.0)
    time_limit: float | None = ask.positive(
        "SECONDS", "Search no longer than this; the design may then depend on the machine."
    )
    no_outlook: bool = ask.flag("Leave out the comparison with chance, lost assessors, and more or less work.")


class _Handouts(Options, heading="What to hand out"):
    """Files that go to others: where, and in which form."""

    sheets: Path | None = ask.path(
        "DIR|FILE.xlsx",
        "Write for each assessor what to read, with cells for scores: a workbook each in DIR, or one workbook with a "
        "sheet each.",
    )
    score_sheet: Path | None = ask.path(
        "FILE", "Write one blank score sheet, csv or xlsx: filled in, it is a FILE for evenhand calibrate."
    )
    confidence: Form = ask.choice(
        ["level", "uncertainty", "confidence", "none"],
        "How assessors say on these sheets how sure they are.",
        default="level",
    )
    hotcrp: Path | None = ask.path(
        "FILE.csv",
        "Write a bulk assignment for HotCRP: paper, action, email. The assessors' file needs a column email, unless "
        "labels are addresses.",
    )
    hotcrp_action: str = ask.choice(ACTIONS, "What HotCRP is to make of a pair.", default="primaryreview")
    export: tuple[tuple[System, Path], ...] = ask.option(
        "Write assignments for hotcrp (csv, as --hotcrp), openreview (csv, edges) or cmt (xml). May be repeated.",
        type=(click.Choice(SYSTEMS), click.Path(path_type=Path)),
        multiple=True,
        metavar="SYSTEM FILE",
    )
    round_: str | None = ask.text("NAME", "The round of these assessments, for tables, HotCRP and OpenReview.")
    changes: Path | None = ask.path(
        "FILE", "Write what has changed for whom, csv or xlsx: what is new and what is taken back, with addresses."
    )
    alternates: int | None = ask.whole("N", "Name so many assessors for each object who could stand in.")
    picture: Path | None = ask.path("FILE", "Draw who reads what: svg, png, pdf or html, by its ending.")
    force: bool = ask.flag("Replace sheets that are there, perhaps with scores in them.")

    @property
    def exports(self) -> list[tuple[System, Path]]:
        """Files for conference systems, whichever option asked for them."""
        return [*([] if self.hotcrp is None else [("hotcrp", self.hotcrp)]), *self.export]  # type: ignore[list-item]

    def notes(self, found: Design, changed: Changes | None) -> list[Problem]:
        """Return what these systems would not understand."""
        from evenhand.reports.exports import not_numbers, not_taken_back

        said = [note for system, _ in self.exports for note in not_numbers(found.task.objects, system)]
        gone = () if changed is None else changed.removed
        return said + [note for system, _ in self.exports for note in not_taken_back(gone, system)]

    def check_places(self, output: Output) -> None:
        """Refuse, before any work is done, files that cannot or must not be written."""
        from evenhand.io.results import targets_of
        from evenhand.reports.exports import ENDINGS
        from evenhand.reports.template import refuse_filled

        for place, known in (
            (self.score_sheet, (".csv", ".tsv", ".xlsx")),
            (self.changes, (".csv", ".tsv", ".xlsx")),
            *((place, (ENDINGS[system],)) for system, place in self.exports),
            (self.picture, _PICTURES),
        ):
            if place is not None:
                ask.check_place(place, known)
        if self.sheets is not None:
            _check_sheets(self.sheets)
        for place in (self.score_sheet, self.sheets if self.sheets is not None and self.sheets.suffix else None):
            if place is not None and not place.is_dir():
                refuse_filled(place, force=self.force)
        tables = [] if output.out is None else targets_of(output.out, [*output.tables, "notes"])
        handed = [one for one in (self.sheets, self.score_sheet, self.changes, self.picture) if one is not None]
        handed += [place for _, place in self.exports]
        places = [place.resolve() for place in (*tables, *handed)]
        same = [place for at, place in enumerate(places) if place in places[:at]]
        if same:
            message = "Two files would be written to the same place: give each its own name."
            raise InputError(message, kind="cannot_write", where=str(same[0]))
        if self.picture is not None:
            from evenhand.plots.drawing import check_engine

            check_engine(self.picture.suffix.lower()[1:])

    def check_members(self, assessors: Members) -> None:
        """Refuse, before the search, assessors whom a system could not find, and sheets of theirs that are there."""
        from evenhand.design.inputs import addresses_in
        from evenhand.reports.designs import sheet_places
        from evenhand.reports.exports import addresses_of
        from evenhand.reports.template import refuse_filled

        if self.sheets is not None and self.sheets.suffix.lower() != ".xlsx":
            for place in sheet_places(self.sheets, assessors.labels).values():
                refuse_filled(place, force=self.force)
                if self.sheets.is_dir():
                    ask.check_place(place, (".xlsx",))
        for system, _ in self.exports:
            addresses_of(assessors.labels, addresses_in(assessors.details), system)

    def write(
        self,
        found: Design,
        pairs: Sequence[tuple[str, str]],
        changed: Changes | None,
        stand_in: Alternates | None,
    ) -> list[Path]:
        """Write what is to be handed out, and return the files."""
        from evenhand.io.results import write_tables
        from evenhand.reports import designs
        from evenhand.reports.exports import write_export

        written: list[Path] = []
        gone = () if changed is None else changed.removed
        if self.sheets is not None:
            designs.write_assessor_sheets(
                self.sheets, found, pairs, confidence=self.confidence, removed=gone, alternates=stand_in
            )
            written.append(self.sheets)
        if self.score_sheet is not None:
            written += designs.write_score_sheet(self.score_sheet, found, pairs, confidence=self.confidence)
        if self.changes is not None and changed is not None:
            written += write_tables(self.changes, {"changes": changed.columns()})
        for system, place in self.exports:
            written.append(write_export(system, place, found, pairs, removed=gone, action=self.hotcrp_action))
        if self.picture is not None:
            from evenhand import plots

            plots.save(plots.design(found), self.picture)
            written.append(self.picture)
        return written


def _check_sheets(place: Path) -> None:

    if place.suffix.lower() == ".xlsx":
        ask.check_place(place, (".xlsx",))
    elif place.suffix.lower() in (".csv", ".tsv", ".xls", ".xlsm", ".ods", ".parquet", ".json", ".pdf", ".html"):
        message = "Sheets are written to a directory, or to a workbook that ends in .xlsx: name one of these."
        raise InputError(message, kind="unknown_format", where=str(place))
    elif place.exists() and not place.is_dir():
        raise InputError("There is a file of that name: choose another.", kind="cannot_write", where=str(place))
    elif not place.resolve().parent.is_dir():
        message = f"There is no directory {place.parent}: make it first."
        raise InputError(message, kind="cannot_write", where=str(place))


class DesignOptions(Options):
    """What ``evenhand design`` is told."""

    who: _Who = part(_Who)
    earlier: _Earlier = part(_Earlier)
    loads: _Loads = part(_Loads)
    together: _Together = part(_Together)
    expected: _Expected = part(_Expected)
    signals: _Signals = part(_Signals)
    chance: _Chance = part(_Chance)
    aim: _Aim = part(_Aim)
    search: _Search = part(_Search)
    handouts: _Handouts = part(_Handouts)
    rows: int = ask.row_limit(40)
    output: Output = part(Output, tables=TABLES)
    verbose: bool = ask.verbose_flag()

    def check(self) -> None:
        """Refuse options that exclude or lack each other, and files that cannot be written."""
        if self.is_extended:
            ask.refuse("is for a new design: leave --extend out.", "target_sd")
            if self.earlier.add is not None:
                ask.refuse("says how many each object has, and --add how many to add: leave one out.", "per_object")
        else:
            for name, given in (("object", self.who.objects), ("assessor", self.who.assessors)):
                if given is None:
                    raise click.UsageError(f"--{name}s is missing: give a file with a column {name}, or how many.")
            self._check_columns()
        if self.expected.is_file and self.expected.expertise is not None:
            raise click.UsageError(
                "--uncertainty FILE and --expertise FILE say the same thing: leave one of the two out."
            )
        if self.chance.max_probability is None:
            ask.refuse("goes with --max-probability P.", "salt", "commitment")
        self.chance.check_commitment(self.search.seed)
        if self.loads.target_sd is not None:
            ask.refuse("has no meaning with --target-sd, which looks for the cheapest: leave it out.", "loads")
        if self.is_extended and (self.aim.objective == "top" or not ask.typed("objective")):
            if self.aim.top is None:
                ask.refuse("goes with --top K.", "value_sd")
        elif self.aim.objective != "top":
            ask.refuse("goes with --objective top.", "top", "value_sd")
        elif self.aim.top is None or self.aim.value_sd is None:
            raise click.UsageError(
                "--objective top needs --top K, the places, and --value-sd SD, how far values spread."
            )
        if all(system != "hotcrp" for system, _ in self.handouts.exports):
            ask.refuse("goes with --hotcrp FILE.csv.", "hotcrp_action")
        elif not re.fullmatch(r"[A-Za-z][\w-]*", self.handouts.round_ or "R1", re.ASCII):
            raise click.UsageError("HotCRP has rounds of letters and digits, a letter first: name --round like R1.")
        tells = [system for system, _ in self.handouts.exports if system != "cmt"]
        if not (tells or self.handouts.changes or self.output.is_full):
            ask.refuse(
                "stands in tables and files: use it with --out, --json, --changes, --hotcrp or --export openreview.",
                "round_",
            )
        if self.handouts.sheets is None and self.handouts.score_sheet is None:
            ask.refuse("goes with --sheets or --score-sheet.", "confidence", "force")
        if not self.is_extended and self.earlier.since is None:
            ask.refuse("goes with --extend FILE or --since FILE: a new design has changed nothing.", "changes")
        self.handouts.check_places(self.output)

    @property
    def is_extended(self) -> bool:
        """Whether something is there already."""
        return self.earlier.extend is not None

    def changed(self, found: Design) -> Changes | None:
        """Return how the design differs from what was there, or from an earlier one; None where it is new."""
        from evenhand.design.change import changes
        from evenhand.design.inputs import Members
        from evenhand.io.designs import read_there

        if self.earlier.since is not None:
            names = {mail: label for label, mail in found.emails.items()}
            people = Members("assessor", tuple(found.task.assessors), {}, aliases=names)
            return changes(found, read_there(self.earlier.since).renamed(None, people).pairs)
        return changes(found) if self.is_extended else None

    def _check_columns(self) -> None:
        """Refuse names of columns where there is no file that could have them."""
        pairs = (self.who.conflicts, self.who.fixed, self.expected.expertise, self.signals.bids)
        if self.expected.is_file or any(one is not None for one in pairs):
            return
        for name, given in (("object_", self.who.objects), ("assessor", self.who.assessors)):
            if ask.how_many(str(given)) is not None:
                ask.refuse("names a column, and there is no file to have it: leave it out.", name)

    def found(self) -> Design:
        """Return the design: a new one, or what is there with what is added."""
        from evenhand.design.assign import assign, extend
        from evenhand.io.designs import (
            read_authors,
            read_design_pairs,
            read_expected,
            read_member_pairs,
            read_people,
        )

        who, expected = self.who, self.expected
        given = (("object", who.objects, who.object_), ("assessor", who.assessors, who.assessor))
        objects, assessors = (None if one is None else _members(one, side, name) for side, one, name in given)  # type: ignore[arg-type]
        there = None
        if self.is_extended:
            there = self.earlier.there(who.object_, who.assessor).renamed(objects, assessors)
            sides = there.sides(objects, assessors)
        elif objects is not None and assessors is not None:
            sides = objects, assessors
        names: dict[str, Any] = {"object": who.object_, "assessor": who.assessor}
        self.handouts.check_members(sides[1])
        further: dict[str, Any] = {name: given for name, given in vars(self.search).items() if name != "no_outlook"}
        kinds: tuple[tuple[str, Path | None, Literal["conflicts", "fixed pairs"]], ...]
        kinds = ("conflicts", who.conflicts, "conflicts"), ("fixed", who.fixed, "fixed pairs")
        for name, path, words in kinds:
            further[name] = [] if path is None else read_design_pairs(path, *sides, words, **names)
        factor = expected.factor
        if expected.expertise is not None:
            further["expertise"] = read_expected(expected.expertise, *sides, factor=factor, **names)
        if expected.uncertainty is not None:
            further["uncertainty"] = (
                read_expected(expected.uncertainty, *sides, form="uncertainty", factor=factor, **names)
                if expected.is_file
                else expected.points
            )
        if self.signals.bids is not None:
            further["bids"] = read_expected(self.signals.bids, *sides, form="bids", factor=factor, **names)
        elif expected.expertise is None and not all("topics" in side.columns for side in sides):
            ask.refuse("is about expertise: use it with --expertise FILE, or topics in both lists.", "factor")
        together = self.together
        further |= together.asked()
        if together.apart is not None:
            further["apart"] = read_member_pairs(together.apart, sides[1], "assessors kept apart")
        if together.linked is not None:
            further["linked"] = read_member_pairs(together.linked, sides[0], "linked objects")
        if together.authors is not None:
            further["authors"] = read_authors(together.authors, sides[0])
        further |= {
            **vars(self.loads),
            **vars(self.aim),
            "linking": who.linking,
            "only_listed": expected.only_listed,
            "weights": self.signals.shares,
            "conflict_domains": self.signals.conflict_domains,
            "coauthors": None if self.signals.coauthors is None else read_people(self.signals.coauthors),
            "floor": self.chance.floor,
            "max_probability": self.chance.max_probability,
            "salt": self.chance.salt,
            "expertise_weight": expected.expertise_weight,
            "factor": expected.factor,
        }
        if there is None:
            return assign(*sides, **further)
        del further["target_sd"]
        for name in ("objective", "loads"):
            if not ask.typed(name):
                del further[name]
        return extend(there, self.earlier.add, objects=objects, assessors=assessors, **further)


@command(
    DesignOptions,
    epilog="Example: evenhand design --objects proposals.csv --assessors panel.csv --per-object 3 "
    "--conflicts conflicts.csv --sheets sheets.xlsx",
)
def design(options: DesignOptions) -> None:
    """Say who should read what, so that calibrated values will be as precise as they can be.

    How sure values will be depends on who reads what, and is known before anyone has scored. Loads, conflicts and fixed
    pairs are kept, and all assessors stay comparable; what cannot be had is said, with the smallest cause found (exit
    code 1).

    A first look needs no file: evenhand design --objects 40 --assessors 11 --per-object 3. With --uncertainty 8,
    expected standard deviations are in points. With --target-sd 4 besides, it finds how few assessments will do.

    When a first round of scores is in, evenhand design --extend scores.csv --add 20 says where further assessments
    would help most. Sheets and files for HotCRP then have only these.
    """
    from evenhand.design.change import alternates
    from evenhand.reports.designs import describe_design, summarise_design, with_facts
    from evenhand.reports.first_sheets import design_sheet

    found, handouts = options.found(), options.handouts
    changed = options.changed(found)
    pairs = found.assignments if changed is None else list(changed.added)
    if handouts.round_ is not None:
        found = replace(found, rounds={**found.rounds, **dict.fromkeys(pairs, handouts.round_)})
        changed = None if changed is None else replace(changed, design=found)
    stand_in = None if handouts.alternates is None else alternates(found, handouts.alternates)
    ahead, notes = _outlook(found, wanted=not options.search.no_outlook)
    notes += handouts.notes(found, changed)
    written = handouts.write(found, pairs, changed, stand_in)
    summary = summarise_design(found, ahead, notes, changed=changed, alternates=stand_in)
    options.output.give(
        summary,
        lambda shown: _show(shown, options.rows),
        lambda: with_facts(summary),
        written,
        lambda: [design_sheet(summary, describe_design(summary))],
    )
    if handouts.score_sheet is not None and not options.output.as_json:
        show_next_step("Once the scores are filled in, try: evenhand calibrate", handouts.score_sheet)


def _members(given: str, side: Side, column: str | None) -> Members:
    from evenhand.io.designs import numbered, read_members

    count = ask.how_many(given)
    return read_members(given, side, column=column) if count is None else numbered(count, side)


def _outlook(found: Design, *, wanted: bool) -> tuple[Outlook | None, list[Problem]]:
    """Return what to expect beyond the design itself, and a note where it is too large for that."""
    from evenhand.design.result import outlook

    if not wanted:
        return None, []
    ahead = outlook(found)
    if ahead is not None:
        return ahead, []
    words = "the panel is too large to say what chance, a lost assessor, or more and less work would give."
    return None, [Problem("too_large", words)]


def _show(summary: Summary, rows: int) -> None:
    """Print what decides, how more or less work would do, and who reads what: all of it, or what has changed."""
    from evenhand.reports.designs import describe_design

    say(*describe_design(summary))
    if summary["by_readings"]:
        now = sum(record["assessments"] for record in summary["objects"])
        say("With more or less work (quickly searched):")
        show_table(
            ["per object", "assessments", "mean sd", "largest sd", ""],
            summary["by_readings"],
            lambda step: [
                *(f"{step['per_object']:.4g}", f"{step['assessments']:,}"),
                *(number_text(step[name], digits=3) for name in ("mean_sd", "max_sd")),
                "none found" if step["mean_sd"] is None else "this design" if step["assessments"] == now else "",
            ],
            text=("",),
            spare=("largest sd", ""),
        )
    if summary["since"] is None:
        _list("Who reads what:", summary["assignments"], rows)
    else:
        for words, change in (("To be added:", "added"), ("Taken back:", "removed")):
            records = [record for record in summary["changes"] if record["change"] == change]
            if records or change == "added":
                _list(words if records else "Nothing is to be added.", records, rows)
    if summary["alternates"]:
        _list("Whom to ask if a reader drops out, in this order:", summary["alternates"], rows, "object", "assessor")
    say_notes(summary["notes"])


def _list(words: str, records: Sequence[Summary], rows: int, of: str = "assessor", what: str = "object") -> None:
    """Print what each assessor has, or each object, a line each."""
    listed: dict[str, list[str]] = {}
    for record in records:
        listed.setdefault(record[of], []).append(record[what])
    say(words)
    for label, others in list(listed.items())[: rows or None]:
        say(f"  {label} ({len(others):,}): {', '.join(others)}", hang=2)
    say_left_out(len(listed) - (rows or len(listed)), of)
