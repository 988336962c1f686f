"""Runs a file of questions over a folder of documents, for measuring retrieval from outside.

The whole path is used: a throw-away matter, ingest, retrieve. Of a question only ``id`` and
``query`` are read; whatever else a line holds is the answer key and is never looked at.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from protocol.errors import BadRequest, NotFound, Unavailable
from protocol.ids import new_matter_id
from protocol.record import Matter
from rag.chunking import MAX_CHARS
from rag.embedding import Embedder, default_model_folder
from rag.ingest import IngestProgress, ingest
from rag.matters import OpenMatter, create
from rag.pool import EmbedderPool
from rag.reranking import Reranker
from rag.retrieve import retrieve
from rag.rewriting import Rewriter


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """The two fields of a question that may be read."""

    id: str
    query: str


def run(
    documents: Path,
    queries: Path,
    out: Path,
    top_k: int,
    *,
    embedder: Embedder | None = None,
    on_progress: Callable[[IngestProgress], None] | None = None,
) -> int:
    """Answers every question with passages, one JSON line each.

    Args:
        documents: A folder of files.
        queries: JSON lines with ``id`` and ``query``.
        out: Where the lines ``{"id", "passages": [{"document", "start", "end", "score"}]}`` go;
            ``document`` is the file's name, offsets count characters of its canonical text.
        top_k: Passages a question.
        embedder: The bundled model when None.
        on_progress: Told how far the ingest is.

    Returns:
        How many questions were answered.

    Raises:
        NotFound: A folder or file is missing.
        BadRequest: A line of ``queries`` cannot be read.
        Unavailable: There is no embedding model.
    """
    asked = list(_queries(queries))
    if not documents.is_dir():
        raise NotFound("there is no such folder of documents")
    with (
        _embedder(embedder) as embedder,
        tempfile.TemporaryDirectory(prefix="secondchair-eval-") as scratch,
        make_matter(Path(scratch) / "matter") as matter,
    ):
        ingest(
            matter,
            embedder=embedder,
            folder=documents,
            on_progress=on_progress or (lambda _: None),
        )
        with out.open("w", encoding="utf-8") as stream:
            for row in answers(matter, asked, embedder=embedder, top_k=top_k):
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(asked)


@contextmanager
def _embedder(given: Embedder | None) -> Iterator[Embedder]:
    """What was given, else the bundled model on every core."""
    if given is not None:
        yield given
        return
    folder = default_model_folder()
    if folder is None:
        raise Unavailable("the bundled embedding model is not installed")
    with closing(EmbedderPool(folder, processes=os.cpu_count() or 1)) as pool:
        yield pool


def make_matter(folder: Path) -> OpenMatter:
    """An empty matter for measuring; its vector index is not kept on disk."""
    matter = Matter(id=new_matter_id(), title="measurement", opened_at=dt.datetime.now(dt.UTC))
    return create(folder, matter, index_in_memory=True)


def answers(
    matter: OpenMatter,
    asked: list[Query],
    *,
    embedder: Embedder | None,
    top_k: int,
    rewriter: Rewriter | None = None,
    reranker: Reranker | None = None,
) -> Iterator[dict[str, Any]]:
    """One row a question, as `run` writes it."""
    names = {info.id: info.name for info in matter.documents()}
    for query in asked:
        hits = retrieve(
            matter,
            query.query,
            embedder=embedder,
            top_k=top_k,
            rewriter=rewriter,
            reranker=reranker,
        )
        passages = []
        for hit in hits:
            span = hit.passage.span
            assert span.end - span.start <= MAX_CHARS
            passages.append(
                {
                    "document": names[span.document],
                    "start": span.start,
                    "end": span.end,
                    "score": round(hit.score, 6),
                }
            )
        yield {"id": query.id, "passages": passages}


def _queries(path: Path) -> Iterator[Query]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise NotFound("the file of queries cannot be read") from error
    decode = msgspec.json.Decoder(Query).decode
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decode(line)
        except msgspec.MsgspecError as error:
            raise BadRequest(f"line {number} of the queries is not a question") from error
