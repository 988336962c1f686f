"""Everything that may go wrong between two rooms, as one tree.

::

    AppError
    ├─ Refused        not allowed; looks like absence from outside
    ├─ BadRequest     malformed, too large, wrong protocol version
    ├─ NotFound
    ├─ Conflict       the text changed since it was shown; already decided
    ├─ Unavailable    try again: engine away, board busy, queue full
    ├─ Damaged        stored thing does not match its hash
    └─ Internal       our fault; the log has the id, the user gets only the id

A message is a sentence fit for the user and never holds case text.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec


class ErrorValue(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it travels."""

    code: str
    message: str
    next_step: str = ""
    retry: bool = False
    """Whether asking again may help."""
    reference: str = ""
    """An id under which the log knows more."""


class AppError(Exception):
    """The root; never raised itself."""

    code: ClassVar[str] = "internal"
    retry: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, next_step: str = "", reference: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.reference = reference


class Refused(AppError):
    """Not allowed. On the wire it reads exactly like `NotFound`."""

    code = "not_found"
    exit_code = 4


class BadRequest(AppError):
    """Malformed, too large, or of a protocol version this side does not speak."""

    code = "bad_request"
    exit_code = 2


class NotFound(AppError):
    """There is no such thing, or none that this user may know of."""

    code = "not_found"
    exit_code = 4


class Conflict(AppError):
    """The thing changed since it was shown, is decided already, or the key was used before."""

    code = "conflict"
    exit_code = 5


class Unavailable(AppError):
    """Not now: the engine is away, the queue is full, the line is down."""

    code = "unavailable"
    retry = True
    exit_code = 6


class Damaged(AppError):
    """What is stored does not match its hash."""

    code = "damaged"
    exit_code = 7


class Internal(AppError):
    """Our fault; the user gets the reference only."""

    code = "internal"
    exit_code = 1


_BY_CODE: dict[str, type[AppError]] = {
    kind.code: kind for kind in (BadRequest, NotFound, Conflict, Unavailable, Damaged, Internal)
}


def to_wire(error: AppError) -> ErrorValue:
    """The value that travels; a refusal and an absence give the same one."""
    if isinstance(error, Refused):
        return ErrorValue(code=NotFound.code, message="no such matter")
    return ErrorValue(
        code=error.code,
        message=error.message,
        next_step=error.next_step,
        retry=error.retry,
        reference=error.reference,
    )


def from_wire(value: ErrorValue) -> AppError:
    """The exception for a value that came over the line; an unknown code becomes `Internal`."""
    kind = _BY_CODE.get(value.code, Internal)
    return kind(value.message, next_step=value.next_step, reference=value.reference)
