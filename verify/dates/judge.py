"""One date of a reply against the record.

The order of questions: does it contradict its own weekday; is it computed; does it read two ways;
which document does the reply name; does that document hold the value, as finely as the reply says
it; and does the record speak of the same event there. Only a yes to every one is green.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.answers import GREEN, Verdict
from protocol.record import DateOrder, DocumentInfo
from verify.citations import named_document
from verify.dates.deadlines import Claim, claimed
from verify.dates.mention import DateMention, Granularity, Modifier, PartialDate
from verify.dates.reckon import reckon, weekday_name
from verify.dates.scan import find_dates
from verify.dates.table import DateTable, order_is_open, settled
from verify.events import (
    DISAGREES,
    Agreement,
    Clause,
    clause_of,
    compare,
    disagreement,
    fits_as_well,
    fits_better,
)
from verify.judged import Judged, Stretch
from verify.places import doubt_about, in_scope, supports_facts
from verify.source import Source
from verify.surroundings import surroundings
from verify.tables import Tables

MOST_RIVALS = 400
"""Other dates of a document compared at most; nearest in the text first."""


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A date of the record beside the clause of the reply."""

    info: DocumentInfo
    mention: DateMention
    agreement: Agreement
    open_order: bool
    clause: Clause

    @property
    def stretch(self) -> Stretch:
        return Stretch(document=self.info.id, start=self.mention.start, end=self.mention.end)


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
    mentions = find_dates(reply)
    item = _at(mentions, span)
    if item is None or not _covers(item, reply, span):
        item = _alone(reply, span) or item
    if item is None:
        return Judged(verdict=Verdict.CHECK, reason="Not read as a date: look at it")
    wrong_weekday = _weekday_conflict(item)
    if wrong_weekday:
        return Judged(verdict=Verdict.INCONSISTENT, reason=wrong_weekday)
    tables = tables or Tables()
    claim = claimed(reply, item, mentions)
    if claim is not None:
        return _computed(reply, item, claim, source, documents, tables)
    readings = _settle_by_reply(item, mentions, source.date_order)
    return _Look(reply, item, mentions, source, documents, tables).verdict(readings)


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
            reason=f"The count is right, but the date it starts from is {base.verdict.value}: {base.reason}",
            places=base.places,
            nearest=base.nearest,
            steps=result.steps,
        )
    return Judged(
        verdict=Verdict.COMPUTED,
        reason="Not in the record; follows from it by the steps shown. Whether this period applies was not checked",
        places=base.places,
        steps=result.steps,
    )


