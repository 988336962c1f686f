"""Every sentence is found, whole, and has a class."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import Finding, ItemKind, SentenceClass, Verdict
from verify.sentences import class_sentences, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. It stopped.", ["It rained.", "It stopped."]),
        (
            "Mr. Osei met Dr. Lee at 5 p.m. in St. Louis.",
            ["Mr. Osei met Dr. Lee at 5 p.m. in St. Louis."],
        ),
        (
            "See Smith v. Jones, 12 F.3d 45, 46 (1st Cir. 1999). So it is.",
            ["See Smith v. Jones, 12 F.3d 45, 46 (1st Cir. 1999).", "So it is."],
        ),
        ("Reeves Dep. 2:3. She knew.", ["Reeves Dep. 2:3.", "She knew."]),
        ("It cost $1.2 million. He paid.", ["It cost $1.2 million.", "He paid."]),
        (
            "She said “I did not. I told him.” [2 ✔] Then she left.",
            ["She said “I did not. I told him.” [2 ✔]", "Then she left."],
        ),
        (
            "# Facts\nIt rained.\n\n- One. Two.\n- Three",
            ["# Facts", "It rained.", "- One.", "Two.", "- Three"],
        ),
        ("1. First item. More.\n2. Second", ["1. First item.", "More.", "2. Second"]),
        (
            "계약은 2024. 3. 5. 체결되었다. 피고는 지급하지 않았다.",
            ["계약은 2024. 3. 5. 체결되었다.", "피고는 지급하지 않았다."],
        ),
        ("契約した。支払った。", ["契約した。", "支払った。"]),
        ("Really? Yes! Fine…", ["Really?", "Yes!", "Fine…"]),
        ("A line that\nwraps. Next.", ["A line that\nwraps.", "Next."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def finding(
    text: str, marked: str, verdict: Verdict, kind: ItemKind = ItemKind.DATE, number: int = 1
) -> Finding:
    start = text.index(marked)
    return Finding(
        number=number, start=start, end=start + len(marked), kind=kind, verdict=verdict, reason=""
    )


def class_of(text: str, *findings: Finding) -> SentenceClass:
    (claim,) = class_sentences(text, findings)
    return claim.sentence_class


def test_a_sentence_of_green_items_is_supported() -> None:
    text = "The lease was signed on May 5, 2021."
    assert class_of(text, finding(text, "May 5, 2021", Verdict.VERIFIED)) is SentenceClass.SUPPORTED


def test_one_item_that_is_not_green_leaves_it_unsupported() -> None:
    text = "It was signed on May 5, 2021 for $500."
    found = finding(text, "May 5, 2021", Verdict.VERIFIED), finding(text, "$500", Verdict.CHECK)
    assert class_of(text, *found) is SentenceClass.UNSUPPORTED


def test_a_paraphrase_alone_is_never_supported() -> None:
    assert class_of("Northgate knew of the leak.") is SentenceClass.NO_SOURCE
    text = "Northgate knew of the leak."
    statement = finding(text, text, Verdict.VERIFIED, ItemKind.STATEMENT)
    assert class_of(text, statement) is SentenceClass.NO_SOURCE


def test_marks_that_quote_nothing_support_nothing() -> None:
    text = "They called it the “wet” row."
    assert (
        class_of(text, finding(text, "wet", Verdict.NOT_A_QUOTE, ItemKind.QUOTE))
        is SentenceClass.NO_SOURCE
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Summary", SentenceClass.BOILERPLATE),
        ("The record does not say who paid.", SentenceClass.BOILERPLATE),
        ("Read 18 of 18 documents.", SentenceClass.BOILERPLATE),
        ("Therefore Northgate knew.", SentenceClass.INFERENCE),
        ("This suggests that he knew.", SentenceClass.INFERENCE),
        ("Northgate is liable to the tenant.", SentenceClass.ARGUMENT),
        ("The court should be asked; the motion should be granted.", SentenceClass.ARGUMENT),
        ("Under Delaware law a lease is a contract.", SentenceClass.LAW),
        ("A claim needs notice, 28 U.S.C. § 1746.", SentenceClass.LAW),
        ("Please confirm the date with the client.", SentenceClass.INSTRUCTION),
        ("You should check the exhibit.", SentenceClass.INSTRUCTION),
        ("따라서 피고는 알고 있었다.", SentenceClass.INFERENCE),
        ("The pallets were wet.", SentenceClass.NO_SOURCE),
    ],
)
def test_a_sentence_without_items_has_the_class_of_its_words(
    text: str, expected: SentenceClass
) -> None:
    assert class_of(text) is expected


def test_a_conclusion_stays_one_even_with_a_green_item() -> None:
    text = "Therefore it knew on May 5, 2021."
    assert class_of(text, finding(text, "May 5, 2021", Verdict.VERIFIED)) is SentenceClass.INFERENCE


def test_what_a_quotation_argues_is_not_the_reply_s_argument() -> None:
    text = "The letter says “we argue that it is therefore liable”."
    quote = finding(text, "we argue that it is therefore liable", Verdict.VERIFIED, ItemKind.QUOTE)
    assert class_of(text, quote) is SentenceClass.SUPPORTED


def test_a_claim_lists_the_items_that_stand_in_it() -> None:
    text = "It was May 5, 2021. He paid $500."
    found = [
        finding(text, "May 5, 2021", Verdict.VERIFIED, number=1),
        finding(text, "$500", Verdict.CHECK, number=2),
    ]
    assert [claim.items for claim in class_sentences(text, found)] == [(1,), (2,)]


_PIECES = st.sampled_from(
    [". ", ".", "\n\n", "\n- ", "“", "”", "다. ", "1. ", "Mr. ", "# ", "\u200b", " [1 ✔] ", "。"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=10)), max_size=12).map("".join))
def test_every_character_lies_in_one_sentence(text: str) -> None:
    spans = split_sentences(text)
    covered = [False] * len(text)
    end = 0
    for start, stop in spans:
        assert end <= start < stop <= len(text)
        covered[start:stop] = [True] * (stop - start)
        end = stop
    assert all(covered[at] or sign.isspace() for at, sign in enumerate(text))


@given(st.text(max_size=80), st.integers(0, 80), st.integers(0, 20))
def test_no_sentence_ends_inside_an_item(text: str, start: int, length: int) -> None:
    item = (min(start, len(text)), min(start + length, len(text)))
    for begin, end in split_sentences(text, [item]):
        assert not item[0] < end < item[1] or text[end : item[1]].isspace()
        assert not item[0] < begin < item[1] or text[item[0] : begin].isspace()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ItemKind.NAME, SentenceClass.NO_SOURCE),  # knowing who proves nothing
        (ItemKind.RECORD_CITE, SentenceClass.INFERENCE),  # the page exists, no more
        (ItemKind.QUOTE, SentenceClass.INFERENCE),  # the sentence says more than it quotes
        (ItemKind.DATE, SentenceClass.SUPPORTED),
    ],
)
def test_who_and_where_alone_support_nothing(kind, expected):
    text = "Ms. Reeves testified that the roof drain was blocked."
    item = Finding(
        number=1, start=0, end=10, kind=kind, verdict=Verdict.VERIFIED, reason="", places=()
    )
    (claim,) = class_sentences(text, (item,))
    assert claim.sentence_class is expected
