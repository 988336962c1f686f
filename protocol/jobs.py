"""What a person may ask of the worker, and the job a request becomes.

A request that changes something carries a ``key``: sending it twice with the same key does it once;
the same key with other contents is a `Conflict`. Unknown fields are refused.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

import msgspec

from protocol.answers import Answer, ReviewState
from protocol.audit import AuditEntry
from protocol.boards import BoardNotice, BoardState, CardState
from protocol.ids import DocumentId, JobId, MatterId, UserName
from protocol.record import Coverage, DocumentInfo, Ledger, Matter, PageInfo


class JobState(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    """On disk, no board has it."""
    RUNNING = "running"
    """A worker holds its lease."""
    DONE = "done"
    """It ended with a reply."""
    FAILED = "failed"
    """It ended without one; the reason code says why."""
    STOPPED = "stopped"
    """Somebody asked it to stop."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One request being worked: ids, counts and states, no words."""

    id: JobId
    matter: MatterId
    kind: str
    state: JobState
    user: UserName
    board: str
    created_at: dt.datetime
    attempts: int
    place: int | None
    """1 is next; None unless waiting."""
    eta_s: float | None
    """Seconds until it is expected to start (waiting) or end (running); None when unknown."""
    review: ReviewState | None = None
    answer_sha256: str = ""
    reason: str = ""
    last_seq: int = 0


# --- requests that become jobs ---


class _Request(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True
):
    """A request, tagged by its type on the line."""


class Ask(_Request, frozen=True, kw_only=True, tag="ask"):
    """A question to a matter."""

    matter: MatterId
    conversation: str
    """The thread it belongs to: the last turns of it are context, never evidence."""
    question: str
    key: str


class Find(_Request, frozen=True, kw_only=True, tag="find"):
    """Passages that answer to words, a date, an amount, a name or a Bates label; no model.

    The text may hold filters (`protocol.filters`), as a question may.
    """

    matter: MatterId
    text: str
    key: str
    conversation: str = ""


class Summarize(_Request, frozen=True, kw_only=True, tag="summarize"):
    """A summary of documents; none named means all."""

    matter: MatterId
    key: str
    documents: tuple[DocumentId, ...] = ()
    only: str = ""
    """Filters of `protocol.filters`: ``from:2026-01 class:evidence``."""
    conversation: str = ""


class Extract(_Request, frozen=True, kw_only=True, tag="extract"):
    """Every date, amount, party or quotation-worthy fact, with its place."""

    matter: MatterId
    what: str
    """dates, amounts, parties, facts or all; columns, for those named below."""
    key: str
    columns: tuple[str, ...] = ()
    """With ``what`` columns: their names, or ``@name`` for a list of the firm's."""
    documents: tuple[DocumentId, ...] = ()
    only: str = ""
    """Filters of `protocol.filters`: ``from:2026-01 class:evidence``."""
    conversation: str = ""


class Chronology(_Request, frozen=True, kw_only=True, tag="chronology"):
    """Everything the record dates, in order, with what does not fit together.

    No document named means all.
    """

    matter: MatterId
    key: str
    documents: tuple[DocumentId, ...] = ()
    only: str = ""
    """Filters of `protocol.filters`: ``from:2026-01 class:evidence``."""
    conversation: str = ""


class CiteCheck(_Request, frozen=True, kw_only=True, tag="citecheck"):
    """Every quotation, cite, date and figure of a brief against the rest of the record.

    Either a document of the matter or a text is named, not both.
    """

    matter: MatterId
    key: str
    document: DocumentId | None = None
    text: str = ""
    conversation: str = ""


class WriteDraft(_Request, frozen=True, kw_only=True, tag="draft"):
    """A paper poured into a form: a motion's facts, a declaration, a demand letter."""

    matter: MatterId
    form: str
    """facts, declaration, demand, or a form of the firm's own."""
    key: str
    about: str = ""
    """The subject; none means every dated statement of the evidence. Filters may stand in it."""
    witness: str = ""
    """For a declaration: whose statements it may hold."""
    documents: tuple[DocumentId, ...] = ()
    conversation: str = ""


