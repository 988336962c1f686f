"""Starts the app on this process's terminal, and leaves the terminal clean however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator

from bot.terminal.app import TerminalApp
from bot.terminal.window import Start


async def run(start: Start) -> int:
    """Runs the app until the person leaves; 0 when it ended well.

    A hang-up or a request to end leaves as a key would, so the terminal is given back as it was.

    Raises:
        Exception: What ended the app, where it did not end well.
    """
    desk = _desk(start)
    with _leaves_on_signals(desk):
        code = await desk.run_async(mouse=False)
    if desk.failure is not None:
        raise desk.failure
    return code or 0


def _desk(start: Start) -> TerminalApp:
    if sys.platform == "win32":
        return TerminalApp(start)
    from bot.terminal.driver import QuietDriver

    return TerminalApp(start, driver=QuietDriver)


@contextlib.contextmanager
def _leaves_on_signals(desk: TerminalApp) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGHUP, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, desk.action_leave)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
