"""What a typed line sends, what comes back, and what is said when it cannot be done.

The worker here is a table from request to result; the face keeps what it was shown.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools

import msgspec
import pytest

from bot import chat, deciding
from bot.blocks import plain
from bot.conversation import Conversation
from bot.outbox import Outbox
from protocol import events as ev
from protocol import jobs as ask
from protocol.answers import ItemKind, ReviewState, Verdict
from protocol.errors import BadRequest, Conflict, ErrorValue, NotFound, Refused, Unavailable
from protocol.ids import DocumentId, JobId, MatterId, UserName
from protocol.record import (
    Coverage,
    DocumentClass,
    DocumentInfo,
    Ledger,
    LedgerRow,
    LedgerState,
    Matter,
    PageInfo,
    Reading,
)

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MATTER, OTHER = MatterId("M-7F3K"), MatterId("M-0000")
JOB, OLD = JobId("J-0DV3K9Q2A-7F3K"), JobId("J-0DV3K9Q00-0000")
TITLE = "hartwell-v-northgate"
PAGE = "Q.  Did you?\nA.  The second time, yes.\nNG-000213"


class Worker:
    """Answers from a table, remembers what it was sent."""

    def __init__(self) -> None:
        self.sent: list[ask.Request] = []
        self.results: dict[type, object] = {}
        self.bodies: dict[JobId, list[ev.EventBody]] = {}
        self.followed: list[tuple[JobId, int]] = []

    async def call(self, request: ask.Request) -> ask.Result:
        self.sent.append(request)
        result = self.results[type(request)]
        if isinstance(result, list):
            result = result.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def follow(self, job: JobId, after: int = 0):
        self.followed.append((job, after))
        for seq, body in enumerate(self.bodies[job], start=1):
            if isinstance(body, BaseException):
                raise body
            if seq > after:
                yield ev.Event(job=job, seq=seq, at=NOW, body=body)
                await asyncio.sleep(0)

    def last(self, kind: type):
        return next(request for request in reversed(self.sent) if isinstance(request, kind))


class Face:
    """Keeps what it was shown."""

    def __init__(self, look) -> None:
        self.look = look
        self.text = ""
        self.steps: list[str] = []
        self.replies: list[str | None] = []
        self.questions: list[str] = []

    def show(self, blocks) -> None:
        self.text += plain(blocks, self.look.width)

    def progress(self, watch) -> None:
        self.steps.append(watch.line)

    async def ask(self, question):
        self.questions.append(question)
        return self.replies.pop(0)


def a_document(ident: str, title: str, name: str) -> DocumentInfo:
    return DocumentInfo(
        id=DocumentId(ident),
        title=title,
        name=name,
        kind="pdf",
        document_class=DocumentClass.EVIDENCE,
        text_sha256="t",
        chars=100,
        pages=4,
    )


RECORD = (
    a_document("d1", "Reeves Dep.", "Reeves Dep.pdf"),
    a_document("d2", "Lease", "Lease.pdf"),
    a_document("d3", "Lease amendment", "Lease amendment.pdf"),
)


def a_job(ident: JobId, state: ask.JobState) -> ask.Job:
    return ask.Job(
        id=ident,
        matter=MATTER,
        kind="ask",
        state=state,
        user=UserName("you"),
        board="A",
        created_at=NOW,
        attempts=1,
        place=2 if state is ask.JobState.WAITING else None,
        eta_s=40.0 if state is ask.JobState.WAITING else None,
    )


@pytest.fixture
def answer(make_answer, make_item, make_cite):
    text = "She said “The second time, yes.” Paid $640."
    start = PAGE.index("The second")
    place = make_cite("Reeves Dep. 2:3", words="The second time, yes.", start=start, page=3)
    return make_answer(
        text,
        (
            make_item(1, text, "“The second time, yes.”", Verdict.VERIFIED, places=(place,)),
            make_item(2, text, "$640", Verdict.CHECK, kind=ItemKind.AMOUNT, reason="By OCR"),
            make_item(3, text, "“The second time, yes.”", Verdict.NOT_A_QUOTE),
        ),
        text_sha256="a" * 64,
    )


@pytest.fixture
def worker(answer):
    made = Worker()
    made.results = {
        ask.ListMatters: ask.Matters(matters=(Matter(id=MATTER, title=TITLE, opened_at=NOW),)),
        ask.ListJobs: ask.Jobs(jobs=()),
        ask.ListDocuments: ask.Documents(
            documents=RECORD,
            ledger=Ledger(rows=()),
            coverage=Coverage(documents=3, documents_read=3, pages=9, pages_read=9, unread=()),
        ),
        ask.GetAnswer: ask.AnswerIs(answer=answer),
        ask.OpenSource: ask.SourcePage(
            document=RECORD[0],
            page=PageInfo(
                number=3,
                start=0,
                end=len(PAGE),
                label=None,
                bates="NG-000213",
                reading=Reading.TEXT,
                confidence=None,
                readers_disagree=False,
                reason="",
            ),
            text=PAGE,
        ),
        ask.Decide: ask.Done(),
        ask.Cancel: ask.Done(),
        ask.Forget: ask.Done(),
        ask.Export: ask.Exported(name="a.md", size_bytes=1_234, sha256="b" * 64),
        ask.Health: ask.HealthIs(parts={"engine": ("degraded", "small model only")}),
        ask.GetBoards: BadRequest("this worker does not do that"),
    }
    for kind in (
        ask.Ask,
        ask.Find,
        ask.Summarize,
        ask.Extract,
        ask.Chronology,
        ask.CiteCheck,
        ask.WriteDraft,
    ):
        made.results[kind] = ask.Accepted(job=JOB, last_seq=1)
    done = ev.Completed(
        answer_sha256=answer.text_sha256, verified=1, to_look_at=1, failing=0, answer=answer
    )
    made.bodies[JOB] = [
        ev.Queued(place=2, eta_s=40.0),
        ev.Started(attempt=1, board="A"),
        ev.Progress(stage=ev.Stage.READING, done=62, total=100),
        ev.Progress(stage=ev.Stage.CHECKING, done=0, total=0),
        done,
    ]
    return made


@pytest.fixture
def face(look):
    return Face(look)


@pytest.fixture
async def talk(worker, face):
    keys = (f"key-{n}" for n in itertools.count(1))
    made = Conversation(worker, face, Outbox(None), thread="chat-you", new_key=lambda: next(keys))
    assert await chat.begin(made)
    face.text = ""
    worker.sent.clear()
    return made


# --- matters --------------------------------------------------------------------------------------


async def test_the_only_matter_is_opened(talk):
    assert talk.matter is not None
    assert talk.matter.id == MATTER


async def test_several_matters_are_listed_and_one_is_opened(talk, worker, face):
    talk.matter = None
    two = (
        Matter(id=OTHER, title="x\x1b[2Jy", opened_at=NOW),
        Matter(id=MATTER, title=TITLE, opened_at=NOW),
    )
    worker.results[ask.ListMatters] = ask.Matters(matters=two)
    assert await chat.begin(talk)
    assert "#M-0000  x⟨U+001B⟩[2Jy" in face.text
    assert talk.matter is None
    assert await chat.handle(talk, "/matter #m-7f3k")
    assert talk.matter == two[1]
    assert f"Opened #M-7F3K {TITLE}." in face.text


async def test_a_matter_one_may_not_see_reads_like_one_that_is_not_there(talk, face):
    assert not await chat.handle(talk, "/matter M-0000")
    assert "✘ FAILED  no such matter" in face.text
    assert talk.matter is not None
    assert talk.matter.id == MATTER


async def test_no_matters(talk, worker, face):
    worker.results[ask.ListMatters] = ask.Matters(matters=())
    assert await chat.handle(talk, "/matter")
    assert "You have no matters on this box." in face.text


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"board A": ("down", "the model's file is not there")}, True),
        ({"board A": ("down", "x"), "board B": ("ok", "ready")}, False),
        ({"board A": ("degraded", "starting")}, False),
        ({"worker": ("down", "x")}, False),
        (Unavailable("away"), False),
    ],
)
async def test_the_start_says_when_replies_come_from_the_record_alone(
    talk, worker, face, parts, said
):
    worker.results[ask.Health] = (
        parts if isinstance(parts, Exception) else ask.HealthIs(parts=parts)
    )
    assert await chat.begin(talk)
    text = " ".join(face.text.split())
    told = "No model answers now: the model's file is not there. Until one does, replies are made"
    assert (told in text) is said
    assert ("record alone" in text) is said


async def test_binding_another_matter_forgets_the_reply(talk, worker, face):
    await chat.handle(talk, "When?")
    assert talk.answer is not None
    await chat.handle(talk, "/matter M-7F3K")
    assert talk.answer is None
    assert not await chat.handle(talk, "/approve")
    assert "There is no reply here yet" in face.text


@pytest.mark.parametrize("line", ["When?", "/find x", "/jobs", "/documents", "/forget", "/open 1"])
async def test_before_a_matter_is_chosen_nothing_is_sent(talk, worker, face, line):
    talk.matter = None
    assert not await chat.handle(talk, line)
    assert worker.sent == []
    assert "Choose a matter first." in face.text


# --- work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("When?", ask.Ask(matter=MATTER, conversation="chat-you", question="When?", key="key-1")),
        ("/find a b", ask.Find(matter=MATTER, text="a b", key="key-1", conversation="chat-you")),
        ("/summarize", ask.Summarize(matter=MATTER, key="key-1", conversation="chat-you")),
        (
            "/summarize reeves dep, lease",
            ask.Summarize(
                matter=MATTER,
                key="key-1",
                documents=(DocumentId("d1"), DocumentId("d2")),
                conversation="chat-you",
            ),
        ),
        ("/chronology", ask.Chronology(matter=MATTER, key="key-1", conversation="chat-you")),
        (
            '/chronology in:"Lease 2" from:2026-01',
            ask.Chronology(
                matter=MATTER,
                key="key-1",
                only='in:"Lease 2" from:2026-01',
                conversation="chat-you",
            ),
        ),
        (
            "/extract in:lease",
            ask.Extract(
                matter=MATTER, what="all", key="key-1", only="in:lease", conversation="chat-you"
            ),
        ),
        (
            "/extract dates 종류:증거",
            ask.Extract(
                matter=MATTER, what="dates", key="key-1", only="종류:증거", conversation="chat-you"
            ),
        ),
        (
            "/citecheck lease",
            ask.CiteCheck(
                matter=MATTER,
                key="key-1",
                document=DocumentId("d2"),
                conversation="chat-you",
            ),
        ),
        (
            "/draft declaration Dana Reeves",
            ask.WriteDraft(
                matter=MATTER,
                form="declaration",
                key="key-1",
                witness="Dana Reeves",
                conversation="chat-you",
            ),
        ),
        ("/extract", ask.Extract(matter=MATTER, what="all", key="key-1", conversation="chat-you")),
        (
            "/extract COLUMNS: tenant, start date,, tenant, @leases; Lease.pdf",
            ask.Extract(
                matter=MATTER,
                what="columns",
                columns=("tenant", "start date", "@leases"),
                key="key-1",
                documents=(DocumentId("d2"),),
                conversation="chat-you",
            ),
        ),
        (
            "/extract DATES d2, Lease.pdf",
            ask.Extract(
                matter=MATTER,
                what="dates",
                key="key-1",
                documents=(DocumentId("d2"),),
                conversation="chat-you",
            ),
        ),
    ],
)
async def test_a_line_becomes_one_request(talk, worker, face, line, request_):
    assert await chat.handle(talk, line)
    assert worker.last(type(request_)) == request_
    assert worker.followed == [(JOB, 0)]
    assert "She said “The second time, yes.” [1 ✔] Paid $640. [2 ≈]" in face.text
    assert f"#M-7F3K {TITLE}" in face.text
    assert talk.answer is not None


async def test_progress_fills_the_same_place(talk, face):
    await chat.handle(talk, "When?")
    assert face.steps == ["queued (2nd, about 40 s)", "starting", "reading (62 %)", "checking"]


async def test_every_request_has_a_key_of_its_own(talk, worker):
    await chat.handle(talk, "When?")
    await chat.handle(talk, "When?")
    first, second = (r for r in worker.sent if isinstance(r, ask.Ask))
    assert first.key != second.key


async def test_an_answer_that_was_not_joined_is_fetched(talk, worker, face):
    *rest, done = worker.bodies[JOB]
    worker.bodies[JOB] = [*rest, msgspec.structs.replace(done, answer=None)]
    await chat.handle(talk, "When?")
    assert worker.last(ask.GetAnswer) == ask.GetAnswer(job=JOB)
    assert "[1 ✔]" in face.text


async def test_a_job_that_fails_says_why_and_what_is_kept(talk, worker, face):
    error = ErrorValue(code="internal", message="It broke.", reference="E-7")
    worker.bodies[JOB] = [ev.Failed(error=error)]
    await chat.handle(talk, "When?")
    assert "✘ FAILED  It broke." in face.text
    assert f"the request is stored as {JOB}" in face.text
    assert "Reference: E-7" in face.text


async def test_a_stopped_job_says_so(talk, worker, face):
    worker.bodies[JOB] = [ev.Stopped()]
    await chat.handle(talk, "When?")
    assert "≈ STOPPED" in face.text


async def test_a_line_that_breaks_meanwhile_loses_nothing(talk, worker, face):
    worker.bodies[JOB] = [ev.Queued(place=1, eta_s=None), Unavailable("the box cannot be reached")]
    assert not await chat.handle(talk, "When?")
    assert "the box cannot be reached" in face.text
    assert f"the request is stored as {JOB}" in face.text
    assert talk.outbox.after(talk.channel, JOB) == 1


async def test_leaving_a_job_says_how_to_come_back(talk, worker, face):
    worker.bodies[JOB] = [ev.Queued(place=1, eta_s=None), asyncio.CancelledError()]
    task = asyncio.ensure_future(chat.handle(talk, "When?"))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert f"{JOB} goes on without you." in face.text
    worker.bodies[JOB] = [ev.Queued(place=1, eta_s=None), ev.Stopped()]
    worker.results[ask.GetAnswer] = NotFound("no such job")
    await chat.handle(talk, f"/show {JOB.lower()}")
    assert worker.followed[-1] == (JOB, 0)
    assert "STOPPED" in face.text


async def test_a_job_of_somebody_else_is_not_said_to_be_kept(talk, worker, face):
    worker.bodies[OLD] = [NotFound("no such job")]
    worker.results[ask.GetAnswer] = NotFound("no such job")
    await chat.handle(talk, f"/show {OLD}")
    assert "no such job" in face.text
    assert "Kept" not in face.text


async def test_what_ended_while_nobody_looked_is_shown_once(talk, worker, face):
    talk.outbox.expect(talk.channel, JOB)
    talk.outbox.shown(talk.channel, JOB, 3)
    done, running = a_job(JOB, ask.JobState.DONE), a_job(OLD, ask.JobState.WAITING)
    elsewhere = a_job(JobId("J-0DV3K9Q00-1111"), ask.JobState.DONE)  # asked in another thread
    worker.results[ask.ListJobs] = ask.Jobs(jobs=(done, running, elsewhere))
    await chat.handle(talk, "/matter M-7F3K")
    assert worker.followed == [(JOB, 3)]
    assert face.text.count("She said") == 1
    assert f"{OLD} (ask) is still at work." in face.text
    await chat.handle(talk, "/matter M-7F3K")
    assert face.text.count("She said") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/frobnicate", "There is no command /frobnicate."),
        ("/ask", "/ask needs some words."),
        ("/find", "/find needs some words."),
        ("/extract poems", "/extract takes dates, amounts, parties, facts, all, or columns:"),
        ("/extract columns: ,", "/extract takes dates, amounts, parties, facts, all, or columns:"),
        ("/extract columns", "/extract takes dates, amounts, parties, facts, all, or columns:"),
        ("/export exe", "/export takes md, docx, pdf, json, csv or xlsx."),
        ("/matter now", "/matter needs a matter's code, such as M-7F3K."),
        ("/cancel", "/cancel needs a job's code."),
        ("/show J-1", "/show needs a job's code."),
        ("/open", "/open needs some words."),
        ("/open 1", "There is no reply here yet to do that with."),
        ("/approve", "There is no reply here yet to do that with."),
        ("/open Lease zero", "/open needs a page number of 1 or more."),
        ("/open Lease 0", "/open needs a page number of 1 or more."),
        ("/summarize Deed", "No document of this matter goes by that name."),
        ("/summarize leas", "More than one document goes by that name: Lease, Lease amendment"),
    ],
)
async def test_a_line_that_cannot_be_carried_out_says_why(talk, worker, face, line, said):
    assert not await chat.handle(talk, line)
    assert said in face.text
    assert not any(isinstance(r, ask.WorkRequest | ask.Decide | ask.Export) for r in worker.sent)


async def test_white_space_does_nothing(talk, worker):
    assert await chat.handle(talk, "   ")
    assert worker.sent == []


async def test_a_refusal_and_an_absence_read_the_same(talk, worker, face):
    shown = []
    for error in (Refused("not your matter"), NotFound("no such matter")):
        worker.results[ask.ListJobs] = error
        face.text = ""
        await chat.handle(talk, "/jobs")
        shown.append(face.text.replace("not your matter", "no such matter"))
    assert shown[0] == shown[1]


# --- the last reply -------------------------------------------------------------------------------


async def test_open_shows_the_page_with_the_passage_lit(talk, worker, face):
    await chat.handle(talk, "When?")
    face.text = ""
    assert await chat.handle(talk, "/open 1")
    assert worker.last(ask.OpenSource) == ask.OpenSource(
        matter=MATTER, document=DocumentId("d1"), page=3
    )
    assert face.text.splitlines() == [
        " Reeves Dep. · page 3 of 4 · NG-000213",
        " Reeves Dep. 2:3",
        "",
        "   Q.  Did you?",
        " ▌ A.  The second time, yes.",
        "   NG-000213",
    ]


async def test_open_takes_a_document_and_a_page(talk, worker, face):
    assert await chat.handle(talk, "/open reeves 3")
    assert worker.last(ask.OpenSource).document == "d1"
    assert "▌" not in face.text


async def test_an_item_without_a_place_or_that_is_not_there(talk, face):
    await chat.handle(talk, "When?")
    assert not await chat.handle(talk, "/open 2")
    assert "Item 2 has no place to open." in face.text
    assert not await chat.handle(talk, "/open 9")
    assert "The last reply has no item 9." in face.text


async def test_approval_needs_a_reason_for_every_item_that_is_not_green(talk, worker, face, answer):
    await chat.handle(talk, "When?")
    approved = msgspec.structs.replace(answer, review=ReviewState.APPROVED)
    worker.results[ask.GetAnswer] = ask.AnswerIs(answer=approved)
    face.replies = ["  I looked at page 4  "]
    assert await chat.handle(talk, "/approve")
    assert face.questions == [
        "2 ≈ CHECK: By OCR\nReason to accept it (empty line stops the approval): "
    ]
    decide = worker.last(ask.Decide)
    assert decide.state is ReviewState.APPROVED
    assert decide.answer_sha256 == answer.text_sha256
    assert decide.acknowledged == {2: "I looked at page 4"}
    assert f"{JOB} is now: Approved" in face.text


@pytest.mark.parametrize("said", ["", "   ", None])
async def test_no_reason_no_approval(talk, worker, face, said):
    await chat.handle(talk, "When?")
    face.replies = [said]
    await chat.handle(talk, "/approve")
    assert not any(isinstance(request, ask.Decide) for request in worker.sent)
    assert "Not approved" in face.text


async def test_a_text_that_changed_since_is_not_approved(talk, worker, face):
    await chat.handle(talk, "When?")
    worker.results[ask.Decide] = Conflict("the text changed since it was shown")
    face.replies = ["seen"]
    assert not await chat.handle(talk, "/approve")
    assert "✘ FAILED  the text changed since it was shown" in face.text
    assert talk.answer is not None
    assert talk.answer.review is ReviewState.AWAITING


@pytest.mark.parametrize(
    ("line", "state", "note"),
    [
        ("/return look at 2", ReviewState.RETURNED, "look at 2"),
        ("/withdraw", ReviewState.WITHDRAWN, ""),
        ("/withdraw wrong file", ReviewState.WITHDRAWN, "wrong file"),
    ],
)
async def test_return_and_withdraw(talk, worker, line, state, note):
    await chat.handle(talk, "When?")
    assert await chat.handle(talk, line)
    decide = worker.last(ask.Decide)
    assert (decide.state, decide.note, decide.acknowledged) == (state, note, {})


async def test_an_edit_names_the_text_that_was_shown_and_the_reply_is_shown_anew(
    talk, worker, face, answer
):
    await chat.handle(talk, "When?")
    line = deciding.edit_line(answer)
    assert line == f"/edit {JOB}\n{answer.text}"
    worker.results[ask.Edit] = ask.Done()
    edited = msgspec.structs.replace(answer, text="Other words.", items=(), text_sha256="c" * 64)
    worker.results[ask.GetAnswer] = ask.AnswerIs(answer=edited)
    face.text = ""
    assert await chat.handle(talk, line.replace("She said", "Reeves said"))
    sent = worker.last(ask.Edit)
    assert (sent.job, sent.answer_sha256) == (JOB, "a" * 64)
    assert sent.text == answer.text.replace("She said", "Reeves said")
    assert "approval of before is void" in " ".join(face.text.split())
    assert "Other words." in face.text
    assert talk.answer == edited


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/edit", "/edit needs the whole new text"),
        (f"/edit {JOB}\n \n", "/edit needs the whole new text"),
        (f"/edit {OLD}\nOther words.", f"{OLD} is not the reply shown here last"),
    ],
)
async def test_an_edit_of_nothing_or_of_another_reply_is_not_sent(talk, worker, face, line, said):
    await chat.handle(talk, "When?")
    assert not await chat.handle(talk, line)
    assert said in " ".join(face.text.split())
    assert not any(isinstance(request, ask.Edit) for request in worker.sent)


async def test_an_edit_opens_without_what_a_terminal_would_obey(answer):
    line = deciding.edit_line(msgspec.structs.replace(answer, text="a\x1b[31mb\tc\nd"))
    assert line.partition("\n")[2] == "a⟨U+001B⟩[31mb\tc\nd"


async def test_a_hold_wants_a_reason_and_is_lifted(talk, worker, face):
    worker.results |= {ask.HoldMatter: ask.Done(), ask.LiftHold: ask.Done()}
    assert not await chat.handle(talk, "/hold")
    assert "needs the reason for the hold" in face.text
    assert await chat.handle(talk, "/hold suit expected")
    sent = worker.last(ask.HoldMatter)
    assert (sent.matter, sent.reason) == (MATTER, "suit expected")
    assert await chat.handle(talk, "/lift")
    assert worker.last(ask.LiftHold).matter == MATTER
    said = " ".join(face.text.split())
    assert "#M-7F3K is on legal hold: nothing of it is deleted" in said
    assert said.endswith("#M-7F3K is not on legal hold.")


@pytest.mark.parametrize("line", ["/edit Other words.", "/hold a reason", "/lift"])
async def test_who_may_not_edit_or_hold_is_told_so_and_nothing_is_said_to_be_done(
    talk, worker, face, line
):
    await chat.handle(talk, "When?")
    refused = Refused("your role may not do that")
    worker.results |= dict.fromkeys((ask.Edit, ask.HoldMatter, ask.LiftHold), refused)
    face.text = ""
    assert not await chat.handle(talk, line)
    assert "your role may not do that" in face.text
    assert "void" not in face.text
    assert "legal hold" not in face.text


@pytest.mark.parametrize(("line", "form"), [("/export", "md"), ("/export JSON", "json")])
async def test_export(talk, worker, face, line, form):
    await chat.handle(talk, "When?")
    assert await chat.handle(talk, line)
    assert worker.last(ask.Export).format == form
    assert f"a.md, 1,234 bytes, sha256 {'b' * 64}" in " ".join(face.text.split())


# --- looking around -------------------------------------------------------------------------------


async def test_jobs_show_their_place(talk, worker, face):
    jobs = (a_job(JOB, ask.JobState.WAITING), a_job(OLD, ask.JobState.DONE))
    worker.results[ask.ListJobs] = ask.Jobs(jobs=jobs)
    await chat.handle(talk, "/jobs")
    assert f" {JOB} · ask · waiting · 2nd in line · about 40 s" in face.text
    assert f" {OLD} · ask · done\n" in face.text


async def test_the_record_shows_its_ledger_and_every_failure(talk, worker, face):
    rows = [
        LedgerRow(
            name=name,
            original_sha256="",
            state=state,
            document=None,
            pages=1,
            pages_read=1,
            reason=reason,
        )
        for name, state, reason in (
            ("a.pdf", LedgerState.INDEXED, ""),
            ("b.pdf", LedgerState.FAILED, "encrypted"),
            ("c.exe", LedgerState.SKIPPED, "not a document"),
            ("d.pdf", LedgerState.DUPLICATE, "of a.pdf"),
        )
    ]
    listed = worker.results[ask.ListDocuments]
    worker.results[ask.ListDocuments] = msgspec.structs.replace(
        listed, ledger=Ledger(rows=tuple(rows))
    )
    await chat.handle(talk, "/documents")
    assert "4 files: 1 indexed, 1 duplicate, 1 failed, 1 skipped" in face.text
    assert "≈ b.pdf: encrypted" in face.text
    assert "≈ c.exe: not a document" in face.text
    assert "read 3 of 3 documents, 9 of 9 pages" in face.text


async def test_cancel_takes_the_last_job(talk, worker, face):
    await chat.handle(talk, "When?")
    assert await chat.handle(talk, "/cancel")
    assert worker.last(ask.Cancel) == ask.Cancel(job=JOB)


async def test_forget_health_and_help(talk, worker, face):
    for line in ("/forget", "/health", "/help"):
        assert await chat.handle(talk, line)
    assert worker.last(ask.Forget).conversation == "chat-you"
    assert "degraded engine: small model only" in face.text
    assert "/summarize" in face.text


async def test_quit_is_for_the_face_to_see(talk, worker):
    assert chat.leaves("/quit")
    assert not chat.leaves("quit")
    assert await chat.handle(talk, "/quit")
    assert worker.sent == []
