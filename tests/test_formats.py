"""Exports of other systems are recognised by what is in them, read as they mean it, or refused in a sentence."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from evenhand.errors import InputError
from evenhand.io.formats import FORMATS, Found, from_data, from_table, from_text
from evenhand.io.records import read_json
from evenhand.io.table import Table, arrange
from evenhand.panel.column import Cell
from evenhand.panel.sheet import another

ANOTHER = another()


def sheet(text: str, delimiter: str = ",", source: str = "export.csv") -> Table:
    """Return the table of a csv text; empty cells are None."""
    return arrange(list(csv.reader(io.StringIO(text), delimiter=delimiter)), source=source)


def rows(found: Found | None, *names: str) -> list[tuple[Cell, ...]]:
    """Return some columns of what was found, by default those of objects, assessors and scores, row by row."""
    assert found is not None
    scores = [found.score] if isinstance(found.score, str) else list(found.score)
    further = [name for name in (found.confidence, found.criterion) if name is not None]
    wanted = names or (found.object, found.assessor, *scores, *further)
    columns = [found.table.columns[found.table.names.index(name)] for name in wanted]
    return list(zip(*columns, strict=True))


def roles(found: Found | None) -> tuple[Any, ...]:
    assert found is not None
    return found.object, found.assessor, found.score, found.confidence, found.criterion, found.title


def told(found: Found | None) -> str:
    assert found is not None
    return " ".join(note.message for note in found.notes)


def refused(make: Any, *given: Any, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        make(*given, **options)
    assert caught.value.where is not None
    assert str(caught.value).endswith(".")
    return caught.value


def test_a_table_that_is_nobodys_is_left_to_the_ordinary_reader() -> None:
    assert from_table(sheet("object,assessor,score\nP1,Ana,3\n")) is None
    assert from_table(sheet("Proposal,Title,Ana,Ben,Average\nP1,One,3,4,3.5\n")) is None
    assert from_table(sheet("Paper,Title,Reviewer,Score\n1,One,Ana,3\n")) is None
    assert from_table(sheet("judge,candidate,task,score\nAna,Kim,1,3\n")) is None
    assert from_table(sheet("Proposal ID,Reviewer name,Score,Confidence\nP1,Ana,3,4\n")) is None
    assert from_table(sheet("Proposal ID,Reviewer,Score\nP1,Ana,3\n")) is None
    assert from_table(sheet("Submission,Signature,Score\nP1,signed,3\n")) is None
    assert from_table(sheet("paper,title,email,score\n1,One,a@x.org,3\n")) is None
    assert from_data([{"object": "P1", "assessor": "Ana", "score": 3}], "a.json") is None
    papers = [{"id": 7, "reviews": [{"reviewer": "Ana", "score": 3}]}]
    assert from_data({"version": 1, "papers": papers}, "a.json") is None
    assert from_data({"a": 1}, "a.json") is None
    assert from_text("object,assessor,score\nP1,Ana,3\n", "a.csv") is None


def test_a_format_that_is_asked_for_and_does_not_fit_is_refused() -> None:
    table = sheet("object,assessor,score\nP1,Ana,3\n")
    for name in FORMATS:
        if FORMATS[name].from_table is not None:
            assert refused(from_table, table, format=name).kind == "unknown_format"
    with pytest.raises(InputError, match=r"no format 'hotcrap'.*hotcrp"):
        from_table(table, format="hotcrap")


# --- HotCRP --------------------------------------------------------------------------------------

HOTCRP_SCORES = """paper,title,decision,review,reviewername,email,OveMer,RevExp,Nov
1,"Knots, and how",Accepted,1A,Ana Abel,ana@x.org,4,3,2
1,"Knots, and how",Accepted,1B,Ben Bux,ben@x.org,2,1,
2,Loops,,2A,Ana Abel,ana@x.org,,2,3
"""


def test_scores_of_hotcrp_have_papers_addresses_and_the_overall_merit() -> None:
    found = from_table(sheet(HOTCRP_SCORES))
    assert roles(found) == ("paper", "email", "OveMer", "RevExp", None, "title")
    assert rows(found) == [("1", "ana@x.org", "4", "3"), ("1", "ben@x.org", "2", "1"), ("2", "ana@x.org", None, "2")]
    assert found is not None
    assert found.system == "HotCRP's scores.csv"
    assert found.left_out == (("review", "number of the review"), ("Nov", ANOTHER))
    assert (found.object_details, found.assessor_details) == (("decision",), ("reviewername",))
    assert "taken as how sure" in told(found)


def test_columns_that_hotcrp_leaves_out_when_empty_need_not_be_there() -> None:
    text = "paper,title,review,reviewername,email,Merit,Con\n7,A,7A,Ana,a@x.org,B,X\n8,B,8A,Ana,a@x.org,A,Y\n"
    found = from_table(sheet(text))
    assert roles(found) == ("paper", "email", "Merit", "Con", None, "title")
    assert rows(found) == [("7", "a@x.org", "B", "X"), ("8", "a@x.org", "A", "Y")]
    assert told(found) == ""


def test_reviews_of_hotcrp_have_full_names_and_text_that_is_left_out() -> None:
    text = (
        "paper,title,review,reviewername,email,Overall merit,Reviewer confidence,Paper summary,Artifact?\n"
        '1,One,1A,Ana,a@x.org,3,2,"It ties knots,\nand unties them.",yes\n'
        '2,Two,2A,Ana,a@x.org,1,4,"It is long, and says little that was not said before by others, twice.",no\n'
    )
    found = from_table(sheet(text))
    assert roles(found) == ("paper", "email", "Overall merit", "Reviewer confidence", None, "title")
    assert found is not None
    assert found.system == "HotCRP's reviews.csv"
    assert dict(found.left_out)["Paper summary"] == "text"
    assert dict(found.left_out)["Artifact?"] == "yes or no, not a score"


def test_without_an_overall_field_all_fields_of_hotcrp_are_criteria() -> None:
    text = "paper,title,review,reviewername,email,TecQua,SocImp\n1,One,1A,Ana,a@x.org,3,2\n2,Two,2A,Ana,a@x.org,1,5\n"
    assert roles(from_table(sheet(text)))[2] == ("TecQua", "SocImp")


def test_two_overall_fields_of_hotcrp_are_a_question() -> None:
    text = "paper,title,review,reviewername,email,OveMer,PosOveMer\n1,One,1A,Ana,a@x.org,3,2\n"
    found = from_table(sheet(text))
    assert found is not None
    assert found.question is not None
    assert "with score" in found.question.message


@pytest.mark.parametrize(
    "text", ["paper,title,review,OveMer\n1,One,1A,3\n1,One,1B,4\n", "paper,title,OveMer,RevExp\n1,One,3,4\n"]
)
def test_scores_of_hotcrp_without_addresses_are_refused(text: str) -> None:
    error = refused(from_table, sheet(text))
    assert error.kind == "anonymous_assessors"
    assert "letter" in str(error)
    assert "column email" in str(error)


def test_other_files_of_hotcrp_are_no_scores() -> None:
    text = "paper,title,given_name,family_name,email,conflict,preference\n1,One,Ana,Abel,a@x.org,,10\n"
    error = refused(from_table, sheet(text))
    assert error.kind == "not_scores"
    assert "evenhand design" in str(error)


def test_scores_of_hotcrp_without_any_field_are_refused() -> None:
    assert refused(from_table, sheet("paper,title,review,reviewername,email\n1,A,1A,Ana,a@x.org\n")).kind == "no_scores"


def test_bulk_reviews_of_hotcrp_are_read_wide_and_long() -> None:
    wide = (
        "pid,review,email,round,submitted_at,vtag,status,Overall merit,Comments\n"
        "1,1A,a@x.org,R1,1700000000,9,complete,4,Good work that I liked to read.\n"
        "1,1B,b@x.org,R1,,9,draft,1,\n2,2A,b@x.org,R1,1700000000,9,complete,2,\n"
    )
    found = from_table(sheet(wide))
    assert rows(found) == [("1", "a@x.org", "4"), ("2", "b@x.org", "2")]
    assert "1 row was left out: reviews that are not complete" in told(found)
    assert found is not None
    assert found.table.row_numbers.tolist() == [2, 4]
    long = (
        "pid,review,email,round,submitted_at,vtag,field,format,data\n"
        "1,1A,a@x.org,R1,1700000000,9,Overall merit,radio,4\n1,1A,a@x.org,R1,1700000000,9,Confidence,radio,3\n"
        "2,2A,b@x.org,R1,1700000000,9,Overall merit,radio,2\n"
    )
    found = from_table(sheet(long))
    assert roles(found) == ("pid", "email", "Overall merit", "Confidence", None, None)
    assert rows(found) == [("1", "a@x.org", "4", "3"), ("2", "b@x.org", "2", None)]


def test_reviews_of_hotcrp_in_json_are_complete_and_no_metareviews() -> None:
    def review(pid: int, mail: str, merit: object, **further: object) -> dict[str, object]:
        record = {"object": "review", "pid": pid, "rid": pid, "rtype": 2, "status": "complete", "reviewer_email": mail}
        return {**record, "OveMer": merit, "RevCon": 2, **further}

    found = from_data(
        {
            "ok": True,
            "reviews": [
                review(1, "a@x.org", 4),
                review(1, "b@x.org", False),
                review(2, "a@x.org", 3, status="draft"),
                review(2, "c@x.org", 3, rtype=5),
            ],
        },
        "reviews.json",
    )
    assert roles(found) == ("paper", "email", "OveMer", "RevCon", None, None)
    assert rows(found) == [(1, "a@x.org", 4, 2), (1, "b@x.org", None, 2)]
    assert "metareviews" in told(found)
    assert "not complete" in told(found)


def test_the_json_of_hotcrp_by_papers_has_titles() -> None:
    data = {
        "hotcrp_version": "3",
        "reviewform": {},
        "papers": [{"pid": 3, "title": "Ties", "reviews": [{"reviewer_email": "a@x.org", "OveMer": 2}]}],
    }
    found = from_data(data, "rqc.json")
    assert roles(found) == ("paper", "email", "OveMer", None, None, "title")
    assert rows(found, "paper", "email", "OveMer", "title") == [(3, "a@x.org", 2, "Ties")]
    data["papers"] = [{"pid": 3, "reviews": [{"OveMer": 2}]}]
    assert refused(from_data, data, "rqc.json").kind == "anonymous_assessors"


# --- Google and Microsoft Forms ------------------------------------------------------------------

ASKED = """Timestamp,Email Address,Which proposal are you reviewing?,Overall score (1-10),How sure are you?,Comments
2026/11/02 10:00:00 AM GMT+1,ana@x.org,P1,7,very,"A fine piece of work, with a thread."
2026/11/02 9:00:00 AM GMT+1,ben@x.org,P1,5,somewhat,
2026/11/02 1:00:00 PM GMT+1,ana@x.org,P1,8,very,
"""


def test_a_google_form_sent_for_each_assessment_is_read_in_order_of_time() -> None:
    found = from_table(sheet(ASKED))
    names = ("Which proposal are you reviewing?", "Email Address", "Overall score (1-10)", "How sure are you?")
    assert roles(found) == (*names, None, None)
    assert rows(found) == [
        ("P1", "ben@x.org", "5", "somewhat"),
        ("P1", "ana@x.org", "7", "very"),
        ("P1", "ana@x.org", "8", "very"),
    ]
    assert found is not None
    assert (found.duplicates, found.time) == ("last", "Timestamp")
    assert found.left_out == (("Timestamp", "time"), ("Comments", "text"))
    assert found.system.startswith("Google Forms")


def test_times_that_cannot_be_read_leave_the_order_of_the_file() -> None:
    text = (
        "Zeitstempel,E-Mail-Adresse,Antrag,Note\n02.11.2026 12:00:00,a@x.org,P1,2\n02.11.2026 11:00:00,b@x.org,P1,3\n"
    )
    found = from_table(sheet(text))
    assert rows(found) == [("P1", "a@x.org", "2"), ("P1", "b@x.org", "3")]


def test_a_grid_has_objects_down_and_a_question_for_scores_and_confidence() -> None:
    text = (
        "Timestamp,Username,Score [P1],Score [P2],Confidence [P1],Confidence [P2],Anything else?\n"
        "2026/11/02 10:00:00 AM,ana@x.org,7,5,high,low,\n2026/11/02 11:00:00 AM,ben@x.org,,6,,high,no\n"
    )
    found = from_table(sheet(text))
    assert roles(found) == ("object", "Username", "Score", "Confidence", None, None)
    assert rows(found) == [
        ("P1", "ana@x.org", "7", "high"),
        ("P2", "ana@x.org", "5", "low"),
        ("P2", "ben@x.org", "6", "high"),
    ]
    assert found is not None
    assert found.table.row_numbers.tolist() == [2, 2, 3]
    assert ("Anything else?", "asked once for all objects") in found.left_out


def test_a_grid_beside_a_question_that_names_the_object_has_criteria_down() -> None:
    text = (
        "Timestamp,Your name,Project title,Rate it [Clarity],Rate it [Novelty]\n"
        "2026/11/02 10:00:00 AM,Ana,Bridge,4,5\n2026/11/02 11:00:00 AM,Ben,Bridge,3,1\n"
    )
    found = from_table(sheet(text))
    assert roles(found) == ("Project title", "Your name", ("Rate it [Clarity]", "Rate it [Novelty]"), None, None, None)


def test_points_of_a_quiz_are_no_scores() -> None:
    text = (
        "Timestamp,Email Address,Score,Candidate,Rating,Rating [Score]\n"
        "2026/11/02 10:00:00 AM,ana@x.org,4 / 5,Kim,3,1.00 / 1\n2026/11/02 11:00:00 AM,ben@x.org,3 / 5,Kim,4,0.00 / 1\n"
    )
    found = from_table(sheet(text))
    assert roles(found)[:3] == ("Candidate", "Email Address", "Rating")
    assert found is not None
    assert {"Score", "Rating [Score]"} <= dict(found.left_out).keys()


def test_a_form_without_any_name_of_what_was_assessed_is_a_question() -> None:
    text = "Timestamp,Email Address,Alpha,Beta\n2026/11/02 10:00:00,ana@x.org,4,5\n2026/11/02 11:00:00,ben@x.org,3,1\n"
    error = refused(from_table, sheet(text))
    assert error.kind == "ambiguous_layout"
    assert 'format="forms-across"' in str(error)
    assert "with object" in str(error)
    found = from_table(sheet(text), format="forms-across")
    assert roles(found)[:3] == ("object", "Email Address", "score")
    assert rows(found) == [
        ("Alpha", "ana@x.org", "4"),
        ("Beta", "ana@x.org", "5"),
        ("Alpha", "ben@x.org", "3"),
        ("Beta", "ben@x.org", "1"),
    ]


def test_a_microsoft_form_has_times_in_front_and_dates_as_cells() -> None:
    noon = datetime.datetime(2026, 11, 2, 12)
    header: list[Cell] = [
        "ID",
        "Start time",
        "Completion time",
        "Email",
        "Name",
        "Candidate",
        "Overall rating",
        "Points - Candidate",
    ]
    first: list[Cell] = [1, noon, noon, "ana@x.org", "Ana", "Kim;", 4, 1]
    second: list[Cell] = [2, noon, noon.replace(hour=9), "ben@x.org", "Ben", "Kim;", 5, 1]
    third: list[Cell] = [3, noon, noon, "anonymous", None, "Lee;", 1, 1]
    found = from_table(arrange([header, first, second, third], source="form.xlsx"))
    assert roles(found)[:3] == ("Candidate", "Email", "Overall rating")
    assert rows(found) == [("Kim", "ben@x.org", 5), ("Kim", "ana@x.org", 4)]
    assert "nobody who is named" in told(found)
    assert found is not None
    assert found.assessor_details == ("Name",)
    assert {"ID", "Start time", "Points - Candidate"} <= dict(found.left_out).keys()


def test_an_anonymous_form_with_a_question_for_the_name_has_assessors() -> None:
    text = (
        "Id,Start time,Completion time,Email,Name,Reviewer name,Paper number,Score\n"
        "1,11/2/26 9:00:00,11/2/26 9:10:00,anonymous,,Ana,12,3\n2,11/2/26 9:00:00,11/2/26 9:20:00,anonymous,,Ben,12,4\n"
    )
    assert rows(from_table(sheet(text))) == [("12", "Ana", "3"), ("12", "Ben", "4")]
    error = refused(from_table, sheet(text.replace("Reviewer name", "Mood")))
    assert error.kind == "anonymous_assessors"


def test_two_questions_that_may_name_the_object_are_a_question() -> None:
    text = "Timestamp,Email Address,Paper,Candidate,Score\n2026/11/02 10:00:00 AM,ana@x.org,1,Kim,3\n"
    assert refused(from_table, sheet(text)).kind == "ambiguous_column"


# --- models as judges ----------------------------------------------------------------------------


def test_records_of_judges_are_assessments_and_repeats_are_kept() -> None:
    data = read_json(
        b'{"item": "q1", "judge": "j1", "score": 7, "confidence": 0.9}\n\n'
        b'{"item": "q1", "judge": "j2", "score": NaN}\n{"item": "q1", "judge": "j1", "score": 6, "confidence": 0.8}\n',
        "judges.jsonl",
    )
    found = from_data(data, "judges.jsonl")
    assert roles(found) == ("item", "judge", "score", "confidence", None, None)
    assert rows(found) == [("q1", "j1", 7, 0.9), ("q1", "j2", None, None), ("q1", "j1", 6, 0.8)]
    assert found is not None
    assert found.duplicates == "keep"
    assert "1 assessment" in told(found)


@pytest.mark.parametrize(
    "record",
    [
        lambda model, prompt: {"model": model, "prompt_id": prompt},
        lambda model, prompt: {"item": {"model": model, "prompt": prompt}},
        lambda model, prompt: {"item": prompt, "model": model},
    ],
)
def test_items_made_of_a_model_and_a_prompt_are_one_label(record: Any) -> None:
    data = [{**record(model, prompt), "judge": "j", "score": 1} for model in ("m1", "m2") for prompt in ("p1", "p2")]
    found = from_data(data, "judges.jsonl")
    assert [row[0] for row in rows(found)] == ["m1 / p1", "m1 / p2", "m2 / p1", "m2 / p2"]
    assert found is not None
    assert len(found.object_details) == 2


def test_a_table_of_judges_with_a_model_is_read_alike_and_one_model_is_no_part_of_the_label() -> None:
    found = from_table(sheet("question_id,model,judge,score\n1,m1,j1,3\n1,m2,j1,4\n"))
    assert rows(found) == [("m1 / 1", "j1", "3"), ("m2 / 1", "j1", "4")]
    found = from_table(sheet("question_id,model,judge,score\n1,m1,j1,3\n2,m1,j1,4\n"))
    assert rows(found) == [("1", "j1", "3"), ("2", "j1", "4")]


def test_mt_bench_has_turns_as_criteria_and_minus_one_is_no_score() -> None:
    def line(model: str, judge: str, score: float, turn: int) -> dict[str, object]:
        prompt = "single-v1" if turn == 1 else "single-v1-multi-turn"
        return {
            "question_id": 81,
            "model": model,
            "judge": [judge, prompt],
            "score": score,
            "turn": turn,
            "tstamp": 1.0,
        }

    found = from_data([line("m1", "g4", 9, 1), line("m1", "g4", -1, 2), line("m2", "cl", 7.5, 1)], "single.jsonl")
    assert roles(found) == ("object", "assessor", "score", None, "criterion", None)
    assert rows(found) == [
        ("m1 / 81", "g4", 9, "turn 1"),
        ("m1 / 81", "g4", None, "turn 2"),
        ("m2 / 81", "cl", 7.5, "turn 1"),
    ]
    assert "could not be read" in told(found)


def inspect_log(*scores: dict[str, object]) -> dict[str, Any]:
    samples = [{"id": f"s{at}", "epoch": 1, "scores": one} for at, one in enumerate(scores, 1)]
    return {"version": 2, "status": "success", "eval": {"model": "m1"}, "samples": samples}


def test_a_log_of_inspect_has_scorers_as_assessors_and_symbols_with_a_meaning() -> None:
    log = inspect_log({"a": {"value": "C"}, "b": {"value": True}}, {"a": {"value": "P"}, "b": {"value": None}})
    found = from_data(log, "log.json")
    assert rows(found) == [("s1", "a", "C"), ("s1", "b", 1.0), ("s2", "a", "P"), ("s2", "b", None)]
    assert found is not None
    assert dict(found.symbols) == {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
    assert found.duplicates == "keep"


def test_scores_of_inspect_that_are_records_are_criteria_and_lists_are_left_out() -> None:
    log = inspect_log({"a": {"value": {"style": 3, "truth": 4}}, "b": {"value": [1, 2]}, "c": {"value": {"style": 1}}})
    found = from_data(log, "log.json")
    assert rows(found) == [("s1", "a", 3, "style"), ("s1", "a", 4, "truth"), ("s1", "c", 1, "style")]
    assert "lists were left out, by b" in told(found)


def test_epochs_of_inspect_are_repeats_and_a_packed_log_is_the_same_log() -> None:
    log = inspect_log({"a": {"value": 0.5}}, {"a": {"value": 0.25}})
    log["samples"][1] |= {"id": "s1", "epoch": 2}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({name: log[name] for name in ("version", "status", "eval")}))
        for at, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/s1_epoch_{at + 1}.json", json.dumps(sample))
    assert read_json(packed.getvalue(), "log.eval") == log
    found = from_data(read_json(packed.getvalue(), "log.eval"), "log.eval")
    assert rows(found) == [("s1", "a", 0.5), ("s1", "a", 0.25)]
    assert "kept as repeats" in told(found)
    assert "only judge" in told(found)
    assert refused(read_json, packed.getvalue()[:200], "log.eval").kind == "damaged_file"


def test_a_log_of_inspect_without_scores_is_refused() -> None:
    assert refused(from_data, inspect_log({}), "log.json").kind == "no_scores"


def test_samples_of_the_harness_have_metrics_and_filters_as_assessors() -> None:
    def line(doc: int, filter: str, match: float) -> dict[str, object]:
        metrics = ["exact_match", "pairs"]
        return {
            "doc_id": doc,
            "filter": filter,
            "metrics": metrics,
            "doc_hash": "h",
            "exact_match": match,
            "pairs": [1, 2],
        }

    found = from_data([line(0, "strict", 1.0), line(0, "flexible", 0.0)], "samples.jsonl")
    assert rows(found) == [("0", "exact_match (strict)", 1.0), ("0", "exact_match (flexible)", 0.0)]
    assert "does not name the model" in told(found)
    assert "pairs" in told(found)


def test_results_of_promptfoo_have_assertions_as_assessors() -> None:
    def result(test: int, provider: object, *parts: dict[str, object]) -> dict[str, object]:
        return {
            "testIdx": test,
            "promptIdx": 0,
            "provider": provider,
            "gradingResult": {"componentResults": list(parts)},
        }

    rubric = {"score": 0.8, "assertion": {"type": "llm-rubric", "provider": "j1"}}
    other = {"score": 0.5, "assertion": {"type": "llm-rubric", "provider": {"id": "j2"}}}
    failed = {"score": 0, "assertion": {"type": "llm-rubric", "provider": "j1"}, "metadata": {"graderError": True}}
    results = [result(0, {"id": "m1"}, rubric, other), result(0, "m2", failed), result(1, "m2")]
    found = from_data({"evalId": "e", "results": {"version": 3, "results": results}}, "out.json")
    assert rows(found) == [
        ("m1 / 0", "llm-rubric / j1", 0.8),
        ("m1 / 0", "llm-rubric / j2", 0.5),
        ("m2 / 0", "llm-rubric / j1", None),
    ]
    assert "grader failed" in told(found)
    assert "1 row was left out" in told(found)


def test_results_of_deepeval_have_models_as_judges_where_there_are_several() -> None:
    def metric(name: str, score: float | None, model: str, **further: object) -> dict[str, object]:
        return {"name": name, "score": score, "evaluationModel": model, **further}

    cases = [
        {
            "name": "c1",
            "metricsData": [metric("Faith", 0.5, "j1"), metric("Faith", 0.7, "j2"), metric("Tone", 1, "j1")],
        },
        {"name": "c2", "metricsData": [metric("Faith", 0.0, "j1", error="timeout")]},
    ]
    found = from_data({"testCases": cases}, "run.json")
    assert roles(found) == ("object", "assessor", "score", None, "criterion", None)
    assert rows(found) == [
        ("c1", "j1", 0.5, "Faith"),
        ("c1", "j2", 0.7, "Faith"),
        ("c1", "j1", 1, "Tone"),
        ("c2", "j1", None, "Faith"),
    ]
    one = {"testCases": [{"metricsData": [metric("Faith", 0.5, "j1"), metric("Tone", 0.7, "j1")]}]}
    found = from_data(one, "run.json")
    assert rows(found) == [("1", "Faith", 0.5), ("1", "Tone", 0.7)]


@pytest.mark.parametrize(
    "data",
    [
        [{"question_id": 1, "model_1": "a", "model_2": "b", "g1_winner": "tie", "judge": ["j", "p"]}],
        [{"instruction": "?", "generator_1": "a", "generator_2": "b", "annotator": "j", "preference": 1.5}],
        {"id": [1, 2], "subset": ["a", "a"], "results": [1, 0]},
        [{"prompt": "?", "chosen": "a", "rejected": "b"}],
    ],
)
def test_comparisons_are_refused(data: object) -> None:
    error = refused(from_data, data, "pairs.json")
    assert error.kind == "comparisons"
    assert "single-answer grading" in str(error)


# --- OpenReview ----------------------------------------------------------------------------------


def note(forum: str, signature: str, rating: object, api: int = 2, **further: object) -> dict[str, Any]:
    invitation = "ICLR.cc/2026/Conference/Submission12/-/Official_Review"
    content: dict[str, object] = {"rating": rating, "confidence": 3, "soundness": 2, "summary": "It is about knots."}
    head = {"invitations": [invitation, "ICLR.cc/2026/Conference/-/Edit"]} if api == 2 else {"invitation": invitation}
    if api == 2:
        content = {name: {"value": value} for name, value in content.items()}
    record = {"id": f"{forum}{signature}", "forum": forum, "replyto": forum, "signatures": [signature]}
    return {**record, **head, "ddate": None, "content": content, **further}


def submission(forum: str, title: str) -> dict[str, Any]:
    invitations = ["ICLR.cc/2026/Conference/-/Submission"]
    return {"id": forum, "forum": forum, "invitations": invitations, "content": {"title": {"value": title}}}


@pytest.mark.parametrize("api", [1, 2])
def test_notes_of_openreview_signed_by_people_are_reviews(api: int) -> None:
    rating = 6 if api == 2 else "6: Marginally above the acceptance threshold"
    notes = [
        submission("f1", "Knots"),
        note("f1", "~Ana_Abel1", rating, api),
        note("f1", "~Ben_Bux1", rating, api, ddate=1_700_000_000_000),
        {**note("f1", "~Cy_Cox1", 3), "invitations": ["ICLR.cc/2026/Conference/Submission12/-/Meta_Review"]},
        note("f2", "~Ana_Abel1", rating, api),
    ]
    found = from_data({"notes": notes, "count": 5}, "notes.json")
    assert roles(found) == ("forum", "assessor", "rating", "confidence", None, "paper title")
    assert rows(found, "forum", "assessor", "rating", "confidence", "paper title") == [
        ("f1", "~Ana_Abel1", rating, 3, "Knots"),
        ("f2", "~Ana_Abel1", rating, 3, None),
    ]
    assert found is not None
    assert found.left_out == (("soundness", ANOTHER), ("summary", "text"))
    assert "1 row was left out: notes that were deleted" in told(found)
    assert "metareviews" in told(found)


def test_replies_in_the_details_of_a_note_are_found_and_a_bare_list_will_do() -> None:
    paper = submission("f1", "Knots")
    paper["details"] = {"replies": [note("f1", "~Ana_Abel1", 4)], "directReplies": [note("f1", "~Ana_Abel1", 4)]}
    assert rows(from_data([paper], "notes.jsonl"), "forum", "assessor", "rating") == [("f1", "~Ana_Abel1", 4)]


def test_groups_beside_the_notes_of_openreview_say_who_is_behind_a_pseudonym() -> None:
    who = "ICLR.cc/2026/Conference/Submission12/Reviewer_x7Qa"
    data = {"notes": [note("f1", who, 4)], "groups": [{"id": who, "members": ["~Ana_Abel1"]}]}
    assert rows(from_data(data, "notes.json"))[0][:2] == ("f1", "~Ana_Abel1")


def test_pseudonyms_of_openreview_are_explained_wherever_they_stand() -> None:
    who = "ICLR.cc/2026/Conference/Submission12/Reviewer_"
    errors = [
        refused(from_data, [note("f1", f"{who}x7Qa", 4), note("f2", f"{who}b3Tz", 5)], "notes.json"),
        refused(from_table, sheet("paper,reviewer,rating\n1,Reviewer_x7Qa,4\n1,Reviewer_b3Tz,5\n")),
        refused(from_table, sheet(f"forum,signatures,rating\nf1,['{who}x7Qa'],4\nf1,['{who}b3Tz'],5\n")),
    ]
    for error in errors:
        assert error.kind == "pseudonyms"
        assert "anew for each paper" in str(error)
    assert from_table(sheet("paper,reviewer,rating\n1,Reviewer_x7Qa,4\n2,Reviewer_x7Qa,5\n")) is None
    assert from_table(sheet("paper,reviewer,rating\n1,Reviewer_0001,4\n2,Reviewer_0002,5\n")) is None


def test_a_few_pseudonyms_among_people_are_noted() -> None:
    notes = [note("f1", "~Ana_Abel1", 4), note("f2", "~Ana_Abel1", 5), note("f2", "V/Submission2/Reviewer_x7Qa", 5)]
    assert "1 review signed by a pseudonym" in told(from_data(notes, "notes.json"))


def test_a_table_of_notes_is_read_as_the_notes_are() -> None:
    text = (
        "id,forum,invitation,signatures,ddate,rating,confidence,title\n"
        "a,f1,V/Paper1/-/Official_Review,~Ana_Abel1,,6: Marginally above,4,Knots\n"
        "b,f1,V/Paper1/-/Official_Review,~Ben_Bux1,1700000000000,5: Marginally below,4,Knots\n"
        "c,f1,V/Paper1/-/Decision,V/Chairs,,,,Knots\n"
    )
    found = from_table(sheet(text))
    assert roles(found) == ("forum", "assessor", "rating", "confidence", None, "title")
    assert rows(found) == [("f1", "~Ana_Abel1", "6: Marginally above", "4")]


def test_the_console_of_openreview_has_aggregates_only() -> None:
    error = refused(from_table, sheet("number,forum,title,min rating,max rating,average rating\n1,f1,A,3,6,4.5\n"))
    assert error.kind == "aggregates"
    assert "cannot" in str(error) or "nothing can be calibrated" in str(error)


def test_notes_without_reviews_or_with_deleted_ones_only_are_refused() -> None:
    comment = {**note("f1", "~Ana_Abel1", 4), "invitations": ["V/-/Official_Comment"]}
    assert refused(from_data, [comment], "notes.json").kind == "no_scores"
    assert refused(from_data, [note("f1", "~Ana_Abel1", 4, ddate=1)], "notes.json").kind == "no_scores"


def test_a_venue_without_an_overall_rating_has_criteria() -> None:
    one = note("f1", "~Ana_Abel1", 4)
    del one["content"]["rating"]
    one["content"]["presentation"] = {"value": 3}
    assert roles(from_data([one], "notes.json"))[2] == ("soundness", "presentation")


# --- EasyChair -----------------------------------------------------------------------------------

EASYCHAIR_HEADER = (
    "#,submission #,member #,member name,number,version,text,scores,total score,reviewer first name,"
    "reviewer last name,reviewer email,reviewer person #,date,time,attachment?\n"
)
EASYCHAIR_ROWS = (
    '1,7,3,Ana Abel,1,1,Fine.,"Overall evaluation: -1\nReviewer\'s confidence: 4\nRelevance: for us: 2",'
    "-1,,,,,2026-11-01,10:00,no\n"
    '2,7,4,Ben Bux,2,1,Hm.,"Overall evaluation: 2\nReviewer\'s confidence: 3",2,Cy,Cox,cy@x.org,9,2026-11-01,10:00,no\n'
    '3,8,4,Ben Bux,1,1,Old.,"Overall evaluation: 0\nReviewer\'s confidence: 3",0,Ben,Bux,,4,2026-11-01,10:00,no\n'
    '4,8,4,Ben Bux,1,2,New.,"Overall evaluation: 1\nReviewer\'s confidence: 3",1,Ben,Bux,,4,2026-11-02,10:00,no\n'
)


@pytest.mark.parametrize("header", [EASYCHAIR_HEADER, ""])
def test_reviews_of_easychair_are_taken_apart_and_written_by_whoever_wrote_them(header: str) -> None:
    found = from_table(sheet(header + EASYCHAIR_ROWS))
    assert roles(found) == ("submission #", "assessor", "Overall evaluation", "Reviewer's confidence", None, None)
    assert rows(found) == [("7", "Ana Abel", "-1", "4"), ("7", "cy@x.org", "2", "3"), ("8", "Ben Bux", "1", "3")]
    assert found is not None
    reasons = dict(found.left_out)
    assert reasons["Relevance: for us"] == reasons["total score"] == ANOTHER
    assert reasons["text"] == "text"
    assert "1 row was left out: older versions of reviews" in told(found)
    assert rows(found, "assessor name", "assessor email")[1] == ("Cy Cox", "cy@x.org")
    first = 2 if header else 1
    assert found.table.row_numbers.tolist() == [first, first + 1, first + 3]


def test_members_of_one_name_are_told_apart_and_deleted_reviews_go() -> None:
    text = (
        "submission #,member #,member name,scores,deleted?\n"
        '1,3,Ana,"Originality: 3\nClarity: 2",no\n'
        '1,4,Ana,"Originality: 1\nClarity: 5",no\n2,4,Ana,"Originality: 1",yes\n'
    )
    found = from_table(sheet(text))
    assert roles(found)[2] == ("Originality", "Clarity")
    assert rows(found) == [("1", "Ana #3", "3", "2"), ("1", "Ana #4", "1", "5")]
    assert "1 row was left out: deleted" in told(found)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("member #,member name,submission #,bid\n3,Ana,7,yes\n", "bids"),
        ("#,submission #,member #,member name,recommendation,text\n1,7,3,Ana,accept,x\n", "metareviews"),
        ("member #,member name,submission #\n3,Ana,7\n", "assignments"),
    ],
)
def test_other_files_of_easychair_are_no_scores(text: str, word: str) -> None:
    error = refused(from_table, sheet(text))
    assert error.kind == "not_scores"
    assert word in str(error)
    assert "review.csv" in str(error)


def test_reviews_of_easychair_without_a_number_are_refused() -> None:
    assert refused(from_table, sheet("submission #,member #,scores\n1,3,\n2,3,none\n")).kind == "no_scores"


# --- CMT -----------------------------------------------------------------------------------------

CMT = [
    [
        "Paper ID",
        "Paper Title",
        "Reviewer Name",
        "Reviewer Email",
        "Q1 (Overall rating)",
        "Q1 (Overall rating - Value)",
    ],
    ["7", "Knots", "Ana Abel", "ana@x.org", "Weak accept", "3"],
    ["7", "Knots", "Ben Bux", "ben@x.org", "Reject", "1"],
]
CMT = [[*row, *more] for row, more in zip(CMT, [["Q2 (How confident are you?)"], ["Very"], ["Somewhat"]], strict=True)]


def spreadsheet_xml(*sheets: tuple[str, list[list[str]]], head: str = "") -> str:
    """Return a workbook of one XML file, with the name of a track above each sheet's header."""
    parts = []
    for name, lines in sheets:
        cells = ["".join(f'<Cell><Data ss:Type="String">{cell}</Data></Cell>' for cell in line) for line in lines]
        banner = f'<Row><Cell ss:MergeAcross="5"><Data ss:Type="String">{name}</Data></Cell></Row>'
        body = "".join(
            f'<Row ss:Index="{at}">{line}</Row>' if at == 3 else f"<Row>{line}</Row>"
            for at, line in enumerate(cells, 3)
        )
        parts.append(f'<Worksheet ss:Name="{name}"><Table>{banner}{body}</Table></Worksheet>')
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    return f'<?xml version="1.0"?>\n{head}<Workbook xmlns="{space}" xmlns:ss="{space}">{"".join(parts)}</Workbook>'


