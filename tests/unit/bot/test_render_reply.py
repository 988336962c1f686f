"""A whole reply, line for line, in the anatomy that every face shows."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from bot import words as catalogue
from bot.blocks import plain
from bot.failures import error_blocks, stopped
from bot.findings import finding_line
from bot.look import ASCII, Look, zone
from bot.render import asked_line, counts, reply
from protocol.answers import (
    Decision,
    ItemKind,
    Provenance,
    ReviewState,
    SentenceClass,
    Table,
    Timings,
    Verdict,
)
from protocol.errors import ErrorValue
from protocol.ids import UserName
from protocol.record import Coverage, Unread

TEXT = (
    "Northgate knew in January 2024. Ms. Reeves testified: “I reported it to facilities on "
    "January 9, 2024, and again on January 23, 2024.” Asked whether in writing, she said “The "
    "second time, yes.” Facilities answered on January 10, 2024. Repairs were put at $1.2 million."
)
SENTENCES = (
    "Northgate knew in January 2024.",
    "Ms. Reeves testified: “I reported it to facilities on January 9, 2024, and again on January "
    "23, 2024.”",
    "Asked whether in writing, she said “The second time, yes.”",
    "Facilities answered on January 10, 2024.",
    "Repairs were put at $1.2 million.",
)
CLASSES = (SentenceClass.INFERENCE,)
RECORD_1 = "I reported it to facilities on January 9,\n2024, and again on January 23, 2024."


@pytest.fixture
def sample(make_answer, make_item, make_cite):
    items = (
        make_item(
            1,
            TEXT,
            SENTENCES[0],
            Verdict.CHECK,
            kind=ItemKind.STATEMENT,
            reason="Our inference, not the record's words: rests on 2 and 3",
        ),
        make_item(
            2,
            TEXT,
            "“I reported it to facilities on January 9, 2024, and again on January 23, 2024.”",
            Verdict.VERIFIED,
            places=(make_cite("Reeves Dep. 1:8-2:1 (NG-000212-213)", words=RECORD_1),),
        ),
        make_item(
            3,
            TEXT,
            "“The second time, yes.”",
            Verdict.VERIFIED,
            places=(
                make_cite(
                    "Reeves Dep. 2:3, answer to the question at 2:2 (NG-000213)",
                    words="The second time, yes.",
                ),
            ),
        ),
        make_item(
            4,
            TEXT,
            "January 10, 2024",
            Verdict.NOT_FOUND,
            kind=ItemKind.DATE,
            reason="No document gives this date for an answer.",
            nearest=(make_cite("Osei e-mail, 16 Jan 2024 (NG-000412)"),),
        ),
        make_item(
            5,
            TEXT,
            "$1.2 million",
            Verdict.CHECK,
            kind=ItemKind.AMOUNT,
            reason="Amount found (Inspection Report p. 4), but that page was read by OCR at 71 %: "
            "look at it",
            places=(make_cite("Inspection Report p. 4"),),
        ),
    )
    return make_answer(
        TEXT,
        items,
        sentences=SENTENCES,
        classes=CLASSES,
        question="When did Northgate first know of the leak?",
        coverage=Coverage(
            documents=18,
            documents_read=18,
            pages=214,
            pages_read=211,
            unread=(Unread(document=None, name="NG-000031-33", pages="", reason=""),),
        ),
        timings=Timings(
            reading_ms=4_100,
            writing_ms=12_900,
            checking_ms=400,
            prompt_tokens=2_050,
            reused_tokens=1_912,
            output_tokens=529,
            tokens_per_s=41.0,
            board="A",
        ),
    )


def shown(answer, look, **more) -> str:
    return plain(reply(answer, look, **more), look.width)


def test_the_whole_reply(sample, look):
    wide = msgspec.structs.replace(look, width=120)
    corner = " " * 67 + "Draft · awaiting review"
    wanted = f"""\
 #M-7F3K hartwell-v-northgate{corner}
 /ask When did Northgate first know of the leak?

 Northgate knew in January 2024. [1 ≈] Ms. Reeves testified: “I reported it to facilities on January 9, 2024, and again
 on January 23, 2024.” [2 ✔] Asked whether in writing, she said “The second time, yes.” [3 ✔] Facilities answered on
 January 10, 2024. [4 ✘] Repairs were put at $1.2 million. [5 ≈]

 1 ≈ CHECK          Our inference, not the record's words: rests on 2 and 3
 2 ✔ VERIFIED       Reeves Dep. 1:8-2:1 (NG-000212-213)
 3 ✔ VERIFIED       Reeves Dep. 2:3, answer to the question at 2:2 (NG-000213)
 4 ✘ NOT FOUND      No document gives this date for an answer. Nearest: Osei e-mail, 16 Jan 2024 (NG-000412)
 5 ≈ CHECK          Amount found (Inspection Report p. 4), but that page was read by OCR at 71 %: look at it

 2 verified · 2 to look at · 1 failing        read 18 of 18 documents, 211 of 214 pages (3 unreadable: NG-000031-33)
 queue 0 s · reading 4.1 s (1,912 of 2,050 tokens reused) · writing 12.9 s, 41 tok/s on board A · checking 0.4 s
 /open N   /approve   /return NOTE   /export (after approval)
