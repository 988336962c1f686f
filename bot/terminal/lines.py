"""Where typed lines come from: a prompt with completion on a terminal, else a pipe line by line.

The history of a prompt lives in memory: what a lawyer typed is not written to disk on this side.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import Iterable
from typing import Protocol

from prompt_toolkit import PromptSession  # noqa: TID251 - the terminal's door
from prompt_toolkit.completion import (  # noqa: TID251 - the terminal's door
    CompleteEvent,
    Completer,
    Completion,
)
from prompt_toolkit.data_structures import Size  # noqa: TID251 - the terminal's door
from prompt_toolkit.document import Document  # noqa: TID251 - the terminal's door
from prompt_toolkit.history import InMemoryHistory  # noqa: TID251 - the terminal's door
from prompt_toolkit.output import Output  # noqa: TID251 - the terminal's door
from prompt_toolkit.output.vt100 import Vt100_Output  # noqa: TID251 - the terminal's door
from prompt_toolkit.shortcuts import CompleteStyle  # noqa: TID251 - the terminal's door

from bot.slash import candidates

_READ_BYTES = 64 * 1024


class Lines(Protocol):
    """A source of typed lines."""

    begins: bool
    """Whether a line can be begun for the person."""

    async def next(self, prompt: str, *, remember: bool = True, begun: str = "") -> str | None:
        """The next line, shown after ``prompt``; None at the end.

        Args:
            prompt: What stands before the cursor, where there is one.
            remember: Whether the line may be called back with the arrow keys.
            begun: What stands in the line already, where lines can be begun.
        """
        ...


class Prompt:
    """A terminal's line editor: completion of slash commands, history, pasted lines kept whole."""

    begins = True

    def __init__(self) -> None:
        output = _output()
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            completer=_Slash(),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            output=output,
        )
        self._plain: PromptSession[str] = PromptSession(history=InMemoryHistory(), output=output)

    async def next(self, prompt: str, *, remember: bool = True, begun: str = "") -> str | None:
        """The next line; Ctrl-C empties the line, Ctrl-D on an empty one ends."""
        session = self._session if remember else self._plain
        while True:
            try:
                return await session.prompt_async(prompt, default=begun)
            except KeyboardInterrupt:
                begun = ""
                if not remember:
                    return ""
            except EOFError:
                return None


class Piped:
    """Lines of a pipe or a file, read by a thread so that the line to the worker is kept alive.

    The thread reads the descriptor itself and holds no lock of `sys.stdin`, so the program can end
    while it waits.
    """

    begins = False

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._started = False
        self._ended = False

    async def next(self, prompt: str, *, remember: bool = True, begun: str = "") -> str | None:
        """The next line; no prompt is printed."""
        if self._ended:
            return None
        if not self._started:
            self._started = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        line = await self._lines.get()
        self._ended = line is None
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except OSError:
                data = b""
            *lines, rest = (rest + decoder.decode(data, not data)).split("\n")
            if not data and rest:
                lines.append(rest)
            for line in lines:
                self._give(loop, line.removesuffix("\r"))
            if not data:
                self._give(loop, None)
                return

    def _give(self, loop: asyncio.AbstractEventLoop, line: str | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _output() -> Output | None:
    """A terminal that is never asked where its cursor is: the answer would be typed into a shell
    if the line broke meanwhile. None takes the platform's own.
    """
    if sys.platform == "win32":
        return None
    return Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)


def _size() -> Size:
    """The terminal's size now; what terminals once had where it does not say."""
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns = rows = 0
    return Size(rows=rows or 24, columns=columns or 80)


class _Slash(Completer):
    """Completes slash commands and their fixed words."""

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """What may follow the text before the cursor."""
        before = document.text_before_cursor
        start = before.rfind(" ") + 1
        for word in candidates(before):
            yield Completion(word, start_position=start - len(before))