def test_reviews_of_cmt_have_values_beside_words() -> None:
    found = from_table(arrange(CMT, source="reviews.csv"))
    names = ("Paper ID", "Reviewer Email", "Q1 (Overall rating - Value)", "Q2 (How confident are you?)")
    assert roles(found) == (*names, None, "Paper Title")
    assert rows(found) == [("7", "ana@x.org", "3", "Very"), ("7", "ben@x.org", "1", "Somewhat")]
    assert found is not None
    assert dict(found.left_out)["Q1 (Overall rating)"] == "the words for a value that is read"
    assert found.assessor_details == ("Reviewer Name",)


def test_the_xml_workbook_of_cmt_is_the_same_table_with_its_header_in_row_three() -> None:
    found = from_text(spreadsheet_xml(("Main", CMT)), "Reviews.xls")
    assert rows(found) == rows(from_table(arrange(CMT, source="reviews.csv")))
    assert found is not None
    assert found.table.row_numbers.tolist() == [4, 5]


def test_tracks_of_cmt_are_one_table_only_where_the_questions_are_the_same() -> None:
    more = [CMT[0], ["9", "Ties", "Ana Abel", "ana@x.org", "Accept", "4", "Very"]]
    other = [["Paper ID", "Reviewer Email", "Q1 (Novelty)"], ["9", "ana@x.org", "4"]]
    found = from_text(spreadsheet_xml(("Main", CMT), ("Demo", more), ("Short", other)), "Reviews.xls")
    assert [row[0] for row in rows(found)] == ["7", "7", "9"]
    assert found is not None
    assert any("Short" in problem.message for problem in found.table.notes)


