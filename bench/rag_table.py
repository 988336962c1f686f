"""Retrieval in one table: what most products do, ours step by step, and the operator's own models.

    python -m bench rag_table
    python -m bench rag_table --data DIR --full --model /models/e5 --question-prefix "query: " \\
        --passage-prefix "passage: " --reranker /models/reranker --device cuda

On a box with boards this is the one command that says whether a larger embedder, a reranker or both
are worth their memory. ``--full`` adds the documents that no question is about.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bench import rag_korean, rag_quality
from bench.harness import HERE, Arguments, Result
from rag.embedding import ModelEmbedder, default_model_folder
from rag.evaluate import make_matter
from rag.ingest import ingest
from rag.pool import EmbedderPool
from rag.reranking import CrossEncoderReranker, LateInteraction, Reranker

_COLUMNS: Final = (
    ("hit@1", "hit1"),
    ("hit@10", "hit10"),
    ("characters@10", "rec10"),
    ("precision@1", "prec1"),
    ("right document first", "doc1"),
)
_STEPS: Final = "our passages, hybrid"
"""From this line on a line says what it adds to the one before."""


def run(arguments: Arguments) -> Result:
    """The table over the labelled questions, then the Korean set."""
    result = Result(figures={})
    data = arguments.data or HERE / "data"
    folder = default_model_folder()
    if folder is None:
        result.notes.append("the bundled embedding model is not installed")
        result.failed = True
        return result
    with tempfile.TemporaryDirectory(prefix="secondchair-bench-") as scratch:
        pool = EmbedderPool(folder, processes=min(2, os.cpu_count() or 1))
        try:
            figures, rows, sizes = rag_quality.table(
                data,
                _under(scratch, "bundled"),
                pool,
                distractors=arguments.full,
                reranker=LateInteraction(pool.one),
            )
            scored = dict(sizes["table"])
            korean = rag_korean.measured(_under(scratch, "korean"), pool)
        finally:
            pool.close()
        for model in arguments.models:
            scored |= _own(arguments, data, _under(scratch, f"own{len(scored)}"), model)
    result.figures |= figures | korean.figures
    result.rows += [*rows, *korean.rows]
    result.sizes |= sizes | {"table": scored}
    result.lines += [*as_lines(scored), "", *korean.lines]
    return result


def _under(scratch: str, name: str) -> Path:
    folder = Path(scratch) / name
    folder.mkdir()
    return folder


def _own(
    arguments: Arguments, data: Path, scratch: Path, model: Path
) -> dict[str, dict[str, float]]:
    """Lines of one model of the operator: with the clause wordings, and reranked."""
    asked = rag_quality.questions(data)
    embedder = ModelEmbedder(
        model,
        device=arguments.device,
        question_prefix=arguments.prefixes[0],
        passage_prefix=arguments.prefixes[1],
    )
    rerankers: dict[str, Reranker | None] = {"": None}
    if arguments.reranker is not None:
        rerankers[f" + {arguments.reranker.name}"] = CrossEncoderReranker(
            arguments.reranker, device=arguments.device
        )
    given = rag_quality.given(data, scratch, asked, distractors=arguments.full)
    out = {}
    with make_matter(scratch / "matter") as matter:
        ingest(matter, embedder=embedder, folder=given)
        for name, reranker in rerankers.items():
            runs = rag_quality.ours(matter, asked, embedder, reranker=reranker)
            out[f"own: {model.name}{name}"] = rag_quality.score(asked, runs)[0]
    return out


def as_lines(scored: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The table in Markdown, percent; ours with what each step brought to hit@1 and hit@10."""
    head = ["", *(name for name, _ in _COLUMNS), "brought (hit@1, hit@10)"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    before: Mapping[str, Any] | None = None
    for name, row in scored.items():
        brought = ""
        if before is not None and not name.startswith("own"):
            brought = ", ".join(
                f"{100 * (row[key] - before[key]):+.1f}" for key in ("hit1", "hit10")
            )
        before = row if before is not None or name == _STEPS else None
        cells = [name, *(f"{100 * row[key]:.1f}" for _, key in _COLUMNS), brought]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