class _Look:
    """One search for a date and its event."""

    def __init__(
        self,
        reply: str,
        item: DateMention,
        mentions: Sequence[DateMention],
        source: Source,
        documents: Sequence[str] | None,
        tables: Tables,
    ) -> None:
        self.source, self.tables, self.item = source, tables, item
        self.scope = in_scope(source, documents)
        span = (item.start, item.end)
        self.named = named_document(reply, span, source, documents)
        others = [(m.start, m.end) for m in mentions if m is not item]
        self.clause = clause_of(reply, span, others, self.named.naming)

    def table(self, info: DocumentInfo) -> DateTable:
        return self.tables.get("dates", self.source, info, DateTable)

    def verdict(self, readings: tuple[PartialDate, ...]) -> Judged:
        first = [info for info in self.scope if info.id in self.named.documents]
        rest = [info for info in self.scope if info.id not in self.named.documents]
        facts = [info for info in first or rest if supports_facts(info)]
        held = self._held(facts, readings)
        if held:
            if order_is_open(readings):
                return self._two_readings(readings, held)
            return self._judge(held, readings)
        return self._absent(first, facts, rest, readings)

    def _held(
        self, infos: Sequence[DocumentInfo], readings: tuple[PartialDate, ...]
    ) -> list[_Place]:
        places = []
        for info in infos:
            table = self.table(info)
            order = self.source.date_order
            order = table.order if order is DateOrder.UNSET else order
            for number in sorted({n for said in readings for n in table.holding(said)}):
                mention = table.mentions[number]
                kept = settled(mention, order)
                if _fits(readings, kept) or _fits(readings, filter(None, (mention.until,))):
                    places.append(self._place(info, table, number, order_is_open(kept)))
        return sorted(places, key=lambda place: -place.agreement.rank)

    def _place(
        self, info: DocumentInfo, table: DateTable, number: int, open_order: bool = False
    ) -> _Place:
        mention = table.mentions[number]
        around = surroundings(
            self.source.text(info.id), (mention.start, mention.end), table.neighbours(number)
        )
        return _Place(
            info=info,
            mention=mention,
            agreement=compare(self.clause, around),
            open_order=open_order,
            clause=self.clause,
        )

    def _rival(
        self, infos: Sequence[DocumentInfo], readings: Sequence[PartialDate]
    ) -> _Place | None:
        """The other date of these documents that fits the clause best."""
        best: _Place | None = None
        for info in infos:
            table = self.table(info)
            own = {n for said in readings for n in table.holding(said)}
            text = self.source.text(info.id)
            numbers = [n for n in range(len(table.mentions)) if n not in own]
            for number in numbers[: MOST_RIVALS * 5]:
                mention = table.mentions[number]
                if mention.readings[0].year is None or not self._worth(text, mention):
                    continue
                place = self._place(info, table, number)
                if best is None or place.agreement.rank > best.agreement.rank:
                    best = place
        return best

    def _worth(self, text: str, mention: DateMention) -> bool:
        """Whether any heavy word of the clause stands near: a cheap look before the dear one."""
        window = text[max(0, mention.start - 300) : mention.end + 200].lower()
        heavy = [word for word, weight in self.clause.words if weight >= 0.6]
        return sum(word[:5] in window for word in heavy) * 2 >= len(heavy)

    def _judge(self, held: list[_Place], readings: tuple[PartialDate, ...]) -> Judged:
        best = held[0]
        rival = self._rival([place.info for place in _first_of_each(held)], readings)
        also = tuple(place.stretch for place in held[1:] if place.info.id != best.info.id)[:5]
        words = best.agreement
        if rival is not None and fits_better(rival.agreement, best.agreement):
            return Judged(
                verdict=Verdict.MISATTRIBUTED,
                reason=f"The record holds {readings[0].in_words()} for another event; for this one it says "
                f"{rival.mention.readings[0].in_words()}",
                places=(best.stretch,),
                nearest=(rival.stretch,),
            )
        problem = self._problem(best)
        if not problem and rival and fits_as_well(rival.agreement, best.agreement, self.clause):
            problem = f"The record says the same of {rival.mention.readings[0].in_words()}"
        if problem:
            return Judged(
                verdict=Verdict.AMBIGUOUS if best.open_order else Verdict.CHECK,
                reason=problem,
                places=(best.stretch,),
                also_in=also,
            )
        altered = _modifiers_differ(self.item.modifier, best.mention.modifier, self.clause.deadline)
        if altered:
            return Judged(
                verdict=Verdict.ALTERED if altered.startswith("record") else Verdict.CHECK,
                reason=altered.capitalize(),
                places=(best.stretch,),
                diff=altered if altered.startswith("record") else "",
            )
        coarser = "" if words.run else ""
        if self.item.granularity is not best.mention.granularity:
            coarser = f"; the record is more precise: {best.mention.readings[0].in_words()}"
        return Judged(
            verdict=Verdict.VERIFIED,
            reason=f"The record gives this date for this event{coarser}",
            places=(best.stretch,),
            also_in=also,
        )

    def _problem(self, best: _Place) -> str:
        """Why a held date is not green, in words; empty when nothing speaks against it."""
        words, clause = best.agreement, best.clause
        if best.open_order:
            return "The record writes this date in digits that read two ways"
        doubt = doubt_about(self.source, best.stretch)
        if doubt:
            return f"Date found, but {doubt}"
        reason = disagreement(
            clause, words, best.info.title, self.source.text(best.info.id), best.mention.start
        )
        if reason:
            return reason
        if len(clause.words) < 2 and not (self.named.documents or words.run):
            return "Date found, but the reply says too little of the event to compare"
        return ""

    def _two_readings(self, readings: tuple[PartialDate, ...], held: list[_Place]) -> Judged:
        days = " or ".join(dict.fromkeys(value.in_words() for value in readings))
        return Judged(
            verdict=Verdict.AMBIGUOUS,
            reason=f"Reads two ways: {days}. Write the month as a word, or set the matter's date order",
            places=(held[0].stretch,),
        )

    def _absent(
        self,
        first: list[DocumentInfo],
        facts: list[DocumentInfo],
        rest: list[DocumentInfo],
        readings: tuple[PartialDate, ...],
    ) -> Judged:
        said = readings[0].in_words()
        named = bool(first)
        elsewhere = (
            self._held([info for info in rest if supports_facts(info)], readings) if named else []
        )
        if elsewhere and elsewhere[0].agreement.good:
            loose = not self.named.exact
            return Judged(
                verdict=Verdict.CHECK if loose else Verdict.MISATTRIBUTED,
                reason=f"{said} stands in {elsewhere[0].info.title}, not in the document the reply names",
                places=(elsewhere[0].stretch,),
            )
        unfit = [info for info in self.scope if not supports_facts(info)]
        weak = self._held(unfit, readings)
        if weak and not named:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"Only in {weak[0].info.title}, which does not support a statement of fact",
                places=(weak[0].stretch,),
            )
        rival = self._rival(facts, readings) if len(facts) <= 50 else None
        near = (rival.stretch,) if rival is not None and rival.agreement.score >= DISAGREES else ()
        closest = (
            f"; for this event it says {rival.mention.readings[0].in_words()}"
            if near and rival
            else ""
        )
        where = "The document named does not hold" if named else "The record does not hold"
        shift = self._day_shift(facts, readings)
        return Judged(
            verdict=Verdict.NOT_FOUND,
            reason=f"{where} {said}{closest or shift}",
            nearest=near or self._nearest(facts, readings),
        )

    def _day_shift(self, infos: Sequence[DocumentInfo], readings: Sequence[PartialDate]) -> str:
        """A mail header one day away: a zone may have moved the day."""
        for info in infos:
            for mention in self.table(info).mentions:
                if mention.zone and mention.value and _days_apart(mention.value, readings[0]) == 1:
                    return (
                        f"; a mail header says {mention.value.in_words()} {mention.clock} {mention.zone}: "
                        "another time zone would move the day"
                    )
        return ""

    def _nearest(
        self, infos: Sequence[DocumentInfo], readings: Sequence[PartialDate]
    ) -> tuple[Stretch, ...]:
        best: tuple[int, Stretch] | None = None
        for info in infos[:50]:
            for mention in self.table(info).mentions:
                if mention.granularity is Granularity.DAY:
                    apart = _days_apart(mention.readings[0], readings[0])
                    if apart is not None and (best is None or apart < best[0]):
                        place = Stretch(document=info.id, start=mention.start, end=mention.end)
                        best = (apart, place)
        return (best[1],) if best else ()


