"""Retrieval in Korean: 38 questions over seven papers written for it, by words and by both.

The bundled model knows no Korean; what it adds is measured, not assumed. A multilingual model of
the operator is measured on the same set by `bench.rag_table`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from bench import rag_quality
from bench.harness import HERE, Result
from rag.embedding import Embedder
from rag.evaluate import make_matter
from rag.ingest import ingest

FOLDER: Final = HERE / "data" / "korean"


def questions() -> list[dict[str, Any]]:
    """The questions, their gold words turned into spans of the paper's text."""
    out = []
    for line in (FOLDER / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        text = (FOLDER / "documents" / row["document"]).read_text("utf-8")
        spans = []
        for words in row["gold"]:
            if text.count(words) != 1:
                raise ValueError(f"{row['id']}: the gold words stand {text.count(words)} times")
            spans.append((text.index(words), text.index(words) + len(words)))
        out.append({**row, "category": "korean", "spans": spans})
    return out


def measured(scratch: Path, embedder: Embedder) -> Result:
    """Hits by words alone and by words and meaning, all papers in one matter."""
    asked = questions()
    result = Result(figures={})
    lines = ["| Korean set | hit@1 | hit@10 | right document first |", "|---|---|---|---|"]
    with make_matter(scratch / "matter") as matter:
        ingest(matter, embedder=embedder, folder=FOLDER / "documents")
        for name, model in (("words", None), ("words and meaning", embedder)):
            scored, rows = rag_quality.score(asked, rag_quality.ours(matter, asked, model))
            result.rows += [{"line": f"korean: {name}", **row} for row in rows]
            key = "korean" if model else "korean_words"
            result.figures |= {f"{key}_{part}": scored[part] for part in ("hit1", "hit10", "doc1")}
            cells = (f"{100 * scored[part]:.1f}" for part in ("hit1", "hit10", "doc1"))
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    result.sizes = {"korean_questions": len(asked)}
    result.lines = lines
    return result
