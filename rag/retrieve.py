"""Question in, passages out: which documents first, then words and meaning inside them.

Four things are added up for every passage in question: the question's words (BM25), its meaning
(cosine), and both again for the wordings that a rewriter adds. Inside few documents every passage
is scored; in a large matter the candidates come from the keyword index and the vector index first.
Without an embedder, or before the vectors are made, words alone answer.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.errors import Unavailable
from protocol.ids import DocumentId
from protocol.record import DocumentClass, Hit, Passage
from rag.chunking import windows
from rag.embedding import Embedder, knows_script
from rag.fusion import evened, fuse, scaled, with_quotas, without_repeats
from rag.joining import FIRST, join_neighbours
from rag.matters import OpenMatter
from rag.reranking import Reranker
from rag.rewriting import Rewriter, Search, bundled
from rag.routing import Route, route
from rag.sheets import Scores, Sheet, joined, sheet_of, term_weights
from rag.terms import match_any, terms

_WHOLE: Final = 4_000
"""Passages up to which every one is scored; about 0.3 s when none is laid out yet."""
_BY_WORDS: Final = 150
_BY_MEANING: Final = 150
_MOST_TERMS: Final = 24
"""Terms of one search given to the keyword index of a large matter, the most telling ones."""
_QUOTA: Final = 4
"""Passages of one document before others get a place, when no document is named."""
_RERANKED: Final = 30
_MOST_PIECES: Final = 8
"""Pieces of a question that the encoder gets; more is no question but a paper."""
_PREFERENCE: Final = 0.3
"""What a fitting title adds to a score; a passage that all searches put first has 2 or more."""
_SAID_FROM: Final = 0.3
"""Weight from which an added search is named among a hit's reasons."""
_SAID_WORDS: Final = 6
_STRANGE: Final = 0.1
"""Weight of meaning where the model does not know the question's script: it breaks ties."""
_WORD: Final = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What of a matter to search. Empty means everything that may be cited."""

    documents: tuple[DocumentId, ...] = ()
    classes: tuple[DocumentClass, ...] = ()
    custodians: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Parts of original names; any of them."""
    since: dt.date | None = None
    until: dt.date | None = None
    """First and last day a document may be of, by its header or name (`rag.dating`)."""
    undated: bool = False
    """Whether a filter by date lets through documents of which the day is not known."""

    @property
    def names_papers(self) -> bool:
        """Whether it says which papers are meant, so that the lawyers' own may be among them."""
        return bool(self.documents or self.classes or self.names)


def retrieve(
    matter: OpenMatter,
    question: str,
    *,
    embedder: Embedder | None,
    top_k: int = 12,
    filters: Filters | None = None,
    rewriter: Rewriter | None = None,
    reranker: Reranker | None = None,
) -> tuple[Hit, ...]:
    """The passages that answer a question best, best first; neighbours joined at the top.

    Args:
        matter: The open matter.
        question: As the person wrote it.
        embedder: The model that made the matter's vectors; None searches by words only.
        top_k: Passages wanted; fewer come when fewer fit.
        filters: Where to look. Unless it names papers or their class, the lawyers' own are left
            out; they stay where the question names one or there is nothing else.
        rewriter: Adds searches; the bundled list of clauses when None and there is an embedder.
        reranker: Looks at the first passages again; none when None.

    Raises:
        Conflict: The embedder is not the one that made the matter's vectors.
        Unavailable: The record could not be read.
    """
    allowed = selection(matter, filters or Filters())
    if not allowed or not question.strip() or top_k < 1:
        return ()
    if embedder is not None:
        matter.store.claim_embedder(embedder.identity)
        rewriter = rewriter or bundled(embedder)
    plan = route(matter.store, question, among=allowed)
    if not (filters and filters.names_papers) and not plan.documents:
        allowed = _without_own_papers(matter, allowed)
        plan = route(matter.store, question, among=allowed)
    added = rewriter.searches(plan.asked) if rewriter is not None else ()
    sheet = _sheet(matter, plan, allowed, added, embedder)
    scored = _Scored.of(matter, sheet, plan.asked, added, embedder)
    if plan.preferred:
        scored = scored.preferring(_passages_of(matter, sheet, plan.preferred))
    order = scored.order()
    passages = matter.store.passages([int(sheet.numbers[at]) for at in order[: 3 * top_k + 50]])
    held = {at: passages[int(sheet.numbers[at])] for at in order if sheet.numbers[at] in passages}
    ranked = without_repeats(list(held), {at: passage.text for at, passage in held.items()})
    if not plan.documents:
        ranked = with_quotas(ranked, {at: held[at].span.document for at in ranked}, _QUOTA)
    if reranker is not None:
        ranked = _reranked(reranker, plan.asked, ranked, held)
    hits = [scored.hit(at, held[at], plan) for at in ranked[: top_k + FIRST]]
    return tuple(join_neighbours(hits, matter.text)[:top_k])


