"""Sentences of a document are split once and split anew when its text is another one."""

from __future__ import annotations

import pytest

from protocol.ids import MatterId
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import create
from worker import shelf as module
from worker.quoting import sentences
from worker.shelf import Shelf

CODE = MatterId("M-7F3K")


@pytest.fixture
async def held(tmp_path, noon):
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in "abc":
        (papers / f"{name}.txt").write_text(f"The pump of {name} had failed. It was replaced.\n")
    matter = Matter(id=CODE, title="A v. B", opened_at=noon)
    with create(tmp_path / "matters" / CODE, matter) as made:
        ingest(made, embedder=HashEmbedder(), folder=papers)
    shelf = Shelf(tmp_path / "matters")
    async with shelf.use(CODE) as opened:
        yield opened
    await shelf.close()


async def test_a_document_is_split_once(held, monkeypatch):
    document = held.record.documents()[0].id
    first = await held.sentences(document)
    assert first == sentences(document, held.record.text(document), held.record.pages(document))
    monkeypatch.setattr(module, "sentences", None)  # splitting again would fail
    assert await held.sentences(document) is first


async def test_another_text_is_split_anew(held, monkeypatch):
    document = held.record.documents()[0].id
    first = await held.sentences(document)
    monkeypatch.setattr(type(held), "_version", lambda *_: "0" * 64)
    assert await held.sentences(document) is not first


async def test_the_oldest_are_let_go(held, monkeypatch):
    monkeypatch.setattr(module, "MOST_SENTENCES", 4)
    one, two, three = [info.id for info in held.record.documents()]
    kept = {each: await held.sentences(each) for each in (one, two)}
    await held.sentences(one)
    await held.sentences(three)
    assert await held.sentences(one) is kept[one]
    assert await held.sentences(two) is not kept[two]
    assert await held.sentences(two) == kept[two]
