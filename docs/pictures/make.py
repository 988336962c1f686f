"""Makes the pictures of the terminal: the real app over replies that were recorded once.

    python docs/pictures/make.py                       the pictures, from recorded.json
    python docs/pictures/make.py --record bot.toml     asks a running demo anew for recorded.json

The recorded replies are the demo's own, of the sample matter; nothing in a picture is drawn by
hand, and the same recording gives the same pictures.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import re
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from textual.pilot import Pilot  # noqa: TID251 - drives the app for its pictures

from bot import words as catalogue
from bot.blocks import cells
from bot.config import load
from bot.link import Link, Target
from bot.look import UNICODE, Look
from bot.outbox import Outbox
from bot.terminal.app import TerminalApp
from bot.terminal.testing import seen
from bot.terminal.window import Start
from protocol import jobs as ask
from protocol.answers import Answer
from protocol.errors import NotFound
from protocol.events import LAST, Event
from protocol.ids import JobId, MatterId
from protocol.record import Matter

HERE: Final = Path(__file__).parent
RECORDED: Final = HERE / "recorded.json"
ENGLISH: Final = "When did Northgate first know of the leak?"
BRIEF: Final = (
    "The Lease provides that “Landlord shall begin repairs within ten (10) days after written "
    "notice from Tenant.” (Lease p. 3.) Ms. Reeves testified that she reported the leak “to "
    "facilities on January 9, 2024, and again on January 23, 2024.” (Reeves Dep. 2:25-3:1.) On "
    "whether she had put it in writing, she said “The third time, yes.”"
)
"""A paragraph as an opponent might write it; two of its quotations are not the record's words."""
_SAID: Final = 5
"""Events after which a running job is far enough for a picture."""
_LOOK_S: Final = 0.05
_STILL_LOOKS: Final = 8
_PATIENT_LOOKS: Final = 400
"""Looks without a change after which a screen is taken as finished; where it is known how it should
become, only what never comes takes so long."""
_RUNS: Final = re.compile(r"[\s\u00a0]+|[ᄀ-ᇿ⺀-鿿가-힣]+|[^\s\u00a0ᄀ-ᇿ⺀-鿿가-힣]+")
"""White space, wide letters, other letters."""
FONTS: Final = "Fira Code, Menlo, Consolas, DejaVu Sans Mono, D2Coding, NanumGothicCoding"
KOREAN: Final = "한빛은 누수 사실을 언제 알렸습니까?"
NEXT: Final = "젖은 견본의 가액은 얼마입니까?"
"""What is being written in the Korean pictures."""
AT_WORK: Final = ("What did the inspection say about the cause and the cost?", "Who is Mr. Osei?")
_TEXT: Final = re.compile(
    r'<text class="([^"]*)" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)" '
    r'clip-path="([^"]*)">([^<]*)</text>'
)


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What a running demo answered."""

    matters: tuple[Matter, ...]
    jobs: tuple[ask.Job, ...]
    answers: tuple[Answer, ...]
    documents: ask.Documents
    health: ask.HealthIs
    pages: tuple[ask.SourcePage, ...]
    boards: ask.BoardsAre | None = None
    at_work: tuple[ask.Job, ...]
    """Jobs in the queue at one moment, one of them running."""
    events: tuple[Event, ...]
    """What had been said of them by then."""


class Replay:
    """A worker that gives back what was recorded, the jobs at work held at their last event."""

    def __init__(self, recording: Recording, replies: Sequence[int], *, at_work: bool) -> None:
        """Takes some of the replies by number, and the jobs at work if they are wanted."""
        self._recording = recording
        chosen = [recording.answers[number] for number in replies]
        self._answers = {answer.job: answer for answer in chosen}
        self._at_work = recording.at_work if at_work else ()

    async def call(self, request: ask.Request) -> ask.Result:
        """The recorded result."""
        kept = self._recording
        match request:
            case ask.ListMatters():
                return ask.Matters(matters=kept.matters)
            case ask.ListJobs(matter=matter):
                jobs = [*self._at_work, *(job for job in kept.jobs if job.id in self._answers)]
                return ask.Jobs(jobs=tuple(job for job in jobs if job.matter == matter))
            case ask.GetAnswer(job=job) if job in self._answers:
                return ask.AnswerIs(answer=self._answers[job])
            case ask.ListDocuments():
                return kept.documents
            case ask.OpenSource(document=document, page=number):
                for page in kept.pages:
                    if (page.document.id, page.page.number) == (document, number):
                        return page
            case ask.Health():
                return kept.health
            case ask.GetBoards() if kept.boards is not None:
                return kept.boards
            case _:
                pass
        raise NotFound("not recorded")

    async def follow(self, job: JobId, after: int = 0) -> AsyncIterator[Event]:
        """What was recorded of a job; nothing more comes of it."""
        for event in self._recording.events:
            if event.job == job and event.seq > after:
                yield event
        await asyncio.Event().wait()


async def record(config: Path) -> Recording:
    """Asks a running box, the demo's, for all that the pictures show."""
    settings = load(config, environment={}).settings
    target = Target(
        host=settings.host,
        port=settings.port,
        key=settings.key_file,
        known_hosts=settings.known_hosts,
    )
    async with Link.over_ssh(target) as link:
        matters = await link.call(ask.ListMatters())
        assert isinstance(matters, ask.Matters)
        matter = matters.matters[0].id
        documents = await link.call(ask.ListDocuments(matter=matter))
        health = await link.call(ask.Health())
        boards = await link.call(ask.GetBoards())
        assert isinstance(boards, ask.BoardsAre)
        assert isinstance(documents, ask.Documents)
        assert isinstance(health, ask.HealthIs)
        requests: list[ask.WorkRequest] = [
            ask.Ask(matter=matter, conversation="en", question=ENGLISH, key=secrets.token_hex(8)),
            ask.CiteCheck(matter=matter, text=BRIEF, key=secrets.token_hex(8)),
            ask.Find(matter=matter, text="January 9, 2024", key=secrets.token_hex(8)),
            ask.Ask(matter=matter, conversation="ko", question=KOREAN, key=secrets.token_hex(8)),
        ]
        answers = [await _answer(link, request) for request in requests]
        jobs = await link.call(ask.ListJobs(matter=matter))
        assert isinstance(jobs, ask.Jobs)
        ours = {answer.job for answer in answers}
        places = {
            (place.document, place.span.page)
            for answer in answers
            for item in answer.items
            for place in (item.places or item.nearest)[:1]
        }
        pages = [
            await link.call(ask.OpenSource(matter=matter, document=document, page=page))
            for document, page in sorted(places)
        ]
        at_work, events = await _at_work(link, matter)
    return Recording(
        matters=matters.matters,
        jobs=tuple(job for job in jobs.jobs if job.id in ours),
        answers=tuple(answers),
        documents=documents,
        health=health,
        pages=tuple(page for page in pages if isinstance(page, ask.SourcePage)),
        boards=boards,
        at_work=at_work,
        events=events,
    )


