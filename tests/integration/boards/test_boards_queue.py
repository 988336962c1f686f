"""A fault on a card pauses the queue of its board and no other; it goes on when it may."""

import datetime as dt

import pytest

from protocol.errors import Unavailable
from worker.boards import Severity
from worker.boards.health import Change
from worker.boards.pausing import pausing
from worker.boards.watcher import Watcher
from worker.jobs.memory import MemoryQueue

BUILD_B = ("left", "right")


@pytest.fixture
async def queue():
    made = MemoryQueue(lambda: dt.datetime.now(dt.UTC))
    for board in BUILD_B:
        await made.set_places(board, 1)
    yield made
    await made.close()


class Desk:
    """Hears what an operator hears; notes which boards' jobs were stopped."""

    def __init__(self):
        self.stopped, self.told = [], []

    async def stop(self, board):
        self.stopped.append(board)

    async def tell(self, change):
        self.told.append(change)


async def paused(queue):
    return {info.name for info in await queue.boards() if info.paused}


async def test_a_fault_pauses_one_queue(queue, simulate, open_probe, declared_of):
    box, desk = simulate("build_b"), Desk()
    on_change = pausing(queue, stop_running=desk.stop, tell=desk.tell)
    watcher = Watcher(open_probe(box), declared_of(box), on_change, kernel_lines=list)
    await watcher.survey()
    assert await paused(queue) == set()
    box.set(6, xid=79)
    await watcher.step()
    assert await paused(queue) == {"right"}
    assert desk.stopped == ["right"]
    assert [change.kind for change in desk.told] == ["verdict", "pause"]
    await watcher.resume("right")
    assert await paused(queue) == set()


async def test_a_drained_board_s_job_may_end(queue, simulate, open_probe, declared_of):
    box, desk = simulate("build_b"), Desk()
    on_change = pausing(queue, stop_running=desk.stop, tell=desk.tell)
    watcher = Watcher(open_probe(box), declared_of(box), on_change, kernel_lines=list)
    await watcher.survey()
    box.set(1, xid=63)
    await watcher.step()
    assert await paused(queue) == {"left"}
    assert desk.stopped == []


async def test_the_operator_hears_of_it_even_when_the_queue_is_away():
    class Away:
        async def pause(self, board):
            raise Unavailable("the queue is away")

    desk = Desk()
    on_change = pausing(Away(), stop_running=desk.stop, tell=desk.tell)
    change = Change(
        kind="pause", board="left", severity=Severity.PAUSE, rule="lost_card", reason="it is gone"
    )
    with pytest.raises(Unavailable):
        await on_change(change)
    assert desk.told == [change]


async def test_a_pause_that_the_queue_missed_is_said_again(
    queue, simulate, open_probe, declared_of
):
    class Flaky:
        away = 2

        async def pause(self, board):
            self.away -= 1
            if self.away >= 0:
                raise Unavailable("the queue is away")
            await queue.pause(board)

    box, desk = simulate("build_b"), Desk()
    on_change = pausing(Flaky(), stop_running=desk.stop, tell=desk.tell)
    watcher = Watcher(open_probe(box), declared_of(box), on_change, kernel_lines=list)
    await watcher.survey()
    box.set(6, xid=79)
    for _ in range(4):
        await watcher.step()
    assert await paused(queue) == {"right"}
    assert desk.stopped == ["right"]
    assert [change.kind for change in desk.told] == ["verdict", "pause", "pause", "pause"]
