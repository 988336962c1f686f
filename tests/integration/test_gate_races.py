"""Ways around the gate: races, withdrawals, documents called back, kills, reasons of air."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from bench import gate_races
from bench.house import CODE, YOU, open_house, utc_now
from protocol.answers import GREEN, ReviewState, Verdict
from protocol.errors import BadRequest, Conflict
from protocol.ids import UserName
from protocol.jobs import Decide, Edit, Export, Extract, HoldMatter, JobState, WriteDraft
from rag.removal import quarantine
from worker import export
from worker.audit import path_of, read, verify
from worker.handlers import Office
from worker.jobs import NewJob, open_queue
from worker.review import MAY_LEAVE, live_state
from worker.service import Caller

LEE = Caller(person=UserName("lee"), through=None, matters=(CODE,))


@pytest.fixture
def root(sample_root, tmp_path):
    """A copy of the sample matter, to be spoiled."""
    shutil.copytree(sample_root / "matters", tmp_path / "state" / "matters")
    return tmp_path / "state"


@pytest.fixture
async def house(root):
    async with open_house(root) as opened:
        yield opened


def decision(house, answer, state, reason="looked at", **changes):
    reasons = {one.number: reason for one in answer.items if one.verdict not in GREEN}
    values = {"job": answer.job, "answer_sha256": answer.text_sha256, "acknowledged": reasons}
    return Decide(state=state, **(values | {"key": house.key()} | changes))


async def asked(house):
    return await house.answer(house.ask("What caused the leak?"))


async def approved(house):
    answer = await asked(house)
    await house.gate.decide(decision(house, answer, ReviewState.APPROVED), YOU)
    return answer


async def exported(house, answer, form="json"):
    return await house.gate.export(Export(job=answer.job, format=form, key=house.key()), YOU)


async def stored(house, answer):
    async with house.shelf.use(CODE) as held:
        return held.work.answer(answer.job)


def visible(house):
    return sorted(p.name for p in (house.folder / "out").iterdir() if not p.name.startswith("."))


def told(house, job):
    return [one.what for one in read(path_of(house.office.audit, CODE)) if one.job == job]


# --- races ---


@pytest.fixture
def slow_export(monkeypatch):
    """An export that stands still between reading the reply and writing the file."""
    begun, go = threading.Event(), threading.Event()
    whole = export.prepare

    def slow(*args, **kwargs):
        begun.set()
        assert go.wait(60)
        return whole(*args, **kwargs)

    monkeypatch.setattr(export, "prepare", slow)
    return begun, go


@pytest.mark.parametrize("state", [ReviewState.RETURNED, ReviewState.WITHDRAWN])
async def test_what_is_taken_back_while_it_is_written_does_not_stay_out(house, slow_export, state):
    begun, go = slow_export
    answer = await approved(house)
    leaving = asyncio.create_task(exported(house, answer))
    assert await asyncio.to_thread(begun.wait, 60)
    back = asyncio.create_task(house.gate.decide(decision(house, answer, state), YOU))
    for _ in range(5):
        await asyncio.sleep(0)
    go.set()
    await asyncio.wait({leaving, back})
    now = await stored(house, answer)
    assert live_state(now) in MAY_LEAVE or visible(house) == []
    if state is ReviewState.WITHDRAWN:
        assert now.review is ReviewState.WITHDRAWN
        assert visible(house) == []
    else:  # it had left already: what is final is not returned, it is withdrawn
        assert isinstance(back.exception(), Conflict)


async def test_an_edit_while_a_file_is_written_waits_and_is_refused(house, slow_export):
    begun, go = slow_export
    answer = await approved(house)
    leaving = asyncio.create_task(exported(house, answer))
    assert await asyncio.to_thread(begun.wait, 60)
    edit = Edit(job=answer.job, answer_sha256=answer.text_sha256, text="New.", key=house.key())
    editing = asyncio.create_task(house.edits.edit(edit, YOU))
    go.set()
    await asyncio.wait({leaving, editing})
    assert isinstance(editing.exception(), Conflict)
    file = house.folder / "out" / leaving.result().name
    assert json.loads(file.read_bytes())["text"] == (await stored(house, answer)).text


async def test_of_two_approvals_at_once_one_counts(house):
    answer = await asked(house)
    both = await asyncio.gather(
        *(
            house.gate.decide(decision(house, answer, ReviewState.APPROVED), who)
            for who in (YOU, LEE)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, Conflict) for one in both) == 1
    assert told(house, answer.job).count("review.approved") == 1


async def test_a_caller_who_goes_away_in_the_middle_leaves_nothing_that_can_be_fetched(
    house, slow_export
):
    begun, go = slow_export
    answer = await approved(house)
    leaving = asyncio.create_task(exported(house, answer))
    assert await asyncio.to_thread(begun.wait, 60)
    leaving.cancel()
    go.set()
    await asyncio.wait({leaving})
    assert leaving.cancelled()
    assert visible(house) == []
    assert "export.written" not in told(house, answer.job)


async def test_nobody_gets_a_text_out_by_acting_at_the_same_time(house):
    assert await gate_races.escapes(house, 40, seed=4) == (0, [])


async def test_the_races_see_a_gate_without_its_lock(house, monkeypatch):
    class Open:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            return None

    monkeypatch.setattr(Office, "deciding", lambda *_: Open())
    found, _ = await gate_races.escapes(house, 60, seed=4)
    assert found > 0, "no race was seen"


# --- what was made and is not a reply ---


async def test_what_a_stopped_or_running_job_left_behind_is_no_draft(house):
    reply = await asked(house)
    for stop in (True, False):
        new = NewJob(
            matter=CODE,
            kind="ask",
            user=YOU.person,
            board="none",
            weight_s=1.0,
            key=house.key(),
            request_sha256="a" * 64,
        )
        job = await house.queue.add(new)
        left = msgspec.structs.replace(reply, job=job.id)
        async with house.shelf.use(CODE) as held:
            held.work.put_answer(left)
        if stop:
            assert (await house.queue.stop(job.id)).state is JobState.STOPPED
        for act in (
            house.gate.decide(decision(house, left, ReviewState.APPROVED), YOU),
            house.gate.export(Export(job=job.id, format="md", key=house.key()), YOU),
            house.edits.edit(
                Edit(job=job.id, answer_sha256=left.text_sha256, text="N.", key=house.key()), YOU
            ),
        ):
            with pytest.raises(Conflict):
                await act
    assert visible(house) == []


async def test_an_approval_of_one_reply_lets_no_other_out(house):
    first = await approved(house)
    second = await house.answer(house.ask("How many rooms had water?"))
    twin = msgspec.structs.replace(
        first,
        job=second.job,
        review=ReviewState.APPROVED,
        decision=(await stored(house, first)).decision,
    )
    with pytest.raises(Conflict):
        await exported(house, second)
    async with house.shelf.use(CODE) as held:  # even the very same text under another job's name
        held.work.put_answer(
            msgspec.structs.replace(twin, review=ReviewState.AWAITING, decision=None)
        )
    with pytest.raises(Conflict):
        await exported(house, second)
    with pytest.raises(Conflict):
        await house.gate.decide(
            decision(house, first, ReviewState.APPROVED, job=second.job, answer_sha256="0" * 64),
            YOU,
        )
    assert visible(house) == []


async def test_a_draft_made_from_a_draft_is_one_more_draft(house):
    """A reply that repeats an approved one word for word is approved for itself, or not at all."""
    first = await house.answer(WriteDraft(matter=CODE, form="facts", key=house.key()))
    await house.gate.decide(decision(house, first, ReviewState.APPROVED), YOU)
    again = await house.answer(WriteDraft(matter=CODE, form="facts", key=house.key()))
    assert again.text_sha256 == first.text_sha256
    with pytest.raises(Conflict):
        await exported(house, again)
    assert (await exported(house, first)).name.startswith(first.job)


async def test_nothing_but_the_approved_reply_leaves_in_any_form(house):
    answer = await house.answer(Extract(matter=CODE, what="amounts", key=house.key()))
    for form in export.FORMS:
        with pytest.raises(Conflict):
            await exported(house, answer, form)
    for form in ("txt", "findings", "../md", "md/../../x", ""):
        with pytest.raises((Conflict, BadRequest)):
            await exported(house, answer, form)
    await house.gate.decide(decision(house, answer, ReviewState.APPROVED), YOU)
    for form in ("txt", "findings", "../md", ""):
        with pytest.raises(BadRequest):
            await exported(house, answer, form)
    assert visible(house) == []
    assert list((house.folder / "out").iterdir()) == []


# --- taken back ---


async def test_a_withdrawn_reply_can_no_longer_be_fetched_and_is_kept(house):
    answer = await approved(house)
    for form in ("json", "md", "pdf"):
        await exported(house, answer, form)
    other = await approved(house)
    await exported(house, other, "md")
    await house.gate.hold(HoldMatter(matter=CODE, reason="suit expected", key=house.key()), YOU)
    await house.gate.decide(decision(house, answer, ReviewState.WITHDRAWN), YOU)
    assert visible(house) == [f"{other.job}-ask.md"]
    kept = sorted(path.name for path in (house.folder / export.WITHDRAWN).iterdir())
    assert kept == [f"{answer.job}-ask.{form}" for form in ("json", "md", "pdf")]
    with pytest.raises(Conflict):
        await exported(house, answer)


async def test_a_reply_made_from_a_document_that_was_called_back_stays_inside(house):
    answer, fresh = await approved(house), await asked(house)
    cited = next(one.places[0].document for one in answer.items if one.places)
    async with house.shelf.use(CODE) as held:
        quarantine(held.record, cited)
    with pytest.raises(Conflict, match="called back"):
        await exported(house, answer)
    with pytest.raises(Conflict, match="called back"):
        await house.gate.decide(decision(house, fresh, ReviewState.APPROVED), YOU)
    await house.gate.decide(decision(house, fresh, ReviewState.RETURNED), YOU)  # that may be
    words = "A person's own words, without it."
    edit = Edit(job=fresh.job, answer_sha256=fresh.text_sha256, text=words, key=house.key())
    await house.edits.edit(edit, YOU)
    now = await stored(house, fresh)
    await house.gate.decide(decision(house, now, ReviewState.APPROVED), YOU)
    assert (await exported(house, now)).name.startswith(now.job)


async def test_who_exports_or_files_is_not_said_to_have_reviewed(house):
    answer = await approved(house)
    await house.gate.export(Export(job=answer.job, format="md", key=house.key()), LEE)
    first = await house.gate.export(Export(job=answer.job, format="json", key=house.key()), LEE)
    await house.gate.decide(decision(house, answer, ReviewState.FILED), LEE)
    filed = await stored(house, answer)
    assert (filed.review, filed.decision.by) == (ReviewState.FILED, YOU.person)
    assert filed.decision.note.startswith("filed by lee")
    assert "exported by lee" in filed.decision.note
    last = await house.gate.export(Export(job=answer.job, format="md", key=house.key()), LEE)
    assert json.loads((house.folder / "out" / first.name).read_bytes())["decision"]["by"] == "you"
    assert "released by you" in (house.folder / "out" / last.name).read_text()
    entries = [one for one in read(path_of(house.office.audit, CODE)) if one.job == answer.job]
    assert [one.by for one in entries if one.what in ("export.written", "review.filed")] == [
        "lee"
    ] * 4


# --- reasons ---


@pytest.mark.parametrize(
    "air", ["", " ", "\u200b", "\u200b\u2060", "...", "—", "\u3164\u00a0", "\t\n"]
)
async def test_a_reason_that_says_nothing_is_none(house, air):
    answer = msgspec.structs.replace(await asked(house))
    spoiled = tuple(msgspec.structs.replace(i, verdict=Verdict.CHECK) for i in answer.items)
    assert spoiled
    answer = msgspec.structs.replace(answer, items=spoiled)
    async with house.shelf.use(CODE) as held:
        held.work.put_answer(answer)
    with pytest.raises(BadRequest, match="no reason"):
        await house.gate.decide(decision(house, answer, ReviewState.APPROVED, reason=air), YOU)
    await house.gate.decide(decision(house, answer, ReviewState.APPROVED, reason="보았음"), YOU)
    kept = (await stored(house, answer)).decision.acknowledged
    assert kept == {item.number: "보았음" for item in spoiled}
    await exported(house, answer)
    assert (await stored(house, answer)).decision.acknowledged == kept


# --- kill -9 ---


@pytest.mark.parametrize(
    "point", ["before_seal", "after_seal", "after_decision", "before_publish", "after_publish"]
)
def test_a_kill_in_the_middle_of_an_export_leaves_no_file_the_journal_does_not_know(root, point):
    script = Path(__file__).with_name("gate_killed.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(root), point],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    job = ran.stdout.strip()

    async def afterwards():
        queue = open_queue(root / "queue.sqlite", utc_now)
        async with open_house(root, queue=queue) as house:
            async with house.shelf.use(CODE) as held:
                answer = held.work.answer(job)
            sealed = [
                one.details["file"]
                for one in read(path_of(house.office.audit, CODE))
                if one.what == "export.written"
            ]
            files = visible(house)
            assert bool(files) == (point == "after_publish")
            assert len(sealed) == (point != "before_seal")
            if files:
                assert answer.review is ReviewState.FINAL
            again = await house.gate.export(Export(job=job, format="json", key="export"), YOU)
            assert not sealed or again.sha256 == sealed[0]
            assert visible(house) == [again.name]
            assert (await stored(house, answer)).review is ReviewState.FINAL
            assert verify(path_of(house.office.audit, CODE)).broken_at is None
        await queue.close()

    asyncio.run(afterwards())
