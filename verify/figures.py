"""One amount, percent or number of a reply against the record.

By value and unit: ``$1.2 million`` is ``$1,200,000``. The words around the figure must speak of the
same thing in the record as in the reply, as with dates; sums the reply states are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from protocol.answers import GREEN, Verdict
from protocol.record import DocumentInfo
from verify.amounts import Bound, Figure, find_figures
from verify.citations import named_document
from verify.dates.scan import find_dates
from verify.events import (
    DISAGREES,
    Agreement,
    clause_of,
    compare,
    disagreement,
    fits_as_well,
    fits_better,
)
from verify.judged import Judged, Stretch
from verify.places import doubt_about, in_scope, supports_facts
from verify.source import Source
from verify.sums import Statement, stated
from verify.surroundings import surroundings
from verify.tables import Tables

__all__ = ["Bound", "Figure", "find_figures", "judge_figure"]

NEAR = 8
"""How many figures on each side may share a sentence with a figure."""
MOST_RIVALS = 3_000


class FigureTable:
    """The figures of a text, by group and value."""

    def __init__(self, text: str) -> None:
        dates = [(mention.start, mention.end) for mention in find_dates(text)]
        self.figures = _outside(find_figures(text), dates)
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
            if figure.group == own.group and not _twins(figure, own)
        ]


def _twins(a: Figure, b: Figure) -> bool:
    """ "five percent (5%)": one figure written twice is no neighbour of itself."""
    return a.value == b.value and max(a.start, b.start) - min(a.end, b.end) <= 4


def _outside(figures: Sequence[Figure], barred: Sequence[tuple[int, int]]) -> tuple[Figure, ...]:
    """Figures that do not overlap the stretches; both in order of their starts."""
    kept, at = [], 0
    for figure in figures:
        while at < len(barred) and barred[at][1] <= figure.start:
            at += 1
        if at == len(barred) or barred[at][0] >= figure.end:
            kept.append(figure)
    return tuple(kept)


@dataclass(frozen=True, kw_only=True)
class _Place:
    info: DocumentInfo
    figure: Figure
    agreement: Agreement

    @property
    def stretch(self) -> Stretch:
        return Stretch(document=self.info.id, start=self.figure.start, end=self.figure.end)


def judge_figure(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
    *,
    tables: Tables | None = None,
) -> Judged:
    """What the record says of the amount, percent or number at ``span`` of a reply.

    Args:
        reply: The whole reply.
        span: ``[start, end)`` in code points.
        source: The record.
        documents: Ids to look in; None for all.
        tables: Memory for the figures of each document; a fresh one when None.

    Returns:
        VERIFIED, COMPUTED, CHECK, NOT_FOUND, MISATTRIBUTED, ALTERED or INCONSISTENT.
    """
    figures = find_figures(reply)
    item = _at(figures, span)
    if item is None:
        alone = find_figures(" " * span[0] + reply[span[0] : span[1]])
        if not alone:
            return Judged(verdict=Verdict.CHECK, reason="Not read as a figure: look at it")
        item = alone[0]
    if item.twin is not None:
        return Judged(
            verdict=Verdict.INCONSISTENT,
            reason=f"The words say {item.value:,}, the figures {item.twin:,}",
        )
    tables = tables or Tables()
    statement = stated(reply, item, figures)
    if statement is not None:
        computed = _computed(reply, item, statement, source, documents, tables)
        if computed is not None:
            return computed
    return _Look(reply, item, figures, source, documents, tables).verdict()


def _at(figures: Sequence[Figure], span: tuple[int, int]) -> Figure | None:
    def shared(figure: Figure) -> int:
        return min(figure.end, span[1]) - max(figure.start, span[0])

    best = max(figures, key=shared, default=None)
    return best if best is not None and shared(best) > 0 else None


def _computed(
    reply: str,
    item: Figure,
    statement: Statement,
    source: Source,
    documents: Sequence[str] | None,
    tables: Tables,
) -> Judged | None:
    """The verdict on a stated sum; None when the figure is to be looked up instead."""
    steps = (statement.formula,)
    if statement.value != item.value:
        if not statement.strict:
            return None
        return Judged(
            verdict=Verdict.INCONSISTENT,
            reason=f"{statement.formula}, not {item.value:,}",
            steps=steps,
        )
    terms = [
        judge_figure(reply, (term.start, term.end), source, documents, tables=tables)
        for term in statement.terms
        if term is not item
    ]
    places = tuple(place for term in terms for place in term.places)
    failing = [term for term in terms if term.verdict not in GREEN]
    if failing:
        return Judged(
            verdict=Verdict.CHECK,
            reason=f"The sum is right, but a term is {failing[0].verdict.value}: {failing[0].reason}",
            places=places,
            steps=steps,
        )
    return Judged(
        verdict=Verdict.COMPUTED,
        reason="Not in the record; follows from it by the formula shown",
        places=places,
        steps=steps,
    )


class _Look:
    """One search for a figure and what it counts."""

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
        self.scope = in_scope(source, documents)
        span = (item.start, item.end)
        self.named = named_document(reply, span, source, documents)
        others = [
            (figure.start, figure.end)
            for figure in figures
            if figure is not item and figure.group == item.group and not _twins(figure, item)
        ]
        self.clause = clause_of(reply, span, others, self.named.naming)

    def table(self, info: DocumentInfo) -> FigureTable:
        return self.tables.get("figures", self.source, info, FigureTable)

    def verdict(self) -> Judged:
        first = [info for info in self.scope if info.id in self.named.documents]
        rest = [info for info in self.scope if info.id not in self.named.documents]
        facts = [info for info in first or rest if supports_facts(info)]
        same, unclear = self._held(facts)
        if same:
            return self._judge(same, facts)
        if unclear and unclear[0].agreement.good:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"The number stands there, but its unit is not {_unit_words(self.item)} in the record",
                places=(unclear[0].stretch,),
            )
        return self._absent(first, facts, rest)

    def _held(self, infos: Sequence[DocumentInfo]) -> tuple[list[_Place], list[_Place]]:
        """Figures of the same value: those with the same unit, those whose unit is open."""
        same, unclear = [], []
        for info in infos:
            table = self.table(info)
            for number in table.holding(self.item.value):
                fit = _units_fit(self.item, table.figures[number])
                if fit is not None:
                    (same if fit else unclear).append(self._place(info, table, number))
        same.sort(key=lambda place: -place.agreement.rank)
        unclear.sort(key=lambda place: -place.agreement.rank)
        return same, unclear

    def _place(self, info: DocumentInfo, table: FigureTable, number: int) -> _Place:
        figure = table.figures[number]
        text = self.source.text(info.id)
        around = surroundings(text, (figure.start, figure.end), table.neighbours(number))
        return _Place(
            info=info,
            figure=figure,
            agreement=compare(self.clause, around),
        )

    def _rival(self, infos: Sequence[DocumentInfo]) -> _Place | None:
        """The other figure of the same group that fits the clause best."""
        best: _Place | None = None
        heavy = [word[:5] for word, weight in self.clause.words if weight >= 0.6]
        for info in infos:
            table = self.table(info)
            text = self.source.text(info.id)
            for number in table.groups.get(self.item.group, ())[:MOST_RIVALS]:
                figure = table.figures[number]
                if figure.value == self.item.value:
                    continue
                window = text[max(0, figure.start - 250) : figure.end + 150].lower()
                if sum(word in window for word in heavy) * 2 < len(heavy):
                    continue
                place = self._place(info, table, number)
                if best is None or place.agreement.rank > best.agreement.rank:
                    best = place
        return best

    def _judge(self, same: list[_Place], facts: Sequence[DocumentInfo]) -> Judged:
        best = same[0]
        held_in = {place.info.id for place in same}
        rival = self._rival([info for info in facts if info.id in held_in])
        also = tuple(place.stretch for place in same[1:] if place.info.id != best.info.id)[:5]
        if rival is not None and fits_better(rival.agreement, best.agreement):
            return Judged(
                verdict=Verdict.MISATTRIBUTED,
                reason=f"The record holds this figure for something else; for this it says {_words(rival.figure)}",
                places=(best.stretch,),
                nearest=(rival.stretch,),
            )
        bounds = _bounds_differ(self.item.bound, best.figure.bound)
        if bounds.startswith("record"):
            return Judged(
                verdict=Verdict.ALTERED,
                reason=bounds.capitalize(),
                places=(best.stretch,),
                diff=bounds,
            )
        problem = self._problem(best) or bounds
        if not problem and rival and fits_as_well(rival.agreement, best.agreement, self.clause):
            problem = f"The record says the same of {_words(rival.figure)}"
        if problem:
            return Judged(
                verdict=Verdict.CHECK, reason=problem, places=(best.stretch,), also_in=also
            )
        return Judged(
            verdict=Verdict.VERIFIED,
            reason="The record gives this figure for this",
            places=(best.stretch,),
            also_in=also,
        )

    def _problem(self, best: _Place) -> str:
        """Why a held figure is not green, in words; empty when nothing speaks against it."""
        doubt = doubt_about(self.source, best.stretch)
        if doubt:
            return f"Figure found, but {doubt}"
        if best.figure.twin is not None:
            return "The record itself gives two values here, in words and in figures"
        if self.item.per and best.figure.per and self.item.per != best.figure.per:
            return f"The record counts it per {best.figure.per}, the reply per {self.item.per}"
        if bool(self.item.per) != bool(best.figure.per) and self.item.per:
            return f'The record does not say "per {self.item.per}" there'
        return disagreement(
            self.clause,
            best.agreement,
            best.info.title,
            self.source.text(best.info.id),
            best.figure.start,
        )

    def _absent(
        self, first: list[DocumentInfo], facts: list[DocumentInfo], rest: list[DocumentInfo]
    ) -> Judged:
        named = bool(first)
        if named:
            elsewhere, _ = self._held([info for info in rest if supports_facts(info)])
            if elsewhere and elsewhere[0].agreement.good:
                exact = self.named.exact
                return Judged(
                    verdict=Verdict.MISATTRIBUTED if exact else Verdict.CHECK,
                    reason=f"It stands in {elsewhere[0].info.title}, not in the document the reply names",
                    places=(elsewhere[0].stretch,),
                )
        else:
            weak, _ = self._held([info for info in self.scope if not supports_facts(info)])
            if weak:
                return Judged(
                    verdict=Verdict.CHECK,
                    reason=f"Only in {weak[0].info.title}, which does not support a statement of fact",
                    places=(weak[0].stretch,),
                )
        rival = self._rival(facts) if len(facts) <= 50 else None
        if rival is not None and rival.agreement.score < DISAGREES:
            rival = None
        if (
            rival
            and self.item.bound is Bound.ABOUT
            and _rounds(rival.figure.value, self.item.value)
        ):
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"The record says {_words(rival.figure)}; the reply rounds it",
                places=(rival.stretch,),
            )
        where = "The document named does not hold" if named else "The record does not hold"
        says = f"; for this it says {_words(rival.figure)}" if rival else ""
        return Judged(
            verdict=Verdict.NOT_FOUND,
            reason=f"{where} this figure{says}",
            nearest=(rival.stretch,) if rival else (),
        )


def _units_fit(said: Figure, held: Figure) -> bool | None:
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


def _bounds_differ(said: Bound, held: Bound) -> str:
    """Empty when "about", "at least" and the like agree; starts with ``record`` when they clash."""
    if said is held or (said is Bound.ABOUT and held is Bound.NONE):
        return ""
    low, high = {Bound.UNDER, Bound.MOST}, {Bound.OVER, Bound.LEAST}
    if (said in low and held in high) or (said in high and held in low):
        return f'record "{held.value}" / reply "{said.value}"'
    if held is Bound.NONE:
        return f'The reply says "{said.value}", the record gives the figure itself'
    return f'The record says "{held.value}" of this figure, the reply does not'


def _rounds(held: Decimal, said: Decimal) -> bool:
    """Whether ``said`` is ``held`` rounded to the figures that ``said`` shows."""
    _, _, exponent = said.normalize().as_tuple()
    if not isinstance(exponent, int) or held == said:
        return False
    return abs(held - said) * 2 <= Decimal(1).scaleb(exponent)


def _unit_words(figure: Figure) -> str:
    return figure.unit or "given"


def _words(figure: Figure) -> str:
    number = f"{figure.value:,f}"
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    if figure.money:
        return f"${number}" if figure.unit == "$" else f"{figure.unit} {number}"
    return f"{number} {figure.unit}".strip()
