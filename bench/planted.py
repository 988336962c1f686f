"""The sample matter's answer key against what the deliverables say: hits, misses, false greens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Protocol

from bench.house import SAMPLE
from protocol.answers import AMBER, GREEN, Answer, ItemKind, SentenceClass
from protocol.ids import MatterId
from protocol.jobs import Chronology, CiteCheck, Extract, Find, WorkRequest
from protocol.record import DocumentInfo

KEY: Final = SAMPLE.parent / "answer-key.json"
_PROVING: Final = (ItemKind.DATE, ItemKind.AMOUNT, ItemKind.NUMBER, ItemKind.QUOTE)


class Asked(Protocol):
    """Whatever takes requests: a house in this process, or a box over SSH."""

    matter: MatterId

    def key(self) -> str:
        """A key that was not used before."""
        ...

    async def documents(self) -> tuple[DocumentInfo, ...]:
        """The documents of the matter."""
        ...

    async def answer(self, request: WorkRequest) -> Answer:
        """The reply to a request that must end well."""
        ...


MADE_BY: Final = {
    "absent": "citecheck",
    "misquotation": "citecheck",
    "quote": "find",
    "number": "find",
    "amount": "extract",
    "party": "extract",
    "person": "extract",
}
"""The deliverable that must show a kind of planted item; the others are the chronology's."""


async def against_key(asked: Asked) -> tuple[list[dict[str, Any]], int, int]:
    """A row for every planted item; false values that are green; false sentences held supported."""
    code = asked.matter
    items = json.loads(KEY.read_text("utf-8"))["items"]
    brief = next(one.id for one in await asked.documents() if one.title == "Complaint")
    chronology = await asked.answer(Chronology(matter=code, key=asked.key()))
    extract = await asked.answer(Extract(matter=code, what="all", key=asked.key()))
    cites = await asked.answer(CiteCheck(matter=code, document=brief, key=asked.key()))
    rows, false_green, false_supported = [], _wrongly_green(cites), 0
    for item in items:
        kind = item["kind"]
        words = [place.get("words", "") for place in item["places"]]
        if kind == "absent":
            reply = await asked.answer(
                CiteCheck(matter=code, text=item["statement"], key=asked.key())
            )
            green, supported = _stays_open(reply)
            found = not green
            false_green += green
            false_supported += supported
        elif kind == "unreadable":
            found = _said_unread(chronology, item["places"][0])
        elif kind in ("quote", "number"):
            reply = await asked.answer(Find(matter=code, text=words[0], key=asked.key()))
            found = _placed(reply, item["places"][0])
        elif kind in ("amount", "party", "person"):
            found = any(_in(words[0], row) for row in _rows(extract))
        elif kind == "misquotation":
            found = any(
                _in(words[0], row)
                and "ALTERED" in row
                and _squeeze(words[1]) in _squeeze(cites.text)
                for row in _rows(cites)
            )
        elif kind == "contradiction":
            found = _together(chronology, words, "conflict ")
        elif kind == "change":
            found = _together(chronology, words, "change ")
        elif kind == "wrong_sum":
            found = any("add up to 1,184,250.00" in note for note in chronology.notes)
        elif kind in ("wrong_weekday", "impossible_date"):
            found = any(
                _in(words[0], row) and "the date itself" in row for row in _rows(chronology)
            )
        else:  # a date
            found = any(row[0] and _in(words[0], row) for row in _rows(chronology))
        rows.append(
            {
                "part": "planted",
                "id": item["id"],
                "kind": kind,
                "deliverable": MADE_BY.get(kind, "chronology"),
                "found": found,
            }
        )
    return rows, false_green, false_supported


def _wrongly_green(cites: Answer) -> int:
    """Misquotations that the cite-check calls right."""
    return sum(
        1
        for row in _rows(cites)
        if row[1] == "quote" and row[2] in {verdict.replace("_", " ") for verdict in GREEN}
    )


def _stays_open(reply: Answer) -> tuple[int, int]:
    """Of a false statement: how many of its values are green, how often it counts as supported."""
    supported = [one for one in reply.sentences if one.sentence_class is SentenceClass.SUPPORTED]
    green = [one for one in reply.items if one.kind in _PROVING and one.verdict in GREEN]
    return len(green), len(supported)


def _said_unread(reply: Answer, place: dict[str, Any]) -> bool:
    """Unread pages are named; what OCR read of one is never green."""
    name, page = place["document"], place["page"]
    if any(one.name == name for one in reply.coverage.unread):
        return True
    seen = [
        item
        for item in reply.items
        for one in item.places
        if name.startswith(one.title) and one.span.page == page
    ]
    return all(item.verdict in AMBER for item in seen)


def _placed(reply: Answer, place: dict[str, Any]) -> bool:
    """Whether a green item stands at the planted place."""
    return any(
        item.verdict in GREEN
        and place["document"].startswith(one.title.rstrip("."))
        and one.span.page <= place["page"] <= one.end_page
        for item in reply.items
        for one in item.places
    )


def _together(reply: Answer, words: Sequence[str], prefix: str) -> bool:
    groups: dict[str, list[str]] = {}
    for row in _rows(reply):
        if row[2].startswith(prefix):
            groups.setdefault(row[2], []).append(_squeeze(row[3]))
    wanted = [_squeeze(one) for one in words]
    return any(
        all(any(one in side or side in one for side in sides) for one in wanted)
        for sides in groups.values()
    )


def _rows(reply: Answer) -> tuple[tuple[str, ...], ...]:
    return reply.table.rows if reply.table else ()


def _in(words: str, row: Sequence[str]) -> bool:
    return any(_squeeze(words) in _squeeze(cell) for cell in row)


def _squeeze(words: str) -> str:
    return "".join(words.split()).rstrip(".")
