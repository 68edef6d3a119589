"""Sheets that people make by hand: layouts, additions, cells as written, languages, damage and questions."""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Sequence

from corpus import (
    CRITERIA,
    FULL,
    PEOPLE,
    PROPOSALS,
    SMALL,
    Case,
    Rows,
    Scores,
    across,
    append,
    asks,
    by_criteria,
    in_groups,
    insert,
    long,
    mailed,
    mean,
    numbers,
    objects_of,
    panel,
    plain,
    read,
    renamed,
    text,
    wide,
    with_criteria,
    with_foot,
    with_means,
    with_titles,
)

LONG, WIDE = long(SMALL), wide(SMALL)
FIVE = panel(PROPOSALS, PEOPLE, 1, 5)
HALVES = {key: score / 2 for key, score in SMALL.items()}
CAKES = panel(("Lemon drizzle", "Carrot cake", "Victoria sponge", "Brownie"), PEOPLE)


def level(row: int, key: tuple[str, ...]) -> str:
    return ("high", "medium", "low")[(row + len(key[0])) % 3]


def step(top: int, low: int = 1) -> object:
    return lambda row, _: low + row % (top - low + 1)


def words(*given: str) -> object:
    return lambda row, _: given[row % len(given)]


def sure(
    name: str, make: object, scores: Scores = SMALL, names: Sequence[str] = ("Proposal", "Reviewer", "Score")
) -> Rows:
    """Return one assessment a row with a column of confidence."""
    return long(scores, names, plain, (name, make))  # type: ignore[arg-type]


# --- layouts -------------------------------------------------------------------------------------

LAYOUTS = [
    *(read(f"long.{suffix}", LONG, SMALL) for suffix in ("csv", "tsv", "xlsx", "ods")),
    *(read(f"wide.{suffix}", WIDE, SMALL) for suffix in ("csv", "tsv", "xlsx", "ods")),
    read("long_semicolons.csv", text(LONG, ";"), SMALL),
    read("across.csv", across(SMALL), SMALL),
    read("across.xlsx", across(SMALL, "Judge"), SMALL),
    read("across_by_mail.csv", across(mailed(SMALL), "E-mail"), mailed(SMALL)),
    read("across_with_a_mean_row.csv", with_foot(across(SMALL)), SMALL),
    read("wide_without_a_corner.csv", with_means(wide(SMALL, "")), SMALL),
    read(
        "wide_two_assessors.csv",
        wide(panel(PROPOSALS, PEOPLE[:2], gaps=False)),
        panel(PROPOSALS, PEOPLE[:2], gaps=False),
    ),
    read("wide_of_words.csv", wide(CAKES, "Cake"), CAKES),
    read("wide_mails.csv", wide(mailed(SMALL)), mailed(SMALL)),
    read("groups.csv", in_groups(SMALL), SMALL),
    read("groups_reviewers.xlsx", in_groups(SMALL, ("Paper", "Reviewer {}", "Reviewer {} score")), SMALL),
    read("groups_judges.csv", in_groups(SMALL, ("Entry", "Judge {} name", "Judge {} points")), SMALL),
    read(
        "sheet_per_assessor.xlsx",
        {
            who: [["Proposal", "Score"], *([one, plain(score)] for (one, by), score in SMALL.items() if by == who)]
            for who in PEOPLE
        },
        SMALL,
    ),
    read(
        "criteria_long.csv",
        [
            ["Proposal", "Reviewer", "Criterion", "Score"],
            *([*key, plain(score)] for key, score in with_criteria(SMALL).items()),
        ],
        with_criteria(SMALL),
    ),
    read("criteria_columns.csv", by_criteria(with_criteria(SMALL)), with_criteria(SMALL)),
    read(
        "criteria_weights.csv",
        [
            ["Proposal", "Reviewer", "Novelty (40 %)", "Clarity (35 %)", "Impact (25 %)"],
            *by_criteria(with_criteria(SMALL))[1:],
        ],
        with_criteria(SMALL),
    ),
    read(
        "criteria_total.xlsx",
        append(by_criteria(with_criteria(SMALL)), "Total", lambda _, row: sum(row[2:])),
        with_criteria(SMALL),
    ),
    read("criteria_grid.csv", by_criteria(with_criteria(SMALL), heading="Please rate [{}]"), with_criteria(SMALL)),
]


