"""Lists, conflicts, bids and assignments of conference systems say the same as files in our words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import evenhand as eh
from evenhand.cli import main
from evenhand.design.inputs import Members
from evenhand.errors import InputError
from evenhand.io.designs import read_design_pairs, read_expected, read_labels, read_members, read_pairs

PAPERS = Members("object", ("1", "2", "3"), {})
PEOPLE = Members("assessor", ("ana@x.org", "ben@x.org"), {})


Write = Callable[..., Path]


@pytest.fixture(name="write")
def _write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def rated(path: Path, objects: Members = PAPERS, assessors: Members = PEOPLE) -> dict[tuple[str, str], float]:
    found = read_expected(path, objects, assessors)
    assert found.expertise is not None
    width = len(assessors.labels)
    pairs = [(assessors.labels[key % width], objects.labels[key // width]) for key in found.keys.tolist()]
    return dict(zip(pairs, found.expertise.tolist(), strict=True))


# --- HotCRP --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "last"), [("given_name", "family_name"), ("first", "last")])
def test_the_list_of_hotcrps_committee_is_people_by_address_with_topics(write: Write, first: str, last: str) -> None:
    text = (
        f'{first},{last},email,affiliation,roles,collaborators,follow,"topic: Knots, tight",topic: Ties\n'
        "Ana,Abel,ana@x.org,X,pc,None,,2,-1\nBen,Bux,ben@x.org,Y,pc chair,None,,high,1\n"
    )
    found = read_members(write(text), "assessor")
    assert found.labels == ("ana@x.org", "ben@x.org")
    assert list(found.columns["topics"]) == ["Knots tight", "Knots tight; Ties"]
    assert found.find("Ana Abel") == 0
    assert found.find("BEN@X.ORG") == 1
    assert found.find("Cy") == -1


def test_topics_of_hotcrp_are_one_row_each_and_become_one_for_each_paper(write: Write) -> None:
    text = 'paper,title,topic\n1,Knots,"Knots, tight"\n1,Knots,Ties\n2,Loops,Ties\n3,Bows,<none>\n'
    found = read_members(write(text), "object")
    assert found.labels == ("1", "2", "3")
    assert list(found.columns["topics"]) == ["Knots tight; Ties", "Ties", None]
    assert found.details == {"title": {"1": "Knots", "2": "Loops", "3": "Bows"}}


def test_every_row_of_hotcrps_conflicts_is_one(write: Write) -> None:
    head = "paper,title,given_name,family_name,email,conflicttype\n"
    path = write(f"{head}1,Knots,Ana,Abel,ana@x.org,Institutional\n3,Ties,Ben,Bux,Ben@X.org,Author\n")
    assert list(read_design_pairs(path, PAPERS, PEOPLE, "conflicts")) == [("ana@x.org", "1"), ("ben@x.org", "3")]
    assert read_pairs(path) == [("ana@x.org", "1"), ("Ben@X.org", "3")]
    by_name = Members(
        "assessor", ("Ana Abel", "Ben Bux"), {}, aliases={"ana@x.org": "Ana Abel", "ben@x.org": "Ben Bux"}
    )
    assert list(read_design_pairs(path, PAPERS, by_name, "conflicts")) == [("Ana Abel", "1"), ("Ben Bux", "3")]


PREFERENCES = """paper,title,given_name,family_name,email,conflict,preference,expertise,topic_score
1,Knots,Ana,Abel,ana@x.org,,10,X,2
2,Loops,Ana,Abel,ana@x.org,conflict,,,
3,Ties,Ana,Abel,ana@x.org,,-10,,
1,Knots,Ben,Bux,ben@x.org,,-100,,
2,Loops,Ben,Bux,ben@x.org,,50,,
3,Ties,Ben,Bux,ben@x.org,,,,1
"""


def test_preferences_of_hotcrp_are_expertise_and_conflicts(write: Write) -> None:
    path = write(PREFERENCES)
    barred = {("ana@x.org", "2"): 0.0, ("ben@x.org", "1"): 0.0}  # not ordinary, should nobody give them as conflicts
    assert rated(path) == {("ana@x.org", "1"): 1.0, ("ana@x.org", "3"): 0.25, ("ben@x.org", "2"): 1.0, **barred}
    conflicts = list(read_design_pairs(path, PAPERS, PEOPLE, "conflicts"))
    assert conflicts == [("ana@x.org", "2"), ("ben@x.org", "1")]


def test_one_members_preferences_need_an_address_and_join_number_and_letter(write: Write) -> None:
    head = "paper,title,email,preference,notes\n"
    text = f"{head}1,Knots,ana@x.org,10X,\n2,Loops,ana@x.org,-20,\n3,Ties,ana@x.org,,conflict\n"
    assert rated(write(text)) == {("ana@x.org", "1"): 1.0, ("ana@x.org", "2"): 0.0, ("ana@x.org", "3"): 0.0}
    assert list(read_design_pairs(write(text), PAPERS, PEOPLE, "conflicts")) == [("ana@x.org", "3")]
    with pytest.raises(InputError, match="does not say whose"):
        read_expected(write("paper,title,preference\n1,Knots,10X\n"), PAPERS, PEOPLE)


def test_assignments_of_hotcrp_are_fixed_pairs_without_what_clears_them(write: Write) -> None:
    text = (
        "paper,action,email,round,title\n1,clearreview,#pc,any,Knots\n1,primaryreview,ana@x.org,R1,Knots\n"
        "1,metareview,ben@x.org,,Knots\n2,pcreview,ben@x.org,R1,Loops\n"
    )
    found = list(read_design_pairs(write(text), PAPERS, PEOPLE, "fixed pairs"))
    assert found == [("ana@x.org", "1"), ("ben@x.org", "2")]
    with pytest.raises(InputError, match=r"no column of|email"):
        read_expected(write(text), PAPERS, PEOPLE)


# --- EasyChair -----------------------------------------------------------------------------------

COMMITTEE = """#,person #,first name,last name,email,country,role
3,11,Ana,Abel,ana@x.org,X,chair
4,12,Ben,Bux,ben@x.org,Y,PC member
"""
BIDS = """member #,member name,submission #,bid
3,Ana Abel,1,yes
3,Ana Abel,2,maybe
4,Ben Bux,1,no
4,Ben Bux,3,conflict
"""


def test_bids_of_easychair_join_the_committee_by_number(write: Write) -> None:
    people = read_members(write(COMMITTEE, "committee.csv"), "assessor")
    assert people.labels == ("ana@x.org", "ben@x.org")
    wanted = {("ana@x.org", "1"): 1.0, ("ana@x.org", "2"): 0.5, ("ben@x.org", "1"): 0.0, ("ben@x.org", "3"): 0.0}
    assert rated(write(BIDS), assessors=people) == wanted
    assert list(read_design_pairs(write(BIDS), PAPERS, people, "conflicts")) == [("ben@x.org", "3")]
    by_name = Members("assessor", ("Ana Abel", "Ben Bux"), {})
    assert rated(write(BIDS), assessors=by_name)["Ana Abel", "2"] == 0.5
    assigned = write("member #,member name,submission #\n4,Ben Bux,2\n")
    assert list(read_design_pairs(assigned, PAPERS, people, "fixed pairs")) == [("ben@x.org", "2")]
    with pytest.raises(InputError, match="no conflict in it"):
        read_design_pairs(write(BIDS.replace("conflict", "no")), PAPERS, people, "conflicts")


def test_submissions_of_easychair_that_are_deleted_are_no_objects(write: Write) -> None:
    found = read_members(
        write("#,title,authors,decision,deleted?\n1,Knots,A,no decision,no\n2,Ties,B,,yes\n"), "object"
    )
    assert found.labels == ("1",)
    assert found.details == {"title": {"1": "Knots"}}


# --- CMT and OpenReview --------------------------------------------------------------------------


def test_files_of_cmt_have_a_header_behind_a_hash_and_bids_are_scaled(write: Write) -> None:
    conflicts = write("# Paper ID\tReviewer Email\n1\tana@x.org\n2\tben@x.org\n", "ReviewerConflicts.txt")
    assert list(read_design_pairs(conflicts, PAPERS, PEOPLE, "conflicts")) == [("ana@x.org", "1"), ("ben@x.org", "2")]
    users = write("# First Name\tLast Name\tE-mail\tDomain Conflicts\nAna\tAbel\tana@x.org\tx.org\n", "users.txt")
    assert read_members(users, "assessor").labels == ("ana@x.org",)
    user = '<user email="{}" bid="{}"/>'
    one = user.format("ana@x.org", "3 - Eager") + user.format("ben@x.org", "1 - In a pinch")
    bids = write(f'<bids><submission submissionId="1">{one}</submission></bids>', "bids.xml")
    assert rated(bids) == {("ana@x.org", "1"): 1.0, ("ben@x.org", "1"): 0.0}
    with pytest.raises(InputError, match="bids, not conflicts"):
        read_design_pairs(bids, PAPERS, PEOPLE, "conflicts")
    inside = '<submission submissionId="2"><user email="ben@x.org"/></submission>'
    assigned = write(f"<assignments>{inside}</assignments>", "assigned.xml")
    assert list(read_design_pairs(assigned, PAPERS, PEOPLE, "fixed pairs")) == [("ben@x.org", "2")]
    with pytest.raises(InputError, match="not known"):
        read_design_pairs(write("<users/>", "users.xml"), PAPERS, PEOPLE, "conflicts")


NOTES = Members("object", ("n1", "n2"), {})
PROFILES = Members("assessor", ("~Ana_Abel1", "~Ben_Bux1"), {})


def test_edges_of_openreview_are_bids_affinities_and_conflicts(write: Write) -> None:
    def edge(kind: str, head: str, tail: str, **further: object) -> dict[str, object]:
        return {"invitation": f"V/Reviewers/-/{kind}", "head": head, "tail": tail, "ddate": None, **further}

    edges = [
        edge("Bid", "n1", "~Ana_Abel1", label="Very High"),
        edge("Bid", "n2", "~Ana_Abel1", label="Low"),
        edge("Affinity_Score", "n1", "~Ben_Bux1", weight=0.25),
        edge("Bid", "n2", "~Ben_Bux1", label="High", ddate=17),
        edge("Conflict", "n2", "~Ben_Bux1", weight=-1, label="Conflict"),
    ]
    path = write(json.dumps({"edges": edges, "count": 5}), "edges.json")
    wanted = {("~Ana_Abel1", "n1"): 1.0, ("~Ana_Abel1", "n2"): 0.25, ("~Ben_Bux1", "n1"): 0.25}
    assert rated(path, NOTES, PROFILES) == wanted
    assert list(read_design_pairs(path, NOTES, PROFILES, "conflicts")) == [("~Ben_Bux1", "n2")]
    lines = write("\n".join(map(json.dumps, edges)), "edges.jsonl")
    assert rated(lines, NOTES, PROFILES) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "n1,~Ana_Abel1,0.5\nn2,~Ben_Bux1,0.75\n",
        "entityA,entityB,score\nn1,~Ana_Abel1,0.5\nn2,~Ben_Bux1,0.75\n",
        "entityA,entityB,score\n~Ana_Abel1,n1,0.5\n~Ben_Bux1,n2,0.75\n",
    ],
)
def test_affinities_of_openreview_have_no_header_or_one_of_its_own(write: Write, text: str) -> None:
    assert rated(write(text), NOTES, PROFILES) == {("~Ana_Abel1", "n1"): 0.5, ("~Ben_Bux1", "n2"): 0.75}


# --- our own files -------------------------------------------------------------------------------


def test_columns_that_are_named_are_read_where_they_are(write: Write) -> None:
    people = read_members(write("paper,Who,load\nx,Ana,3\ny,Ben,4\n"), "assessor", column="who")
    assert people.labels == ("Ana", "Ben")
    pairs = write("Code,paper,Who\n1,x,Ana\n2,y,Ben\n")
    found = read_design_pairs(pairs, PAPERS, people, "conflicts", object="Code", assessor="Who")
    assert list(found) == [("Ana", "1"), ("Ben", "2")]
    known = write("Who,Code,level\nAna,1,high\n")
    read = read_expected(known, PAPERS, people, object="Code", assessor="Who")
    assert read.keys.tolist() == [0]
    with pytest.raises(InputError, match=r"no column 'whom'.*assessor"):
        read_members(write("Who\nAna\n"), "assessor", column="whom")


def test_a_list_with_addresses_only_is_a_list_of_assessors(write: Write) -> None:
    path = write("name,email\nAna,ana@x.org\nBen,ben@x.org\n")
    assert read_members(path, "assessor").labels == ("ana@x.org", "ben@x.org")
    assert read_labels(path, "assessor") == ["ana@x.org", "ben@x.org"]


def test_a_name_of_two_people_is_nobodys_name(write: Write) -> None:
    people = read_members(write("assessor,name\na,Kim\nb,Kim\nc,Lee\n"), "assessor")
    assert (people.find("Kim"), people.find("Lee"), people.find("c")) == (-1, 2, 2)


def test_large_tables_of_two_and_three_columns_say_what_small_ones_say(tmp_path: Path) -> None:
    objects = Members("object", tuple(f"paper-{at:05}" for at in range(400)), {})
    assessors = Members("assessor", tuple(f"person-{at:05}@somewhere.org" for at in range(100)), {})
    pairs = [(assessor, object_) for object_ in objects.labels for assessor in assessors.labels]
    path = tmp_path / "pairs.csv"
    path.write_text("assessor,object\n" + "".join(f"{a},{o}\n" for a, o in pairs), encoding="utf-8")
    assert path.stat().st_size > 2**20
    assert list(read_design_pairs(path, objects, assessors, "conflicts")) == pairs
    path.write_text(
        "assessor,object,expertise\n" + "".join(f"{a},{o},0.{len(a) % 10}\n" for a, o in pairs), encoding="utf-8"
    )
    found = read_expected(path, objects, assessors)
    assert found.keys.tolist() == list(range(len(pairs)))
    path.write_text(path.read_text(encoding="utf-8") + "nobody,paper-00000,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="there is no assessor nobody"):
        read_expected(path, objects, assessors)


def test_a_design_of_files_from_hotcrp_is_the_design_of_our_own(write: Write, tmp_path: Path) -> None:
    people = write(
        "given_name,family_name,email,roles\nAna,A,ana@x.org,pc\nBen,B,ben@x.org,pc\nCy,C,cy@x.org,pc\n", "pc.csv"
    )
    papers = write("Nr,title\n1,Knots\n2,Loops\n3,Ties\n", "papers.csv")
    head = "paper,title,given_name,family_name,email,conflicttype\n"
    conflicts = write(f"{head}1,Knots,Ana,A,ana@x.org,Author\n", "conflicts.csv")
    arguments = ["design", "--objects", str(papers), "--assessors", str(people), "--per-object", "2", "--object", "Nr"]
    arguments += ["--conflicts", str(conflicts), "--no-outlook", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assigned = {(one["assessor"], one["object"]) for one in json.loads(result.stdout)["assignments"]}
    labels = ["ana@x.org", "ben@x.org", "cy@x.org"]
    wanted = eh.assign(["1", "2", "3"], labels, per_object=2, conflicts=[("ana@x.org", "1")]).columns()
    assert assigned == set(zip(wanted["assessor"], wanted["object"], strict=True))
    assert ("ana@x.org", "1") not in assigned


def test_a_name_of_a_column_without_a_file_is_refused() -> None:
    result = CliRunner().invoke(
        main, ["design", "--objects", "4", "--assessors", "3", "--per-object", "2", "--object", "x"]
    )
    assert result.exit_code == 2
    assert "--object names a column" in result.output
