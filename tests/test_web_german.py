"""Every sentence of the web application, and of results that it shows, has its German.

Run this file to renew the compiled catalogue.

``python tests/test_web_german.py`` lists what is missing, and writes ``django.mo`` from ``django.po``.
"""

import ast
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

SOURCES = Path(__file__).parent.parent / "src" / "evenhand"
WEB = SOURCES / "web"
CATALOGUE = WEB / "locale" / "de" / "LC_MESSAGES" / "django.po"

Message = tuple[str, str | None]
"""A sentence, and its plural where it has one."""


def in_templates() -> Iterator[Message]:
    """Yield the sentences of all templates."""
    import jinja2

    environment = jinja2.Environment(
        extensions=["jinja2.ext.i18n"], autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    for place in _templates():
        for _line, function, found in environment.extract_translations(place.read_text("utf-8")):  # type: ignore[attr-defined]
            texts = [found] if isinstance(found, str) else [one for one in found if isinstance(one, str)]
            if function == "ngettext":
                yield texts[0], texts[1]
            else:
                yield texts[0], None


def _templates() -> list[Path]:
    return [*sorted((WEB / "templates").glob("*.html")), SOURCES / "reports" / "templates" / "parts.html"]


def in_results() -> Iterator[Message]:
    """Yield the sentences about results and about files, and the nouns in them."""
    rooms = [
        place
        for room in ("answers", "models", "panel", "io", "web")
        for place in sorted((SOURCES / room).rglob("*.py"))
    ]
    for place in [*rooms, SOURCES / "reports" / "blocks.py", SOURCES / "words.py"]:
        module = ast.parse(place.read_text("utf-8"))
        named = dict(_named_texts(module))
        for node in ast.walk(module):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ("phrase", "remark"):
                yield from ((text, None) for text in _texts(node.args[0], named) if text)
            elif node.func.id == "chained":
                yield from ((text, None) for one in node.args[1:] for text in _texts(one, named))
    yield "{one} and {other}", None


def _named_texts(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the texts that a module has names for."""
    for one in module.body:
        target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
        if isinstance(target, ast.Name) and isinstance(value := getattr(one, "value", None), ast.Constant):
            yield target.id, value


def _texts(node: ast.expr, named: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the text that is said, or all of those between which it is chosen; what stands in a table is told there."""
    if isinstance(node, ast.Name) and node.id in named:
        node = named[node.id]
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from [*_texts(node.body, named), *_texts(node.orelse, named)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "by_door":
        yield from (text for one in node.args for text in _texts(one, named))


def nouns() -> Iterator[Message]:
    """Yield what is assessed, and what else is counted, one and several."""
    from evenhand.panel.lexicon import NOUNS
    from evenhand.words import plural

    counted = {word for place in _templates() for word in re.findall(r'count_of\("(\w+)"\)', place.read_text("utf-8"))}
    for word in dict.fromkeys([*NOUNS, *sorted(counted), "degree", "other assessor"]):
        yield word, None
        yield plural(word), None
    yield from ((word, None) for word in ("criterion", "uncertainty", "confidence"))


def in_tables() -> Iterator[Message]:
    """Yield texts that are looked up in a table."""
    from evenhand.answers.explain import _NOISE_SHORT, _NOISE_WORDS
    from evenhand.answers.verdicts import READ_AS, Verdict
    from evenhand.io.delimited import _BAD_QUOTES, _OTHER_FORMATS
    from evenhand.io.panels import ADVICE
    from evenhand.look import STATUS
    from evenhand.models.fit import METHOD_NAMES, PLAIN_NAMES, REFINEMENT_NAMES
    from evenhand.panel.confidence import LEVEL_NAMES
    from evenhand.panel.headings import BESIDE, COMPUTED
    from evenhand.panel.reading import _FORMS, LAYOUTS
    from evenhand.panel.understand import _UNGRADED

    yield from ((words, None) for _kind, words in _BAD_QUOTES.values())
    yield from ((words, None) for table in (_OTHER_FORMATS, ADVICE) for words in table.values())
    reading = (LAYOUTS, _FORMS, BESIDE, COMPUTED, _UNGRADED, LEVEL_NAMES)
    yield from ((words, None) for table in reading for words in table.values() if words)
    methods = (METHOD_NAMES.values(), PLAIN_NAMES.values(), REFINEMENT_NAMES.values())
    tables = (_NOISE_WORDS.values(), _NOISE_SHORT.values(), *methods, get_args(Verdict))
    yield from ((words, None) for words in READ_AS.values())
    yield from ((word, None) for word, _shape in STATUS.values())
    yield from ((words, None) for table in tables for words in table)


def in_python() -> Iterator[Message]:
    """Yield the sentences of all modules."""
    for place in sorted(WEB.rglob("*.py")):
        for node in ast.walk(ast.parse(place.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "gettext"):
                assert isinstance(node.args[0], ast.Constant), f"{place.name}, line {node.lineno}: not a plain text"
                yield str(node.args[0].value), None


def messages() -> dict[str, str | None]:
    """Return all sentences, with their plurals."""
    return dict([*in_templates(), *in_python(), *in_results(), *nouns(), *in_tables()])


def catalogue() -> dict[Message, list[str]]:
    """Return the German of each sentence, and of its plural."""
    found: dict[Message, list[str]] = {}
    for block in CATALOGUE.read_text("utf-8").split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            told = re.fullmatch(r'(?:(msg\w+(?:\[\d\])?) )?(".*")', line)
            assert told is not None, line
            name = told[1] or name
            fields[name] = fields.get(name, "") + ast.literal_eval(told[2])
        if "msgid" in fields:
            key = (fields["msgid"], fields.get("msgid_plural"))
            assert key not in found, f"twice: {key[0]}"
            found[key] = [fields[one] for one in sorted(fields) if one.startswith("msgstr")]
    return found


def compiled() -> bytes:
    """Return the catalogue as gettext reads it: two tables of lengths and places, then the texts."""
    pairs = sorted(
        ("\0".join(part for part in key if part is not None).encode(), "\0".join(texts).encode())
        for key, texts in catalogue().items()
    )
    start = 28 + 16 * len(pairs)
    tables, texts = [b"", b""], b""
    for side in (0, 1):
        for pair in pairs:
            tables[side] += struct.pack("<II", len(pair[side]), start + len(texts))
            texts += pair[side] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + tables[0] + tables[1] + texts


def holes(text: str) -> list[str]:
    """Return what is filled into a text; the noun of a file may be left out, for it has a gender."""
    return sorted(one for one in re.findall(r"%\(\w+\)[sd]|\{\w+\}", text) if one != "{thing}")


def test_every_sentence_has_its_german() -> None:
    found = messages()
    known = {key[0]: (key[1], texts) for key, texts in catalogue().items()}
    missing = [text for text in found if text not in known]
    assert missing == []
    for text, plural in found.items():
        assert known[text][0] == plural, text
        originals = [text] if plural is None else [text, plural]
        for one, original in zip(known[text][1], originals, strict=True):
            assert one.strip(), text
            assert holes(one) == holes(original), text
    assert [text for text in known if text and text not in found] == []


def test_the_compiled_catalogue_is_that_of_the_text() -> None:
    assert CATALOGUE.with_suffix(".mo").read_bytes() == compiled()


@pytest.mark.parametrize("place", ["/", "/help", "/designs"])
def test_pages_are_german_for_whoever_prefers_that(place: str) -> None:
    from web import client

    page: Any = client(headers={"accept-language": "de-CH,de;q=0.9"}).get(place)
    assert '<html lang="de">' in page.content.decode()
    assert "Sprache" in page.content.decode()


def test_the_language_can_be_chosen() -> None:
    from web import client

    one = client()
    assert "Language" in one.get("/").content.decode()
    one.post("/language", {"language": "de", "next": "/"})
    assert "Sprache" in one.get("/").content.decode()


ENGLISH = (
    "proposal",
    "compete",
    "places",
    " are in",
    "Open means",
    "Plain average",
    "The line falls",
    "points apart",
    "Rank range",
    "calibrated value",
    "chance of",
    "is strict",
    "is generous",
    "counts more",
    "would put",
    "would give",
    "or less",
    "or more",
    "hangs on",
    "only with",
    "enters",
    "leaves",
    "is now",
    "are now",
    "replaces",
    "are replaced",
    "calibration",
)
"""What an English page about a result says."""


def seen_text(one: Any, place: str) -> str:
    """Return what a page of a result shows, without its markup."""
    import html

    from web import seen

    page = seen(one, place).content.decode()
    page = re.sub(r"<option.*?</option>|<script.*?</script>|<style.*?</style>", " ", page, flags=re.DOTALL)
    labels = " ".join(re.findall(r'(?:aria-label|data-of)="([^"]*)"', page))
    return html.unescape(f"{re.sub('<[^>]*>', ' ', page)} {labels}")


@pytest.fixture(scope="module")
def demo() -> tuple[Any, str]:
    """A German reader, and the address of the demo."""
    from web import client

    one = client(headers={"accept-language": "de"})
    return one, one.post("/demo").url


def test_the_decision_is_said_in_german(demo: tuple[Any, str]) -> None:
    shown = re.sub(r"\s+", " ", seen_text(*demo))
    assert "3 Anträge sind nach dem verwendeten Verfahren dabei; 18 konkurrieren um die übrigen 7 Plätze" in shown
    assert "Plätze: 10 für " in shown
    assert "2 Anträge prüfen: je ohne eine Person auf der anderen Seite der Linie" in shown
    assert [words for words in ENGLISH if words in shown] == []


def test_an_object_is_explained_in_german(demo: tuple[Any, str]) -> None:
    one, place = demo
    from web import seen

    address = re.search(r'href="([^"]*/objects/\d+)"[^>]*>\s*(?:<[^>]*>)*P32', seen(one, place).content.decode())
    assert address is not None
    shown = re.sub(r"\s+", " ", seen_text(one, address[1]))
    assert "Jansen ist streng: −12.7 herausgerechnet in 1 von 2 Bewertungen" in shown
    assert "höchstens 46" in shown
    assert "mindestens 76" in shown
    assert [words for words in ENGLISH if words in shown] == []


def test_what_if_answers_in_german(demo: tuple[Any, str]) -> None:
    one, place = demo
    scenario = one.post(f"{place}what-if/new").url
    one.post(f"{scenario}/change", {"without": "Kaur"})
    shown = re.sub(r"\s+", " ", seen_text(one, scenario))
    assert re.search(r"Ohne Kaur: (die ersten 10 bleiben gleich|P39 ersetzt P25 unter den ersten 10)", shown)
    assert [words for words in ENGLISH if words in shown] == []


def test_assessors_are_described_in_german(demo: tuple[Any, str]) -> None:
    shown = re.sub(r"\s+", " ", seen_text(demo[0], f"{demo[1]}assessors"))
    assert "Adeyemi gibt 16.5 Punkte mehr als das Panel, Farouk 19.4 weniger" in shown
    assert "Kalibrieren lohnt sich" in shown
    assert [words for words in (*ENGLISH, "consistent", "too few", "reliability") if words in shown] == []


def test_how_a_file_was_read_and_why_there_are_no_ranks_is_said_in_german(demo: tuple[Any, str]) -> None:
    from web import opened

    apart = b"object,assessor,score,mean\na,x,1,2\nb,x,2,3\na,y,3,2\nb,y,4,3\nc,u,5,6\nd,u,6,7\nc,v,7,6\nd,v,8,7\n"
    panel = opened(demo[0], "scores.csv", apart)
    shown = re.sub(r"\s+", " ", seen_text(demo[0], f"/panels/{panel}/reading"))
    assert "Gelesen als: Objekte aus 'object', Gutachtende aus 'assessor', Bewertungen aus 'score'" in shown
    assert "Eine Bewertung je Zeile." in shown
    assert "'mean' bei den Objekten" in shown
    shown = re.sub(r"\s+", " ", seen_text(demo[0], f"/panels/{panel}/"))
    assert "Keine gemeinsame Rangfolge; jede Gruppe hat ihre eigene" in shown
    assert "Gruppe 1:" in shown
    assert ": Eine gemeinsame Bewertung verbindet die Gruppen, aber nur ungefähr: erbitten Sie zwei oder drei." in shown


WRONG = {
    "Zeile 3, y zu a: „8O“ ist keine Zahl": b"object,assessor,score\na,x,7\na,y,8O\nb,x,6\nb,y,5\n",
    "Zeilen 2 und 4: x hat a zweimal bewertet: Berichtigen Sie die Datei": (
        b"object,assessor,score\na,x,7\nb,y,8\na,x,6\nb,x,5\na,y,5\n"
    ),
    "oder behalten Sie beide als getrennte Bewertungen („beide behalten“ (Menü „Von derselben Person doppelt": (
        b"object,assessor,score\na,x,7\nb,y,8\na,x,6\nb,x,5\na,y,5\n"
    ),
    "wie Noten, von denen 1 die beste ist. Wenn das stimmt, wählen Sie „niedriger“ (Menü „Besser ist“)": (
        b"Antrag,Gutachter,Note\na,x,1\na,y,2\nb,x,4\nb,y,6\n"
    ),
    "Spalte score: 1 Zeile ohne Bewertung gilt als nicht bewertet (Zeile 6); in den Zellen steht 'COI' (1).": (
        b"object,assessor,score\na,x,7\na,y,8\nb,x,6\nb,y,5\nc,x,COI\nc,y,4\n"
    ),
    "Objekte: 'Ab', 'ab' unterscheiden sich nur in Großschreibung": (
        b"object,assessor,score\nAb,x,7\nab,x,8\nAb,y,6\nab,y,5\n"
    ),
    "Zeile 3, Spalte confidence: 'hig' ist keine bekannte Stufe": (
        b"object,assessor,score,confidence\na,x,7,high\na,y,8,hig\nb,x,6,low\nb,y,5,high\n"
    ),
}
"""What is said of a file, by the German of it."""


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_with_a_file_is_told_each_reader_in_one_language(demo: tuple[Any, str], said: str) -> None:
    from web import client, opened

    panel = opened(demo[0], "scores.csv", WRONG[said])
    shown = re.sub(r"\s+", " ", seen_text(demo[0], f"/panels/{panel}/reading"))
    assert said in shown
    english = ("row ", " column ", "is not ", "were ", "scored ", " the ", "menu ")
    assert [words for words in english if words in shown.replace("column,", "")] == []
    other = client(headers={"accept-language": "en"})
    shown = re.sub(r"\s+", " ", seen_text(other, f"/panels/{panel}/reading"))
    german = ("Zeile", "Spalte", "Bewertung", "Menü", "Gutachter:in")
    assert [words for words in german if words in shown] == []


def test_the_evidence_is_said_in_german(demo: tuple[Any, str]) -> None:
    shown = re.sub(r"\s+", " ", seen_text(demo[0], f"{demo[1]}evidence"))
    assert "sagt es in der Regel mit einem Fehler von 9.2 Punkten voraus" in shown
    assert "Das einfache Mittel liegt um 19.5 daneben." in shown


def test_each_reader_has_alerts_and_files_in_one_language(demo: tuple[Any, str]) -> None:
    from web import client, seen

    german, place = demo
    seen(german, place)
    english = client(headers={"accept-language": "en"})
    assert "Check 2 proposals: each would cross the line without one assessor" in seen_text(english, place)
    report = seen(german, f"{place}out/report.html?show=report").content.decode()
    assert "3 proposals are in" in report
    assert "Anträge" not in report


if __name__ == "__main__":
    translated = catalogue()
    sys.stdout.writelines(
        f"{text!r} {plural!r}\n" for text, plural in messages().items() if (text, plural) not in translated
    )
    CATALOGUE.with_suffix(".mo").write_bytes(compiled())
