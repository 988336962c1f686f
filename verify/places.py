"""What is known of a place in the record: its page, and why it may not be trusted blindly."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from protocol.record import SUPPORTS_FACTS, DocumentInfo, PageInfo, Reading
from verify.judged import Stretch
from verify.source import Source
from verify.word_forms import fold, stem, words_of

_VOICE = re.compile(
    r"(?m)^[ \t]*(?:\d{1,2}[ \t]+)?(Q|A|QUESTION|ANSWER|문|답)(?:\.|:|\)|[ \t]{2,})"
)


def page_at(pages: Sequence[PageInfo], offset: int) -> PageInfo:
    """The page on which a character stands; the last page for an offset beyond the text."""
    index = bisect_right([page.start for page in pages], offset) - 1
    return pages[max(0, index)]


def doubt_about_fact(source: Source, stretch: Stretch) -> str:
    """Why a place cannot prove a value, in words; empty when it can.

    A date or sum in a question is what counsel supposed. Who may be quoted from a question is the
    attribution's to say.
    """
    if in_question(source.text(stretch.document), stretch.start):
        return "it stands in a question put to a witness, not in an answer"
    return doubt_about(source, stretch)


def doubt_about(source: Source, stretch: Stretch) -> str:
    """Why a place cannot be trusted blindly, in words; empty when it can."""
    for page in source.pages(stretch.document):
        if page.start < stretch.end and stretch.start <= page.end:
            if page.reading is Reading.OCR:
                percent = "" if page.confidence is None else f" at {page.confidence:.0%}"
                return f"page {page.number} was read by OCR{percent}: look at it"
            if page.reading is Reading.UNREADABLE:
                return f"page {page.number} could not be read"
            if page.readers_disagree:
                return f"two readers disagree about page {page.number}"
    return ""


def in_question(text: str, at: int) -> bool:
    """Whether a character stands in a question put to a witness: Q. and A. mark a transcript."""
    around = text[max(0, at - 5_000) : at + 5_000]
    if not {"A", "ANSWER", "답"} & set(_VOICE.findall(around)):
        return False
    marks = _VOICE.findall(text, max(0, at - 1_500), at)
    return bool(marks) and marks[-1] in ("Q", "QUESTION", "문")


def title_words(info: DocumentInfo, text: str, at: int) -> frozenset[str]:
    """The stems of a document's title: who it names speaks in it, except in quoted mail."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    if line.lstrip().startswith(">"):
        return frozenset()
    return frozenset(map(stem, words_of(fold(info.title))))


def supports_facts(info: DocumentInfo) -> bool:
    """Whether a document may support a statement of fact."""
    return info.document_class in SUPPORTS_FACTS


def in_scope(source: Source, documents: Sequence[str] | None) -> tuple[DocumentInfo, ...]:
    """The documents to look in: all of the source, or those listed."""
    infos = source.documents()
    if documents is None:
        return tuple(infos)
    wanted = set(documents)
    return tuple(info for info in infos if info.id in wanted)
