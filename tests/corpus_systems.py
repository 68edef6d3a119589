"""Exports of other systems, JSON, and language models as judges: written from the formats as they are documented."""

from __future__ import annotations

import json
from typing import Any

from corpus import (
    CRITERIA,
    SMALL,
    Case,
    Rows,
    Scores,
    asks,
    by_criteria,
    long,
    mail,
    mailed,
    objects_of,
    plain,
    read,
    renamed,
    text,
    wide,
    with_criteria,
)

NUMBERS = renamed(SMALL, {one: one[1:] for one in objects_of(SMALL)})
PAPERS = mailed(NUMBERS)
SIGNED = renamed(SMALL, assessors={name: f"~{name}_Abel1" for name in ("Anna", "Ben", "Chloe", "Dev")})
TITLES = {one: f"On knots, part {one}" for one in objects_of(NUMBERS)}


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


# --- conference systems --------------------------------------------------------------------------


def hotcrp(fields: tuple[str, ...] = ("OveMer", "RevCon", "Nov"), anonymous: bool = False) -> Rows:
    head = ["paper", "title", "review", *([] if anonymous else ["reviewername", "email"]), *fields]
    body = [
        [
            paper,
            TITLES[paper],
            f"{paper}{'ABCDEF'[row % 6]}",
            *([] if anonymous else [who.partition("@")[0], who]),
            plain(score),
            1 + row % 4,
            1 + row % 3,
        ]
        for row, ((paper, who), score) in enumerate(PAPERS.items())
    ]
    return [head, *body]


def bulk() -> Rows:
    head = ["pid", "review", "email", "round", "submitted_at", "vtag", "status", "Overall merit", "Comments"]
    body = [
        [
            paper,
            f"{paper}A",
            who,
            "R1",
            1700000000,
            9,
            "complete",
            plain(score),
            "A remark that nobody will score, for it is prose.",
        ]
        for (paper, who), score in PAPERS.items()
    ]
    return [head, *body, ["1", "1Z", "zoe@example.org", "R1", None, 9, "draft", 1, None]]


def hotcrp_json() -> str:
    reviews = [
        {
            "object": "review",
            "pid": int(paper),
            "rid": row,
            "status": "complete",
            "reviewer_email": who,
            "OveMer": score,
        }
        for row, ((paper, who), score) in enumerate(PAPERS.items())
    ]
    return json.dumps({"ok": True, "reviews": reviews})


def notes(api: int, signed: Scores = SIGNED) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row, ((forum, who), score) in enumerate(signed.items()):
        content: dict[str, Any] = {
            "rating": f"{int(score)}: so so" if api == 1 else int(score),
            "confidence": 1 + row % 5,
        }
        content["summary"] = "It is about knots, and says at some length how to tie and untie them."
        if api == 2:
            content = {name: {"value": value} for name, value in content.items()}
        invitation = f"Knots.cc/2026/Conference/{forum}/-/Official_Review"
        note = {"id": f"n{row}", "forum": forum, "replyto": forum, "signatures": [who], "content": content}
        found.append(note | ({"invitation": invitation} if api == 1 else {"invitations": [invitation]}))
    return found


HIDDEN: Scores = {
    (one, f"Knots.cc/2026/{one}/Reviewer_x{row:02}Q"): score for row, ((one, _), score) in enumerate(SMALL.items())
}
CONSOLE: Rows = [
    ["number", "forum", "title", "num reviews", "min rating", "max rating", "average rating"],
    *([at, one, f"On knots {at}", 3, 2, 8, 5.3] for at, one in enumerate(objects_of(SMALL), 1)),
]


def easychair() -> Rows:
    head = ["#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"]
    head += [
        "reviewer first name",
        "reviewer last name",
        "reviewer email",
        "reviewer person #",
        "date",
        "time",
        "attachment?",
    ]
    body = [
        [
            row,
            paper,
            ord(who[0]),
            f"{who} Abel",
            1,
            1,
            "Fine.",
            f"Overall evaluation: {int(score)}\nReviewer's confidence: {1 + row % 5}",
            plain(score),
            None,
            None,
            None,
            None,
            "2026-11-01",
            "10:00",
            "no",
        ]
        for row, ((paper, who), score) in enumerate(NUMBERS.items())
    ]
    return [head, *body]


def cmt() -> Rows:
    head = [
        "Paper ID",
        "Paper Title",
        "Reviewer Name",
        "Reviewer Email",
        "Q1 (Overall rating)",
        "Q1 (Overall rating - Value)",
    ]
    body = [
        [paper, TITLES[paper], who.partition("@")[0], who, "Weak accept", plain(score), ("Very", "Somewhat")[row % 2]]
        for row, ((paper, who), score) in enumerate(PAPERS.items())
    ]
    return [[*head, "Q2 (How confident are you?)"], *body]


