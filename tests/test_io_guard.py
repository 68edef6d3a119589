"""Workbooks that are damaged, locked or made to exhaust memory are refused before they are unpacked."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
import zlib
from typing import TYPE_CHECKING

import pytest

from evenhand.errors import InputError
from evenhand.io.guard import inspect_workbook
from evenhand.io.spreadsheet import read_spreadsheet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenhand.io.guard import SheetFacts

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEADER = "".join(
    f'<c r="{c}1" t="str"><v>{n}</v></c>' for c, n in zip("ABC", ("object", "assessor", "score"), strict=True)
)
ROW = '<row r="2"><c r="A2" t="str"><v>P</v></c><c r="B2" t="str"><v>A</v></c><c r="C2"><v>7</v></c></row>'
PLAIN = f'<row r="1">{HEADER}</row>{ROW}'
ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"' for prefix in ("office", "table", "text")
)
EMPTY_END = (
    '<table:table-row table:number-rows-repeated="1048500"><table:table-cell table:number-columns-repeated="16384"/>'
    "</table:table-row>"
)


def xlsx_parts(
    rows: str = PLAIN, target: str = "worksheets/sheet1.xml", kind: str = "worksheet"
) -> dict[str, str | bytes]:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{RELATIONS}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="Scores" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" '
        f'Type="{RELATIONS}/{kind}" Target="{target}"/></Relationships>',
        f"xl/{target}": sheet,
    }


def ods_parts(rows: str) -> dict[str, str | bytes]:
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        "content.xml": f"<office:document-content {ODF}><office:body><office:spreadsheet>"
        f'<table:table table:name="Scores">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>",
    }


def ods_row(*texts: str, more: str = "", repeat: int = 1) -> str:
    cells = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{t}</text:p></table:table-cell>' for t in texts
    )
    return f'<table:table-row table:number-rows-repeated="{repeat}">{cells}{more}</table:table-row>'


ODS_PLAIN = ods_row("object", "assessor", "score") + ods_row("P", "A", "7") + EMPTY_END


def pack(file: Path, parts: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def refused(file: Path, kind: str, words: str, *, max_unpacked: int = 2**24) -> InputError:
    with pytest.raises(InputError) as caught:
        read_spreadsheet(file, max_unpacked=max_unpacked)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(file.name)
    assert (caught.value.kind, words in message) == (kind, True), message
    return caught.value


def test_plain_workbooks_pass(tmp_path: Path) -> None:
    for file in (pack(tmp_path / "a.xlsx", xlsx_parts()), pack(tmp_path / "a.ods", ods_parts(ODS_PLAIN))):
        table = read_spreadsheet(file)
        assert table.names == ("object", "assessor", "score")
        assert table.columns[0] == ["P"]


@pytest.mark.parametrize("content", [b"", b"object,assessor\n", b"<html></html>", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_is_no_workbook(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.xlsx"
    file.write_bytes(content)
    refused(file, "damaged", "not a workbook although its name ends in .xlsx")


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.99])
def test_truncated_archives_are_refused(tmp_path: Path, share: float) -> None:
    file = pack(tmp_path / "a.xlsx", xlsx_parts())
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    refused(file, "damaged", "only part of it has arrived")


def test_an_archive_with_a_damaged_part_is_refused(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.xlsx", xlsx_parts())
    with zipfile.ZipFile(file) as archive:
        offset = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 30 + len("xl/worksheets/sheet1.xml")
    content = bytearray(file.read_bytes())
    content[offset + 20 : offset + 40] = b"\xff" * 20
    file.write_bytes(content)
    refused(file, "damaged", "damaged")


@pytest.mark.parametrize("extra", ["before", "after", "comment", "claim"])
def test_an_archive_with_bytes_around_it_is_refused_because_readers_disagree_about_it(
    tmp_path: Path, extra: str
) -> None:
    file = pack(tmp_path / "a.xlsx", xlsx_parts())
    content = file.read_bytes()
    if extra == "comment":
        content = content[:-2] + struct.pack("<H", 3) + b"abc"
    elif extra == "claim":
        content = content[:-2] + struct.pack("<H", 3)
    file.write_bytes({"before": content * 2, "after": content + b"x" * 10}.get(extra, content))
    refused(file, "damaged", "damaged")


def test_a_password_is_told_from_the_old_format(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    file.write_bytes(magic + b"\0" * (2**20 - 20) + "EncryptedPackage".encode("utf-16-le") + b"\0" * 500)
    refused(file, "password", "remove the password")
    file.write_bytes(magic + b"\0" * 2000)
    refused(file, "damaged", "save it again")  # an old workbook is read, and this is none


def test_an_encrypted_opendocument_file_is_said_to_have_a_password(tmp_path: Path) -> None:
    parts = ods_parts(ODS_PLAIN)
    parts["content.xml"] = b"\x8f\x01\xfe garbage"
    parts["META-INF/manifest.xml"] = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        '<m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry></m:manifest>'
    )
    refused(pack(tmp_path / "a.ods", parts), "password", "remove the password")
    refused(pack(tmp_path / "b.ods", dict(reversed(parts.items()))), "password", "remove the password")


def test_encrypted_parts_are_said_to_have_a_password(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.xlsx", xlsx_parts())
    content = bytearray(file.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 8] |= 1
    file.write_bytes(content)
    refused(file, "password", "remove the password")


def test_other_ways_of_packing_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in xlsx_parts().items():
            archive.writestr(name, content)
    refused(file, "damaged", "packed in a way")


def test_archives_that_are_another_kind_of_file_are_told_apart(tmp_path: Path) -> None:
    refused(pack(tmp_path / "a.xlsx", ods_parts(ODS_PLAIN)), "damaged", "name it .ods")
    refused(pack(tmp_path / "a.ods", xlsx_parts()), "damaged", "name it .xlsx")
    refused(pack(tmp_path / "b.xlsx", {"readme.txt": "x"}), "damaged", "zip archive, not a workbook")
    refused(pack(tmp_path / "c.xlsx", {"[Content_Types].xml": "<Types/>"}), "damaged", "cannot be read")


def test_a_declared_size_over_the_limit_is_refused_with_the_figure(tmp_path: Path) -> None:
    parts = {**xlsx_parts(), "xl/media/image1.png": bytes(3_000_000)}
    file = pack(tmp_path / "a.xlsx", parts)
    assert file.stat().st_size < 20_000
    total = sum(len(content) for content in parts.values())
    error = refused(file, "too_large", f"{total:,} bytes", max_unpacked=2**20)
    assert "limit of 1 MiB" in str(error)


def declare(file: Path, name: str, size: int, checksum: int) -> None:
    """Write a false size and checksum of one part into the directory and the part's own header."""
    with zipfile.ZipFile(file) as archive:
        offset = archive.getinfo(name).header_offset
    content = bytearray(file.read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(name.encode()))
    content[entry + 16 : entry + 20] = struct.pack("<L", checksum)
    content[entry + 24 : entry + 28] = struct.pack("<L", size)
    content[offset + 14 : offset + 18] = struct.pack("<L", checksum)
    content[offset + 22 : offset + 26] = struct.pack("<L", size)
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["xl/media/image1.png", "xl/worksheets/sheet1.xml"])
def test_a_directory_that_lies_about_the_size_is_found_out_without_holding_the_part(tmp_path: Path, name: str) -> None:
    bomb = b"<worksheet>" + b" " * 30_000_000
    file = pack(tmp_path / "a.xlsx", {**xlsx_parts(), name: bomb})
    declare(file, name, 100, zlib.crc32(bomb[:100]))
    tracemalloc.start()
    try:
        refused(file, "damaged", "made to deceive", max_unpacked=2**22)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_true_size_counts_even_where_the_directory_says_nothing_of_it(tmp_path: Path) -> None:
    names = [f"xl/media/image{i}.png" for i in range(100)]
    file = pack(tmp_path / "a.xlsx", {**xlsx_parts(), **dict.fromkeys(names, bytes(50_000))})
    for name in names:
        declare(file, name, 0, 0)
    refused(file, "damaged", "made to deceive", max_unpacked=2**20)
    refused(file, "too_large", "more than 30,000 bytes", max_unpacked=30_000)


