"""Language models as judges: plain records, MT-bench, inspect_ai, lm-evaluation-harness, promptfoo and deepeval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from evenhand.errors import InputError, Problem
from evenhand.io.formats.found import Found, cells_of, column_named, left_out_rows, text_of, with_columns
from evenhand.io.records import record_of, records_in, records_table, scalar, to_table
from evenhand.panel.column import Cell, Table
from evenhand.panel.headings import SYNONYMS, fold
from evenhand.words import count_of, is_or_are, name_some

_JUDGES: Final = ("judge", "judge model", "judge name", "judge id", "grader", "grader model", "evaluator", "annotator")
_ITEMS: Final = (
    *("item", "item id", "question id", "prompt id", "sample id", "task id", "example id", "doc id", "question"),
    *("prompt", "sample", "task", "example", "id"),
)
_MODELS: Final = (
    *("model", "model id", "model name", "generator", "system", "candidate model", "response model", "answer by"),
)
_SCORES: Final = ("score", "rating", "grade", "mark", "overall score", "overall")
_SURE: Final = ("confidence", "certainty", "uncertainty", "judge confidence")
_PAIRS: Final = (
    frozenset({"model_1", "model_2"}),
    frozenset({"generator_1", "generator_2"}),
    frozenset({"model_a", "model_b"}),
    frozenset({"output_1", "output_2", "preference"}),
    frozenset({"chosen", "rejected"}),
    frozenset({"response_a", "response_b"}),
)
_THINGS: Final = frozenset(SYNONYMS["object"]) - set(_ITEMS)
_BETWEEN: Final = " / "
_INSPECT_SYMBOLS: Final = (("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0))
_MT_BENCH: Final = frozenset({"question_id", "model", "judge", "score"})
_UNPARSED: Final = -1


def from_table(table: Table) -> Found | None:
    """Return the scores of a table in which a judge, a score, a model and an item stand, or an item in parts."""
    _refuse_pairs({name.casefold() for name in table.names}, table.source)
    if column_named(table, *_MODELS) is None and not any(name.casefold().startswith("item.") for name in table.names):
        return None
    return _of_records(table)


def _of_records(table: Table) -> Found | None:
    """Return the scores of judges, whatever the items are made of."""
    judge, score = column_named(table, *_JUDGES), column_named(table, *_SCORES)
    composite = [name for name in table.names if name.casefold().startswith("item.")]
    item, model = column_named(table, *_ITEMS), column_named(table, *_MODELS)
    further = [name for name in table.names if fold(name) in _THINGS and name not in (item, model, *composite)]
    if judge is None or score is None or further or (item is None and not composite):
        return None
    chosen = [name for name in (model, *composite, item) if name is not None]
    table, object_ = _composite(table, chosen)
    sure = column_named(table, *_SURE)
    used = {object_, judge, score, sure, *chosen}
    return Found(
        "scores of judges",
        table,
        object=object_,
        assessor=judge,
        score=score,
        confidence=sure,
        object_details=tuple(name for name in chosen if name != object_),
        left_out=tuple((name, "not needed") for name in table.names if name and name not in used),
        notes=_repeats(table, object_, judge),
        duplicates="keep",
    )


def _composite(table: Table, parts: Sequence[str]) -> tuple[Table, str]:
    """Return the column of objects; where the last part alone does not tell them apart, one made of all parts."""
    columns = [[text_of(cell) for cell in cells_of(table, part)] for part in parts]
    joined = [tuple(cells) for cells in zip(*columns, strict=True)]
    kinds = set(joined)
    alone = len({cells[-1] for cells in kinds}) == len(kinds) or len({cells[:-1] for cells in kinds}) == 1
    if len(parts) == 1 or alone:
        return table, parts[-1]
    name = "object" if "object" not in table.names else "object made of " + _BETWEEN.join(parts)
    return with_columns(table, {name: [_BETWEEN.join(filter(None, cells)) or None for cells in joined]}), name


def _repeats(table: Table, object_: str, assessor: str) -> tuple[Problem, ...]:
    """Return the note that counts assessments that repeat a judge's earlier one of the same object."""
    pairs = list(zip(cells_of(table, object_), cells_of(table, assessor), strict=True))
    again = len(pairs) - len(set(pairs))
    if not again:
        return ()
    told = f"{count_of(again, 'assessment')} by a judge who had assessed the object before"
    return (Problem("repeated", f"{told} {is_or_are(again)} kept as repeats.", table.source),)


