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