class Ingest(_Request, frozen=True, kw_only=True, tag="ingest"):
    """Read what is new in a matter's folder."""

    matter: MatterId
    key: str


WorkRequest = Ask | Find | Summarize | Extract | Chronology | CiteCheck | WriteDraft | Ingest


# --- requests answered at once ---


class Decide(_Request, frozen=True, kw_only=True, tag="decide"):
    """A reviewer's decision, bound to the exact text that was shown."""

    job: JobId
    answer_sha256: str
    state: ReviewState
    """APPROVED, RETURNED, FILED or WITHDRAWN."""
    key: str
    note: str = ""
    acknowledged: dict[int, str] = {}
    """For every item that is not green: its number and the reviewer's reason."""


class Edit(_Request, frozen=True, kw_only=True, tag="edit"):
    """A reviewer's own words in a reply's place: checked anew, and any approval is void."""

    job: JobId
    answer_sha256: str
    """Of the text that was shown."""
    text: str
    key: str


class HoldMatter(_Request, frozen=True, kw_only=True, tag="hold_matter"):
    """Legal hold: from now on nothing of the matter is deleted."""

    matter: MatterId
    reason: str
    key: str


class LiftHold(_Request, frozen=True, kw_only=True, tag="lift_hold"):
    """End a legal hold."""

    matter: MatterId
    key: str


class Export(_Request, frozen=True, kw_only=True, tag="export"):
    """Write an approved answer to the matter's ``out/``."""

    job: JobId
    format: str
    """md, docx, pdf (the one-page cite-check report), json, csv or xlsx (the table)."""
    key: str


class Cancel(_Request, frozen=True, kw_only=True, tag="cancel"):
    """Stop a job; asking twice is harmless."""

    job: JobId


class Follow(_Request, frozen=True, kw_only=True, tag="follow"):
    """The job's events after number ``after``, then all to come until its last."""

    job: JobId
    after: int = 0


class GetAnswer(_Request, frozen=True, kw_only=True, tag="answer"):
    """The stored answer of a job."""

    job: JobId


class ListMatters(_Request, frozen=True, kw_only=True, tag="matters"):
    """The matters this user may see."""


class ListJobs(_Request, frozen=True, kw_only=True, omit_defaults=True, tag="jobs"):
    """The newest jobs of a matter, newest first.

    What stands at its default is not sent: a worker of before takes the plain list as ever.
    """

    matter: MatterId
    most: int = 50
    asked: bool = False
    """With what each of them asked for, in words."""
    words: str = ""
    """Only those that asked for something with all these words in it."""
    before: JobId | None = None
    """Only those older than this one."""


class ListAudit(_Request, frozen=True, kw_only=True, tag="audit"):
    """The newest entries of a matter's sealed journal, and whether its chain holds."""

    matter: MatterId
    most: int = 20


class ListDocuments(_Request, frozen=True, kw_only=True, tag="documents"):
    """The record of a matter with its ledger and coverage."""

    matter: MatterId


class OpenSource(_Request, frozen=True, kw_only=True, tag="open"):
    """One page of a document, for looking at a place in it."""

    matter: MatterId
    document: DocumentId
    page: int


class KeepPlace(_Request, frozen=True, kw_only=True, tag="keep_place"):
    """What this person is writing in a matter and how far he has read there.

    Kept for his next window, wherever that opens; the newest one counts, so twice is harmless.
    """

    matter: MatterId
    draft: str = ""
    seen: JobId | None = None
    """The newest job that had ended when he looked."""
    pending: tuple[JobId, ...] = ()
    """Older ones that had not."""


class ListPlaces(_Request, frozen=True, kw_only=True, tag="places"):
    """Where this person was, in every matter he may see."""


class Forget(_Request, frozen=True, kw_only=True, tag="forget"):
    """Delete the turns of a conversation."""

    matter: MatterId
    conversation: str
    key: str


class Health(_Request, frozen=True, kw_only=True, tag="health"):
    """State of the worker's parts."""

    prove: bool = False
    """Ask every idle board for a few words, too: an engine may say it is well and be silent."""


