"""Dated and undated statements of a record: when, how exactly, in which role, and who is named.

Everything here is read by code from one sentence at a time. A date keeps the precision it was
written with; nothing is filled in, and a date that reads two ways keeps both readings.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from protocol.record import DateOrder, DocumentInfo
from verify.dates import DateMention, Granularity, Modifier, PartialDate, find_dates
from verify.names import NameKind, find_names
from worker.quoting import Sentence


@dataclass(frozen=True, kw_only=True)
class Said:
    """One sentence of the record, with the question it answers."""

    info: DocumentInfo
    sentence: Sentence
    asked: str | None = None
    transcript: bool = False
    """Whether it stands in a transcript of questions and answers."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A statement with what it says of time."""

    said: Said
    date: str
    """In one unmistakable form, both readings where there are two; empty when it has none."""
    precision: str
    role: str
    day: PartialDate | None
    """The one reading; None for an undated statement or a date that reads two ways."""
    note: str = ""
    clash: bool = False
    """The record itself is wrong here: a weekday that does not fit, a day that does not exist."""


_ROLES: Final = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        ("filed", r"\bfiled\b|접수|제출"),
        ("served", r"\bserved\b|\bservice of\b|송달"),
        ("received", r"\breceived?\b|\breceipt\b|수령"),
        ("sent", r"\bsent\b|\bmailed\b|\be-?mailed\b|발송|보낸 ?날짜"),
        ("effective", r"\beffective\b|\bbegins on\b|\bcommenc\w+|시행"),
        ("due", r"\bdue\b|\bends on\b|\bexpires?\b|\bno later than\b.*\bshall\b|만기|기한"),
        ("signed", r"\bsigned\b|\bexecuted\b|\bmade on\b|\bentered into\b|서명"),
        ("dated", r"\bdated\b|\bdate of\b|\b\w+ date:|작성일"),
    )
)
_BEFORE_CHARS: Final = 60
"""How far before a date its role may be said."""
_BEHIND_CHARS: Final = 16
"""How far behind a Korean date its role may be said."""
_HANGUL: Final = re.compile(r"[가-힣]")
_HEADER_DATE: Final = re.compile(r"(?:Date|Sent|날짜|보낸 ?날짜):", re.IGNORECASE)
_MODIFIERS: Final = {
    Modifier.NONE: "",
    Modifier.ABOUT: "about",
    Modifier.BEFORE: "before",
    Modifier.BY: "on or before",
    Modifier.AFTER: "after",
    Modifier.FROM: "from",
    Modifier.PART: "part of",
}
_GRAIN: Final = {
    Granularity.DAY: "day",
    Granularity.MONTH: "month",
    Granularity.YEAR: "year",
    Granularity.MONTH_DAY: "day without a year",
}
_RELATIVE: Final = re.compile(
    r"\b(?:the (?:next|same|following|previous) (?:day|week|month|year|morning)"
    r"|that (?:day|night|week|month|morning|afternoon|evening)"
    r"|this (?:morning|afternoon|week|month)|today|yesterday|tomorrow|tonight"
    r"|last (?:week|month|year|night)|at the time|(?:days?|weeks?|months?|years?) (?:ago|later)"
    r"|(?:days?|weeks?|months?|years?) (?:before|after))\b"
    r"|익일|다음 ?날|같은 ?(?:날|달)|당시|전날",
    re.IGNORECASE,
)
_NORM: Final = re.compile(r"\b(?:shall|must|may)\b|하여야|한다\b", re.IGNORECASE)
"""A term of a contract tells what is to be, not what was."""
_MONTHS: Final = {name.casefold(): n for n, name in enumerate(calendar.month_name) if name}
_WRITTEN_DAY: Final = re.compile(
    rf"\b(?P<month>{'|'.join(_MONTHS)}) (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})\b"
    rf"|\b(?P<day2>\d{{1,2}}) (?P<month2>{'|'.join(_MONTHS)}),? (?P<year2>\d{{4}})\b",
    re.IGNORECASE,
)


def events_of(info: DocumentInfo, every: Sequence[Sentence], order: DateOrder) -> list[Event]:
    """The dated and undated statements of one document, in its order.

    Args:
        info: The document.
        every: Its sentences.
        order: How all-digit dates of the matter read, where somebody has said so.
    """
    found: list[Event] = []
    for said in statements_of(info, every):
        dated = _dated(said, order)
        found.extend(dated)
        found.extend(_impossible(said))
        if not dated and said.sentence.turn != "header":
            found.extend(_undated(said))
    return found


def statements_of(info: DocumentInfo, every: Sequence[Sentence]) -> list[Said]:
    """The statements of one document, each with the question it answers; questions left out."""
    words_at = {sentence.start: sentence.words for sentence in every}
    transcript = any(sentence.turn == "question" for sentence in every)
    return [
        Said(
            transcript=transcript,
            info=info,
            sentence=one,
            asked=words_at.get(one.question[0]) if one.question else None,
        )
        for one in every
        if one.turn != "question"
    ]


