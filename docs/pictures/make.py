"""Makes the pictures of the terminal: the real app over replies that were recorded once.

    python docs/pictures/make.py                       the pictures, from recorded.json
    python docs/pictures/make.py --record bot.toml     asks a running demo anew for recorded.json

The recorded replies are the demo's own, of the sample matter; nothing in a picture is drawn by
hand, and the same recording gives the same pictures.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import msgspec
from textual.pilot import Pilot  # noqa: TID251 - drives the app for its pictures

from bot import words as catalogue
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
from protocol.ids import JobId
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
FONTS: Final = "Fira Code, Menlo, Consolas, DejaVu Sans Mono, D2Coding, NanumGothicCoding"
KOREAN: Final = "노스게이트는 누수를 언제 처음 알았습니까?"


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What a running demo answered."""

    matters: tuple[Matter, ...]
    jobs: tuple[ask.Job, ...]
    answers: tuple[Answer, ...]
    documents: ask.Documents
    health: ask.HealthIs
    pages: tuple[ask.SourcePage, ...]
    boards: ask.BoardsAre | None = None


class Replay:
    """A worker that gives back what was recorded, the job at work held at its last event."""

    def __init__(self, recording: Recording, shown: int) -> None:
        """Takes the first ``shown`` replies."""
        self._recording = recording
        self._answers = {answer.job: answer for answer in recording.answers[:shown]}

    async def call(self, request: ask.Request) -> ask.Result:
        """The recorded result."""
        kept = self._recording
        match request:
            case ask.ListMatters():
                return ask.Matters(matters=kept.matters)
            case ask.ListJobs(matter=matter):
                jobs = [job for job in kept.jobs if job.matter == matter]
                return ask.Jobs(jobs=tuple(job for job in jobs if job.id in self._answers))
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
        """Nothing is at work in a picture."""
        raise NotFound("not recorded")
        yield


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
    return Recording(
        matters=matters.matters,
        jobs=tuple(job for job in jobs.jobs if job.id in ours),
        answers=tuple(answers),
        documents=documents,
        health=health,
        pages=tuple(page for page in pages if isinstance(page, ask.SourcePage)),
        boards=boards,
    )


async def _answer(link: Link, request: ask.WorkRequest) -> Answer:
    accepted = await link.call(request)
    assert isinstance(accepted, ask.Accepted)
    async for event in link.follow(accepted.job):
        if isinstance(event.body, LAST):
            break
    result = await link.call(ask.GetAnswer(job=accepted.job))
    assert isinstance(result, ask.AnswerIs)
    return result.answer


# --- the pictures ---------------------------------------------------------------------------------


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One picture: its name, the screen, and what is pressed before it is taken."""

    name: str
    size: tuple[int, int]
    replies: int
    keys: tuple[str, ...] = ()
    waits_for: str
    language: str = "en"


PICTURES: Final = (
    Picture(name="reply-80", size=(80, 36), replies=1, waits_for="[1 ✔]"),
    Picture(name="reply-120", size=(120, 36), replies=1, waits_for="[1 ✔]"),
    Picture(
        name="findings-200", size=(200, 44), replies=1, keys=("f2", "down", "o"), waits_for="▌ "
    ),
    Picture(
        name="source-80",
        size=(80, 32),
        replies=1,
        keys=("f2", "down", "down", "down", "o"),
        waits_for="▌ ",
    ),
    Picture(
        name="difference-120", size=(120, 36), replies=2, keys=("f2",), waits_for="The record says"
    ),
    Picture(name="reply-200", size=(200, 44), replies=1, waits_for="[1 ✔]"),
    Picture(name="findings-80", size=(80, 36), replies=1, keys=("f2",), waits_for="VERIFIED"),
    Picture(
        name="source-120",
        size=(120, 36),
        replies=1,
        keys=("f2", "down", "down", "down", "o"),
        waits_for="▌ ",
    ),
    Picture(name="queue-120", size=(120, 30), replies=3, keys=("f3",), waits_for="Queue of"),
    Picture(name="boards-120", size=(120, 30), replies=1, keys=("f4",), waits_for="board A"),
    Picture(
        name="korean-80",
        size=(80, 36),
        replies=1,
        keys=tuple(KOREAN),
        waits_for="초안",
        language="ko",
    ),
    Picture(name="queue-80", size=(80, 24), replies=3, keys=("f3",), waits_for="Queue of"),
    Picture(name="boards-80", size=(80, 24), replies=1, keys=("f4",), waits_for="board A"),
    Picture(
        name="korean-120",
        size=(120, 36),
        replies=1,
        keys=tuple(KOREAN),
        waits_for="초안",
        language="ko",
    ),
    Picture(name="help-80", size=(80, 44), replies=1, keys=("f1",), waits_for="Ctrl+Q"),
)


async def take(picture: Picture, recording: Recording) -> str:
    """The picture as SVG."""
    app = TerminalApp(
        Start(
            worker=Replay(recording, picture.replies),
            outbox=Outbox(None),
            look=Look(words=catalogue.load(picture.language), signs=UNICODE),
            user="you",
            host="gpu-box",
            new_key=lambda: "picture",
        )
    )
    async with app.run_test(size=picture.size) as pilot:
        loaded = picture.replies
        await _until(pilot, lambda: app.channel is not None and len(app.channel.entries) == loaded)
        await _until(pilot, lambda: all(entry.ended for entry in app.channel.entries))  # type: ignore[union-attr]
        for key in picture.keys:
            await pilot.press(key)
            await pilot.pause(0.3 if len(key) > 1 else 0)
        await _until(pilot, lambda: picture.waits_for in seen(pilot))
        await pilot.pause(0.3)
        return app.export_screenshot(title="secondchair")


async def _until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await pilot.pause(0.02)
    raise SystemExit("the app did not come to show what the picture is of")


def steady(svg: str) -> str:
    """The picture without the number that the toolkit makes anew, and without fonts to fetch."""
    svg = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
    svg = svg.replace("Fira Code", FONTS)
    svg = re.sub(r"<!-- Generated.*?-->\s*", "", svg)
    return re.sub(r"terminal-\d+", "terminal", svg)


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
        path.write_text(steady(await take(picture, recording)), "utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201 - a program that prints
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
