"""The durable keeper's file: one writer, one commit per act, strict about what it opens."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import stat
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from protocol.errors import AppError, Conflict, Damaged, Unavailable
from protocol.events import Completed, Words
from worker.jobs import JobQueue, NewJob, open_queue
from worker.jobs.durable import DurableQueue, statements
from worker.jobs.sql_store import load_statements
from worker.jobs.testing import HandClock, new_job

clock = HandClock()


def new(key: str = "k", request: str = "a") -> NewJob:
    return new_job(key=key, request=request, board="a")


async def test_what_was_done_is_there_after_opening_again(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    job = await queue.add(new())
    lease = await queue.claim("a", "w-1")
    assert lease is not None
    await queue.step(lease, "one", {"n": 1})
    await queue.pause("a")
    before = (await queue.job(job.id), await queue.events_since(job.id, 0), await queue.boards())
    await queue.close()
    queue = open_queue(path, clock)
    after = (await queue.job(job.id), await queue.events_since(job.id, 0), await queue.boards())
    assert after == before
    assert await queue.remembered(job.id, "one") == {"n": 1}
    await queue.close()


async def test_the_file_is_the_owners_alone_and_set_up_to_last(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    await queue.add(new())
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    pragmas = await queue._do(  # type: ignore[attr-defined]
        lambda acts: {
            name: acts._store._db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "busy_timeout")
        }
    )
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "secure_delete": 1,
        "busy_timeout": 2000,
    }
    await queue.close()


async def test_one_process_writes_and_the_next_may_once_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    first = open_queue(path, clock)
    with pytest.raises(Unavailable, match="another worker"):
        open_queue(path, clock)
    await first.add(new())
    await first.close()
    await first.close()
    second = open_queue(path, clock)
    await second.close()
    with pytest.raises(ValueError, match="closed"):
        await second.add(new())


async def test_others_may_read_while_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    await queue.add(new("k1"))
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM job").fetchone() == (1,)
    await queue.add(new("k2"))
    assert reader.execute("SELECT count(*) FROM job").fetchone() == (1,)
    reader.execute("COMMIT")
    assert reader.execute("SELECT count(*) FROM job").fetchone() == (2,)
    reader.close()
    await queue.close()


def _other_database(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE turns (words TEXT)")
    db.close()


def _newer_version(path: Path) -> None:
    asyncio.run(_closed(open_queue(path, clock)))
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 2")
    db.close()


async def _closed(queue: JobQueue) -> None:
    await queue.close()


def _no_database(path: Path) -> None:
    path.write_bytes(b"not a database at all " * 100)


@pytest.mark.parametrize("make", [_other_database, _newer_version, _no_database])
def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path, make: object) -> None:
    path = tmp_path / "queue.sqlite"
    make(path)  # type: ignore[operator]
    before = path.read_bytes()
    with pytest.raises(Damaged):
        open_queue(path, clock)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        open_queue(tmp_path / "absent" / "queue.sqlite", clock)


async def test_a_file_damaged_under_way_is_told_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    for number in range(40):
        await queue.add(new(f"k{number}"))
    await queue.close()
    kept = bytearray(path.read_bytes())
    kept[4096:] = b"\xff" * (len(kept) - 4096)
    path.write_bytes(kept)
    queue = open_queue(path, clock)
    with pytest.raises(Damaged):
        await queue.add(new("k99"))
    await queue.close()


class _Failing:
    """A connection every statement of which fails as told."""

    in_transaction = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def execute(self, *_: object) -> None:
        raise self._error

    def close(self) -> None: ...


SQLITE_ERRORS = sorted(
    (
        kind
        for kind in vars(sqlite3).values()
        if isinstance(kind, type) and issubclass(kind, sqlite3.Error) and kind is not sqlite3.Error
    ),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", SQLITE_ERRORS, ids=lambda kind: kind.__name__)
async def test_every_error_of_sqlite_is_translated_without_its_text(
    tmp_path: Path, kind: type[sqlite3.Error]
) -> None:
    queue = DurableQueue.open(tmp_path / "queue.sqlite", clock)
    await queue._do(lambda acts: acts._store.close())
    queue._store._db = _Failing(kind("near 'Zebrastein': syntax error"))  # type: ignore[assignment]
    with pytest.raises(AppError) as told:
        await queue.add(new())
    assert "Zebrastein" not in told.value.message + told.value.next_step
    await queue.close()


async def test_a_write_behind_a_held_lock_is_unavailable_and_then_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.jobs.durable._BUSY_MS", 20)
    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable):
        await queue.add(new())
    holder.execute("ROLLBACK")
    holder.close()
    assert (await queue.add(new())).place == 1
    await queue.close()


async def test_every_act_is_one_commit_and_a_refused_one_is_none(tmp_path: Path) -> None:
    """In WAL mode with full sync a commit is one sync of the log."""
    hooks: Counter[str] = Counter()
    queue = DurableQueue.open(
        tmp_path / "queue.sqlite", clock, hook=lambda name: hooks.update([name])
    )
    traced: list[str] = []
    await queue._do(lambda acts: queue._store._db.set_trace_callback(traced.append))

    async def commits() -> int:
        count = sum(statement == "COMMIT" for statement in traced)
        traced.clear()
        return count

    job = await queue.add(new())
    assert await commits() == 1
    lease = await queue.claim("a", "w-1")
    assert lease is not None
    assert await commits() == 1
    await queue.step(lease, "one", {})
    assert await commits() == 1
    await queue.say(lease, Words(part=1))
    assert await commits() == 1
    await queue.events_since(job.id, 0)
    await queue.remembered(job.id, "one")
    assert await commits() == 0
    with pytest.raises(Conflict):
        await queue.add(new(request="b"))
    assert await commits() == 0
    await queue.end(lease, Completed(answer_sha256="", verified=0, to_look_at=0, failing=0))
    assert await commits() == 1
    assert hooks["step:before"] == hooks["step:after"] == 1
    await queue._do(lambda acts: queue._store._db.set_trace_callback(None))
    await queue.close()


def _wait(event: threading.Event) -> None:
    assert event.wait(20)


async def test_the_loop_is_free_while_the_disk_is_slow(tmp_path: Path) -> None:
    """An act that hangs in its commit holds up the next act, never the loop."""
    hang = threading.Event()
    queue = DurableQueue.open(tmp_path / "queue.sqlite", clock, hook=lambda name: _wait(hang))
    adding = asyncio.create_task(queue.add(new()))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not adding.done()
    hang.set()
    assert (await adding).place == 1
    await queue.close()


async def test_an_act_whose_caller_left_is_finished_and_rings(tmp_path: Path) -> None:
    hang, begun = threading.Event(), threading.Event()
    hang.set()

    def hook(name: str) -> None:
        begun.set()
        _wait(hang)

    queue = DurableQueue.open(tmp_path / "queue.sqlite", clock, hook=hook)
    job = await queue.add(new())
    lease = await queue.claim("a", "w-1")
    assert lease is not None
    follower = asyncio.create_task(queue.wait_event(job.id, 2))
    hang.clear()
    begun.clear()
    saying = asyncio.create_task(queue.say(lease, Words(part=1)))
    assert await asyncio.to_thread(begun.wait, 60)  # one that has not begun would be taken back
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    hang.set()
    [event] = await asyncio.wait_for(follower, 60)
    assert event.body == Words(part=1)
    await queue.close()


# --- the statements ---


@pytest.mark.parametrize(
    ("file", "keeper"), [("queries.sql", "durable.py"), ("shared.sql", "shared_store.py")]
)
def test_every_statement_is_used_and_described(file: str, keeper: str) -> None:
    folder = Path(sys.modules["worker.jobs"].__file__ or "").parent
    source = (folder / keeper).read_text("utf-8") + (folder / "sql_store.py").read_text("utf-8")
    for name, statement in load_statements(file).items():
        assert f'"{name}"' in source or f"'{name}'" in source, name
        assert statement.startswith("-- "), name
        assert "DEFAULT" not in statement


def test_no_column_can_hold_a_text_of_ones_own() -> None:
    """Every text column is an id, a code or a hash by name; whoever adds one decides here."""
    schema = statements()["schema"]
    columns = set(re.findall(r"^    (\w+) +(?:TEXT|BLOB)", schema, re.MULTILINE))
    ids = {"id", "job", "matter", "kind", "user", "board", "state", "owner", "reason", "name"}
    hashes = {"key_sha256", "request_sha256", "answer_sha256"}
    assert columns == ids | hashes | {"body", "value"}


async def test_a_program_that_looks_at_the_queue_and_goes_takes_no_log_away(
    tmp_path: Path,
) -> None:
    """SQLite deletes the log with the last connection, and a lock alone tells that it is not."""

    def looked(statement: str) -> str:
        program = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
            "print(db.execute(sys.argv[2]).fetchall()); db.close()"
        )
        return subprocess.run(
            [sys.executable, "-c", program, path, statement],
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    path = tmp_path / "queue.sqlite"
    queue = open_queue(path, clock)
    await queue.add(new("before"))
    await asyncio.to_thread(looked, "SELECT id FROM job")
    after = await queue.add(new("after"))
    assert after.id in await asyncio.to_thread(looked, "SELECT id FROM job")
    await queue.close()
