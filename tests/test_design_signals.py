"""Bids, topics and expertise as one number, conflicts that follow from authors, and a floor for every object."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from ortools.sat.python import cp_model

import evenhand as eh
from designs import all_designs, make_task
from evenhand.cli import main
from evenhand.design.floor import floored, least_expertise
from evenhand.design.inputs import Members
from evenhand.design.lottery import commitment
from evenhand.design.signals import authors_in, institution
from evenhand.design.start import parts_of
from evenhand.errors import InputError
from evenhand.io.designs import read_expected

OBJECTS = pl.DataFrame({"object": ["P1", "P2", "P3"], "topics": ["knots", "ties", "knots;ties"]})
ASSESSORS = pl.DataFrame({"assessor": ["Ana", "Ben", "Cy", "Dee"], "topics": ["knots", "ties", "", "knots;ties"]})
PAPERS = Members("object", ("1", "2", "3"), {})
PEOPLE = Members("assessor", ("ana@x.org", "ben@x.org"), {})


def expertise_in(design: eh.Design) -> dict[tuple[str, str], float]:
    """Return the expertise of every pair that may be chosen."""
    task = design.task
    assert task.expertise is not None
    labels = zip(task.assessor.tolist(), task.object.tolist(), task.expertise.tolist(), strict=True)
    return {(task.assessors[a], task.objects[o]): number for a, o, number in labels}


# --- mixing --------------------------------------------------------------------------------------


def test_signals_are_a_weighted_mean_in_which_nothing_said_is_one_half() -> None:
    bids = {("Ana", "P1"): "yes", ("Ana", "P2"): "no", ("Ben", "P2"): 10, ("Cy", "P3"): -100, ("Dee", "P1"): "Maybe"}
    made = eh.assign(OBJECTS, ASSESSORS, per_object=2, bids=bids, weights={"bids": 1, "topics": 3})
    bid = {("Ana", "P1"): 1.0, ("Ana", "P2"): 0.0, ("Ben", "P2"): 0.75, ("Cy", "P3"): 0.0}
    known = {"Ana": {"knots"}, "Ben": {"ties"}, "Cy": set(), "Dee": {"knots", "ties"}}
    of_object = {"P1": {"knots"}, "P2": {"ties"}, "P3": {"knots", "ties"}}
    for (who, what), number in expertise_in(made).items():
        share = len(known[who] & of_object[what]) / len(of_object[what])
        assert number == pytest.approx(0.25 * bid.get((who, what), 0.5) + 0.75 * share)


def test_without_weights_bids_and_expertise_count_alike_and_topics_stand_in_for_expertise() -> None:
    bids, known = {("Ana", "P1"): "yes"}, {("Ana", "P1"): 0.0, ("Ben", "P1"): 1.0}
    both = expertise_in(eh.assign(OBJECTS, ASSESSORS, per_object=2, bids=bids, expertise=known))
    assert both["Ana", "P1"] == pytest.approx(0.5)
    assert both["Ben", "P1"] == pytest.approx(0.75)
    topics = expertise_in(eh.assign(OBJECTS, ASSESSORS, per_object=2, bids=bids))
    assert topics["Ana", "P1"] == pytest.approx(1.0)
    assert topics["Cy", "P1"] == pytest.approx(0.25)


@pytest.mark.parametrize("name", ["bids", "topics"])
def test_a_signal_gets_more_the_more_it_weighs_and_never_more_than_alone(name: str) -> None:
    generator = np.random.default_rng(5)
    objects = pl.DataFrame({"object": [f"P{at}" for at in range(24)], "topics": [f"t{at % 4}" for at in range(24)]})
    assessors = pl.DataFrame({"assessor": [f"R{at}" for at in range(8)], "topics": [f"t{at % 4}" for at in range(8)]})
    bids = {(f"R{a}", f"P{o}"): int(generator.integers(-20, 21)) for a in range(8) for o in range(24)}
    other = "topics" if name == "bids" else "bids"
    got = []
    for weight in (0.1, 1.0, 10.0):
        made = eh.assign(
            objects, assessors, per_object=2, bids=bids, weights={name: weight, other: 1.0}, expertise_weight=1.0
        )
        effect = next(one for one in made.record.signals if one.signal == name)
        assert effect.weight == pytest.approx(weight / (weight + 1))
        assert effect.alone is not None
        assert effect.mean <= effect.alone + 1e-9
        got.append(effect.mean)
    assert got[0] <= got[1] <= got[2]
    assert got[0] < got[2]


def test_the_effect_of_bids_is_that_of_the_pairs_in_the_design() -> None:
    bids = {("Ana", "P1"): "yes", ("Ben", "P2"): "yes", ("Cy", "P3"): "no", ("Dee", "P1"): "no"}
    made = eh.assign(OBJECTS, ASSESSORS, per_object=2, bids=bids, weights={"bids": 1})
    effect = made.record.signals[0]
    said = [{"yes": 1.0, "no": 0.0}.get(bids.get(pair, ""), 0.5) for pair in made.assignments]
    assert effect.mean == pytest.approx(np.mean(said))
    assert effect.high == pytest.approx(np.mean([one > 0.5 for one in said]))
    assert effect.low == pytest.approx(np.mean([one < 0.5 for one in said]))


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"weights": {"luck": 1}}, "no signal 'luck'"),
        ({"weights": {"bids": 1}}, "no bids"),
        ({"weights": {"topics": -1}}, "not negative"),
        ({"weights": {"topics": 0}}, "All weights are zero"),
        ({"bids": {("Ana", "P1"): 0.5}}, "yes, maybe or no, or a whole number from -20 to 20"),
        ({"bids": {("Ana", "P1"): "perhaps so"}}, "yes, maybe or no"),
        ({"bids": {("Zoe", "P1"): "yes"}}, "no assessor Zoe"),
        ({"salt": "x"}, "goes with a draw"),
        ({"floor": True, "target_sd": 1.0}, "how few assessments"),
        ({"max_probability": 0.9, "objective": "gap"}, "without an objective"),
        ({"conflict_domains": True}, "column authors"),
    ],
)
def test_what_cannot_be_weighed_required_or_drawn_is_refused(further: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        eh.assign(OBJECTS, ASSESSORS, per_object=2, **further)  # type: ignore[arg-type]


def test_bids_that_hardly_weigh_are_noted() -> None:
    made = eh.assign(OBJECTS, ASSESSORS, per_object=2, bids={("Ana", "P1"): 1, ("Ben", "P2"): 0})
    assert [note.kind for note in made.notes if note.kind == "faint_bids"] == ["faint_bids"]
    keen = eh.assign(OBJECTS, ASSESSORS, per_object=2, bids={("Ana", "P1"): 20, ("Ben", "P2"): 0})
    assert not [note for note in keen.notes if note.kind == "faint_bids"]


BID_FILES = {
    "ours": ("reviewer,paper,bid\nana@x.org,1,yes\nana@x.org,2,-20\nben@x.org,1,in a pinch\nben@x.org,3,\n", ".csv"),
    "wide": ("paper,ana@x.org,ben@x.org\n1,yes,-10\n2,no,\n3,,\n", ".csv"),
    "hotcrp": (
        "paper,title,email,preference\n1,A,ana@x.org,20X\n2,B,ana@x.org,-100\n1,A,ben@x.org,-10Z\n3,C,ben@x.org,\n",
        ".csv",
    ),
    "cmt": (
        '<bids><submission submissionId="1"><user email="ana@x.org" bid="4"/><user email="ben@x.org" bid="1"/>'
        '</submission><submission submissionId="2"><user email="ana@x.org" bid="0"/></submission></bids>',
        ".xml",
    ),
}


@pytest.mark.parametrize("system", BID_FILES)
def test_bids_are_read_from_files_of_any_kind(tmp_path: Path, system: str) -> None:
    text, ending = BID_FILES[system]
    path = tmp_path / f"bids{ending}"
    path.write_text(text, encoding="utf-8")
    found = read_expected(path, PAPERS, PEOPLE, form="bids")
    assert found.expertise is not None
    told = {(key // 2, key % 2): number for key, number in zip(found.keys.tolist(), found.expertise, strict=True)}
    assert told == pytest.approx({(0, 0): 1.0, (1, 0): 0.0, (0, 1): 0.25})


# --- conflicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a@cs.mit.edu", "b@mit.edu", True),
        ("a@cs.mit.edu", "b@math.MIT.edu", True),
        ("a@inf.ed.ac.uk", "b@ox.ac.uk", False),
        ("a@inf.ed.ac.uk", "b@ed.ac.uk", True),
        ("a@gmail.com", "b@gmail.com", False),
        ("a@yahoo.co.uk", "b@yahoo.co.uk", False),
        ("a@web.de", "b@web.de", False),
        ("a@summit.edu", "b@mit.edu", False),
    ],
)
def test_addresses_of_one_institution_share_its_domain(one: str, other: str, same: bool) -> None:
    assert (institution(one) is not None and institution(one) == institution(other)) is same


def test_authors_are_read_by_name_and_by_address() -> None:
    found = authors_in("Lee, Ann; Bob Ray (MIT) <bob@mit.edu>; cy@x.org")
    assert [sorted(one.known_by) for one in found] == [["ann lee"], ["bob ray", "bob@mit.edu"], ["cy@x.org"]]
    assert [sorted(one.known_by) for one in authors_in("Ann Lee, Bob Ray and Cy Poe")] == [
        ["ann lee"],
        ["bob ray"],
        ["cy poe"],
    ]


def test_conflicts_follow_from_authors_with_their_reasons() -> None:
    objects = pl.DataFrame(
        {
            "object": ["P1", "P2", "P3", "P4"],
            "authors": ["Al <al@cs.one.edu>", "Bea <bea@gmail.com>", "Ana Ng; Di Fu", "Eve <eve@five.edu>"],
        }
    )
    assessors = pl.DataFrame(
        {
            "assessor": ["r1", "r2", "r3", "r4", "r5", "r6"],
            "name": ["Ana Ng", "Ben Oz", "Cy Po", "Di Qu", "Ed Ru", "Flo St"],
            "email": ["ana@one.edu", "ben@gmail.com", "cy@three.edu", "di@four.edu", "ed@six.edu", "flo@seven.edu"],
        }
    )
    made = eh.assign(
        objects, assessors, per_object=2, conflict_domains=True, coauthors=[("Po, Cy", "Di Fu"), ("eve@five.edu", "r4")]
    )
    derived = {(one.assessor, one.object, one.reason) for one in made.record.derived}
    assert derived == {
        ("r1", "P1", "domain one.edu"),
        ("r1", "P3", "author"),
        ("r3", "P3", "co-author di fu"),
        ("r4", "P4", "co-author eve"),
    }
    assert not {(who, what) for who, what, _ in derived} & set(made.assignments)


# --- a floor -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_floor_is_the_highest_that_any_design_has(seed: int) -> None:
    generator = np.random.default_rng(seed)
    task = make_task(5, 4, 2, loads=(2, 3))
    task = replace(task, expertise=np.round(generator.random(task.n_pairs), 2))
    all_of_them = list(all_designs(task))
    best = max(least_expertise(task, one) or 0.0 for one in all_of_them)
    whole = max(least_expertise(task, one) or 0.0 for one in all_of_them if parts_of(task, one)[0] == 1)
    asked, floor, bound = floored(task, seed=0)
    assert floor <= whole + 1e-9
    assert bound >= best - 1e-9
    if whole == best:
        assert floor == pytest.approx(best)
    assert asked.limits.names[-1] == "an object has less expertise than the floor"


def highest_by_constraints(expertise: np.ndarray, per_object: int, load: int) -> float:
    """Return the largest smallest mean expertise of an object's readers, by constraint programming."""
    n_assessors, n_objects = expertise.shape
    model = cp_model.CpModel()
    reads = [[model.new_bool_var("") for _ in range(n_objects)] for _ in range(n_assessors)]
    units = np.rint(1_000 * expertise).astype(int)
    least = model.new_int_var(0, 1_000 * per_object, "")
    for o in range(n_objects):
        model.add(sum(reads[a][o] for a in range(n_assessors)) == per_object)
        model.add(sum(int(units[a, o]) * reads[a][o] for a in range(n_assessors)) >= least)
    for one in reads:
        model.add(sum(one) == load)
    model.maximize(least)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 60
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return solver.objective_value / 1_000 / per_object