def selection(matter: OpenMatter, filters: Filters) -> tuple[DocumentId, ...]:
    """The documents a filter lets through, quarantined ones and our own output never."""
    out = []
    for info in matter.documents():
        if info.document_class is DocumentClass.MODEL_OUTPUT:
            continue
        if filters.documents and info.id not in filters.documents:
            continue
        if filters.classes and info.document_class not in filters.classes:
            continue
        if filters.custodians and info.custodian not in filters.custodians:
            continue
        folded = info.name.casefold()
        if filters.names and not any(name.casefold() in folded for name in filters.names):
            continue
        out.append(info.id)
    if filters.since or filters.until:
        dates = matter.store.dates()
        out = [name for name in out if _in_time(dates.get(name), filters)]
    return tuple(out)


def _without_own_papers(
    matter: OpenMatter, allowed: Sequence[DocumentId]
) -> tuple[DocumentId, ...]:
    """The selection less the lawyers' own papers, which answer only when asked for by name."""
    own = {
        info.id for info in matter.documents() if info.document_class is DocumentClass.WORK_PRODUCT
    }
    return tuple(name for name in allowed if name not in own) or tuple(allowed)


def _in_time(day: dt.date | None, filters: Filters) -> bool:
    if day is None:
        return filters.undated
    return (filters.since or day) <= day <= (filters.until or day)


def _sheet(
    matter: OpenMatter,
    plan: Route,
    allowed: Sequence[DocumentId],
    added: Sequence[Search],
    embedder: Embedder | None,
) -> Sheet:
    """The passages to score."""
    scope = plan.documents or tuple(allowed)
    searches = [terms(plan.asked), *(terms(" ".join(search.texts)) for search in added)]
    only = frozenset(term for wanted in searches for term in wanted)
    if matter.store.passage_count_of(scope) <= _WHOLE:
        return joined([matter.sheets.sheet(document) for document in scope], only)
    inside = set(scope)
    texts = [plan.asked, *(text for search in added for text in search.texts)]
    numbers: dict[int, None] = {}
    for wanted in searches:
        numbers.update(dict.fromkeys(_by_words(matter, wanted, inside)))
    if embedder is not None:
        for text in texts:
            numbers.update(dict.fromkeys(_by_meaning(matter, text, inside, embedder)))
    return sheet_of(matter.store, list(numbers), only=only)


def _by_words(matter: OpenMatter, wanted: Sequence[str], inside: set[DocumentId]) -> list[int]:
    """Candidates of the keyword index."""
    weights = term_weights(matter.store, wanted)
    telling = sorted(dict.fromkeys(wanted), key=lambda term: -weights[term])[:_MOST_TERMS]
    expression = match_any(telling)
    if not expression:
        return []
    everything = len(inside) == matter.store.document_count()
    rows = matter.store.rows(
        "keyword_search", (expression, _BY_WORDS if everything else 20 * _BY_WORDS)
    )
    return [row["n"] for row in rows if row["document"] in inside][:_BY_WORDS]


def _by_meaning(
    matter: OpenMatter, text: str, inside: set[DocumentId], embedder: Embedder
) -> list[int]:
    """Candidates of the vector index; of an exact scan where a filter leaves it too few."""
    vector = embedder.embed_question(text)
    try:
        found = matter.index().search(vector, _BY_MEANING)
    except Unavailable:
        matter.drop_index()  # damaged: the next call builds it again from the store
        found = matter.index().search(vector, _BY_MEANING)
    ids = [name.rpartition("#")[0] for name, _ in found]
    ids = [name for name in ids if DocumentId(name.rpartition(":")[0]) in inside]
    if len(ids) >= _BY_MEANING // 4:
        return matter.store.numbers_by_id(ids)
    numbers = [n for document in inside for n in matter.store.numbers_of(document)]
    vectors, owners = matter.store.vectors_of(numbers)
    if not owners:
        return []
    best = np.argsort(-(vectors @ vector), kind="stable")[:_BY_MEANING]
    return [owners[at] for at in best]


def _passages_of(
    matter: OpenMatter, sheet: Sheet, documents: Sequence[DocumentId]
) -> npt.NDArray[np.int64]:
    """Positions of some documents' passages in a sheet."""
    numbers = [n for document in documents for n in matter.store.numbers_of(document)]
    return np.flatnonzero(np.isin(sheet.numbers, numbers))


