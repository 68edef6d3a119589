"""Explanations: the parts add up, and the words say what the parts say."""

import pytest
from hypothesis import given

import evenhand as eh
from evenhand.models.additive import METHODS
from evenhand.panel.panel import Panel
from panels import connected_panels


@given(panel=connected_panels(repeats=True))
def test_the_parts_add_up_to_the_difference_from_the_plain_average(panel: Panel) -> None:
    plain = eh.simple_average(panel).values.estimate
    for method in METHODS.values():
        fit = method(panel)
        for index, item in enumerate(eh.explain(fit)):
            scale = abs(panel.score).max() + 1
            parts = sum(part for _, _, part in item.standards) + item.weighting
            assert item.average == pytest.approx(plain[index], abs=1e-12 * scale)
            assert item.value == fit.values.estimate[index]
            assert item.difference == pytest.approx(item.value - item.average, abs=1e-12 * scale)
            assert parts == pytest.approx(item.difference, abs=1e-9 * scale)


def test_the_sentence_names_strict_and_generous_assessors_with_their_biases() -> None:
    panel = Panel.from_arrays(
        [0, 0, 1, 1, 2, 2, 0, 1],
        [0, 1, 0, 1, 2, 0, 2, 2],
        [50.0, 70.0, 40.0, 60.0, 55.0, 45.0, 60.0, 50.0],
        objects=["X", "Y", "Z"],
        assessors=["Stern", "Kind", "Middling"],
    )
    by_object = {item.object: str(item) for item in eh.explain(eh.calibrate(panel, gauge=eh.Anchor("Middling")))}
    assert by_object["Z"].startswith("+5.0: Stern is strict (-10.0)")
    assert "Kind is generous (+10.0)" in by_object["X"]


def test_averages_have_nothing_to_undo() -> None:
    panel = Panel.from_arrays([0, 0], [0, 1], [1.0, 2.0], [1.0, 9.0])
    assert str(eh.explain(eh.simple_average(panel))[0]) == "+0.00: nothing to undo"
    assert str(eh.explain(eh.weighted_average(panel))[0]) == "+0.40: confident scores weigh more (+0.40)"