def xml_workbook(rows: Rows) -> str:
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    cells = [[f'<Cell><Data ss:Type="String">{cell}</Data></Cell>' for cell in row] for row in rows]
    body = "".join(f"<Row>{''.join(row)}</Row>" for row in cells)
    sheet = f'<Worksheet ss:Name="Main"><Table>{body}</Table></Worksheet>'
    return f'<?xml version="1.0"?>\n<Workbook xmlns="{space}" xmlns:ss="{space}">{sheet}</Workbook>'


def html_table(rows: Rows) -> str:
    cells = [[f"<td>{'' if cell is None else cell}</td>" for cell in row] for row in rows]
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in cells)
    return f"<html><head><meta charset='utf-8'></head><body><table border=1>{body}</table><br></body></html>"


CONFERENCES = [
    read("hotcrp_scores.csv", hotcrp(), PAPERS, "level"),
    read("hotcrp_reviews.csv", hotcrp(("Overall merit", "Reviewer confidence", "Novelty")), PAPERS, "level"),
    read("hotcrp_bulk.csv", bulk(), PAPERS),
    read("hotcrp.json", hotcrp_json(), PAPERS),
    asks("hotcrp_anonymous.csv", hotcrp(anonymous=True), "column email"),
    asks(
        "hotcrp_preferences.csv",
        "paper,title,given_name,family_name,email,conflict,preference\n1,A,Ana,Abel,a@x.org,,10\n",
        "without scores",
    ),
    read("openreview_1.json", json.dumps({"notes": notes(1), "count": 24}), SIGNED, "level"),
    read("openreview_2.json", json.dumps({"notes": notes(2), "count": 24}), SIGNED, "level"),
    read("openreview_2.jsonl", lines(notes(2)), SIGNED, "level"),
    asks("openreview_console.csv", CONSOLE, "cannot|nothing can be calibrated"),
    asks("openreview_pseudonyms.json", json.dumps(notes(2, HIDDEN)), "pseudonyms"),
    asks(
        "pseudonyms.csv",
        [
            ["paper", "reviewer", "rating"],
            *([one, who.rpartition("/")[2], score] for (one, who), score in HIDDEN.items()),
        ],
        "pseudonyms",
    ),
    read(
        "easychair_review.csv",
        easychair(),
        renamed(NUMBERS, assessors={who: f"{who} Abel" for who in ("Anna", "Ben", "Chloe", "Dev")}),
        "level",
    ),
    asks("easychair_bids.csv", "member #,member name,submission #,bid\n3,Ana,7,yes\n", "review.csv"),
    read("cmt.csv", cmt(), PAPERS, "level"),
    read("cmt.xlsx", [["Main track"], [None], *cmt()], PAPERS, "level"),
    read("cmt.xls", xml_workbook([["Main track"], [], *cmt()]), PAPERS, "level"),
    asks("cmt_cut_off.xls", xml_workbook(cmt())[:-60], "cut off"),
    read("table.xls", html_table(wide(SMALL)), SMALL),
]

# --- classes, forms and programmes ----------------------------------------------------------------

GRADES: Scores = {(one, str(40 + ord(who[0]))): score for (one, who), score in NUMBERS.items()}
MOODLE = {
    "report": {
        "grades": [
            {
                "userid": 1,
                "submissionid": int(one),
                "submissiontitle": TITLES[one],
                "reviewerof": [{}],
                "reviewedby": [
                    {"userid": int(who), "submissionid": int(one), "grade": score, "weight": 1, "gradinggrade": 80}
                    for (other, who), score in GRADES.items()
                    if other == one
                ],
            }
            for one in objects_of(GRADES)
        ]
    }
}
WORKSHOP = "".join(
    f'<submission id="{one}"><title>{TITLES[one]}</title><assessments>'
    + "".join(
        f"<assessment><reviewerid>{who}</reviewerid><weight>1</weight><grade>{score:.5f}</grade></assessment>"
        for (other, who), score in GRADES.items()
        if other == one
    )
    + "</assessments></submission>"
    for one in objects_of(GRADES)
)


def at(row: int) -> str:
    return f"2026/11/02 {1 + row // 6}:{row % 6}0:00 PM GMT+1"


def google() -> Rows:
    head = [
        "Timestamp",
        "Email Address",
        "Which proposal are you reviewing?",
        "Overall score (1-10)",
        "How sure are you?",
        "Comments",
    ]
    body = [
        [at(row), who, one, plain(score), ("very", "somewhat", "not very")[row % 3], None]
        for row, ((one, who), score) in enumerate(mailed(SMALL).items())
    ]
    return [head, *body]


