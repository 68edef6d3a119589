"""Roles are recognised by name, or taken as given, or refused with the option that settles it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.cli.options import as_typed
from evenhand.errors import InputError
from evenhand.panel.headings import EITHER_SD_OR_LEVEL, SYNONYMS, fold
from evenhand.panel.layout import Roles, recognise
from evenhand.panel.lexicon import CONFIDENCES
from evenhand.words import spoken

BASE = ["object", "assessor", "score"]


@pytest.fixture(autouse=True)
def on_the_command_line() -> Iterator[None]:
    with spoken(as_typed):
        yield


def refused(names: list[str], **given: str) -> InputError:
    with pytest.raises(InputError) as caught:
        recognise(names, source="scores.csv", **given)
    assert str(caught.value).startswith("scores.csv: ")
    return caught.value


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("Objects", "objects"),
        ("  Paper_ID ", "paper id"),
        ("Confidence/ Std Dev", "confidence std dev"),
        ("Std.\nDev.", "std dev"),
        ("SUBMISSION  #", "submission #"),
        ("overall-merit", "overall merit"),
    ],
)
def test_names_are_folded(name: str, folded: str) -> None:
    assert fold(name) == folded


def test_every_synonym_is_folded_and_stands_for_one_role_only() -> None:
    names = [name for synonyms in SYNONYMS.values() for name in synonyms]
    both = {name for name in names if names.count(name) > 1}
    assert all(fold(name) == name for name in both)  # words that two languages share, of which the first role counts
    assert all(fold(name) == name for name in [*names, *EITHER_SD_OR_LEVEL, *CONFIDENCES])
    assert set(CONFIDENCES) <= set(SYNONYMS["confidence"])
    assert not set(EITHER_SD_OR_LEVEL) & set(names)


@pytest.mark.parametrize(
    "names",
    [
        ["Objects", "Assessors", "Score"],
        ["Paper ID", "Reviewer", "Overall merit"],
        ["submission_#", "REFEREE NAME", "Rating"],
        ["Candidate No.", "examiner", "mark"],
        ["student", "marker", "Grade"],
        ["Proposal", "panellist", "points"],
        ["entries", "judges", "total"],
    ],
)
def test_common_headers_are_recognised_in_any_case_and_order(names: list[str]) -> None:
    assert recognise(names, source="f") == Roles(0, 1, 2)
    assert recognise(["comment", *reversed(names)], source="f") == Roles(3, 2, 1)


def test_layout_of_the_authors_takes_the_first_of_each_repeated_name() -> None:
    names = ["Objects", "Assessors", "Score", "Confidence/ Std Dev", "", "Objects", "True Value", "Robustness"]
    names += ["Total Confidence", "Assessors", "Bias", "Robustness", "Total Confidence"]
    assert recognise(names, source="f") == Roles(0, 1, 2, 3, "level_or_uncertainty")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("uncertainty", "uncertainty"),
        ("Std. Dev.", "uncertainty"),
        ("s.d.", "uncertainty"),
        ("SE", "uncertainty"),
        ("Confidence", "level_or_confidence"),
        ("reviewer confidence", "level_or_confidence"),
        ("weight", "confidence"),
        ("Credits", "confidence"),
        ("ECTS", "confidence"),
        ("level", "level"),
        ("Confidence Level", "level"),
        ("Confidence / SD", "level_or_uncertainty"),
    ],
)
def test_confidence_column_brings_its_form(name: str, form: str) -> None:
    found = recognise([*BASE, name], source="f")
    assert (found.confidence, found.form) == (3, form)


@pytest.mark.parametrize("option", ["uncertainty", "confidence", "level"])
def test_form_is_what_the_user_said_whatever_the_name(option: str) -> None:
    found = recognise([*BASE, "confidence", "how sure"], source="f", **{option: "how sure"})
    assert (found.confidence, found.form) == (4, option)
    found = recognise([*BASE, "confidence"], source="f", **{option: "Confidence"})
    assert (found.confidence, found.form) == (3, option)


def test_given_names_win_over_recognised_ones() -> None:
    names = ["paper", "student", "reviewer", "mark", "score"]
    assert recognise(names, source="f", object="student", score="Mark") == Roles(1, 2, 3)


def test_a_given_name_matches_exactly_before_it_is_folded() -> None:
    names = ["Label", "label", "assessor", "score"]
    assert recognise(names, source="f", object="label").object == 1
    assert recognise(names, source="f", object="Label").object == 0
    error = refused(names, object="LABEL")
    assert error.kind == "ambiguous_column"
    assert "'Label', 'label'" in str(error)


def test_a_column_given_for_one_role_is_not_recognised_for_another() -> None:
    assert recognise(["student", "judge", "mark"], source="f", assessor="student", object="judge") == Roles(1, 0, 2)
    error = refused(["student", "mark"], assessor="student")
    assert "objects" in str(error)
    assert "--object" in str(error)


def test_missing_columns_are_named_with_those_that_there_are_and_the_options() -> None:
    error = refused(["title", "who", "Score", "", "title"])
    assert error.kind == "missing_column"
    assert "objects and assessors" in str(error)
    assert "'title', 'who', 'Score':" in str(error)
    assert "--object NAME and --assessor NAME" in str(error)
    assert "--wide" in str(error)


def test_a_header_without_any_name_says_so() -> None:
    assert "without a name" in str(refused(["", ""]))


def test_a_given_name_that_does_not_exist_is_refused_with_those_that_there_are() -> None:
    error = refused(BASE, score="marks")
    assert error.kind == "missing_column"
    assert "'marks'" in str(error)
    assert "--score" in str(error)
    assert "'object', 'assessor', 'score'" in str(error)
    assert refused([*BASE, ""], score="  ").kind == "missing_column"


def test_two_synonyms_for_one_role_are_refused_with_the_option_that_settles_it() -> None:
    error = refused(["paper", "student", "judge", "score"])
    assert error.kind == "ambiguous_column"
    assert "'paper', 'student'" in str(error)
    assert "--object" in str(error)


@pytest.mark.parametrize("pair", [("uncertainty", "confidence"), ("sd", "level"), ("weight", "credits")])
def test_two_columns_of_confidence_are_refused_unless_one_is_given(pair: tuple[str, str]) -> None:
    error = refused([*BASE, *pair])
    assert error.kind == "ambiguous_column"
    assert "--uncertainty or --confidence or --level" in str(error)
    assert recognise([*BASE, *pair], source="f", uncertainty=pair[1]).confidence == 4


def test_two_forms_given_at_once_are_refused() -> None:
    error = refused([*BASE, "sd", "weight"], uncertainty="sd", confidence="weight")
    assert "--uncertainty and --confidence" in str(error)


def test_one_column_for_two_roles_is_refused() -> None:
    error = refused(BASE, object="object", assessor="Object")
    assert error.kind == "ambiguous_column"
    assert "--object and --assessor" in str(error)


def test_without_a_column_of_confidence_the_form_is_none() -> None:
    assert recognise([*BASE, "comment", "bias", "total confidence"], source="f").form == "none"