"""  # noqa: E501
    assert shown(sample, wide, title="hartwell-v-northgate") == wanted


def test_eighty_cells_keep_every_part_whole(sample, look):
    got = shown(sample, msgspec.structs.replace(look, width=80), title="hartwell-v-northgate")
    assert max(map(len, got.splitlines())) <= 80
    for part in (
        " 2 verified · 2 to look at · 1 failing\n read 18 of 18 documents, 211 of 214 pages (3",
        "\n writing 12.9 s, 41 tok/s on board A · checking 0.4 s\n",
        "\n 4 ✘ NOT FOUND      No document gives this date for an answer. Nearest: Osei\n"
        "                    e-mail, 16 Jan 2024 (NG-000412)\n",
    ):
        assert part in got


def test_without_signs_the_words_take_their_place(sample, look):
    got = shown(sample, msgspec.structs.replace(look, signs=ASCII))
    assert "January 2024. [1 look] Ms. Reeves" in got
    assert "January 23, 2024.” [2 ok] Asked" in got
    assert "\n 4 bad  NOT FOUND      No document" in got
    assert not set("✔≈✘") & set(got)


def test_the_same_reply_in_korean(sample):
    korean = Look(words=catalogue.load("ko"), width=100)
    got = shown(sample, korean, title="hartwell-v-northgate")
    assert "초안 · 검토 대기" in got
    assert "\n 4 ✘ 찾지 못함      No document" in got
    assert "\n 2 ✔ 확인됨         Reeves Dep. 1:8" in got
    assert "문서 18건 중 18건, 214쪽 중 211쪽 읽음" in got


@pytest.mark.parametrize(
    ("state", "corner"),
    [
        (ReviewState.AWAITING, "Draft · awaiting review"),
        (ReviewState.RETURNED, "Draft · returned by kim, 2026-03-05 09:30 KST"),
        (ReviewState.APPROVED, "Approved by kim, 2026-03-05 09:30 KST"),
        (ReviewState.FINAL, "Final by kim, 2026-03-05 09:30 KST"),
        (ReviewState.FILED, "Filed by kim, 2026-03-05 09:30 KST"),
        (ReviewState.WITHDRAWN, "Withdrawn by kim, 2026-03-05 09:30 KST"),
    ],
)
def test_the_state_stands_in_the_corner_in_the_readers_zone(make_answer, look, state, corner):
    decision = Decision(
        state=state,
        by=UserName("kim"),
        at=dt.datetime(2026, 3, 5, 0, 30, tzinfo=dt.UTC),
        answer_sha256="0" * 64,
        note="look at 4",
    )
    answer = make_answer("Nothing.", review=state, decision=decision)
    seoul = msgspec.structs.replace(look, zone=zone("Asia/Seoul"))
    lines = shown(answer, seoul).splitlines()
    assert lines[0].startswith(" #M-7F3K")
    assert lines[0].endswith("  " + corner)
    assert len(lines[0]) == seoul.width - 1
    assert lines[2] == " Reviewer's note: look at 4"


# --- the list of marks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "more", "line"),
    [
        # Green: the place first.
        (Verdict.VERIFIED, {"cite": "Lease § 7.2"}, "Lease § 7.2"),
        # Disclosed changes are said.
        (
            Verdict.VERIFIED_MARKED,
            {"cite": "Lease § 7.2", "steps": ("ellipsis",)},
            "Lease § 7.2 · changes disclosed: ellipsis",
        ),
        # A computed value shows its steps.
        (
            Verdict.COMPUTED,
            {"reason": "From 2 dates.", "steps": ("Jan 9 to Feb 19", "41 days")},
            "From 2 dates. computed, see steps: Jan 9 to Feb 19; 41 days",
        ),
        # Not green: the reason first, then where to look.
        (
            Verdict.ALTERED,
            {"reason": "One word differs", "cite": "Lease § 7.4"},
            "One word differs · Lease § 7.4",
        ),
        # A place that the reason names is not said twice.
        (Verdict.CHECK, {"reason": "See Lease § 7.4.", "cite": "Lease § 7.4"}, "See Lease § 7.4."),
        # Never an empty line.
        (Verdict.CHECK, {}, "no place given"),
    ],
)
def test_reason_and_place_in_one_line(make_item, make_cite, look, verdict, more, line):
    cite = more.get("cite")
    item = make_item(
        1,
        "words",
        "words",
        verdict,
        reason=more.get("reason", ""),
        steps=more.get("steps", ()),
        places=(make_cite(cite),) if cite else (),
    )
    assert finding_line(item, look) == line


def test_altered_shows_the_difference_in_words(make_answer, make_item, look):
    text = "The Landlord “shall” pay."
    item = make_item(
        1,
        text,
        "“shall”",
        Verdict.ALTERED,
        reason="A word is missing",
        diff='record "shall not" / reply "shall"',
    )
    lines = shown(make_answer(text, (item,)), look).splitlines()
    at = lines.index(" 1 ✘ ALTERED        A word is missing")
    assert lines[at + 1] == " " * 20 + 'record "shall not" / reply "shall"'


def test_many_places_are_counted(make_item, make_cite, look):
    places = tuple(make_cite(f"NG-{n:06d}") for n in range(1, 6))
    item = make_item(1, "w", "w", Verdict.VERIFIED, places=places, also_in=places[3:])
    wanted = "NG-000001; NG-000002; NG-000003 and 2 more · Also in NG-000004; NG-000005"
    assert finding_line(item, look) == wanted


def test_quotation_marks_that_quote_nothing_carry_no_mark(make_answer, make_item, look):
    text = "The so-called “log” is missing."
    item = make_item(1, text, "“log”", Verdict.NOT_A_QUOTE)
    answer = make_answer(text, (item,))
    assert counts(answer) == (0, 0, 0)
    assert "[1" not in shown(answer, look)


def test_the_longest_verdict_word_keeps_the_column(make_answer, make_item, look):
    items = (
        make_item(1, "a b", "a", Verdict.VERIFIED_MARKED, reason="x"),
        make_item(2, "a b", "b", Verdict.CHECK, reason="y"),
    )
    lines = shown(make_answer("a b", items), look).splitlines()
    assert " 1 ✔ VERIFIED MARKED changes disclosed" not in lines
    assert " 1 ✔ VERIFIED MARKED x · changes disclosed" in lines
    assert " 2 ≈ CHECK           y" in lines


# --- coverage, timings, notes ---------------------------------------------------------------------


def coverage_of(**more) -> Coverage:
    values = {"documents": 8, "documents_read": 8, "pages": 21, "pages_read": 18, "unread": ()}
    return Coverage(**{**values, **more})


@pytest.mark.parametrize(
    ("read", "line"),
    [
        (coverage_of(pages_read=21), "read 8 of 8 documents, 21 of 21 pages"),
        (
            coverage_of(
                unread=(Unread(document=None, name="Log.pdf", pages="1-3", reason="scan"),)
            ),
            "read 8 of 8 documents, 18 of 21 pages (3 unreadable: Log.pdf 1-3, scan)",
        ),
        # A file that gave no pages at all is said too.
        (
            coverage_of(
                documents_read=7,
                pages_read=21,
                unread=(Unread(document=None, name="x.wpd", pages="", reason="no reader"),),
            ),
            "read 7 of 8 documents, 21 of 21 pages (not read: x.wpd, no reader)",
        ),
        # Pages are missing and nobody says which: that is said.
        (coverage_of(), "read 8 of 8 documents, 18 of 21 pages (3 unreadable: ?)"),
        (
            coverage_of(pages_read=21, searched="12 passages of 3 documents"),
            "read 8 of 8 documents, 21 of 21 pages · looked through 12 passages of 3 documents",
        ),
    ],
)
def test_no_reply_without_a_coverage_line(make_answer, look, read, line):
    assert line in shown(make_answer("Nothing.", coverage=read), look)


def test_more_unread_things_than_fit_are_counted(make_answer, look):
    unread = tuple(Unread(document=None, name=f"f{n}", pages="", reason="") for n in range(11))
    got = shown(make_answer("Nothing.", coverage=coverage_of(unread=unread)), look)
    assert "f7; and 3 more)" in got.replace("\n", "")


@pytest.mark.parametrize(
    ("timings", "line"),
    [
        # No model: nothing was read or written.
        (Timings(retrieving_ms=210), "queue 0 s · searching 0.2 s · checking 0 s"),
        (Timings(queue_ms=75_000), "queue 75 s · checking 0 s"),
        (Timings(queue_ms=125_000), "queue 2 min 05 s · checking 0 s"),
        (Timings(queue_ms=4_200_000), "queue 1 h 10 min · checking 0 s"),
        (
            Timings(output_tokens=9, writing_ms=3_000, tokens_per_s=3.04),
            "queue 0 s · writing 3 s, 3.0 tok/s · checking 0 s",
        ),
    ],
)
def test_the_timing_line_leaves_out_what_did_not_happen(make_answer, look, timings, line):
    assert f"\n {line}\n" in shown(make_answer("Nothing.", timings=timings), look)


def test_notes_and_what_was_missing_are_said(make_answer, look):
    answer = make_answer(
        "Nothing.",
        notes=("Nothing checkable in this reply.",),
        provenance=Provenance(degraded="The model is away."),
    )
    got = shown(answer, look)
    assert "\n Note: Nothing checkable in this reply.\n" in got
    assert "\n Made with less: The model is away.\n" in got


# --- tables ---------------------------------------------------------------------------------------


def test_rows_show_their_mark_and_green_ones_are_not_listed_again(make_answer, make_item, look):
    text = "Two dates."
    items = (
        make_item(1, text, "Two", Verdict.VERIFIED, kind=ItemKind.DATE, reason="green reason"),
        make_item(2, text, "dates", Verdict.INCONSISTENT, kind=ItemKind.DATE, reason="a Tuesday"),
    )
    table = Table(
        columns=("date", "where"),
        rows=(("2024-01-09", "Reeves Dep. 2:25"), ("Monday, 13 Feb", "Compl. ¶ 15")),
        items=(1, 2),
    )
    lines = shown(make_answer(text, items, table=table, kind="extract"), look).splitlines()
    assert "        date            where" in lines
    assert " [1 ✔]  2024-01-09      Reeves Dep. 2:25" in lines
    assert " [2 ✘]  Monday, 13 Feb  Compl. ¶ 15" in lines
    assert " 2 ✘ INCONSISTENT   a Tuesday" in lines
    assert "green reason" not in "".join(lines)


def test_a_line_that_is_a_row_of_the_table_is_not_shown_twice(make_answer, make_item, look):
    text = "Dates\n- Lease: “It began on 1 May.”\n- Nobody signed it."
    items = [make_item(1, text, "“It began on 1 May.”", Verdict.VERIFIED)]
    table = Table(columns=("value", "words"), rows=(("1 May", "It began on 1 May."),), items=(1,))
    lines = shown(make_answer(text, items, table=table, kind="extract"), look).splitlines()
    assert sum("It began on 1 May." in line for line in lines) == 1
    assert any("Nobody signed it." in line for line in lines)


def test_a_wide_table_wraps_its_prose_and_keeps_its_dates(make_answer, look):
    prose = "Northgate received written notice of the leak in Suite 400 from its own manager"
    table = Table(columns=("date", "event"), rows=(("2024-01-23", prose),))
    narrow = msgspec.structs.replace(look, width=60)
    lines = shown(make_answer("", table=table), narrow).splitlines()
    assert " 2024-01-23  Northgate received written notice of the leak" in lines
    assert "             in Suite 400 from its own manager" in lines
    assert max(map(len, lines)) <= 60


def test_a_table_too_narrow_for_columns_becomes_lists(make_answer, look):
    table = Table(columns=tuple("abcdef"), rows=(tuple("value-" + c * 20 for c in "uvwxyz"),))
    lines = shown(
        make_answer("", table=table), msgspec.structs.replace(look, width=50)
    ).splitlines()
    assert "  a: value-uuuuuuuuuuuuuuuuuuuu" in lines
    assert "  f: value-zzzzzzzzzzzzzzzzzzzz" in lines


# --- in a reply's place ---------------------------------------------------------------------------


def test_an_error_says_what_was_kept_what_next_and_an_id(look):
    value = ErrorValue(
        code="unavailable",
        message="No board is free.",
        next_step="wait for a board",
        retry=True,
        reference="E-12",
    )
    got = plain(error_blocks(value, look, kept="Kept: J-1."), look.width)
    assert got == (
        " ✘ FAILED  No board is free.\n"
        "   Kept: J-1.\n"
        "   Next: wait for a board; trying again may help\n"
        "   Reference: E-12\n"
    )


def test_a_stopped_job_says_so(look):
    got = plain(stopped("J-0DV3K9Q2A-7F3K", look), look.width)
    assert got == " ≈ STOPPED  J-0DV3K9Q2A-7F3K was stopped on request.\n"


@pytest.mark.parametrize(
    ("kind", "question", "line"),
    [
        ("extract", "/extract dates", "/extract dates"),
        ("ask", "When?", "/ask When?"),
        ("summarize", "", "/summarize"),
    ],
)
def test_a_stored_reply_names_its_line_once(make_answer, look, kind, question, line):
    answer = make_answer("Nothing.", kind=kind, question=question)
    (piece,) = [p for sentence in asked_line(answer, look, "").sentences for p in sentence]
    assert piece.text == line
