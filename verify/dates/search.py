"""Looks a date of a reply up in the record and weighs what stands there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from protocol.answers import Verdict
from protocol.record import DateOrder, DocumentInfo
from verify.agreement import (
    DISAGREES,
    Agreement,
    compare,
    disagreement,
    fits_as_well,
    fits_better,
)
from verify.citations import misplaced, named_document
from verify.clauses import clause_of
from verify.dates.beside import beside_problem
from verify.dates.mention import DateMention, Granularity, PartialDate, agrees
from verify.dates.modifiers import compare_modifiers
from verify.dates.table import DateTable, order_is_open, settled
from verify.judged import Judged, Stretch
from verify.places import doubt_about_fact, in_scope, supports_facts, title_words
from verify.printed_numbers import unnumbered
from verify.section_cites import section_problem
from verify.source import Source
from verify.surroundings import surroundings
from verify.tables import Tables

MOST_PLACES = 300
"""With more places of one value than this, only those near a word of the clause are compared."""
MOST_DOCUMENTS = 50
"""In more documents than this the nearest date is not looked for: it would say nothing."""
AS_GOOD = 0.05
"""Places that rank this close to the best may stand for it when nothing speaks against them."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A date of the record beside the clause of the reply."""

    info: DocumentInfo
    mention: DateMention
    agreement: Agreement
    open_order: bool

    @property
    def stretch(self) -> Stretch:
        """Where it stands."""
        return Stretch(document=self.info.id, start=self.mention.start, end=self.mention.end)

    @property
    def words(self) -> str:
        """The date in words: ``5 March 2021``."""
        return in_words(self.mention.readings)


def in_words(readings: Iterable[PartialDate]) -> str:
    """All readings in words: ``4 March 2023 or 3 April 2023``."""
    return " or ".join(dict.fromkeys(value.in_words() for value in readings))


