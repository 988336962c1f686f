"""Marks stand where their item ends, with their sentence, and never inside a quotation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import words as catalogue
from bot.annotate import annotated, marked
from bot.blocks import plain
from bot.look import UNICODE, Look
from bot.render import reply
from protocol.answers import Claim, Finding, ItemKind, SentenceClass, Table, Verdict

ENGLISH = catalogue.load("en")


def body(answer) -> str:
    text = plain(annotated(answer, signs=UNICODE, words=ENGLISH), 2_000)
    return "\n".join(line.strip() for line in text.splitlines()).strip("\n")


@pytest.mark.parametrize(
    ("text", "item", "kind", "shown"),
    [
        # After the sentence's own full stop.
        (
            "It was reported on January 9, 2024.",
            "January 9, 2024",
            ItemKind.DATE,
            "It was reported on January 9, 2024. [1 ✔]",
        ),
        # After a comma, before the next word.
        (
            "On January 9, 2024, she called.",
            "January 9, 2024",
            ItemKind.DATE,
            "On January 9, 2024, [1 ✔] she called.",
        ),
        # After the closing mark of a quotation whose item leaves the marks out.
        (
            "She said “The second time, yes.” and left.",
            "The second time, yes.",
            ItemKind.QUOTE,
            "She said “The second time, yes.” [1 ✔] and left.",
        ),
        # Before a dash that parts two thoughts.
        ("Paid $640—too late.", "$640", ItemKind.AMOUNT, "Paid $640 [1 ✔]—too late."),
        # A Korean particle belongs to the word before it.
        (
            "2024년 1월 9일에 보고하였다.",
            "2024년 1월 9일",
            ItemKind.DATE,
            "2024년 1월 9일에 [1 ✔] 보고하였다.",
        ),
        # At the very end and at the very start.
        ("$640", "$640", ItemKind.AMOUNT, "$640 [1 ✔]"),
        # Inside brackets the mark follows them.
        ("(see NG-000412)", "NG-000412", ItemKind.RECORD_CITE, "(see NG-000412) [1 ✔]"),
    ],
)
def test_a_mark_stands_at_the_end_of_its_item(make_answer, make_item, text, item, kind, shown):
    found = make_item(1, text, item, Verdict.VERIFIED, kind=kind)
    assert body(make_answer(text, (found,), sentences=(text,))) == shown


def test_marks_at_one_place_stand_in_the_order_of_their_numbers(make_answer, make_item):
    text = "He paid $640."
    items = (
        make_item(2, text, "$640", Verdict.CHECK, kind=ItemKind.AMOUNT),
        make_item(1, text, text, Verdict.CHECK, kind=ItemKind.STATEMENT),
    )
    assert body(make_answer(text, items, sentences=(text,))) == "He paid $640. [1 ≈] [2 ≈]"


def test_a_date_inside_a_quotation_is_marked_after_it(make_answer, make_item):
    text = "She said “on January 9, 2024, I told him” twice."
    items = (
        make_item(1, text, "“on January 9, 2024, I told him”", Verdict.ALTERED),
        make_item(2, text, "January 9, 2024", Verdict.VERIFIED, kind=ItemKind.DATE),
    )
    shown = body(make_answer(text, items, sentences=(text,)))
    assert shown == "She said “on January 9, 2024, I told him” [1 ✘] [2 ✔] twice."


def test_a_mark_does_not_leave_its_sentence_where_nothing_parts_them(make_answer, make_item):
    text = "누수를 보고함.다음 날 수리함."
    found = make_item(1, text, "보고함", Verdict.CHECK)
    answer = make_answer(text, (found,), sentences=("누수를 보고함.", "다음 날 수리함."))
    assert body(answer) == "누수를 보고함. [1 ≈]다음 날 수리함."


def test_paragraphs_and_lists_keep_their_lines(make_answer, make_item):
    text = "First.\n\n- one\n- two\nLast."
    found = make_item(1, text, "one", Verdict.VERIFIED)
    assert body(make_answer(text, (found,))) == "First.\n\n- one [1 ✔]\n- two\nLast."


# --- the record's own words -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "record", "shown"),
    [
        # Typography and line breaks of the record are its own; its words are printed on one line.
        ("“it's due — now”", "it’s due -\nnow", "“it’s due - now”"),
        ("“ON TIME”", "On time", "“On time”"),
        # A stop inside the closing mark is the reply's.
        ("“the leak,”", "the leak", "“the leak,”"),
        ("“the leak.”", "the leak,", "“the leak.”"),
        # The place ends with the last word; what the reply has around it stays.
        ("“Did you report it?”", "did you report it", "“did you report it?”"),
        ("“the Lease (1).”", "The lease (1", "“The lease (1).”"),
        # A quotation inside it flips its marks: half in one style would be worse than all in one.
        ("“Inc. (‘Tenant’).”", 'INC. ("Tenant', "“Inc. (‘Tenant’).”"),
        ("“‘Lease’ means this.”", 'Lease" MEANS this', "“‘Lease’ means this.”"),
        ("He said, ‘WE see.’", 'He said, "we see', "He said, ‘WE see.’"),
        ("He said, ‘WE see.’", "He said, “we see", "He said, ‘WE see.’"),
        ("He said ‘WE see’ twice", 'He said "we see" twice', 'He said "we see" twice'),
        ("“...” --", "", "“...” --"),
        # A stamp between two pages is no word of the quotation.
        ("“again on January 23”", "again on\nNG-000212\nJanuary 23", "“again on January 23”"),
        # A word that the record breaks at a line end: which form it has is not ours to decide.
        ("“well-known leak”", "well-\nknown leak", "“well-known leak”"),
        # No words came with the place.
        ("“the leak”", "", "“the leak”"),
        # Without marks in the item.
        ("the LEAK", "the leak", "the leak"),
    ],
)
def test_a_verified_quotation_is_printed_from_the_record(
    make_answer, make_item, make_cite, said, record, shown
):
    text = f"She wrote {said} to him."
    place = make_cite("Lease 1", words=record)
    found = make_item(1, text, said, Verdict.VERIFIED, places=(place,))
    assert body(make_answer(text, (found,))) == f"She wrote {shown} [1 ✔] to him."


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.VERIFIED])
def test_only_a_verified_quotation_is(make_answer, make_item, make_cite, verdict):
    place = make_cite("Lease 1", words="The leak")
    found = make_item(1, "“the LEAK”", "“the LEAK”", verdict, places=(place,))
    assert "“the LEAK”" in body(make_answer("“the LEAK”", (found,)))


def test_a_date_is_not_rewritten(make_answer, make_item, make_cite):
    place = make_cite("Lease 1", words="January 9, 2024")
    text = "On JANUARY 9, 2024 it rained."
    found = make_item(1, text, "JANUARY 9, 2024", Verdict.VERIFIED, kind=ItemKind.DATE)
    found = Finding(
        **{**{f: getattr(found, f) for f in found.__struct_fields__}, "places": (place,)}
    )
    assert body(make_answer(text, (found,))).startswith("On JANUARY 9, 2024 [1 ✔]")


# --- classes of sentence --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        (SentenceClass.SUPPORTED, ""),
        (SentenceClass.UNSUPPORTED, ""),
        (SentenceClass.BOILERPLATE, ""),
        (SentenceClass.INSTRUCTION, ""),
        (SentenceClass.INFERENCE, " [≈ inference]"),
        (SentenceClass.NO_SOURCE, " [≈ no source given]"),
        (SentenceClass.LAW, " [≈ law, not checked against the record]"),
        (SentenceClass.ARGUMENT, " [≈ argument]"),
    ],
)
def test_a_sentence_that_is_no_fact_of_the_record_says_so(make_answer, kind, tag):
    text = "Northgate knew. It did nothing."
    answer = make_answer(text, sentences=("Northgate knew.", "It did nothing."), classes=(kind,))
    assert body(answer) == f"Northgate knew.{tag} It did nothing."


def test_a_finding_on_the_sentence_says_it_already(make_answer, make_item):
    text = "Northgate knew."
    found = make_item(1, text, text, Verdict.CHECK, kind=ItemKind.STATEMENT)
    answer = make_answer(text, (found,), sentences=(text,), classes=(SentenceClass.INFERENCE,))
    assert body(answer) == "Northgate knew. [1 ≈]"


def test_a_green_date_does_not_hide_an_inference(make_answer, make_item):
    text = "So it knew by January 9, 2024."
    found = make_item(1, text, "January 9, 2024", Verdict.VERIFIED, kind=ItemKind.DATE)
    answer = make_answer(text, (found,), sentences=(text,), classes=(SentenceClass.INFERENCE,))
    assert body(answer) == "So it knew by January 9, 2024. [1 ✔] [≈ inference]"


# --- whatever comes -------------------------------------------------------------------------------

TEXT = st.text(alphabet=st.characters(), max_size=80)
OFFSET = st.integers(min_value=-3, max_value=90)


@st.composite
def findings(draw, make_cite):
    found = []
    for number in range(1, draw(st.integers(min_value=0, max_value=6)) + 1):
        places = (make_cite(draw(TEXT), words=draw(TEXT)),) if draw(st.booleans()) else ()
        found.append(
            Finding(
                number=number,
                start=draw(OFFSET),
                end=draw(OFFSET),
                kind=draw(st.sampled_from(ItemKind)),
                verdict=draw(st.sampled_from(Verdict)),
                reason=draw(TEXT),
                places=places,
                nearest=places if draw(st.booleans()) else (),
                diff=draw(TEXT),
                steps=tuple(draw(st.lists(TEXT, max_size=2))),
            )
        )
    return tuple(found)


@st.composite
def claims(draw):
    made = st.builds(Claim, start=OFFSET, end=OFFSET, sentence_class=st.sampled_from(SentenceClass))
    return tuple(draw(st.lists(made, max_size=5)))


@given(data=st.data())
def test_rendering_never_raises_and_shows_every_mark_once(data, make_answer, make_cite):
    text = data.draw(TEXT)
    items = data.draw(findings(make_cite))
    answer = make_answer(text, items, question=data.draw(TEXT), notes=(data.draw(TEXT),))
    sentences = data.draw(claims())
    answer = type(answer)(
        **{**{f: getattr(answer, f) for f in answer.__struct_fields__}, "sentences": sentences}
    )
    shown = body(answer)
    plainly = re.sub(r"\s+", " ", shown)
    for item in marked(answer):
        assert plainly.count(f"[{item.number} {UNICODE.of(item.verdict)}]") >= 1
    width = data.draw(st.integers(min_value=20, max_value=140))
    plain(reply(answer, Look(words=ENGLISH, width=width), title=data.draw(TEXT)), width)


@given(data=st.data())
def test_a_mark_keeps_with_its_sentence(data, make_answer):
    count = data.draw(st.integers(min_value=1, max_value=6))
    sentences = [f"Sentence s{n} ends here." for n in range(count)]
    text = " ".join(sentences)
    items = []
    for number in range(1, data.draw(st.integers(min_value=1, max_value=8)) + 1):
        n = data.draw(st.integers(min_value=0, max_value=count - 1))
        begin = text.index(sentences[n])
        start = data.draw(st.integers(min_value=begin, max_value=begin + len(sentences[n]) - 1))
        end = data.draw(st.integers(min_value=start + 1, max_value=begin + len(sentences[n])))
        items.append(
            (
                n,
                Finding(
                    number=number,
                    start=start,
                    end=end,
                    kind=data.draw(st.sampled_from(ItemKind)),
                    verdict=Verdict.CHECK,
                    reason="",
                ),
            )
        )
    answer = make_answer(text, tuple(item for _, item in items), sentences=tuple(sentences))
    blocks = annotated(answer, signs=UNICODE, words=ENGLISH)
    said = ["".join(piece.text for piece in unit) for block in blocks for unit in block.sentences]
    assert len(said) == count
    for n, item in items:
        assert [f"[{item.number} ≈]" in unit for unit in said] == [m == n for m in range(count)]
        assert re.sub(r" \[\d+ ≈\]", "", said[n]).strip() == sentences[n]


CELLS = st.text(alphabet=st.characters(), max_size=30)


@given(
    columns=st.lists(CELLS, max_size=6),
    rows=st.lists(st.lists(CELLS, max_size=7), max_size=5),
    items=st.lists(st.integers(min_value=0, max_value=3), max_size=6),
    width=st.integers(min_value=20, max_value=120),
)
def test_any_table_can_be_shown(make_answer, columns, rows, items, width):
    table = Table(columns=tuple(columns), rows=tuple(map(tuple, rows)), items=tuple(items))
    look = Look(words=ENGLISH, width=width)
    plain(reply(make_answer("", table=table), look), width)
