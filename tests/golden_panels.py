"""Small panels of our own in every format, sound and unsound: made by arithmetic, and so the same anywhere."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import openpyxl
import polars as pl

Row = Sequence[Any]

LEVELS = ("high", "Medium", "l", "H", "low")
ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"' for prefix in ("office", "table", "text")
)


def readings(n_objects: int = 8, n_assessors: int = 5) -> list[tuple[int, int, float, int]]:
    """Return who read what, with a score and a whole number that looks random: two or three readings an object."""
    rows = []
    for o in range(n_objects):
        for a in range(n_assessors):
            odd = (7 * o + 5 * a + 3 * o * a + o * o * a) % 11
            if (2 * o + 3 * a) % 5 < 2 or (o % 3 == 0 and a == (o // 3) % n_assessors):
                rows.append((o, a, 40.0 + 5 * o - 4 * (a % 3) + 1.5 * odd, odd))
    return rows


def long_rows(kind: str) -> list[list[Any]]:
    """Return a table with one assessment a row, with confidences of one kind."""
    further: list[tuple[str, Callable[[int], Any]]] = {
        "none": [],
        "level": [("level", lambda odd: LEVELS[odd % 5])],
        "uncertainty": [("sd", lambda odd: 2.0 + odd % 4)],
        "confidence": [("weight", lambda odd: (1 + odd % 3) / 4)],
    }[kind]
    rows: list[list[Any]] = [["object", "assessor", "score", *(name for name, _ in further)]]
    for o, a, score, odd in readings():
        rows.append([f"P{o + 1}", "ABCDE"[a], score, *(make(odd) for _, make in further)])
    return rows


def rich_rows() -> list[list[Any]]:
    """Return a table with levels, a number and a category besides, and one score that is far off."""
    rows: list[list[Any]] = [["object", "assessor", "score", "level", "order", "day"]]
    for o in range(8):
        for a in range(4):
            odd = (7 * o + 5 * a + 3 * o * a) % 11
            score = 20 + 5 * o + 3 * a + odd if (o, a) != (4, 2) else 95
            level = ("high", "medium", "low")[odd % 3]
            day = ("Monday", "Tuesday", "Friday")[(o * o + 2 * a + o * a) % 3]
            rows.append([f"o{o}", f"a{a}", score, level, (3 * o + a * a) % 8, day])
    return rows


def criteria_rows(*, whole: bool) -> list[list[Any]]:
    """Return a table with two criteria; where it is not whole, some scores are missing."""
    rows: list[list[Any]] = [["object", "assessor", "criterion", "score"]]
    for o in range(8):
        for a in range(4):
            odd = (7 * o + 5 * a + 3 * o * a) % 11
            rows.append([f"o{o}", f"a{a}", "merit", 5 * o + 3 * a + odd])
            if whole or (o, a) not in ((2, 1), (5, 3)):
                rows.append([f"o{o}", f"a{a}", "style", 4 * o - a + odd * odd % 7])
    return rows


def text_of(rows: Iterable[Row], delimiter: str = ",", decimal: str = ".") -> str:
    """Return rows as delimited text."""

    def cell(value: Any) -> str:
        if value is None:
            return ""
        text = str(value)
        return text.replace(".", decimal) if isinstance(value, float) else text

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in rows)


def write_text(name: str, rows: Iterable[Row] | str, delimiter: str = ",", decimal: str = ".") -> None:
    """Write a text file from rows or as it is."""
    text = rows if isinstance(rows, str) else text_of(rows, delimiter, decimal)
    Path(name).write_bytes(text.encode())


def write_xlsx(name: str, sheets: dict[str, Iterable[Row]]) -> None:
    """Write a workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(name)


def ods_cell(value: Any) -> str:
    """Return the markup of a cell."""
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        word = str(value).lower()
        text = f"<text:p>{word.upper()}</text:p>"
        return f'<table:table-cell office:value-type="boolean" office:boolean-value="{word}">{text}</table:table-cell>'
    if isinstance(value, int | float):
        text = f"<text:p>{value}</text:p>"
        return f'<table:table-cell office:value-type="float" office:value="{value!r}">{text}</table:table-cell>'
    text = escape(value).replace(" ", "<text:s/>")  # else blanks at the ends would count for nothing
    return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


