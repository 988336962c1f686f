"""The names of things: matters, documents, passages, jobs, users.

Each id is a plain string with a checked shape. This file makes, parses and checks them and leaves
what they name to others.
"""

from __future__ import annotations

import re
import secrets
from typing import Final, NewType

MatterId = NewType("MatterId", str)
"""A matter's random code, such as ``M-7F3K``. Never derived from a name."""

DocumentId = NewType("DocumentId", str)
"""One document of a record, unique within its matter."""

PassageId = NewType("PassageId", str)
"""``document:start-end`` in one text version."""

JobId = NewType("JobId", str)
"""A job's id, such as ``J-0DV3K9Q2A-7F3K``; ids sort by the time they were made."""

UserName = NewType("UserName", str)
"""The name a key in the registry stands for."""

# Crockford's base 32: no I, L, O or U, so a code read aloud is not misheard.
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MATTER: Final = re.compile(rf"M-[{_ALPHABET}]{{4,12}}")
_JOB: Final = re.compile(rf"J-[{_ALPHABET}]{{9}}-[{_ALPHABET}]{{4}}")
_DOCUMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_USER: Final = re.compile(r"[a-z][a-z0-9._-]{0,31}")


def new_matter_id() -> MatterId:
    """A fresh random matter code."""
    return MatterId("M-" + "".join(secrets.choice(_ALPHABET) for _ in range(4)))


def new_job_id(now_ms: int) -> JobId:
    """A fresh job id that sorts after every id made at an earlier millisecond.

    Args:
        now_ms: Unix time in milliseconds.
    """
    digits = []
    rest = now_ms
    for _ in range(9):
        rest, digit = divmod(rest, 32)
        digits.append(_ALPHABET[digit])
    tail = "".join(secrets.choice(_ALPHABET) for _ in range(4))
    return JobId(f"J-{''.join(reversed(digits))}-{tail}")


def _check(value: str, shape: re.Pattern[str], what: str) -> str:
    if not shape.fullmatch(value):
        raise ValueError(f"not a {what}")  # the value may be a sentence: never repeat it
    return value


def matter_id(value: str) -> MatterId:
    """Checks a matter code.

    Raises:
        ValueError: The text has not the shape of a matter code.
    """
    return MatterId(_check(value, _MATTER, "matter code"))


def job_id(value: str) -> JobId:
    """Checks a job id.

    Raises:
        ValueError: The text has not the shape of a job id.
    """
    return JobId(_check(value, _JOB, "job id"))


def document_id(value: str) -> DocumentId:
    """Checks a document id.

    Raises:
        ValueError: The text has not the shape of a document id.
    """
    return DocumentId(_check(value, _DOCUMENT, "document id"))


def user_name(value: str) -> UserName:
    """Checks a user name.

    Raises:
        ValueError: The text has not the shape of a user name.
    """
    return UserName(_check(value, _USER, "user name (a-z, then a-z 0-9 . _ -, 32 at most)"))


def passage_id(document: DocumentId, start: int, end: int) -> PassageId:
    """The id of the passage at ``[start, end)`` of a document's canonical text."""
    return PassageId(f"{document}:{start}-{end}")