def _refuse_pairs(names: Iterable[str], source: str) -> None:
    """Refuse comparisons."""
    there = set(names)
    if any(pair <= there for pair in _PAIRS) and not there & {"score", "rating"}:
        raise _comparisons(source)


def _comparisons(source: str) -> InputError:
    message = (
        "These are comparisons, which of two answers is better, and not scores of single answers: evenhand calibrates "
        "scores. Let the judges score each answer on its own (single-answer grading), and give that file."
    )
    return InputError(message, kind="comparisons", where=source)


def from_data(data: object, source: str) -> Found | None:
    """Return the scores of a log or of records; comparisons are refused."""
    if isinstance(data, dict):
        return _of_log(data, source)
    if not (isinstance(data, list) and data and isinstance(data[0], dict)):
        return None
    keys = set(data[0])
    _refuse_pairs(keys, source)
    if keys >= _MT_BENCH:
        return _mt_bench(_complete(data, _MT_BENCH, source), source)
    if {"doc_id", "doc_hash"} <= keys and isinstance(data[0].get("metrics"), list):
        return _lm_eval(_complete(data, {"doc_id", "metrics"}, source), source)
    if "metricsData" in keys or "metrics_data" in keys:
        return _deepeval({"testCases": data}, source)
    folded = {fold(key) for key in keys}
    if folded & set(_JUDGES) and folded & set(_SCORES):
        return _of_records(to_table(data, source))
    return None


def _complete(data: list[Any], keys: Collection[str], source: str) -> list[dict[str, Any]]:
    """Return records all of which have some keys."""
    records = records_in(data, "the file", source)
    for number, record in enumerate(records, 1):
        lacking = sorted(set(keys) - record.keys())
        if lacking:
            message = f"Record {number} has no {lacking[0]}, as the first one has: mend it, or leave it out."
            raise InputError(message, kind="bad_json", where=source)
    return records


def _of_log(data: Mapping[str, Any], source: str) -> Found | None:
    """Return the scores of a log that is one record."""
    if isinstance(data.get("samples"), list) and isinstance(data.get("eval"), dict):
        return _inspect(data, source)
    results = data.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return _promptfoo(results["results"], source)
    if "evalId" in data and isinstance(results, list):
        return _promptfoo(results, source)
    if isinstance(data.get("testCases"), list) or isinstance(data.get("test_results"), list):
        return _deepeval(data, source)
    if {"id", "subset", "results"} <= set(data) and isinstance(results, list):
        raise _comparisons(source)
    if all(isinstance(part, list) for part in data.values()):
        _refuse_pairs(data, source)
    return None


def _found(
    system: str, records: Sequence[Mapping[str, Cell]], source: str, notes: Iterable[Problem] = (), **further: Any
) -> Found:
    """Return rows with the columns object, assessor and score, and perhaps criterion, as what was found."""
    if not records:
        message = f"This is {system} without a single score: run the judges first."
        raise InputError(message, kind="no_scores", where=source)
    table = records_table(records, source)
    criteria = len(set(cells_of(table, "criterion"))) > 1 if "criterion" in table.names else False
    judges = set(cells_of(table, "assessor"))
    told = list(notes)
    if len(judges) == 1:
        message = f"{next(iter(judges))} is the only judge: there is no second standard to compare it with."
        told.append(Problem("one_judge", message, source))
    if not criteria:
        told += _repeats(table, "object", "assessor")
    return Found(
        system,
        table,
        object="object",
        assessor="assessor",
        score="score",
        criterion="criterion" if criteria else None,
        notes=tuple(told),
        duplicates="keep",
        **further,
    )


