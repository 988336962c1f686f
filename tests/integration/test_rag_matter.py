"""A matter with its real parts: Chroma on disk, the reading child, the bundled model."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.errors import BadRequest, NotFound, Unavailable
from protocol.ids import MatterId
from protocol.record import LedgerState, Matter
from rag import evaluate
from rag.chunking import MAX_CHARS
from rag.embedding import Embedder, HashEmbedder, default_embedder, default_model_folder
from rag.ingest import ingest
from rag.matters import OpenMatter, create
from rag.pool import EmbedderPool
from rag.retrieve import retrieve

VALUE = Matter(
    id=MatterId("M-0001"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
)
MARKER = "zyxwvutmarker"
FILES = {
    "Lease.txt": "LEASE between Acme Widgets and Corvid Estates\n\n"
    "1. Term. The lease runs two years.\n\n2. Rent. Rent is due on the first of each month.\n\n"
    "3. Exit. Either party may terminate this lease for convenience upon ninety days' notice.\n",
    "Supply.txt": "SUPPLY AGREEMENT between Acme Widgets and Borealis\n\n"
    "1. Price. Widgets cost ten dollars each.\n\n"
    "2. Law. This agreement is governed by the laws of Alaska.\n",
    "mail.txt": f"From: Dana Reeves\n\nThe ceiling came down last night. {MARKER}\n",
}


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def place(tmp_path: Path, given: Path) -> Path:
    """A matter on disk, filled with the hash embedder, closed."""
    with create(tmp_path / "m", VALUE) as matter:
        ingest(matter, embedder=HashEmbedder(), folder=given)
    return tmp_path / "m"


@pytest.fixture(scope="module")
def model() -> Embedder:
    try:
        return default_embedder()
    except Unavailable as error:
        pytest.skip(error.message)


def test_chroma_holds_no_words(place: Path) -> None:
    for path in (place / "index").rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            assert MARKER.encode() not in content
            assert b"corvid" not in content
            assert b"lease.txt" not in content


@pytest.mark.parametrize("harm", ["folder", "vectors", "garbage", "foreign"])
def test_a_lost_or_spoiled_index_is_built_anew(place: Path, harm: str) -> None:
    (chroma,) = (place / "index" / "chroma").iterdir()
    if harm == "folder":
        shutil.rmtree(chroma)
    elif harm == "vectors":
        for folder in [path for path in chroma.iterdir() if path.is_dir()]:
            shutil.rmtree(folder)
    elif harm == "garbage":
        (chroma / "chroma.sqlite3").write_bytes(b"not a database" * 1000)
    else:
        with OpenMatter(place) as matter:
            matter.index().add(["stranger#0"], HashEmbedder().embed(["stranger"]))
    with OpenMatter(place) as matter:
        stored = matter.store.one("SELECT count(*) FROM vectors")
        assert matter.index().count() == stored
        assert "stranger#0" not in matter.index().ids()
        found = matter.index().search(HashEmbedder().embed_question("ceiling came down"), 1)
        assert found


def test_a_hostile_file_ends_its_reader_and_not_the_ingest(tmp_path: Path, given: Path) -> None:
    (given / "a bomb.pdf").write_bytes(b"%PDF-1.7\n" + b"1 0 obj <<" * 50_000)
    (given / "deep.txt").write_bytes(b"\xff\xfe" + b"[" * 100_001)
    with create(tmp_path / "m", VALUE) as matter:
        found = ingest(matter, embedder=HashEmbedder(), folder=given)
        states = {row.name: row.state for row in found.rows}
        assert set(states) == {*FILES, "a bomb.pdf", "deep.txt"}
        assert states["Lease.txt"] is LedgerState.INDEXED
        assert states["a bomb.pdf"] is LedgerState.FAILED


def test_meaning_finds_what_words_do_not(tmp_path: Path, given: Path, model: Embedder) -> None:
    with create(tmp_path / "m", VALUE) as matter:
        ingest(matter, embedder=model, folder=given)
        names = {info.id: info.name for info in matter.documents()}
        (best, *_) = retrieve(matter, "Did the roof collapse?", embedder=model)
        assert names[best.passage.span.document] == "mail.txt"
        (best, *_) = retrieve(
            matter, "In the Corvid lease, can the tenant walk away early?", embedder=model
        )
        assert best.passage.text.startswith("3. Exit.")
        assert "worded like termination for convenience" in best.why


def test_a_pool_gives_the_same_vectors_as_one_process(model: Embedder) -> None:
    folder = default_model_folder()
    assert folder is not None
    pool = EmbedderPool(folder, processes=2)
    texts = [f"clause {n} of the lease says {'more ' * (n % 7)}" for n in range(70)]
    try:
        assert pool.identity == model.identity
        assert abs(pool.embed(texts) - model.embed(texts)).max() < 1e-4
    finally:
        pool.close()


def test_the_measurement_reads_only_id_and_query(tmp_path: Path, given: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    asked = [
        {"id": "q1", "query": "In the Corvid lease, when is rent due?", "document": "wrong"},
        {"id": "q2", "query": "Which law governs the Borealis supply agreement?"},
    ]
    queries.write_text("".join(json.dumps(row) + "\n" for row in asked))
    out = tmp_path / "run.jsonl"
    assert evaluate.run(given, queries, out, 5, embedder=HashEmbedder()) == 2
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["q1", "q2"]
    assert [row["passages"][0]["document"] for row in rows] == ["Lease.txt", "Supply.txt"]
    for row in rows:
        assert len(row["passages"]) <= 5
        scores = [passage["score"] for passage in row["passages"]]
        assert scores == sorted(scores, reverse=True)
        for passage in row["passages"]:
            assert set(passage) == {"document", "start", "end", "score"}
            assert 0 < passage["end"] - passage["start"] <= MAX_CHARS
            assert passage["end"] <= len(FILES[passage["document"]])


def test_the_measurement_says_what_is_missing(tmp_path: Path, given: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    out = tmp_path / "run.jsonl"
    with pytest.raises(NotFound):
        evaluate.run(given, queries, out, 5, embedder=HashEmbedder())
    queries.write_text('{"id": "q1", "query": "rent?"}\n')
    with pytest.raises(NotFound):
        evaluate.run(tmp_path / "nowhere", queries, out, 5, embedder=HashEmbedder())
    queries.write_text('{"id": "q1"}\n')
    with pytest.raises(BadRequest):
        evaluate.run(given, queries, out, 5, embedder=HashEmbedder())


def test_importing_the_room_starts_nothing_heavy() -> None:
    script = (
        "import sys, rag.retrieve, rag.ingest, rag.lookup, rag.coverage, rag.removal, rag.evaluate;"
        "heavy = {'torch', 'chromadb', 'sentence_transformers', 'transformers'} & set(sys.modules);"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
