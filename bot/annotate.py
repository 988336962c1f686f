"""Puts the marks of an answer into its text: each at the end of its item, with its sentence.

Offsets of an answer count code points of its raw text, so everything is cut there first and made
`visible` piece by piece. The record's own words replace a verified quotation's; a mark never stands
inside a quotation that has one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bot.blocks import Block, Piece, Tone, blank
from bot.look import Signs, tone
from bot.visible import visible
from bot.words import Words
from protocol.answers import (
    Answer,
    Claim,
    Finding,
    ItemKind,
    SentenceClass,
    Verdict,
)

_NESTED: Final = re.compile("[\"'“”‘’«»‹›「」『』]")
"""A mark of a quotation inside a quotation; at its edge the reply's style of it must be kept."""
_PAIRS: Final = ("“”", "‘’", "«»", "‹›", "「」", "『』")
_BROKEN_WORD: Final = re.compile(r"\w[-\u00ad]\s*\n")
_TAGS: Final = {
    SentenceClass.INFERENCE: "tag.inference",
    SentenceClass.NO_SOURCE: "tag.no_source",
    SentenceClass.LAW: "tag.law",
    SentenceClass.ARGUMENT: "tag.argument",
}
"""Classes of sentence that say so in the text where no finding already does."""


def mark(finding: Finding, signs: Signs) -> Piece:
    """The mark of a finding, such as ``[2 ✔]``."""
    text = f"[{finding.number} {signs.of(finding.verdict)}]"
    return Piece(text, tone(finding.verdict), whole=True)


def marked(answer: Answer) -> tuple[Finding, ...]:
    """The findings that carry a mark, by number: all but quotation marks that quote nothing."""
    found = [item for item in answer.items if item.verdict is not Verdict.NOT_A_QUOTE]
    return tuple(sorted(found, key=lambda item: item.number))


def annotated(answer: Answer, *, signs: Signs, words: Words) -> list[Block]:
    """The answer's text as paragraphs of sentences, every mark in place.

    Lines whose quotation is a row of the answer's table are left to the table.
    """
    text = answer.text
    tabled = set(answer.table.items) if answer.table is not None else set()
    in_table = [item.start for item in answer.items if item.number in tabled]
    items = marked(answer)
    swaps = _record_words(text, items)
    marks = _placed(text, answer, items, signs) + _tags(text, answer, items, signs, words)
    marks.sort(key=lambda placed: placed[0])
    blocks: list[Block] = []
    sentences: list[tuple[Piece, ...]] = []
    at = line = 0
    for end in [*_cuts(text, answer.sentences, swaps), len(text)]:
        here = [placed for placed in marks if at < placed[0] <= end or placed[0] == at == 0]
        if end > at or here:
            sentences.append(tuple(_pieces(text, at, end, here, swaps, signs)))
        if text[at:end].endswith("\n") or end == len(text):
            if not any(line <= start < end for start in in_table):
                blocks.append(_block(sentences))
            sentences, line = [], end
        at = end
    return blocks


def _block(sentences: list[tuple[Piece, ...]]) -> Block:
    if not any(piece.text.strip() for sentence in sentences for piece in sentence):
        return blank()
    first = sentences[0][0].text
    hang = 3 if first.startswith(("- ", "• ", "* ")) else 1
    return Block(sentences=tuple(sentences), hang=hang)


def _pieces(
    text: str,
    begin: int,
    end: int,
    marks: Sequence[tuple[int, Piece]],
    swaps: dict[int, tuple[int, str]],
    signs: Signs,
) -> Iterator[Piece]:
    """One sentence: its text with the record's words swapped in, and its marks."""
    at = begin
    stops = sorted({min(max(where, begin), end) for where, _ in marks} | {end})
    for stop in stops:
        said = ""
        while at < stop:
            if at in swaps and swaps[at][0] <= stop:
                at, record = swaps[at]
                said += record
            else:
                said += text[at]
                at += 1
        space = said[len(said.rstrip()) :]
        said = visible(said.rstrip(), ascii_only=signs.ascii_only)
        here = [piece for where, piece in marks if min(max(where, begin), end) == stop]
        if said:
            yield Piece(said)
        for piece in here:
            yield Piece(" ")
            yield piece
        if space and "\n" not in space:
            yield Piece(" ")


