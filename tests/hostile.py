"""Files that nobody should drop in, and values that nobody should type: made of good ones, and made to do harm."""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

SUFFIXES: tuple[str, ...] = (
    *("csv", "tsv", "txt", "xlsx", "ods", "xls", "xlsm", "json", "jsonl", "parquet", "csv.gz", "zip", "xml"),
    *("", "exe", "toml", "csv.xlsx", "evenhand.toml", "CSV", "é\u202e"),
)

File = tuple[str, bytes]


@cache
def good() -> tuple[File, ...]:
    """Return the files of the corpus."""
    from corpus_sheets import SHEETS
    from corpus_systems import SYSTEMS

    with tempfile.TemporaryDirectory() as folder:
        return tuple((case.name, case.write(Path(folder)).read_bytes()) for case in (*SHEETS, *SYSTEMS))


# --- damage --------------------------------------------------------------------------------------


def _truncated(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flipped(content: bytes, chance: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(chance.choice((1, 3, 20, 200))):
        if found:
            found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found)


def _doubled(content: bytes, chance: random.Random) -> bytes:
    one, other = sorted(chance.randrange(len(content) + 1) for _ in "ab")
    return content[:other] + content[one:other] * chance.choice((1, 2, 30)) + content[other:]


def _cut(content: bytes, chance: random.Random) -> bytes:
    one, other = sorted(chance.randrange(len(content) + 1) for _ in "ab")
    return content[:one] + content[other:]


def _strewn(content: bytes, chance: random.Random) -> bytes:
    found = content
    for _ in range(chance.choice((1, 4))):
        at = chance.randrange(len(found) + 1)
        found = found[:at] + chance.choice(_STREWN) + found[at:]
    return found


_STREWN = (
    *(b"\x00", b"\x00" * 50, b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\r", b"\n\n\n", b"\t" * 40, b",,,,", b";"),
    *(b"1e999", b"-1e308", b"nan", b"inf", b"=1+1", b"\xed\xa0\x80", "\u202e\u0000\u2028".encode(), b"9" * 400),
    *(b"<script>", b"' OR 1=1 --", b"{{7*7}}", b"%s%n", b"\x1b[2J", b"{", b"]", b"</row>", b"<c t='s'><v>-1</v></c>"),
)


def _joined(content: bytes, chance: random.Random) -> bytes:
    return content + chance.choice(good())[1]


def _recoded(content: bytes, chance: random.Random) -> bytes:
    coding = chance.choice(("utf-16", "utf-16-le", "utf-32", "cp500"))
    return content.decode("utf-8", "replace").encode(coding, "replace")


def _members(content: bytes, chance: random.Random) -> bytes:
    """Return an archive one part of which is damaged, so that it can still be unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as held:
            parts = {name: held.read(name) for name in held.namelist()} or {"nothing": b""}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError):
        return _flipped(content, chance)
    name = chance.choice(sorted(parts))
    parts[name] = chance.choice((_truncated, _flipped, _cut, _strewn, _doubled, lambda *_: b""))(parts[name], chance)
    if chance.random() < 0.1:
        del parts[name]
    return zipped(parts)


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_truncated, _flipped, _doubled, _cut, _strewn, _joined, _recoded, _members, _members),
)


# --- bombs ---------------------------------------------------------------------------------------


def zipped(parts: dict[str, bytes]) -> bytes:
    """Return an archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return held.getvalue()


def _sheet(inside: bytes, before: bytes = b"") -> bytes:
    """Return a workbook with one sheet, whose rows are given."""
    with zipfile.ZipFile(io.BytesIO(dict(good())["long.xlsx"])) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    name = next(one for one in parts if one.startswith("xl/worksheets/"))
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    head = b'<?xml version="1.0"?>' + before + b'<worksheet xmlns="' + space + b'"><sheetData>'
    return zipped(parts | {name: head + inside + b"</sheetData></worksheet>"})


_LOLS = b'<!DOCTYPE x [<!ENTITY a "lol">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 10) for at in range(9)
)


@cache
def bombs() -> tuple[File, ...]:
    """Return files that are small, or look so, and ask for much."""
    cell = b'<row r="%d"><c r="%s%d" t="inlineStr"><is><t>%s</t></is></c></row>'
    return (
        ("bomb.xlsx", _sheet(b" " * 25_000_000)),
        ("entities.xlsx", _sheet(cell % (1, b"A", 1, b"&j;"), _LOLS + b"]>")),
        (
            "outside.xlsx",
            _sheet(cell % (1, b"A", 1, b"&x;"), b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        ),
        ("far.xlsx", _sheet(cell % (1, b"A", 1, b"x") + cell % (1048576, b"XFD", 1048576, b"y"))),
        ("deep.xlsx", _sheet(b"<row>" * 100_000)),
        ("bomb.csv.gz", gzip.compress(b"1," * 12_500_000)),
        ("nested.zip", zipped({"a.zip": zipped({"a.csv": b"1," * 10_000_000})})),
        ("many.zip", zipped({f"{at}.csv": b"a,b,c\n1,2,3\n" for at in range(5000)})),
        ("up.zip", zipped({"../../../tmp/up.csv": b"object,assessor,score\na,b,1\n"})),
        ("deep.json", b"[" * 200_000),
        ("deep_pairs.json", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        ("long_number.json", b'[{"object":"a","assessor":"b","score":' + b"9" * 100_000 + b"}]"),
        ("wide_open.json", json.dumps([{f"k{at}-{row}": row for at in range(50)} for row in range(200)]).encode()),
        ("constants.json", b'[{"object":"a","assessor":"b","score":NaN},{"object":"a","assessor":"c","score":1e999}]'),
        ("header.csv", ",".join(f"column {at}" for at in range(20_000)).encode() + b"\n" + b"1," * 19_999 + b"1\n"),
        ("long_heading.csv", b"x" * 3_000_000 + b",assessor,score\na,b,1\n"),
        ("same_headings.csv", b",".join([b"score"] * 3000) + b"\n" + b",".join([b"1"] * 3000) + b"\n"),
        ("quote.csv", b'object,assessor,score\na,b,"' + b"1\n" * 500_000),
        ("long_cell.csv", b"object,assessor,score\n" + b"a" * 5_000_000 + b",b,1\n"),
        ("long_score.csv", b"object,assessor,score\na,b," + b"1" * 1_000_000 + b"\nb,b,2\n"),
        ("nulls.csv", b"\x00" * 1_000_000),
        ("null.xlsx", b"\x00" * 1000),
        ("breaks.csv", b"\n" * 1_000_000),
        ("commas.csv", b"," * 1_000_000),
        ("spaces.csv", b" " * 1_000_000),
        ("ragged.csv", b"\n".join(b"," * at for at in range(1500))),
        ("bad_letters.csv", bytes(range(256)) * 200),
        ("empty.csv", b""),
        ("empty.xlsx", b""),
        ("empty.json", b""),
        ("empty.parquet", b""),
        ("magic.parquet", b"PAR1" + b"\x00" * 50 + b"\xff\xff\xff\x7fPAR1"),
        ("magic.xlsx", b"PK\x03\x04" + b"\xff" * 60),
        ("magic.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 2000),
        ("magic.csv.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 60),
        ("huge.csv", b"object,assessor,score\n" + b"".join(b"o%d,a%d,1e308\n" % (at, at % 7) for at in range(400))),
        ("tiny.csv", b"object,assessor,score\n" + b"".join(b"o%d,a%d,5e-324\n" % (at, at % 7) for at in range(400))),
        ("apart.csv", b"object,assessor,score\n" + b"".join(b"o%d,a%d,1\n" % (at, at) for at in range(3000))),
        ("all_in_one.csv", b"object,assessor,score\n" + b"a,b,1\n" * 20_000),
        ("long_names.csv", b"object,assessor,score\n" + b"".join(b"o%s,a,%d\n" % (b"x" * at, at) for at in range(900))),
    )


def malformed(seed: int) -> File:
    """Return a file that was damaged, has the wrong name, or is a bomb; the same for the same number.

    Examples
    --------
    >>> malformed(5) == malformed(5)
    True
    """
    chance = random.Random(seed)
    if seed % 100 == 50:
        return bombs()[seed // 100 % len(bombs())]
    name, content = chance.choice(good())
    for _ in range(chance.choice((1, 1, 2, 3))):
        content = chance.choice(DAMAGES)(content, chance)
    if chance.random() < 0.2:
        name = f"{name.partition('.')[0]}.{chance.choice(SUFFIXES)}"
    return name, content


HOSTILE = (
    *("", " ", "-1", "0", "1", "-0", "1e9", "1e400", "NaN", "inf", "-inf", "0x10", "１２", "9" * 30, "9" * 5000, "1.5"),
    *("'; DROP TABLE web_panel; --", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}"),
    *("%s%n", "a" * 250, "a" * 30_000, "\x00", "a\x00b", "\u202e\u200b", "\U0001f600" * 300, "e\u0301\ud7ff"),
    *("../../etc/passwd", "anchor:", "anchor:nobody", "P01\x1fKaur", "P01\x1f", "\x1f", "long", "wide", "object"),
    *("score", "=1+1", "a=b=c", "1,5", "5,1", "1,nan", "inf,inf", "hoch=high", "=high", ",,,,", "\r\nSet-Cookie: a=b"),
    *("//evil.example", "/\\evil.example"),
)
"""What may be typed into any field."""
