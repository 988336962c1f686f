"""Whether a matter's record agrees with itself, and making it agree again.

Passages, terms, cards and vectors all come from the canonical text, so whatever is wrong with them
is put right from there. The text itself and the ledger are never made up: when those disagree, that
is damage and is said.
"""

from __future__ import annotations

from protocol.record import DocumentClass
from rag.matters import OpenMatter
from rag.record import drop_all_passages, put_passages, stored
from rag.store import DERIVED_VERSIONS

_CHECKS = {
    "an indexed file has no document": (
        "SELECT count(*) FROM files f WHERE f.state = 'indexed'"
        " AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = f.document)"
    ),
    "a document has no text": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM texts t WHERE t.document = d.id AND t.sha256 = d.text_sha256)"
    ),
    "a document has no page table": (
        "SELECT count(*) FROM documents d WHERE d.pages <> (SELECT count(*) FROM pages p"
        " WHERE p.document = d.id AND p.text_sha256 = d.text_sha256)"
    ),
}
"""Damage that cannot be put right from the text; each query counts the cases."""

_DERIVED = {
    "a passage is not the text at its place": (
        "SELECT count(*) FROM passages WHERE length(words) <> ends - starts"
    ),
    "the keyword index has not every passage": (
        "SELECT (SELECT count(*) FROM passages) - (SELECT count(*) FROM passage_terms_docsize)"
    ),
    "a passage that counts as embedded has no vector": (
        "SELECT count(*) FROM passages p WHERE p.embedded = 1"
        " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.passage = p.n)"
    ),
    "a vector belongs to no passage": (
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS"
        " (SELECT 1 FROM passages p WHERE p.n = v.passage)"
    ),
    "a document has not all its passages": (
        "SELECT count(*) FROM documents d WHERE d.passages"
        " <> (SELECT count(*) FROM passages p WHERE p.document = d.id)"
    ),
    "a document has no card": (
        "SELECT (SELECT count(*) FROM documents WHERE quarantined = 0"
        "  AND document_class <> 'model_output') - (SELECT count(*) FROM cards)"
    ),
}
"""What can be made anew from the text."""


def damage(matter: OpenMatter) -> tuple[str, ...]:
    """What is wrong and cannot be made anew, in words; nothing when all is well."""
    return tuple(said for said, query in _CHECKS.items() if matter.store.one(query))


def stale(matter: OpenMatter) -> tuple[str, ...]:
    """What is to be made anew from the text, in words: lost rows, or rules that have changed."""
    out = [said for said, query in _DERIVED.items() if matter.store.one(query)]
    for key, version in DERIVED_VERSIONS.items():
        if matter.store.meta(key) != version:
            out.append(f"the {key} rules have changed")
    return tuple(out)


def rebuild(matter: OpenMatter) -> None:
    """Makes passages, terms and cards anew from the canonical texts, in one transaction.

    Vectors of passages whose words stay the same are kept; the rest is embedded by the next ingest.
    """
    store = matter.store
    with store.writing():
        kept = drop_all_passages(matter)
        for info in store.infos():
            if info.document_class is not DocumentClass.MODEL_OUTPUT:
                put_passages(matter, info.id, stored(store, info.id))
        for words_sha256, vectors in kept.items():
            for row in store.rows("SELECT n FROM passages WHERE words_sha256 = ?", (words_sha256,)):
                store.put_vectors(row["n"], vectors)
        for key, version in DERIVED_VERSIONS.items():
            store.set_meta(key, version)
    matter.forget_texts()
    matter.drop_index()


def forget_vectors(matter: OpenMatter) -> None:
    """Drops every vector and the name of the model that made them, so that another may make them.

    Words are found meanwhile; the next `rag.ingest.ingest` makes the vectors, and one that is
    killed is gone on with by the one after.
    """
    store = matter.store
    with store.writing():
        store.run("DELETE FROM vectors")
        store.run("UPDATE passages SET embedded = 0, indexed = 0")
        store.run("DELETE FROM meta WHERE key = 'embedder'")
    matter.sheets.clear()
    matter.drop_index()