def grid() -> Rows:
    objects = objects_of(SMALL)
    people = list(dict.fromkeys(who for _, who in SMALL))
    body = [
        [at(row), mail(who), *(None if (one, who) not in SMALL else plain(SMALL[one, who]) for one in objects)]
        for row, who in enumerate(people)
    ]
    return [["Timestamp", "Email Address", *(f"Please score each entry [{one}]" for one in objects)], *body]


def microsoft() -> Rows:
    head = ["ID", "Start time", "Completion time", "Email", "Name", "Candidate", "Overall rating"]
    body = [
        [
            row + 1,
            f"2026-11-02 09:{row:02}:00",
            f"2026-11-02 10:{row:02}:00",
            who,
            who.partition("@")[0].title(),
            one,
            plain(score),
        ]
        for row, ((one, who), score) in enumerate(mailed(SMALL).items())
    ]
    return [head, *body]


RESENT = [*google(), ["2026/11/02 11:00:00 PM GMT+1", mail("Anna"), "P1", 9, "very", "again"]]
SURVEY: Rows = [
    ["Respondent ID", "Start Date", "Please enter your name:", "Please score each finalist", *[None] * 5],
    [None, None, "Open-Ended Response", *objects_of(SMALL)],
    *(
        [
            900 + row,
            "11/02/2026",
            who,
            *(None if (one, who) not in SMALL else plain(SMALL[one, who]) for one in objects_of(SMALL)),
        ]
        for row, who in enumerate(dict.fromkeys(who for _, who in SMALL))
    ),
]
CATEGORIES = with_criteria(mailed(SMALL))
INDICO = {
    "version": 1,
    "questions": [{"id": number, "title": name, "no_score": False} for number, name in enumerate(CRITERIA)],
    "abstracts": [
        {
            "id": 40 + int(one),
            "friendly_id": int(one),
            "title": TITLES[one],
            "reviews": [
                {
                    "user": {"id": 7, "email": who, "full_name": who},
                    "ratings": [
                        {"question": number, "value": with_criteria(PAPERS)[one, who, name]}
                        for number, name in enumerate(CRITERIA)
                    ],
                }
                for other, who in PAPERS
                if other == one
            ],
        }
        for one in objects_of(PAPERS)
    ],
}
ESSAYS = {one: number for number, one in enumerate(objects_of(SMALL), 1)}
RATERS = {who: number for number, who in enumerate(("Anna", "Ben", "Chloe", "Dev"), 1)}
FACETS = "\n".join(
    [
        *("Title = Essays", "Facets = 2", "Models = ?,?,R10", "Labels =", "1,Essays"),
        *(f"{number}={one}" for one, number in ESSAYS.items()),
        *("*", "2,Raters", *(f"{number}={who}" for who, number in RATERS.items()), "*", "Data ="),
        *(f"{ESSAYS[one]},{RATERS[who]},{int(score)}" for (one, who), score in SMALL.items()),
        "",
    ]
)

FORMS = [
    read("moodle.json", json.dumps(MOODLE), GRADES),
    read(
        "workshop.xml",
        f'<activity id="1"><workshop id="3"><name>E</name><submissions>{WORKSHOP}</submissions></workshop></activity>',
        GRADES,
    ),
    asks(
        "moodle_gradebook.csv",
        "First name,Workshop: Essays (submission),Workshop: Essays (assessment)\nAna,70,18\nBo,60,12\n",
        "single assessments are",
    ),
    read("google.csv", google(), mailed(SMALL), "level"),
    read("google_resent.csv", RESENT, {**mailed(SMALL), ("P1", mail("Anna")): 9.0}, "level"),
    read("google_grid.csv", grid(), mailed(SMALL)),
    read(
        "google_across.csv",
        [["Timestamp", "Email Address", "Elm", "Fir"], [at(0), "ana@x.org", 4, 5], [at(1), "ben@x.org", 3, 1]],
        {("Elm", "ana@x.org"): 4, ("Fir", "ana@x.org"): 5, ("Elm", "ben@x.org"): 3, ("Fir", "ben@x.org"): 1},
    ),
    read("microsoft.xlsx", microsoft(), mailed(SMALL)),
    asks(
        "microsoft_anonymous.xlsx",
        [
            [*row[:3], "anonymous" if number else row[3], None if number else row[4], *row[5:]]
            for number, row in enumerate(microsoft())
        ],
        "anonymous",
    ),
    read("survey.csv", SURVEY, SMALL),
    read(
        "pretalx.csv",
        [
            ["Proposal ID", "Proposal title", "Reviewer name", "Reviewer email", "Score", "Text"],
            *(
                [f"ABC{one}", TITLES[one], who.partition("@")[0], who, score, "Nice"]
                for (one, who), score in PAPERS.items()
            ),
        ],
        renamed(PAPERS, {one: f"ABC{one}" for one in objects_of(PAPERS)}),
    ),
    read("pretalx_categories.csv", by_criteria(CATEGORIES, ("Proposal ID", "Reviewer email")), CATEGORIES),
    read("indico.json", json.dumps(INDICO), with_criteria(PAPERS)),
    asks("indico.csv", "Id,Title,Submitted for tracks,Accepted track,Score\n1,A,T,T,2\n2,B,T,T,1\n", "JSON"),
    read("facets.txt", FACETS, SMALL),
]