def test_questions_of_cmt_without_values_are_scores_in_words() -> None:
    text = "Paper ID,Reviewer Name,Q1 (Recommendation),Q2 (Comments)\n1,Ana,Weak accept,Good\n2,Ana,Reject,Bad\n"
    found = from_table(sheet(text))
    assert rows(found) == [("1", "Ana", "Weak accept"), ("2", "Ana", "Reject")]
    assert "told apart by their names" in told(found)


def test_what_cmt_exports_without_reviewers_or_scores_is_refused() -> None:
    assert refused(from_table, sheet("Paper ID,Q1 (Overall)\n1,3\n")).kind == "anonymous_assessors"
    bids = '<bids><submission submissionId="7"><user email="a@x.org" bid="3 - Eager"/></submission></bids>'
    assert refused(from_text, bids, "bids.xml").kind == "not_scores"


def test_xml_with_entities_or_cut_off_is_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    error = refused(from_text, spreadsheet_xml(("Main", CMT), head=bomb), "Reviews.xls")
    assert error.kind == "bad_xml"
    assert "entities" in str(error)
    error = refused(from_text, spreadsheet_xml(("Main", CMT))[:-40], "Reviews.xls")
    assert error.kind == "bad_xml"
    assert "Line" in str(error)


# --- Moodle --------------------------------------------------------------------------------------