def test_a_false_checksum_is_found_out(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.xlsx", {**xlsx_parts(), "xl/media/image1.png": b"picture"})
    declare(file, "xl/media/image1.png", 7, zlib.crc32(b"pictura"))
    refused(file, "damaged", "damaged")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "content.xml"])
def test_document_types_and_entities_are_refused_in_any_encoding(tmp_path: Path, encoding: str, part: str) -> None:
    name = "utf-16" if encoding.startswith("utf-16") else encoding
    evil = f'<?xml version="1.0" encoding="{name}"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>'
    parts = ods_parts(ODS_PLAIN) if part == "content.xml" else xlsx_parts()
    file = tmp_path / ("a.ods" if part == "content.xml" else "a.xlsx")
    refused(pack(file, {**parts, part: evil.encode(encoding)}), "forbidden_xml", "XML entities")


def test_a_document_type_without_entities_is_refused_too(tmp_path: Path) -> None:
    parts = {**xlsx_parts(), "docProps/app.xml": "<!DOCTYPE x><x/>"}
    refused(pack(tmp_path / "a.xlsx", parts), "forbidden_xml", "document type")


def test_macros_of_an_opendocument_file_may_have_a_document_type_since_nobody_reads_them(tmp_path: Path) -> None:
    parts = ods_parts(ODS_PLAIN)
    parts["Basic/script-lc.xml"] = '<!DOCTYPE library:libraries PUBLIC "-//OpenOffice.org//DTD" "libraries.dtd"><x/>'
    parts["Configurations2/accelerator/current.xml"] = ""
    assert read_spreadsheet(pack(tmp_path / "a.ods", parts)).columns[0] == ["P"]


