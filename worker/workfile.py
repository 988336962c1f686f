"""A matter's ``work.sqlite``: its questions, drafts, decisions and turns.

Everything here has words in it, so it lives in the matter's own folder and goes with it. The queue
knows only ids. Text is written here first, then the job or event that names it: a crash between
the two leaves a scrap that the next attempt overwrites.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Collection, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec

from protocol.answers import Answer, Decision
from protocol.errors import Conflict, Damaged, NotFound
from protocol.ids import DocumentId, JobId, UserName
from protocol.jobs import Decide, Edit, Export, KeepPlace, WorkRequest

_NAMED: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_statements(file: str) -> dict[str, str]:
    """The named statements of a ``.sql`` file beside this module."""
    text = resources.files("worker").joinpath(file).read_text("utf-8")
    parts = _NAMED.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def request_sha256(request: WorkRequest) -> str:
    """Hash of a request's contents without its key: what "the same request" means."""
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(request, key=""))).hexdigest()


class WorkFile:
    """One matter's work, in one SQLite file.

    A call returns when its change is on disk. A second identical call changes nothing. Calls are
    short and are made on the thread that opened the file.
    """

    def __init__(self, path: Path) -> None:
        """Opens or makes the file.

        Raises:
            Damaged: It is there and is no work file.
        """
        self._sql = load_statements("workfile.sql")
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=2.0)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.executescript(self._sql["schema"])
        except sqlite3.DatabaseError as error:
            raise Damaged("the matter's work file cannot be opened") from error
        path.chmod(0o600)

    def close(self) -> None:
        self._db.close()

    def put_request(self, request: WorkRequest) -> str:
        """Keeps a request's words; gives the hash under which the job names them."""
        sha256 = request_sha256(request)
        self._db.execute(self._sql["put_request"], (sha256, msgspec.json.encode(request)))
        return sha256

    def request(self, sha256: str) -> WorkRequest:
        """The request that a job names by its hash.

        Raises:
            NotFound: The matter has no such request.
        """
        body = self._one("get_request", (sha256,), "the words of this request are gone")
        return msgspec.json.decode(body, type=WorkRequest)

    def put_answer(self, answer: Answer) -> None:
        body = msgspec.json.encode(answer)
        self._db.execute(self._sql["put_answer"], (answer.job, answer.text_sha256, body))

    def answer(self, job: JobId) -> Answer:
        """The answer with the newest decision on it.

        Raises:
            NotFound: The job has no answer (yet).
        """
        body = self._one("get_answer", (job,), "this job has no answer yet")
        answer = msgspec.json.decode(body, type=Answer)
        decision = self.decision(job)
        if decision is None or decision.answer_sha256 != answer.text_sha256:
            return answer  # a decision on another text is void
        return msgspec.structs.replace(answer, review=decision.state, decision=decision)

    def answers_from(self, documents: Collection[DocumentId]) -> tuple[Answer, ...]:
        """Every answer in which one of these documents is named, with its newest decision."""
        names = [name.encode() for name in documents]
        found = [
            msgspec.json.decode(body, type=Answer).job
            for (body,) in self._db.execute(self._sql["all_answers"])
            if any(name in body for name in names)
        ]
        return tuple(self.answer(job) for job in found)

    def forget_words(self, documents: Collection[DocumentId], jobs: Collection[JobId]) -> None:
        """Deletes steps made from documents, and the live text and turns of jobs; answers stay."""
        for document in documents:
            self._db.execute(self._sql["forget_notes_of"], (f"document.{document}",))
        for job in jobs:
            self._db.execute(self._sql["drop_parts"], (job,))
            self._db.execute(self._sql["forget_turn"], (job,))
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def put_part(self, job: JobId, attempt: int, part: int, text: str) -> None:
        self._db.execute(self._sql["put_part"], (job, attempt, part, text))

    def part(self, job: JobId, part: int) -> str:
        """A stretch of live text; empty once the final text has replaced it."""
        row = self._db.execute(self._sql["get_part"], (job, part)).fetchone()
        return str(row[0]) if row else ""

    def drop_parts(self, job: JobId) -> None:
        self._db.execute(self._sql["drop_parts"], (job,))

    def put_note(self, job: JobId, name: str, text: str) -> None:
        """The words of one durable step."""
        self._db.execute(self._sql["put_note"], (job, name, text))

    def note(self, job: JobId, name: str) -> str | None:
        row = self._db.execute(self._sql["get_note"], (job, name)).fetchone()
        return str(row[0]) if row else None

    def put_turn(self, job: JobId, conversation: str, question: str, reply: str) -> None:
        self._db.execute(self._sql["put_turn"], (job, conversation, question, reply))

    def turns(self, conversation: str, most: int) -> Sequence[tuple[str, str]]:
        """The last turns of a conversation, oldest first: (question, reply)."""
        rows = self._db.execute(self._sql["last_turns"], (conversation, most)).fetchall()
        return [(str(question), str(reply)) for question, reply in reversed(rows)]

    def forget(self, conversation: str) -> None:
        """Deletes a conversation's turns; the pages they stood on are overwritten."""
        self._db.execute(self._sql["forget_turns"], (conversation,))
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def put_opening(self, person: UserName, document: DocumentId, page: int) -> None:
        """Remembers that somebody looked at a page of the record."""
        self._db.execute(self._sql["put_opening"], (person, document, page))

    def openings(self, person: UserName) -> frozenset[tuple[DocumentId, int]]:
        """The pages that somebody has looked at."""
        rows = self._db.execute(self._sql["openings"], (person,)).fetchall()
        return frozenset((DocumentId(document), int(page)) for document, page in rows)

    def put_place(self, user: UserName, place: KeepPlace, at: dt.datetime) -> None:
        """Keeps where somebody was; ``at`` is in UTC."""
        self._db.execute(self._sql["put_place"], (user, at.isoformat(), msgspec.json.encode(place)))

    def place(self, user: UserName) -> tuple[dt.datetime, KeepPlace] | None:
        """Where somebody was, and when; None when he never was here."""
        row = self._db.execute(self._sql["get_place"], (user,)).fetchone()
        if row is None:
            return None
        return dt.datetime.fromisoformat(row[0]), msgspec.json.decode(row[1], type=KeepPlace)

    def put_decision(self, request: Decide | Edit | Export, decision: Decision) -> None:
        values = (request.job, request.key, msgspec.json.encode(request))
        self._db.execute(self._sql["put_decision"], (*values, msgspec.json.encode(decision)))

    def decision_for(self, request: Decide | Edit | Export) -> Decision | None:
        """What the same request decided before; None when its key is new.

        Raises:
            Conflict: The key was used for a request with other contents.
        """
        row = self._db.execute(self._sql["decision_by_key"], (request.key,)).fetchone()
        if row is None:
            return None
        if row[0] != msgspec.json.encode(request):
            raise Conflict("this key was used for another decision")
        return msgspec.json.decode(row[1], type=Decision)

    def decision(self, job: JobId) -> Decision | None:
        """The newest decision on a job's answer."""
        row = self._db.execute(self._sql["last_decision"], (job,)).fetchone()
        return msgspec.json.decode(row[0], type=Decision) if row else None

    def _one(self, name: str, values: tuple[object, ...], absent: str) -> bytes:
        row = self._db.execute(self._sql[name], values).fetchone()
        if row is None:
            raise NotFound(absent)
        return bytes(row[0])
