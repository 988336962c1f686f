"""`documents remove`: the paper leaves every file of the matter, and does not come back."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from click.testing import CliRunner

from bench.house import CODE, open_house
from protocol.ids import UserName
from protocol.jobs import Find
from protocol.record import LedgerState
from rag import removal
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.intake import REMOVED
from rag.matters import OpenMatter
from rag.reading import DirectReader
from worker import registry
from worker.audit import read
from worker.cli import cli
from worker.holds import put_on
from worker.registry import Registry, Role, User

WORDS = b"zanthoxylum"
"""A word that stands in the removed paper alone."""


@pytest.fixture
def state(sample_root, tmp_path):
    """A copy of the sample matter with one more paper in its inbox, and a reviewer."""
    root = tmp_path / "state"
    shutil.copytree(sample_root / "matters", root / "matters")
    users = (User(name=UserName("kim"), role=Role.REVIEWER, matters=(CODE,)),)
    (root / "registry").mkdir()
    registry.write(root / "registry" / "users.toml", Registry(users=users))
    inbox = root / "matters" / CODE / "inbox"
    inbox.mkdir(exist_ok=True)
    (inbox / "wrong.txt").write_bytes(b"The " + WORDS + b" grew behind the boiler.")
    with opened(root) as held:
        read_inbox(held)
    return root


def opened(state):
    return OpenMatter(state / "matters" / CODE)


def read_inbox(held):
    inbox = held.folder / "inbox"
    return ingest(held, embedder=HashEmbedder(), folder=inbox, reader=DirectReader())


def typed(state, *words):
    return CliRunner().invoke(cli, ["--state", str(state), "documents", "remove", CODE, *words])


def files_with(state, words):
    folder = state / "matters" / CODE
    return [
        path.name for path in folder.rglob("*") if path.is_file() and words in path.read_bytes()
    ]


def names(state):
    with opened(state) as held:
        return {info.name for info in held.documents()}


def test_nothing_of_it_stays_and_it_does_not_come_back(state):
    assert "wrong.txt" in names(state)
    assert files_with(state, WORDS)
    done = typed(state, "wrong.txt", "--by", "kim", "--yes")
    assert done.exit_code == 0, done.output
    assert files_with(state, WORDS) == []
    sha = done.stdout.split("sha256 ")[1].split()[0]
    (state / "matters" / CODE / "inbox" / "again.txt").write_bytes(
        b"The " + WORDS + b" grew behind the boiler."
    )
    with opened(state) as held:
        row = next(one for one in read_inbox(held).rows if one.name == "again.txt")
        assert (row.state, row.reason) == (LedgerState.SKIPPED, REMOVED)
        assert not (held.originals / sha).exists()
    assert typed(state, sha, "--by", "kim", "--undo").exit_code == 0
    with opened(state) as held:
        read_inbox(held)
    assert "again.txt" in names(state)
    whats = [entry.what for entry in read(state / "audit" / f"{CODE}.jsonl")]
    assert whats[-3:] == ["document.quarantined", "document.removed", "document.taken_back"]


def test_replies_made_from_it_are_listed(state):
    async def asked():
        async with open_house(state) as house:
            return await house.answer(Find(matter=CODE, text="grew behind", key=house.key()))

    answer = asyncio.run(asked())
    done = typed(state, "wrong.txt", "--by", "kim", "--yes")
    assert f"quoted in: {answer.job} find" in done.stdout


def test_a_hold_keeps_it(state):
    from worker.audit import Journal
    from worker.clock import utc_now

    folder = state / "matters" / CODE
    put_on(folder, Journal(state / "audit", CODE), "a suit", by=UserName("kim"), now=utc_now())
    assert typed(state, "wrong.txt", "--by", "kim", "--yes").exit_code != 0
    assert "wrong.txt" in names(state)


def test_without_a_yes_nothing_is_removed(state):
    assert typed(state, "wrong.txt", "--by", "kim").exit_code != 0
    assert typed(state, "no-such.txt", "--by", "kim", "--yes").exit_code != 0
    assert typed(state, "00", "--by", "kim", "--undo").exit_code != 0
    assert "wrong.txt" in names(state)


def test_a_removal_that_was_cut_off_is_ended_by_the_next_reading(state, monkeypatch):
    with opened(state) as held, monkeypatch.context() as cut:
        (wrong,) = (info.id for info in held.documents() if info.name == "wrong.txt")

        def die(*_):
            raise KeyboardInterrupt

        cut.setattr(removal, "_forget", die)  # the rows are gone, nothing else is
        with pytest.raises(KeyboardInterrupt):
            removal.remove(held, wrong)
    assert any(len(name) == 64 for name in files_with(state, WORDS))  # the original
    (state / "matters" / CODE / "inbox" / "wrong.txt").unlink()
    with opened(state) as held:
        read_inbox(held)
    assert files_with(state, WORDS) == []
    assert "wrong.txt" not in names(state)