def _score(given: object) -> Cell:
    """Return a score as a cell: truth values of JSON are 1 and 0."""
    if isinstance(given, bool):
        return float(given)
    return given if isinstance(given, int | float | str) else None


def _label(*parts: object) -> str | None:
    """Return the label of an object or a judge that is made of parts."""
    return _BETWEEN.join(text for part in parts if part is not None and (text := str(part).strip())) or None


def _several(records: Sequence[Mapping[str, Any]], *names: str) -> bool:
    """Say whether records differ in a field."""
    return len({tuple(str(record.get(name)) for name in names) for record in records}) > 1


def _mt_bench(records: Sequence[Mapping[str, Any]], source: str) -> Found:
    """Return single scores of MT-bench; -1 stands for an answer of the judge that could not be read."""
    judges = [_judge_and_prompt(record["judge"]) for record in records]
    by_turn: dict[tuple[str, str], set[str]] = {}
    for record, (name, prompt) in zip(records, judges, strict=True):
        by_turn.setdefault((name, str(record.get("turn"))), set()).add(prompt)
    plain = all(len(prompts) == 1 for prompts in by_turn.values())
    rows, unread = [], 0
    for record, (name, prompt) in zip(records, judges, strict=True):
        is_unread = record["score"] == _UNPARSED
        unread += is_unread
        rows.append(
            {
                "object": _label(record["model"], record["question_id"]),
                "assessor": name if plain else _label(name, prompt),
                "score": None if is_unread else _score(record["score"]),
                "criterion": f"turn {scalar(record['turn'])}" if record.get("turn") is not None else None,
                "model": scalar(record["model"]),
                "question_id": scalar(record["question_id"]),
            }
        )
    notes = []
    if unread:
        message = (
            f"{count_of(unread, 'score')} of -1 {is_or_are(unread)} no score: the judge's answer could not be read."
        )
        notes.append(Problem("not_assessed", message, source))
    return _found("MT-bench's single scores", rows, source, notes, object_details=("model", "question_id"))


def _judge_and_prompt(given: object) -> tuple[str, str]:
    if isinstance(given, list) and given:
        return str(given[0]), str(given[1]) if len(given) > 1 else ""
    return str(given), ""


def _inspect(log: Mapping[str, Any], source: str) -> Found:
    """Return the scores of samples by scorers; an epoch repeats a sample."""
    rows: list[dict[str, Cell]] = []
    odd: dict[str, None] = {}
    model = log["eval"].get("model")
    for sample in records_in(log["samples"], "samples", source):
        for scorer, one in record_of(sample.get("scores")).items():
            given = one.get("value") if isinstance(one, dict) else one
            head: dict[str, Cell] = {"object": _label(sample.get("id")), "assessor": scorer, "model": scalar(model)}
            values = given if isinstance(given, dict) else {None: given}
            for criterion, value in values.items():
                if isinstance(value, list | dict):
                    odd[scorer] = None
                    continue
                rows.append(
                    {**head, "score": _score(value), "criterion": criterion, "epoch": scalar(sample.get("epoch"))}
                )
    notes = []
    if odd:
        message = f"scores that are lists were left out, by {name_some(list(odd))}."
        notes.append(Problem("left_out", message, source))
    texts = {row["score"] for row in rows if isinstance(row["score"], str)}
    symbols = _INSPECT_SYMBOLS if texts & dict(_INSPECT_SYMBOLS).keys() else ()
    return _found(
        *("a log of inspect_ai", rows, source, notes),
        object_details=("model",) if rows else (),
        left_out=(("epoch", "repeats are kept as such"),),
        symbols=symbols,
    )