def moodle_report(*reviews: dict[str, object]) -> dict[str, Any]:
    grade = {
        "userid": 2,
        "submissionid": 5,
        "submissiontitle": "Knots",
        "reviewedby": list(reviews),
        "reviewerof": [{}],
    }
    return {"report": {"grades": [grade], "totalcount": 1}, "warnings": []}


def test_the_report_of_a_workshop_has_each_assessment_once() -> None:
    entry = {"assessmentid": 1, "submissionid": 5, "gradinggrade": 80, "weight": 1}
    data = moodle_report({**entry, "userid": 8, "grade": 70.5}, {**entry, "userid": 9, "grade": None})
    found = from_data(data, "report.json")
    assert roles(found) == ("submissionid", "userid", "grade", None, None, "title")
    assert rows(found) == [(5, 8, 70.5), (5, 9, None)]
    assert rows(from_data(data["report"], "report.json")) == rows(found)
    assert found is not None
    assert {"weight", "gradinggrade"} == dict(found.left_out).keys()
    assert refused(from_data, moodle_report({**entry, "userid": 0, "grade": 3}), "a.json").kind == "anonymous_assessors"
    assert refused(from_data, moodle_report(), "a.json").kind == "no_scores"


WORKSHOP = """<?xml version="1.0" encoding="UTF-8"?>
<activity id="1"><workshop id="3"><name>Essays</name>
<examplesubmissions><examplesubmission id="90"><exampleassessments><exampleassessment id="1"><reviewerid>1</reviewerid>
<grade>1</grade></exampleassessment></exampleassessments></examplesubmission></examplesubmissions>
<submissions><submission id="5"><authorid>2</authorid><title>Knots &amp; ties</title><assessments>
<assessment id="1"><reviewerid>8</reviewerid><weight>1</weight><grade>70.00000</grade></assessment>
<assessment id="2"><reviewerid>9</reviewerid><weight>1</weight><grade>$@NULL@$</grade></assessment>
</assessments></submission></submissions></workshop></activity>
"""