def _fits(readings: Sequence[PartialDate], held: object) -> bool:
    assert hasattr(held, "__iter__")
    return any(
        all(a is None or a == b for a, b in zip(said, value, strict=True))
        for value in held
        for said in readings
    )


def _first_of_each(places: Sequence[_Place]) -> list[_Place]:
    return list({place.info.id: place for place in reversed(places)}.values())


def _modifiers_differ(said: Modifier, held: Modifier, deadline: bool) -> str:
    """Empty when the reply's "before", "about" and the like agree with the record's.

    Starts with ``record`` when they contradict each other.
    """
    families = {
        Modifier.BEFORE: "before",
        Modifier.BY: "by",
        Modifier.AFTER: "after",
        Modifier.FROM: "from",
    }
    if said is held or (
        deadline and held in (Modifier.BY, Modifier.BEFORE) and said is Modifier.NONE
    ):
        return ""
    early, late = {Modifier.BEFORE, Modifier.BY}, {Modifier.AFTER, Modifier.FROM}
    if (said in early and held in late) or (said in late and held in early):
        return f'record "{families[held]}" / reply "{families[said]}"'
    if said is Modifier.ABOUT and held is Modifier.NONE:
        return ""
    if held is Modifier.NONE:
        return f'the reply says "{said.value}", the record gives the date itself'
    return f'the record says "{held.value}" of this date, the reply {"does not" if said is Modifier.NONE else said.value}'


def _days_apart(a: PartialDate, b: PartialDate) -> int | None:
    first, second = a.first_day(), b.first_day()
    return None if first is None or second is None else abs((first - second).days)
