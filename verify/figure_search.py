"""Looks a figure of a reply up in the record and weighs what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from protocol.answers import Verdict
from protocol.record import DocumentInfo
from verify.agreement import (
    DISAGREES,
    Agreement,
    compare,
    disagreement,
    fits_as_well,
    fits_better,
)
from verify.amounts import Bound, Figure, beside, find_figures
from verify.citations import misplaced, named_document
from verify.clauses import clause_of
from verify.dates.beside import beside_problem
from verify.dates.scan import find_dates
from verify.judged import Judged, Stretch
from verify.places import doubt_about_fact, in_scope, supports_facts, title_words
from verify.printed_numbers import unnumbered
from verify.section_cites import section_problem
from verify.source import Source
from verify.surroundings import surroundings
from verify.tables import Tables
from verify.word_forms import CJK

_OF_BEFORE = re.compile(
    r"(?<![\w.,$€£])(?P<other>\d[\d,]*)(?:\s[a-z]+)?\s+(?:out\s+of|of)\s+(?:the\s+|its\s+|all\s+)?\Z"
)
_OF_AFTER = re.compile(
    r"(?:\s[a-z]+)?\s+(?:out\s+of|of)\s+(?:the\s+|its\s+|all\s+)?(?P<other>\d[\d,]*)"
)
NEAR = 8
"""How many figures on each side may share a sentence with a figure."""
TWIN_CHARS = 4
"""Two figures of one value this close are one written twice: "five percent (5%)"."""
MOST_PLACES = 300
"""With more places of one value than this, only those near a word of the clause are compared."""
MOST_DOCUMENTS = 50
"""In more documents than this the nearest figure is not looked for: it would say nothing."""


class FigureTable:
    """The figures of a text, dates and printed line numbers left out, by group and value."""

    def __init__(self, text: str) -> None:
        read = unnumbered(text)
        dates = [(mention.start, mention.end) for mention in find_dates(read.words)]
        self.figures = tuple(
            _at(figure, *read.raw_span(figure.start, figure.end))
            for figure in find_figures(read.words, dates, bare=True)
        )
        self.text = read.blanked
        """The text with blanks for its printed line numbers: what stands beside a figure."""
        self._by_value: dict[Decimal, list[int]] = {}
        self.groups: dict[str, list[int]] = {}
        for number, figure in enumerate(self.figures):
            self._by_value.setdefault(figure.value, []).append(number)
            self.groups.setdefault(figure.group, []).append(number)

    def holding(self, value: Decimal) -> list[int]:
        """The numbers of the figures with exactly this value, whatever their unit."""
        return self._by_value.get(value, [])

    def neighbours(self, number: int) -> list[tuple[int, int]]:
        """The spans of the figures of the same group around one, itself left out."""
        own = self.figures[number]
        around = range(max(0, number - NEAR), min(len(self.figures), number + NEAR + 1))
        return [
            (figure.start, figure.end)
            for figure in (self.figures[other] for other in around if other != number)
            if figure.group == own.group and not are_twins(figure, own)
        ]


def _at(figure: Figure, start: int, end: int) -> Figure:
    moved = (start, end) != (figure.start, figure.end)
    return replace(figure, start=start, end=end) if moved else figure


def are_twins(a: Figure, b: Figure) -> bool:
    """Whether two figures are one written twice."""
    apart = max(a.start, b.start) - min(a.end, b.end)
    return a.value == b.value and apart <= TWIN_CHARS


@dataclass(frozen=True, kw_only=True)
class Place:
    """A figure of the record beside the clause of the reply."""

    info: DocumentInfo
    figure: Figure
    agreement: Agreement

    @property
    def stretch(self) -> Stretch:
        """Where it stands."""
        return Stretch(document=self.info.id, start=self.figure.start, end=self.figure.end)


def figure_in_words(figure: Figure) -> str:
    """``$1,200,000``, ``KRW 120,000,000``, ``90 day``."""
    number = f"{figure.value:,f}"
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    if figure.money:
        return f"${number}" if figure.unit == "$" else f"{figure.unit} {number}"
    return f"{number} {figure.unit}".strip()


class FigureSearch:
    """One figure of a reply, its clause, and the documents to look in."""

    def __init__(
        self,
        reply: str,
        item: Figure,
        figures: Sequence[Figure],
        source: Source,
        documents: Sequence[str] | None,
        tables: Tables,
    ) -> None:
        self.source, self.tables, self.item = source, tables, item
        span = (item.start, item.end)
        self._reply, self._span = reply, span
        self.named = named_document(reply, span, source, documents)
        others = [
            (figure.start, figure.end)
            for figure in figures
            if figure is not item and figure.group == item.group and not are_twins(figure, item)
        ]
        dates = [
            (mention.start, mention.end)
            for mention in (
                tables.of_reply("dates", reply, find_dates) if CJK.search(reply) else ()
            )
            if CJK.search(reply, mention.start, mention.end)
        ]  # their parts are no words that the record would repeat
        self.clause = clause_of(reply, span, others, (*self.named.naming, *dates))
        scope = in_scope(source, documents)
        named = () if self.named.guessed else self.named.documents
        self._named = [info for info in scope if info.id in named]
        self._rest = [info for info in scope if info.id not in named]
        self._share = share_of(reply, item)
        self._heavy = [word.stem[:5] for word in self.clause.words if word.weight >= 0.6]

    def verdict(self) -> Judged:
        """What the record says of the figure."""
        facts = [info for info in self._named or self._rest if supports_facts(info)]
        same, unclear = self._held(facts)
        if same:
            return self._judge(same)
        if unclear and unclear[0].agreement.good:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"The number stands there, but as {figure_in_words(unclear[0].figure)}",
                places=(unclear[0].stretch,),
            )
        return self._absent(facts)

    # --- finding ---

    def _table(self, info: DocumentInfo) -> FigureTable:
        return self.tables.get("figures", self.source, info, FigureTable)

    def _held(self, infos: Iterable[DocumentInfo]) -> tuple[list[Place], list[Place]]:
        """Figures of the same value: those with the same unit, those whose unit is open."""
        found = []
        for info in infos:
            table = self._table(info)
            for number in table.holding(self.item.value):
                fit = units_fit(self.item, table.figures[number])
                if fit is not None:
                    found.append((info, table, number, fit))
        if len(found) > MOST_PLACES:
            near = [one for one in found if self._near(one[0], one[1].figures[one[2]])]
            found = near[:MOST_PLACES] or found[:1]
        places = [(self._place(info, table, number), fit) for info, table, number, fit in found]
        places.sort(key=lambda pair: -pair[0].agreement.rank)
        return [p for p, fit in places if fit], [p for p, fit in places if not fit]

    def _place(self, info: DocumentInfo, table: FigureTable, number: int) -> Place:
        figure, text = table.figures[number], self.source.text(info.id)
        around = surroundings(text, (figure.start, figure.end), table.neighbours(number))
        granted = title_words(info, text, figure.start)
        agreement = compare(self.clause, around, granted)
        return Place(info=info, figure=beside(table.text, figure), agreement=agreement)

    def _near(self, info: DocumentInfo, figure: Figure) -> bool:
        """Whether half the heavy words of the clause stand near: a cheap look before a dear one."""
        text = self.source.text(info.id)
        window = text[max(0, figure.start - 250) : figure.end + 150].lower()
        return 0 < len(self._heavy) <= 2 * sum(word in window for word in self._heavy)

    def _rival(self, infos: Iterable[DocumentInfo]) -> Place | None:
        """The other figure of the same group that fits the clause best."""
        best: Place | None = None
        for info in infos:
            table = self._table(info)
            for number in table.groups.get(self.item.group, ()):
                figure = table.figures[number]
                if figure.value != self.item.value and self._near(info, figure):
                    place = self._place(info, table, number)
                    if best is None or place.agreement.rank > best.agreement.rank:
                        best = place
        return best

    # --- weighing ---

    def _judge(self, same: list[Place]) -> Judged:
        best = same[0]
        rival = self._rival({place.info.id: place.info for place in same}.values())
        if rival is not None and fits_better(rival.agreement, best.agreement):
            return Judged(
                verdict=Verdict.MISATTRIBUTED,
                reason="The record holds this figure for something else; "
                f"for this it says {figure_in_words(rival.figure)}",
                places=(best.stretch,),
                nearest=(rival.stretch,),
            )
        found = (best.stretch,)
        also = tuple(place.stretch for place in same[1:] if place.info.id != best.info.id)[:5]
        clash, doubt = compare_bounds(self.item.bound, best.figure.bound)
        if clash:
            reason = "The reply turns the bound of this figure round"
            return Judged(verdict=Verdict.ALTERED, reason=reason, places=found, diff=clash)
        problem = self._problem(best, rival) or doubt
        if problem:
            return Judged(verdict=Verdict.CHECK, reason=problem, places=found, also_in=also)
        return Judged(
            verdict=Verdict.VERIFIED,
            reason="The record gives this figure for this",
            places=found,
            also_in=also,
        )

    def _problem(self, place: Place, rival: Place | None) -> str:
        """Why a held figure is not green, in words; empty when nothing speaks against it."""
        figure, item = place.figure, self.item
        if self.named.problem:
            return f"Figure found, but the place named does not exist: {self.named.problem}"
        if misplaced(self.named, place.stretch):
            return "Figure found, but not at the place the reply names"
        elsewhere = section_problem(
            self._reply, self._span, place.stretch, place.info, self.source, self.tables
        )
        if elsewhere:
            return f"Figure found, but {elsewhere}"
        read = self.tables.get("unnumbered", self.source, place.info, unnumbered)
        stretch = (read.within(place.stretch.start), read.within(place.stretch.end))
        apart = beside_problem(self._reply, self._span, read.words, stretch, self.named.naming)
        if apart:
            return f"Found, but {apart}"
        doubt = doubt_about_fact(self.source, place.stretch)
        if doubt:
            return f"Figure found, but {doubt}"
        if figure.twin is not None:
            return "The record itself gives two values here, in words and in figures"
        if item.per and item.per != figure.per:
            counted = f"per {figure.per}" if figure.per else "without a period"
            return f"The record counts it {counted}, the reply per {item.per}"
        if self._share != share_of(self._table(place.info).text, figure):
            return "The record says another share: what is counted, and of how many"
        reason = disagreement(self.clause, place.agreement)
        if not reason and rival and fits_as_well(rival.agreement, place.agreement, self.clause):
            return f"Found, but the record says the same of {figure_in_words(rival.figure)}"
        return reason

    def _absent(self, facts: list[DocumentInfo]) -> Judged:
        """The value does not stand where it should."""
        if self._named:
            others, _ = self._held(info for info in self._rest if supports_facts(info))
            if others and (others[0].agreement.good or not self.named.exact):
                return Judged(
                    verdict=Verdict.MISATTRIBUTED if self.named.exact else Verdict.CHECK,
                    reason=f"It stands in {others[0].info.title}, "
                    "not in the document the reply names",
                    places=(others[0].stretch,),
                )
        unfit = [info for info in self._named or self._rest if not supports_facts(info)]
        weak, _ = self._held(unfit)
        if weak:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"Only in {weak[0].info.title}, which may not support a statement of fact",
                places=(weak[0].stretch,),
            )
        near = self._rival(facts) if len(facts) <= MOST_DOCUMENTS else None
        if near is not None and near.agreement.score < DISAGREES:
            near = None
        says = f" {figure_in_words(near.figure)}" if near else ""
        if near and self.item.bound is Bound.ABOUT and rounds(near.figure.value, self.item.value):
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"The record says{says}; the reply rounds it",
                places=(near.stretch,),
            )
        where = "The document named does not hold" if self._named else "The record does not hold"
        return Judged(
            verdict=Verdict.NOT_FOUND,
            reason=f"{where} this figure" + (f"; for this it says{says}" if near else ""),
            nearest=(near.stretch,) if near else (),
        )


def share_of(text: str, figure: Figure) -> tuple[str, str]:
    """The other number of "41 of 60": before and after the figure; empty where none stands."""
    before = _OF_BEFORE.search(text, max(0, figure.start - 40), figure.start)
    after = _OF_AFTER.match(text, figure.end)
    return (before["other"] if before else ""), (after["other"] if after else "")


def units_fit(said: Figure, held: Figure) -> bool | None:
    """Whether two units are the same; None when they exclude each other; False when it is open."""
    if said.money and held.money:
        if said.unit == held.unit or {said.unit, held.unit} == {"$", "USD"}:
            return True
        return False if "$" in (said.unit, held.unit) else None
    if said.group == held.group == "percent":
        return True
    if said.group == held.group:
        if not said.unit or said.unit == held.unit or said.unit.split()[-1] == held.unit:
            return True
        return False if not held.unit or held.unit.split()[-1] == said.unit.split()[-1] else None
    return False if "number" in (said.group, held.group) else None


def compare_bounds(said: Bound, held: Bound) -> tuple[str, str]:
    """Contradiction and doubt between "about", "at least" and the like; empty if they agree."""
    if said is held or (said is Bound.ABOUT and held is Bound.NONE):
        return "", ""
    low, high = {Bound.UNDER, Bound.MOST}, {Bound.OVER, Bound.LEAST}
    if (said in low and held in high) or (said in high and held in low):
        return f'record "{held.value}" / reply "{said.value}"', ""
    if held is Bound.NONE:
        return "", f'The reply says "{said.value}", the record gives the figure itself'
    return "", f'The record says "{held.value}" of this figure, the reply does not'


def rounds(held: Decimal, said: Decimal) -> bool:
    """Whether ``said`` is ``held`` rounded to the places that ``said`` shows."""
    exponent = said.normalize().as_tuple().exponent
    if not isinstance(exponent, int) or held == said:
        return False
    return abs(held - said) * 2 <= Decimal(1).scaleb(exponent)
