"""Every deliverable on the sample matter through SSH, against the key: hits, misses, false greens.

Whatever is green is read once more by a plain rule of this file: the quotation's letters and digits
must stand in that order on the pages the reply names, as the worker shows them to a person.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from bench import planted
from bench.house import SAMPLE
from bench.whole_box import whole_box
from bot.link import Link
from protocol.answers import GREEN, Answer, Finding, ItemKind
from protocol.events import LAST, Completed
from protocol.ids import DocumentId, MatterId
from protocol.jobs import (
    Accepted,
    Ask,
    Documents,
    ListDocuments,
    OpenSource,
    SourcePage,
    Summarize,
    WorkRequest,
    WriteDraft,
)
from protocol.record import DocumentInfo

QUESTIONS: Final = (
    ("When did Northgate first know of the leak?", "January 9, 2024"),
    ("How much is the base rent per month?", "$18,400.00"),
    ("Did Ms. Reeves report the leak in writing?", "written notice of the leak on January 23"),
)
"""What is asked, and words of the record that the reply must show."""
_GAP: Final = re.compile(r"…|\.\s?\.\s?\.|\[[^\]]*\]")
_LINE_NUMBER: Final = re.compile(r"^\s*\d{1,2}\s")
_MARKS: Final = "“”\"‘’'「」『』«»"


class Box:
    """A box over SSH as the scorer of planted items sees it."""

    def __init__(self, link: Link, matter: MatterId, prefix: str = "ssh") -> None:
        self.link, self.matter, self._prefix = link, matter, prefix
        self._numbers = itertools.count(1)
        self._pages: dict[tuple[DocumentId, int], str] = {}
        self.replies: list[Answer] = []
        """Every reply that came."""

    def key(self) -> str:
        """A key that was not used before."""
        return f"{self._prefix}-{next(self._numbers)}"

    async def documents(self) -> tuple[DocumentInfo, ...]:
        """The documents of the matter."""
        result = await self.link.call(ListDocuments(matter=self.matter))
        assert isinstance(result, Documents)
        return result.documents

    async def answer(self, request: WorkRequest) -> Answer:
        """The reply to a request that must end well."""
        accepted = await self.link.call(request)
        assert isinstance(accepted, Accepted)
        async for event in self.link.follow(accepted.job):
            if isinstance(event.body, LAST):
                assert isinstance(event.body, Completed), event.body
                assert event.body.answer is not None
                self.replies.append(event.body.answer)
                return event.body.answer
        raise AssertionError("the job ended without a last event")

    async def page(self, document: DocumentId, number: int) -> str:
        """A page's text as a person is shown it."""
        if (document, number) not in self._pages:
            result = await self.link.call(
                OpenSource(matter=self.matter, document=document, page=number)
            )
            assert isinstance(result, SourcePage)
            self._pages[document, number] = result.text
        return self._pages[document, number]