@pytest.mark.parametrize(
    "content", ["<worksheet><row></worksheet>", "no xml", '<?xml version="1.0" encoding="nonsense"?><x/>']
)
def test_malformed_xml_is_refused(tmp_path: Path, content: str) -> None:
    parts = {**xlsx_parts(), "xl/worksheets/sheet1.xml": content}
    refused(pack(tmp_path / "a.xlsx", parts), "damaged", "not well-formed XML")


FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


def test_cells_far_apart_are_refused_with_the_figure(tmp_path: Path) -> None:
    error = refused(pack(tmp_path / "a.xlsx", xlsx_parts(PLAIN + FAR)), "too_large", "17,179,869,184 cells")
    assert error.where == "a.xlsx, sheet Scores"


@pytest.mark.parametrize(
    "cell", ['<c r="XFD1048576" s="1"/>', '<c r="XFD1048576" t="s"/>', "</row><row r='1048576' ht='3'>"]
)
def test_formats_far_away_without_a_value_do_no_harm(tmp_path: Path, cell: str) -> None:
    rows = f'{PLAIN}<row r="1048576">{cell}</row>'
    assert read_spreadsheet(pack(tmp_path / "a.xlsx", xlsx_parts(rows))).columns[2] == [7]


@pytest.mark.parametrize(
    "cell",
    [
        '<c r="ZZZZ3"><v>1</v></c>',
        '<c r="A1048577"><v>1</v></c>',
        '<c r="A0"/>',
        '<c r="$A$1"/>',
        '<c r="XFE1"/>',
        '<c r=""/>',
    ],
)
def test_addresses_that_no_sheet_has_are_refused(tmp_path: Path, cell: str) -> None:
    refused(pack(tmp_path / "a.xlsx", xlsx_parts(f"{PLAIN}<row>{cell}</row>")), "damaged", "no sheet has")
    refused(pack(tmp_path / "b.xlsx", xlsx_parts(PLAIN + '<row r="99999999"/>')), "damaged", "no sheet has")


