"""One date of a reply against the record.

The order of questions: does it contradict its own weekday; is it computed; does it read two ways;
which document does the reply name; does that document hold the value, as finely as the reply says
it; and does the record speak of the same event there. Only a yes to every one is green.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from protocol.answers import GREEN, Verdict
from protocol.record import DateOrder
from verify.dates.deadlines import Claim, claimed
from verify.dates.mention import DateMention, PartialDate
from verify.dates.reckon import reckon, weekday_name
from verify.dates.scan import find_dates
from verify.dates.search import DateSearch
from verify.dates.table import order_is_open, settled
from verify.judged import Judged
from verify.source import Source
from verify.tables import Tables


def judge_date(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
    *,
    tables: Tables | None = None,
) -> Judged:
    """What the record says of the date at ``span`` of a reply.

    Args:
        reply: The whole reply; the sentence around the date says which event is meant.
        span: ``[start, end)`` in code points.
        source: The record.
        documents: Ids to look in; None for all.
        tables: Memory for the dates of each document; a fresh one when None.

    Returns:
        VERIFIED, COMPUTED, CHECK, AMBIGUOUS, NOT_FOUND, MISATTRIBUTED, ALTERED or INCONSISTENT.
    """
    tables = tables or Tables()
    mentions = tables.of_reply("dates", reply, find_dates)
    item = _at(mentions, span)
    if item is None or not _covers(item, reply, span):
        item = _alone(reply, span) or item
    if item is None:
        return Judged(verdict=Verdict.CHECK, reason="Not read as a date: look at it")
    wrong_weekday = _weekday_conflict(item)
    if wrong_weekday:
        return Judged(verdict=Verdict.INCONSISTENT, reason=wrong_weekday)
    claim = claimed(reply, item, mentions)
    if claim is not None:
        return _computed(reply, item, claim, source, documents, tables)
    readings = _settle_by_reply(item, mentions, source.date_order)
    return DateSearch(reply, item, mentions, source, documents, tables).verdict(readings)


def _at(mentions: Sequence[DateMention], span: tuple[int, int]) -> DateMention | None:
    def shared(mention: DateMention) -> int:
        return min(mention.end, span[1]) - max(mention.start, span[0])

    best = max(mentions, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


def _covers(item: DateMention, reply: str, span: tuple[int, int]) -> bool:
    """Whether no figure or letter of the marked words lies outside what was read as the date."""
    rest = reply[span[0] : max(span[0], item.start)] + reply[min(span[1], item.end) : span[1]]
    return not any(sign.isalnum() for sign in rest)


def _alone(reply: str, span: tuple[int, int]) -> DateMention | None:
    found = find_dates(" " * span[0] + reply[span[0] : span[1]])
    return found[0] if found else None


def _weekday_conflict(item: DateMention) -> str:
    if item.weekday is None:
        return ""
    days = [day for day in (value.first_day() for value in item.readings) if day is not None]
    if not days or any(day.weekday() == item.weekday for day in days):
        return ""
    said = weekday_name(dt.date(2024, 1, 1) + dt.timedelta(days=item.weekday))
    return f"{item.readings[0].in_words()} was a {weekday_name(days[0])}, not a {said}"


def _settle_by_reply(
    item: DateMention, mentions: Sequence[DateMention], order: DateOrder
) -> tuple[PartialDate, ...]:
    """Readings left after the matter's order and what the same reply writes out."""
    readings = settled(item, order)
    if not order_is_open(readings):
        return readings
    written = {
        mention.value
        for mention in mentions
        if mention is not item and not mention.numeric and mention.value is not None
    }
    kept = tuple(value for value in readings if value in written)
    return kept if len(kept) == 1 else readings


def _computed(
    reply: str,
    item: DateMention,
    claim: Claim,
    source: Source,
    documents: Sequence[str] | None,
    tables: Tables,
) -> Judged:
    base_day = claim.base.value.first_day() if claim.base.value else None
    result = reckon(base_day, claim.period) if base_day else None
    if result is None:
        return Judged(verdict=Verdict.CHECK, reason="The period leads out of the calendar")
    said = [value.first_day() for value in item.readings]
    if result.date not in said:
        if result.doubt:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"Counted otherwise here; {result.doubt}",
                steps=result.steps,
            )
        return Judged(
            verdict=Verdict.INCONSISTENT,
            reason=f"{result.steps[0]}, not {item.readings[0].in_words()}",
            steps=result.steps,
        )
    if result.doubt:
        return Judged(
            verdict=Verdict.CHECK, reason=f"Counts as said, but {result.doubt}", steps=result.steps
        )
    base = judge_date(reply, (claim.base.start, claim.base.end), source, documents, tables=tables)
    if base.verdict not in GREEN:
        return Judged(
            verdict=Verdict.CHECK,
            reason="The count is right, but the date it starts from is "
            f"{base.verdict.value}: {base.reason}",
            places=base.places,
            nearest=base.nearest,
            steps=result.steps,
        )
    return Judged(
        verdict=Verdict.COMPUTED,
        reason="Not in the record; follows from it by the steps shown. "
        "Whether this period applies was not checked",
        places=base.places,
        steps=result.steps,
    )