async def _at_work(link: Link, matter: MatterId) -> tuple[tuple[ask.Job, ...], tuple[Event, ...]]:
    """The queue at a moment at which one job is read and others wait, and their events so far."""
    requests: list[ask.WorkRequest] = [
        ask.Ask(matter=matter, conversation="q", question=question, key=secrets.token_hex(8))
        for question in AT_WORK
    ]
    requests.append(ask.Summarize(matter=matter, key=secrets.token_hex(8)))
    ours = [await _accepted(link, request) for request in requests]
    while True:
        jobs = await link.call(ask.ListJobs(matter=matter))
        assert isinstance(jobs, ask.Jobs)
        here = [job for job in jobs.jobs if job.id in ours]
        assert any(job.state is ask.JobState.WAITING for job in here), "the queue was too quick"
        if any(job.state is ask.JobState.RUNNING and job.last_seq >= _SAID for job in here):
            break
    events = []
    for job in here:
        async for event in link.follow(job.id):
            events.append(event)
            if event.seq >= job.last_seq:
                break
    return tuple(here), tuple(events)


async def _accepted(link: Link, request: ask.WorkRequest) -> JobId:
    accepted = await link.call(request)
    assert isinstance(accepted, ask.Accepted)
    return accepted.job


async def _answer(link: Link, request: ask.WorkRequest) -> Answer:
    job = await _accepted(link, request)
    async for event in link.follow(job):
        if isinstance(event.body, LAST):
            break
    result = await link.call(ask.GetAnswer(job=job))
    assert isinstance(result, ask.AnswerIs)
    return result.answer


