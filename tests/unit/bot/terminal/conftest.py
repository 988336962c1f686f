"""A sample reply, a worker that gives it, and the app over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec
import pytest

from bot import words as catalogue
from bot.look import UNICODE, Look
from bot.outbox import Outbox
from bot.terminal.app import TerminalApp
from bot.terminal.testing import JOB, MATTER, NOW, OTHER, ScriptedWorker
from bot.terminal.window import Start
from protocol import events as ev
from protocol import jobs as ask
from protocol.answers import ItemKind, Verdict
from protocol.ids import DocumentId
from protocol.record import (
    Coverage,
    DocumentClass,
    DocumentInfo,
    Ledger,
    Matter,
    PageInfo,
    Reading,
)

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
    made = ScriptedWorker()
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
        ask.GetBoards: ask.BoardsAre(watched=False, boards=()),
    }
    for kind in (ask.Ask, ask.Find, ask.Summarize, ask.Extract):
        made.results[kind] = ask.Accepted(job=JOB, last_seq=1)
    made.bodies[JOB] = [
        ev.Queued(place=2, eta_s=40.0),
        ev.Progress(stage=ev.Stage.READING, done=62, total=100),
        ev.Completed(answer_sha256="a" * 64, verified=1, to_look_at=1, failing=1, answer=answer),
    ]
    return made


@pytest.fixture
def desk_of() -> Callable[..., TerminalApp]:
    """The app over a worker."""

    def make(worker, *, language: str = "en", matter: str = MATTER, **more) -> TerminalApp:
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

    return make


@pytest.fixture
def text() -> str:
    """The text of the sample reply."""
    return TEXT
