"""Which document a question names, and what is left to ask."""

from __future__ import annotations

import pytest

from rag.routing import Route, route

FILES = {
    "Supply Agreement.txt": "SUPPLY AGREEMENT between Acme Widgets, Inc. and Borealis GmbH\n\n"
    "1. Term. Five years.",
    "Lease.txt": "LEASE between Acme Widgets, Inc. as tenant and Corvid Estates LLC\n\n1. Rent.",
    "Reeves Dep.txt": "DEPOSITION OF DANA REEVES\n\nQ. Did you see the leak?\nA. I did.",
    "Reeves e-mail.txt": "From: Dana Reeves\nTo: Samuel Osei\n\nThere is a leak.",
    "Notes.txt": "The plumber came on Tuesday. Acme paid. Borealis did not.",
}


@pytest.fixture
def routed(fill):
    matter = fill(FILES)
    names = {info.id: info.name.removesuffix(".txt") for info in matter.documents()}

    def ask(question: str, **limits: object) -> tuple[list[str], list[str], Route]:
        found = route(matter.store, question, among=limits.get("among") or list(names))  # type: ignore[arg-type]
        return (
            [names[name] for name in found.documents],
            [names[name] for name in found.preferred],
            found,
        )

    return ask


@pytest.mark.parametrize(
    ("question", "document", "asked"),
    [
        (
            "Consider the Supply Agreement between Acme Widgets, Inc. and Borealis GmbH; how long "
            "does it run?",
            "Supply Agreement",
            "how long does it run?",
        ),
        (
            "Under the lease between Acme and Corvid Estates, how much rent is due?",
            "Lease",
            "how much rent is due?",
        ),
        (
            "How much rent is due under the Corvid Estates lease?",
            "Lease",
            "How much rent is due",
        ),
        (
            "In the deposition of Dana Reeves: did she see the leak?",
            "Reeves Dep",
            "did she see the leak?",
        ),
    ],
)
def test_a_named_document_is_found_and_its_name_taken_out(
    routed, question: str, document: str, asked: str
) -> None:
    documents, _, found = routed(question)
    assert documents == [document]
    assert found.asked == asked
    assert found.why


@pytest.mark.parametrize(
    "question",
    [
        "who saw the leak?",
        "What happened on Tuesday?",
        "Did Acme pay?",
        "is there a lease at all",
        "Which agreements were signed?",
        "",
        "???",
        "누수는 언제 발견되었습니까?",
    ],
)
def test_a_question_that_names_no_document_searches_everything(routed, question: str) -> None:
    documents, _, found = routed(question)
    assert documents == []
    assert found.asked == question


def test_names_that_two_papers_share_prefer_none(routed) -> None:
    documents, preferred, _ = routed("What did Dana Reeves see?")
    assert (documents, preferred) == ([], [])


def test_a_name_alone_prefers_but_does_not_exclude(routed) -> None:
    documents, preferred, found = routed("What did Corvid promise?")
    assert (documents, preferred) == ([], ["Lease"])
    assert found.asked == "What did Corvid promise?"


def test_a_document_outside_the_selection_is_not_named(fill) -> None:
    matter = fill(FILES)
    others = [info.id for info in matter.documents() if info.name != "Lease.txt"]
    found = route(matter.store, "What is the rent in the Corvid Estates lease?", among=others)
    assert found.documents == ()


def test_a_reference_with_nothing_asked_is_searched_whole(routed) -> None:
    question = "the Lease between Acme Widgets and Corvid Estates"
    documents, _, found = routed(question)
    assert documents == ["Lease"]
    assert found.asked == question