def test_the_workshop_of_a_backup_leaves_examples_out() -> None:
    found = from_text(WORKSHOP, "workshop.xml")
    assert rows(found, "submissionid", "userid", "grade", "title") == [
        ("5", "8", "70.00000", "Knots & ties"),
        ("5", "9", None, "Knots & ties"),
    ]
    assert "1 row was left out: assessments of example submissions" in told(found)
    hidden = WORKSHOP.replace("<reviewerid>8<", "<reviewerid>0<")
    assert refused(from_text, hidden, "workshop.xml").kind == "anonymous_assessors"
    assert refused(from_text, WORKSHOP[:400], "workshop.xml").kind == "bad_xml"


def test_a_gradebook_has_aggregates_only() -> None:
    text = "First name,Workshop: Essays (submission),Workshop: Essays (assessment)\nAna,70,18\n"
    assert refused(from_table, sheet(text)).kind == "aggregates"


# --- pretalx and Indico --------------------------------------------------------------------------


def test_reviews_of_pretalx_have_a_score_and_categories() -> None:
    text = (
        "Proposal ID,Proposal title,Reviewer name,Reviewer email,Score,Clarity,Score in “Clarity”,Text\n"
        "ABC123,Knots,Ana,ana@x.org,3.5,2,,Nice\nABC123,Knots,Ben,ben@x.org,,,,\nDEF456,Ties,Ana,ana@x.org,1,1,,\n"
    )
    found = from_table(sheet(text))
    assert roles(found) == ("Proposal ID", "Reviewer email", "Score", None, None, "Proposal title")
    assert rows(found) == [("ABC123", "ana@x.org", "3.5"), ("ABC123", "ben@x.org", None), ("DEF456", "ana@x.org", "1")]
    assert found is not None
    assert dict(found.left_out)["Clarity"] == ANOTHER
    assert "weighted sum" in told(found)