async def every_deliverable(box: Box) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for each thing that a deliverable must show, and one for every false green."""
    rows, *false = await planted.against_key(box)
    rows += await _asked(box)
    rows += await _summarized(box)
    rows += await _drafted(box)
    wrong = [{"deliverable": "citecheck", "what": "planted falsehood"}] * false[0]
    for reply in box.replies:
        for item in reply.items:
            quoted = item.verdict in GREEN and item.kind is ItemKind.QUOTE
            if quoted and not await stands(box, reply, item):
                wrong.append({"deliverable": reply.kind, "what": f"item {item.number}"})
    return [{**row, "part": "ssh"} for row in rows], [{**one, "part": "ssh-green"} for one in wrong]


async def _asked(box: Box) -> list[dict[str, Any]]:
    rows = []
    for number, (question, words) in enumerate(QUESTIONS, start=1):
        reply = await box.answer(
            Ask(matter=box.matter, conversation=box.key(), question=question, key=box.key())
        )
        shown = [one for one in _green(reply) if _bare(words) in _bare(one)]
        rows.append(_row("ask", f"question {number}", bool(shown)))
    return rows


async def _summarized(box: Box) -> list[dict[str, Any]]:
    reply = await box.answer(Summarize(matter=box.matter, key=box.key()))
    notes = " ".join(reply.notes)
    rows = [
        _row("summarize", f"document {one.title[:40]}", one.title in notes)
        for one in await box.documents()
        if one.document_class != "model_output"
    ]
    unread = reply.coverage.pages - reply.coverage.pages_read
    return [*rows, _row("summarize", "gaps are named", unread == 0 or bool(reply.coverage.unread))]


async def _drafted(box: Box) -> list[dict[str, Any]]:
    """The facts of a motion: each planted statement that is dated and not the lawyers' own."""
    reply = await box.answer(
        WriteDraft(matter=box.matter, form="facts", about="the leak", key=box.key())
    )
    witness = await box.answer(
        WriteDraft(matter=box.matter, form="declaration", witness="Reeves", key=box.key())
    )
    demand = await box.answer(
        WriteDraft(matter=box.matter, form="demand", about="the leak", key=box.key())
    )
    told = [
        ("facts: statements with a place", bool(_green(reply))),
        ("facts: the first report", _bare("January 9, 2024") in _bare(reply.text)),
        ("declaration: her own testimony", bool(_green(witness))),
        ("declaration: blanks in brackets", "[" in witness.text),
        ("demand: statements with a place", bool(_green(demand))),
    ]
    return [_row("draft", what, found) for what, found in told]


def _row(deliverable: str, what: str, found: bool) -> dict[str, Any]:
    return {"id": what, "kind": "shown", "deliverable": deliverable, "found": found}


def _green(reply: Answer) -> list[str]:
    """The quotations of a reply that are green."""
    return [
        reply.text[item.start : item.end]
        for item in reply.items
        if item.verdict in GREEN and item.kind is ItemKind.QUOTE
    ]


async def stands(box: Box, reply: Answer, item: Finding) -> bool:
    """Whether the words of a green quotation stand in this order on a page it names."""
    wanted = [_bare(part) for part in _GAP.split(reply.text[item.start : item.end].strip(_MARKS))]
    for place in (*item.places, *item.also_in):
        pages = range(place.span.page, max(place.span.page, place.end_page) + 1)
        shown = [await box.page(place.document, page) for page in pages]
        # A number at a line's start is the line's own in a transcript, a word elsewhere.
        for texts in ([_bare(one) for one in shown], [_bare(_unnumbered(one)) for one in shown]):
            if _in_order(wanted, "".join(texts)):
                return True
            # Over a page's end: a stamp or a heading may stand between the two halves.
            for cut in range(1, len(wanted[0])) if len(wanted) == len(texts) - 1 == 1 else ():
                if wanted[0][:cut] in texts[0] and wanted[0][cut:] in texts[1]:
                    return True
    return False


def _in_order(wanted: Sequence[str], text: str) -> bool:
    at = 0
    for part in wanted:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _unnumbered(text: str) -> str:
    return "\n".join(_LINE_NUMBER.sub("", line) for line in text.splitlines())


def _bare(text: str) -> str:
    """Letters and digits alone."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def figures(rows: Sequence[dict[str, Any]], wrong: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Counts for the bench's door."""
    return {
        "ssh_planted": len(rows),
        "ssh_planted_found": sum(row["found"] for row in rows),
        "ssh_false_green": len(wrong),
    }


async def run_over_ssh() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A box of its own with the small model, and every deliverable on it."""
    async with whole_box(SAMPLE, "") as up:
        return await every_deliverable(Box(up.link, up.matter))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Hits and misses by deliverable, as Markdown."""
    lines = ["| deliverable | to be shown | shown | missed |", "|---|---|---|---|"]
    for name in dict.fromkeys(row["deliverable"] for row in rows):
        own = [row for row in rows if row["deliverable"] == name]
        missed = [f"{row['kind']} {row['id']}" for row in own if not row["found"]]
        found = len(own) - len(missed)
        lines.append(f"| {name} | {len(own)} | {found} | {'; '.join(missed) or '-'} |")
    return "\n".join(lines)
