"""An approved answer as a file in the matter's ``out/``.

`write` is the only function that puts a reply's words outside the matter's own store, and it is
called by `worker/handlers/decide.py` alone, behind `review.finalize`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from protocol.answers import Answer
from protocol.errors import BadRequest, Conflict, Unavailable


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """What lies in ``out/`` now."""

    name: str
    size_bytes: int
    sha256: str


def write(answer: Answer, *, title: str, folder: Path, form: str) -> WrittenFile:
    """Writes the file; a second identical call writes the same bytes again.

    Args:
        answer: An approved answer.
        title: The matter's title, for the head of the page.
        folder: The matter's ``out/``.
        form: ``md`` or ``json``.

    Raises:
        Conflict: The answer carries no decision.
        BadRequest: ``form`` is none of ours.
        Unavailable: The disk is full or the folder cannot be written.
    """
    if answer.decision is None:
        raise Conflict("only an approved reply can be exported")
    if form == "md":
        from worker.export.markdown import render
    elif form == "json":
        from worker.export.jsonfile import render
    else:
        raise BadRequest("there is no such export format", next_step="choose md or json")
    content = render(answer, title)
    name = f"{answer.job}-{answer.kind}.{form}"  # ids only: a file name is seen in many places
    part = folder / f".{name}.part"
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o600)
        part.replace(folder / name)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Unavailable(
            f"the export could not be written ({error.strerror})",
            next_step="make room on the box's disk and export again",
        ) from error
    return WrittenFile(
        name=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
