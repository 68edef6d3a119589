"""Files as people have them are read as they are meant, without any option, or a sentence says what to do."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from corpus import SMALL, Case, Scores, long, text
from corpus_sheets import SHEETS
from corpus_systems import SYSTEMS
from evenhand.cli.options import as_typed
from evenhand.errors import InputError
from evenhand.io.panels import read_panel
from evenhand.panel.panel import Panel
from evenhand.words import spoken

CASES = {case.name: case for case in (*SHEETS, *SYSTEMS)}


def scores_of(panel: Panel) -> Scores:
    """Return the scores of a panel by its labels."""
    keys = zip(panel.object_index.tolist(), panel.assessor_index.tolist(), strict=True)
    labels = [(panel.objects[one], panel.assessors[who]) for one, who in keys]
    if panel.criterion is not None:
        labels = [(*key, str(criterion)) for key, criterion in zip(labels, panel.criterion, strict=True)]  # type: ignore[misc]
    return dict(zip(labels, panel.score.tolist(), strict=True))


def outcome(case: Case, folder: Path) -> str:
    """Return what becomes of a file: read right, asked or refused as it should, or how it went wrong."""
    path = case.write(folder)
    try:
        with spoken(as_typed):
            panel = read_panel(path)
    except InputError as error:
        told = str(error)
        if not case.says:
            return f"not read: {told}"
        return "told" if re.search(case.says, told, re.DOTALL) else f"told something else: {told}"
    if case.says:
        return f"read in silence: {panel.reading}"
    return (
        "right" if is_meant(panel, case) else f"read wrongly: {scores_of(panel)}, {panel.confidence}; {panel.reading}"
    )


def is_meant(panel: Panel, case: Case) -> bool:
    """Say whether a panel is the one that a file means."""
    assert case.means is not None
    found = scores_of(panel)
    return found.keys() == case.means.keys() and found == pytest.approx(case.means) and panel.confidence == case.form


def test_the_corpus_has_at_least_120_files_of_which_each_stands_once() -> None:
    assert len(CASES) == len(SHEETS) + len(SYSTEMS) >= 120


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_as_it_is_meant_or_a_sentence_says_what_to_do(name: str, tmp_path: Path) -> None:
    assert outcome(CASES[name], tmp_path) in ("right", "told")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.answer])
def test_the_answer_to_a_question_leads_to_the_panel(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    assert is_meant(read_panel(case.write(tmp_path), **case.answer), case)


def test_nineteen_of_twenty_files_are_read_without_any_option_and_none_wrongly_in_silence(tmp_path: Path) -> None:
    outcomes = {name: outcome(case, tmp_path) for name, case in CASES.items()}
    readable = [name for name, case in CASES.items() if not case.says]
    assert sum(outcomes[name] == "right" for name in readable) >= 0.95 * len(readable)
    assert not [name for name, what in outcomes.items() if what.startswith(("read wrongly", "read in silence"))]


def test_standard_input_is_read_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text(long(SMALL)).encode())))
    assert scores_of(read_panel("-")) == SMALL