def test_cells_without_an_address_are_counted_on(tmp_path: Path) -> None:
    rows = '<row><c t="str"><v>object</v></c></row><row r="5"><c r="B5"><v>1</v></c><c><v>2</v></c></row>'
    rows += "<row><c><v>3</v></c></row>"
    file = pack(tmp_path / "a.xlsx", xlsx_parts(rows))
    assert inspect_workbook(file, max_cells=18)["Scores"].filled == 4
    with pytest.raises(InputError, match="over 18 cells"):
        inspect_workbook(file, max_cells=17)


def test_a_formula_with_a_result_of_any_kind_is_not_taken_for_one_without(tmp_path: Path) -> None:
    cells = '<c r="A3" t="s"><f>A1</f><v>0</v></c><c r="B3" t="str"><f>A1</f><v></v></c><c r="C3"><f>A1</f><v>4</v></c>'
    texts = f'<sst xmlns="{MAIN}"><si><t>text</t></si></sst>'
    parts = {**xlsx_parts(f'{PLAIN}<row r="3">{cells}</row>'), "xl/sharedStrings.xml": texts}
    file = pack(tmp_path / "a.xlsx", parts)
    assert inspect_workbook(file)["Scores"].unreadable == []
    assert read_spreadsheet(file).cells == (["P", "text"], ["A", None], [7, 4])
    parts = xlsx_parts(f'{PLAIN}<row r="3"><c r="B3" t="str"><f>A1</f></c><c r="C3"><f>A1</f><v/></c></row>')
    found = inspect_workbook(pack(tmp_path / "b.xlsx", parts))["Scores"]
    assert [block[:4] for block in found.unreadable] == [(2, 1, 1, 1), (2, 2, 1, 1)]


def test_prefixes_do_not_hide_cells(tmp_path: Path) -> None:
    rows = '<x:row r="1"><x:c r="A1"><x:v>1</x:v></x:c></x:row><x:row r="9"><x:c r="I9"><x:v>1</x:v></x:c></x:row>'
    file = pack(tmp_path / "a.xlsx", xlsx_parts(rows))
    with pytest.raises(InputError, match="over 81 cells"):
        inspect_workbook(file, max_cells=80)


@pytest.mark.parametrize("kind", ["worksheet", "image"])
def test_a_sheet_that_hides_under_the_name_of_a_picture_is_refused(tmp_path: Path, kind: str) -> None:
    parts = xlsx_parts(PLAIN + FAR, target="media/image1.png", kind=kind)
    refused(pack(tmp_path / "a.xlsx", parts), "damaged", "unusual name")


def test_shared_texts_that_hide_under_the_name_of_a_picture_are_refused(tmp_path: Path) -> None:
    parts = xlsx_parts()
    relations = str(parts["xl/_rels/workbook.xml.rels"])
    more = f'<Relationship Id="r2" Type="{RELATIONS}/sharedStrings" Target="media/image1.png"/></Relationships>'
    parts["xl/_rels/workbook.xml.rels"] = relations.replace("</Relationships>", more)
    refused(pack(tmp_path / "a.xlsx", parts), "damaged", "unusual name")


def shared_texts(length: int, count: int) -> dict[str, str | bytes]:
    rows = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>{i % 2}</v></c></row>' for i in range(1, count + 1))
    half = length // 2
    long = f"<si><r><t>{'x' * half}</t></r><r><t>{'y' * half}</t></r></si>"
    texts = f'<sst xmlns="{MAIN}"><si><t>short</t></si>{long}</sst>'
    return {**xlsx_parts(rows), "xl/sharedStrings.xml": texts}


