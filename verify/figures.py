"""One amount, percent or number of a reply against the record.

By value and unit: ``$1.2 million`` is ``$1,200,000``. The words around the figure must speak of the
same thing in the record as in the reply, as with dates; sums the reply states are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.answers import GREEN, Verdict
from verify.amounts import Bound, Figure, find_figures
from verify.figure_search import FigureSearch
from verify.judged import Judged
from verify.source import Source
from verify.sums import Statement, stated
from verify.tables import Tables

__all__ = ["Bound", "Figure", "find_figures", "judge_figure"]


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
    return FigureSearch(reply, item, figures, source, documents, tables).verdict()


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
            reason="The sum is right, but a term is "
            f"{failing[0].verdict.value}: {failing[0].reason}",
            places=places,
            steps=steps,
        )
    return Judged(
        verdict=Verdict.COMPUTED,
        reason="Not in the record; follows from it by the formula shown",
        places=places,
        steps=steps,
    )