def _record_words(text: str, items: Sequence[Finding]) -> dict[int, tuple[int, str]]:
    """Start of each verified quotation: its end and the record's words for it.

    Only where both hold the same letters and digits: a difference beyond typography was proven to
    be layout (a stamp, a page head), and printing it would put words into the quotation. A word
    that the record breaks at a line end is left as the reply has it: which form it has is not ours
    to decide.
    """
    swaps: dict[int, tuple[int, str]] = {}
    for item in items:
        if item.kind is not ItemKind.QUOTE or item.verdict is not Verdict.VERIFIED:
            continue
        if not item.places or not 0 <= item.start < item.end <= len(text):
            continue
        start, end = _core(text, item.start, item.end)
        record = item.places[0].words
        first, last = _core(record, 0, len(record))
        record = record[first:last]
        if (
            start < end
            and not _NESTED.search(text[item.start + 1 : start] + text[end : item.end - 1])
            and _letters(record) == _letters(text[start:end])
            and not _BROKEN_WORD.search(record)
            and _balanced(record)
        ):
            swaps[start] = (end, " ".join(record.split()))
    return swaps


def _balanced(words: str) -> bool:
    """Whether every quotation inside these words ends in them.

    Where one ends with the last word, its mark stands outside, in the reply's style, and would not
    match the record's.
    """
    if words.count('"') % 2:
        return False
    return all(words.count(opens) <= words.count(closes) for opens, closes in _PAIRS)


def _core(text: str, start: int, end: int) -> tuple[int, int]:
    """``[start, end)`` from its first letter or digit to its last; empty where there is none.

    What stands around it (quotation marks, a question mark, a bracket) is kept as the reply has it:
    the checker's place ends with the last word.
    """
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _placed(
    text: str, answer: Answer, items: Sequence[Finding], signs: Signs
) -> list[tuple[int, Piece]]:
    """Every mark with the offset after which it stands, in number order where they are equal."""
    quotes = [item for item in items if item.kind is ItemKind.QUOTE]
    placed = []
    for item in items:
        end = item.end
        for outer in quotes:
            if outer.start <= item.start and item.end <= outer.end:
                end = max(end, outer.end)
        placed.append((_after_word(text, end, answer.sentences), mark(item, signs)))
    return placed


def _tags(
    text: str, answer: Answer, items: Sequence[Finding], signs: Signs, words: Words
) -> list[tuple[int, Piece]]:
    """What a sentence is, where its class is not a fact of the record and no finding says so."""
    statements = [item for item in items if item.kind is ItemKind.STATEMENT]
    tags = []
    for claim in answer.sentences:
        key = _TAGS.get(claim.sentence_class)
        said = any(claim.start < item.end and item.start < claim.end for item in statements)
        if key is None or said:
            continue
        piece = Piece(f"[{signs.amber} {words(key)}]", Tone.AMBER, whole=True)
        tags.append((_after_word(text, claim.end, answer.sentences), piece))
    return tags


def _after_word(text: str, end: int, claims: Sequence[Claim]) -> int:
    """The offset behind the word and the punctuation at ``end``, inside the same sentence."""
    end = min(max(end, 0), len(text))
    here = [claim.end for claim in claims if claim.start < end <= claim.end]
    last = min(max([end, *here]), len(text)) if here else len(text)
    while end < last and not text[end].isspace() and text[end] not in "—–":
        end += 1
    return end


def _cuts(text: str, claims: Sequence[Claim], swaps: dict[int, tuple[int, str]]) -> Iterator[int]:
    """Where a new sentence or a new line begins, never inside a quotation that is swapped."""
    cuts = {claim.start for claim in claims}
    cuts |= {at + 1 for at, character in enumerate(text) if character == "\n"}
    inside = [(start, end) for start, (end, _) in swaps.items()]
    for cut in sorted(cuts):
        if 0 < cut < len(text) and not any(start < cut < end for start, end in inside):
            yield cut