def test_reviews_of_pretalx_in_json_and_by_categories_are_read_alike() -> None:
    data = [
        {"Proposal ID": "A", "Reviewer name": "Ana", "Clarity": 2, "Fit": 1},
        {"Proposal ID": "B", "Reviewer name": "Ana", "Clarity": 0, "Fit": 2},
    ]
    found = from_data(data, "reviews.json")
    assert roles(found)[:3] == ("Proposal ID", "Reviewer name", ("Clarity", "Fit"))
    assert refused(from_table, sheet("Proposal ID,Reviewer email,Text\nA,a@x.org,Good\n")).kind == "no_scores"
    anonymous = sheet("Proposal ID,Score,Score in “Fit”\nA,3,\n")
    assert refused(from_table, anonymous).kind == "anonymous_assessors"


def indico(*reviews: dict[str, Any]) -> dict[str, Any]:
    questions = [{"id": 1, "title": "Novelty", "no_score": False}, {"id": 2, "title": "Talk?", "no_score": True}]
    questions.append({"id": 3, "title": "Fit", "no_score": False})
    abstract = {"id": 40, "friendly_id": 4, "title": "Knots", "reviews": list(reviews)}
    return {"version": 1, "abstracts": [abstract], "questions": questions}


def test_abstracts_of_indico_have_questions_as_criteria_and_negative_ratings() -> None:
    ratings = [{"question": 1, "value": -2}, {"question": 2, "value": True}, {"question": 3, "value": None}]
    users = [{"id": 7, "email": "ana@x.org", "full_name": "Ana Abel"}, {"id": 8, "email": None}]
    other = [{"question": 1, "value": 1}, {"question": 3, "value": 4}]
    tracks = [{"code": "T1"}, {"code": "T2"}]
    data = indico(
        {"user": users[0], "track": tracks[0], "ratings": ratings},
        {"user": users[0], "track": tracks[1], "ratings": other},
        {"user": users[1], "track": tracks[0], "ratings": other},
    )
    found = from_data(data, "abstracts.json")
    assert roles(found) == ("friendly_id", "reviewer", ("Novelty", "Fit"), None, None, "title")
    assert rows(found) == [(4, "ana@x.org", -2, None), (4, "ana@x.org", 1, 4), (4, 8, 1, 4)]
    assert found is not None
    assert found.duplicates == "keep"
    assert refused(from_data, indico(), "abstracts.json").kind == "no_scores"
    assert refused(from_data, indico({"user": None, "ratings": other}), "a.json").kind == "anonymous_assessors"
    words = indico({"user": users[0], "ratings": [{"question": 1, "value": "good"}]})
    assert refused(from_data, words, "a.json").kind == "no_scores"


