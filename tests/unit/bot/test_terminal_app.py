"""The app of the terminal, driven by its keys, over a worker that answers from a table."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools

import msgspec
import pytest
from textual.events import Paste  # noqa: TID251 - what a terminal sends

from bot import words as catalogue
from bot.blocks import Tone, cells
from bot.look import UNICODE, Look
from bot.outbox import Outbox
from bot.terminal.app import TerminalApp
from bot.terminal.desk import Desk, Start
from bot.terminal.paint import STYLES
from protocol import events as ev
from protocol import jobs as ask
from protocol.answers import ItemKind, ReviewState, Verdict
from protocol.errors import NotFound, Unavailable
from protocol.ids import DocumentId, JobId, MatterId, UserName
from protocol.record import (
    Coverage,
    DocumentClass,
    DocumentInfo,
    Ledger,
    Matter,
    PageInfo,
    Reading,
)

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MATTER, OTHER = MatterId("M-7F3K"), MatterId("M-0000")
OLD, JOB = JobId("J-0DV3K9Q00-0000"), JobId("J-0DV3K9Q2A-7F3K")
PAGE = (
    "a line of the page\n" * 60
    + "Q.  Did you?\nA.  The second time, yes.\nNG-000213\n"
    + "more of the page\n" * 60
)
TEXT = "She said “The second time, yes.” It shall pay $640."
RECORD = DocumentInfo(
    id=DocumentId("d1"),
    title="Reeves Dep.",
    name="Reeves Dep.pdf",
    kind="pdf",
    document_class=DocumentClass.EVIDENCE,
    text_sha256="t",
    chars=100,
    pages=4,
)
SIZES = [(60, 24), (80, 24), (120, 40), (200, 50)]


class Worker:
    """Answers from a table; a job's events wait at the gate before the last one."""

    def __init__(self) -> None:
        self.sent: list[ask.Request] = []
        self.results: dict[type, object] = {}
        self.jobs: dict[MatterId, tuple[ask.Job, ...]] = {}
        self.bodies: dict[JobId, list[ev.EventBody]] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def call(self, request: ask.Request) -> ask.Result:
        self.sent.append(request)
        if isinstance(request, ask.ListJobs):
            return ask.Jobs(jobs=self.jobs.get(request.matter, ()))
        result = self.results[type(request)]
        if callable(result):
            result = result(request)
        if isinstance(result, Exception):
            raise result
        return result

    async def follow(self, job: JobId, after: int = 0):
        for seq, body in enumerate(self.bodies[job], start=1):
            if isinstance(body, ev.LAST):
                await self.gate.wait()
            if seq > after:
                yield ev.Event(job=job, seq=seq, at=NOW, body=body)
                await asyncio.sleep(0)

    def all(self, kind: type) -> list:
        return [request for request in self.sent if isinstance(request, kind)]


def a_job(ident: JobId, state: ask.JobState, matter: MatterId = MATTER) -> ask.Job:
    return ask.Job(
        id=ident,
        matter=matter,
        kind="ask",
        state=state,
        user=UserName("you"),
        board="A",
        created_at=NOW,
        attempts=1,
        place=None,
        eta_s=None,
        last_seq=3,
    )


@pytest.fixture
def answer(make_answer, make_item, make_cite):
    start = PAGE.index("The second")
    place = make_cite("Reeves Dep. 2:3", words="The second time, yes.", start=start, page=3)
    other = make_cite("Lease § 4", words="It shall not pay $640.", page=3)
    return make_answer(
        TEXT,
        (
            make_item(1, TEXT, "“The second time, yes.”", Verdict.VERIFIED, places=(place,)),
            make_item(
                2,
                TEXT,
                "It shall pay $640",
                Verdict.ALTERED,
                diff='record "shall not" / reply "shall"',
                places=(other,),
                reason="Words differ",
            ),
            make_item(3, TEXT, "$640", Verdict.CHECK, kind=ItemKind.AMOUNT, reason="By OCR"),
        ),
        text_sha256="a" * 64,
    )


