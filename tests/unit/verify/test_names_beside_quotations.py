"""Names around a quotation that are nobody's words: in other quotations, and in common phrases."""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, ItemKind, Verdict
from verify import OpenRecord, check
from verify.frame_people import people_around, titled_words
from verify.source import DictSource
from verify.titles import exact_titles

TRANSCRIPT = "DEPOSITION OF DANA REEVES\n\n" + "".join(
    f" {number} {words}\n"
    for number, words in enumerate(
        (
            "BY MR. COLE:",
            "Q. Did you write to Mr. Hartwell?",
            "A. I wrote to Mr. Hartwell on the ninth of January.",
            "Q. What did he answer?",
            "A. Nothing came back before the ceiling fell.",
            "Q. Who patched the coupling?",
            "A. Our own staff patched it twice that year.",
        ),
        start=1,
    )
)
PROBLEMS = "Item,State\nLobby door,open since March\nRiser coupling,patched twice\n"


@pytest.fixture(scope="module")
def record():
    return OpenRecord(
        DictSource(
            {
                "dep": ("Deposition of Dana Reeves", TRANSCRIPT),
                "list": ("Known Problems", PROBLEMS),
            }
        )
    )


def quotations(reply, record):
    found = check(reply, record).findings
    return {reply[f.start : f.end]: f for f in found if f.kind is ItemKind.QUOTE}


@pytest.mark.parametrize(
    "reply",
    [
        "| 9 January | “I wrote to Mr. Hartwell on the ninth of January.” | "
        "“Our own staff patched it twice that year.” |",
        '- asked "Did you write to Mr. Hartwell?", she named the ninth of January, and later said '
        "“Our own staff patched it twice that year.”",
        "- “I wrote to Mr. Hartwell on the ninth of January.”\n"
        "- “Our own staff patched it twice that year.”",
    ],
)
def test_whom_another_quotation_of_the_row_names_does_not_speak(record, reply):
    found = quotations(reply, record)
    assert found["Our own staff patched it twice that year."].verdict in GREEN


@pytest.mark.parametrize(
    "reply",
    [
        "| Mr. Hartwell | “Our own staff patched it twice that year.” |",
        "| “Our own staff patched it twice that year.” | Hartwell |",
        "“Mr. Hartwell”: “Our own staff patched it twice that year.”",
        "“As Mr. Hartwell of Northgate,” in his words, “Our own staff patched it twice that year.”",
        "“This is Mr. Hartwell speaking.” “Our own staff patched it twice that year.”",
        "Asked “Mr. Hartwell, what did you do?”, the answer was “Our own staff patched it twice "
        "that year.”",
        "- **Hartwell**: “Our own staff patched it twice that year.”",
    ],
)
def test_a_person_whom_the_row_itself_names_still_counts(record, reply):
    found = quotations(reply, record)
    assert found["Our own staff patched it twice that year."].verdict not in GREEN


def test_titled_words_are_those_with_a_title_in_the_document():
    text = "Mr. Osei met MS. VANCE, Dr. Hale-Price and Judge Judge Arden; Pike was away."
    assert titled_words(text) >= {"Osei", "VANCE", "Hale", "Hale-Price", "Arden"}
    assert "Pike" not in titled_words(text)
    assert people_around("Vance: “x”", (8, 9), (), titled_words(text), lambda words: False) == (
        "Vance",
    )


@pytest.mark.parametrize(
    "reply",
    [
        "There were known problems with the riser.",
        "Known problems stayed open.",
        "She spoke of no known problems; the rest is silence.",
    ],
)
def test_common_words_in_small_letters_name_no_document(record, reply):
    assert exact_titles(reply, record.infos) == ()


@pytest.mark.parametrize(
    "reply",
    [
        "Known Problems says so.",
        "See “known problems”.",
        "known problems.csv has it.",
        "The sheet known problems has it.",
        "In the known problems it stands.",
        "The known problems list two of them.",
        "It stands there (known problems).",
        "- known problems: the door.",
        "## Known problems\nThe door.",
        "According to known problems the door is open.",
    ],
)
def test_a_title_written_as_a_title_names_its_document(record, reply):
    assert [named.documents for named in exact_titles(reply, record.infos)] == [("list",)]


def test_a_true_quotation_beside_a_common_phrase_is_not_misattributed(record):
    reply = (
        "There were known problems, and the witness testified: "
        "“Our own staff patched it twice that year.”"
    )
    found = quotations(reply, record)
    assert found["Our own staff patched it twice that year."].verdict is Verdict.VERIFIED
    reply = "Known Problems says: “Our own staff patched it twice that year.”"
    found = quotations(reply, record)
    assert found["Our own staff patched it twice that year."].verdict is Verdict.MISATTRIBUTED
