"""The bot as a process: over one socket it was given, through pipes and on a real pseudo-terminal.

The other end of the socket speaks the protocol's own frames from a table of results.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import hashlib
import json
import os
import pty
import re
import signal
import socket
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from bench.children import PATIENCE_S, end, finish
from protocol import events as ev
from protocol import frames
from protocol import jobs as ask
from protocol.answers import (
    Answer,
    Citation,
    Claim,
    Finding,
    ItemKind,
    Provenance,
    SentenceClass,
    Timings,
    Verdict,
)
from protocol.errors import ErrorValue
from protocol.ids import DocumentId, JobId, MatterId, UserName
from protocol.record import Coverage, Matter
from protocol.spans import SourceSpan

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MATTER = MatterId("M-7F3K")


def job(number: int) -> JobId:
    """The job of the question with that number."""
    return JobId(f"J-0DV3K9Q2A-{number:04d}")


JOB = job(1)
MARKER = "zanzibar-marker"
TEXT = f"She said “The second time, yes.” The {MARKER} was \x1b[31mred."


def an_answer(question: str) -> Answer:
    quoted = "“The second time, yes.”"
    start = TEXT.index(quoted)
    place = Citation(
        document=DocumentId("d1"),
        title="Reeves Dep.",
        span=SourceSpan(document=DocumentId("d1"), start=9, end=30, page=3),
        line_begin=3,
        line_end=3,
        end_page=3,
        pin_cite="Reeves Dep. 3:3 (NG-000213)",
        words="The second time, yes.",
    )
    item = Finding(
        number=1,
        start=start,
        end=start + len(quoted),
        kind=ItemKind.QUOTE,
        verdict=Verdict.VERIFIED,
        reason="",
        places=(place,),
    )
    return Answer(
        job=JOB,
        matter=MATTER,
        kind="ask",
        question=question,
        text=TEXT,
        items=(item,),
        sentences=(
            Claim(start=0, end=start + len(quoted), sentence_class=SentenceClass.SUPPORTED),
        ),
        coverage=Coverage(documents=8, documents_read=8, pages=21, pages_read=18, unread=()),
        timings=Timings(),
        provenance=Provenance(),
        text_sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
    )


class Peer:
    """The worker's end: greets, answers, and holds a job's end back until it may come."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.requests: list[ask.Request] = []
        self.free = asyncio.Event()
        self.free.set()
        self.fails: ErrorValue | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, line: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=line)
        try:
            while data := await reader.readline():
                await self.take(frames.decode_to_worker(data), writer)
        finally:
            writer.close()

    async def take(self, frame: frames.ToWorker, writer: asyncio.StreamWriter) -> None:
        if isinstance(frame, frames.Hello):
            welcome = frames.Welcome(
                version=frames.VERSION,
                user=UserName("you"),
                role="reviewer",
                matters=(MATTER,),
                epoch="e",
                max_bytes=frames.MAX_TO_WORKER_BYTES,
            )
            writer.write(frames.encode(welcome))
        elif isinstance(frame, frames.Ping):
            writer.write(frames.encode(frames.Pong(number=frame.number)))
        elif isinstance(frame, frames.Call):
            self.requests.append(frame.request)
            if isinstance(frame.request, ask.Follow):
                task = asyncio.create_task(self.tell(frame.id, frame.request, writer))
                self.tasks.add(task)
                return
            writer.write(frames.encode(self.result(frame)))

    def result(self, call: frames.Call) -> frames.Return | frames.Error:
        match call.request:
            case ask.ListMatters():
                matter = Matter(id=MATTER, title="hartwell-v-northgate", opened_at=NOW)
                result: ask.Result = ask.Matters(matters=(matter,))
            case ask.ListJobs():
                result = ask.Jobs(jobs=())
            case ask.Ask(question=words) | ask.Find(text=words):
                self.questions.append(words)
                result = ask.Accepted(job=job(len(self.questions)), last_seq=1)
            case ask.Health():
                result = ask.HealthIs(parts={"engine": ("ok", "ready")})
            case ask.Cancel():
                result = ask.Done()
            case _:
                return frames.Error(
                    id=call.id, error=ErrorValue(code="not_found", message="no such thing")
                )
        return frames.Return(id=call.id, result=result)

    async def tell(self, number: int, follow: ask.Follow, writer: asyncio.StreamWriter) -> None:
        answer = an_answer(self.questions[-1])
        end: ev.EventBody = ev.Completed(
            answer_sha256=answer.text_sha256, verified=1, to_look_at=0, failing=0, answer=answer
        )
        if self.fails is not None:
            end = ev.Failed(error=self.fails)
        bodies = (
            ev.Queued(place=2, eta_s=40.0),
            ev.Progress(stage=ev.Stage.READING, done=62, total=100),
            end,
        )
        for seq, body in enumerate(bodies, start=1):
            if body is end:
                await self.free.wait()
            if seq > follow.after:
                event = ev.Event(job=follow.job, seq=seq, at=NOW, body=body)
                writer.write(frames.encode(frames.EventFrame(id=number, event=event)))