@pytest.fixture
def worker(answer):
    made = Worker()
    page = PageInfo(
        number=3,
        start=0,
        end=len(PAGE),
        label=None,
        bates="NG-000213",
        reading=Reading.TEXT,
        confidence=None,
        readers_disagree=False,
        reason="",
    )
    read = Coverage(documents=1, documents_read=1, pages=4, pages_read=4, unread=())
    made.results = {
        ask.ListMatters: ask.Matters(
            matters=(
                Matter(id=MATTER, title="hartwell-v-northgate", opened_at=NOW),
                Matter(id=OTHER, title="하트웰 대 노스게이트", opened_at=NOW),
            )
        ),
        ask.ListDocuments: ask.Documents(
            documents=(RECORD,), ledger=Ledger(rows=()), coverage=read
        ),
        ask.GetAnswer: lambda request: ask.AnswerIs(
            answer=msgspec.structs.replace(answer, job=request.job)
        ),
        ask.OpenSource: ask.SourcePage(document=RECORD, page=page, text=PAGE),
        ask.Decide: ask.Done(),
        ask.Cancel: ask.Done(),
        ask.Export: ask.Exported(name="a.md", size_bytes=1_234, sha256="b" * 64),
        ask.Health: ask.HealthIs(parts={"board A": ("degraded", "82 °C")}),
    }
    for kind in (ask.Ask, ask.Find, ask.Summarize, ask.Extract):
        made.results[kind] = ask.Accepted(job=JOB, last_seq=1)
    made.bodies[JOB] = [
        ev.Queued(place=2, eta_s=40.0),
        ev.Progress(stage=ev.Stage.READING, done=62, total=100),
        ev.Completed(answer_sha256="a" * 64, verified=1, to_look_at=1, failing=1, answer=answer),
    ]
    return made


def desk_of(worker: Worker, *, language: str = "en", matter: str = MATTER, **more) -> Desk:
    keys = (f"key-{n}" for n in itertools.count(1))
    return TerminalApp(
        Start(
            worker=worker,
            outbox=more.pop("outbox", None) or Outbox(None),
            look=Look(words=catalogue.load(language), signs=UNICODE),
            user="you",
            matter=matter,
            new_key=lambda: next(keys),
            **more,
        )
    )


async def settle(pilot, until=None) -> None:
    """Lets everything that is on its way arrive; with a condition, until it holds."""
    for _ in range(200):
        await pilot.pause(0.01)
        if until is None or until():
            break
    else:
        raise AssertionError("it did not come: " + screen_text(pilot.app))
    await pilot.pause()


def screen_text(desk: Desk) -> str:
    """What stands on the screen, line by line."""
    return "\n".join(
        "".join(segment.text for segment in strip)
        for strip in desk.screen._compositor.render_strips()
    )


async def say(pilot, line: str) -> None:
    """Writes a line and sends it."""
    pilot.app.composer.insert(line)
    await pilot.press("enter")


async def ask_and_wait(pilot, question: str = "When?") -> None:
    await say(pilot, question)
    await settle(pilot, lambda: "[1 ✔]" in screen_text(pilot.app))


# --- asking and reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_becomes_an_annotated_reply_at_every_width(worker, size):
    desk = desk_of(worker)
    async with desk.run_test(size=size) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        seen = screen_text(desk)
        assert all(len(line) <= size[0] for line in seen.splitlines())
        assert worker.all(ask.Ask)[0].question == "When?"


async def test_progress_fills_one_place_and_other_jobs_go_on_beside_it(worker):
    worker.gate.clear()
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(pilot, "When?")
        await settle(pilot, lambda: "reading (62 %)" in screen_text(desk))
        assert "queued" not in screen_text(desk)
        await say(pilot, "/cancel")
        await settle(pilot, lambda: worker.all(ask.Cancel))
        assert worker.all(ask.Cancel)[0].job == JOB
        assert "reading (62 %)" in screen_text(desk)
        worker.gate.set()
        await settle(pilot, lambda: "[1 ✔]" in screen_text(desk))
        assert "62 %" not in screen_text(desk)


async def test_a_resize_wraps_anew(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        assert "It shall pay $640. [2 ✘] [3 ≈]" in screen_text(desk)
        for width in (60, 200, 61, 80):
            await pilot.resize_terminal(width, 40)
            await settle(pilot, lambda width=width: desk.messages._width <= width)
            seen = screen_text(desk)
            assert all(mark in seen for mark in ("[1 ✔]", "[2 ✘]", "[3 ≈]"))
            assert "Draft · awaiting review" in seen


async def test_what_a_terminal_would_obey_is_shown(worker):
    title = "x\x1b[2J\u202eevil"
    worker.results[ask.ListMatters] = ask.Matters(
        matters=(Matter(id=MATTER, title=title, opened_at=NOW),)
    )
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 30)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        seen = screen_text(desk)
        assert "x⟨U+001B⟩[2J⟨U+202E⟩evil" in seen
        assert "\x1b" not in seen
        assert "\u202e" not in seen


# --- writing --------------------------------------------------------------------------------------