# --- records -------------------------------------------------------------------------------------

RECORDS = [{"object": one, "assessor": who, "score": score} for (one, who), score in SMALL.items()]
JUDGED = [
    {"item": one, "judge": who, "score": score, "confidence": 0.5 + row / 100}
    for row, ((one, who), score) in enumerate(SMALL.items())
]
MODELS: Scores = {
    (f"{model} / {prompt}", who): float(1 + (3 * m + 5 * p + 2 * w) % 10)
    for m, model in enumerate(("m1", "m2"))
    for p, prompt in enumerate(("q1", "q2", "q3"))
    for w, who in enumerate(("j1", "j2"))
}
BENCH = [
    {
        "question_id": 81 + int(key[0][-1]),
        "model": key[0].partition(" / ")[0],
        "judge": [key[1], "single-v1"],
        "score": score,
        "turn": 1,
        "tstamp": 1.0,
    }
    for key, score in MODELS.items()
]
BENCHED: Scores = {(f"{one[:2]} / {81 + int(one[-1])}", who): score for (one, who), score in MODELS.items()}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"model": "m1"},
    "samples": [
        {
            "id": one,
            "epoch": 1,
            "scores": {who: {"value": score} for (other, who), score in SMALL.items() if other == one},
        }
        for one in objects_of(SMALL)
    ],
}
HARNESS = [
    {"doc_id": number, "doc_hash": "h", "filter": "none", "metrics": ["acc", "f1"], "acc": number % 2, "f1": number / 4}
    for number in range(5)
]
HARNESSED: Scores = {
    (str(number), name): score
    for number in range(5)
    for name, score in (("acc", float(number % 2)), ("f1", number / 4))
}

JSON = [
    read("records.json", json.dumps(RECORDS), SMALL),
    read("records.jsonl", lines(RECORDS), SMALL),
    read("records_inside.json", json.dumps({"version": 1, "assessments": RECORDS}), SMALL),
    read(
        "nested.json",
        json.dumps(
            {
                "papers": [
                    {
                        "id": one,
                        "reviews": [
                            {"reviewer": who, "score": score} for (other, who), score in SMALL.items() if other == one
                        ],
                    }
                    for one in objects_of(SMALL)
                ]
            }
        ),
        SMALL,
    ),
    read(
        "by_object.json",
        json.dumps(
            {one: {who: score for (other, who), score in SMALL.items() if other == one} for one in objects_of(SMALL)}
        ),
        SMALL,
    ),
    read(
        "by_object_inside.json",
        json.dumps(
            {
                "title": "Fair 2026",
                "scores": {
                    one: {who: score for (other, who), score in SMALL.items() if other == one}
                    for one in objects_of(SMALL)
                },
            }
        ),
        SMALL,
    ),
    read(
        "columns.json",
        json.dumps(
            {"object": [key[0] for key in SMALL], "assessor": [key[1] for key in SMALL], "score": list(SMALL.values())}
        ),
        SMALL,
    ),
    read("rows.json", json.dumps(long(SMALL)), SMALL),
    read("judges.jsonl", lines(JUDGED), SMALL, "confidence"),
    read(
        "judges_models.jsonl",
        lines(
            [
                {"model": one[:2], "prompt_id": one[-2:], "judge": who, "score": score}
                for (one, who), score in MODELS.items()
            ]
        ),
        MODELS,
    ),
    read("mt_bench.jsonl", lines(BENCH), BENCHED),
    read("inspect.json", json.dumps(INSPECT), SMALL),
    read("harness.jsonl", lines(HARNESS), HARNESSED),
    asks(
        "comparisons.jsonl",
        lines([{"question_id": 1, "model_1": "a", "model_2": "b", "winner": "a"}] * 3),
        "comparisons",
    ),
    asks("truncated.json", json.dumps(RECORDS)[:-30], "cut off"),
    asks("bad_line.jsonl", lines(RECORDS).replace('"score": ', '"score" ', 1), "Line 1"),
    read("pasted.csv", text(long(SMALL), "|"), SMALL),
]

SYSTEMS: list[Case] = [*CONFERENCES, *FORMS, *JSON]
