"""Record cites: read by our own grammar and resolved to a place, or to the reason why not."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import Verdict
from protocol.record import PageInfo, Reading
from verify.citations import judge_record_cite, named_document
from verify.judged import Judged
from verify.locators import CiteKind, find_record_cites
from verify.source import DictSource

DEPO = (
    "DEPOSITION OF DANA REEVES\f 1 Q. Did you?\n 2 A. I did.\n 3 Q. When?\f 1 A. In "
    "May.\n 2 Q. Ok?\n 3 A. Yes.\n"
)
COMPLAINT = "COMPLAINT\n1. Hartwell is a tenant.\n2. Northgate owns it.\n3. The roof leaked.\n"


def page(
    number: int, start: int, end: int, bates: str | None, label: str | None = None
) -> PageInfo:
    return PageInfo(
        number=number,
        start=start,
        end=end,
        label=label,
        bates=bates,
        reading=Reading.TEXT,
        confidence=None,
        readers_disagree=False,
        reason="",
    )


class Labelled(DictSource):
    """A record whose documents carry exhibit labels."""

    def __init__(self, labels: dict[str, str], *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._infos = tuple(
            msgspec.structs.replace(info, exhibit=labels.get(info.id)) for info in self._infos
        )


def record() -> DictSource:
    first, second = DEPO.index("\f"), DEPO.rindex("\f")
    pages = {
        "depo": [
            page(1, 0, first, "NG-000211"),
            page(2, first + 1, second, "NG-000212", "1"),
            page(3, second + 1, len(DEPO), "NG-000213", "2"),
        ]
    }
    documents = {
        "depo": ("Deposition of Dana Reeves", DEPO),
        "compl": ("Complaint (Dkt. 1)", COMPLAINT),
        "lease": ("Lease Agreement", "LEASE\fpage two\fpage three"),
        "order": ("Order (Dkt. 31)", "Case 1:23-cv-1 Document 31 Filed 01/02/24 Page 1 of 2\f..."),
        "ko": ("매매계약서", "제1조"),
    }
    return Labelled({"lease": "Ex. A", "ko": "갑 제3호증의 1"}, documents, pages=pages)


READ = [
    ("NG-000212", CiteKind.BATES, {"label": "NG", "serial": 212, "width": 6}),
    ("NG-000212-213", CiteKind.BATES, {"serial": 212, "serial_end": 213}),
    ("ACME_0001234-36", CiteKind.BATES, {"serial": 1234, "serial_end": 1236}),
    ("ACME000123", CiteKind.BATES, {"label": "ACME", "serial": 123}),
    ("SMITH-DEF 000012 at -14", CiteKind.BATES, {"label": "SMITH-DEF", "serial": 14}),
    ("Ex. A", CiteKind.EXHIBIT, {"label": "A", "page": None}),
    ("Ex. 12 at 3", CiteKind.EXHIBIT, {"label": "12", "page": 3}),
    ("Exhibit 12", CiteKind.EXHIBIT, {"label": "12"}),
    ("ECF No. 52-1 at 7", CiteKind.DOCKET, {"label": "52-1", "page": 7}),
    ("Dkt. 31 ¶ 4", CiteKind.DOCKET, {"label": "31", "paragraph": 4}),
    (
        "Smith Dep. 45:12-46:3",
        CiteKind.TRANSCRIPT,
        {"name": "Smith", "page": 45, "line": 12, "page_end": 46, "line_end": 3},
    ),
    ("Hr'g Tr. 9:17-19", CiteKind.TRANSCRIPT, {"page": 9, "line": 17, "line_end": 19}),
    ("Lee Decl. ¶ 7", CiteKind.PAPER, {"name": "Lee", "paragraph": 7}),
    ("Compl. ¶¶ 12-14", CiteKind.PAPER, {"paragraph": 12, "paragraph_end": 14}),
    ("Am. Answer at 3", CiteKind.PAPER, {"page": 3}),
    ("갑 제3호증의 1 제5면", CiteKind.EXHIBIT, {"label": "갑 3-1", "page": 5}),
    ("을 제2호증", CiteKind.EXHIBIT, {"label": "을 2"}),
    ("Id. at 47:2", CiteKind.ID, {"page": 47, "line": 2}),
    ("Reeves Dep., supra, at 3", CiteKind.SUPRA, {"name": "Reeves", "page": 3}),
]


@pytest.mark.parametrize(("written", "kind", "parts"), READ)
def test_each_form_is_read_with_its_parts(
    written: str, kind: CiteKind, parts: dict[str, object]
) -> None:
    (cite,) = find_record_cites(f"so it was, see {written}.")
    assert cite.kind is kind
    found = dataclasses.asdict(cite)
    assert {name: found[name] for name in parts} == parts
    assert f"so it was, see {written}."[cite.start : cite.end] == written


@pytest.mark.parametrize(
    "text",
    [
        "at 10:30 a.m.",
        "ISO 90010",
        "COVID-19 and FY2024",
        "USD 50000",
        "28 U.S.C. § 1746",
        "558 F.2d 105",
    ],
)
def test_what_only_looks_like_a_cite_is_none(text: str) -> None:
    assert find_record_cites(text) == ()


def judge(cite: str, before: str = "See ") -> Judged:
    reply = f"{before}{cite}."
    return judge_record_cite(reply, (len(before), len(before) + len(cite)), record())


@pytest.mark.parametrize(
    ("cite", "document", "words"),
    [
        ("NG-000212", "depo", " 1 Q. Did you?"),
        ("NG-000212-213", "depo", " 1 Q. Did you?"),
        ("Reeves Dep. 1:2-2:1", "depo", " 2 A. I did."),
        ("Reeves Dep. 2:3", "depo", " 3 A. Yes."),
        ("Compl. ¶ 3", "compl", "3. The roof"),
        ("Ex. A at 2", "lease", "page two"),
        ("Ex. A", "lease", "LEASE"),
        ("Dkt. 31", "order", "Case 1:23"),
        ("갑 제3호증의 1", "ko", "제1조"),
    ],
)
def test_a_place_that_exists_is_verified(cite: str, document: str, words: str) -> None:
    judged = judge(cite)
    assert judged.verdict is Verdict.VERIFIED, judged.reason
    place = judged.places[0]
    assert place.document == document
    assert record().text(place.document)[place.start : place.end].startswith(words)


@pytest.mark.parametrize(
    ("cite", "reason"),
    [
        ("NG-000999", "carries NG-000999"),
        ("NG-000212-214", "carries NG-000214"),
        ("Reeves Dep. 9:1", "no page 9"),
        ("Reeves Dep. 2:24", "no line 24"),
        ("Compl. ¶ 44", "no paragraph 44"),
        ("Ex. B", "No exhibit B"),
        ("Ex. A at 7", "no page 7"),
        ("Dkt. 77", "docket number 77"),
        ("을 제9호증", "No exhibit"),
        ("Smith Dep. 1:2", "is in the record"),
    ],
)
def test_a_place_that_does_not_exist_is_not_found_with_the_reason(cite: str, reason: str) -> None:
    judged = judge(cite)
    assert judged.verdict is Verdict.NOT_FOUND, judged
    assert reason in judged.reason


def test_id_goes_to_the_last_full_cite_and_nowhere_without_one() -> None:
    judged = judge("Id. at 2:3", "She said so, Reeves Dep. 1:2. ")
    assert judged.verdict is Verdict.VERIFIED
    assert judge("Id. at 2:3", "She said so. ").verdict is Verdict.CHECK
    assert judge("Id. at 9:3", "She said so, Reeves Dep. 1:2. ").verdict is Verdict.NOT_FOUND


# --- what a reply attributes an item to ---


def named(reply: str, item: str) -> tuple[tuple[str, ...], bool]:
    start = reply.index(item)
    found = named_document(reply, (start, start + len(item)), record())
    return found.documents, found.exact


@pytest.mark.parametrize(
    ("reply", "documents", "exact"),
    [
        ("Lease Agreement says: it is ITEM.", ("lease",), True),
        ("The lease says it is ITEM.", ("lease",), False),
        ("Ms. Reeves testified that it is ITEM.", ("depo",), False),
        ("It is ITEM (Ex. A at 2).", ("lease",), True),
        ("It is ITEM. (Complaint (Dkt. 1))", ("compl",), True),
        ("It is ITEM, see NG-000213.", ("depo",), True),
        ("Lease Agreement is long. In it stands ITEM.", ("lease",), False),
        ("It is ITEM.", (), False),
        ("Lease Agreement says a. Deposition of Dana Reeves says ITEM.", ("depo",), True),
    ],
)
def test_the_document_is_the_one_the_reply_names(
    reply: str, documents: tuple[str, ...], exact: bool
) -> None:
    assert named(reply, "ITEM") == (documents, exact)


def test_the_longer_of_two_titles_at_one_place_is_meant() -> None:
    source = DictSource({"a": ("Note", "x"), "b": ("Note (produced copy)", "x")})
    reply = "Note (produced copy) says ITEM."
    assert named_document(reply, (25, 29), source).documents == ("b",)


def test_a_page_beyond_the_end_is_a_problem() -> None:
    reply = "Lease Agreement at p. 9 says ITEM."
    found = named_document(reply, (29, 33), record())
    assert found.place is not None
    assert found.place.page == 9
    assert "3 pages" in found.problem


_PIECES = st.sampled_from(
    [written for written, _, _ in READ] + ["Lease Agreement", "Id.", "supra", "at 3", "¶"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=6).map(" ".join))
def test_any_reply_is_read_without_failing(reply: str) -> None:
    end = 0
    source = record()
    for cite in find_record_cites(reply):
        assert end <= cite.start < cite.end <= len(reply)
        end = cite.end
        judge_record_cite(reply, (cite.start, cite.end), source)
    named_document(reply, (0, min(3, len(reply))), source)
