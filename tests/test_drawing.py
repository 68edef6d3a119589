"""Drawings within pages: a scale can be made for any numbers."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from evenhand.reports.drawing import axis

NUMBERS = st.lists(st.one_of(st.none(), st.floats()), max_size=6)


@given(NUMBERS, st.sampled_from([None, 0.0]))
@example([-1602969652257129472.0, -1602969652257129216.0], None)
@example([5e-324, 1e-323], None)
@example([-1.7e308, 1.7e308], 0.0)
@example([1.25e300], None)
def test_any_numbers_have_a_scale_with_ticks_within_it(numbers: list[float | None], about: float | None) -> None:
    found = axis(numbers, about=about)
    assert found.low < found.high
    assert math.isfinite(found.high - found.low)
    assert 1 < len(found.ticks) <= 10
    places = [float(place.removesuffix("%")) for place, _ in found.labels()]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    for one in numbers:
        assert one is None or math.isnan(one) or 0 <= float(found.at(one).removesuffix("%")) <= 100


POINTS = st.lists(st.floats(-100, 100), min_size=2, max_size=6)


@given(POINTS, st.floats(0, 400))
def test_a_scale_is_as_long_as_asked_about_the_same_middle(numbers: list[float], length: float) -> None:
    short, long = axis(numbers), axis(numbers, length=length)
    assert math.isclose(long.high - long.low, max(length, short.high - short.low), rel_tol=1e-9)
    assert math.isclose(long.low + long.high, short.low + short.high, abs_tol=1e-9)