def test_papers_of_indico_are_read_in_their_last_revision() -> None:
    def review(value: int, group: str) -> dict[str, Any]:
        return {
            "user": {"id": 7},
            "group": group,
            "ratings": [{"question": {"id": 1, "title": "Form"}, "value": value}],
        }

    revisions = [{"number": 1, "reviews": [review(1, "content")]}, {"number": 2, "reviews": [review(3, "content")]}]
    paper = {"contribution": {"friendly_id": 12, "title": "Ties"}, "revisions": revisions}
    found = from_data({"version": 1, "papers": [paper], "rating_range": [0, 5]}, "papers.json")
    assert roles(found) == ("friendly_id", "reviewer", "content: Form", None, None, "title")
    assert rows(found) == [(12, 7, 3)]
    assert "earlier revisions" in told(found)


def test_the_table_of_indico_has_means_only() -> None:
    error = refused(from_table, sheet("Id,Title,Submitted for tracks,Accepted track,Score\n1,A,T,T,2\n"))
    assert error.kind == "aggregates"
    assert "sign" in str(error)


# --- FACETS --------------------------------------------------------------------------------------

FACETS = """; essays
Title = Essays
Facets = 3
Missing = 99
Models = ?,?,?,R6
Labels =
1,Essays
1=Knots
2=Ties ; the second
*
2,Raters
1=Ana
2=Ben,0.5
*
3,Criteria
1-3
1=Form
*
*
Data =
1,1,1,5
1,2,1-3,4,99,7
2,1,0,-1
R2,2,2,1,3
0,1,1,2
"""


def test_a_control_file_of_facets_has_labels_ranges_repeats_and_missing_codes() -> None:
    found = from_text(FACETS, "essays.txt")
    assert roles(found) == ("object", "assessor", "score", None, "criterion", None)
    assert rows(found) == [
        ("Knots", "Ana", "5", "Form"),
        ("Knots", "Ben", "4", "Form"),
        ("Knots", "Ben", None, "2"),
        ("Knots", "Ben", None, "3"),
        ("Ties", "Ana", None, None),
        ("Ties", "Ben", "3", "Form"),
        ("Ties", "Ben", "3", "Form"),
    ]
    assert found is not None
    assert found.duplicates == "keep"
    assert "3 ratings are missing" in told(found)
    assert "1 rating of nobody" in told(found)
    assert found.table.row_numbers[0] == 21