def people_in(words: str) -> str:
    """The persons and companies a sentence names, as it names them."""
    names = (
        " ".join(words[one.start : one.end].split())
        for one in find_names(words)
        if one.kind is NameKind.COMPANY or len(one.words) > 1 or "." in words[one.start : one.end]
    )
    return ", ".join(dict.fromkeys(names))


def weekday_clash(mention: DateMention) -> str:
    """What is wrong with the weekday written beside a date; empty when nothing is."""
    value = mention.value
    if mention.weekday is None or value is None or None in (value.year, value.month, value.day):
        return ""
    day = value.first_day()
    assert day is not None
    if day.weekday() == mention.weekday:
        return ""
    written = dt.date(2024, 1, 1 + mention.weekday).strftime("%A")  # 1 January 2024 was a Monday
    return f"the record writes {written}, {value.in_words()}, but that day was a {day:%A}"


def order_of(day: PartialDate) -> tuple[int, int, int]:
    """Sorts dates: a year or month stands before the days in it."""
    return (day.year or 9999, day.month or 0, day.day or 0)


def _dated(said: Said, order: DateOrder) -> list[Event]:
    """An event for each date of the sentence, or for the dates of the question it answers."""
    words, found = said.sentence.words, []
    after = 0
    for mention in find_dates(words):
        note = weekday_clash(mention)
        event = _event(said, mention, _role(said.sentence, mention, after), order)
        after = mention.end
        found.append(replace(event, note=note or event.note, clash=bool(note)))
    if not found and said.asked:
        found = [
            replace(
                _event(said, mention, "asked about", order), note="the date stands in the question"
            )
            for mention in find_dates(said.asked)
        ]
    return found


def _event(said: Said, mention: DateMention, role: str, order: DateOrder) -> Event:
    readings, note = mention.readings, ""
    if len(readings) > 1 and order is not DateOrder.UNSET and mention.numeric:
        chosen = _reading(mention, said, order)
        if chosen is not None:
            readings = (chosen,)
            note = f"read {order.replace('_', ' ')}, as the matter's setting says"
    whole = readings[0].year is not None
    shown = " or ".join(one.in_words() for one in readings)
    if mention.until is not None:
        shown = f"{shown} to {mention.until.in_words()}"
    parts = (_MODIFIERS[mention.modifier], _GRAIN[mention.granularity])
    precision = " ".join(part for part in parts if part)
    if len(readings) > 1:
        precision, note = "reads two ways", "the record does not settle which"
    return Event(
        said=said,
        date=shown,
        precision=precision,
        role=role,
        day=readings[0] if len(readings) == 1 and whole else None,
        note=note,
    )


def _reading(mention: DateMention, said: Said, order: DateOrder) -> PartialDate | None:
    """The reading whose day or month stands first, as the matter's setting wants it."""
    source = said.sentence.words if mention.end <= len(said.sentence.words) else ""
    first = re.search(r"\d{1,4}", source[mention.start : mention.end])
    if first is None:
        return None
    number = int(first.group())
    for one in mention.readings:
        if number == (one.month if order is DateOrder.MONTH_FIRST else one.day):
            return one
    return None


def _role(sentence: Sentence, mention: DateMention, after: int) -> str:
    """The role said between ``after``, the end of the date before, and this date."""
    if sentence.turn == "header":
        return "sent" if _HEADER_DATE.match(sentence.words) else "header"
    before = sentence.words[max(after, mention.start - _BEFORE_CHARS) : mention.start]
    nearest, at = "event", -1
    for role, pattern in _ROLES:
        for match in pattern.finditer(before):
            if match.end() > at:
                nearest, at = role, match.end()
    behind = sentence.words[mention.end : mention.end + _BEHIND_CHARS]
    if nearest == "event" and _HANGUL.search(behind):  # the verb ends a Korean sentence
        return next((role for role, pattern in _ROLES if pattern.search(behind)), nearest)
    return nearest


def _impossible(said: Said) -> list[Event]:
    """Days that no calendar has: "February 30, 2024"."""
    found = []
    for match in _WRITTEN_DAY.finditer(said.sentence.words):
        month = _MONTHS[(match["month"] or match["month2"]).casefold()]
        day, year = int(match["day"] or match["day2"]), int(match["year"] or match["year2"])
        if year and not 1 <= day <= calendar.monthrange(year, month)[1]:
            shown = f"{day} {calendar.month_name[month]} {year}"
            found.append(
                Event(
                    said=said,
                    date=f"{shown} (as written)",
                    precision="no such day",
                    role="event",
                    day=None,
                    note=f"there is no {shown}",
                    clash=True,
                )
            )
    return found


def _undated(said: Said) -> list[Event]:
    match = _RELATIVE.search(said.sentence.words)
    if match is None or _NORM.search(said.sentence.words):
        return []
    note = f"time said only as “{' '.join(match.group().split())}”"
    return [Event(said=said, date="", precision="undated", role="event", day=None, note=note)]