async def test_five_hundred_pasted_lines_are_one_question(worker):
    pasted = "\n".join(f"줄 {n}\t한글 漢字 🧑‍⚖️" for n in range(500))
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        desk.composer.post_message(Paste(pasted))
        await settle(pilot, lambda: desk.composer.text == pasted)
        await pilot.press("enter")
        await settle(pilot, lambda: worker.all(ask.Ask))
        assert worker.all(ask.Ask)[0].question == pasted
        await settle(pilot, lambda: "[1 ✔]" in screen_text(desk))
        await pilot.press("up")
        assert desk.composer.text == pasted


async def test_a_paste_that_a_terminal_would_obey_is_made_visible(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 24)) as pilot:
        desk.composer.post_message(Paste("a\r\nb\x1b[31m \u202ec"))
        await settle(pilot, lambda: desk.composer.text != "")
        assert desk.composer.text == "a\nb⟨U+001B⟩[31m ⟨U+202E⟩c"


async def test_lines_completion_and_history(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 30)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await pilot.press(*"/ex")
        await settle(pilot, lambda: "/extract" in screen_text(desk))
        assert "/export" in screen_text(desk)
        await pilot.press("t", "tab", *"da", "tab")
        assert desk.composer.text == "/extract dates "
        await pilot.press("ctrl+c")
        assert desk.composer.text == ""
        await pilot.press(*"first", "ctrl+j", *"second", "enter")
        await settle(pilot, lambda: worker.all(ask.Ask))
        assert worker.all(ask.Ask)[0].question == "first\nsecond"
        await pilot.press("up")
        assert desk.composer.text == "first\nsecond"
        await pilot.press("down")
        assert desk.composer.text == ""


# --- findings, sources, differences ---------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_finding_opens_its_page_with_the_passage_lit(worker, size):
    desk = desk_of(worker)
    async with desk.run_test(size=size) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await pilot.press("f2")
        # The failing one comes first, with record and reply side by side or one above the other.
        await settle(pilot, lambda: "The record says" in screen_text(desk))
        assert "[not ]" in screen_text(desk) or "[not]" in screen_text(desk)
        await pilot.press("end", "o")
        await settle(pilot, lambda: "▌ A.  The second time, yes." in screen_text(desk))
        lit = [
            segment.text
            for strip in desk.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.bgcolor == STYLES[Tone.LIT].bgcolor
        ]
        assert "The second time, yes." in "".join(lit)
        assert worker.all(ask.OpenSource)[-1].page == 3
        await pilot.press("escape", "escape")
        await settle(pilot, lambda: desk.composer.has_focus)
        assert "The record says" not in screen_text(desk)