def test_two_facets_and_a_dummy_are_objects_raters_and_nothing_else() -> None:
    text = "Facets=3\nLabels=\n1,Poems\n1=A\n*\n2,Judges\n1=Ana\n*\n3,Year,D\n1=2025\n*\nData=\n1\t1\t1\t7\n"
    found = from_text(text, "poems.txt")
    assert rows(found) == [("A", "Ana", "7")]
    assert found is not None
    assert found.left_out == (("Year", "a dummy facet"),)


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("Facets=2\nLabels=\n1,One\n*\n2,Two\n*\nData=\n1,1,3\n", "ambiguous_column", "name one of them Raters"),
        ("Facets=2\nData=ratings.txt\n", "no_scores", "another file"),
        ("Facets=2\nTitle=x\n", "no_scores", "without Data="),
        ("Facets=2\nLabels=\n1,Poems\n*\n2,Judges\n*\nData=\n1,1\n", "bad_data_line", "line 8"),
        ("Facets=2\nLabels=\n1,Poems\n*\n2,Judges\n*\nData=\n1,1,4,5\n", "bad_data_line", "2 ratings"),
        ("Facets=2\nLabels=\n1,Poems\n*\n2,Judges\n*\nData=\n1-3,1,4,5\n", "bad_data_line", "1-3"),
        ("Facets=2\nLabels=\n1,Poems\n*\n2,Judges\n*\nData=\n", "no_scores", "single rating"),
        ("Facets=2\nDvalues=\n3,1-5\n*\nLabels=\n1,Poems\n*\n2,Judges\n*\nData=\n1,1\n", "unknown_format", "Dvalues="),
    ],
)
def test_files_of_facets_that_cannot_be_read_say_why(text: str, kind: str, word: str) -> None:
    error = refused(from_text, text, "poems.txt")
    assert error.kind == kind
    assert word in str(error)


# --- damage --------------------------------------------------------------------------------------

JUNK: list[Any] = [None, 3, "x", [], {}, [1], [None], {"a": 1}, [[{}]], True]


def damaged(data: Any) -> Iterator[Any]:
    """Yield data with each of its parts replaced by junk in turn, or taken out."""
    yield from JUNK
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in list(parts):
        for junk in damaged(part):
            yield {**data, key: junk} if isinstance(data, dict) else [*data[:key], junk, *data[key + 1 :]]
        yield {name: one for name, one in data.items() if name != key} if isinstance(data, dict) else data[:key]


WHOLE: dict[str, Any] = {
    "hotcrp": {"reviews": [{"object": "review", "pid": 1, "status": "complete", "reviewer_email": "a", "OveMer": 2}]},
    "rqc": {"hotcrp_version": "3", "papers": [{"pid": 1, "reviews": [{"reviewer_email": "a@x.org", "OveMer": 2}]}]},
    "openreview": {
        "notes": [submission("f1", "Knots"), note("f1", "V/Submission1/Reviewer_x7Qa", 3)],
        "groups": [{"id": "V/Submission1/Reviewer_x7Qa", "members": ["~Ana_Abel1"]}],
    },
    "replies": [{**submission("f1", "Knots"), "details": {"replies": [note("f1", "~Ana_Abel1", 3)]}}],
    "moodle": moodle_report({"userid": 8, "submissionid": 5, "grade": 70.5, "weight": 1, "gradinggrade": 3}),
    "indico": indico(
        {"user": {"id": 7, "email": "a"}, "track": {"code": "T"}, "ratings": [{"question": 1, "value": 2}]}
    ),
    "papers": {
        "version": 1,
        "papers": [
            {
                "contribution": {"friendly_id": 1},
                "revisions": [
                    {
                        "number": 1,
                        "reviews": [
                            {
                                "user": {"id": 7},
                                "group": {"name": "content"},
                                "ratings": [{"question": {"id": 1, "title": "Form"}, "value": 3}],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "records": [{"item": "q1", "judge": "j1", "score": 7, "confidence": 0.9}],
    "composite": [{"item": {"model": "m", "prompt": "p"}, "judge": "j1", "score": 7}],
    "mt-bench": [{"question_id": 1, "model": "m", "judge": ["j", "p"], "score": 3, "turn": 1}],
    "inspect": inspect_log({"a": {"value": "C"}, "b": {"value": {"style": 3}}}),
    "harness": [{"doc_id": 0, "filter": "f", "metrics": ["m"], "doc_hash": "h", "m": 1.0}],
    "promptfoo": {
        "evalId": "e",
        "results": {
            "results": [
                {
                    "testIdx": 0,
                    "promptIdx": 0,
                    "provider": {"id": "m"},
                    "metadata": {},
                    "gradingResult": {
                        "componentResults": [
                            {
                                "score": 0.5,
                                "assertion": {"type": "t", "provider": {"id": "j"}},
                                "metadata": {"graderError": 0},
                            }
                        ]
                    },
                }
            ]
        },
    },
    "deepeval": {"testCases": [{"name": "c", "metricsData": [{"name": "F", "score": 0.5, "evaluationModel": "j"}]}]},
    "pretalx": [{"Proposal ID": "A", "Reviewer name": "Ana", "Score": 2}],
}


@pytest.mark.parametrize("name", WHOLE)
def test_data_with_any_part_damaged_are_read_or_refused_in_a_sentence(name: str) -> None:
    whole = [*WHOLE[name], *WHOLE[name]] if isinstance(WHOLE[name], list) else WHOLE[name]
    assert from_data(whole, "whole.json") is not None
    for data in damaged(whole):
        with contextlib.suppress(InputError):
            found = from_data(data, "damaged.json")
            assert found is None or len(found.table) > 0
            assert found is None or {found.object, found.assessor} <= set(found.table.names)


TABLES = {
    "scores": HOTCRP_SCORES,
    "form": ASKED,
    "review": EASYCHAIR_HEADER + EASYCHAIR_ROWS,
    "cmt": "\n".join(",".join(row) for row in CMT),
    "notes": "forum,signatures,ddate,rating,confidence\nf1,~Ana_Abel1,,6: Above,4\nf2,~Ana_Abel1,,5: Below,\n",
    "talks": "Proposal ID,Proposal title,Reviewer email,Score,Clarity\nA,Knots,ana@x.org,3.5,2\nB,Ties,ana@x.org,1,1\n",
    "judges": "question_id,model,judge,score\n1,m1,j1,3\n1,m2,j1,4\n",
    "grid": "Timestamp,Username,Score [P1],Score [P2]\n2026/11/02 10:00,ana@x.org,7,5\n2026/11/02 11:00,ben@x.org,,6\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_without_a_column_or_with_an_odd_one_are_read_or_refused_in_a_sentence(name: str) -> None:
    lines = list(csv.reader(io.StringIO(TABLES[name])))
    assert from_table(arrange(lines, source="whole.csv")) is not None
    for at in range(len(lines[0])):
        without = [[cell for index, cell in enumerate(line) if index != at] for line in lines]
        odd = [
            [lines[0], *([*line[:at], junk, *line[at + 1 :]] for line in lines[1:])]
            for junk in ("", "x", "-1", "x: y", "é\n", "0")
        ]
        for changed in (without, *odd):
            with contextlib.suppress(InputError):
                found = from_table(arrange(changed, source="changed.csv"))
                assert found is None or {found.object, found.assessor} <= set(found.table.names)
                assert found is None or all(column.codes.size == len(found.table) for column in found.table.columns)
