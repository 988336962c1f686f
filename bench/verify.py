"""The checker: right and wrong verdicts, fuzzing, quotation marks, speed, index.

* ``false_verified_dev``: labelled cases that must not be green and are (0 or the bench fails).
* ``fuzz_*``: freshly spoiled quotations (`bench/mutations.py`), 1,000, with ``--full`` 10,000.
* ``marks_*``: finding the quotations of labelled replies (``tests/data/verify/marks.jsonl``).
* ``located_ms`` and others: ten quotations (5 exact, 3 altered, 2 absent) in a 200 MB record.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.fuzz import Fuzzer, passes
from bench.harness import HERE, Arguments, Result, timed
from bench.make_record import documents, read_texts
from protocol.answers import Verdict
from protocol.ids import DocumentId
from protocol.record import DateOrder, DocumentClass, DocumentInfo, PageInfo
from verify.__main__ import judge_case
from verify.cues import Cue, cue_of
from verify.folder import FolderSource, Part
from verify.index import build_index, write_index
from verify.judging import judge_quote
from verify.marks import find_marked
from verify.record import OpenRecord
from verify.source import pages_of

MARKS = HERE.parent / "tests" / "data" / "verify" / "marks.jsonl"
OWN_TEXTS = HERE / "data" / "verify"
RECORD_MB = 200
FUZZ, FUZZ_FULL = 1_000, 10_000
_ABSENT = (
    "The lighthouse keeper sold eleven umbrellas to the visiting accordion orchestra.",
    "No violinist shall repaint the harbour crane without a written recipe for soup.",
)
RAPIDFUZZ_SHARE = 8  # in the short run one document in this many is scanned, and scaled up
_PASS = {Verdict.VERIFIED, Verdict.VERIFIED_MARKED, Verdict.COMPUTED}


def run(arguments: Arguments) -> Result:
    """All of it; about five minutes on two cores."""
    result = Result(figures={})
    texts = arguments.data / "verify" / "documents" if arguments.data else OWN_TEXTS
    result.notes.append("texts: the given data folder" if arguments.data else "texts: bench/data")
    _dev(arguments, result)
    _fuzz(arguments, texts, result)
    _marks(result)
    _speed(arguments, texts, result)
    figures = result.figures
    result.failed = bool(figures.get("false_verified_dev") or figures.get("fuzz_false_verified"))
    return result


# --- labelled cases -------------------------------------------------------------------------------


def _dev(arguments: Arguments, result: Result) -> None:
    figures = result.figures
    figures["false_verified_dev"] = None
    if arguments.data is None:
        result.notes.append("no labelled cases: give --data or SECONDCHAIR_DATA")
        return
    folder = arguments.data / "verify"
    cases = [json.loads(line) for line in (folder / "gold-dev.jsonl").open(encoding="utf-8")]
    whole = FolderSource(folder / "documents")
    records: dict[tuple[str, ...], OpenRecord] = {}
    right = false = 0
    for case in cases:
        key = tuple(case["documents"])
        record = records.setdefault(key, OpenRecord(Part(whole, key)))
        span = (case["span"][0], case["span"][1])
        verdict = judge_case(case["kind"], case["reply"], span, record).verdict
        accept = {Verdict(word) for word in case["accept"]}
        wrong = verdict in _PASS and not accept & (_PASS | {Verdict.NOT_A_QUOTE})
        false += wrong
        right += verdict in accept
        result.rows.append(
            {
                "part": "dev",
                "id": case["id"],
                "kind": f"{case['category']}/{case['subtype']}",
                "expected": case["accept"],
                "came": verdict.value,
                "false_verified": wrong,
            }
        )
    figures["false_verified_dev"] = false
    figures["dev_verdicts_right"] = round(right / len(cases), 4)
    result.sizes["dev_cases"] = len(cases)


# --- fuzzing --------------------------------------------------------------------------------------


def _fuzz(arguments: Arguments, texts: Path, result: Result) -> None:
    chosen = {
        path.stem: (_title(texts, path.stem), path.read_bytes().decode("utf-8"))
        for path in sorted(texts.glob("*.txt"))
        if not path.stem.startswith("ocr")
    }
    fuzzer = Fuzzer(chosen, arguments.seed)
    spoiled = false = true = true_green = 0
    for trial in fuzzer.trials(FUZZ_FULL if arguments.full else FUZZ):
        judged = fuzzer.judge(trial)
        green = passes(judged.verdict)
        spoiled += not trial.green_allowed
        false += green and not trial.green_allowed
        true += trial.green_expected
        true_green += green and trial.green_expected
        result.rows.append(
            {
                "part": "fuzz",
                "kind": trial.kind,
                "expected": "green" if trial.green_expected else "not green",
                "came": judged.verdict.value,
                "reply": trial.reply[-300:],
            }
        )
    result.figures["fuzz_quotes"] = spoiled
    result.figures["fuzz_false_verified"] = false
    result.figures["fuzz_true_verified"] = round(true_green / max(1, true), 4)


def _title(texts: Path, name: str) -> str:
    index = texts / "index.jsonl"
    if index.is_file():
        for line in index.open(encoding="utf-8"):
            row = json.loads(line)
            if row["id"] == name:
                return str(row["title"])
    return name


# --- quotation marks ------------------------------------------------------------------------------


def _marks(result: Result) -> None:
    found = wanted = hit = 0
    for line in MARKS.open(encoding="utf-8"):
        case = json.loads(line)
        reply = case["reply"]
        spans = {(start, end) for start, end in case["quotes"]}
        came = {
            (mark.start, mark.end)
            for mark in find_marked(reply)
            if cue_of(reply, mark.start, mark.end, block=mark.block) is not Cue.NOT
        }
        hits = {span for span in spans if any(_same(span, other) for other in came)}
        wanted += len(spans)
        hit += len(hits)
        found += len(came)
        result.rows.append(
            {
                "part": "marks",
                "tried": reply,
                "expected": sorted(map(list, spans)),
                "came": sorted(map(list, came)),
            }
        )
    result.figures["marks_recall"] = round(hit / max(1, wanted), 4)
    result.figures["marks_precision"] = round(hit / max(1, found), 4)
    result.sizes["marks_quotes"] = wanted


def _same(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """The same quotation, a stop or a space at its edge aside."""
    return abs(a[0] - b[0]) <= 2 and abs(a[1] - b[1]) <= 2


# --- speed ----------------------------------------------------------------------------------------


class _Stored:
    """A large record in memory, its quotation indexes on disk."""

    date_order = DateOrder.UNSET

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        self._texts = {DocumentId(f"record-{k:04d}"): text for k, text in enumerate(texts, 1)}
        self._folder = folder
        self._infos = tuple(
            DocumentInfo(
                id=name,
                title=f"Production volume {name[-4:]}",
                name=f"{name}.txt",
                kind="txt",
                document_class=DocumentClass.EVIDENCE,
                text_sha256=hashlib.sha256(text.encode()).hexdigest(),
                chars=len(text),
                pages=text.count("\f") + 1,
            )
            for name, text in self._texts.items()
        )

    def documents(self) -> Sequence[DocumentInfo]:
        return self._infos

    def text(self, document: DocumentId) -> str:
        return self._texts[document]

    def pages(self, document: DocumentId) -> Sequence[PageInfo]:
        return pages_of(self._texts[document])

    def index_path(self, document: DocumentId) -> Path | None:
        return self._folder / f"{document}.quotes"


def _speed(arguments: Arguments, folder: Path, result: Result) -> None:
    figures = result.figures
    texts = list(documents(read_texts(folder), RECORD_MB * 1_000_000, arguments.seed))
    size = sum(len(text.encode()) for text in texts)
    result.sizes |= {"record_mb": round(size / 1e6, 1), "record_documents": len(texts)}
    quotes = _ten_quotes(texts, arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        source = _Stored(texts, Path(name))
        build_index(texts[0])  # the tables of the first call are no part of the build
        started = time.perf_counter()
        stored = 0
        for info in source.documents():
            index = build_index(source.text(info.id))
            path = source.index_path(info.id)
            assert path is not None
            write_index(index, path, info.text_sha256)
            stored += path.stat().st_size
        build_s = time.perf_counter() - started
        fts5_s, fts5_bytes = _fts5(texts, Path(name) / "fts5.sqlite")
        figures["build_mb_per_s"] = round(size / 1e6 / build_s, 1)
        figures["fts5_mb_per_s"] = round(size / 1e6 / fts5_s, 1)
        figures["build_times_fts5"] = round(fts5_s / build_s, 2)
        figures["index_ratio"] = round(stored / size, 3)
        figures["fts5_ratio"] = round(fts5_bytes / size, 3)
        _times(arguments, source, texts, quotes, result)


def _ten_quotes(texts: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Five exact, three altered in one word, two absent."""
    rng = random.Random(seed)
    made: list[tuple[str, str]] = []
    while len(made) < 8:
        text = rng.choice(texts)
        page = rng.choice(text.split("\f"))
        flat = " ".join(re.sub(r"\n- \d+ -\s*$", "", page).split())
        found = [
            s for s in re.findall(r"(?<=[.] )[A-Z][^.\[\]“”\"]{90,220}\.", flat) if s.isascii()
        ]
        if not found:
            continue
        words = rng.choice(found).split()
        if len(made) >= 5:
            words[len(words) // 2] = "purple"
        made.append((" ".join(words), "exact" if len(made) < 5 else "altered"))
    made.append(
        (
            "The lighthouse keeper sold eleven umbrellas to the visiting accordion orchestra.",
            "absent",
        )
    )
    made.append(
        (
            "No violinist shall repaint the harbour crane without a written recipe for soup.",
            "absent",
        )
    )
    return made


def _fts5(texts: Sequence[str], path: Path) -> tuple[float, int]:
    """Seconds and bytes of a full-text index of words over the same pages."""
    store = sqlite3.connect(path)
    store.execute("pragma journal_mode = off")
    store.execute("pragma synchronous = off")
    store.execute("create virtual table pages using fts5(words, content='')")
    started = time.perf_counter()
    row = 0
    for text in texts:
        for page in text.split("\f"):
            row += 1
            store.execute("insert into pages(rowid, words) values (?, ?)", (row, page))
    store.commit()
    took = time.perf_counter() - started
    store.close()
    return took, path.stat().st_size


def _times(
    arguments: Arguments,
    source: _Stored,
    texts: Sequence[str],
    quotes: Sequence[tuple[str, str]],
    result: Result,
) -> None:
    figures = result.figures
    record = OpenRecord(source)
    names = [info.id for info in record.infos]
    words = [quote for quote, _ in quotes]
    record.searcher(names).locate(words)
    located = timed(lambda: record.searcher(names).locate(words), 7)
    replies = [(f"The record says “{quote}”", len("The record says “")) for quote in words]

    def judge() -> list[Verdict]:
        return [
            judge_quote(reply, (at, at + len(quote)), record).verdict
            for (reply, at), quote in zip(replies, words, strict=True)
        ]

    cold = timed(judge, 1)
    judged = timed(judge, 5)
    for (quote, kind), verdict in zip(quotes, judge(), strict=True):
        result.rows.append({"part": "speed", "tried": quote, "expected": kind, "came": verdict})
    figures |= located.as_figures("located_ms") | judged.as_figures("judged_ms")
    figures["judged_first_ms"] = round(cold.median_ms, 1)
    flat = [" ".join(text.split()) for text in texts]
    raw = [text.encode() for text in flat]
    needles = [quote.encode() for quote in words]
    find = timed(lambda: [blob.find(needle) for needle in needles for blob in raw], 3)
    figures["find_ms"] = round(find.median_ms, 1)
    figures["times_faster_than_find"] = round(find.median_ms / located.median_ms, 1)
    fuzzy_ms = _rapidfuzz(words, flat, 1 if arguments.full else RAPIDFUZZ_SHARE, result)
    figures["rapidfuzz_ms"] = None if fuzzy_ms is None else round(fuzzy_ms, 1)
    figures["times_faster_than_rapidfuzz"] = (
        None if fuzzy_ms is None else round(fuzzy_ms / located.median_ms, 1)
    )


def _rapidfuzz(
    words: Sequence[str], flat: Sequence[str], share: int, result: Result
) -> float | None:
    """Milliseconds of an alignment of every quotation with every document."""
    try:
        from rapidfuzz.fuzz import partial_ratio_alignment
    except ModuleNotFoundError:
        result.notes.append("rapidfuzz is not installed: not compared")
        return None
    part = flat[::share]
    align: Callable[..., Any] = partial_ratio_alignment
    spread = timed(lambda: [align(quote, text) for quote in words for text in part], 1)
    scale = sum(map(len, flat)) / sum(map(len, part))
    if share > 1:
        result.notes.append(f"rapidfuzz read one document in {share}; its time is scaled up")
    return spread.median_ms * scale
