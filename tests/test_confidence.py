"""Uncertainty, confidence or level turned into precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import InputError
from evenhand.panel.confidence import (
    FACTOR,
    LEVELS,
    check_factor,
    level_words,
    precision_of_level,
    precision_of_uncertainty,
)


def test_the_default_factor_is_that_of_the_authors_workbook() -> None:
    assert FACTOR == 1.75


@given(st.floats(1, 1e6))
def test_levels_are_factor_squared_one_and_its_inverse(factor: float) -> None:
    high, medium, low = precision_of_level([1, 0, -1], factor).tolist()
    assert high == pytest.approx(factor**2, rel=1e-14)
    assert medium == 1.0
    assert low == pytest.approx(factor**-2, rel=1e-14)


def test_the_default_levels_are_the_printed_ones() -> None:
    assert precision_of_level([1, 0, -1]) == pytest.approx([3.0625, 1.0, 1 / 3.0625], rel=1e-15)


@given(st.floats(1e-100, 1e100))
def test_precision_is_one_over_the_squared_uncertainty(sigma: float) -> None:
    assert precision_of_uncertainty(np.array([sigma])) == pytest.approx([1 / sigma**2], rel=1e-14)


def test_neighbouring_levels_differ_in_uncertainty_by_the_factor() -> None:
    sigma = 1 / np.sqrt(precision_of_level([1, 0, -1], 2.5))
    assert sigma[1:] / sigma[:-1] == pytest.approx([2.5, 2.5], rel=1e-14)


@pytest.mark.parametrize("factor", [0.99, 0.0, -2.0, float("nan"), float("inf")])
def test_a_factor_below_one_or_not_finite_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="at least 1") as caught:
        check_factor(factor)
    assert caught.value.kind == "bad_factor"


def test_a_factor_of_one_makes_all_levels_alike() -> None:
    assert precision_of_level([1, 0, -1], 1.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("factor", [1e160, 1e300])
def test_a_factor_whose_square_no_double_holds_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="factor"):
        precision_of_level([1, 0, -1], factor)


def test_levels_are_known_by_letter_and_by_word() -> None:
    words = level_words()
    assert {word: words[word] for word in ("h", "high", "m", "medium", "l", "low")} == {
        "h": 1,
        "high": 1,
        "m": 0,
        "medium": 0,
        "l": -1,
        "low": -1,
    }


def test_aliases_add_words_in_any_case_and_change_nothing_for_others() -> None:
    words = level_words({" Hooch ": "HIGH", "Mitte": "m", "3": "low"})
    assert (words["hooch"], words["mitte"], words["3"]) == (1, 0, -1)
    assert "hooch" not in LEVELS
    assert "hooch" not in level_words()


def test_an_alias_for_no_level_is_refused_with_both_words() -> None:
    with pytest.raises(InputError, match="'hoch' is said to mean 'hi'") as caught:
        level_words({"hoch": "hi"})
    assert caught.value.kind == "bad_alias"
