"""Keeps words out of the queue: what may be stored there, decided in one place.

The queue's file is not inside any matter's wall, so nothing with words in it may reach it. A string
is let in when it has the shape of an id, a hash or a code. That cannot stop a single name, but it
stops every sentence, and with it the mistake that matters: text passed where its reference belongs.
No error raised here repeats what it refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from protocol.events import Completed, EngineLost, EventBody, Failed, Found, Progress, Words
from worker.jobs import STEP_BYTES

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}", re.ASCII)
_CODE: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DEPTH: Final = 4
"""Nesting allowed in a step's value: a mapping of lists of pairs, and one to spare."""

SAID_BY_WORK: Final = (Progress, Found, Words, EngineLost)
"""The events a job's own work may say; the queue says all others itself."""


def check_id(value: str, what: str) -> str:
    """The value, if it has the shape of an id.

    Raises:
        ValueError: It has not; the message names ``what``, never the value.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{what} must have the shape of an id")
    return value


def check_code(value: str, what: str) -> str:
    """The value, if it is a short lower-case code such as ``ask`` or ``keeps_crashing``.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        raise ValueError(f"{what} must be a short code in lower case")
    return value


def check_hash(value: str, what: str) -> str:
    """The value, if it is a SHA-256 in lower-case hexadecimal digits.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise ValueError(f"{what} must be a SHA-256 in hexadecimal digits")
    return value


def encode_step(value: Mapping[str, Any]) -> bytes:
    """A step's value as JSON, if it is small and holds ids, counts and hashes only.

    Raises:
        ValueError: It is larger than `STEP_BYTES`, too deep, no JSON, or holds something else.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a step's value must be a mapping")
    _check_part(value, _DEPTH)
    encoded = msgspec.json.encode(value)
    if len(encoded) > STEP_BYTES:
        raise ValueError(f"a step's value takes more than {STEP_BYTES} bytes: keep a reference")
    return encoded


def check_said(body: EventBody) -> EventBody:
    """The body, if a job's work may say it and it holds no words.

    Raises:
        ValueError: Only the queue may say it, or it holds text.
    """
    if not isinstance(body, SAID_BY_WORK):
        raise ValueError("only the queue may say this event")
    if isinstance(body, Words) and body.text:
        raise ValueError("live text belongs in the matter's file; the event names its part only")
    return body


def check_last(body: EventBody) -> EventBody:
    """The body of a last event, if it holds no words.

    Raises:
        ValueError: It holds an answer or a message, or its hash or codes are none.
    """
    if isinstance(body, Completed):
        if body.answer is not None:
            raise ValueError("the answer belongs in the matter's file; the event names its hash")
        if body.answer_sha256:  # reading a folder ends well without a reply
            check_hash(body.answer_sha256, "answer_sha256")
    if isinstance(body, Failed):
        if body.error.message or body.error.next_step:
            raise ValueError("the message belongs in the matter's file; the event names its code")
        check_code(body.error.code, "the error's code")
        if body.error.reference:
            check_id(body.error.reference, "the error's reference")
    return body


def _check_part(part: Any, depth: int) -> None:
    if depth < 0:
        raise ValueError("a step's value is nested too deep")
    if part is None or isinstance(part, bool):
        return
    if isinstance(part, int | float):
        if not -(2**63) <= part < 2**63:  # false for "not a number" too; JSON would change these
            raise ValueError("a number of a step's value is finite and fits 64 bits")
        return
    if isinstance(part, str):
        if part:
            check_id(part, "every string of a step's value")
    elif isinstance(part, Mapping):
        for name, inner in part.items():
            check_id(name, "every name in a step's value")
            _check_part(inner, depth - 1)
    elif isinstance(part, list | tuple):
        for inner in part:
            _check_part(inner, depth - 1)
    else:
        raise ValueError("a step's value holds ids, counts and hashes only")
