"""Sheets joined score as one sheet of everything; the kept list of documents is never stale."""

from __future__ import annotations

import numpy as np
import pytest

from rag.sheets import joined, sheet_of, term_weights
from rag.terms import terms

FILES = {
    "lease.txt": "LEASE\n\nThe rent is due each month.\n\nNotice of a leak is given in writing.",
    "letter.txt": "The leak was seen on Monday. The rent was paid late, and the rent was short.",
    "memo.txt": "Nobody spoke of the boiler.",
}


@pytest.mark.parametrize("question", ["rent and leak", "boiler", "a word of no paper", ""])
def test_joined_sheets_score_as_one(fill, embedder, question) -> None:
    matter = fill(FILES)
    names = [info.id for info in matter.documents()]
    wanted = terms(question)
    weights = term_weights(matter.store, wanted)
    parts = joined([matter.sheets.sheet(name) for name in names], frozenset(wanted))
    whole = sheet_of(matter.store, [n for name in names for n in matter.store.numbers_of(name)])
    at = [list(parts.numbers).index(n) for n in whole.numbers]
    assert np.allclose(parts.by_words(wanted, weights)[at], whole.by_words(wanted, weights))
    vector = embedder.embed_question("rent and leak")
    assert np.allclose(parts.by_meaning(vector)[at], whole.by_meaning(vector))
    assert parts.postings.keys() | parts.headings.keys() <= set(wanted)


def test_the_list_of_documents_follows_every_change(fill) -> None:
    matter = fill(FILES)
    store = matter.store
    before = store.infos()
    assert store.infos() is before
    with store.writing():
        store.run("UPDATE documents SET title = 'Other' WHERE id = ?", (before[0].id,))
        assert store.infos()[0].title == "Other"
    assert store.infos()[0].title == "Other"


def test_the_list_of_documents_forgets_what_was_rolled_back(fill) -> None:
    store = fill(FILES).store
    before = store.infos()

    def cut_off() -> None:
        with store.writing():
            store.run("UPDATE documents SET quarantined = 1")
            assert store.infos() == ()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        cut_off()
    assert store.infos() == before