def write_ods(name: str, rows: Iterable[Row]) -> None:
    """Write an OpenDocument sheet."""
    body = "".join(f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in rows)
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        "content.xml": f"<office:document-content {ODF}><office:body><office:spreadsheet>"
        f'<table:table table:name="Scores">{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>",
    }
    write_zip(name, parts)


def write_zip(name: str, parts: dict[str, str]) -> None:
    """Write an archive."""
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows, the first of which are names, as a frame."""
    header, *body = rows
    return pl.DataFrame({name: list(column) for name, column in zip(header, zip(*body, strict=True), strict=True)})


def write_sound() -> None:
    """Write the panels that every command can read, to the working directory."""
    none = long_rows("none")
    write_text("plain.csv", none)
    write_text("levels.csv", long_rows("level"))
    write_text("uncertain.csv", long_rows("uncertainty"))
    write_text("weights.csv", long_rows("confidence"))
    write_text("decimal.csv", long_rows("uncertainty"), ";", ",")
    write_text("tabs.tsv", long_rows("level"), "\t")
    write_xlsx("book.xlsx", {"Notes": [], "Scores": long_rows("level"), "More": [["x"]]})
    write_ods("book.ods", long_rows("uncertainty"))
    frame_of(long_rows("confidence")).write_parquet("table.parquet")
    Path("folder").mkdir()
    frame_of(none[:10]).write_parquet("folder/a.parquet")
    frame_of([none[0], *none[10:]]).write_parquet("folder/b.parquet")
    wide: dict[str, dict[str, float]] = {}
    for label, who, score in none[1:]:
        wide.setdefault(label, {})[who] = score
    write_text("wide.csv", [["Proposal", *"ABCDE"], *([o, *map(by.get, "ABCDE")] for o, by in wide.items())])
    write_text("apart.csv", "object,assessor,score\nx,A,1\ny,A,2\nx,B,2\ny,B,4\nz,C,3\nz,D,5\nu,C,4\nu,D,7\n")
    write_text("pieces.csv", "object,assessor,score\nx,A,1\ny,B,2\n")
    write_text("chain.csv", "object,assessor,score\nx,A,1\nx,B,2\ny,B,3\ny,C,4.5\nz,C,4\nz,A,2\nw,C,9\n")
    write_text("thread.csv", "object,assessor,score\nx,A,1\nx,B,2\ny,B,3\ny,C,4\nz,C,4\n")
    write_text("single.csv", "object,assessor,score\nx,A,1\ny,A,2\nz,A,4\n")
    write_text("once.csv", "object,assessor,score\nx,A,1\ny,B,2\n")
    twice = [["B", "P1", 43.5], ["E", "P7", 71.0]]
    write_text("twice.csv", [*none, *([o, a, s] for a, o, s in twice if [o, a] in [r[:2] for r in none[1:]])])
    write_text("again.csv", [*none, [*none[1][:2], 58.0], [*none[4][:2], 47.0]])
    write_text("tied.csv", "object,assessor,score\n" + "".join(f"{o},{a},5\n" for o in "xyz" for a in "AB"))
    write_text(
        "perfect.csv", [["object", "assessor", "score"], *([o, a, o + 2 * a] for o in range(4) for a in range(3))]
    )
    write_text("rich.csv", rich_rows())
    reviews = [(f"o{at // 3}", f"r{at}", str(60 + 7 * (at // 3) % 23 + at * at % 5)) for at in range(18)]
    write_text("reviews.csv", [("object", "assessor", "score"), *reviews])
    days = [
        (f"o{at % 6}", f"a{at % 5}", str(50 + 3 * at * at % 29), "ace"[(at % 5 > 0) + (at % 7 > 3 and at % 5 > 0)])
        for at in range(24)
    ]
    write_text("days.csv", [("object", "assessor", "score", "day"), *days])
    write_text("criteria.csv", criteria_rows(whole=True))
    write_text("gaps.csv", criteria_rows(whole=False))
    write_text("steps.csv", [r if i == 0 else [*r[:2], round(r[2] / 10) * 10] for i, r in enumerate(none)])
    write_text("listed.csv", "object,topics,title\na,x;y,First\nb,y,Second\nc,z,Third\nd,x,Fourth\n")
    write_text("known.csv", "assessor,a,b,c,d\nA1,1,0,1,0.5\nA2,0,1,1,0.5\nA3,1,1,0,1\n")
    write_text(
        "mail.csv", "assessor,email,max_load,topics\nu,u@x.example,3,x\nv,v@x.example,3,y;z\nw,w@x.example,3,z\n"
    )
    write_text("conflicts.csv", "assessor,object\nA,P2\nB,P5\n")
    write_text("all_but.csv", "assessor,object\nA1,O2\nA2,O3\n")
    write_text("one_fixed.csv", "assessor,object\nA1,O1\n")
    write_text("noted.csv", NOTED)
    Path("western.csv").write_bytes("object,assessor,score\nZoë,A,1\nZoë,B,2\n".encode("latin-1"))
    write_text("mixed_day.csv", "object,assessor,score,day\nx,A,1,1\nx,B,2,2\ny,A,2,Mon\ny,B,3,mon\n")
    write_text("thousands.csv", "object;assessor;score\nx;A;1,250\nx;B;2,500\n")
    write_text("thousands_points.csv", "object;assessor;score\nx;A;1.250\nx;B;2.500\n")
    write_text(
        "twice_criteria.csv",
        "object,assessor,score,criterion,day\nx,A,1,merit,1\nx,A,2,merit,3\nx,A,2,style,3\ny,A,2,merit,3\n",
    )
    flat: list[list[Any]] = [[f"o{o}", f"a{a}", (7 * o + 5 * a + o * a * a) % 11] for o in range(9) for a in range(5)]
    write_text("flat.csv", [none[0], *flat])
    alike: list[Row] = [["object", "assessor", "criterion", "score"]]
    for o, a, odd in flat:
        alike += [[o, a, "merit", odd + len(a)], [o, a, "style", 2 * odd + (odd + len(o)) % 2]]
    write_text("alike.csv", alike)
    few = "".join(f"{o},{a},merit,{s}\n{o},{a},style,{s % 3}\n" for o, a, s in flat if o < "o3" and a < "a2")
    write_text("few.csv", f"object,assessor,criterion,score\n{few}o0,a2,merit,5\no1,a2,style,4\n")
    crowded = [[f"o{n % 20}", f"a{(n + n // 20) % 55}", 50 + (7 * n + n * n) % 23] for n in range(220)]
    write_text("crowded.csv", [none[0], *crowded])
    for name, kind in (("uncertain_folder", "uncertainty"), ("mixed_folder", "level")):
        rows = long_rows(kind)
        Path(name).mkdir()
        frame_of(rows[:9]).write_parquet(f"{name}/a.parquet")
        frame_of([rows[0], *rows[9:]]).write_parquet(f"{name}/b.parquet")
    write_text(
        "columns.csv",
        "Who,What,How good,How sure\nA,x,1,hoch\nA,y,3,tief\nB,x,2,hoch\nB,y,NA,hoch\nC,x,4,tief\nC,y,5,tief\n",
    )


NOTED = (
    "object,assessor,score,score\nP 1,Ann,1,\np1,Ann,2,\nP 1,ann,3,\np1,Bo,2,\nTotal,Bo,4,\n\nP 1,Bo,,\nQ,Cy,,\n"
    "Total,Ann,5,\np1,ann,4,\n"
)
"""A panel with everything that is worth a note in it."""


def write_unsound() -> None:
    """Write files that are refused, to the working directory."""
    head = "object,assessor,score\n"
    write_text("empty.csv", "")
    write_text("header.csv", head)
    write_text("no_score.csv", head + "x,A,\ny,B,\n")
    write_text("no_column.csv", "thing,who,what\nx,y,z\n")
    write_text("two_columns.csv", "object,paper,assessor,score\nx,y,A,1\nx,z,B,2\nw,y,A,3\n")
    write_text("two_forms.csv", "object,assessor,score,level,sd\nx,A,1,high,2\n")
    write_text("bad_score.csv", head + "x,A,good\ny,A,inf\n,B,3\nz,,4\n")
    write_text("bad_level.csv", "object,assessor,score,level\nx,A,1,high\ny,A,2,huge\nz,A,3,\n")
    write_text("bad_sd.csv", "object,assessor,score,sd\nx,A,1,-1\ny,A,2,high\nz,A,3,1e-200\nw,A,3,0\n")
    write_text("bad_weight.csv", "object,assessor,score,weight\nx,A,1,0\ny,A,2,x\nz,A,3,1e-320\n")
    write_text("mixed.csv", "object,assessor,score,confidence\nx,A,1,high\ny,A,2,3\n")
    write_text("long.csv", head + "x,A,1,2\n")
    write_text("titled.csv", "My scores\nobject,assessor,score\nx,A,odd\n")
    write_text("unclosed.csv", head + 'x,A,1\ny,"B,2\n')
    write_text("quote.csv", head + 'x,A,1\n"y"z,B,2\n')
    write_text("huge_cell.csv", head + "x" * 140_000 + ",A,1\n")
    Path("nul.csv").write_bytes(b"object,assessor,score\nx\0,A,1\n")
    Path("binary.csv").write_bytes(b"object,assessor,score\n" + bytes(range(1, 9)) * 20)
    Path("half.csv").write_bytes(b"\xff\xfeo\x00b\x00j\x00e")
    Path("png.csv").write_bytes(b"PK\x03\x04" + bytes(30))
    Path("pdf.csv").write_bytes(b"%PDF-1.4\n")
    write_text("table.json", "{}")
    write_text("noname", head + "x,A,1\n")
    write_text("wide_alone.csv", "object\nx\ny\n")
    write_text("wide_blank.csv", "object,A,B\nx,,\ny,,\n")
    write_text("wide_twice.csv", "object,A,A\nx,1,2\n")
    write_text("wide_headless.csv", "object,A,\nx,1,2\n")
    write_text("no_covariate.csv", "object,assessor,score,order\nx,A,1,1\ny,A,2,\nz,A,3,inf\n")
    write_text("no_criterion.csv", "object,assessor,score,criterion\nx,A,1,merit\ny,A,2,\n")
    write_text("one_style.csv", "object,assessor,score,criterion\nx,A,1,merit\ny,A,2,merit\nx,A,2,style\n")
    write_text("clashing.csv", "object,assessor,score,day\nx,A,1,Mon\nx,A,2,Tue\ny,A,2,Tue\n")
    write_text("same_day.csv", "object,assessor,score,day\nx,A,1,1\nx,B,2,1\ny,A,2,1\ny,B,2,1\n")
    write_text("by_object.csv", "object,assessor,score,day\nx,A,1,1\nx,B,2,1\ny,A,2,3\ny,B,3,3\n")
    write_text("by_pair.csv", "object,assessor,score,day\nx,A,1,1\nx,B,2,2\ny,A,2,3\ny,B,3,4\n")
    write_text("outside.csv", head + "x,A,101\nx,B,2\ny,A,2\ny,B,-3\n")
    write_text("extreme.csv", head + "x,A,1e308\nx,B,-1e308\ny,A,1e308\ny,B,2\n")
    write_text("pairs.csv", "who,what\nA,x\n")
    write_text("half_pairs.csv", "assessor,object\nA,\n,P1\n")
    write_text("strangers.csv", "assessor,object\nZoe,P1\n")
    write_text("no_objects.csv", "object\n\n,\n")
    write_text("objects_twice.csv", "object\na\nb\na\n")
    write_text("blank_objects.csv", "object,title\n,First\n")
    write_text("skills.csv", "assessor,object,level\nA1,a,expert\nA1,b,high\n")
    write_text("skills_twice.csv", "assessor,object,level\nA1,a,high\nA1,a,low\n")
    write_text("skills_none.csv", "assessor,object,level\nA1,a,\n")
    write_text("skills_headless.csv", "assessor,object\nA1,a\n")
    write_text("matrix_headless.csv", "who,a,b\nA1,1,0\n")
    write_text("matrix_twice.csv", "assessor,a,a\nA1,1,0\n")
    write_text("loads.csv", "assessor,max_load\nu,2\nv,two\nw,1\n")
    write_text("needs.csv", "object,per_object\na,1\nb,0\nc,2\n")
    write_text("costs.csv", "assessor,cost\nu,2\nv,dear\nw,-1\n")
    write_text("links.csv", "object,linking\na,yes\nb,perhaps\nc,no\n")
    write_text("all_conflict.csv", "assessor,object\n" + "".join(f"A{a},O1\n" for a in (1, 2, 3)))
    write_text("in_groups.csv", "assessor,object\nA1,O3\nA1,O4\nA2,O3\nA2,O4\nA3,O1\nA3,O2\nA4,O1\nA4,O2\n")
    write_text("many_fixed.csv", "assessor,object\nA1,O1\nA2,O1\nA3,O1\n")
    write_text("fixed_conflict.csv", "assessor,object\nA1,O1\n")
    write_xlsx("blank.xlsx", {"One": [], "Two": []})
    write_xlsx("wide_headless.xlsx", {"Scores": [["object", "A", None], ["x", 1, 2]]})
    write_text("not_a_book.xlsx", "object,assessor,score\n")
    Path("old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    whole = Path("book.xlsx").read_bytes()
    Path("cut.xlsx").write_bytes(whole[: len(whole) // 2])
    shutil.copyfile("book.ods", "really_ods.xlsx")
    entities = '<!DOCTYPE x [<!ENTITY a "b">]>'
    with zipfile.ZipFile("book.ods") as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    write_zip("entities.ods", parts | {"content.xml": entities + parts["content.xml"]})
    write_zip("malformed.ods", parts | {"content.xml": parts["content.xml"][:-20]})
    locked = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:encryption-data/></m:manifest>'
    )
    write_zip("locked.ods", parts | {"META-INF/manifest.xml": locked})
    repeat = parts["content.xml"].replace("<table:table-row>", '<table:table-row table:number-rows-repeated="x">', 1)
    write_zip("repeats.ods", parts | {"content.xml": repeat})
    many = parts["content.xml"].replace(
        "<table:table-row>", '<table:table-row table:number-rows-repeated="9999999">', 1
    )
    write_zip("far.ods", parts | {"content.xml": many})
    write_text("damaged.parquet", "PAR1 nothing of the kind")
    Path("no_files").mkdir()
    for name, change in (("other_version", {"version": 99}), ("other_count", {"objects": 99}), ("no_format", {})):
        Path(name).mkdir()
        Path(name, "panel.json").write_text(json.dumps({"format": "evenhand-panel"} | change), encoding="utf-8")
    write_text("page.html", "<html></html>")
    write_text("plain", "no directory")
    Path("folder.csv").mkdir()
    write_text("together.csv", "assessor,object\nA1,O1\nA2,O1\nA1,O2\nA2,O2\nA3,O3\n")
    write_xlsx("padded.xlsx", {"Scores": [["object", "assessor", "score"], *(["x" * 30_000, n, 1] for n in range(60))]})
    write_text("many.csv", head + "".join(f"object {n},assessor {n % 7},a bad score\n" for n in range(30_000)))
    write_text(
        "many_days.csv",
        "object,assessor,score,day\n" + "".join(f"{n},A,1,day {n}\n{n},B,2,eve {n}\n" for n in range(300)),
    )
    apart = [(o, a, n) for n, (o, a) in enumerate(zip("xyxyzuzu", "AABBCCDD", strict=True))]
    both = [*((o, a, "merit", n) for o, a, n in apart), *((o, a, "style", n * n % 7) for o, a, n in apart)]
    write_text("apart_criteria.csv", [["object", "assessor", "criterion", "score"], *both])
    Path("wrong_data").mkdir()
    write_text("wrong_data/case_study_1_published.csv", "a,b\n1,2\n")
    write_text("wrong_data/case_study_2_scores.csv", head + "x,A,1\ny,A,2\n")
    folders: tuple[tuple[str, list[Row]], ...] = (
        ("apart_folder", [["object", "assessor", "score"], ["x", "A", 1.0], ["y", "B", 2.0]]),
        ("again_folder", [["object", "assessor", "score"], ["x", "A", 1.0], ["x", "A", 2.0], ["y", "A", 2.0]]),
    )
    for name, rows in folders:
        Path(name).mkdir()
        frame_of(rows).write_parquet(f"{name}/a.parquet")
    frame_of([["object", "assessor", "score", "level"], ["P1", "A", 1.0, "odd"]]).write_parquet(
        "mixed_folder/c.parquet"
    )
    Path("uneven_folder").mkdir()
    frame_of([["object", "assessor", "score", "level"], ["x", "A", 1.0, "high"]]).write_parquet(
        "uneven_folder/a.parquet"
    )
    frame_of([["object", "assessor", "score"], ["y", "A", 1.0]]).write_parquet("uneven_folder/b.parquet")
    Path("page_not_text.html").write_bytes(b"\xff\xfe\xfa")