async def test_findings_stay_with_their_reply_whatever_comes_in(worker, answer):
    """What is opened, compared or approved there is never another reply's."""
    later = JobId("J-0DV3K9Q9Z-0001")
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await pilot.press("f2")
        await settle(pilot, lambda: desk.side.finding is not None)
        worker.results[ask.GetAnswer] = ask.AnswerIs(
            answer=msgspec.structs.replace(
                answer, job=later, items=(), text="Another.", text_sha256="b" * 64
            )
        )
        worker.jobs[MATTER] = (a_job(later, ask.JobState.DONE), a_job(JOB, ask.JobState.DONE))
        await desk._look_in(desk.channel)
        await settle(pilot, lambda: "Another." in screen_text(desk))
        assert f"Findings of {JOB}" in screen_text(desk)
        await pilot.press("end", "o")
        await settle(pilot, lambda: "▌ A.  The second time, yes." in screen_text(desk))
        await pilot.press("r", *"no", "enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].job == JOB
        assert worker.all(ask.Decide)[0].answer_sha256 == "a" * 64


# --- review ---------------------------------------------------------------------------------------


async def test_an_approval_needs_a_reason_for_every_item_that_is_not_green(worker, answer):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await pilot.press("f6")
        await settle(pilot, lambda: "Approve J-0DV3K9Q2A-7F3K" in screen_text(desk))
        assert "2 ✘ ALTERED" in screen_text(desk)
        assert "1 ✔ VERIFIED:" not in screen_text(desk)
        desk.focused.value = "the lease is right"
        await pilot.press("enter", "enter")
        await settle(pilot, lambda: "Item 3 needs a reason" in screen_text(desk))
        assert not worker.all(ask.Decide)
        approved = msgspec.structs.replace(answer, review=ReviewState.APPROVED)
        worker.results[ask.GetAnswer] = ask.AnswerIs(answer=approved)
        desk.focused.value = "page seen"
        await pilot.press("ctrl+s")
        await settle(pilot, lambda: worker.all(ask.Decide))
        sent = worker.all(ask.Decide)[0]
        assert sent.acknowledged == {2: "the lease is right", 3: "page seen"}
        assert sent.answer_sha256 == "a" * 64
        assert sent.state is ReviewState.APPROVED
        # The reply above says so in its corner.
        await settle(pilot, lambda: "Draft · awaiting review" not in screen_text(desk))
        await pilot.press("f8")
        await settle(pilot, lambda: "a.md, 1,234 bytes" in screen_text(desk))


async def test_an_approval_that_is_left_decides_nothing(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await say(pilot, "/approve")
        await settle(pilot, lambda: "Approve J-" in screen_text(desk))
        await pilot.press("escape")
        await settle(pilot, lambda: len(desk.screen_stack) == 1)
        assert not worker.all(ask.Decide)


async def test_a_return_takes_a_note(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await pilot.press("f7", *"wrong page", "enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].note == "wrong page"
        assert worker.all(ask.Decide)[0].state is ReviewState.RETURNED


# --- channels, the queue, coming back -------------------------------------------------------------


async def test_a_channel_fills_itself_from_the_worker(worker):
    """Closing the window lost nothing: the reply of before and the job at work are there."""
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.RUNNING), a_job(OLD, ask.JobState.DONE))
    worker.results[ask.GetAnswer] = lambda request: (
        NotFound("no reply yet") if request.job == JOB else worker.old
    )
    done = worker.bodies[JOB][-1]
    worker.old = ask.AnswerIs(
        answer=msgspec.structs.replace(done.answer, question="Before?", job=OLD)
    )
    worker.gate.clear()
    desk = desk_of(worker, matter="")
    async with desk.run_test(size=(120, 60)) as pilot:
        await settle(pilot, lambda: "/ask Before?" in screen_text(desk))
        assert desk.channel.matter.id == MATTER  # the one in which this person worked last
        await settle(pilot, lambda: "reading (62 %)" in screen_text(desk))
        worker.gate.set()
        await settle(
            pilot,
            lambda: "/ask When?" in screen_text(desk) or screen_text(desk).count("[1 ✔]") == 2,
        )


async def test_a_job_from_elsewhere_marks_its_channel_until_it_is_read(worker):
    worker.jobs[OTHER] = (a_job(OLD, ask.JobState.DONE, OTHER),)
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        other = desk.channels[1]
        await other.look_in()
        assert other.unread == 0  # it was there before
        worker.jobs[OTHER] = (a_job(JOB, ask.JobState.DONE, OTHER), *worker.jobs[OTHER])
        await desk._look_in(other)
        await settle(pilot, lambda: "● 1 new" in screen_text(desk))
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: desk.channel is other and other.entries)
        await settle(pilot, lambda: "new" not in screen_text(desk).split("hartwell")[0])
        assert other.unread == 0


async def test_what_is_being_written_stays_in_its_channel(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(60, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        desk.composer.insert("half a ques")
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: desk.channel is desk.channels[1])
        assert desk.composer.text == ""
        await pilot.press("ctrl+p")
        await settle(pilot, lambda: desk.channel is desk.channels[0])
        assert desk.composer.text == "half a ques"


async def test_the_queue_cancels_and_shows(worker):
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.RUNNING), a_job(OLD, ask.JobState.DONE))
    worker.gate.clear()
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None and len(desk.channel.entries) == 2)
        await pilot.press("f3")
        await settle(pilot, lambda: "Queue of #M-7F3K" in screen_text(desk))
        assert "on board A" in screen_text(desk)
        await pilot.press("c")
        await settle(pilot, lambda: worker.all(ask.Cancel))
        assert worker.all(ask.Cancel)[0].job == JOB
        worker.gate.set()


async def test_health_help_and_record_stand_beside(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 60)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        for key, words in (
            ("f4", "board A: 82 °C"),
            ("f5", "Reeves Dep."),
            ("f1", "Ctrl+Q: leave"),
        ):
            await pilot.press(key)
            await settle(pilot, lambda words=words: words in screen_text(desk))
        await pilot.press("f1")
        await settle(pilot, lambda: "Ctrl+Q: leave" not in screen_text(desk))
        assert desk.composer.has_focus


async def test_search_reply_and_again(worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot)
        await pilot.press("ctrl+f")
        desk.query_one("#search").value = "second time"
        await pilot.press("enter")
        await settle(pilot, lambda: "1 of 1" in screen_text(desk))
        await pilot.press("ctrl+f")
        desk.query_one("#search").value = "no such"
        await pilot.press("enter")
        await settle(pilot, lambda: "not found: no such" in screen_text(desk))
        assert desk.messages.has_focus
        await pilot.press("t")
        await settle(pilot, lambda: len(worker.all(ask.Ask)) == 2)
        assert worker.all(ask.Ask)[1].question == "When?"
        await pilot.press("q")
        assert desk.composer.text == "About “When?”: "


