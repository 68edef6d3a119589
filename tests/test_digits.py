"""Arithmetic that loses nothing, against fractions."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand.solve.digits import group_sums, resolution, two_product, two_sum

NUMBERS = st.floats(-1e60, 1e60, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-60)


@given(a=NUMBERS, b=NUMBERS)
def test_sums_and_products_are_exact_in_two_parts(a: float, b: float) -> None:
    one, two = np.array([a]), np.array([b])
    total, lost = two_sum(one, two)
    assert Fraction(total[0]) + Fraction(lost[0]) == Fraction(a) + Fraction(b)
    product, rest = two_product(one, two)
    assert Fraction(product[0]) + Fraction(rest[0]) == Fraction(a) * Fraction(b)


@given(terms=st.lists(st.tuples(st.integers(0, 2), st.floats(-1e20, 1e20)), min_size=1, max_size=40))
def test_group_sums_are_those_of_fractions(terms: list[tuple[int, float]]) -> None:
    # each number appears with its opposite and a small remainder, so that nearly everything cancels
    index = np.array([g for g, _ in terms] * 3)
    values = np.array([x for _, x in terms] + [-x for _, x in terms] + [x * 2.0**-70 for _, x in terms])
    found = group_sums(index, values, np.zeros(values.size), 3)
    largest = max(abs(Fraction(x)) for x in values.tolist())
    for group in range(3):
        wanted = sum(
            (Fraction(x) for g, x in zip(index.tolist(), values.tolist(), strict=True) if g == group), Fraction(0)
        )
        slack = abs(wanted) * Fraction(2) ** -52 + largest * Fraction(resolution(values.size)) * values.size
        assert abs(Fraction(found[group]) - wanted) <= slack


def test_sums_of_a_million_terms_still_resolve_far_below_a_double() -> None:
    assert resolution(1_000_000) < 2.0**-110


def test_nothing_but_zeros_is_zero() -> None:
    assert group_sums(np.array([0, 1]), np.zeros(2), np.zeros(2), 2).tolist() == [0.0, 0.0]
