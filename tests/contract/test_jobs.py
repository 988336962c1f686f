"""The promise of the job queue, as cases that run over every keeper."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from protocol.errors import BadRequest, Conflict, ErrorValue, NotFound, Unavailable
from protocol.events import (
    LAST,
    Completed,
    EngineLost,
    Event,
    Failed,
    Found,
    Interrupted,
    Parked,
    Progress,
    Queued,
    Stage,
    Started,
    Stopped,
    Words,
)
from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import JobState
from worker.jobs import (
    LEASE_S,
    MOST_CRASHES,
    JobQueue,
    Lease,
    LeaseLost,
    NewJob,
    StopAsked,
    acts,
    open_queue,
)
from worker.jobs.durable import DurableQueue
from worker.jobs.memory import MemoryQueue

BOARD = "A"


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "durable"])
async def queue(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[JobQueue]:
    kept: JobQueue = (
        MemoryQueue(clock)
        if request.param == "memory"
        else open_queue(tmp_path / "queue.sqlite", clock)
    )
    yield kept
    await kept.close()


_count = iter(range(10**9))


def new(
    matter: str = "M-AAAA",
    *,
    weight_s: float = 10.0,
    key: str | None = None,
    request: str = "a",
    board: str = BOARD,
    user: str = "you",
    kind: str = "ask",
) -> NewJob:
    return NewJob(
        matter=MatterId(matter),
        kind=kind,
        user=UserName(user),
        board=board,
        weight_s=weight_s,
        key=f"key-{next(_count)}" if key is None else key,
        request_sha256=hashlib.sha256(request.encode()).hexdigest(),
    )


def done(answer: str = "a" * 64) -> Completed:
    return Completed(answer_sha256=answer, verified=2, to_look_at=1, failing=0)


def failed(code: str = "unavailable") -> Failed:
    return Failed(error=ErrorValue(code=code, message="", retry=True, reference="E-1"))


async def claimed(queue: JobQueue, owner: str = "w-1", board: str = BOARD) -> Lease:
    lease = await queue.claim(board, owner)
    assert lease is not None
    return lease


async def kinds(queue: JobQueue, job: JobId) -> list[str]:
    events = await queue.events_since(job, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [type(event.body).__name__ for event in events]


# --- adding ---


async def test_an_added_job_waits_first_in_line_and_has_said_so(queue: JobQueue) -> None:
    job = await queue.add(new())
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
    first = await queue.add(new(key="once"))
    again = await queue.add(new(key="once"))
    assert again == first
    assert len(await queue.jobs(MatterId("M-AAAA"))) == 1


async def test_the_same_key_gives_an_ended_job_too(queue: JobQueue) -> None:
    first = await queue.add(new(key="once"))
    await queue.end(await claimed(queue), done())
    again = await queue.add(new(key="once"))
    assert (again.id, again.state) == (first.id, JobState.DONE)


@pytest.mark.parametrize(
    "other",
    [
        new(key="once", request="b"),
        new("M-BBBB", key="once"),
        new(key="once", kind="summarize"),
    ],
    ids=["another request", "another matter", "another kind"],
)
async def test_the_same_key_for_something_else_is_a_conflict(
    queue: JobQueue, other: NewJob
) -> None:
    await queue.add(new(key="once"))
    with pytest.raises(Conflict):
        await queue.add(other)
    assert len(await queue.jobs(MatterId("M-AAAA"))) == 1


async def test_two_users_may_use_the_same_key(queue: JobQueue) -> None:
    mine = await queue.add(new(key="once"))
    theirs = await queue.add(new(key="once", user="kim", request="b"))
    assert mine.id != theirs.id


async def test_user_and_key_cannot_be_shifted_into_each_other(queue: JobQueue) -> None:
    mine = await queue.add(new(user="ab", key="c"))
    theirs = await queue.add(new(user="a", key="bc"))
    assert mine.id != theirs.id


@pytest.mark.parametrize("key", ["", "k" * 201], ids=["empty", "too long"])
async def test_a_key_the_client_got_wrong_is_a_bad_request(queue: JobQueue, key: str) -> None:
    with pytest.raises(BadRequest):
        await queue.add(new(key=key))
    await queue.add(new(key="키 " * 100))  # any characters: only its hash is kept


async def test_a_full_board_refuses_and_asks_to_come_again(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "MOST_WAITING", 4)
    monkeypatch.setattr(acts, "MOST_OF_ONE_MATTER", 3)
    for _ in range(3):
        await queue.add(new())
    with pytest.raises(Unavailable):
        await queue.add(new())
    await queue.add(new("M-BBBB"))  # one matter leaves room for the others
    with pytest.raises(Unavailable):
        await queue.add(new("M-CCCC"))
    await queue.add(new(board="board-B"))


async def test_ids_are_never_alike(tmp_path: Path, clock: Clock) -> None:
    """Of many jobs in one millisecond two may be given the same random tail."""
    drawn = ["J-000000000-0001", "J-000000000-0001", "J-000000000-0002"] * 2
    ids = iter(drawn)

    def make_id(now_ms: int) -> JobId:
        return JobId(next(ids))

    for kept in (
        MemoryQueue(clock, make_id=make_id),
        DurableQueue.open(tmp_path / "queue.sqlite", clock, make_id=make_id),
    ):
        assert [(await kept.add(new())).id[-4:] for _ in range(2)] == ["0001", "0002"]
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
        await queue.add(new(**bad))  # type: ignore[arg-type]
    value = str(next(iter(bad.values())))
    assert not value or value not in str(refused.value)


# --- claiming ---


async def test_a_claim_gives_the_right_to_run_and_says_started(
    queue: JobQueue, clock: Clock
) -> None:
    job = await queue.add(new(weight_s=30))
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
        await queue.add(new())
    assert await queue.claim(BOARD, "w-1") is not None
    assert await queue.claim(BOARD, "w-1") is None
    await queue.set_places(BOARD, 2)
    assert await queue.claim(BOARD, "w-1") is not None
    assert await queue.claim(BOARD, "w-1") is None


async def test_boards_do_not_see_each_others_jobs(queue: JobQueue) -> None:
    await queue.add(new(board="board-B"))
    assert await queue.claim(BOARD, "w-1") is None
    assert (await claimed(queue, board="board-B")).board == "board-B"


async def test_a_paused_board_gives_nothing_and_lets_the_running_job_end(
    queue: JobQueue,
) -> None:
    await queue.add(new())
    behind = await queue.add(new())
    lease = await claimed(queue)
    await queue.pause(BOARD)
    await queue.step(lease, "one", {})
    await queue.end(lease, done())
    assert await queue.claim(BOARD, "w-1") is None
    assert (await queue.job(behind.id)).eta_s is None
    await queue.resume(BOARD)
    assert (await claimed(queue)).job == behind.id


async def test_a_matter_that_had_its_turn_waits_for_the_others_though_its_job_is_shorter(
    queue: JobQueue,
) -> None:
    for weight_s in (1, 1, 1):
        await queue.add(new("M-AAAA", weight_s=weight_s))
    for matter in ("M-BBBB", "M-CCCC"):
        await queue.add(new(matter, weight_s=300))
    served = []
    for _ in range(5):
        lease = await claimed(queue)
        served.append(lease.matter[-1])
        await queue.end(lease, done())
    assert "".join(served) == "ABCAA"


async def test_boards_are_listed_with_their_load(queue: JobQueue) -> None:
    await queue.set_places("board-B", 2)
    await queue.pause("board-B")
    await queue.add(new())
    await queue.add(new())
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
    await queue.add(new())
    await woken.pop()
    lease = await claimed(queue)
    await queue.add(new())
    assert not await may_claim()
    await queue.end(lease, done())
    await woken.pop()
    await queue.pause(BOARD)
    assert not await may_claim()
    await queue.resume(BOARD)
    await woken.pop()


# --- place and ETA ---


async def test_place_and_eta_come_from_one_list(queue: JobQueue, clock: Clock) -> None:
    await queue.add(new(weight_s=60))
    await claimed(queue)
    b = await queue.add(new("M-BBBB", weight_s=20))
    c = await queue.add(new("M-CCCC", weight_s=5))
    clock.pass_s(10)
    views = {job: await queue.job(job) for job in (b.id, c.id)}
    assert [(views[j].place, views[j].eta_s) for j in (c.id, b.id)] == [(1, 50.0), (2, 55.0)]
    assert (await queue.jobs(MatterId("M-BBBB")))[0] == views[b.id]


async def test_a_changed_place_is_said(queue: JobQueue) -> None:
    long = await queue.add(new("M-AAAA", weight_s=60))
    short = await queue.add(new("M-BBBB", weight_s=5))
    bodies = [event.body for event in await queue.events_since(long.id, 0)]
    assert bodies == [Queued(place=1, eta_s=0.0), Queued(place=2, eta_s=5.0)]
    await queue.stop(short.id)
    [event] = await queue.events_since(long.id, 2)
    assert event.body == Queued(place=1, eta_s=0.0)


async def test_told_progress_moves_the_eta_of_those_behind(queue: JobQueue, clock: Clock) -> None:
    await queue.add(new(weight_s=5))
    lease = await claimed(queue)
    behind = await queue.add(new())
    clock.pass_s(6)
    assert (await queue.job(behind.id)).eta_s is None
    await queue.say(lease, Progress(stage=Stage.READING, done=1, total=4, eta_s=12.0))
    assert (await queue.job(behind.id)).eta_s == 12.0


# --- steps ---


async def test_a_step_is_remembered_over_attempts(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    value = {"passages": ["d-1:0-40", "d-2:7-9"], "count": 2, "sha256": "f" * 64, "score": 0.5}
    assert await queue.remembered(job.id, "retrieve") is None
    await queue.step(lease, "retrieve", value)
    assert await queue.remembered(job.id, "retrieve") == value
    await queue.recover(starting=True)
    await claimed(queue, "w-2")
    assert await queue.remembered(job.id, "retrieve") == value


async def test_a_second_value_of_a_step_replaces_the_first(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    await queue.step(lease, "page-0001", {"n": 1})
    await queue.step(lease, "page-0001", {"n": 2})
    assert await queue.remembered(job.id, "page-0001") == {"n": 2}


async def test_steps_of_two_jobs_are_apart(queue: JobQueue) -> None:
    await queue.add(new())
    other = await queue.add(new())
    await queue.step(await claimed(queue), "one", {"n": 1})
    assert await queue.remembered(other.id, "one") is None


@pytest.mark.parametrize(
    "value",
    [
        {"text": "I reported it to facilities"},
        {"nested": [{"deep": "two words"}]},
        {"a name with spaces": 1},
        {"big": ["d-1:0-40"] * 400},
        {"deep": [[[[[1]]]]]},
        {"set": {1, 2}},
        {"bytes": b"abc"},
        {"line": "one\ntwo"},
    ],
    ids=lambda value: next(iter(value)),
)
async def test_a_step_keeps_no_words_and_nothing_large(
    queue: JobQueue, value: dict[str, object]
) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.step(lease, "retrieve", value)
    assert await queue.remembered(job.id, "retrieve") is None


# --- saying ---


async def test_events_are_numbered_from_one_without_gaps(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    said = [
        await queue.say(lease, Found(passages=8, documents=3)),
        await queue.say(lease, Progress(stage=Stage.READING, done=10, total=20)),
        await queue.say(lease, Words(part=1)),
        await queue.say(lease, EngineLost()),
    ]
    assert list(await queue.events_since(job.id, 2)) == said
    assert await kinds(queue, job.id) == [
        "Queued",
        "Started",
        "Found",
        "Progress",
        "Words",
        "EngineLost",
    ]
    assert (await queue.job(job.id)).last_seq == 6


@pytest.mark.parametrize(
    "body",
    [
        Words(part=1, text="Northgate knew"),
        Queued(place=1, eta_s=None),
        Started(attempt=1, board=BOARD),
        Interrupted(),
        Parked(),
        done(),
        failed(),
        Stopped(),
    ],
    ids=lambda body: type(body).__name__,
)
async def test_work_says_no_words_and_nothing_that_is_the_queues_to_say(
    queue: JobQueue, body: Words
) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.say(lease, body)
    assert await kinds(queue, job.id) == ["Queued", "Started"]


async def test_a_follower_gets_every_event_once_and_is_told_when_it_is_over(
    queue: JobQueue,
) -> None:
    job = await queue.add(new())
    heard: list[Event] = []

    async def follow() -> None:
        while events := await queue.wait_event(job.id, heard[-1].seq if heard else 0):
            heard.extend(events)

    followers = asyncio.create_task(follow())
    await asyncio.sleep(0)
    lease = await claimed(queue)
    for part in range(20):
        await queue.say(lease, Words(part=part))
        if part % 3 == 0:
            await asyncio.sleep(0)
    await queue.end(lease, done())
    await asyncio.wait_for(followers, 10)
    assert [event.seq for event in heard] == list(range(1, 24))
    assert isinstance(heard[-1].body, Completed)


async def test_a_follower_may_leave_at_any_time(queue: JobQueue) -> None:
    job = await queue.add(new())
    follower = asyncio.create_task(queue.wait_event(job.id, 1))
    await asyncio.sleep(0.01)
    follower.cancel()
    with pytest.raises(asyncio.CancelledError):
        await follower
    assert len(await queue.wait_event(job.id, 0)) == 1


async def test_a_follower_that_claims_to_know_more_than_there_is_waits_for_the_end(
    queue: JobQueue,
) -> None:
    job = await queue.add(new())
    follower = asyncio.create_task(queue.wait_event(job.id, 5))
    await asyncio.sleep(0.01)
    lease = await claimed(queue)
    await asyncio.sleep(0.01)
    assert not follower.done()
    await queue.end(lease, done())
    assert await asyncio.wait_for(follower, 10) == ()


# --- stopping ---


async def test_a_waiting_job_is_stopped_at_once(queue: JobQueue) -> None:
    job = await queue.add(new())
    assert (await queue.stop(job.id)).state is JobState.STOPPED
    assert await kinds(queue, job.id) == ["Queued", "Stopped"]
    assert await queue.claim(BOARD, "w-1") is None


async def test_a_running_job_hears_the_stop_and_ends_as_stopped(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    hears = asyncio.create_task(queue.wait_stop(lease))
    await asyncio.sleep(0.01)
    assert not hears.done()
    assert (await queue.stop(job.id)).state is JobState.RUNNING
    await asyncio.wait_for(hears, 10)
    assert (await queue.end(lease, Stopped())).state is JobState.STOPPED


async def test_stopping_twice_changes_nothing(queue: JobQueue) -> None:
    running, waiting = await queue.add(new()), await queue.add(new("M-BBBB"))
    await claimed(queue)
    for job in (running, waiting):
        first = await queue.stop(job.id)
        assert await queue.stop(job.id) == first


@pytest.mark.parametrize("body", [done(), failed(), Stopped()], ids=["done", "failed", "stopped"])
async def test_stopping_an_ended_job_leaves_it_as_it_is(
    queue: JobQueue, body: Completed | Failed | Stopped
) -> None:
    job = await queue.add(new())
    ended = await queue.end(await claimed(queue), body)
    assert await queue.stop(job.id) == ended


async def test_a_stop_before_the_last_write_wins(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    await queue.stop(job.id)
    with pytest.raises(StopAsked):
        await queue.step(lease, "answer", {})
    with pytest.raises(StopAsked):
        await queue.end(lease, done())
    assert await queue.remembered(job.id, "answer") is None
    assert (await queue.end(lease, Stopped())).state is JobState.STOPPED
    assert await kinds(queue, job.id) == ["Queued", "Started", "Stopped"]


async def test_a_stop_is_seen_by_the_beat_too(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    assert not await queue.beat(lease)
    await queue.stop(job.id)
    assert await queue.beat(lease)


async def test_a_job_asked_to_stop_is_stopped_when_it_parks(queue: JobQueue) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    await queue.stop(job.id)
    await queue.park(lease)
    assert (await queue.job(job.id)).state is JobState.STOPPED


async def test_a_job_asked_to_stop_is_stopped_when_its_worker_dies(queue: JobQueue) -> None:
    job = await queue.add(new())
    await claimed(queue)
    await queue.stop(job.id)
    assert await queue.recover(starting=True) == (job.id,)
    assert (await queue.job(job.id)).state is JobState.STOPPED


# --- parking ---


async def test_a_long_job_gives_way_to_a_shorter_one_only(queue: JobQueue) -> None:
    await queue.add(new(weight_s=300))
    lease = await claimed(queue)
    assert not await queue.gives_way(lease)
    await queue.add(new("M-BBBB", weight_s=400))
    assert not await queue.gives_way(lease)
    await queue.add(new("M-CCCC", weight_s=5))
    assert await queue.gives_way(lease)
    assert not await queue.gives_way(lease, rest_s=3)  # it is nearly done itself


async def test_a_parked_job_does_not_get_the_board_straight_back(queue: JobQueue) -> None:
    long = await queue.add(new(weight_s=300))
    lease = await claimed(queue)
    short = await queue.add(new("M-BBBB", weight_s=5))
    assert await queue.gives_way(lease)
    await queue.park(lease, rest_s=200)
    lease = await claimed(queue)
    assert lease.job == short.id
    await queue.end(lease, done())
    lease = await claimed(queue)
    assert (lease.job, lease.attempt) == (long.id, 1)  # parking is no failed attempt
    assert "Parked" in await kinds(queue, long.id)


async def test_a_job_that_waited_long_and_parks_starts_waiting_afresh(
    queue: JobQueue, clock: Clock
) -> None:
    """Else its age would give it the board straight back, and it would park again at once."""
    await queue.pause(BOARD)
    await queue.add(new(weight_s=300))
    clock.pass_s(3600)
    await queue.resume(BOARD)
    lease = await claimed(queue)
    short = await queue.add(new("M-BBBB", weight_s=5))
    assert await queue.gives_way(lease)
    await queue.park(lease)
    assert (await claimed(queue)).job == short.id


async def test_nobody_gives_way_on_a_paused_board_or_while_a_place_is_free(
    queue: JobQueue,
) -> None:
    await queue.add(new(weight_s=300))
    lease = await claimed(queue)
    await queue.add(new("M-BBBB", weight_s=5))
    await queue.set_places(BOARD, 2)
    assert not await queue.gives_way(lease)
    await queue.set_places(BOARD, 1)
    await queue.pause(BOARD)
    assert not await queue.gives_way(lease)


# --- ending ---


async def test_a_done_job_names_its_answer(queue: JobQueue) -> None:
    job = await queue.add(new())
    ended = await queue.end(await claimed(queue), done("b" * 64))
    assert (ended.state, ended.answer_sha256, ended.reason) == (JobState.DONE, "b" * 64, "")
    assert await kinds(queue, job.id) == ["Queued", "Started", "Completed"]
    assert await queue.wait_event(job.id, 3) == ()


async def test_a_failed_job_has_a_reason_and_a_plain_sentence(queue: JobQueue) -> None:
    job = await queue.add(new())
    ended = await queue.end(await claimed(queue), failed("damaged"))
    assert (ended.state, ended.reason) == (JobState.FAILED, "damaged")
    [event] = await queue.events_since(job.id, 2)
    assert isinstance(event.body, Failed)
    assert event.body.error.message == "Something stored in this matter does not match its hash."
    assert event.body.error.next_step
    assert (event.body.error.retry, event.body.error.reference) == (True, "E-1")


async def test_an_unknown_reason_still_reads_as_a_sentence(queue: JobQueue) -> None:
    job = await queue.add(new())
    ended = await queue.end(await claimed(queue), failed(), reason="board_on_fire")
    assert ended.reason == "board_on_fire"
    [event] = await queue.events_since(job.id, 2)
    assert isinstance(event.body, Failed)
    assert event.body.error.message.startswith("A part this needs is away")


@pytest.mark.parametrize(
    "body",
    [
        Failed(error=ErrorValue(code="internal", message="the words of the matter")),
        Failed(error=ErrorValue(code="internal", message="", next_step="ask Ms. Reeves")),
        Failed(error=ErrorValue(code="Reeves Dep. 2:3", message="")),
        Failed(error=ErrorValue(code="internal", message="", reference="in the leak memo")),
        Completed(answer_sha256="Northgate knew", verified=0, to_look_at=0, failing=0),
    ],
    ids=["message", "next step", "code", "reference", "hash"],
)
async def test_a_last_event_holds_no_words(queue: JobQueue, body: Completed | Failed) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    with pytest.raises(ValueError):
        await queue.end(lease, body)
    assert (await queue.job(job.id)).state is JobState.RUNNING


@pytest.mark.parametrize("body", [done(), failed(), Stopped()], ids=["done", "failed", "stopped"])
async def test_after_its_end_a_job_says_nothing_more(
    queue: JobQueue, body: Completed | Failed | Stopped
) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    await queue.end(lease, body)
    for write in (
        queue.say(lease, EngineLost()),
        queue.step(lease, "late", {}),
        queue.end(lease, done()),
        queue.park(lease),
    ):
        with pytest.raises(LeaseLost):
            await write
    with pytest.raises(LeaseLost):
        await queue.beat(lease)
    await asyncio.wait_for(queue.wait_stop(lease), 10)
    events = await queue.events_since(job.id, 0)
    assert [isinstance(event.body, LAST) for event in events].count(True) == 1


# --- crashes and leases ---


async def test_an_interrupted_job_waits_again_and_says_so(queue: JobQueue) -> None:
    job = await queue.add(new())
    await claimed(queue)
    assert await queue.recover(starting=True) == (job.id,)
    assert (await claimed(queue, "w-2")).attempt == 2
    assert await kinds(queue, job.id) == ["Queued", "Started", "Interrupted", "Queued", "Started"]


async def test_a_lease_that_is_beaten_is_not_recovered(queue: JobQueue, clock: Clock) -> None:
    job = await queue.add(new())
    lease = await claimed(queue)
    for _ in range(5):
        clock.pass_s(LEASE_S * 0.9)
        await queue.beat(lease)
        assert await queue.recover() == ()
    clock.pass_s(LEASE_S)
    assert await queue.recover() == (job.id,)


async def test_a_worker_that_froze_is_refused_when_it_wakes(queue: JobQueue, clock: Clock) -> None:
    job = await queue.add(new())
    frozen = await claimed(queue, "w-1")
    clock.pass_s(LEASE_S)
    await queue.recover()
    fresh = await claimed(queue, "w-2")
    for write in (
        queue.step(frozen, "answer", {"from": "frozen"}),
        queue.say(frozen, EngineLost()),
        queue.end(frozen, done()),
        queue.park(frozen),
    ):
        with pytest.raises(LeaseLost):
            await write
    await queue.step(fresh, "answer", {"from": "fresh"})
    await queue.end(fresh, done())
    assert await queue.remembered(job.id, "answer") == {"from": "fresh"}


async def test_an_older_lease_of_the_same_worker_is_refused_too(queue: JobQueue) -> None:
    await queue.add(new())
    old = await claimed(queue, "w-1")
    await queue.park(old)
    await claimed(queue, "w-1")
    with pytest.raises(LeaseLost):
        await queue.say(old, EngineLost())


async def test_a_job_that_keeps_crashing_the_worker_is_given_up(queue: JobQueue) -> None:
    job = await queue.add(new())
    for _ in range(MOST_CRASHES):
        await claimed(queue)
        await queue.recover(starting=True)
        assert (await queue.job(job.id)).state is JobState.WAITING
    await claimed(queue)
    await queue.recover(starting=True)
    ended = await queue.job(job.id)
    assert (ended.state, ended.reason) == (JobState.FAILED, "keeps_crashing")
    last = (await queue.events_since(job.id, 0))[-1].body
    assert isinstance(last, Failed)
    assert "went down several times" in last.error.message


async def test_a_job_that_gets_further_each_time_is_not_given_up(queue: JobQueue) -> None:
    job = await queue.add(new())
    for page in range(MOST_CRASHES * 3):
        lease = await claimed(queue)
        await queue.step(lease, f"page-{page:04}", {})
        await queue.recover(starting=True)
    assert (await queue.job(job.id)).state is JobState.WAITING


async def test_doing_the_same_step_over_and_over_is_not_getting_further(queue: JobQueue) -> None:
    job = await queue.add(new())
    for _ in range(MOST_CRASHES + 2):
        lease = await queue.claim(BOARD, "w-1")
        if lease is None:
            break
        await queue.step(lease, "page-0001", {})
        await queue.recover(starting=True)
    assert (await queue.job(job.id)).state is JobState.FAILED


# --- listing, retention, closing ---


async def test_jobs_of_a_matter_come_newest_first(queue: JobQueue) -> None:
    ids = [(await queue.add(new())).id for _ in range(5)]
    await queue.add(new("M-BBBB"))
    assert [job.id for job in await queue.jobs(MatterId("M-AAAA"))] == ids[::-1]
    assert [job.id for job in await queue.jobs(MatterId("M-AAAA"), 2)] == ids[:2:-1]
    assert await queue.jobs(MatterId("M-CCCC")) == ()
    assert all(job.review is None for job in await queue.jobs(MatterId("M-AAAA")))


async def test_sweeping_removes_old_ended_jobs_alone(queue: JobQueue, clock: Clock) -> None:
    old = await queue.add(new(key="old"))
    lease = await claimed(queue)
    await queue.step(lease, "one", {})
    await queue.end(lease, done())
    waiting = await queue.add(new())
    clock.pass_s(3600)
    edge = clock.now
    fresh = await queue.add(new("M-BBBB", weight_s=1))
    await queue.stop(fresh.id)
    assert await queue.sweep(edge) == 1
    with pytest.raises(NotFound):
        await queue.job(old.id)
    with pytest.raises(NotFound):
        await queue.events_since(old.id, 0)
    assert (await queue.job(fresh.id)).state is JobState.STOPPED
    assert (await queue.job(waiting.id)).state is JobState.WAITING
    assert (await queue.add(new(key="old", request="b"))).id != old.id


async def test_closing_a_matter_removes_its_jobs_and_no_others(queue: JobQueue) -> None:
    running = await queue.add(new("M-AAAA"))
    lease = await claimed(queue)
    waiting = await queue.add(new("M-AAAA"))
    other = await queue.add(new("M-BBBB"))
    hears = asyncio.create_task(queue.wait_stop(lease))
    follows = asyncio.create_task(queue.wait_event(waiting.id, 1))
    await asyncio.sleep(0.01)
    assert await queue.close_matter(MatterId("M-AAAA")) == (running.id,)
    await asyncio.wait_for(hears, 10)
    with pytest.raises(NotFound):
        await asyncio.wait_for(follows, 10)
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
    job = await queue.add(new(key="once"))
    before = await queue.boards()
    with pytest.raises(Conflict):
        await queue.add(new(key="once", request="b"))
    assert await queue.boards() == before
    assert (await queue.job(job.id)).last_seq == 1