# --- the pictures ---------------------------------------------------------------------------------


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One picture: its name, the screen, and what is done before it is taken."""

    name: str
    width: int
    height: int
    typed: str = ""
    keys: tuple[str, ...] = ()
    waits_for: tuple[str, ...]
    """What stands on the screen once everything has come."""
    replies: tuple[int, ...] = (0,)
    at_work: bool = False
    language: str = "en"


def _at(width: int, height: int, of: Picture) -> Picture:
    return msgspec.structs.replace(of, name=f"{of.name}-{width}", width=width, height=height)


_REPLY: Final = Picture(name="reply", width=0, height=0, waits_for=("[5 ✔]",))
_FINDINGS: Final = Picture(
    name="findings", width=0, height=0, keys=("f2",), waits_for=("Findings of", "▌ ")
)
_SOURCE: Final = Picture(
    name="source",
    width=0,
    height=0,
    keys=("f2", "down", "down", "down", "o"),
    waits_for=("Findings of", "▌ ", "BY MS. LINDQVIST"),
)
_DIFFERENCE: Final = Picture(
    name="difference", width=0, height=0, keys=("f2",), waits_for=("The reply says",), replies=(1,)
)
_QUEUE: Final = Picture(
    name="queue",
    width=0,
    height=0,
    keys=("f3",),
    waits_for=("Queue of", "in line"),
    replies=(2,),
    at_work=True,
)
_BOARDS: Final = Picture(
    name="boards", width=0, height=0, keys=("f4",), waits_for=("board A", "worker:")
)
_KOREAN: Final = Picture(
    name="korean",
    width=0,
    height=0,
    typed=NEXT,
    waits_for=("[1 ✔]", NEXT),
    replies=(3,),
    language="ko",
)

PICTURES: Final = tuple(
    _at(width, height, of)
    for width, height, several in (
        (80, 36, (_REPLY, _FINDINGS, _SOURCE, _DIFFERENCE, _QUEUE, _BOARDS, _KOREAN)),
        (120, 36, (_REPLY, _FINDINGS, _SOURCE, _DIFFERENCE, _QUEUE, _BOARDS, _KOREAN)),
        (200, 44, (_REPLY, _FINDINGS, _SOURCE, _DIFFERENCE, _QUEUE, _BOARDS, _KOREAN)),
    )
    for of in several
)


async def take(picture: Picture, recording: Recording, like: str = "") -> str:
    """The picture as SVG.

    Args:
        picture: Which.
        recording: What the worker answered.
        like: The picture as it should become: it is waited for, since a page may still be painted.
    """
    app = TerminalApp(
        Start(
            worker=Replay(recording, picture.replies, at_work=picture.at_work),
            outbox=Outbox(None),
            look=Look(words=catalogue.load(picture.language), signs=UNICODE),
            user="you",
            host="gpu-box",
            new_key=lambda: "picture",
        )
    )
    loaded = len(picture.replies) + (len(recording.at_work) if picture.at_work else 0)
    async with app.run_test(size=(picture.width, picture.height)) as pilot:
        app.composer.cursor_blink = False
        await _until(pilot, lambda: app.channel is not None and len(app.channel.entries) == loaded)
        assert app.channel is not None
        entries = app.channel.entries
        await _until(pilot, lambda: all(entry.ended or entry.watch for entry in entries))
        app.composer.insert(picture.typed)
        for key in picture.keys:
            await pilot.press(key)
        await _until(pilot, lambda: all(said in seen(pilot) for said in picture.waits_for))
        return await _still(pilot, app, like)


async def _still(pilot: Pilot[int], app: TerminalApp, like: str = "") -> str:
    """The screen once it is as it should be, or has not changed for a while."""
    now, same, looks = "", 0, _PATIENT_LOOKS if like else _STILL_LOOKS
    while same < looks and not (like and now == like):
        await pilot.pause(_LOOK_S)
        before, now = now, steady(app.export_screenshot(title="secondchair"))
        same = same + 1 if now == before else 0
    return now


async def _until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        await pilot.pause(0.02)
    raise SystemExit("the app did not come to show what the picture is of")


def steady(svg: str) -> str:
    """The picture without the number that the toolkit makes anew, and without fonts to fetch.

    The toolkit gives a text its length by characters; wide ones take two cells, and a browser would
    squeeze them into one.
    """
    svg = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
    svg = svg.replace("Fira Code", FONTS)
    svg = re.sub(r"<!-- Generated.*?-->\s*", "", svg)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return _TEXT.sub(_in_cells, svg)


def _in_cells(found: re.Match[str]) -> str:
    """A text with wide characters as one text for each of its words, every one in its cells."""
    style, left, top, length, clip, escaped = found.groups()
    text = html.unescape(escaped)
    if cells(text) == len(text):
        return found[0]
    cell, at, parts = float(length) / len(text), float(left), []
    for run in _RUNS.findall(text):
        wide = cells(run) * cell
        if run.strip():
            said = html.escape(run)
            parts.append(
                f'<text class="{style}" x="{at:g}" y="{top}" textLength="{wide:g}" '
                f'lengthAdjust="spacingAndGlyphs" clip-path="{clip}">{said}</text>'
            )
        at += wide
    return "".join(parts)


async def main() -> int:
    """Records where it was asked to, then makes every picture."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--record", type=Path, metavar="BOT_TOML")
    given = arguments.parse_args()
    if given.record is not None:
        kept = msgspec.json.format(msgspec.json.encode(await record(given.record)), indent=1)
        RECORDED.write_bytes(kept + b"\n")
    recording = msgspec.json.decode(RECORDED.read_bytes(), type=Recording)
    for picture in PICTURES:
        path = HERE / f"{picture.name}.svg"
        path.write_text(await take(picture, recording), "utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201 - a program that prints
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
