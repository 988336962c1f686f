"""Ingest killed at random points: what is there afterwards must equal an ingest left alone.

``python -m bench.rag_kill FOLDER MATTER`` is the child: it ingests and says each step on stdout, so
that the parent can kill it at a step of its choice, anywhere from copying to indexing.
"""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from protocol.ids import MatterId
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import IngestProgress, ingest
from rag.matters import OpenMatter, create
from rag.reading import DirectReader
from rag.repair import damage, stale
from rag.retrieve import retrieve

Row = dict[str, Any]
_TABLES = {
    "files": "SELECT name, original_sha256, state, document, pages, pages_read, reason FROM files",
    "documents": "SELECT * FROM documents",
    "texts": "SELECT * FROM texts",
    "pages": "SELECT * FROM pages",
    "places": "SELECT * FROM places",
    "passages": (
        "SELECT id, document, starts, ends, page, heading, header, words, words_sha256, embedded,"
        " indexed FROM passages"
    ),
    "vectors": ("SELECT p.id, v.part, v.vector FROM vectors v JOIN passages p ON p.n = v.passage"),
    "terms": "SELECT term, doc, cnt FROM passage_vocabulary",
    "cards": "SELECT term, doc, cnt FROM card_vocabulary",
}


def embedder() -> HashEmbedder:
    """The keeper without a model: what is tested is the order of steps, not the meaning."""
    return HashEmbedder(dimensions=64)


def child(folder: Path, place: Path) -> None:
    """Ingests, saying every step."""
    if (place / "matter.json").exists():
        matter = OpenMatter(place)
    else:
        value = Matter(
            id=MatterId("M-0001"), title="kill", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        )
        matter = create(place, value)

    def say(progress: IngestProgress) -> None:
        print(progress.stage, progress.done, flush=True)

    with matter:
        ingest(matter, embedder=embedder(), folder=folder, reader=DirectReader(), on_progress=say)
    print("done", flush=True)


def _start(folder: Path, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.rag_kill", str(folder), str(place)],
        stdout=subprocess.PIPE,
        text=True,
    )


def snapshot(place: Path) -> dict[str, Any]:
    """Everything that must agree, read after the child has gone."""
    with OpenMatter(place) as matter:
        index = matter.index()
        found: dict[str, Any] = {
            name: sorted((tuple(row) for row in matter.store.rows(query)), key=repr)
            for name, query in _TABLES.items()
        }
        found["index"] = sorted(index.ids())
        found["answers"] = [
            [hit.passage.id for hit in retrieve(matter, question, embedder=embedder())]
            for question in ("what rent is due?", "who may terminate?", "when was notice given?")
        ]
        found["originals"] = sorted(path.name for path in matter.originals.iterdir())
        found["wrong"] = damage(matter) + stale(matter)
    return found


def campaign(folder: Path, scratch: Path, *, points: int, seed: int) -> tuple[int, int, list[Row]]:
    """Kills ``points`` ingests, each in a fresh matter, lets each finish, and compares.

    Returns:
        Kills that hit a running ingest, matters that differ from the one left alone, rows.
    """
    whole = _start(folder, scratch / "alone")
    out, _ = whole.communicate()
    steps = out.splitlines()
    if whole.returncode != 0 or steps[-1:] != ["done"]:
        raise RuntimeError("the ingest left alone did not end well")
    expected = snapshot(scratch / "alone")
    chance = random.Random(seed)
    kills = differences = 0
    rows: list[Row] = []
    for number in range(points):
        place = scratch / f"killed-{number}"
        at = chance.randrange(len(steps) - 1)
        delay_s = chance.random() * 0.02
        running = _start(folder, place)
        assert running.stdout is not None
        for _ in range(at + 1):
            step = running.stdout.readline().strip()
        time.sleep(delay_s)
        running.kill()
        running.stdout.close()
        hit = running.wait() == -9
        kills += hit
        again = _start(folder, place)
        again.communicate()
        came = snapshot(place) if again.returncode == 0 else {}
        differs = [name for name in expected if came.get(name) != expected[name]]
        differences += bool(differs)
        rows.append({"kill": number, "after": step, "hit": hit, "differs": differs})
    return kills, differences, rows


if __name__ == "__main__":
    child(Path(sys.argv[1]), Path(sys.argv[2]))
