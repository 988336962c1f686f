"""Retrieval quality on the contract questions, beside what most products do.

Every line of the table is scored in the same way as the public scorer of the data set does: ``hit``
is a passage that covers 50 or more gold characters, ``rec`` and ``prec`` are shares of characters.
"""

from __future__ import annotations

import collections
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag.embedding import Embedder
from rag.evaluate import Query, answers, make_matter
from rag.ingest import ingest
from rag.matters import OpenMatter
from rag.reranking import Reranker
from rag.retrieve import retrieve
from rag.rewriting import NoRewriter
from rag.sheets import sheet_of, term_weights
from rag.terms import terms

Row = dict[str, Any]
Passages = list[Row]
FIXED_CHARS = 500


def questions(data: Path) -> list[Row]:
    """The development questions with their gold spans."""
    lines = (data / "retrieval" / "queries-dev.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def given(data: Path, scratch: Path, asked: Sequence[Row], *, distractors: bool) -> Path:
    """A folder with the documents that the questions are about, or with all of them."""
    wanted = {query["document"] for query in asked}
    folder = scratch / "given"
    folder.mkdir()
    for path in sorted((data / "retrieval" / "documents").glob("*.txt")):
        if distractors or path.name in wanted:
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def _union(intervals: Iterable[tuple[int, int]]) -> int:
    total, last = 0, -1
    for start, end in sorted(intervals):
        total += max(0, end - max(start, last))
        last = max(last, end)
    return total


def score(asked: Sequence[Row], runs: dict[str, Passages]) -> tuple[dict[str, float], list[Row]]:
    """Mean figures, and for each question what came."""
    sums: collections.Counter[str] = collections.Counter()
    rows = []
    for query in asked:
        passages = runs.get(query["id"], [])
        gold = [(start, end) for start, end in query["spans"]]
        whole = sum(end - start for start, end in gold)

        def covered(
            passage: Row, gold: list[tuple[int, int]] = gold, query: Row = query
        ) -> list[tuple[int, int]]:
            if passage["document"] != query["document"]:
                return []
            return [
                (max(passage["start"], start), min(passage["end"], end))
                for start, end in gold
                if min(passage["end"], end) > max(passage["start"], start)
            ]

        hit = next(
            (
                rank
                for rank, passage in enumerate(passages, 1)
                if _union(covered(passage)) >= min(50, whole)
            ),
            0,
        )
        found = _union(part for passage in passages[:10] for part in covered(passage))
        first = passages[:1]
        sums["hit1"] += hit == 1
        sums["hit10"] += 0 < hit <= 10
        sums["rec10"] += found / whole
        if first:
            sums["prec1"] += _union(covered(first[0])) / (first[0]["end"] - first[0]["start"])
            sums["doc1"] += first[0]["document"] == query["document"]
        rows.append({"query": query["id"], "category": query["category"], "first_hit": hit})
    return {name: round(value / len(asked), 4) for name, value in sums.items()}, rows


# --- what most products do ---


class Naive:
    """Fixed windows of 500 characters over the whole folder, one vector each."""

    def __init__(self, texts: dict[str, str], embedder: Embedder) -> None:
        self.cuts = [
            (name, start, min(start + FIXED_CHARS, len(text)))
            for name, text in texts.items()
            for start in range(0, len(text), FIXED_CHARS)
        ]
        bodies = [texts[name][start:end] for name, start, end in self.cuts]
        self._embedder = embedder
        self.vectors = embedder.embed(bodies)
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths = np.zeros(len(bodies))
        for at, body in enumerate(bodies):
            counts = collections.Counter(terms(body))
            self._lengths[at] = sum(counts.values())
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((at, count))

    def dense(self, question: str) -> np.ndarray:
        """Positions by cosine, best first."""
        return np.argsort(-(self.vectors @ self._embedder.embed_question(question)))

    def bm25(self, question: str) -> np.ndarray:
        """Positions by BM25, best first."""
        out = np.zeros(len(self.cuts))
        norm = 1.2 * (0.25 + 0.75 * self._lengths / self._lengths.mean())
        for term in set(terms(question)):
            held = self._postings.get(term, [])
            weight = np.log(1 + (len(self.cuts) - len(held) + 0.5) / (len(held) + 0.5))
            for at, count in held:
                out[at] += weight * count * 2.2 / (count + norm[at])
        return np.argsort(-out, kind="stable")

    def hybrid(self, question: str) -> np.ndarray:
        """Reciprocal rank fusion of both."""
        out = np.zeros(len(self.cuts))
        for order in (self.dense(question), self.bm25(question)):
            out[order[:100]] += 1 / (60 + np.arange(1, len(order[:100]) + 1))
        return np.argsort(-out, kind="stable")

    def run(self, search: Callable[[str], np.ndarray], asked: Sequence[Row]) -> dict[str, Passages]:
        """Twenty passages for every question."""
        return {
            query["id"]: [
                {"document": name, "start": start, "end": end}
                for name, start, end in (self.cuts[at] for at in search(query["query"])[:20])
            ]
            for query in asked
        }


# --- ours, step by step ---


def ours(
    matter: OpenMatter, asked: Sequence[Row], embedder: Embedder | None, **more: Any
) -> dict[str, Passages]:
    """Twenty passages for every question, by the product's own path."""
    queries = [Query(id=query["id"], query=query["query"]) for query in asked]
    found = answers(matter, queries, embedder=embedder, top_k=20, **more)
    return {row["id"]: row["passages"] for row in found}


def unrouted(matter: OpenMatter, asked: Sequence[Row], embedder: Embedder) -> dict[str, Passages]:
    """Our passages with words and meaning over the whole matter, no document found first."""
    names = {info.id: info.name for info in matter.documents()}
    numbers = [n for info in matter.documents() for n in matter.store.numbers_of(info.id)]
    sheet = sheet_of(matter.store, numbers)
    spans = {n: passage.span for n, passage in matter.store.passages(numbers).items()}
    out: dict[str, Passages] = {}
    for query in asked:
        wanted = terms(query["query"])
        words = sheet.by_words(wanted, term_weights(matter.store, wanted))
        meaning = sheet.by_meaning(embedder.embed_question(query["query"]))
        fused = np.zeros(len(sheet))
        for order in (np.argsort(-words, kind="stable"), np.argsort(-meaning, kind="stable")):
            fused[order[:100]] += 1 / (60 + np.arange(1, len(order[:100]) + 1))
        best = [spans[int(sheet.numbers[at])] for at in np.argsort(-fused, kind="stable")[:20]]
        out[query["id"]] = [
            {"document": names[span.document], "start": span.start, "end": span.end}
            for span in best
        ]
    return out


def query_times_ms(
    matter: OpenMatter, asked: Sequence[Row], embedder: Embedder
) -> tuple[float, float]:
    """Median and 95th percentile of one question, document sheets warm as in daily use."""
    took = []
    for query in asked:
        start = time.perf_counter()
        retrieve(matter, query["query"], embedder=embedder, top_k=12)
        took.append((time.perf_counter() - start) * 1e3)
    took.sort()
    return statistics.median(took), took[int(0.95 * (len(took) - 1))]


def table(
    data: Path,
    scratch: Path,
    embedder: Embedder,
    *,
    distractors: bool,
    reranker: Reranker | None = None,
) -> tuple[dict[str, float], list[Row], dict[str, Any]]:
    """All lines: figures for the report, rows, sizes.

    Args:
        data: The data folder.
        scratch: An empty folder.
        embedder: The model.
        distractors: Whether the documents that no question is about are there too.
        reranker: Adds a line with it.
    """
    asked = questions(data)
    folder = given(data, scratch, asked, distractors=distractors)
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}
    lines: dict[str, dict[str, Passages]] = {}
    naive = Naive(texts, embedder)
    lines["naive: fixed 500, dense"] = naive.run(naive.dense, asked)
    lines["naive: fixed 500, BM25"] = naive.run(naive.bm25, asked)
    lines["naive: fixed 500, hybrid"] = naive.run(naive.hybrid, asked)
    with make_matter(scratch / "matter") as matter:
        ingest(matter, embedder=embedder, folder=folder)
        lines["our passages, hybrid"] = unrouted(matter, asked, embedder)
        lines["+ document first, words only"] = ours(matter, asked, None)
        lines["+ document first, words and meaning"] = ours(
            matter, asked, embedder, rewriter=NoRewriter()
        )
        lines["+ clause wordings (ours)"] = ours(matter, asked, embedder)
        if reranker is not None:
            lines["+ late interaction"] = ours(matter, asked, embedder, reranker=reranker)
        median, p95 = query_times_ms(matter, asked, embedder)
        passages = matter.store.passage_count()
    rows: list[Row] = []
    scored = {}
    for name, runs in lines.items():
        scored[name], found = score(asked, runs)
        rows.append({"line": name, **scored[name]})
        rows += [{"line": name, **row} for row in found]
    best = scored["+ clause wordings (ours)"]
    figures = {
        **best,
        "naive_hit1": scored["naive: fixed 500, dense"]["hit1"],
        "naive_hit10": scored["naive: fixed 500, dense"]["hit10"],
        "query_p50_ms": round(median, 1),
        "query_p95_ms": round(p95, 1),
    }
    sizes = {
        "questions": len(asked),
        "documents": len(texts),
        "passages": passages,
        "table": scored,
    }
    return figures, rows, sizes
