"""The one door through which anything leaves for Discord.

What may be said is a closed list of templates whose fields are codes, states and numbers. In strict
mode a template is checked field by field, and then what came out of it word by word against the
catalogue; whatever is neither a code, a number nor a word of ours raises, so a mistake elsewhere
ends in silence, never in a disclosure. Only a full gate lets `Prose` through.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

from bot.guild.settings import Mode
from bot.words import Words
from protocol.ids import JobId, MatterId, job_id, matter_id

MESSAGE_CHARS: Final = 2000
"""Discord's limit of a bot's message."""
_MOST: Final = 10**12
"""Numbers are counts and sizes; a larger one could be somebody's number."""


class State(StrEnum):
    """Where a job is, as it may be said anywhere."""

    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"
    RETRIEVING = "retrieving"
    READING = "reading"
    WRITING = "writing"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class Said(StrEnum):
    """A fixed sentence with room for a matter's and a job's code at most."""

    NO_JOBS = "no_jobs"
    TAKEN = "taken"
    ASK_THERE = "ask_there"
    FIND_THERE = "find_there"
    CITE_THERE = "cite_there"
    OPEN_THERE = "open_there"
    FORGET_THERE = "forget_there"
    FORGOTTEN = "forgotten"
    MODE_STRICT = "mode_strict"
    MODE_FULL = "mode_full"
    LOOK_THERE = "look_there"
    DECIDE_THERE = "decide_there"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    STALE = "stale"
    UNAVAILABLE = "unavailable"
    REFUSED_STATE = "refused_state"
    INTERNAL = "internal"
    UNKNOWN_BUTTON = "unknown_button"
    LOST = "lost"
    LINE_DOWN = "line_down"
    HELP_STRICT = "help_strict"
    HELP_FULL = "help_full"


class Tallied(StrEnum):
    """What is counted by kind."""

    ASKED = "asked_there"
    SEALED = "sealed_there"
    SEALED_BROKEN = "sealed_broken_there"


class Kind(StrEnum):
    """Of what there are so many: a kind of request, or of an entry of the journal."""

    ASK = "ask"
    FIND = "find"
    SUMMARIZE = "summarize"
    EXTRACT = "extract"
    CHRONOLOGY = "chronology"
    CITECHECK = "citecheck"
    DRAFT = "draft"
    INGEST = "ingest"
    JOB = "job"
    REVIEW = "review"
    EXPORT = "export"
    FILE = "file"
    DOCUMENT = "document"
    CONVERSATION = "conversation"
    HOLD = "hold"
    MATTER = "matter"
    OTHER = "other"


class Label(StrEnum):
    """What stands on a button."""

    APPROVE = "button_approve"
    RETURN = "button_return"
    OPEN = "button_open"
    RETRY = "button_retry"
    CANCEL = "button_cancel"
    MD = "button_md"
    JSON = "button_json"


class Fixed(msgspec.Struct, frozen=True, kw_only=True):
    """A fixed sentence."""

    said: Said
    matter: MatterId | None = None
    job: JobId | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job is."""

    matter: MatterId
    job: JobId
    state: State
    place: int | None = None
    percent: int | None = None
    counts: tuple[int, int, int] | None = None
    """Verified, to look at, failing."""
    open_there: bool = False
    """Whether it ends with where to read it."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The newest jobs of a matter."""

    matter: MatterId
    rows: tuple[Status, ...]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """How many parts of the box are in which state."""

    ok: int
    degraded: int
    down: int


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs and drafts of a matter, in numbers."""

    matter: MatterId
    waiting: int
    running: int
    awaiting: int
    approved: int


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each kind, with where to read them."""

    said: Tallied
    matter: MatterId
    total: int
    shown: int
    """The newest of them, which were counted."""
    counts: tuple[tuple[Kind, int], ...]


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """An export lies in the matter's out folder; its name is not said."""

    matter: MatterId
    job: JobId
    size_bytes: int


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    """Words of a case; a strict gate raises."""

    text: str


Template = Fixed | Status | Listing | Parts | Counted | Tally | Written | Prose

_BY_TYPE: Final = (Fixed, Status, Listing, Parts, Counted, Tally, Written)
_TOKEN: Final = re.compile(r"[^\s·]+")
_BLANK: Final = re.compile(r"\{\w+\}")
_CODE: Final = re.compile(r"M-[0-9A-Z]{4,12}|J-[0-9A-Z]{9}-[0-9A-Z]{4}|[0-9]{1,13}|<@[0-9]{1,20}>")


