"""An approved answer as a file in the matter's ``out/``.

`prepare` is the only function that puts a reply's words outside the matter's own store, and it is
called by `worker/handlers/decide.py` alone, behind `review.finalize`. A prepared file has a hidden
name, which the gateway gives to nobody; it can be fetched once it is published.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from protocol.answers import Answer
from protocol.errors import BadRequest, Conflict, Unavailable
from protocol.ids import JobId
from rag.disk import sync_folder
from worker.review import MAY_LEAVE, live_state

FORMS: Final = ("md", "docx", "pdf", "json", "csv", "xlsx")
"""``pdf`` is the one-page cite-check report; ``csv`` and ``xlsx`` are the reply's table."""


WITHDRAWN: Final = "withdrawn"
"""Beside ``out/``: where files of replies that were taken back lie; nobody can fetch them there."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A file that is written whole and on disk, and that nobody can fetch yet."""

    name: str
    size_bytes: int
    sha256: str
    folder: Path
    part: Path

    def publish(self) -> None:
        """Puts the file into ``out/``: from now on it can be fetched.

        Raises:
            Unavailable: The folder cannot be written.
        """
        try:
            self.part.replace(self.folder / self.name)
            sync_folder(self.folder)
        except OSError as error:
            raise _unwritten(error) from error

    def discard(self) -> None:
        """Takes the file away again; harmless to repeat."""
        self.part.unlink(missing_ok=True)


def prepare(answer: Answer, *, title: str, folder: Path, form: str) -> Prepared:
    """Writes the file under a hidden name; a second identical call writes the same bytes again.

    Args:
        answer: An approved answer.
        title: The matter's title, for the head of the page.
        folder: The matter's ``out/``.
        form: One of `FORMS`.

    Raises:
        Conflict: The answer carries no live approval of its text.
        BadRequest: ``form`` is none of ours, or a sheet is wanted of a reply without a table.
        Internal: A Word file did not come out as approved; nothing was written.
        Unavailable: The disk is full or the folder cannot be written.
    """
    if live_state(answer) not in MAY_LEAVE:
        raise Conflict("only an approved reply can be exported")
    content = _rendered(answer, title, form)
    name = f"{answer.job}-{answer.kind}.{form}"  # ids only: a file name is seen in many places
    part = folder / f".{name}.part"
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o640 if folder.stat().st_mode & 0o040 else 0o600)  # the gateway's group reads
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritten(error) from error
    return Prepared(
        name=name,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        folder=folder,
        part=part,
    )


def take_back(out: Path, job: JobId) -> int:
    """Moves a job's files out of reach, into `WITHDRAWN`; gives how many there were.

    Nothing is deleted: a matter may be on legal hold. Harmless to repeat.

    Raises:
        Unavailable: A file could not be moved.
    """
    kept = out.parent / WITHDRAWN
    files = [path for path in out.iterdir() if path.name.startswith((f"{job}-", f".{job}-"))]
    try:
        for path in files:
            kept.mkdir(mode=0o700, exist_ok=True)
            path.replace(kept / path.name)
        if files:
            sync_folder(out)
    except OSError as error:
        raise Unavailable(
            "the exported file could not be taken back",
            next_step="look at free space and rights of the state folder and withdraw again",
        ) from error
    return len(files)


def _unwritten(error: OSError) -> Unavailable:
    return Unavailable(
        f"the export could not be written ({error.strerror})",
        next_step="make room on the box's disk and export again",
    )


def _rendered(answer: Answer, title: str, form: str) -> bytes:
    """The file's bytes. Each format's libraries are loaded only when it is asked for."""
    if form == "md":
        from worker.export.markdown import render

        return render(answer, title)
    if form == "json":
        from worker.export.jsonfile import render as render_json

        return render_json(answer, title)
    if form == "docx":
        from worker.export.reopened import refuse_if_wrong
        from worker.export.word import render as render_word

        content = render_word(answer, title)
        refuse_if_wrong(content, answer)
        return content
    if form == "pdf":
        from worker.export.certificate import render as render_certificate

        return render_certificate(answer, title)
    if form in ("csv", "xlsx"):
        from worker.export.sheets import render_csv, render_xlsx

        return (render_csv if form == "csv" else render_xlsx)(answer, title)
    raise BadRequest("there is no such export format", next_step=f"choose {', '.join(FORMS)}")
