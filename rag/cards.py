"""A document's card: the words that tell which document it is, and the index over all cards.

A card holds the title, the name as given, words for the kind of paper, and the opening, where a
paper says what it is, between whom and of when.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Final

from protocol.ids import DocumentId
from rag.store import Store
from rag.terms import match_any, terms

OPENING_CHARS: Final = 2500
"""How much of the opening counts: title, parties and date stand there, and little else."""

_KIND_WORDS: Final = {
    "eml": "email e-mail mail message",
    "msg": "email e-mail mail message",
    "transcript": "deposition transcript testimony",
    "xlsx": "spreadsheet sheet table",
    "csv": "spreadsheet sheet table",
}
_JOINED: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def _sides(store: Store, document: DocumentId) -> tuple[list[str], list[str]]:
    """The terms of a card's title and opening."""
    row = store.rows(
        "SELECT d.title, d.name, d.kind, d.exhibit, substr(t.text, 1, ?) AS opening"
        " FROM documents d JOIN texts t ON t.document = d.id AND t.sha256 = d.text_sha256"
        " WHERE d.id = ?",
        (OPENING_CHARS, document),
    )[0]
    # "LoyaltyPointInc_20041116" says "loyalty point" too.
    name = f"{row['name']} {_JOINED.sub(' ', row['name'])}"
    title = f"{row['title']} {name} {_KIND_WORDS.get(row['kind'], '')} {row['exhibit'] or ''}"
    return terms(title), terms(row["opening"])


def add_card(store: Store, document: DocumentId) -> None:
    """Puts a document's card into the index; inside `Store.writing`."""
    title, opening = _sides(store, document)
    store.run("INSERT INTO cards (document) VALUES (?)", (document,))
    store.run(
        "INSERT INTO card_terms (rowid, title, opening)"
        " VALUES ((SELECT n FROM cards WHERE document = ?), ?, ?)",
        (document, " ".join(title), " ".join(opening)),
    )


def drop_card(store: Store, document: DocumentId) -> None:
    """Takes a document's card out, before the document's row changes; inside `Store.writing`."""
    if not store.one("SELECT 1 FROM cards WHERE document = ?", (document,)):
        return
    title, opening = _sides(store, document)
    store.run(
        "INSERT INTO card_terms (card_terms, rowid, title, opening)"
        " SELECT 'delete', n, ?, ? FROM cards WHERE document = ?",
        (" ".join(title), " ".join(opening), document),
    )
    store.run("DELETE FROM cards WHERE document = ?", (document,))


def card(store: Store, document: DocumentId) -> frozenset[str]:
    """The terms on a document's card."""
    title, opening = _sides(store, document)
    return frozenset(title) | frozenset(opening)


def ranked_cards(store: Store, wanted: Sequence[str], limit: int) -> list[tuple[DocumentId, float]]:
    """Documents whose cards have any of the terms, best first, by BM25 (higher is better)."""
    expression = match_any(list(wanted))
    if not expression:
        return []
    found = store.rows("card_search", (expression, limit))
    return [(DocumentId(row["document"]), -float(row["score"])) for row in found]


def card_weights(store: Store, wanted: Sequence[str]) -> dict[str, float]:
    """How telling each term is among the matter's cards (inverse document frequency)."""
    total = int(store.one("SELECT count(*) FROM cards") or 0)
    found = store.rows(
        "SELECT term, doc FROM card_vocabulary WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(list(wanted)),),
    )
    counts = {row["term"]: int(row["doc"]) for row in found}
    return {
        term: math.log(1 + (total - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term in wanted
    }


def ranked_texts(
    store: Store, wanted: Sequence[str], limit: int
) -> tuple[list[tuple[DocumentId, float, int]], float]:
    """Documents by the telling terms that stand anywhere in them, for papers whose opening is bare.

    Returns:
        Document, summed weight of the terms it has, and how many those are, best first; and the
        summed weight of all the terms.
    """
    total = int(store.one("SELECT count(*) FROM documents") or 0)
    scores: dict[DocumentId, float] = {}
    having: dict[DocumentId, int] = {}
    whole = 0.0
    for term in dict.fromkeys(wanted):
        found = [
            DocumentId(row["document"])
            for row in store.rows("documents_with", (match_any([term]),))
        ]
        weight = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
        whole += weight
        for document in found:
            scores[document] = scores.get(document, 0.0) + weight
            having[document] = having.get(document, 0) + 1
    order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    return [(name, score, having[name]) for name, score in order], whole
