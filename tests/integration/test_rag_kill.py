"""An ingest killed anywhere ends, after a restart, exactly where one left alone ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag.matters import OpenMatter
from rag.repair import damage, stale

CHILD = Path(__file__).with_name("rag_ingester.py")
QUERIES = (
    "SELECT name, original_sha256, state, document, pages, pages_read, reason FROM files",
    "SELECT * FROM documents",
    "SELECT * FROM texts",
    "SELECT * FROM pages",
    "SELECT id, document, starts, ends, page, heading, words, embedded, indexed FROM passages",
    "SELECT p.id, v.part, v.vector FROM vectors v JOIN passages p ON p.n = v.passage",
    "SELECT term, doc, cnt FROM passage_vocabulary",
    "SELECT term, doc, cnt FROM card_vocabulary",
)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    for number in range(12):
        lines = "\n\n".join(
            f"{line}. Clause {line} of paper {number}: the rent is ${line * 100} a month."
            for line in range(1, 40)
        )
        (folder / f"paper {number:02}.txt").write_text(lines)
    (folder / "copy.txt").write_bytes((folder / "paper 00.txt").read_bytes())
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    return folder


def start(given: Path, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(given), str(place)], stdout=subprocess.PIPE, text=True
    )


def snapshot(place: Path) -> list[object]:
    with OpenMatter(place) as matter:
        found: list[object] = [
            sorted((tuple(row) for row in matter.store.rows(query)), key=repr) for query in QUERIES
        ]
        found.append(sorted(matter.index().ids()))
        found.append(sorted(path.name for path in matter.originals.iterdir()))
        assert damage(matter) == stale(matter) == ()
    return found


@pytest.fixture(scope="module")
def alone(given: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[object]]:
    place = tmp_path_factory.mktemp("alone") / "m"
    out, _ = start(given, place).communicate()
    return out.splitlines(), snapshot(place)


@pytest.mark.parametrize("share", [0.1, 0.45, 0.8, 0.95])
def test_killed_and_restarted_equals_left_alone(
    given: Path, alone: tuple[list[str], list[object]], tmp_path: Path, share: float
) -> None:
    steps, expected = alone
    assert steps[-1] == "done"
    child = start(given, tmp_path / "m")
    assert child.stdout is not None
    for _ in range(max(1, int(share * (len(steps) - 1)))):
        child.stdout.readline()
    child.kill()
    child.stdout.close()
    assert child.wait() == -9
    out, _ = start(given, tmp_path / "m").communicate()
    assert out.splitlines()[-1] == "done"
    assert snapshot(tmp_path / "m") == expected