def test_a_floor_holds_in_the_design_and_its_price_is_known() -> None:
    generator = np.random.default_rng(4)
    expertise = np.round(generator.random((8, 16)) ** 2, 3)
    made = eh.assign(16, 8, per_object=2, expertise=expertise, floor=True, effort=0.3)
    assert made.record.floor == pytest.approx(highest_by_constraints(expertise, 2, 4), abs=1e-9)
    assert made.least_expertise is not None
    assert made.record.floor is not None
    assert made.least_expertise >= made.record.floor - 1e-9
    plain = made.without
    assert plain is not None
    assert plain.least_expertise is not None
    assert plain.least_expertise < made.record.floor
    assert plain.mean_variance < made.mean_variance
    assert plain.assignments == eh.assign(16, 8, per_object=2, expertise=expertise, effort=0.3).assignments


# --- the command line ----------------------------------------------------------------------------


def test_a_draw_is_written_down_and_can_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = ["design", "--objects", "12", "--assessors", "6", "--per-object", "2", "--max-probability", "0.5"]
    seed = ["--seed", "71", "--salt", "two words", "--no-outlook", "--json"]
    first = CliRunner().invoke(main, [*drawn, *seed])
    found = json.loads(first.stdout)
    assert found["lottery"]["commitment"] == commitment(71, "two words")
    marginals = {(one["assessor"], one["object"]): one["probability"] for one in found["marginals"]}
    assert max(marginals.values()) <= 0.5
    assert sum(marginals.values()) == pytest.approx(24)
    for pair in found["assignments"]:
        assert pair["probability"] == marginals[pair["assessor"], pair["object"]]
    again = CliRunner().invoke(main, [*drawn, *seed, "--commitment", commitment(71, "two words")])
    assert json.loads(again.stdout) == found
    wrong = CliRunner().invoke(main, [*drawn, *seed[2:], "--seed", "72", "--commitment", commitment(71, "two words")])
    assert wrong.exit_code == 2
    assert "do not give that commitment" in wrong.stderr
    guessed = CliRunner().invoke(main, [*drawn, "--no-outlook", "--json"])
    assert "guessable" in [note["kind"] for note in json.loads(guessed.stdout)["notes"]]


