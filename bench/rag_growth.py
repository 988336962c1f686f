"""Retrieval at size: one matter of 100,000 passages, and many matters with few open.

Words are made up, vectors come from the hash embedder in the model's dimensions, so that the store,
the indexes and the search do the same work as with real vectors without hours of embedding. The
work runs in child processes, whose memory is theirs alone:
``python -m bench.rag_growth one|ask|many ...``.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from protocol.ids import MatterId
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import embed_waiting
from rag.intake import take_in
from rag.matters import OpenMatter, create, erase
from rag.reading import DirectReader, read_waiting
from rag.retrieve import Filters, retrieve
from rag.rewriting import NoRewriter

Row = dict[str, Any]
_DIMENSIONS = 384
_PER_FILE = 1000
MARKER = "zyxwvutmarker"
_WORDS = (
    "agreement party notice term rent termination license royalty product territory damages "
    "warranty insurance audit records delivery price payment confidential assignment consent law "
    "state court breach cure days months years supplier customer distributor services software"
).split()


def _value(number: int) -> Matter:
    code = f"{number:04d}"
    return Matter(
        id=MatterId(f"M-{code}"), title=code, opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )


def made_up_words(seed: int) -> list[str]:
    """Words of contracts among many made-up ones."""
    chance = random.Random(seed)
    made = [
        "".join(
            chance.choice("bcdfglmnprstv") + chance.choice("aeiou")
            for _ in range(chance.randint(2, 4))
        )
        for _ in range(20_000)
    ]
    return _WORDS * 20 + made


def made_up_file(path: Path, passages: int, words: list[str], chance: random.Random) -> None:
    """Writes a text file of so many numbered paragraphs, each a passage."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(1, passages + 1):
            body = " ".join(chance.choices(words, k=70))
            out.write(f"{number}.1 {body.capitalize()}.\n\n")


def _memory_mb() -> float:
    """The most this process has held; getrusage would count what its parent had at the fork."""
    status = Path("/proc/self/status").read_text("ascii", "replace")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)


def one(place: Path, passages: int, seed: int) -> Row:
    """Fills one matter and asks it; run in a process of its own."""
    chance = random.Random(seed)
    words = made_up_words(seed)
    embedder = HashEmbedder(dimensions=_DIMENSIONS)
    row: Row = {}
    with tempfile.TemporaryDirectory(dir=place) as given:
        for at in range(max(1, passages // _PER_FILE)):
            made_up_file(Path(given) / f"{at:04d}.txt", min(passages, _PER_FILE), words, chance)
        with create(place / "one", _value(1)) as matter:
            start = time.perf_counter()
            take_in(matter, Path(given))
            read_waiting(matter, reader=DirectReader())
            row["passages"] = matter.store.passage_count()
            row["read_per_s"] = round(row["passages"] / (time.perf_counter() - start), 1)
            start = time.perf_counter()
            embed_waiting(matter, embedder=embedder)
            row["vectors_per_s"] = round(row["passages"] / (time.perf_counter() - start), 1)
            start = time.perf_counter()
            index = matter.index()
            matter.fill_index(index)
            row["index_per_s"] = round(row["passages"] / (time.perf_counter() - start), 1)
            row["memory_after_insert_mb"] = _memory_mb()
    return row


def ask(place: Path, questions: int, seed: int) -> Row:
    """Opens the filled matter again and asks it; run in a process of its own."""
    chance = random.Random(seed + 1)
    words = made_up_words(seed)
    embedder = HashEmbedder(dimensions=_DIMENSIONS)
    row: Row = {}
    start = time.perf_counter()
    with OpenMatter(place / "one") as matter:
        row["restart_s"] = round(time.perf_counter() - start, 3)
        start = time.perf_counter()
        matter.index()
        row["index_open_s"] = round(time.perf_counter() - start, 3)
        documents = [info.id for info in matter.documents()]
        for name, filters in (
            ("query", None),
            ("query_one_document", Filters(documents=(documents[0],))),
            ("query_half_the_matter", Filters(documents=tuple(documents[::2]))),
        ):
            took = []
            for _ in range(questions):
                text = "which " + " ".join(chance.choices(words, k=6))
                start = time.perf_counter()
                retrieve(matter, text, embedder=embedder, filters=filters, rewriter=NoRewriter())
                took.append((time.perf_counter() - start) * 1e3)
            took.sort()
            row[f"{name}_p50_ms"] = round(took[len(took) // 2], 1)
            row[f"{name}_p95_ms"] = round(took[int(0.95 * (len(took) - 1))], 1)
        row["memory_mb"] = _memory_mb()
    row["disk_mb"] = round(
        sum(path.stat().st_size for path in (place / "one").rglob("*") if path.is_file()) / 1e6, 1
    )
    return row


def many(place: Path, matters: int, most_open: int, seed: int) -> Row:
    """Makes many small matters, visits them in random order with few open, erases one."""
    chance = random.Random(seed)
    words = made_up_words(seed)
    embedder = HashEmbedder(dimensions=_DIMENSIONS)
    start = time.perf_counter()
    for number in range(matters):
        given = place / "given"
        given.mkdir(exist_ok=True)
        made_up_file(given / "a.txt", 50, words, chance)
        if number == 0:
            with (given / "a.txt").open("a", encoding="utf-8") as out:
                out.write(f"51.1 The word {MARKER} stands in this matter only.\n")
        with create(place / "matters" / f"M-{number:04d}", _value(number)) as matter:
            take_in(matter, given)
            read_waiting(matter, reader=DirectReader())
            embed_waiting(matter, embedder=embedder)
            matter.index()
        (given / "a.txt").unlink()
    row: Row = {
        "matters": matters,
        "make_ms": round((time.perf_counter() - start) * 1e3 / matters, 1),
    }
    shelf: OrderedDict[int, OpenMatter] = OrderedDict()
    opened = []
    for _ in range(2 * matters):
        number = chance.randrange(matters)
        if number not in shelf:
            start = time.perf_counter()
            shelf[number] = OpenMatter(place / "matters" / f"M-{number:04d}")
            shelf[number].index()
            opened.append((time.perf_counter() - start) * 1e3)
        shelf.move_to_end(number)
        retrieve(
            shelf[number], " ".join(chance.choices(words, k=5)), embedder=embedder,
            rewriter=NoRewriter(),
        )  # fmt: skip
        while len(shelf) > most_open:
            shelf.popitem(last=False)[1].close()
    for matter in shelf.values():
        matter.close()
    opened.sort()
    row |= {
        "open_p50_ms": round(opened[len(opened) // 2], 1),
        "open_p95_ms": round(opened[int(0.95 * (len(opened) - 1))], 1),
        "most_open": most_open,
        "memory_mb": _memory_mb(),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
    }
    closed = place / "matters" / "M-0000"
    row["files_with_word_before"] = _holding(place / "matters", MARKER)
    erase(closed)
    row["files_with_word_after_closing"] = _holding(place, MARKER)
    row["folder_gone"] = not closed.exists()
    return row


def _holding(folder: Path, word: str) -> int:
    return sum(
        word.encode() in path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()
    )


def in_child(what: str, *arguments: object) -> Row:
    """Runs one part in a process of its own and gives its row."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.rag_growth", what, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    row: Row = json.loads(done.stdout)
    return row


if __name__ == "__main__":
    name, where, *numbers = sys.argv[1:]
    parts = {"one": one, "ask": ask, "many": many}
    print(json.dumps(parts[name](Path(where), *map(int, numbers))))