def test_a_long_text_that_many_cells_share_is_refused(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.xlsx", shared_texts(30_000, 2000))
    assert file.stat().st_size < 20_000
    refused(file, "too_large", "repeated texts", max_unpacked=2**24)


def test_shared_texts_are_added_up_exactly_where_a_rough_bound_is_passed(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.xlsx", shared_texts(30_000, 100))
    exact = 50 * 5 + 50 * 30_000
    assert inspect_workbook(file, max_unpacked=exact)["Scores"].shared == 100
    with pytest.raises(InputError, match="repeated texts"):
        inspect_workbook(file, max_unpacked=exact - 1)


def test_far_repeats_of_empty_cells_pass_as_libreoffice_writes_them(tmp_path: Path) -> None:
    empty = '<table:table-cell table:number-columns-repeated="16381"/>'
    rows = ods_row("object", "assessor", "score", more=empty) + ods_row("P", "A", "7", more=empty) + EMPTY_END
    table = read_spreadsheet(pack(tmp_path / "a.ods", ods_parts(rows)))
    assert table.cells == (["P"], ["A"], ["7"])


BILLION = 'table:number-columns-repeated="1000000000"'


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            ods_row("a", more=f'<table:table-cell {BILLION} office:value-type="float" office:value="1"/>'),
            "1,000,000,001",
        ),
        (
            ods_row("a", more=f"<table:table-cell {BILLION}/><table:table-cell><text:p>b</text:p></table:table-cell>"),
            "1,000,000,002",
        ),
        (ods_row("a", repeat=10**9), "1,000,000,000"),
        (ods_row("a") + ods_row(repeat=10**9) + ods_row("b"), "1,000,000,002"),
        (ods_row("a", more=f"<table:table-cell {BILLION}><text:p>b</text:p></table:table-cell>"), "1,000,000,001"),
    ],
)
def test_repeats_of_filled_cells_are_refused(tmp_path: Path, rows: str, words: str) -> None:
    refused(pack(tmp_path / "a.ods", ods_parts(rows)), "too_large", words)


@pytest.mark.parametrize(
    "rows",
    [
        ods_row('a<text:s text:c="1000000000"/>b'),
        ods_row("x" * 30_000, repeat=1000),
        ods_row(
            more=f'<table:table-cell office:value-type="string" office:string-value="{"x" * 30_000}" '
            'table:number-columns-repeated="1000"/>'
        ),
    ],
)
def test_texts_that_are_repeated_beyond_the_limit_are_refused(tmp_path: Path, rows: str) -> None:
    refused(pack(tmp_path / "a.ods", ods_parts(rows)), "too_large", "repeated texts")


def test_repeats_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    for said in ("-1", "9" * 30, "x"):
        rows = f'<table:table-row><table:table-cell table:number-columns-repeated="{said}"/></table:table-row>'
        refused(pack(tmp_path / "a.ods", ods_parts(rows)), "damaged", "repeats")


def test_all_sheets_of_an_opendocument_file_count_together(tmp_path: Path) -> None:
    one = ods_row("a", repeat=10)
    parts = ods_parts(one + '</table:table><table:table table:name="Second">' + one)
    file = pack(tmp_path / "a.ods", parts)
    assert set(inspect_workbook(file, max_cells=20)) == {"Scores", "Second"}
    with pytest.raises(InputError, match="over 20 cells"):
        inspect_workbook(file, max_cells=19)


def test_texts_of_drawings_are_not_taken_for_cells(tmp_path: Path) -> None:
    shapes = "<table:shapes><text:p>a picture</text:p></table:shapes>"
    rows = ODS_PLAIN + f'</table:table><table:table table:name="Second">{shapes}{ods_row("a")}'
    facts = inspect_workbook(pack(tmp_path / "a.ods", ods_parts(rows)))
    assert (facts["Scores"].filled, facts["Second"].filled) == (6, 1)


def test_millions_of_empty_cells_are_refused_soon_and_with_what_to_do(tmp_path: Path) -> None:
    rows = f'{PLAIN}<row r="3">{"<c/>" * 3_000_000}</row>'
    error = refused(
        pack(tmp_path / "a.xlsx", xlsx_parts(rows)), "too_large", "2,000,000 empty cells", max_unpacked=2**29
    )
    assert "clear the formats below and beside the table" in str(error)
    assert error.where == "a.xlsx, sheet Scores"


