"""Colours can be read on their ground, in the light and in the dark, and tell statuses apart."""

import re
from importlib.resources import files

import pytest

import evenhand as eh
from evenhand import look
from evenhand.look import DARK, LIGHT, STATUS


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as the guidelines for accessible content define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_4_and_a_half_and_marks_of_3(tokens: dict[str, str]) -> None:
    for name in ("ink", "ink-2", "ink-3", "in", "open", "out", "alert", "strict", "generous"):
        assert contrast(tokens[name], tokens["bg"]) >= 4.5, name
    assert contrast(tokens["open-fill"], tokens["bg"]) >= 3
    assert contrast(tokens["alert-on"], tokens["alert"]) >= 4.5


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_bars_without_a_status_are_seen(tokens: dict[str, str]) -> None:
    style = files("evenhand.reports").joinpath("templates/page.css").read_text("utf-8")
    for kind in (".is- ", ".is-other "):
        bar = re.search(rf"^{re.escape(kind)}{{.*--soft: var\(--([\w-]+)\)", style, re.MULTILINE)
        assert bar is not None
        assert contrast(tokens[bar[1]], tokens["bg"]) >= 3


def test_light_and_dark_have_the_same_tokens() -> None:
    assert list(LIGHT) == list(DARK)


def test_every_status_has_a_word_and_a_shape_of_its_own() -> None:
    fit = eh.calibrate(eh.simulate_panel(30, 8, 4, seed=1).panel)
    assert set(eh.decide(eh.rank(fit, top=10), 10).status) == set(STATUS)
    assert len({word for word, _ in STATUS.values()}) == len({shape for _, shape in STATUS.values()}) == 3


def test_colours_of_a_drawing_follow_the_page_without_a_style_of_their_own() -> None:
    ink, ground = look.LIGHT["ink"], look.LIGHT["bg"]
    drawing = f'<path d="M0,0" fill="{ink}" stroke="{ground}"/><i fill="#123456"/><text>fill="{ink}"</text>'
    themed = look.in_variables(drawing)
    assert "style=" not in themed
    assert '<path d="M0,0" fill="var(--ink)" stroke="var(--bg)"/>' in themed
    assert '<i fill="#123456"/>' in themed
    assert f'>fill="{ink}"<' in themed