def test_derived_conflicts_signals_and_marginals_are_tables_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(
        "paper,authors\n" + "".join(f"{at},w{at}@u{at}.edu\n" for at in range(1, 7)), encoding="utf-8"
    )
    Path("people.csv").write_text(
        "reviewer,email\n" + "".join(f"R{at},r@cs.u{at}.edu\n" for at in range(1, 5)), encoding="utf-8"
    )
    Path("bids.csv").write_text("reviewer,paper,bid\nR1,2,yes\nR2,3,no\n", encoding="utf-8")
    files = ["--objects", "papers.csv", "--assessors", "people.csv", "--bids", "bids.csv", "--conflict-domains"]
    more = ["--per-object", "2", "--max-probability", "0.9", "--salt", "x", "--no-outlook", "--out", "design.csv"]
    result = CliRunner().invoke(main, ["design", *files, *more])
    assert result.exit_code == 0, result.output
    assert pl.read_csv("design-derived_conflicts.csv")["reason"].to_list() == [
        f"domain u{at}.edu" for at in range(1, 5)
    ]
    assert pl.read_csv("design-signals.csv")["signal"].to_list() == ["bids"]
    assert pl.read_csv("design-marginals.csv")["probability"].max() <= 0.9  # type: ignore[operator]


def test_people_without_an_address_and_strangers_among_co_authors_are_noted() -> None:
    objects = pl.DataFrame({"object": ["P1", "P2", "P3"], "authors": ["Al <al@one.edu>", "Bo <bo@two.edu>", "Cy"]})
    assessors = pl.DataFrame(
        {"assessor": ["r1", "r2", "r3", "r4"], "email": ["a@one.edu", "b@five.edu", "c@six.edu", None]}
    )
    made = eh.assign(objects, assessors, per_object=2, conflict_domains=True, coauthors=[("Nobody", "Al")])
    told = {note.kind: note.message for note in made.notes}
    assert "no e-mail address is known of the authors of 1 object" in told["no_address"]
    assert "no assessor is in the list of co-authors" in told["coauthors"]