@pytest.fixture
async def peer() -> AsyncIterator[tuple[Peer, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    made = Peer()
    ours.setblocking(False)
    serving = asyncio.create_task(made.serve(ours))
    yield made, theirs
    theirs.close()
    for task in (*made.tasks, serving):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        **more,
    }


async def run(
    line: socket.socket, home: Path, *words: str, stdin: str = "", **more: str
) -> tuple[int, str, str]:
    """Runs the bot with the socket as --fd: exit status, output, errors."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        words[0],
        "--fd",
        str(line.fileno()),
        *words[1:],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(line.fileno(),),
        env=environment(home, **more),
    )
    out, err = await finish(child, stdin.encode())
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


async def test_a_chat_through_pipes(peer, tmp_path):
    made, line = peer
    code, out, err = await run(
        line, tmp_path, "chat", stdin="When did it leak?\n/frobnicate\n/health\n/quit\nnever read\n"
    )
    assert (code, err) == (0, "")
    assert made.questions == ["When did it leak?"]
    assert "Opened #M-7F3K hartwell-v-northgate." in out
    assert " .. queued (2nd, about 40 s)\n .. reading (62 %)\n #M-7F3K hartwell" in out
    assert "She said “The second time, yes.” [1 ✔]" in out
    assert "The zanzibar-marker was ⟨U+001B⟩[31mred." in out
    assert "\n 1 ✔ VERIFIED       Reeves Dep. 3:3 (NG-000213)\n" in out
    assert "There is no command /frobnicate." in out
    assert "ok       engine: ready" in out
    assert "\x1b" not in out


async def test_the_last_line_needs_no_line_end_and_the_end_of_input_leaves(peer, tmp_path):
    made, line = peer
    code, out, _ = await run(line, tmp_path, "chat", stdin="When?\r\nWhere?")
    assert code == 0
    assert made.questions == ["When?", "Where?"]
    assert out.endswith("Goodbye. Running jobs go on.\n")


async def test_nothing_with_words_in_it_is_written_to_disk(peer, tmp_path):
    made, line = peer
    await run(line, tmp_path, "chat", stdin=f"Was the {MARKER} red?\n")
    assert made.questions
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or MARKER.encode() not in file.read_bytes()


async def test_ascii_and_korean(peer, tmp_path):
    _, line = peer
    _, out, _ = await run(
        line, tmp_path, "chat", "--language", "ko", stdin="언제?\n", SECONDCHAIR_SIGNS="ascii"
    )
    assert " .. 대기 중 (2번째, 약 40초)\n" in out
    assert "[1 ok]" in out
    assert "<U+001B>[31mred" in out


async def test_a_terminal_without_the_signs_gets_ascii(peer, tmp_path):
    _, line = peer
    code, out, _ = await run(line, tmp_path, "chat", stdin="When?\n", PYTHONIOENCODING="ascii")
    assert code == 0
    assert "[1 ok]" in out
    assert "\\u201cThe second time" in out


@pytest.mark.parametrize("command", ["ask", "find"])
async def test_once_as_json_is_the_whole_answer(peer, tmp_path, command):
    made, line = peer
    code, out, err = await run(
        line, tmp_path, command, "--matter", "m-7f3k", "--json", "-", stdin="  When?\n"
    )
    assert code == 0
    assert made.questions == ["When?"]
    assert msgspec.json.decode(out, type=Answer) == an_answer("When?")
    assert out.count("\n") == 1
    assert "reading (62 %)" in err
    assert MARKER not in err


async def test_once_for_a_person(peer, tmp_path):
    _, line = peer
    code, out, _ = await run(line, tmp_path, "ask", "--matter", "M-7F3K", "-", stdin="When?")
    assert code == 0
    assert out.startswith(" #M-7F3K")
    assert "[1 ✔]" in out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("unavailable", 6),
        ("not_found", 4),
        ("conflict", 5),
        ("bad_request", 2),
        ("damaged", 7),
        ("internal", 1),
        ("no-such-code", 1),
    ],
)
async def test_a_failure_ends_with_the_code_of_its_kind(peer, tmp_path, error, code):
    made, line = peer
    made.fails = ErrorValue(code=error, message="It broke.", next_step="wait", reference="E-1")
    words = ("ask", "--matter", "M-7F3K", "--json", "-")
    status, out, err = await run(line, tmp_path, *words, stdin="When?")
    assert (status, out) == (code, "")
    told = json.loads(err.splitlines()[-1])["error"]
    assert (told["message"], told["next_step"], told["reference"]) == ("It broke.", "wait", "E-1")


async def test_a_question_on_the_command_line_is_for_the_demo_matter_only(peer, tmp_path):
    made, line = peer
    words = ("ask", "--matter", "M-7F3K", "When?")
    code, out, err = await run(line, tmp_path, *words)
    assert (code, out, made.questions) == (2, "", [])
    assert "stdin" in err
    code, _, _ = await run(line, tmp_path, *words, SECONDCHAIR_DEMO_MATTER="M-7F3K")
    assert (code, made.questions) == (0, ["When?"])


async def test_no_question_and_no_matter(peer, tmp_path):
    _, line = peer
    code, _, err = await run(line, tmp_path, "ask", "--matter", "M-7F3K", "-", stdin=" \n")
    assert (code, "there is no question" in err) == (2, True)
    code, _, err = await run(line, tmp_path, "ask", "-", stdin="When?")
    assert (code, "which matter?" in err) == (2, True)


# --- on a terminal --------------------------------------------------------------------------------


class Terminal:
    """A pseudo-terminal with the bot on it, and all that it printed."""

    def __init__(
        self, line: socket.socket, home: Path, columns: int, *flags: str, **environment: str
    ) -> None:
        self.line, self.home, self.columns = line, home, columns
        self.flags = flags or ("--plain",)
        self.environment = environment
        self.raw = ""
        self.seen = ""

    async def __aenter__(self) -> Terminal:
        self.screen, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, self.columns))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            "chat",
            *self.flags,
            "--fd",
            str(self.line.fileno()),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            pass_fds=(self.line.fileno(),),
            env=environment(self.home, **self.environment),
            start_new_session=True,
        )
        os.set_blocking(self.screen, False)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await end(self.child)
        os.close(self.screen)
        os.close(self.theirs)

    async def end(self) -> int:
        """Waits until the program has left by itself; gives its exit status."""
        async with asyncio.timeout(PATIENCE_S):
            while self.child.returncode is None:
                self.read()  # a terminal that nobody reads holds its program up
                await asyncio.sleep(0.02)
        return self.child.returncode

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    async def see(self, words: str) -> None:
        """Waits until the words stand on the screen, behind what was waited for before."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                while words not in self.text():
                    self.read()
                    await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                raise AssertionError(f"not seen: {words!r} in {self.text()!r}") from None
        text = self.text()
        self.seen = text[text.index(words) + len(words) :]

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(self.screen, 65536).decode("utf-8", "replace"):
                self.seen += data
                self.raw += data

    def text(self) -> str:
        """What was printed, without the terminal's own sequences."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", self.seen)


async def test_a_chat_on_a_terminal(peer, tmp_path):
    made, line = peer
    async with Terminal(line, tmp_path, 80) as terminal:
        await terminal.see("#M-7F3K >")
        terminal.type("When did it leak?\r")
        await terminal.see("She said “The second time, yes.” [1 ✔]")
        await terminal.see("#M-7F3K >")
        terminal.type("/qui\t\r")
        await terminal.see("Goodbye.")
        assert await terminal.end() == 0
        # The terminal is as it was: echo on, lines edited by the terminal.
        assert termios.tcgetattr(terminal.theirs) == terminal.before
    assert made.questions == ["When did it leak?"]


async def test_a_dumb_terminal_gets_the_plain_chat(peer, tmp_path):
    _, line = peer
    async with Terminal(line, tmp_path, 80, "--language", "en", TERM="dumb") as terminal:
        await terminal.see("#M-7F3K >")
        assert "\x1b[?1049h" not in terminal.raw
        terminal.type("/quit\r")
        assert await terminal.end() == 0


LEFT_CLEAN = ("\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[?7h")
"""The other screen is left, the cursor shows, pastes come plain, lines wrap."""
NEVER = re.compile(r"\x1b\[(?:>[0-9]*u|\?1004h|\?[0-9]+\$p|\?100[0236]h|[56]n|0?c)")
"""Enhanced keys, reports of focus and mouse, and questions that a terminal answers by typing."""


async def test_the_app_on_a_terminal_leaves_it_as_it_was(peer, tmp_path):
    made, line = peer
    async with Terminal(line, tmp_path, 100, "--language", "en") as terminal:
        await terminal.see("hartwell-v-northgate")
        terminal.type("When did it leak?\r")
        await terminal.see("[1 ✔]")
        terminal.type("\x11")
        assert await terminal.end() == 0
        terminal.read()
        assert all(sign in terminal.raw for sign in LEFT_CLEAN)
        assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("[1 ✔]")
        assert not NEVER.search(terminal.raw)
        assert termios.tcgetattr(terminal.theirs) == terminal.before
    assert made.questions == ["When did it leak?"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
async def test_the_app_that_is_told_to_end_leaves_the_terminal_clean(peer, tmp_path, number):
    made, line = peer
    made.free.clear()
    async with Terminal(line, tmp_path, 100, "--language", "en") as terminal:
        await terminal.see("hartwell-v-northgate")
        terminal.type("When?\r")
        await terminal.see("reading (62 %)")
        os.kill(terminal.child.pid, number)
        assert await terminal.end() == 0
        terminal.read()
        assert all(sign in terminal.raw for sign in LEFT_CLEAN)
        assert termios.tcgetattr(terminal.theirs) == terminal.before
        # The job was not asked to stop: it goes on without a window.
        assert not any(isinstance(request, ask.Cancel) for request in made.requests)


async def test_the_app_ends_when_its_terminal_goes_away(peer, tmp_path):
    _, line = peer
    async with Terminal(line, tmp_path, 100, "--language", "en") as terminal:
        await terminal.see("hartwell-v-northgate")
        os.close(terminal.theirs)
        os.close(terminal.screen)
        os.kill(terminal.child.pid, signal.SIGHUP)  # what the gateway sends as well
        await asyncio.wait_for(terminal.child.wait(), PATIENCE_S)
        terminal.screen, terminal.theirs = pty.openpty()  # for the end of the test


async def test_the_mouse_is_off_until_it_is_switched_on_and_off_again_at_the_end(peer, tmp_path):
    _, line = peer
    async with Terminal(line, tmp_path, 100, "--language", "en") as terminal:
        await terminal.see("hartwell-v-northgate")
        assert "\x1b[?1000h" not in terminal.raw
        terminal.type("\x1b[21~")
        await terminal.see("Mouse on")
        assert "\x1b[?1000h" in terminal.raw
        terminal.type("\x11")
        assert await terminal.end() == 0
        terminal.read()
        assert terminal.raw.rindex("\x1b[?1000l") > terminal.raw.rindex("\x1b[?1000h")


async def test_ctrl_c_leaves_the_job_at_work_and_gives_the_prompt_back(peer, tmp_path):
    made, line = peer
    made.free.clear()
    async with Terminal(line, tmp_path, 100) as terminal:
        await terminal.see("#M-7F3K >")
        terminal.type("When?\r")
        await terminal.see("reading (62 %)")
        os.kill(terminal.child.pid, signal.SIGINT)
        await terminal.see(f"{JOB} goes on without you.")
        await terminal.see("#M-7F3K >")
        assert not any(isinstance(request, ask.Cancel) for request in made.requests)
        made.free.set()
        terminal.type("/show\r")
        await terminal.see("[1 ✔]")
        await terminal.see("#M-7F3K >")
        terminal.type("\x04")
        assert await terminal.end() == 0


async def test_five_hundred_pasted_lines_are_one_question(peer, tmp_path):
    made, line = peer
    pasted = "\n".join(f"line {n}" for n in range(500))
    async with Terminal(line, tmp_path, 100) as terminal:
        await terminal.see("#M-7F3K >")
        for start in range(0, len(pasted), 1000):  # a terminal's buffer holds 4 KB
            piece = pasted[start : start + 1000]
            opening = "\x1b[200~" if start == 0 else ""
            closing = "\x1b[201~" if start + 1000 >= len(pasted) else ""
            terminal.type(opening + piece + closing)
            terminal.read()
            await asyncio.sleep(0.05)
        terminal.type("\r")
        await terminal.see("[1 ✔]")
        await terminal.see("#M-7F3K >")
        terminal.type("\x04")
        await terminal.end()
    assert made.questions == [pasted]


async def test_the_history_of_typed_lines_is_not_on_disk(peer, tmp_path):
    made, line = peer
    async with Terminal(line, tmp_path, 100) as terminal:
        await terminal.see("#M-7F3K >")
        terminal.type(f"{MARKER}?\r")
        await terminal.see("[1 ✔]")
        await terminal.see("#M-7F3K >")
        terminal.type("\x1b[A\r")  # arrow up: the same question again
        await terminal.see("[1 ✔]")
        await terminal.see("#M-7F3K >")
        terminal.type("\x04")
        await terminal.end()
    assert made.questions == [f"{MARKER}?"] * 2
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or MARKER.encode() not in file.read_bytes()
