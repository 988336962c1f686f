"""Getting in line and out of it: adding, claiming, place and ETA. Over every keeper."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from protocol.errors import BadRequest, Conflict, NotFound, Unavailable
from protocol.events import (
    Progress,
    Queued,
    Stage,
    Started,
)
from protocol.ids import JobId, MatterId
from protocol.jobs import JobState
from worker.jobs import (
    JobQueue,
    LeaseLost,
    NewJob,
    acts,
)
from worker.jobs.durable import DurableQueue
from worker.jobs.memory import MemoryQueue
from worker.jobs.testing import HandClock, claimed, done, kinds, new_job

BOARD = "A"


# --- adding ---


async def test_an_added_job_waits_first_in_line_and_has_said_so(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    assert (job.state, job.place, job.eta_s, job.attempts, job.last_seq) == (
        JobState.WAITING,
        1,
        0.0,
        0,
        1,
    )
    [event] = await queue.events_since(job.id, 0)
    assert event.body == Queued(place=1, eta_s=0.0)
    assert await queue.job(job.id) == job


async def test_the_same_key_and_request_give_the_same_job(queue: JobQueue) -> None:
    first = await queue.add(new_job(key="once"))
    again = await queue.add(new_job(key="once"))
    assert again == first
    assert len(await queue.jobs(MatterId("M-AAAA"))) == 1


async def test_the_same_key_gives_an_ended_job_too(queue: JobQueue) -> None:
    first = await queue.add(new_job(key="once"))
    await queue.end(await claimed(queue), done())
    again = await queue.add(new_job(key="once"))
    assert (again.id, again.state) == (first.id, JobState.DONE)


@pytest.mark.parametrize(
    "other",
    [
        new_job(key="once", request="b"),
        new_job("M-BBBB", key="once"),
        new_job(key="once", kind="summarize"),
    ],
    ids=["another request", "another matter", "another kind"],
)
async def test_the_same_key_for_something_else_is_a_conflict(
    queue: JobQueue, other: NewJob
) -> None:
    await queue.add(new_job(key="once"))
    with pytest.raises(Conflict):
        await queue.add(other)
    assert len(await queue.jobs(MatterId("M-AAAA"))) == 1


async def test_two_users_may_use_the_same_key(queue: JobQueue) -> None:
    mine = await queue.add(new_job(key="once"))
    theirs = await queue.add(new_job(key="once", user="kim", request="b"))
    assert mine.id != theirs.id


async def test_user_and_key_cannot_be_shifted_into_each_other(queue: JobQueue) -> None:
    mine = await queue.add(new_job(user="ab", key="c"))
    theirs = await queue.add(new_job(user="a", key="bc"))
    assert mine.id != theirs.id


@pytest.mark.parametrize("key", ["", "k" * 201], ids=["empty", "too long"])
async def test_a_key_the_client_got_wrong_is_a_bad_request(queue: JobQueue, key: str) -> None:
    with pytest.raises(BadRequest):
        await queue.add(new_job(key=key))
    await queue.add(new_job(key="키 " * 100))  # any characters: only its hash is kept


async def test_a_full_board_refuses_and_asks_to_come_again(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "MOST_WAITING", 4)
    monkeypatch.setattr(acts, "MOST_OF_ONE_MATTER", 3)
    for _ in range(3):
        await queue.add(new_job())
    with pytest.raises(Unavailable):
        await queue.add(new_job())
    await queue.add(new_job("M-BBBB"))  # one matter leaves room for the others
    with pytest.raises(Unavailable):
        await queue.add(new_job("M-CCCC"))
    await queue.add(new_job(board="board-B"))


async def test_ids_are_never_alike(tmp_path: Path, clock: HandClock) -> None:
    """Of many jobs in one millisecond two may be given the same random tail."""
    drawn = ["J-000000000-0001", "J-000000000-0001", "J-000000000-0002"] * 2
    ids = iter(drawn)

    def make_id(now_ms: int) -> JobId:
        return JobId(next(ids))

    for kept in (
        MemoryQueue(clock, make_id=make_id),
        DurableQueue.open(tmp_path / "queue.sqlite", clock, make_id=make_id),
    ):
        assert [(await kept.add(new_job())).id[-4:] for _ in range(2)] == ["0001", "0002"]
        await kept.close()


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "When did they know?"},
        {"board": "Board A, the left one"},
        {"matter": "Hartwell v. Northgate"},
        {"user": "Anna Reeves"},
        {"weight_s": -1.0},
        {"weight_s": float("nan")},
        {"weight_s": float("inf")},
    ],
    ids=lambda bad: next(iter(bad)),
)
async def test_what_is_no_id_is_refused_without_repeating_it(
    queue: JobQueue, bad: dict[str, object]
) -> None:
    with pytest.raises(ValueError) as refused:
        await queue.add(new_job(**bad))  # type: ignore[arg-type]
    value = str(next(iter(bad.values())))
    assert not value or value not in str(refused.value)


# --- claiming ---


async def test_a_claim_gives_the_right_to_run_and_says_started(
    queue: JobQueue, clock: HandClock
) -> None:
    job = await queue.add(new_job(weight_s=30))
    lease = await claimed(queue)
    assert (lease.job, lease.matter, lease.kind, lease.user, lease.board, lease.attempt) == (
        job.id,
        "M-AAAA",
        "ask",
        "you",
        BOARD,
        1,
    )
    assert lease.request_sha256 == hashlib.sha256(b"a").hexdigest()
    running = await queue.job(job.id)
    assert (running.state, running.place, running.eta_s) == (JobState.RUNNING, None, 30.0)
    clock.pass_s(31)
    assert (await queue.job(job.id)).eta_s is None  # past its estimate: nobody knows
    assert (await queue.events_since(job.id, 1))[0].body == Started(attempt=1, board=BOARD)


async def test_a_board_runs_as_many_jobs_as_it_has_places(queue: JobQueue) -> None:
    for _ in range(3):
        await queue.add(new_job())
    assert await queue.claim(BOARD, "w-1") is not None
    assert await queue.claim(BOARD, "w-1") is None
    await queue.set_places(BOARD, 2)
    assert await queue.claim(BOARD, "w-1") is not None
    assert await queue.claim(BOARD, "w-1") is None


async def test_boards_do_not_see_each_others_jobs(queue: JobQueue) -> None:
    await queue.add(new_job(board="board-B"))
    assert await queue.claim(BOARD, "w-1") is None
    assert (await claimed(queue, board="board-B")).board == "board-B"


async def test_a_paused_board_gives_nothing_and_lets_the_running_job_end(
    queue: JobQueue,
) -> None:
    await queue.add(new_job())
    behind = await queue.add(new_job())
    lease = await claimed(queue)
    await queue.pause(BOARD)
    await queue.step(lease, "one", {})
    await queue.end(lease, done())
    assert await queue.claim(BOARD, "w-1") is None
    assert (await queue.job(behind.id)).eta_s is None
    await queue.resume(BOARD)
    assert (await claimed(queue)).job == behind.id


async def test_waiting_jobs_move_to_another_board_in_their_order(queue: JobQueue) -> None:
    running = await queue.add(new_job())
    lease = await claimed(queue)
    ask = await queue.add(new_job("M-BBBB"))
    find = await queue.add(new_job("M-CCCC", kind="find"))
    later = await queue.add(new_job("M-DDDD"))
    assert await queue.move(BOARD, BOARD) == ()
    assert await queue.move(BOARD, "board-B", frozenset({"find"})) == (find.id,)
    assert await queue.move(BOARD, "board-B") == (ask.id, later.id)
    assert (await queue.job(running.id)).board == BOARD
    moved = await queue.job(later.id)
    assert (moved.board, moved.place) == ("board-B", 3)
    served = []
    for _ in range(3):
        other = await claimed(queue, board="board-B")
        served.append(other.job)
        await queue.end(other, done())
    assert served == [find.id, ask.id, later.id]
    await queue.end(lease, done())
    assert await queue.claim(BOARD, "w-1") is None
    assert (await kinds(queue, later.id))[-3:] == ["Queued", "Started", "Completed"]


async def test_nothing_moves_to_a_paused_board(queue: JobQueue) -> None:
    job = await queue.add(new_job())
    await queue.pause("board-B")
    assert await queue.move(BOARD, "board-B") == ()
    assert (await queue.job(job.id)).board == BOARD


async def test_who_waits_for_a_turn_is_woken_by_what_moves_there(queue: JobQueue) -> None:
    waiter = asyncio.create_task(queue.wait_turn("board-B"))
    await queue.add(new_job())
    await queue.move(BOARD, "board-B")
    async with asyncio.timeout(60):
        await waiter


async def test_a_matter_that_had_its_turn_waits_for_the_others_though_its_job_is_shorter(
    queue: JobQueue,
) -> None:
    for weight_s in (1, 1, 1):
        await queue.add(new_job("M-AAAA", weight_s=weight_s))
    for matter in ("M-BBBB", "M-CCCC"):
        await queue.add(new_job(matter, weight_s=300))
    served = []
    for _ in range(5):
        lease = await claimed(queue)
        served.append(lease.matter[-1])
        await queue.end(lease, done())
    assert "".join(served) == "ABCAA"


async def test_boards_are_listed_with_their_load(queue: JobQueue) -> None:
    await queue.set_places("board-B", 2)
    await queue.pause("board-B")
    await queue.add(new_job())
    await queue.add(new_job())
    await claimed(queue)
    a, b = await queue.boards()
    assert (a.name, a.paused, a.places, a.running, a.waiting) == (BOARD, False, 1, 1, 1)
    assert (b.name, b.paused, b.places, b.running, b.waiting) == ("board-B", True, 2, 0, 0)


async def test_waiting_for_a_turn_ends_with_a_job_a_free_place_or_the_end_of_a_pause(
    queue: JobQueue,
) -> None:
    async def may_claim() -> bool:
        waiter = asyncio.create_task(queue.wait_turn(BOARD))
        for _ in range(50):
            await asyncio.sleep(0.001)
            if waiter.done():
                return True
        woken.append(waiter)
        return False

    woken: list[asyncio.Task[None]] = []
    assert not await may_claim()
    await queue.add(new_job())
    await woken.pop()
    lease = await claimed(queue)
    await queue.add(new_job())
    assert not await may_claim()
    await queue.end(lease, done())
    await woken.pop()
    await queue.pause(BOARD)
    assert not await may_claim()
    await queue.resume(BOARD)
    await woken.pop()


# --- place and ETA ---


async def test_place_and_eta_come_from_one_list(queue: JobQueue, clock: HandClock) -> None:
    await queue.add(new_job(weight_s=60))
    await claimed(queue)
    b = await queue.add(new_job("M-BBBB", weight_s=20))
    c = await queue.add(new_job("M-CCCC", weight_s=5))
    clock.pass_s(10)
    views = {job: await queue.job(job) for job in (b.id, c.id)}
    assert [(views[j].place, views[j].eta_s) for j in (c.id, b.id)] == [(1, 50.0), (2, 55.0)]
    assert (await queue.jobs(MatterId("M-BBBB")))[0] == views[b.id]


async def test_a_changed_place_is_said(queue: JobQueue) -> None:
    long = await queue.add(new_job("M-AAAA", weight_s=60))
    short = await queue.add(new_job("M-BBBB", weight_s=5))
    bodies = [event.body for event in await queue.events_since(long.id, 0)]
    assert bodies == [Queued(place=1, eta_s=0.0), Queued(place=2, eta_s=5.0)]
    await queue.stop(short.id)
    [event] = await queue.events_since(long.id, 2)
    assert event.body == Queued(place=1, eta_s=0.0)


async def test_told_progress_moves_the_eta_of_those_behind(
    queue: JobQueue, clock: HandClock
) -> None:
    await queue.add(new_job(weight_s=5))
    lease = await claimed(queue)
    behind = await queue.add(new_job())
    clock.pass_s(6)
    assert (await queue.job(behind.id)).eta_s is None
    await queue.say(lease, Progress(stage=Stage.READING, done=1, total=4, eta_s=12.0))
    assert (await queue.job(behind.id)).eta_s == 12.0


# --- listing, retention, closing ---


async def test_every_job_of_a_matter_names_its_request(queue: JobQueue) -> None:
    new = [new_job() for _ in range(3)]
    ids = [(await queue.add(one)).id for one in new]
    await queue.add(new_job("M-BBBB"))
    await queue.stop(ids[0])
    hashes = [one.request_sha256 for one in new]
    assert await queue.requests(MatterId("M-AAAA")) == dict(zip(ids, hashes, strict=True))
    assert await queue.requests(MatterId("M-CCCC")) == {}


async def test_jobs_of_a_matter_come_newest_first(queue: JobQueue) -> None:
    ids = [(await queue.add(new_job())).id for _ in range(5)]
    await queue.add(new_job("M-BBBB"))
    assert [job.id for job in await queue.jobs(MatterId("M-AAAA"))] == ids[::-1]
    assert [job.id for job in await queue.jobs(MatterId("M-AAAA"), 2)] == ids[:2:-1]
    assert await queue.jobs(MatterId("M-CCCC")) == ()
    assert all(job.review is None for job in await queue.jobs(MatterId("M-AAAA")))


async def test_sweeping_removes_old_ended_jobs_alone(queue: JobQueue, clock: HandClock) -> None:
    old = await queue.add(new_job(key="old"))
    lease = await claimed(queue)
    await queue.step(lease, "one", {})
    await queue.end(lease, done())
    waiting = await queue.add(new_job())
    clock.pass_s(3600)
    edge = clock.now
    fresh = await queue.add(new_job("M-BBBB", weight_s=1))
    await queue.stop(fresh.id)
    assert await queue.sweep(edge, keep=frozenset({old.matter})) == 0  # on legal hold
    assert (await queue.job(old.id)).state is JobState.DONE
    assert await queue.sweep(edge) == 1
    with pytest.raises(NotFound):
        await queue.job(old.id)
    with pytest.raises(NotFound):
        await queue.events_since(old.id, 0)
    assert (await queue.job(fresh.id)).state is JobState.STOPPED
    assert (await queue.job(waiting.id)).state is JobState.WAITING
    assert (await queue.add(new_job(key="old", request="b"))).id != old.id


async def test_closing_a_matter_removes_its_jobs_and_no_others(queue: JobQueue) -> None:
    running = await queue.add(new_job("M-AAAA"))
    lease = await claimed(queue)
    waiting = await queue.add(new_job("M-AAAA"))
    other = await queue.add(new_job("M-BBBB"))
    hears = asyncio.create_task(queue.wait_stop(lease))
    follows = asyncio.create_task(queue.wait_event(waiting.id, 1))
    await asyncio.sleep(0.01)
    assert await queue.close_matter(MatterId("M-AAAA")) == (running.id,)
    await asyncio.wait_for(hears, 60)
    with pytest.raises(NotFound):
        await asyncio.wait_for(follows, 60)
    with pytest.raises(LeaseLost):
        await queue.end(lease, done())
    assert await queue.jobs(MatterId("M-AAAA")) == ()
    assert (await claimed(queue)).job == other.id


async def test_unknown_jobs_are_not_found(queue: JobQueue) -> None:
    nobody = JobId("J-000000000-0000")
    for act in (
        queue.job(nobody),
        queue.stop(nobody),
        queue.events_since(nobody, 0),
        queue.wait_event(nobody, 0),
        queue.remembered(nobody, "one"),
    ):
        with pytest.raises(NotFound):
            await act


async def test_a_failed_act_leaves_nothing_behind(queue: JobQueue) -> None:
    job = await queue.add(new_job(key="once"))
    before = await queue.boards()
    with pytest.raises(Conflict):
        await queue.add(new_job(key="once", request="b"))
    assert await queue.boards() == before
    assert (await queue.job(job.id)).last_seq == 1
