"""Loading in a process of its own, so that a hostile file can at worst end that process.

The child reads many files, one after the other; it has a bound on memory, no way to start over what
it was doing, and is ended when it finishes no page for a stated time. Then the file becomes an
unreadable document with the reason, and the next file gets a new child. Paths and names travel over
a pipe, never on a command line.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import msgspec

from protocol.errors import AppError, NotFound, Refused
from rag.loaders import LoadOptions, load
from rag.loaders.parts import Draft
from rag.paged import PagedText

_LENGTH = struct.Struct(">cQ")
_PAGE, _DONE, _ERROR = b"p", b"d", b"e"
_MOST_BYTES = 1 << 32


class ChildReader:
    """`load` in a child process. Not for threads; close it when done."""

    def __init__(
        self, *, seconds: float = 180.0, memory_bytes: int = 4 << 30, files: int = 500
    ) -> None:
        """``seconds`` without a finished page end a file; after ``files`` files the child is new.

        ``memory_bytes`` bounds the address space the child may use beyond what it starts with.
        """
        self._seconds = seconds
        self._memory = memory_bytes
        self._files = files
        self._read = 0
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ChildReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            _end(self._child)
            self._child = None

    def load(
        self, path: Path, *, name: str | None = None, options: LoadOptions | None = None
    ) -> tuple[PagedText, ...]:
        """What `rag.loaders.load` gives, or one unreadable document when the child did not last."""
        shown = name or path.name
        chosen = options or LoadOptions()
        if not path.is_file():
            raise NotFound("there is no such file")
        child = self._running()
        try:
            self._ask(child, path, shown, chosen)
            return self._answer(child, chosen)
        except TimeoutError:
            reason = f"reading it took longer than {self._seconds:.0f} seconds for one page"
        except (EOFError, OSError, msgspec.MsgspecError, ValueError):
            reason = (
                "the reader ended while reading it (too much memory, or damage it could not bear)"
            )
        except AppError:
            raise  # the child's whole answer
        except BaseException:
            self.close()  # it may be in the middle of an answer
            raise
        self.close()
        draft = Draft.unread("unknown", reason)
        return (draft.finish(name=shown, original=None, parent=None, parent_at=None),)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and (
            self._read >= self._files or self._child.poll() is not None
        ):
            self.close()
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "rag.loaders.child", str(self._memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=_environment(),
            )
            self._read = 0
        self._read += 1
        return self._child

    def _ask(
        self, child: subprocess.Popen[bytes], path: Path, name: str, options: LoadOptions
    ) -> None:
        plain = replace(options, on_page=None)
        body = msgspec.msgpack.encode([str(path.resolve()), name, _values(plain)])
        assert child.stdin is not None
        child.stdin.write(_LENGTH.pack(_DONE, len(body)) + body)
        child.stdin.flush()

    def _answer(
        self, child: subprocess.Popen[bytes], options: LoadOptions
    ) -> tuple[PagedText, ...]:
        assert child.stdout is not None
        while True:
            deadline = time.monotonic() + self._seconds
            kind, length = _LENGTH.unpack(_exactly(child.stdout, _LENGTH.size, deadline))
            if length > _MOST_BYTES:
                raise ValueError("an answer longer than any document")
            body = _exactly(child.stdout, length, deadline)
            if kind == _PAGE:
                done, of = msgspec.msgpack.decode(body, type=tuple[int, int])
                options.done(done, of)
            elif kind == _DONE:
                return msgspec.msgpack.decode(body, type=tuple[PagedText, ...])
            else:
                raise Refused(msgspec.msgpack.decode(body, type=str))


def _environment() -> dict[str, str]:
    kept = (
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "TESSDATA_PREFIX",
    )
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return threads | {key: os.environ[key] for key in kept if key in os.environ}


def _values(options: LoadOptions) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(options)
    made.pop("on_page", None)
    return made


def _exactly(pipe: IO[bytes], length: int, deadline: float) -> bytes:
    """``length`` bytes, or TimeoutError at the deadline, or EOFError when the child is gone."""
    out = bytearray()
    handle = pipe.fileno()
    while len(out) < length:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([handle], [], [], left)[0]:
            raise TimeoutError
        got = os.read(handle, min(1 << 20, length - len(out)))
        if not got:
            raise EOFError
        out += got
    return bytes(out)


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def serve(memory_bytes: int) -> None:
    """The child's side: read requests from standard input until it closes."""
    _bound(memory_bytes)
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not land between the answers
    while head := source.read(_LENGTH.size):
        _, length = _LENGTH.unpack(head)
        path, name, values = msgspec.msgpack.decode(source.read(length))

        def page(done: int, of: int) -> None:
            _send(sink, _PAGE, msgspec.msgpack.encode((done, of)))

        values |= {"languages": tuple(values["languages"]), "on_page": page}
        options = LoadOptions(**values)
        try:
            loaded = load(Path(path), name=name, options=options)
            _send(sink, _DONE, msgspec.msgpack.encode(loaded))
        except AppError as error:
            _send(sink, _ERROR, msgspec.msgpack.encode(error.message))


def _send(sink: IO[bytes], kind: bytes, body: bytes) -> None:
    sink.write(_LENGTH.pack(kind, len(body)) + body)
    sink.flush()


def _bound(memory_bytes: int) -> None:
    """Bound the address space to what is mapped now and ``memory_bytes`` more; no core files."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
