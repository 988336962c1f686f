"""The chat line by line: what was shown scrolls up and stays, the newest stands at the bottom.

It works in any terminal, with a screen reader, and without a terminal at all: lines come from a
pipe then and replies go to one. Ctrl-C leaves a job at work and gives the prompt back.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator, Sequence
from types import FrameType

from bot import chat, deciding
from bot.blocks import Block
from bot.conversation import Conversation
from bot.look import Look
from bot.progress import Watch
from bot.slash import Name, parse
from bot.terminal.lines import Lines
from bot.terminal.screen import Screen


class Plain:
    """A terminal, or a pair of pipes, as a face."""

    def __init__(self, screen: Screen, lines: Lines) -> None:
        self._screen = screen
        self._lines = lines

    @property
    def look(self) -> Look:
        """The look for the width of now."""
        return self._screen.look

    def show(self, blocks: Sequence[Block]) -> None:
        """Prints blocks in the place of the progress."""
        self._screen.show(blocks)

    def progress(self, watch: Watch) -> None:
        """Shows where a job is."""
        self._screen.progress(watch)

    def settle(self) -> None:
        """Takes the progress away."""
        self._screen.settle()

    @property
    def begins(self) -> bool:
        """Whether a line can be begun for the person."""
        return self._lines.begins

    async def next(self, prompt: str, begun: str = "") -> str | None:
        """The next command line, of which ``begun`` stands there already; None at the end."""
        return await self._lines.next(prompt, begun=begun)

    async def ask(self, question: str) -> str | None:
        """One line from the person, which the arrow keys do not call back."""
        return await self._lines.next(question, remember=False)


async def run(front: Plain, talk: Conversation, *, matter: str) -> None:
    """Runs the chat until the person leaves or the lines end.

    Args:
        front: The face that the conversation shows itself on.
        talk: The conversation.
        matter: The matter to open first; empty opens the only one, or lists them.
    """
    words = front.look.words
    await _interruptible(front, chat.begin(talk, matter))
    begun = ""
    while True:
        bound = talk.matter
        prompt = words("chat.prompt", matter=bound.id) if bound else words("chat.prompt_none")
        line = await front.next(prompt, begun)
        begun = ""
        if line is None or chat.leaves(line):
            talk.say("chat.bye")
            return
        typed = parse(line)
        if typed and typed.name is Name.EDIT and not typed.rest and talk.answer and front.begins:
            begun = deciding.edit_line(talk.answer)
            continue
        await _interruptible(front, chat.handle(talk, line))


async def _interruptible(front: Plain, doing: Coroutine[None, None, bool]) -> None:
    """Runs one command; Ctrl-C cancels the waiting, never the job."""
    task = asyncio.ensure_future(doing)
    with _ctrl_c(task):
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise  # somebody ends the whole chat
        finally:
            front.settle()


@contextlib.contextmanager
def _ctrl_c(task: asyncio.Task[bool]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
