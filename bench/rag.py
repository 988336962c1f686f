"""Reading and finding: quality, speed, size, kills, damaged files.

The default sizes fit in ten minutes on two idle cores; ``--full`` runs the issue's. Without the
data folder the small set under ``bench/data`` is used, and the report says so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import (
    loaders,
    loaders_fuzz,
    loaders_ocr,
    rag_growth,
    rag_kill,
    rag_korean,
    rag_quality,
    rag_table,
)
from bench.harness import HERE, Arguments, Result
from protocol.errors import AppError
from rag.embedding import default_model_folder
from rag.pool import EmbedderPool
from rag.reranking import LateInteraction

BUNDLED = HERE / "data"
PARTS = ("quality", "loaders", "kills", "growth", "fuzz")


def run(arguments: Arguments) -> Result:
    """All of it, each part in a scratch folder of its own."""
    result = Result(figures={})
    data = arguments.data or BUNDLED
    if arguments.data is None:
        result.notes.append("no data folder given: the small set under bench/data was used")
    works: tuple[Callable[[Arguments, Path, Path, Result], None], ...] = (
        _quality,
        _loaders,
        _kills,
        _growth,
        _fuzz,
    )
    for name, work in zip(PARTS, works, strict=True):
        if not arguments.wants(name):
            continue
        with tempfile.TemporaryDirectory(prefix="secondchair-bench-") as scratch:
            try:
                work(arguments, data, Path(scratch), result)
            except (AppError, RuntimeError) as error:
                result.notes.append(f"{name}: not measured: {error}")
                result.failed = True
    return result


def _quality(arguments: Arguments, data: Path, scratch: Path, result: Result) -> None:
    folder = default_model_folder()
    if folder is None:
        raise RuntimeError("the bundled embedding model is not installed")
    embedder = EmbedderPool(folder, processes=min(2, os.cpu_count() or 1))
    try:
        figures, rows, sizes = rag_quality.table(
            data,
            scratch,
            embedder,
            distractors=arguments.full,
            reranker=LateInteraction(embedder.one) if arguments.full else None,
        )
        korean_folder = scratch / "korean"
        korean_folder.mkdir()
        korean = rag_korean.measured(korean_folder, embedder)
    finally:
        embedder.close()
    result.figures |= figures | korean.figures
    result.rows += [*rows, *korean.rows]
    result.sizes |= sizes | korean.sizes
    result.lines += [*rag_table.as_lines(sizes["table"]), "", *korean.lines]


def _loaders(arguments: Arguments, data: Path, scratch: Path, result: Result) -> None:
    speed = loaders.speed(data, rounds=3 if arguments.full else 2)
    spans = loaders.gold_spans_mapped(data)
    result.figures |= {
        "pages_per_cpu_s": loaders.pages_per_cpu_s(speed),
        "pypdfium2_ratio": speed.figure,
        "hidden_scan_ratio": loaders.scan_ratio(speed),
        "gold_spans_mapped": round(spans.figure, 4),
    }
    result.rows += [*speed.rows, *spans.rows]
    texts = [
        path.read_text("utf-8") for path in sorted((data / "retrieval" / "documents").glob("*.txt"))
    ]
    try:
        ocr = loaders_ocr.ocr_words_right(texts, pages=12, seed=arguments.seed)
    except RuntimeError as error:
        result.notes.append(f"ocr: not measured: {error}")
        result.figures["ocr_words_right"] = None
    else:
        result.figures["ocr_words_right"] = round(ocr.figure, 4)
        result.rows += ocr.rows


def _kills(arguments: Arguments, data: Path, scratch: Path, result: Result) -> None:
    given = scratch / "given"
    given.mkdir()
    for path in sorted((data / "retrieval" / "documents").glob("*.txt"))[:12]:
        (given / path.name).write_bytes(path.read_bytes())
    points = 20 if arguments.full else 6
    kills, differences, rows = rag_kill.campaign(given, scratch, points=points, seed=arguments.seed)
    result.figures |= {"kill_points": kills, "kill_differences": differences}
    result.rows += rows
    result.failed |= differences > 0


def _growth(arguments: Arguments, data: Path, scratch: Path, result: Result) -> None:
    passages = 100_000 if arguments.full else 10_000
    matters = 1000 if arguments.full else 12
    filled = rag_growth.in_child("one", scratch, passages, arguments.seed)
    asked = rag_growth.in_child("ask", scratch, 60 if arguments.full else 20, arguments.seed)
    shelf = rag_growth.in_child("many", scratch, matters, min(24, matters // 2), arguments.seed)
    for name, value in {**filled, **asked}.items():
        result.figures[f"growth_{name}"] = value
    for name, value in shelf.items():
        result.figures[f"shelf_{name}"] = value
    result.rows += [{"growth": filled | asked}, {"shelf": shelf}]
    result.sizes |= {"growth_passages": passages, "shelf_matters": matters}
    # A marker that was nowhere before proves nothing by being nowhere after.
    result.failed |= not shelf["files_with_word_before"]
    result.failed |= bool(shelf["files_with_word_after_closing"]) or not shelf["folder_gone"]


def _fuzz(arguments: Arguments, data: Path, scratch: Path, result: Result) -> None:
    files = 5000 if arguments.full else 300
    seeds = data / "files"
    measured = loaders_fuzz.fuzz(
        files, seeds=seeds if seeds.is_dir() else None, seed=arguments.seed
    )
    result.figures |= {"fuzz_files": files, "fuzz_failures": int(measured.figure)}
    result.rows += measured.rows
    result.failed |= measured.figure > 0
