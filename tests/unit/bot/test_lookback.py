"""`/audit` and `/history`: what they ask of the worker and what they show."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from bot import chat
from bot.blocks import plain
from bot.conversation import Conversation
from bot.look import Look
from bot.lookback_lists import audit, codes
from bot.outbox import Outbox
from bot.terminal.testing import JOB, MATTER, NOW, OLD, ScriptedWorker, a_job
from bot.words import load
from protocol import jobs as ask
from protocol.answers import ReviewState
from protocol.audit import AuditEntry
from protocol.ids import JobId, UserName
from protocol.record import Matter

QUESTION = "When did Northgate know?"
ENTRIES = (
    AuditEntry(
        n=6, holds=True, at=NOW, what="job.accepted", by=UserName("kim"),
        through=UserName("helper"), job=JOB, details={"kind": "ask", "request": "ab" * 32},
    ),
    AuditEntry(
        n=7, holds=True, at=NOW + dt.timedelta(minutes=1), what="file.put", by=UserName("lee"),
        details={"file": "cd" * 32, "bytes": "12"},
    ),
)  # fmt: skip
WHOLE = ask.AuditIs(
    entries=ENTRIES,
    total=7,
    head="sha256-1:" + "e" * 64,
    broken_at=None,
    reason="",
    anchor="secondchair-anchor 2026-01-01 sha256-1:" + "f" * 64,
    anchored=5,
    troubles=(),
)


class Face:
    def __init__(self) -> None:
        self.look = Look(words=load("en"))
        self.text = ""

    def show(self, blocks) -> None:
        self.text += plain(blocks, self.look.width)


@pytest.fixture
def worker():
    made = ScriptedWorker()
    made.results[ask.ListAudit] = WHOLE
    return made


@pytest.fixture
def face():
    return Face()


@pytest.fixture
def talk(worker, face):
    talk = Conversation(worker, face, Outbox(None), thread="t", new_key=lambda: "k")
    talk.bind(Matter(id=MATTER, title="hartwell", opened_at=NOW))
    return talk


async def test_the_journal_is_a_table_with_its_state_and_anchor(talk, worker, face):
    assert await chat.handle(talk, "/audit")
    assert worker.all(ask.ListAudit) == [ask.ListAudit(matter=MATTER, most=20)]
    lines = [" ".join(line.split()) for line in face.text.splitlines()]
    assert lines[0] == "Sealed journal of #M-7F3K: the last 2 of 7 entries"
    assert lines[1] == "when who what on chain"
    assert lines[2].startswith("2026-01-01 00:00 UTC kim through helper job.accepted ask J-")
    assert lines[2].endswith(" holds")
    assert lines[3] == "2026-01-01 00:01 UTC lee file.put cdcdcdcdcdcd… holds"
    assert "The chain holds from the first entry to the last." in face.text
    assert "secondchair-anchor 2026-01-01" in face.text
    assert "first 5 entries" in " ".join(lines)


@pytest.mark.parametrize("given", ["0", "201", "five", "-3", "9" * 5000])
async def test_a_number_that_is_none_is_refused(talk, worker, face, given):
    assert not await chat.handle(talk, f"/audit {given}")
    assert "a number of entries from 1 to 200" in face.text
    assert worker.sent == []


async def test_the_number_is_sent(talk, worker):
    assert await chat.handle(talk, "/audit 200")
    assert worker.sent == [ask.ListAudit(matter=MATTER, most=200)]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("table", [True, False])
def test_a_broken_chain_and_a_cut_end_are_never_shown_as_whole(language, table):
    look = Look(words=load(language))
    bad = (ENTRIES[0], AuditEntry(n=7, holds=False))
    broken = msgspec.structs.replace(
        WHOLE, entries=bad, broken_at=7, reason="an entry does not match its seal"
    )
    whole = look.words("audit.whole", head=WHOLE.head)
    said = plain(audit(MATTER, broken, look, table=table), 1000)
    assert look.words("audit.broken") in said
    assert "an entry does not match its seal" in said
    assert whole not in said
    cut = msgspec.structs.replace(WHOLE, troubles=("M-7F3K: 2 entries where 5 were anchored",))
    blocks = audit(MATTER, cut, look, table=table)
    assert "where 5 were anchored" in plain(blocks, 1000)
    tones = {piece.tone for block in blocks for one in block.sentences for piece in one}
    assert "green" not in {tone.value for tone in tones}


@pytest.mark.parametrize("table", [True, False])
def test_a_journal_that_is_gone_is_not_one_that_has_no_entry_yet(table):
    look = Look(words=load("en"))
    none = msgspec.structs.replace(WHOLE, entries=(), total=0, head="", anchor="", anchored=0)
    assert "has no entry yet" in plain(audit(MATTER, none, look, table=table), 1000)
    gone = "M-7F3K: its journal is gone; 5 entries were anchored"
    said = plain(audit(MATTER, msgspec.structs.replace(none, troubles=(gone,)), look), 1000)
    assert gone in said
    assert "no entry yet" not in said
    assert "The chain holds" not in said


async def test_history_shows_the_words_who_asked_and_the_state(talk, worker, face, monkeypatch):
    asked = msgspec.structs.replace(
        a_job(JOB, ask.JobState.DONE), review=ReviewState.AWAITING, user=UserName("kim")
    )
    result = ask.Jobs(
        jobs=(asked, a_job(OLD, ask.JobState.FAILED)),
        asked={JOB: f"{QUESTION}\x1b[2J", OLD: "leak"},
        more=42,
    )

    async def call(request):
        worker.sent.append(request)
        return result

    monkeypatch.setattr(worker, "call", call)
    assert await chat.handle(talk, f"/history know before:{JOB.lower()} when")
    assert worker.sent == [
        ask.ListJobs(matter=MATTER, most=50, asked=True, words="know when", before=JOB)
    ]
    assert f"{JOB} · 2026-01-01 00:00 UTC · kim · done · Draft · awaiting review" in face.text
    assert f"/ask {QUESTION}" in face.text
    assert "\x1b" not in face.text
    assert f"and 42 older: /history before:{OLD} know when" in face.text


async def test_history_with_nothing_and_with_a_page_of_no_job(talk, worker, face):
    assert await chat.handle(talk, "/history")
    assert "No jobs yet." in face.text
    assert await chat.handle(talk, "/history fire")
    assert "Nothing that was asked fits." in face.text
    sent = len(worker.sent)
    assert not await chat.handle(talk, "/history before:yesterday")
    assert len(worker.sent) == sent


def test_codes_hold_no_words_and_say_how_many_are_left_out():
    jobs = tuple(a_job(JobId(f"J-0DV3K9Q2A-00{n}0"), ask.JobState.DONE) for n in range(5))
    said = plain(codes(MATTER, jobs, 2, Look(words=load("en"))), 100)
    assert said.count("J-0DV3K9Q2A") == 2
    assert "2 of the newest 5" in said


def test_a_plain_list_of_jobs_is_sent_as_a_worker_of_before_knows_it():
    assert msgspec.json.encode(ask.ListJobs(matter=MATTER)) == (
        b'{"type":"jobs","matter":"M-7F3K"}'
    )
    assert msgspec.json.encode(ask.ListJobs(matter=MATTER, most=200)) == (
        b'{"type":"jobs","matter":"M-7F3K","most":200}'
    )