def _nearest(sheet: Sheet, embedder: Embedder, texts: Sequence[str]) -> Scores:
    """For each passage the cosine to the nearest of some texts, long ones in several pieces."""
    pieces = [
        piece
        for text in texts
        for piece in windows("", text, count=embedder.count_tokens, max_tokens=embedder.max_tokens)
    ][:_MOST_PIECES]
    found = [sheet.by_meaning(embedder.embed_question(piece)) for piece in pieces]
    return np.asarray(np.max(found, axis=0))


@dataclass(frozen=True, kw_only=True)
class _Scored:
    """A sheet's passages with their scores, and what is needed to say why."""

    total: Scores
    words: Scores
    meaning: Scores
    near: float
    """Cosine from which a passage counts as near in meaning."""
    asked: frozenset[str]
    added: Sequence[tuple[Search, Scores]]

    @classmethod
    def of(
        cls,
        matter: OpenMatter,
        sheet: Sheet,
        asked: str,
        added: Sequence[Search],
        embedder: Embedder | None,
    ) -> _Scored:
        """Scores every passage of a sheet."""
        wanted = terms(asked)
        further = [terms(" ".join(search.texts)) for search in added]
        weights = term_weights(matter.store, [*wanted, *(t for each in further for t in each)])
        words = sheet.by_words(wanted, weights)
        meaning = np.full(len(sheet), -1.0)
        lists = [(1.0, scaled(words))]
        if embedder is not None:
            meaning = _nearest(sheet, embedder, [asked])
            lists.append((1.0 if knows_script(embedder, asked) else _STRANGE, evened(meaning)))
        extra: list[tuple[Search, Scores]] = []
        for search, each in zip(added, further, strict=True):
            by_words = sheet.by_words(each, weights)
            lists.append((search.weight, scaled(by_words)))
            extra.append((search, by_words))
            if embedder is not None:
                lists.append((search.weight, evened(_nearest(sheet, embedder, search.texts))))
        near = float(np.quantile(meaning, 0.9)) if len(meaning) else 1.0
        return cls(
            total=fuse(lists),
            words=words,
            meaning=meaning,
            near=near,
            asked=frozenset(wanted),
            added=extra,
        )

    def preferring(self, positions: npt.NDArray[np.int64]) -> _Scored:
        """The same with some passages a little ahead."""
        total = self.total.copy()
        total[positions] += _PREFERENCE * (total[positions] > 0)
        return replace(self, total=total)

    def order(self) -> list[int]:
        """Positions, best first; passages that nothing speaks for are left out."""
        best = np.argsort(-self.total, kind="stable")
        speaks = (self.words > 0) | (self.meaning > 0)
        for _, scores in self.added:
            speaks |= scores > 0
        return [int(at) for at in best if speaks[at]]

    def hit(self, at: int, passage: Passage, plan: Route) -> Hit:
        """The passage with its score and the reasons in words."""
        said_of = plan.documents or plan.preferred
        why = [plan.why] if passage.span.document in said_of else []
        if self.words[at] > 0:
            said = self._said(passage.text)
            why += ["words: " + ", ".join(said)] if said else []
        if self.meaning[at] >= self.near and self.meaning[at] > 0:
            why.append("near in meaning")
        for search, scores in self.added:
            if search.weight >= _SAID_FROM and scores[at] >= 0.5 * float(scores.max()) > 0:
                why.append(search.why)
        why = why or ["distantly near in meaning"]
        return Hit(passage=passage, score=float(self.total[at]), why=tuple(why))

    def _said(self, text: str) -> list[str]:
        """The words of a passage that the question has too, as the passage writes them."""
        found = (match.group() for match in _WORD.finditer(text))
        shared = (word.casefold() for word in found if self.asked & set(terms(word)))
        return list(dict.fromkeys(shared))[:_SAID_WORDS]


def _reranked(
    reranker: Reranker, asked: str, ranked: Sequence[int], held: dict[int, Passage]
) -> list[int]:
    """The first passages in the reranker's order, fused with their own; the rest as they were."""
    head = list(ranked[:_RERANKED])
    scores = reranker.scores(asked, [held[at].text for at in head])
    if len(scores) != len(head):
        return list(ranked)
    own = np.linspace(1.0, 0.0, len(head))
    together = fuse([(1.0, own), (1.0, evened(np.asarray(scores, dtype=np.float64)))])
    order = np.argsort(-together, kind="stable")
    return [head[int(at)] for at in order] + list(ranked[_RERANKED:])
