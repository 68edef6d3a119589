"""English and numbers: one formatter, with the signs and digits of each door."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import words

TERMINAL = partial(words.number, small=True)
PAGE = partial(words.number, digits=1, minus="−")
PICTURE = partial(words.number, minus="−", in_sentence=True)


@pytest.mark.parametrize(
    ("value", "terminal", "page", "picture"),
    [
        (12.345, "12.35", "12.3", "12.35"),
        (-0.004, "−0.004", "−0.0", "0.00"),
        (1e-12, "0.00", "0.0", "0.00"),
        (-1234.5, "−1234.50", "−1234.5", "−1,234.50"),
        (12_345_678.0, "1.23e+07", "1.23e+07", "12,345,678.00"),
        (-12_345_678.0, "−1.23e+07", "−1.23e+07", "−12,345,678.00"),
        (math.nan, "–", "–", "–"),
        (None, "–", "–", "–"),
    ],
)
def test_each_door_has_its_signs_and_digits(value: float | None, terminal: str, page: str, picture: str) -> None:
    assert TERMINAL(value) == terminal
    assert PAGE(value) == page
    assert PICTURE(value) == picture


def test_signed_numbers_have_a_plus_and_zero_has_none_in_a_sentence() -> None:
    assert TERMINAL(0.5, signed=True) == "+0.50"
    assert TERMINAL(0.0, signed=True) == "+0.00"
    assert TERMINAL(0.0004, signed=True) == "+0.0004"
    assert PAGE(2.0, signed=True) == "+2.0"
    assert PICTURE(2.0, 1, signed=True) == "+2.0"
    assert PICTURE(-0.04, 1, signed=True) == "0.0"


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_a_number_reads_back_to_half_of_its_last_digit(value: float, digits: int) -> None:
    for shown in (words.number(value, digits), PICTURE(value, digits)):
        read = float(shown.replace("−", "-").replace(",", ""))
        assert abs(read - value) <= 0.5000001 * 10.0**-digits + 1e-9


def test_chances_never_claim_a_certainty_that_is_none() -> None:
    shown = [words.chance(p) for p in (0.0, 1e-9, 0.5, 0.994, 1 - 1e-9, 1.0, None)]
    assert shown == ["<1%", "<1%", "50%", "99%", ">99%", ">99%", "–"]


def test_shares_have_the_digits_that_they_were_given_with() -> None:
    assert [words.percent(share) for share in (0.9, 0.95, 0.999)] == ["90%", "95%", "99.9%"]
    assert words.percent(0.12345, digits=3) == "12.3%"


def test_counts_and_lists_agree_with_their_number() -> None:
    assert [words.count_of(n, "score") for n in (0, 1, 1000)] == ["0 scores", "1 score", "1,000 scores"]
    assert [words.is_or_are(n) for n in (0, 1, 2)] == ["are", "is", "are"]
    assert words.name_some("abcd", 2) == "a, b and 2 more"
    assert words.name_some("abc", 2) == "a, b, c", "a name takes no more room than that one is left"
    assert words.name_some("ab", 2, of=3) == "a, b and 1 more", "of whom nothing else is known"
    assert words.name_some(["a", "b"], 2) == "a, b"


def test_titles_stand_in_quotation_marks_of_the_language_and_codes_do_not() -> None:
    labels = ["P12", "Trust and turnout", "=SUM(A1)", "李明", "רות לוי", "17", "Anna Brown"]
    assert [words.quoted(one) for one in labels] == [
        "P12",
        "“Trust and turnout”",
        "“=SUM(A1)”",
        "李明",
        "רות לוי",
        "17",
        "Anna Brown",
    ]
    assert words.together(labels[:3], "proposal") == "P12, “Trust and turnout” and “=SUM(A1)”"
    assert words.called(labels[1], "proposal", is_bare=True) == labels[1], "as tables and figures have it"
    with words.translated({"“{name}”": "„{name}“"}.get):  # type: ignore[arg-type]  # all that is asked for is there
        assert words.called(labels[1], "proposal") == "„Trust and turnout“"


def test_a_long_name_is_whole_in_a_sentence_and_cut_in_headings_only_where_very_long() -> None:
    word, title = (
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
        "An old " * 14 + "town",
    )
    assert words.cited(word, "proposal") == word == words.called(word, "proposal")
    assert words.called(title, "proposal") == f"“{title}”"
    assert words.cited(title, "proposal") == "“An old An old An old An … old An old town”"