IDLE_SHEETS = ["<c/>", "<c></c>", '<c r="A9" s="1"/>', "<row/>", "<f/>", "<x/>"]


@pytest.mark.parametrize("tags", IDLE_SHEETS)
def test_masses_of_tags_without_data_are_refused_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tags: str
) -> None:
    monkeypatch.setattr("evenhand.io.guard.MAX_IDLE", 100_000)
    rows = f'{PLAIN}<row r="3">{tags * 300_000}</row>'
    refused(pack(tmp_path / "a.xlsx", xlsx_parts(rows)), "too_large", "without data")


def test_masses_of_empty_texts_tables_and_repeats_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.io.guard.MAX_IDLE", 100_000)
    texts = f'<sst xmlns="{MAIN}">{"<si/>" * 300_000}</sst>'
    refused(pack(tmp_path / "a.xlsx", {**xlsx_parts(), "xl/sharedStrings.xml": texts}), "too_large", "without data")
    cells = "<table:table-cell/>" * 300_000
    refused(pack(tmp_path / "a.ods", ods_parts(ODS_PLAIN + ods_row(more=cells))), "too_large", "without data")
    monkeypatch.setattr("evenhand.io.guard.MAX_IDLE", 10_000_000)
    tables = "".join(f'</table:table><table:table table:name="{i}">' for i in range(10_001))
    refused(pack(tmp_path / "b.ods", ods_parts(ODS_PLAIN + tables)), "too_large", "10,001 sheets")
    names = "".join(f'<sheet name="{i}" sheetId="{i}"/>' for i in range(10_001))
    book = f'<workbook xmlns="{MAIN}"><sheets>{names}</sheets></workbook>'
    refused(pack(tmp_path / "b.xlsx", {**xlsx_parts(), "xl/workbook.xml": book}), "too_large", "10,001 sheets")
    links = "".join(f'<Relationship Id="r{i}"/>' for i in range(10_001))
    more = {"xl/worksheets/_rels/sheet1.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>'}
    refused(pack(tmp_path / "c.xlsx", {**xlsx_parts(), **more}), "too_large", "10,001 links between its parts")


def test_formatted_empty_cells_beyond_the_table_are_no_data(tmp_path: Path) -> None:
    beside = "".join(f'<c r="{column}2" s="1"/>' for column in ("D", "E", "XFD"))
    below = "".join(f'<row r="{i}" s="1"><c r="A{i}" s="1"/><c r="B{i}" s="2"/></row>' for i in range(3, 20_000))
    file = pack(
        tmp_path / "a.xlsx", xlsx_parts(PLAIN.replace("</row>" + ROW, f"</row>{ROW[:-6]}{beside}</row>") + below)
    )
    facts = inspect_workbook(file)["Scores"]
    assert (facts.filled, facts.spread) == (6, 6)
    table = read_spreadsheet(file)
    assert (table.cells, table.notes) == ((["P"], ["A"], [7]), ())


def test_a_sparse_table_of_formatted_cells_is_no_mass_of_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.io.guard.MAX_IDLE", 1000)
    header = "".join(f"<c><v>{i}</v></c>" for i in range(100))
    rows = "".join(f"<row><c><v>{i}</v></c>{'<c></c>' * 99}</row>" for i in range(500))
    table = read_spreadsheet(pack(tmp_path / "a.xlsx", xlsx_parts(f"<row>{header}</row>{rows}")))
    assert (len(table), len(table.names)) == (500, 100)


def number(address: str, value: float | str) -> str:
    return f'<c r="{address}"><v>{value}</v></c>'


TWO_ROWS = ROW + ROW.replace(">7<", ">8<")


@pytest.mark.parametrize(
    ("rows", "words", "where"),
    [
        (f'<row r="3">{number("C3", 1)}{number("C3", 2)}</row>', "The cell C3 stands twice", "row 3, column C"),
        (f'<row r="3">{number("AB3", 1)}{number("AB3", "")}</row>', "The cell AB3 stands twice", "row 3, column AB"),
        (f'<row r="2">{number("C2", 8)}</row>', "The cell C2 stands twice", "row 2, column C"),
        (ROW.replace(">7<", ">8<").replace(">P<", ">Q<"), "The cells A2, C2 stand twice", "row 2, column A"),
        (f'<row r="9">{number("C9", 1)}</row><row r="2">{number("C2", 8)}</row>', "The cell C2", "row 2, column C"),
        ('<row r="3"><c r="C3"><v>1</v><v>2</v></c></row>', "The cell C3 stands twice", "row 3, column C"),
        ('<row r="3"><c r="C3" t="str"><v>1</v></c><c r="C3"><v>1</v></c></row>', "The cell C3", "row 3, column C"),
        (f'<row r="3">{number("C3", 1)}<c r="C3"><f>A1</f></c></row>', "The cell C3", "row 3, column C"),
        (f'<row r="3">{number("C3", 1)}<c r="C3" t="e"><v>#N/A</v></c></row>', "The cell C3", "row 3, column C"),
        ('<row r="3"><c><v>1</v></c><c r="A3"><v>2</v></c></row>', "The cell A3", "row 3, column A"),
    ],
)
def test_a_cell_that_stands_twice_with_different_values_is_refused(
    tmp_path: Path, rows: str, words: str, where: str
) -> None:
    error = refused(pack(tmp_path / "a.xlsx", xlsx_parts(PLAIN + rows)), "damaged", words)
    assert "with different values" in str(error)
    assert error.where == f"a.xlsx, sheet Scores, {where}"


def test_a_cell_that_stands_twice_with_the_same_value_is_noted(tmp_path: Path) -> None:
    table = read_spreadsheet(pack(tmp_path / "a.xlsx", xlsx_parts(PLAIN + ROW)))
    assert table.cells == (["P"], ["A"], [7])
    (note,) = table.notes
    assert (note.kind, note.where) == ("repeated_cells", "a.xlsx, sheet Scores")
    assert note.message == "The cells A2, B2, C2 stand twice in the sheet, with the same value."


@pytest.mark.parametrize("cells", ['<c r="C2" s="1"/>', '<c r="C2" s="1"></c>', '<c r="A2"/><c r="B2"/><c r="C2"/>'])
def test_an_empty_cell_takes_no_place_from_a_filled_one(tmp_path: Path, cells: str) -> None:
    for rows in (f'{PLAIN}<row r="2">{cells}</row>', f'<row r="2">{cells}</row>{PLAIN}'):
        table = read_spreadsheet(pack(tmp_path / "a.xlsx", xlsx_parts(rows)))
        assert (table.cells, table.notes) == ((["P"], ["A"], [7]), ())


def test_cells_in_another_order_are_read_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    third = f'<row r="3">{number("C3", 3)}{number("A3", 1)}{number("B3", 2)}</row>'
    file = pack(tmp_path / "a.xlsx", xlsx_parts(f'{third}{ROW}<row r="1">{HEADER}</row>'))
    table = read_spreadsheet(file)
    assert (table.cells, table.notes) == ((["P", 1], ["A", 2], [7, 3]), ())
    monkeypatch.setattr("evenhand.io.guard.MAX_DISORDERED", 7)
    refused(file, "damaged", "in no order")


def test_cells_that_stand_twice_in_a_sheet_that_is_not_read_do_no_harm(tmp_path: Path) -> None:
    parts = xlsx_parts()
    parts["xl/workbook.xml"] = str(parts["xl/workbook.xml"]).replace(
        "</sheets>", '<sheet name="Old" sheetId="2" r:id="r2"/></sheets>'
    )
    parts["xl/_rels/workbook.xml.rels"] = str(parts["xl/_rels/workbook.xml.rels"]).replace(
        "</Relationships>",
        f'<Relationship Id="r2" Type="{RELATIONS}/worksheet" Target="worksheets/sheet2.xml"/></Relationships>',
    )
    parts["xl/worksheets/sheet2.xml"] = str(xlsx_parts(PLAIN + TWO_ROWS)["xl/worksheets/sheet1.xml"])
    file = pack(tmp_path / "a.xlsx", parts)
    assert read_spreadsheet(file).columns[2] == [7]
    with pytest.raises(InputError, match=r"sheet Old, row 2, column C: The cell C2 stands twice"):
        read_spreadsheet(file, "Old")


def test_rows_are_counted_on_from_rows_and_not_from_cells_that_lie_about_theirs(tmp_path: Path) -> None:
    rows = f'{PLAIN}<row r="3"><c r="B9"><v>1</v></c><c t="e"><v>#N/A</v></c></row><row><c t="e"><v>#N/A</v></c></row>'
    facts = inspect_workbook(pack(tmp_path / "a.xlsx", xlsx_parts(rows)))["Scores"]
    assert [block[:2] for block in facts.unreadable] == [(2, 2), (3, 0)]


def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    parts = {**xlsx_parts(), "xl/worksheets/Sheet1.xml": str(xlsx_parts(FAR)["xl/worksheets/sheet1.xml"])}
    refused(pack(tmp_path / "a.xlsx", parts), "damaged", "two parts of one name")


@pytest.mark.parametrize("value", ["1<!-- x -->2", "<![CDATA[12]]>", "1<?x y?>2"])
def test_a_value_that_the_library_would_cut_short_is_refused(tmp_path: Path, value: str) -> None:
    rows = f'{PLAIN}<row r="3">{number("C3", value)}</row>'
    refused(pack(tmp_path / "a.xlsx", xlsx_parts(rows)), "damaged", "is interrupted by what is no text")
    rows = f'<row r="1">{HEADER}</row><row r="2"><c r="A2" t="inlineStr"><is><t>{value}</t></is></c></row>'
    assert read_spreadsheet(pack(tmp_path / "b.xlsx", xlsx_parts(rows))).columns[0] == ["12"]


def test_a_text_of_an_opendocument_file_that_the_library_would_lose_is_refused(tmp_path: Path) -> None:
    file = pack(tmp_path / "a.ods", ods_parts(ODS_PLAIN.replace(">P<", "><![CDATA[P]]><")))
    refused(file, "damaged", "is interrupted by what is no text")


def test_a_second_table_of_cells_in_a_sheet_is_refused(tmp_path: Path) -> None:
    rows = f'{PLAIN}</sheetData><sheetData><row r="3">{number("C3", 1)}</row>'
    refused(pack(tmp_path / "a.xlsx", xlsx_parts(rows)), "damaged", "two tables of cells in one sheet")


def test_names_of_sheets_elsewhere_do_not_hide_what_was_found_in_an_opendocument_file(tmp_path: Path) -> None:
    parts = {**ods_parts(ODS_PLAIN), "meta.xml": '<x><sheet name="Other"/></x>'}
    assert inspect_workbook(pack(tmp_path / "a.ods", parts))["Scores"].filled == 6


def test_too_many_parts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.io.guard.MAX_PARTS", 4)
    refused(pack(tmp_path / "a.xlsx", xlsx_parts()), "too_large", "5 parts")


class PanicException(BaseException):
    """Stands for what the library raises when it panics."""


def raising(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> dict[str, SheetFacts]:
        raise error

    return fail


def test_a_panic_of_the_library_is_turned_into_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = pack(tmp_path / "a.xlsx", xlsx_parts())
    monkeypatch.setattr("evenhand.io.spreadsheet._read", raising(PanicException("index out of bounds\nmore")))
    refused(file, "damaged", "(index out of bounds)")
    monkeypatch.setattr("evenhand.io.spreadsheet._read", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        read_spreadsheet(file)


def test_an_error_of_the_library_is_turned_into_a_sentence(tmp_path: Path) -> None:
    rows = f'{PLAIN}<row r="3"><c r="C3" t="n"><v>not a number</v></c></row>'
    refused(pack(tmp_path / "a.xlsx", xlsx_parts(rows)), "damaged", "cannot be read")