class Gate:
    """What leaves for one server."""

    def __init__(self, mode: Mode, words: Words) -> None:
        self.mode = mode
        self._words = words
        said = [words.raw(key) for key in words.keys]
        self._vocabulary = {
            token
            for sentence in said
            for filler in ("", " ")  # "{place}번째" leaves "번째", "{percent} %" leaves "%"
            for token in _TOKEN.findall(_BLANK.sub(filler, sentence))
        }

    def text(self, template: Template, *, mention: str = "") -> str:
        """The words that may leave for a template.

        Args:
            template: What is to be said.
            mention: The account that is called; digits.

        Raises:
            TypeError: It is no template this gate lets through.
            ValueError: A field is no code, state or number, or it is too long for a message.
        """
        if mention and not (mention.isascii() and mention.isdigit()):
            raise ValueError("a mention is the number of an account")
        called = f"<@{mention}> " if mention else ""
        if type(template) is Prose and self.mode is Mode.FULL:
            said = called + template.text
        elif type(template) in _BY_TYPE:
            said = self._checked(called + self._said(template), template)
        else:
            raise TypeError("this gate lets nothing of that kind through")
        if not 0 < len(said) <= MESSAGE_CHARS:
            raise ValueError("a message holds 1 to 2000 characters")
        return said

    def label(self, label: Label, job: JobId | None = None) -> str:
        """What stands on a button.

        Raises:
            ValueError: The job is not the code of one.
        """
        said = self._words(Label(label).value)
        return said if job is None else f"{said} {job_id(job)}"

    def _said(self, template: Template) -> str:
        words = self._words
        match template:
            case Fixed(said=said, matter=matter, job=job):
                codes = {
                    "matter": _matter(matter) if matter else "",
                    "job": job_id(job) if job else "",
                }
                return words(Said(said).value, **codes)
            case Status():
                return self._status(template)
            case Listing(matter=matter, rows=rows):
                lines = [words("jobs", matter=_matter(matter))]
                return "\n".join(lines + [self._status(row) for row in rows])
            case Parts(ok=ok, degraded=degraded, down=down):
                return words("health", ok=_count(ok), degraded=_count(degraded), down=_count(down))
            case Counted():
                numbers = {
                    key: _count(getattr(template, key))
                    for key in ("waiting", "running", "awaiting", "approved")
                }
                return words("matter_state", matter=_matter(template.matter), **numbers)
            case Tally(said=said, counts=counts):
                told = [f"{words(f'kind_{Kind(kind).value}')} {_count(n)}" for kind, n in counts]
                numbers = {"total": _count(template.total), "shown": _count(template.shown)}
                matter = _matter(template.matter)
                by_kind = " · ".join(told) or _count(0)
                return words(Tallied(said).value, matter=matter, counts=by_kind, **numbers)
            case Written(matter=matter, job=job, size_bytes=size):
                state = words("exported", size=_count(size))
                return words("status", matter=_matter(matter), job=job_id(job), state=state)
            case _:
                raise TypeError("no such template")

    def _status(self, status: Status) -> str:
        words = self._words
        parts = [words(State(status.state).value)]
        if status.place is not None:
            parts.append(words("place", place=_count(status.place)))
        if status.percent is not None:
            parts.append(words("percent", percent=_count(status.percent)))
        if status.counts is not None:
            verified, look, failing = map(_count, status.counts)
            parts.append(words("counts", verified=verified, look=look, failing=failing))
        if status.open_there:
            parts.append(words("open"))
        said = " · ".join(parts)
        return words("status", matter=_matter(status.matter), job=job_id(status.job), state=said)

    def _checked(self, said: str, template: Template) -> str:
        """The second lock: every word is ours, every other token a code or a number."""
        for token in _TOKEN.findall(said):
            stripped = token.strip(":,;.()")
            if not (
                token in self._vocabulary
                or _CODE.fullmatch(stripped)
                or re.sub(r"[0-9]+", "", token) in self._vocabulary
            ):
                raise ValueError(f"a {type(template).__name__} holds a word that is not ours")
        return said


def _matter(matter: MatterId) -> MatterId:
    return matter_id(matter)


def _count(value: int) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError("a count is a whole number")
    return value