def _lm_eval(records: Sequence[Mapping[str, Any]], source: str) -> Found:
    """Return the metrics of samples of lm-evaluation-harness, each metric, and each filter, as an assessor."""
    filters = _several(records, "filter")
    rows: list[dict[str, Cell]] = []
    odd: dict[str, None] = {}
    for record in records:
        for metric in map(str, record["metrics"] if isinstance(record.get("metrics"), list) else ()):
            given = record.get(metric)
            if isinstance(given, list | dict):
                odd[metric] = None
                continue
            who = f"{metric} ({record.get('filter')})" if filters else metric
            rows.append({"object": _label(record["doc_id"]), "assessor": who, "score": _score(given)})
    told = "metrics of lm-evaluation-harness are taken as assessors; the file does not name the model."
    notes = [Problem("metrics_as_assessors", told, source)]
    if odd:
        notes.append(Problem("left_out", f"metrics that are lists were left out: {name_some(list(odd))}.", source))
    return _found("samples of lm-evaluation-harness", rows, source, notes)


def _promptfoo(results: Sequence[Any], source: str) -> Found:
    """Return the scores that assertions gave to answers."""
    records = records_in(results, "results", source)
    prompts = _several(records, "promptIdx")
    rows: list[dict[str, Cell]] = []
    failed = without = 0
    for number, result in enumerate(records):
        graded = record_of(result.get("gradingResult"))
        parts = records_in(graded.get("componentResults"), "componentResults", source)
        provider = result.get("provider")
        provider = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
        prompt = f"prompt {result.get('promptIdx')}" if prompts else None
        label = _label(provider, result.get("testIdx", number), prompt)
        without += not parts
        for part in parts:
            asked = record_of(part.get("assertion"))
            by = asked.get("provider")
            by = by.get("id") if isinstance(by, dict) else by
            is_failed = any(bool(record_of(one.get("metadata")).get("graderError")) for one in (part, result))
            failed += is_failed
            who = _label(asked.get("metric") or asked.get("type") or "assertion", by)
            rows.append({"object": label, "assessor": who, "score": None if is_failed else _score(part.get("score"))})
    notes = left_out_rows(without, "answers without a score of any assertion")
    if failed:
        message = f"{count_of(failed, 'score')} {is_or_are(failed)} no score: the grader failed."
        notes += (Problem("not_assessed", message, source),)
    return _found("results of promptfoo", rows, source, notes)


def _deepeval(data: Mapping[str, Any], source: str) -> Found:
    """Return the scores of metrics; where several models evaluated, these are the judges and metrics are criteria."""
    cases = records_in(data.get("testCases") or data.get("test_results"), "testCases", source)
    named = [scalar(case.get("name")) for case in cases]
    unique = None not in named and len(set(named)) == len(named)
    rows: list[dict[str, Cell]] = []
    failed = 0
    for number, case in enumerate(cases, 1):
        label = str(named[number - 1]) if unique else str(number)
        for one in records_in(case.get("metricsData") or case.get("metrics_data"), "metricsData", source):
            error = bool(one.get("error"))
            failed += error
            model = one.get("evaluationModel") or one.get("evaluation_model")
            rows.append(
                {
                    "object": label,
                    "assessor": None if model is None else str(model),
                    "score": None if error else _score(one.get("score")),
                    "criterion": scalar(one.get("name")),
                }
            )
    notes = []
    if failed:
        message = f"{count_of(failed, 'score')} {is_or_are(failed)} no score: the metric failed."
        notes.append(Problem("not_assessed", message, source))
    if rows and not _several(rows, "assessor"):
        rows = [{"object": row["object"], "assessor": row["criterion"], "score": row["score"]} for row in rows]
        told = "one model evaluated all: its metrics are taken as assessors."
        notes.append(Problem("metrics_as_assessors", told, source))
    return _found("results of deepeval", rows, source, notes)