# --- what goes wrong ------------------------------------------------------------------------------


async def test_a_lost_line_and_a_refusal_are_said_in_words(worker):
    up = [True]
    desk = desk_of(worker, up=lambda: up[0])
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        worker.results[ask.Ask] = Unavailable("the worker is away", next_step="try again")
        await say(pilot, "When?")
        await settle(pilot, lambda: "✘ FAILED  the worker is away" in screen_text(desk))
        up[0] = False
        desk._poll()
        await settle(pilot, lambda: "line lost" in screen_text(desk))


async def test_a_matter_that_cannot_be_opened_says_why_and_opens_once_it_can(worker, monkeypatch):
    monkeypatch.setattr("bot.terminal.desk._POLL_S", 0.1)
    matters = worker.results[ask.ListMatters]
    worker.results[ask.ListMatters] = Unavailable("the record is being copied")
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: "✘ FAILED  the record is being copied" in screen_text(desk))
        await pilot.press("x")
        assert "✘ FAILED  the record is being copied" in screen_text(desk)
        worker.results[ask.ListMatters] = matters
        await settle(pilot, lambda: desk.channel is not None)
        assert "FAILED" not in screen_text(desk)
        assert desk.composer.text == "x"


async def test_a_mistake_of_ours_ends_without_words_of_the_case(worker, capsys):
    worker.results[ask.Ask] = lambda request: RuntimeError(request.question)
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(pilot, "SECRET")
        await settle(pilot, lambda: "this program failed (RuntimeError)" in screen_text(desk))
    assert "SECRET" not in "".join(capsys.readouterr())


async def test_korean(worker):
    desk = desk_of(worker, language="ko")
    async with desk.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(pilot, "언제?")
        seen = screen_text(desk)
        assert "초안" in seen
        assert all(cells(line) <= 80 for line in seen.splitlines())


async def test_a_mistake_in_the_app_itself_ends_it_without_a_traceback(worker, capsys):
    desk = desk_of(worker)

    async def goes_wrong() -> None:
        async with desk.run_test(size=(100, 40)) as pilot:
            await settle(pilot, lambda: desk.channel is not None)
            desk._handle_exception(RuntimeError("SECRET"))
            await pilot.pause()

    with pytest.raises(RuntimeError):
        await goes_wrong()
    assert isinstance(desk.failure, RuntimeError)
    assert not desk._exit_renderables
    assert "SECRET" not in "".join(capsys.readouterr())


# --- much of it -----------------------------------------------------------------------------------


async def test_a_list_to_go_through_that_is_longer_than_the_screen_can_be_gone_through(
    worker, answer, make_item
):
    many = tuple(
        make_item(n, TEXT, "$640", Verdict.CHECK, kind=ItemKind.AMOUNT, reason="By OCR")
        for n in range(1, 31)
    )
    worker.bodies[JOB][-1] = msgspec.structs.replace(
        worker.bodies[JOB][-1], answer=msgspec.structs.replace(answer, items=many)
    )
    desk = desk_of(worker)
    async with desk.run_test(size=(60, 20)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(pilot, "When?")
        await settle(pilot, lambda: "[30 ≈]" in screen_text(desk) or desk.channel.entries[0].ended)
        await say(pilot, "/approve")
        await settle(pilot, lambda: "Ctrl+S approve" in screen_text(desk))
        for n in range(1, 31):
            desk.screen.query_one(f"#reason-{n}").value = f"seen {n}"
        desk.screen.query_one("#reason-30").focus()
        await settle(pilot, lambda: "30 ≈ CHECK" in screen_text(desk))
        assert "Ctrl+S approve" in screen_text(desk)
        await pilot.press("enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].acknowledged == {n: f"seen {n}" for n in range(1, 31)}


async def test_older_jobs_come_when_one_goes_up(worker):
    made = [JobId(f"J-0DV3K9{n:03d}-0000") for n in range(30)]
    worker.jobs[MATTER] = tuple(a_job(job, ask.JobState.DONE) for job in reversed(made))
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None and len(desk.channel.entries) == 12)
        await settle(pilot, lambda: all(entry.ended for entry in desk.channel.entries))
        assert desk.channel.entries[-1].job == made[-1]
        desk.messages.focus()
        await pilot.press("home", "up")
        await settle(pilot, lambda: len(desk.channel.entries) == 24)
        assert [entry.job for entry in desk.channel.entries] == made[6:]
        # What was on top is still in view.
        assert desk.messages.row.job == made[18]
