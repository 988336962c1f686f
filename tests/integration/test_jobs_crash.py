"""Kill -9 at every commit and in mid-stream: nothing lost, nothing twice, no gap in the events."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from protocol.events import LAST, Interrupted, Started
from protocol.ids import JobId
from protocol.jobs import JobState
from worker.jobs import open_queue

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("jobs_worker.py")
PAGES = 4
JOBS = 5
RANDOM_S = 15.0
"""How long the random loop kills; the number of kills is what it takes on the machine."""


def start(folder: Path, run: str, kill_at: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), run, kill_at, *more],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def run(folder: Path, name: str, kill_at: str = "never", *more: str) -> list[JobId]:
    """Lets a worker run to its end or its death; the ids it accepted until then."""
    worker = start(folder, name, kill_at, *more)
    printed, _ = worker.communicate(timeout=120)
    if kill_at == "never":
        assert worker.returncode == 0
        assert "finished" in printed
    else:
        assert worker.returncode == -signal.SIGKILL, "the hook never came by"
    return accepted(printed)


def accepted(printed: str) -> list[JobId]:
    lines = [line.split() for line in printed.splitlines()]
    return [JobId(line[1]) for line in lines if line[0] == "accepted"]


def check(folder: Path, jobs: list[JobId], *, pages: int = PAGES) -> Counter[str]:
    """What must hold for every accepted job once all is over; counts of the events by kind."""
    return asyncio.run(_check(folder, jobs, pages))


async def _check(folder: Path, jobs: list[JobId], long_pages: int) -> Counter[str]:
    queue = open_queue(folder / "queue.sqlite", lambda: dt.datetime.now(dt.UTC))
    said: Counter[str] = Counter()
    runs = Counter((folder / "effects.txt").read_text().splitlines())
    try:
        for job in jobs:
            info = await queue.job(job)
            pages = {"stopme": 2, "summarize": long_pages}.get(info.kind, PAGES)
            ended_well = JobState.STOPPED if info.kind == "stopme" else JobState.DONE
            assert info.state is ended_well
            events = await queue.events_since(job, 0)
            assert [event.seq for event in events] == list(range(1, info.last_seq + 1))
            assert [isinstance(event.body, LAST) for event in events] == (
                [False] * (len(events) - 1) + [True]
            )
            for page in range(max(pages, PAGES)):
                kept = {"page": page} if page < pages else None
                assert await queue.remembered(job, f"page-{page}") == kept
            bodies = [event.body for event in events]
            attempts = [body.attempt for body in bodies if isinstance(body, Started)]
            crashes = sum(isinstance(body, Interrupted) for body in bodies)
            assert attempts == sorted(attempts)
            assert attempts[-1] == crashes + 1
            repeated = sum(max(0, runs[f"{job} page-{page}"] - 1) for page in range(pages))
            assert repeated <= crashes  # of each crash the open step alone
            said.update(type(body).__name__ for body in bodies)
    finally:
        await queue.close()
    return said


ACTS = ("add", "claim", "step", "say", "park", "end", "stop", "recover")
SCRIPTS = [
    *([f"{act}:{moment}#1"] for act in ACTS for moment in ("before", "after")),
    *([f"statement#{number}"] for number in (6, 14, 33, 57, 101, 160, 333, 600)),
    ["byte#1"],
    ["byte#8"],
    ["say:after#7", "recover:before#1"],
    ["step:before#3", "recover:after#1"],
    ["end:before#2", "end:after#2", "claim:after#2"],
    ["stop:after#1", "recover:before#1", "recover:after#1"],
    ["park:after#1", "step:after#2", "byte#3"],
]


@pytest.mark.parametrize("kills", SCRIPTS, ids=[" then ".join(script) for script in SCRIPTS])
def test_killed_at_a_named_point(tmp_path: Path, kills: list[str]) -> None:
    for kill_at in kills:
        run(tmp_path, "r", kill_at)
    jobs = run(tmp_path, "r")
    assert len(set(jobs)) == JOBS  # keys sent again after each crash made no second job
    said = check(tmp_path, jobs)
    assert said["Interrupted"] <= len(kills)


def test_without_any_kill_every_step_runs_once_and_the_long_job_parks(tmp_path: Path) -> None:
    said = check(tmp_path, run(tmp_path, "r"))
    assert said["Parked"] >= 1
    assert said["Interrupted"] == 0


@pytest.mark.slow
def test_a_folder_of_300_pages_survives_three_kills_with_no_page_twice(tmp_path: Path) -> None:
    """Each kill costs at most the one page that was open; what was kept is not read again."""
    more = ("--pages", "300")
    for kill_at in ("step:after#90", "byte#250", "step:before#100"):
        run(tmp_path, "r", kill_at, *more)
    jobs = run(tmp_path, "r", "never", *more)
    said = check(tmp_path, jobs, pages=300)
    assert said["Interrupted"] == 3
    read = Counter((tmp_path / "effects.txt").read_text().splitlines())
    folder = {line: times for line, times in read.items() if line.startswith(jobs[0])}
    assert len(folder) == 300
    assert sum(folder.values()) <= 303


@pytest.mark.slow
def test_killed_at_random_moments_again_and_again(tmp_path: Path) -> None:
    """At a commit or a statement from within, or from outside between two events."""
    chance = random.Random(20260302)
    jobs: set[JobId] = set()
    kills = 0
    end = time.monotonic() + RANDOM_S
    while time.monotonic() < end:
        inside = chance.choice(
            [
                f"any#{chance.randrange(20, 240)}",
                f"statement#{chance.randrange(100, 1500)}",
                "never",
            ]
        )
        worker = start(tmp_path, f"r{kills}", inside)
        assert worker.stdout is not None
        lines_left = chance.randrange(5, 60)
        for line in worker.stdout:
            jobs.update(accepted(line))
            lines_left -= 1
            if inside == "never" and lines_left == 0:
                worker.kill()
                break
        jobs.update(accepted(worker.stdout.read()))
        worker.stdout.close()
        kills += worker.wait(timeout=60) == -signal.SIGKILL
    jobs.update(run(tmp_path, "last"))
    assert kills >= 3
    check(tmp_path, sorted(jobs))


def test_a_frozen_worker_goes_on_where_it_was(tmp_path: Path) -> None:
    """Stopped for three leases and continued: it beats for itself before it gives itself up."""
    worker = start(tmp_path, "r", "never", "--lease", "2.0")
    assert worker.stdout is not None
    printed = [worker.stdout.readline() for _ in range(10)]
    worker.send_signal(signal.SIGSTOP)
    time.sleep(6.0)
    worker.send_signal(signal.SIGCONT)
    rest, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    jobs = accepted("".join(printed) + rest)
    said = check(tmp_path, jobs)
    assert said["Interrupted"] == 0