class GetBoards(_Request, frozen=True, kw_only=True, tag="boards"):
    """Boards with their queues, engines and cards, and what was said of them lately."""


class HoldBoard(_Request, frozen=True, kw_only=True, tag="hold_board"):
    """An operator holds a board: it takes no new job; the running one may end."""

    board: str
    key: str


class ResumeBoard(_Request, frozen=True, kw_only=True, tag="resume_board"):
    """An operator lets a board go on; what he has seen is not held against it again."""

    board: str
    key: str


AtOnceRequest = (
    Decide
    | Edit
    | Export
    | HoldMatter
    | LiftHold
    | Cancel
    | Follow
    | GetAnswer
    | ListMatters
    | ListJobs
    | ListAudit
    | ListDocuments
    | OpenSource
    | KeepPlace
    | ListPlaces
    | Forget
    | Health
    | GetBoards
    | HoldBoard
    | ResumeBoard
)

Request = WorkRequest | AtOnceRequest


# --- results -----------------------------------------------------------------------------


class _Result(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What a request gives back, tagged by its type on the line."""


class Accepted(_Result, frozen=True, kw_only=True, tag="accepted"):
    """The job is on disk; from here on, losing the line loses nothing."""

    job: JobId
    last_seq: int


class Matters(_Result, frozen=True, kw_only=True, tag="matters"):
    matters: tuple[Matter, ...]


class Jobs(_Result, frozen=True, kw_only=True, tag="jobs"):
    jobs: tuple[Job, ...]
    asked: dict[JobId, str] = {}
    """Words of a request by its job, cut after the first hundreds; on asking for them only."""
    more: int = 0
    """Older ones that fit but found no room here."""


class AuditIs(_Result, frozen=True, kw_only=True, tag="audit"):
    """The end of a matter's journal, and what following all of it found."""

    entries: tuple[AuditEntry, ...]
    """The newest last, as the journal holds them."""
    total: int
    """Lines of the whole journal."""
    head: str
    """The seal of the last entry up to which the chain holds; empty when there is none."""
    broken_at: int | None
    """The line, from 1, at which the chain breaks; None when it holds."""
    reason: str
    anchor: str
    """The line of the newest anchor that is kept; empty when none is."""
    anchored: int
    """How many entries of this matter that anchor stands for."""
    troubles: tuple[str, ...]
    """What does not fit between the anchors and this journal, in words."""


class Documents(_Result, frozen=True, kw_only=True, tag="documents"):
    documents: tuple[DocumentInfo, ...]
    ledger: Ledger
    coverage: Coverage
    productions: tuple[str, ...] = ()
    """Series of Bates numbers over all files, each with its gaps and overlaps in words."""


class SourcePage(_Result, frozen=True, kw_only=True, tag="page"):
    document: DocumentInfo
    page: PageInfo
    text: str


class AnswerIs(_Result, frozen=True, kw_only=True, tag="answer"):
    answer: Answer


class Exported(_Result, frozen=True, kw_only=True, tag="exported"):
    """A file now lies in the matter's ``out/``."""

    name: str
    size_bytes: int
    sha256: str


class Places(_Result, frozen=True, kw_only=True, tag="places"):
    """Newest first; a matter in which he never was is missing."""

    places: tuple[KeepPlace, ...]


class HealthIs(_Result, frozen=True, kw_only=True, tag="health"):
    """Each part with its state: ok, degraded or down, and one sentence."""

    parts: dict[str, tuple[str, str]]


class BoardsAre(_Result, frozen=True, kw_only=True, tag="boards"):
    """The box as its operator watches it."""

    watched: bool
    """Whether cards are watched; False on a box without any."""
    boards: tuple[BoardState, ...]
    cards: tuple[CardState, ...] = ()
    notices: tuple[BoardNotice, ...] = ()
    """Newest first."""


class Done(_Result, frozen=True, kw_only=True, tag="done"):
    """It is so; there is nothing more to say."""


Result = (
    Accepted
    | Matters
    | Jobs
    | AuditIs
    | Documents
    | SourcePage
    | AnswerIs
    | Places
    | Exported
    | HealthIs
    | BoardsAre
    | Done
)