def paired(name: str = "{} confidence", scores: Scores = SMALL) -> Rows:
    """Return a wide sheet with a column of confidence beside each score."""
    rows = wide(scores)
    header = [rows[0][0], *(head for who in rows[0][1:] for head in (who, name.format(who)))]
    body = [
        [
            row[0],
            *(
                part
                for at, cell in enumerate(row[1:])
                for part in (cell, None if cell is None else "HML"[(number + at) % 3])
            ),
        ]
        for number, row in enumerate(rows[1:])
    ]
    return [header, *body]


def two_rows(scores: Scores = FULL) -> Rows:
    """Return a wide sheet whose headings are merged over a score and a confidence."""
    header, *body = paired(scores=scores)
    top = [header[0], *(part for who in header[1::2] for part in (who, None))]
    return [top, [None, *["Score", "Confidence"] * (len(header) // 2)], *body]


def merged_criteria(scores: Scores) -> Rows:
    """Return objects down, assessors across, and below each the criteria."""
    people = list(dict.fromkeys(key[1] for key in scores))
    top = ["Project", *(part for who in people for part in (who, *[None] * (len(CRITERIA) - 1)))]
    body = [
        [one, *(plain(scores[one, who, criterion]) for who in people for criterion in CRITERIA)]
        for one in objects_of(scores)
    ]
    return [top, [None, *CRITERIA * len(people)], *body]


DEVIATIONS = insert(wide(FULL), 2, f"{wide(FULL)[0][1]} SD", lambda number, _: 0.5 + number % 3)
for place, person in ((4, 2), (6, 3), (8, 4)):
    DEVIATIONS = insert(DEVIATIONS, place, f"{wide(FULL)[0][person]} SD", lambda number, _: 1.5 - number % 2)
SURE_SHEET = [wide(FULL)[0], *([one, 1, 2 + number % 2, 3, 5] for number, one in enumerate(reversed(PROPOSALS)))]

MERGED = [
    read("confidence_beside.csv", paired(), SMALL, "level"),
    read("confidence_in_brackets.csv", paired("{} (confidence)"), SMALL, "level"),
    read("confidence_colon.xlsx", paired("{}: sure?"), SMALL, "level"),
    read("deviation_beside.csv", DEVIATIONS, FULL, "uncertainty"),
    read("confidence_sheet.xlsx", {"Scores": wide(FULL), "Confidence": SURE_SHEET}, FULL, "level"),
    read("two_heading_rows.xlsx", two_rows(), FULL, "level"),
    read("two_heading_rows.csv", two_rows(), FULL, "level"),
    read("merged_criteria.xlsx", merged_criteria(with_criteria(FULL)), with_criteria(FULL)),
    read("banner_and_two_heading_rows.xlsx", [["Panel B, 2026"], [], *two_rows()], FULL, "level"),
]

# --- what people add -----------------------------------------------------------------------------

RANKED = append(
    with_means(WIDE, "Average score"),
    "Rank",
    lambda _, row: 1 + sum(mean(other[1:5]) > mean(row[1:5]) for other in WIDE[1:]),
)

COUNTED = renamed(FULL, {one: one[1:] for one in PROPOSALS})
NUMBERS = renamed(FULL, assessors={who: str(number) for number, who in enumerate(PEOPLE, 1)})
NAMED = insert(
    long(mailed(SMALL), ("Proposal", "Email", "Score")), 1, "Reviewer", lambda number, row: row[1][: 2 + number % 2]
)
LETTERED = renamed(FULL, assessors={who: f"Judge {who[0]}" for who in PEOPLE})
MARKED = renamed(SMALL, assessors={"Ben": "Mark"})
ORDER = dict(zip(PROPOSALS, (3.0, 1.0, 2.0, 6.0, 5.0, 4.0), strict=True))
RANKING = {key: ORDER[key[0]] if key[1] == "Anna" else score for key, score in FULL.items()}
MEANS = {one: float(round(sum(FULL[one, who] for who in PEOPLE[:3]) / 3)) for one in PROPOSALS}
MIDDLE = {key: MEANS[key[0]] if key[1] == "Dev" else score for key, score in FULL.items()}

ADDED = [
    read("title_and_average.csv", with_means(with_titles(WIDE)), SMALL),
    read(
        "id_title_total.xlsx",
        append(with_titles(wide(SMALL, "Proposal ID")), "Total", lambda _, row: sum(numbers(row))),
        SMALL,
    ),
    read("rank.csv", RANKED, SMALL),
    read(
        "mean_sd_max.csv",
        append(
            append(with_means(WIDE, "Mean"), "Std", lambda _, row: 1.5), "Max", lambda _, row: max(numbers(row[1:5]))
        ),
        SMALL,
    ),
    read("summe.csv", append(wide(SMALL, "Antrag"), "Summe", lambda _, row: sum(numbers(row))), SMALL),
    read("mittelwert_moyenne.csv", with_means(with_means(wide(SMALL, "Antrag"), "Mittelwert"), "Moyenne"), SMALL),
    read("median.csv", append(WIDE, "Median", lambda _, row: sorted(numbers(row))[len(numbers(row)) // 2]), SMALL),
    read("means_below.csv", with_foot(WIDE), SMALL),
    read("means_beside_and_below.xlsx", with_foot(with_means(WIDE), "Mean"), SMALL),
    read("banner.csv", [["Round 2 of the fund"], ["printed 3 May 2026"], [], *LONG], SMALL),
    read("banner_wide.xlsx", [["Round 2 of the fund", None], [None], *with_means(WIDE)], SMALL),
    read("header_in_row_six.ods", [["Jury 2026", None], [None], ["chair", "R. Poe"], [None], [None], *WIDE], SMALL),
    read("blank_rows.csv", "\n\n".join(text([row]).strip() for row in LONG) + "\n", SMALL),
    read("footers.xlsx", [*WIDE, [None], ["* scores as submitted before the meeting"]], SMALL),
    read("signature_below.xlsx", [*LONG, [None], ["Signed:", "________"]], SMALL),
    read("units.csv", [["Proposal", "Reviewer", "Score (0-10)"], *LONG[1:]], SMALL),
    read("wide_units.csv", [["Proposal", *(f"{who} (max 10)" for who in WIDE[0][1:])], *WIDE[1:]], SMALL),
    read("counter_first.csv", insert(WIDE, 0, "No.", lambda number, _: number + 1), SMALL),
    read(
        "counter_and_budget.xlsx",
        append(
            insert(WIDE, 0, "#", lambda number, _: number + 1), "Budget (EUR)", lambda number, _: 1000 * (number + 7)
        ),
        SMALL,
    ),
    read("year_beside.csv", insert(wide(SMALL, "Wine"), 1, "Vintage", lambda number, _: 2015 + number % 4), SMALL),
    read("gpa_beside.csv", insert(wide(SMALL, "Applicant"), 1, "GPA", lambda number, _: 3 + number / 10), SMALL),
    read(
        "start_number.csv", insert(wide(SMALL, "Skater"), 1, "Start No.", lambda number, _: (number * 5) % 6 + 1), SMALL
    ),
    read("pages_beside.csv", insert(wide(SMALL, "Paper"), 1, "Pages", lambda number, _: 8 + 2 * number), SMALL),
    read(
        "decision_beside.csv",
        append(with_means(WIDE), "Decision", lambda number, _: ("fund", "reject")[number % 2]),
        SMALL,
    ),
    read(
        "comments_long.csv",
        long(
            SMALL,
            ("Proposal", "Reviewer", "Score"),
            plain,
            (
                "Comments",
                lambda row, _: f"A remark of some length, number {row}, that says what the reviewer thought of it all.",
            ),
        ),
        SMALL,
    ),
    read(
        "date_long.csv",
        long(SMALL, ("Proposal", "Reviewer", "Score"), plain, ("Date", lambda row, _: f"2026-03-{row + 1:02}")),
        SMALL,
    ),
    read("titles_long.csv", with_titles(LONG), SMALL),
    read(
        "mail_and_name.csv",
        insert(
            long(mailed(SMALL), ("Proposal", "Reviewer e-mail", "Score")),
            1,
            "Reviewer name",
            lambda _, row: row[1].partition("@")[0].title(),
        ),
        mailed(SMALL),
    ),
    read(
        "number_beside_title.csv",
        insert(long(SMALL, ("Paper title", "Reviewer", "Score")), 0, "Paper #", lambda _, row: int(row[0][1:])),
        renamed(SMALL, {one: one[1:] for one in PROPOSALS}),
    ),
    read(
        "objects_are_numbers.csv",
        long(
            renamed(SMALL, {one: str(100 + at) for at, one in enumerate(PROPOSALS)}), ("Candidate", "Examiner", "Mark")
        ),
        renamed(SMALL, {one: str(100 + at) for at, one in enumerate(PROPOSALS)}),
    ),
    read(
        "assessors_are_numbers.csv",
        long(
            renamed(SMALL, assessors={who: str(11 + at) for at, who in enumerate(PEOPLE)}), ("essay", "rater", "score")
        ),
        renamed(SMALL, assessors={who: str(11 + at) for at, who in enumerate(PEOPLE)}),
    ),
    read(
        "filled_at_the_head.xlsx",
        [row if at == 0 or row[0] != LONG[at - 1][0] else [None, *row[1:]] for at, row in enumerate(LONG)],
        SMALL,
    ),
    read("header_again.csv", [*LONG[:9], LONG[0], *LONG[9:]], SMALL),
    read(
        "assessors_named_max_and_rank.csv",
        wide(renamed(SMALL, assessors={"Ben": "Max", "Dev": "Rank"})),
        renamed(SMALL, assessors={"Ben": "Max", "Dev": "Rank"}),
    ),
    read("an_assessor_named_mark.csv", wide(MARKED), MARKED),
    read("an_assessor_who_ranks.csv", wide(RANKING), RANKING),
    read("an_assessor_in_the_middle.csv", wide(MIDDLE), MIDDLE),
    read(
        "judges_by_letters.csv",
        append(wide(LETTERED, "Entry"), "Place", lambda number, _: (number * 5) % 6 + 1),
        LETTERED,
    ),
    read("points_to_reach.xlsx", [WIDE[0], ["Max. points", 10, 10, 10, 10], *WIDE[1:]], SMALL),
    read("weights_of_assessors.csv", [WIDE[0], ["Weight", 0.4, 0.3, 0.2, 0.1], *WIDE[1:]], SMALL),
    read("price_beside.csv", insert(wide(SMALL, "Wine"), 1, "Price", lambda number, _: 9 + 3 * number), SMALL),
    read("objects_are_counted.csv", wide(COUNTED, "Nr"), COUNTED),
    read("headings_are_numbers.csv", wide(NUMBERS, "Candidate"), NUMBERS),
    read("two_names_one_address.csv", NAMED, mailed(SMALL)),
    read("zeros.csv", wide(dict.fromkeys(FULL, 0.0)), dict.fromkeys(FULL, 0.0)),
    read("empty_column.csv", insert(WIDE, 2, "Eve", lambda *_: None), SMALL),
    read("one_object.csv", wide(panel(("P1",), PEOPLE, gaps=False)), panel(("P1",), PEOPLE, gaps=False)),
    read(
        "second_sheet_of_notes.xlsx",
        {"Read me": [["This workbook has the scores of 2026."], ["Ask R. Poe."]], "Scores": WIDE},
        SMALL,
    ),
]

# --- cells as people write them ------------------------------------------------------------------

ACCEPTS = {1: "Reject", 2: "Weak reject", 3: "Borderline", 4: "Weak accept", 5: "Accept"}
GRADES = {1: "D", 2: "C", 3: "B-", 4: "B+", 5: "A"}
IN_WORDS = {key: {1: -2.0, 2: -1.0, 3: 0.0, 4: 1.0, 5: 2.0}[int(score)] for key, score in FIVE.items()}
IN_GRADES = {key: {1: 1.0, 2: 2.0, 3: 3 - 1 / 3, 4: 3 + 1 / 3, 5: 4.0}[int(score)] for key, score in FIVE.items()}
QUALITIES = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}
NOTHING = ("-", "COI", "n/a", "conflict", "abstain")

CELLS = [
    read("weak_accept_3.csv", long(FIVE, cell=lambda score: f"{ACCEPTS[int(score)]} ({int(score)})"), FIVE),
    read("5_marginally.csv", long(FIVE, cell=lambda score: f"{int(score)}: {ACCEPTS[int(score)].lower()}"), FIVE),
    read("2_weak_reject.xlsx", wide(FIVE, "Paper", lambda score: f"{int(score)}. {ACCEPTS[int(score)]}"), FIVE),
    read("percent.csv", long(SMALL, cell=lambda score: f"{int(score)} %"), SMALL),
    read("out_of_ten.csv", wide(SMALL, cell=lambda score: f"{int(score)}/10"), SMALL),
    read("points.csv", long(SMALL, cell=lambda score: f"{int(score)} points"), SMALL),
    read("stars.csv", long(FIVE, cell=lambda score: "★" * int(score)), FIVE),
    read("words.csv", long(FIVE, cell=lambda score: ACCEPTS[int(score)]), IN_WORDS),
    read("words_wide.csv", wide(FIVE, "Paper", lambda score: ACCEPTS[int(score)]), IN_WORDS),
    read("qualities.csv", long(FIVE, ("Entry", "Judge", "Rating"), lambda score: QUALITIES[int(score)]), FIVE),
    read("grades.csv", long(FIVE, ("Student", "Examiner", "Grade"), lambda score: GRADES[int(score)]), IN_GRADES),
    read("grades_wide.xlsx", wide(FIVE, "Student", lambda score: GRADES[int(score)]), IN_GRADES),
    read("decimal_commas.csv", text(long(HALVES, cell=lambda score: str(score).replace(".", ",")), ";"), HALVES),
    read(
        "decimal_commas_wide.csv",
        text(wide(HALVES, "Projekt", lambda score: str(score).replace(".", ",")), ";"),
        HALVES,
    ),
    read(
        "full_width.csv",
        long(SMALL, cell=lambda score: "".join(chr(0xFEE0 + ord(digit)) for digit in str(int(score)))),
        SMALL,
    ),
    read(
        "real_minus.csv",
        long({key: score - 5 for key, score in SMALL.items()}, cell=lambda score: str(int(score)).replace("-", "−")),
        {key: score - 5 for key, score in SMALL.items()},
    ),
    *(read(f"not_assessed_{at}.csv", wide(SMALL, gap=word), SMALL) for at, word in enumerate(NOTHING)),
    read("not_assessed_long.csv", [*LONG, ["P5", "Anna", "COI"], ["P6", "Chloe", "n/a"]], SMALL),
    read("befangen.csv", wide(SMALL, "Antrag", gap="befangen"), SMALL),
    read("numbers_as_text.xlsx", wide(SMALL, cell=lambda score: f" {int(score)}"), SMALL),
    read("uncertain_scores.csv", wide(SMALL, "Target", lambda score: f"{int(score)} ± 0.5"), SMALL, "uncertainty"),
]

# --- how sure ------------------------------------------------------------------------------------

SURE = [
    *(read(f"confidence_of_{top}.csv", sure("Confidence", step(top)), SMALL, "level") for top in range(2, 8)),
    read("confidence_from_0.csv", sure("Confidence", step(4, 0)), SMALL, "level"),
    read("confidence_1_to_5.csv", sure("Confidence (1-5)", step(4, 2)), SMALL, "level"),
    read("confidence_en.csv", sure("How confident are you?", words("very", "somewhat", "not very")), SMALL, "level"),
    read("confidence_words.csv", sure("Confidence", words("very high", "high", "medium", "low")), SMALL, "level"),
    read("confidence_numbered.csv", sure("Confidence", words("5 (expert)", "3 (medium)", "1 (none)")), SMALL, "level"),
    read("expertise.csv", sure("Expertise", words("high", "medium", "low")), SMALL, "level"),
    read("standard_deviations.csv", sure("SD", lambda row, _: 0.5 + row % 3), SMALL, "uncertainty"),
    read("weights.csv", sure("Weight", lambda row, _: 0.5 + row % 3), SMALL, "confidence"),
    read("shares.csv", sure("Confidence", lambda row, _: 0.5 + row % 3 / 10), SMALL, "confidence"),
]

GERMAN = ("Antrag", "Gutachterin", "Gesamtnote")
FRENCH = ("Dossier", "Évaluateur", "Note")
SPANISH = ("Propuesta", "Evaluador", "Puntuación")
ITALIAN = ("Progetto", "Valutatore", "Punteggio")
PORTUGUESE = ("Projeto", "Avaliador", "Pontuação")
DUTCH = ("Aanvraag", "Beoordelaar", "Cijfer")

IN_GERMAN = with_criteria(SMALL, ("Originalität", "Klarheit", "Relevanz"))

LANGUAGES = [
    read("german.csv", sure("Sicherheit", words("hoch", "mittel", "niedrig"), names=GERMAN), SMALL, "level"),
    read(
        "german_sure.csv",
        sure("Wie sicher sind Sie?", words("sehr sicher", "eher sicher", "unsicher"), names=GERMAN),
        SMALL,
        "level",
    ),
    read("french.csv", sure("Confiance", words("élevée", "moyenne", "faible"), names=FRENCH), SMALL, "level"),
    read("spanish.csv", sure("Confianza", words("alta", "media", "baja"), names=SPANISH), SMALL, "level"),
    read("italian.csv", sure("Fiducia", words("alta", "media", "bassa"), names=ITALIAN), SMALL, "level"),
    read("portuguese.csv", sure("Confiança", words("alta", "média", "baixa"), names=PORTUGUESE), SMALL, "level"),
    read("dutch.csv", sure("Zekerheid", words("hoog", "gemiddeld", "laag"), names=DUTCH), SMALL, "level"),
    read("german_wide.csv", text(with_means(wide(HALVES, "Projekt"), "Durchschnitt"), ";").replace(".", ","), HALVES),
    read("french_wide.xlsx", with_means(with_titles(wide(SMALL, "Dossier"), "Titre"), "Moyenne"), SMALL),
    read("spanish_wide.csv", with_means(wide(SMALL, "Candidato"), "Promedio"), SMALL),
    read("italian_wide.csv", with_means(wide(SMALL, "Candidato"), "Media"), SMALL),
    read("portuguese_wide.csv", with_means(wide(SMALL, "Candidatura"), "Média"), SMALL),
    read("dutch_wide.csv", with_means(wide(SMALL, "Voorstel"), "Gemiddelde"), SMALL),
    read("german_across.csv", with_foot(across(SMALL, "Gutachter"), "Mittelwert"), SMALL),
    read("german_criteria.csv", by_criteria(IN_GERMAN, ("Antrag", "Gutachter")), IN_GERMAN),
    read("french_questions.csv", long(SMALL, ("Candidat", "Membre du jury", "Note globale")), SMALL),
]

# --- encodings and damage ------------------------------------------------------------------------

ACCENTED = renamed(SMALL, assessors={"Anna": "Zoë", "Ben": "José"})
TYPED = text(LONG).replace(f"P3,Chloe,{plain(SMALL['P3', 'Chloe'])}\n", "P3,Chloe,seven\n")

ENCODED = [
    read("utf16.csv", text(long(ACCENTED), "\t").encode("utf-16"), ACCENTED),
    read("latin1.csv", text(long(ACCENTED)).encode("latin-1"), ACCENTED),
    read("bom.csv", b"\xef\xbb\xbf" + text(long(ACCENTED)).encode(), ACCENTED),
    read("packed.csv.gz", gzip.compress(text(LONG).encode(), mtime=0), SMALL),
    read("packed_wide.csv.gz", gzip.compress(text(with_means(WIDE)).encode(), mtime=0), SMALL),
    read(
        "aligned.txt",
        "\n".join("".join(f"{'' if cell is None else cell!s:<12}" for cell in row).rstrip() for row in wide(FULL))
        + "\n",
        FULL,
    ),
    read(
        "decomposed.csv",
        unicodedata.normalize("NFD", text(long(ACCENTED))),
        {(one, unicodedata.normalize("NFD", who)): score for (one, who), score in ACCENTED.items()},
    ),
    asks("unclosed_quote.csv", text(LONG).replace("P2,", '"P2,', 1), "quot"),
    asks(
        "score_typo.csv",
        TYPED,
        r"row \d+, column Score: .*'seven'",
        {key: score for key, score in SMALL.items() if key != ("P3", "Chloe")},
        missing=("seven",),
    ),
    asks("missing_label.csv", text(LONG).replace("P4,Ben,", ",Ben,"), "the object is missing"),
    asks("twice.csv", [*LONG, ["P1", "Anna", 9]], "--duplicates", {**SMALL, ("P1", "Anna"): 9.0}, duplicates="last"),
    asks("empty.csv", "", "empty"),
    asks("only_a_header.csv", "Proposal,Reviewer,Score\n", "no row below"),
]

# --- questions -----------------------------------------------------------------------------------

PEERS = panel(PEOPLE, PEOPLE, gaps=False)
PLACES = ["Reviewer 1", "Reviewer 2", "Reviewer 3"]
LEFT = [[one, *[5 + at % 3] * (2 + at % 2), *[None] * (1 - at % 2)] for at, one in enumerate(PROPOSALS)]
NUMBERED = panel(PROPOSALS, PLACES[:2], gaps=False)
RAGGED = {key: score for key, score in NUMBERED.items() if key != ("P3", "Reviewer 2")}
PAIR = long(SMALL, ("Paper", "Reviewer", "Score"), plain, ("Project", lambda row, _: f"X{row % 4}"))
TWO_SCORES = long(SMALL, ("Paper", "Reviewer", "Score"), plain, ("Mark", lambda row, _: row % 7))

TWICE = long(SMALL, ("Paper", "Reviewer", "Score"), plain, ("Score 2", lambda row, _: row % 7))
LAST = renamed(SMALL, assessors={"Chloe": "Mark"})

BY_CRITERIA = panel(PROPOSALS, CRITERIA, gaps=False)
BY_QUESTIONS = panel(PROPOSALS, ("Q1", "Q2", "Q3"), gaps=False)

QUESTIONS = [
    asks("peers.csv", wide(PEERS, ""), "--layout", PEERS, layout="wide"),
    asks(
        "two_rounds.xlsx",
        {"Before": WIDE, "After": wide({key: 11 - score for key, score in SMALL.items()})},
        "--sheet",
        SMALL,
        sheet="Before",
    ),
    asks("criteria_and_no_assessor.csv", wide(BY_CRITERIA), "--assessor", BY_CRITERIA, layout="wide"),
    asks(
        "questions_and_no_assessor.csv",
        append(wide(BY_QUESTIONS, "Student"), "Total", lambda _, row: sum(row[1:])),
        "--assessor",
        BY_QUESTIONS,
        layout="wide",
    ),
    asks("peers_by_name.csv", wide(PEERS, "Name"), "--layout", PEERS, layout="wide"),
    asks(
        "places_and_no_scores.csv",
        long(RANKING, ("Entry", "Judge", "Rank")),
        "no scores",
        RANKING,
        score="Rank",
        best="highest",
    ),
    asks("mark_at_the_end.csv", wide(LAST), "'Mark'.*--layout wide", LAST, layout="wide"),
    asks("score_and_score_2.csv", TWICE, "'Score', 'Score 2'.*--score", SMALL, score="Score"),
    asks("two_things.csv", PAIR, "'Paper', 'Project'.*--object", SMALL, object="Paper"),
    asks("two_scores.csv", TWO_SCORES, "--score", SMALL, score="Score"),
    asks("places.csv", [["Paper", *PLACES], *LEFT], "places and not people.*--layout wide"),
    asks(
        "places_long.csv",
        long(RAGGED, ("Paper", "Reviewer", "Score")),
        "places and not people.*--assessor",
        RAGGED,
        assessor="Reviewer",
    ),
    read("places_long_complete.csv", long(NUMBERED, ("Paper", "Reviewer", "Score")), NUMBERED),
    asks(
        "plants_and_initials.csv",
        wide(panel(("Aster", "Birch", "Clover"), ("jm", "kp"), gaps=False), ""),
        "--layout",
        panel(("Aster", "Birch", "Clover"), ("jm", "kp"), gaps=False),
        layout="wide",
    ),
    asks(
        "plants_and_people.csv",
        wide(panel(("Aster", "Birch", "Clover"), ("Anna", "Ben"), gaps=False), ""),
        "--layout",
        panel(("Aster", "Birch", "Clover"), ("Anna", "Ben"), gaps=False),
        layout="wide",
    ),
    asks("no_header.csv", LONG[1:], "no header"),
    asks("no_header_wide.csv", wide(FULL)[1:], "no header"),
    asks("no_assessor.csv", [["Proposal", "Score"], *([row[0], row[2]] for row in LONG[1:])], "assessor"),
    asks(
        "averages_only.csv", [["Proposal", "Average score"], *([one, mean(row)] for one, *row in WIDE[1:])], "assessor"
    ),
    asks(
        "unknown_levels.csv",
        sure("Confidence", words("blue", "green")),
        "--alias",
        SMALL,
        "level",
        aliases={"blue": "high", "green": "low"},
    ),
    asks(
        "unknown_words.csv",
        long(FIVE, cell=lambda score: "abcde"[int(score) - 1] * 3),
        "score",
        FIVE,
        scores={"aaa": 1, "bbb": 2, "ccc": 3, "ddd": 4, "eee": 5},
        score="Score",
    ),
]

# --- marks of which the lowest may be the best ---------------------------------------------------

TURNED = {key: 6 - score for key, score in FIVE.items()}
THIRDS = {key: min(score + 0.3, 5.0) for key, score in FIVE.items()}
LOW = round(min(THIRDS.values()) + max(THIRDS.values()), 9)
MARKS = {1: "sehr gut", 2: "gut", 3: "befriedigend", 4: "ausreichend", 5: "mangelhaft"}
BOTH = "--best lowest.*--best highest"
NOTED = ("Antrag", "Gutachter", "Note")

DIRECTIONS = [
    asks("note.csv", long(FIVE, NOTED), BOTH, TURNED, best="lowest"),
    asks("note_of_switzerland.csv", long(FIVE, NOTED), BOTH, FIVE, best="highest"),
    asks(
        "note_thirds.csv",
        text(long(THIRDS, NOTED), ";").replace(".", ","),
        BOTH,
        {key: LOW - score for key, score in THIRDS.items()},
        best="lowest",
    ),
    asks("gesamtnote.xlsx", long(FIVE, GERMAN), BOTH, TURNED, best="lowest"),
    asks("note_with_scale.csv", long(FIVE, ("Antrag", "Gutachter", "Note (1-6)")), BOTH, TURNED, best="lowest"),
    asks(
        "legend_in_the_heading.csv",
        long(FIVE, ("Projekt", "Juror", "Bewertung (1 = sehr gut, 5 = mangelhaft)")),
        BOTH,
        TURNED,
        best="lowest",
    ),
    asks("one_is_best.csv", long(FIVE, ("Paper", "Reviewer", "Score (1 = best)")), BOTH, TURNED, best="lowest"),
    asks("lower_is_better.csv", long(FIVE, ("Wine", "Judge", "Score (lower is better)")), BOTH, TURNED, best="lowest"),
    asks(
        "legend_in_the_cells.csv",
        long(FIVE, ("Projekt", "Juror", "Bewertung"), lambda score: f"{int(score)} ({MARKS[int(score)]})"),
        BOTH,
        TURNED,
        best="lowest",
    ),
    asks(
        "legend_in_the_cells_of_a_wide_sheet.csv",
        wide(FIVE, "Projekt", lambda score: f"{int(score)} = {MARKS[int(score)]}"),
        BOTH,
        TURNED,
        best="lowest",
    ),
    asks(
        "place_of_wines.csv",
        long(FIVE, ("Wine", "Judge", "Place")),
        "--best lowest",
        TURNED,
        score="Place",
        best="lowest",
    ),
    asks("rang.csv", long(FIVE, ("Wein", "Juror", "Rang")), "--best lowest", TURNED, score="Rang", best="lowest"),
    read("note_of_ten.csv", long(SMALL, NOTED), SMALL),
    read("note_of_twenty.csv", long(FIVE, ("Dossier", "Évaluateur", "Note (0-20)")), FIVE),
    read("note_sur_20.csv", long(FIVE, ("Dossier", "Évaluateur", "Note sur 20")), FIVE),
    read("punkte_of_five.csv", long(FIVE, ("Antrag", "Gutachter", "Punkte")), FIVE),
    read("five_is_best.csv", long(FIVE, ("Paper", "Reviewer", "Score (1 = poor, 5 = excellent)")), FIVE),
]

SHEETS: list[Case] = [*LAYOUTS, *MERGED, *ADDED, *CELLS, *SURE, *LANGUAGES, *ENCODED, *QUESTIONS, *DIRECTIONS]
