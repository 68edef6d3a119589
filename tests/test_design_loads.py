"""Loads: an even share by default, what is said of idle and overloaded assessors, and rules by columns and pairs."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.design.loads import load_levels
from evenhand.design.result import Design
from evenhand.errors import EvenhandError, InputError, NoDesignError


def kinds(design: Design) -> list[str]:
    return [note.kind for note in design.notes]


def assessors(max_load: list[int | None]) -> pd.DataFrame:
    return pd.DataFrame({"assessor": list("ABCDEFGHIJ")[: len(max_load)], "max_load": max_load})


def test_capping_one_assessor_leaves_the_others_an_even_share_of_what_is_left() -> None:
    design = eh.assign(24, assessors([3, None, None, None, None, None]), per_object=2, effort=0.1)
    assert design.loads == {"A": 3} | dict.fromkeys("BCDEF", 9)
    assert kinds(design) == []


@pytest.mark.parametrize("max_load", [{"A": 3}, [3, 24, 24, 24, 24, 24]])
def test_nobody_is_idle_by_default_however_most_loads_are_given(max_load: object) -> None:
    design = eh.assign(24, list("ABCDEF"), per_object=2, max_load=max_load, effort=0.1)  # type: ignore[arg-type]
    assert design.loads["A"] <= 3
    assert min(design.loads.values()) >= 3
    assert "idle" not in kinds(design)


def test_idle_and_overloaded_assessors_are_named_where_loads_are_free() -> None:
    design = eh.assign(24, list("ABCDEF"), per_object=2, loads="free", effort=0.1)
    idle = [name for name, load in design.loads.items() if not load]
    over = [name for name, load in design.loads.items() if load > 8]
    said = {note.kind: note.message for note in design.notes}
    assert idle
    assert f"{len(idle)} assessors of 6 read nothing: {', '.join(idle)}" in said["idle"]
    assert "an even load would be 8" in said["uneven_load"]
    assert all(name in said["uneven_load"] for name in over)


def test_a_most_load_for_all_leaves_everybody_half_an_even_share_at_least() -> None:
    design = eh.assign(30, 10, per_object=3, max_load=20, effort=0.1)
    assert min(design.loads.values()) >= 4
    assert max(design.loads.values()) <= 20


def test_loads_are_uneven_where_an_even_share_leaves_no_connected_design() -> None:
    # E may read one object only, so that others must read more than the even four
    conflicts = [("E", str(at)) for at in range(2, 11)]
    design = eh.assign(10, list("ABCDE"), per_object=2, conflicts=conflicts)
    assert design.loads["E"] <= 1
    assert max(design.loads.values()) == 5


@pytest.mark.parametrize("seed", range(20))
def test_even_levels_are_the_largest_that_fits_and_the_smallest_that_is_enough(seed: int) -> None:
    random = np.random.default_rng(seed)
    room = random.integers(0, 12, int(random.integers(1, 8)))
    total = int(random.integers(0, room.sum() + 1))
    down, up = load_levels(room, total)
    assert np.minimum(room, down).sum() <= total <= np.minimum(room, up).sum()
    assert up - down <= 1
    assert up == 0 or np.minimum(room, up - 1).sum() < total


def refusal(*given: object, **options: object) -> EvenhandError:
    with pytest.raises(EvenhandError) as caught:
        eh.assign(*given, **options)  # type: ignore[arg-type]
    return caught.value


def test_an_object_that_nobody_may_read_is_named_as_the_cause() -> None:
    error = refusal(3, 2, per_object=2, conflicts=[("1", "1"), ("2", "1")])
    assert str(error).startswith("Object 1 needs 2 assessments, and none of 2 assessors may read it")
    assert isinstance(error, NoDesignError)
    assert error.cause == (("conflicts",), ("per_object", "1"))


def test_a_least_load_above_the_most_load_is_said_and_nothing_else() -> None:
    error = refusal(10, 4, per_object=2, min_load=6, max_load=4)
    assert str(error).startswith("Assessor 1 is to read at least 6 and at most 4: 2 short.")
    assert "conflict" not in str(error)
    assert isinstance(error, NoDesignError)
    assert set(error.cause) == {("min_load", "1"), ("max_load", "1")}


def test_load_that_fixed_pairs_use_is_part_of_the_cause() -> None:
    # A is full with two fixed pairs, and B alone cannot give object 3 its two readers
    error = refusal(
        4, list("ABC"), per_object=2, fixed=[("A", "1"), ("A", "2")], max_load={"A": 2}, conflicts=[("C", "3")]
    )
    assert isinstance(error, NoDesignError)
    assert error.kind == "object"
    assert set(error.cause) == {
        ("per_object", "3"), ("max_load", "A"), ("fixed", "A", "1"), ("fixed", "A", "2"), ("conflicts",),
    }  # fmt: skip
    assert "1 assessor has no room for it" in str(error)


def test_one_assessment_per_object_is_refused_unless_loads_are_free() -> None:
    error = refusal(10, 4, per_object=1)
    assert "cannot link assessors" in str(error)
    assert 'loads="free"' in str(error)
    design = eh.assign(10, 4, per_object=1, loads="free")
    assert sorted(design.loads.values()) == [0, 0, 0, 10]
    assert {"idle", "uneven_load"} <= set(kinds(design))
    assert eh.assign(10, 1, per_object=1).loads == {"1": 10}


@pytest.mark.parametrize("named", ["medium", 0.5])
def test_naming_one_pair_ordinary_changes_nothing_for_the_others(named: object) -> None:
    plain = eh.assign(12, 6, per_object=2, effort=0.3)
    design = eh.assign(12, 6, per_object=2, expertise={("1", "1"): named}, effort=0.3)
    assert design.mean_sd == pytest.approx(plain.mean_sd)
    assert design.mean_expertise == 0.5


def test_pairs_without_an_uncertainty_have_the_median_of_those_given() -> None:
    given = {("1", "1"): 1.0, ("1", "2"): 2.0, ("2", "1"): 9.0}
    design = eh.assign(4, 3, per_object=2, uncertainty=given)
    others = [at for at in range(12) if at not in (0, 1, 3)]
    assert np.allclose(1 / np.sqrt(design.task.precision[others]), 2.0)


def test_what_a_sparse_matrix_does_not_store_is_zero_as_in_a_dense_one() -> None:
    from scipy import sparse

    dense = np.array([[0.0, 0.9, 0.0], [0.4, 0.0, 0.0], [0.0, 0.3, 1.0]])
    designs = [eh.assign(3, 3, per_object=2, expertise=one) for one in (dense, sparse.csr_array(dense))]
    assert np.array_equal(designs[0].task.precision, designs[1].task.precision)


COLUMNS = {"assessor": list("ABCDEF"), "role": ["senior", "Senior ", "junior", "junior", "student", None]}


def test_values_of_a_column_are_known_whatever_their_case_and_may_be_several() -> None:
    table = pd.DataFrame(COLUMNS | {"place": ["x; y", "y", "x", "z", None, "z"]})
    design = eh.assign(6, table, per_object=2, require={"Role": {"SENIOR": 1}}, limit={"place": 1})
    for readers in by_object(design):
        assert readers & {"A", "B"}
        assert not any(pair <= readers for pair in ({"A", "B"}, {"A", "C"}, {"D", "F"}))


def by_object(design: Design) -> list[set[str]]:
    return [{who for who, one in design.assignments if one == label} for label in design.task.objects]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"require": {"rank": {"senior": 1}}}, "Assessors have no column rank; their columns are role"),
        (
            {"require": {"role": {"boss": 1}}},
            "No assessor has boss in column role; the values there are senior, junior",
        ),
        ({"require": {"role": 1}}, "Say which role is required"),
        ({"limit": {"role": -1}}, "must be a whole number that is not negative, not -1"),
        ({"apart": [("A", "Z")]}, "there is no assessor Z"),
        ({"apart": [("A", "A")]}, "A is paired with itself"),
        ({"linked": [("1", "9")]}, "there is no object 9"),
        ({"loads": "fair"}, "Loads are even or free, not fair"),
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, object], words: str) -> None:
    error = refusal(6, pd.DataFrame(COLUMNS), per_object=2, **options)
    assert isinstance(error, InputError)
    assert words in str(error)


def test_authors_who_do_not_assess_are_left_aside_and_counted() -> None:
    design = eh.assign(6, list("ABCD"), per_object=2, authors=[("A", "1"), ("Zoe", "1"), ("B", "2")])
    readers = by_object(design)
    assert "A" not in readers[0]
    assert "B" not in readers[1]
    assert not ("B" in readers[0] and "A" in readers[1])
    assert [note.message for note in design.notes if note.kind == "authors"] == [
        "1 author left aside, being no assessor: Zoe."
    ]


def test_assessors_kept_apart_may_have_nothing_to_read() -> None:
    conflicts = [("D", str(at)) for at in range(1, 7)]
    design = eh.assign(6, list("ABCD"), per_object=2, conflicts=conflicts, apart=[("A", "D")], effort=0.1)
    assert design.loads == {"A": 4, "B": 4, "C": 4, "D": 0}
