"""Which sentences answer: those of the paper that the question names."""

import asyncio
import types

import pytest

from protocol.ids import DocumentId
from rag.embedding import HashEmbedder
from rag.evaluate import make_matter
from rag.ingest import ingest
from rag.retrieve import retrieve
from worker.deliverables.relevance import best_sentences
from worker.quoting import sentences
from worker.sentence_vectors import SentenceVectors

PAPERS = {
    "Inspection Report.txt": "1. SCOPE\nWe looked at the roof for one day.\n\f"
    "2. CAUSE\nA coupling on the fourth floor had failed.\n",
    "Work Log.txt": "The roof was swept on one day.\nNobody knows why.\n",
}


@pytest.fixture
def best(tmp_path):
    """The best sentence for a question, and the title of its document."""
    given = tmp_path / "given"
    given.mkdir()
    for name, text in PAPERS.items():
        (given / name).write_text(text)
    with make_matter(tmp_path / "matter") as matter:
        embedder = HashEmbedder()
        ingest(matter, embedder=embedder, folder=given)
        titles = {info.id: info.title for info in matter.documents()}

        async def of(document: DocumentId):
            return sentences(document, matter.text(document), matter.pages(document))

        async def ask(question: str) -> tuple[str, str]:
            desk = types.SimpleNamespace(
                sentences=of,
                embedding=asyncio.Lock(),
                embedder=embedder,
                matter=types.SimpleNamespace(vectors=SentenceVectors(), record=matter),
            )
            hits = retrieve(matter, question, embedder=embedder, top_k=12)
            (first, *_) = await best_sentences(desk, question, hits, most=5)
            return titles[first.sentence.document], first.sentence.words

        yield ask


async def test_the_paper_that_a_question_names_answers_it(best):
    assert (await best("What does the log say about the roof?"))[0] == "Work Log"
    assert (await best("According to the inspection, what of the roof?"))[0] == "Inspection Report"