class DateSearch:
    """One date of a reply, its clause, and the documents to look in."""

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
        span = (item.start, item.end)
        self._reply, self._span = reply, span
        self.named = named_document(reply, span, source, documents)
        others = [(mention.start, mention.end) for mention in mentions if mention is not item]
        self.clause = clause_of(reply, span, others, self.named.naming)
        scope = in_scope(source, documents)
        named = () if self.named.guessed else self.named.documents
        self._named = [info for info in scope if info.id in named]
        self._rest = [info for info in scope if info.id not in named]
        self._heavy = [word.stem[:5] for word in self.clause.words if word.weight >= 0.6]

    def verdict(self, readings: tuple[PartialDate, ...]) -> Judged:
        """What the record says of the date, read as one of ``readings``."""
        facts = [info for info in self._named or self._rest if supports_facts(info)]
        held = self._held(facts, readings)
        if not held:
            return self._absent(facts, readings)
        if order_is_open(readings):
            return Judged(
                verdict=Verdict.AMBIGUOUS,
                reason=f"Reads two ways: {in_words(readings)}. Write the month as a word, "
                "or set the matter's date order",
                places=(held[0].stretch,),
            )
        return self._judge(held, readings)

    # --- finding ---

    def _table(self, info: DocumentInfo) -> DateTable:
        return self.tables.get("dates", self.source, info, DateTable)

    def _held(
        self, infos: Sequence[DocumentInfo], readings: tuple[PartialDate, ...]
    ) -> list[Place]:
        """Where the value stands, the best fitting first."""
        found = []
        for info in infos:
            table = self._table(info)
            order = self.source.date_order
            order = table.order if order is DateOrder.UNSET else order
            for number in sorted({n for said in readings for n in table.holding(said)}):
                mention = table.mentions[number]
                kept = settled(mention, order)
                ends = (mention.until,) if mention.until else ()
                if any(agrees(said, value) for said in readings for value in (*kept, *ends)):
                    found.append((info, table, number, order_is_open(kept)))
        if len(found) > MOST_PLACES:
            near = [one for one in found if self._near(one[0], one[1].mentions[one[2]])]
            found = near[:MOST_PLACES] or found[:1]
        places = [self._place(*one) for one in found]
        return sorted(places, key=lambda place: -place.agreement.rank)

    def _place(self, info: DocumentInfo, table: DateTable, number: int, open_order: bool) -> Place:
        mention = table.mentions[number]
        text = self.source.text(info.id)
        around = surroundings(text, (mention.start, mention.end), table.neighbours(number))
        return Place(
            info=info,
            mention=mention,
            agreement=compare(self.clause, around, title_words(info, text, mention.start)),
            open_order=open_order,
        )

    def _near(self, info: DocumentInfo, mention: DateMention) -> bool:
        """Whether half the heavy words of the clause stand near: a cheap look before a dear one."""
        text = self.source.text(info.id)
        window = text[max(0, mention.start - 300) : mention.end + 200].lower()
        return 0 < len(self._heavy) <= 2 * sum(word in window for word in self._heavy)

    def _rival(
        self, infos: Iterable[DocumentInfo], readings: Sequence[PartialDate]
    ) -> Place | None:
        """The other date of these documents that fits the clause best."""
        best: Place | None = None
        for info in infos:
            table = self._table(info)
            own = {number for said in readings for number in table.holding(said)}
            for number, mention in enumerate(table.mentions):
                if number in own or mention.readings[0].year is None:
                    continue
                if self._near(info, mention):
                    place = self._place(info, table, number, False)
                    if best is None or place.agreement.rank > best.agreement.rank:
                        best = place
        return best

    # --- weighing ---

    def _judge(self, held: list[Place], readings: tuple[PartialDate, ...]) -> Judged:
        infos = {place.info.id: place.info for place in held}
        rival = self._rival(infos.values(), readings)
        best = held[0]
        if rival is not None and fits_better(rival.agreement, best.agreement):
            return Judged(
                verdict=Verdict.MISATTRIBUTED,
                reason=f"The record holds {best.words} for another event; "
                f"for this one it says {rival.words}",
                places=(best.stretch,),
                nearest=(rival.stretch,),
            )
        as_good = [p for p in held if p.agreement.rank >= best.agreement.rank - AS_GOOD]
        results = (self._weigh(place, rival) for place in as_good)
        result = next((one for one in results if one.verdict is Verdict.VERIFIED), None)
        result = result or self._weigh(best, rival)
        if result.verdict is Verdict.VERIFIED and misplaced(self.named, result.places[0]):
            result = self._elsewhere(as_good, result)
        also = tuple(p.stretch for p in held if p.stretch not in result.places)[:5]
        return Judged(
            verdict=result.verdict,
            reason=result.reason,
            places=result.places,
            also_in=tuple(p for p in also if p.document != result.places[0].document),
            diff=result.diff,
        )

    def _elsewhere(self, as_good: Sequence[Place], result: Judged) -> Judged:
        """A proven date that does not stand at the page or line the reply names."""
        if any(not misplaced(self.named, place.stretch) for place in as_good):
            return result
        return Judged(
            verdict=Verdict.MISATTRIBUTED,
            reason="The record gives this date for this event, but not where the reply names it",
            places=result.places,
        )

    def _weigh(self, place: Place, rival: Place | None) -> Judged:
        """One place that holds the value, everything that could speak against it asked."""
        found = (place.stretch,)
        if place.open_order:
            reason = "The record writes this date in digits that read two ways"
            return Judged(verdict=Verdict.AMBIGUOUS, reason=reason, places=found)
        reason = self._problem(place, rival)
        if reason:
            return Judged(verdict=Verdict.CHECK, reason=reason, places=found)
        bound = compare_modifiers(self.item.modifier, place.mention.modifier, self.clause.deadline)
        if bound.contradiction:
            return Judged(
                verdict=Verdict.ALTERED,
                reason="The reply turns the bound of this date round",
                places=found,
                diff=bound.contradiction,
            )
        if bound.doubt:
            return Judged(verdict=Verdict.CHECK, reason=bound.doubt, places=found)
        finer = ""
        if self.item.granularity is not place.mention.granularity:
            finer = f"; the record is more precise: {place.words}"
        return Judged(
            verdict=Verdict.VERIFIED,
            reason=f"The record gives this date for this event{finer}",
            places=found,
        )

    def _problem(self, place: Place, rival: Place | None) -> str:
        """Why a held date is not green, in words; empty when nothing speaks against it."""
        if self.named.problem:
            return f"Date found, but the place named does not exist: {self.named.problem}"
        elsewhere = section_problem(
            self._reply, self._span, place.stretch, place.info, self.source, self.tables
        )
        if elsewhere:
            return f"Date found, but {elsewhere}"
        read = self.tables.get("unnumbered", self.source, place.info, unnumbered)
        stretch = (read.within(place.stretch.start), read.within(place.stretch.end))
        apart = beside_problem(self._reply, self._span, read.words, stretch, self.named.naming)
        if apart:
            return f"Found, but {apart}"
        doubt = doubt_about_fact(self.source, place.stretch)
        if doubt:
            return f"Date found, but {doubt}"
        reason = disagreement(self.clause, place.agreement)
        if reason:
            return reason
        if rival and fits_as_well(rival.agreement, place.agreement, self.clause):
            return f"Found, but the record says the same of {rival.words}"
        if len(self.clause.words) < 2 and not (self._named or place.agreement.run):
            return "Found, but the reply says too little around it to compare"
        return ""

    def _absent(self, facts: list[DocumentInfo], readings: tuple[PartialDate, ...]) -> Judged:
        """The value does not stand where it should."""
        said = in_words(readings)
        if self._named:
            others = self._held([info for info in self._rest if supports_facts(info)], readings)
            if others and (others[0].agreement.good or not self.named.exact):
                exact = self.named.exact
                return Judged(
                    verdict=Verdict.MISATTRIBUTED if exact else Verdict.CHECK,
                    reason=f"{said} stands in {others[0].info.title}, "
                    "not in the document the reply names",
                    places=(others[0].stretch,),
                )
        unfit = [info for info in self._named or self._rest if not supports_facts(info)]
        weak = self._held(unfit, readings)
        if weak:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"Only in {weak[0].info.title}, which may not support a statement of fact",
                places=(weak[0].stretch,),
            )
        near = self._rival(facts, readings) if len(facts) <= MOST_DOCUMENTS else None
        if near is not None and near.agreement.score < DISAGREES:
            near = None
        where = "The document named does not hold" if self._named else "The record does not hold"
        closest = f"; for this event it says {near.words}" if near else ""
        return Judged(
            verdict=Verdict.NOT_FOUND,
            reason=f"{where} {said}{closest or self._day_shift(facts, readings)}",
            nearest=(near.stretch,) if near else self._nearest(facts, readings),
        )

    def _day_shift(self, infos: Sequence[DocumentInfo], readings: Sequence[PartialDate]) -> str:
        """A mail header one day away: a time zone may have moved the day."""
        for info in infos[:MOST_DOCUMENTS]:
            for mention in self._table(info).mentions:
                if mention.zone and mention.value and _days_apart(mention.value, readings[0]) == 1:
                    return (
                        f"; a mail header says {mention.value.in_words()} {mention.clock} "
                        f"{mention.zone}: another time zone would move the day"
                    )
        return ""

    def _nearest(
        self, infos: Sequence[DocumentInfo], readings: Sequence[PartialDate]
    ) -> tuple[Stretch, ...]:
        """The date of these documents that is the fewest days away."""
        best: tuple[int, Stretch] | None = None
        for info in infos if len(infos) <= MOST_DOCUMENTS else ():
            for mention in self._table(info).mentions:
                if mention.granularity is Granularity.DAY:
                    apart = _days_apart(mention.readings[0], readings[0])
                    if apart is not None and (best is None or apart < best[0]):
                        place = Stretch(document=info.id, start=mention.start, end=mention.end)
                        best = (apart, place)
        return (best[1],) if best else ()


def _days_apart(a: PartialDate, b: PartialDate) -> int | None:
    first, second = a.first_day(), b.first_day()
    return None if first is None or second is None else abs((first - second).days)
