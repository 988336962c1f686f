"""Who is said to have spoken, what denies a statement from a distance, names with particles."""

from __future__ import annotations

import unicodedata

import pytest

from protocol.answers import GREEN, ItemKind, Verdict
from verify import check
from verify.source import DictSource

HEARING = (
    "JUSTICE ADLER: The stay was never entered by the clerk of this court.\n"
    "MR. BRANT: The clerk entered the stay on the same afternoon, your honor.\n"
    "JUSTICE ADLER: Then the docket must show it somewhere in the file.\n"
    "MR. BRANT: It does show it, on the second page of the docket sheet.\n"
)
SAID = "The clerk entered the stay on the same afternoon, your honor."


def quotes(reply, documents):
    found = check(reply, DictSource(documents)).findings
    return [item.verdict for item in found if item.kind is ItemKind.QUOTE]


@pytest.mark.parametrize(
    "reply",
    [
        f"“{SAID}” Justice Adler remarked (Hearing Transcript).",
        f"“{SAID},” said Justice Adler in the Hearing Transcript.",
        f"In the Hearing Transcript, Justice Adler put it this way: “{SAID}”",
        f"According to Justice Adler, “{SAID}” (Hearing Transcript).",
    ],
)
def test_words_given_to_another_speaker_are_never_green(reply):
    assert not GREEN & set(quotes(reply, {"h": ("Hearing Transcript", HEARING)}))


def test_the_speaker_named_after_the_words_may_be_right():
    reply = f"“{SAID}” Mr. Brant remarked (Hearing Transcript)."
    assert quotes(reply, {"h": ("Hearing Transcript", HEARING)}) == [Verdict.VERIFIED]


def test_a_paper_is_no_speaker():
    reply = f"According to Hearing Transcript, “{SAID}”"
    assert quotes(reply, {"h": ("Hearing Transcript", HEARING)}) == [Verdict.VERIFIED]


@pytest.mark.parametrize(
    ("record", "quoted"),
    [
        ("I do not think the outage lasted nine hours in the end.", "the outage lasted nine hours"),
        ("The clerk failed to examine the payroll reports we sent.",
         "examine the payroll reports we sent"),
        ("I never said that the guard left the gate open.", "the guard left the gate open"),
        ("It is not true that Mr. Dahl signed the second letter.",
         "Mr. Dahl signed the second letter"),
        ("There is no proof that the driver had been drinking that day.",
         "the driver had been drinking that day"),
        ("Neither party is liable for lost profits of the other side.",
         "liable for lost profits of the other side"),
        ("We doubt the seller knew of the defect at the time.",
         "the seller knew of the defect at the time"),
    ],
)  # fmt: skip
def test_a_statement_cut_out_of_a_denial_is_never_green(record, quoted):
    reply = f"The Letter says “{quoted}”."
    assert not GREEN & set(quotes(reply, {"l": ("Letter", record)}))


def test_a_denial_in_another_clause_is_no_doubt():
    record = "He did not think of it, and the outage lasted nine hours in the end."
    reply = "The Letter says “the outage lasted nine hours in the end”."
    assert quotes(reply, {"l": ("Letter", record)}) == [Verdict.VERIFIED]


@pytest.mark.parametrize("named", ["근로계약서에는", "근로계약서는", "근로계약서에"])
def test_a_title_with_a_particle_names_its_document(named):
    documents = {
        "a": ("근로계약서", "근로자는 매월 첫째 날에 임금을 받는다."),
        "b": ("Survey Report", "The hull was sound on the day of the survey."),
    }
    wrong = f"{named} “The hull was sound on the day of the survey.”라고 적혀 있다."
    assert not GREEN & set(quotes(wrong, documents))


def test_decomposed_letters_are_the_same_letters():
    record = "Monsieur Lefèvre a payé le loyer annuel à la société."
    reply = unicodedata.normalize("NFD", f"Le Bail dit “{record}”")
    assert quotes(reply, {"b": ("Bail", record)}) == [Verdict.VERIFIED]


WALL = "He failed to inspect the north wall."
PAPERS = {
    "r": ("Survey Report", "The north wall was sound and dry on the day of the survey."),
    "w": ("Witness Statement", WALL),
}


@pytest.mark.parametrize(
    "frame",
    [
        "“{words}”\n\n— {title}",
        "> {words}\n\n— {title}, § 2",
        "Source: {title}\n\n“{words}”",
        "## {title}\n\n- “{words}”",
        "## {title}\n\nIt was read.\n\n“{words}”",
    ],
)
def test_a_source_on_a_line_of_its_own_counts(frame):
    right = frame.format(words=WALL, title="Witness Statement")
    wrong = frame.format(words=WALL, title="Survey Report")
    assert quotes(right, PAPERS) == [Verdict.VERIFIED]
    assert not GREEN & set(quotes(wrong, PAPERS))
