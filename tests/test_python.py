"""Python says it in Python: one verb, labels, a panel to play with, and help that shows the way."""

import pydoc

import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import InputError


def test_there_is_a_panel_to_play_with() -> None:
    panel = eh.demo()
    assert (panel.n_objects, panel.n_assessors, panel.n_assessments) == (40, 11, 101)


def test_calibrating_with_refinements_is_refining() -> None:
    panel = eh.demo()
    one, other = eh.calibrate(panel, shrink=True, tails="huber"), eh.refine(panel, shrink=True, tails="huber")
    assert one.method == other.method == "cwc+shrunk+huber"
    assert one.values.estimate.tolist() == other.values.estimate.tolist()
    assert eh.calibrate(panel, interval=0.5, shrink="biases").values.interval == 0.5


def test_refinements_that_assume_nothing_leave_calibration_as_it_is() -> None:
    panel = eh.demo()
    fit = eh.calibrate(panel, shrink=False, gauge="zero_sum")
    assert fit.model == eh.calibrate(panel).model
    assert fit.gauge == "zero_sum"


def test_a_misspelt_refinement_is_an_error_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"calibrate\(\) got an unexpected .* 'shrnk': did you mean shrink\?"):
        eh.calibrate(eh.demo(), shrnk=True)
    with pytest.raises(TypeError, match=r"'zzz'; refinements are shrink, value_sd"):
        eh.calibrate(eh.demo(), zzz=True)


def test_a_frame_is_calibrated_as_the_panel_that_it_holds() -> None:
    frame = pd.DataFrame({"object": list("xxyy"), "assessor": list("abab"), "score": [60.0, 70.0, 50.0, 62.0]})
    fit = eh.calibrate(frame)
    assert fit.biases.estimate.tolist() == pytest.approx([-5.5, 5.5])
    assert isinstance(fit.values.to_frame(), pd.DataFrame)


def test_a_gauge_may_be_spelt_as_on_the_command_line() -> None:
    one, other = (eh.calibrate(eh.demo(), gauge=gauge) for gauge in ("zero_sum", "zero-sum"))
    assert one.biases.estimate.tolist() == other.biases.estimate.tolist()
    assert eh.fingerprint(one).whole == eh.fingerprint(other).whole
    assert str(one) == str(other)
    assert eh.simple_average(eh.demo(), gauge="zero-sum").method == "sa"


def test_one_object_is_explained_by_its_label() -> None:
    fit = eh.calibrate(eh.demo())
    every = {one.object: one for one in eh.explain(fit)}
    assert eh.explain(fit, "P24") == every["P24"]
    with pytest.raises(InputError, match="no object 'P99'"):
        eh.explain(fit, "P99")


def test_two_labels_make_a_difference_of_values_or_of_biases() -> None:
    fit = eh.calibrate(eh.demo())
    assert fit.contrast("P28", "P23") == fit.contrast({"P28": 1, "P23": -1})
    assert fit.contrast("Adeyemi", "Kaur") == fit.contrast(biases={"Adeyemi": 1, "Kaur": -1})
    assert fit.contrast("P28", "P28").estimate == 0
    with pytest.raises(InputError, match="no object 'Kaur'"):
        fit.contrast("P28", "Kaur")
    for wrong in (("P28", None), ("P28", {"Kaur": 1.0})):
        with pytest.raises(InputError, match="two labels"):
            fit.contrast(*wrong)


def test_labels_that_are_objects_and_assessors_are_taken_for_objects() -> None:
    panel = eh.Panel.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [60.0, 70.0, 50.0, 62.0, 40.0, 47.0])
    fit = eh.calibrate(panel)
    assert fit.contrast("0", "1") == fit.contrast(values={"0": 1, "1": -1})


def test_help_shows_the_way_in_lines_that_run(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    lines = str(eh.__doc__).splitlines()
    steps = [line.strip() for line in lines if line.startswith("    ")]
    assert len(steps) == 10
    assert lines.index(f"    {steps[0]}") <= 2
    exec("\n".join(steps), {"print": lambda *_: None})
    names = {name for line in steps for name in line.replace("(", " ").split() if name.startswith("eh.")}
    assert all(getattr(eh, name.split(".")[1].rstrip(",;")) for name in names)
    assert steps[1] in pydoc.plain(pydoc.render_doc(eh))


def test_a_gauge_that_has_no_effect_is_refused() -> None:
    with pytest.raises(InputError, match="no effect with shrink"):
        eh.calibrate(eh.demo(), shrink=True, gauge="zero_sum")
    assert eh.calibrate(eh.demo(), shrink=True).gauge is None
