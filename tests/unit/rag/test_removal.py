"""Setting aside and erasing: what is gone is gone from every file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from protocol.errors import NotFound
from protocol.ids import DocumentId, MatterId
from protocol.record import LedgerState, Matter
from rag.embedding import HashEmbedder
from rag.ingest import ingest, ledger
from rag.lookup import find
from rag.matters import OpenMatter, create
from rag.removal import quarantine, release, remove, take_back
from rag.repair import damage, rebuild, stale
from rag.retrieve import retrieve

SECRET = "zyxwvutsecret"
FILES = {
    "keep.txt": "The rent is due each month.",
    "secret.txt": f"The {SECRET} settlement was offered on Monday by {SECRET}.\fPage two.",
}


def named(matter: OpenMatter, name: str) -> DocumentId:
    return next(info.id for info in matter.documents() if info.name == name)


def holding(folder: Path, word: str) -> list[str]:
    """Files under a folder that hold a word, in any case, in UTF-8 or as an index term."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            if word.lower().encode() in content or word.lower().encode("utf-16-le") in content:
                found.append(path.name)
    return found


def test_a_quarantined_document_is_out_of_everything_and_can_come_back(fill, embedder) -> None:
    matter = fill(FILES)
    secret = named(matter, "secret.txt")
    assert quarantine(matter, secret) == (secret,)
    assert quarantine(matter, secret) == (secret,)
    assert [info.name for info in matter.documents()] == ["keep.txt"]
    assert find(matter, SECRET).total == 0
    assert all(
        hit.passage.span.document != secret
        for hit in retrieve(matter, f"{SECRET} settlement", embedder=embedder)
    )
    for ask in (matter.text, matter.pages):
        with pytest.raises(KeyError):
            ask(secret)
    assert matter.index().count() == 1
    assert stale(matter) == damage(matter) == ()
    release(matter, secret)
    ingest(matter, embedder=embedder)
    assert find(matter, SECRET).total == 2
    assert retrieve(matter, "settlement", embedder=embedder)[0].passage.span.document == secret
    assert matter.index().count() == 2


def test_reading_again_does_not_bring_a_quarantined_document_back(
    fill, embedder, tmp_path: Path
) -> None:
    matter = fill(FILES)
    quarantine(matter, named(matter, "secret.txt"))
    (tmp_path / "given" / "second copy.txt").write_text(FILES["secret.txt"])
    ingest(matter, embedder=embedder, folder=tmp_path / "given")
    rebuild(matter)
    ingest(matter, embedder=embedder)
    assert find(matter, SECRET).total == 0
    assert matter.index().count() == 1


def test_a_removed_document_leaves_none_of_its_words(
    tmp_path: Path, embedder: HashEmbedder
) -> None:
    value = Matter(
        id=MatterId("M-0001"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    folder = tmp_path / "given"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with create(tmp_path / "m", value) as matter:
        ingest(matter, embedder=embedder, folder=folder)
        assert holding(tmp_path / "m", SECRET)
        remove(matter, named(matter, "secret.txt"))
        assert holding(tmp_path / "m", SECRET) == []
        assert holding(tmp_path / "m", "settlement") == []
        assert [row.name for row in ledger(matter).rows] == ["keep.txt"]
        assert retrieve(matter, "rent", embedder=embedder)[0].passage.text == FILES["keep.txt"]
        assert stale(matter) == damage(matter) == ()
    assert holding(tmp_path / "m", SECRET) == []


def test_a_removed_document_comes_again_only_when_it_is_let_in(
    fill, embedder, tmp_path: Path
) -> None:
    matter = fill(FILES)
    secret = named(matter, "secret.txt")
    sha = matter.store.one("SELECT file_sha256 FROM documents WHERE id = ?", (secret,))
    remove(matter, secret)
    found = ingest(matter, embedder=embedder, folder=tmp_path / "given")
    states = {row.name: row.state for row in found.rows}
    assert states == dict.fromkeys(FILES, LedgerState.INDEXED) | {"secret.txt": LedgerState.SKIPPED}
    assert take_back(matter, sha)
    assert not take_back(matter, sha)
    found = ingest(matter, embedder=embedder, folder=tmp_path / "given")
    assert {row.name: row.state for row in found.rows} == dict.fromkeys(FILES, LedgerState.INDEXED)


def test_what_is_not_there(fill) -> None:
    matter = fill(FILES)
    for act in (quarantine, release, remove):
        with pytest.raises(NotFound):
            act(matter, DocumentId("D-none"))


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM passages WHERE n = 1",
        "DELETE FROM vectors",
        "DELETE FROM cards",
        "INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')",
        "UPDATE meta SET value = '0' WHERE key = 'chunking'",
    ],
)
def test_what_is_lost_is_made_anew_from_the_text(fill, embedder, harm: str) -> None:
    matter = fill(FILES)
    with matter.store.writing():
        matter.store.run(harm)
    assert stale(matter)
    ingest(matter, embedder=embedder)
    assert stale(matter) == damage(matter) == ()
    assert retrieve(matter, "settlement", embedder=embedder)
    assert matter.index().count() == 2


@pytest.mark.parametrize("table", ["texts", "pages", "documents"])
def test_lost_text_is_damage_and_is_said(fill, table: str) -> None:
    matter = fill(FILES)
    with matter.store.writing():
        matter.store.run(f"DELETE FROM {table}")
    assert damage(matter)
