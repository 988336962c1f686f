"""The logger: an event name plus ids, counts, sizes, times and short hashes; never case text.

A field must be on the list below and its value must have the field's shape, so a question passed
as a user's name does not get through either. A line that breaks the list raises until `setup` has
run (that is: in tests and programs under development); afterwards the field is dropped and counted.
`setup` also takes the messages out of what foreign libraries log and out of tracebacks. The audit
journal (`worker/audit.py`) is something else: complete and sealed.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TextIO

import msgspec

Field = str | int | float | bool

_ROOT: Final = "secondchair"
_EVENT: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")


def _shape(pattern: str) -> Callable[[object], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _measure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


_ID: Final = _shape(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CODE: Final = _shape(r"[a-z][a-z0-9_]{0,39}")
_HASH: Final = _shape(r"[0-9a-f]{6,16}")

FIELDS: Final[Mapping[str, Callable[[object], bool]]] = {
    # who and what: ids
    "matter": _shape(r"M-[0-9A-Z]{4,12}"),
    "job": _shape(r"J-[0-9A-Z]{9}-[0-9A-Z]{4}"),
    "document": _ID,
    "user": _shape(r"[a-z][a-z0-9._-]{0,31}"),
    "acting_for": _shape(r"[a-z][a-z0-9._-]{0,31}"),
    "board": _shape(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"),  # a model over two boards: north+south
    "gpu": _ID,
    "session": _ID,
    "reference": _ID,
    "fingerprint": _shape(r"SHA256:[A-Za-z0-9+/]{6,43}"),
    "peer": _shape(r"[0-9a-fA-F.:%a-z]{1,64}"),
    # words of our own: short codes, never sentences
    "part": _CODE,
    "kind": _CODE,
    "state": _CODE,
    "reason": _CODE,
    "code": _CODE,
    "role": _CODE,
    "step": _shape(r"[a-z][a-z0-9_.-]{0,63}"),
    "error": _shape(r"[A-Za-z_][A-Za-z0-9_.]{0,79}"),
    "where": _shape(r"[A-Za-z0-9_./<>-]{1,120}:\d+"),
    "library": _shape(r"[A-Za-z0-9_.]{1,80}"),
    "algorithm": _shape(r"[A-Za-z0-9@._-]{1,64}"),
    "hash": _HASH,
    "version": _shape(r"[0-9A-Za-z._+-]{1,40}"),
    # counts and sizes
    "attempt": _count,
    "bytes": _count,
    "chars": _count,
    "count": _count,
    "done": _count,
    "dropped": _count,
    "exit": _count,
    "number": _count,
    "page": _count,
    "pages": _count,
    "passages": _count,
    "pid": _count,
    "place": _count,
    "port": _count,
    "seq": _count,
    "slot": _count,
    "tokens": _count,
    "total": _count,
    "uid": _count,
    # times and rates
    "eta_s": _measure,
    "took_ms": _measure,
    "wait_s": _measure,
    "tokens_per_s": _measure,
    "ok": _flag,
    "retry": _flag,
}
"""Every field a log line may carry, and the shape its value must have."""


class Log:
    """A logger of one part: ``Log("jobs").info("job.claimed", job=job, attempt=1)``."""

    def __init__(self, part: str) -> None:
        self._logger = logging.getLogger(f"{_ROOT}.{part}")

    def debug(self, event: str, **fields: Field) -> None:
        """Says something only a developer wants to know."""
        self._say(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Field) -> None:
        """Says that something happened as it should."""
        self._say(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Field) -> None:
        """Says that something is off, and the work goes on."""
        self._say(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Field) -> None:
        """Says that something failed."""
        self._say(logging.ERROR, event, fields)

    def trouble(self, event: str, error: BaseException, **fields: Field) -> str:
        """Logs an exception by class and place, without its message.

        Returns:
            A fresh reference, which is what the user gets (`protocol.errors.Internal`).
        """
        reference = secrets.token_hex(4)
        self._say(logging.ERROR, event, {**fields, **_where(error, error.__traceback__, reference)})
        return reference

    def _say(self, level: int, event: str, fields: Mapping[str, Field]) -> None:
        if not self._logger.isEnabledFor(level) and not _strict():
            return
        kept = {name: value for name, value in fields.items() if _fits(name, value)}
        if len(kept) < len(fields) or not _EVENT.fullmatch(event):
            if _strict():
                bad = sorted(set(fields) - set(kept))  # our own names, never the values
                raise TypeError(f"a log line may not carry this: {bad or 'event'}")
            kept["dropped"] = len(fields) - len(kept)
            event = event if _EVENT.fullmatch(event) else "unnamed"
        self._logger.log(level, event, extra={"fields": kept})


def setup(stream: TextIO | None = None, *, level: int = logging.INFO) -> None:
    """Makes this process log to ``stream`` as JSON lines, and nothing else anywhere.

    Called once by a program's start, never by a library. After it, log lines no longer raise,
    foreign libraries' records lose their messages, and an uncaught exception shows its class and
    place only.

    Args:
        stream: Where lines go; the process's error stream when None.
        level: The lowest level of our own that is written; foreign ones start at WARNING.
    """
    handler = _JsonLines(stream if stream is not None else sys.stderr)
    handler.setFormatter(_Formatter())
    ours = logging.getLogger(_ROOT)
    ours.handlers[:] = [handler]
    ours.setLevel(level)
    ours.propagate = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = lambda _, error, __: _uncaught(error)
    threading.excepthook = lambda args: _uncaught(args.exc_value)


class _JsonLines(logging.StreamHandler[TextIO]):
    """Our handler; its presence says that `setup` has run."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Loses the line rather than print it: the default shows the message and its arguments."""


class _Formatter(logging.Formatter):
    """One record as one JSON object, from the fixed fields only."""

    def format(self, record: logging.LogRecord) -> str:
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower()}
        if record.name.startswith(f"{_ROOT}."):
            line["part"] = record.name.removeprefix(f"{_ROOT}.")
            line["event"] = record.msg
            line.update(getattr(record, "fields", {}))
        else:
            line["event"] = "foreign"
            if _fits("library", record.name):
                line["library"] = record.name
            error = record.exc_info[1] if record.exc_info else None
            if error is not None:
                line.update(_where(error, error.__traceback__))
        return msgspec.json.encode(line).decode()


def _fits(name: str, value: object) -> bool:
    check = FIELDS.get(name)
    return check is not None and check(value)


def _strict() -> bool:
    return not any(isinstance(h, _JsonLines) for h in logging.getLogger(_ROOT).handlers)


def _uncaught(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, KeyboardInterrupt):
        Log("process").trouble("uncaught", error)


def _where(
    error: BaseException, trace: TracebackType | None, reference: str = ""
) -> dict[str, Field]:
    fields: dict[str, Field] = {"error": type(error).__name__}
    frames = traceback.extract_tb(trace)
    if frames:
        path = Path(frames[-1].filename)
        fields["where"] = f"{'/'.join(path.parts[-3:])}:{frames[-1].lineno or 0}"
    if reference:
        fields["reference"] = reference
    return {name: value for name, value in fields.items() if _fits(name, value)}
