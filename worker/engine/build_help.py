"""What a build of the server says it can do: its own ``--help``, read once at each start.

Flags and kinds of speculation come and go between builds; only the build itself knows its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec

from protocol.errors import Unavailable
from worker.engine.child import scrubbed_environment

_TIMEOUT_S = 30.0
_FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
_SPECULATION = re.compile(r"^ *(?:-\w+, *)?--spec-type\b.*(?:\n(?! *-).*)*", re.MULTILINE)
"""The flag's own entry: its line, and those after it that begin no other flag."""
_KIND = re.compile(r"(?<![\w-])(?:none|ngram-[a-z0-9-]+|draft-[a-z0-9-]+)")


class BuildHelp(msgspec.Struct, frozen=True, kw_only=True):
    """What a build knows."""

    flags: frozenset[str]
    speculation: frozenset[str] = frozenset()
    """Kinds of speculation it lists; empty where it lists none by name."""


def parse_help(said: str) -> BuildHelp:
    """What the text of a ``--help`` lists."""
    entry = _SPECULATION.search(said)
    kinds = _KIND.findall(entry[0]) if entry else ()
    return BuildHelp(flags=frozenset(_FLAG.findall(said)), speculation=frozenset(kinds) - {"none"})


async def read_help(program: Sequence[str]) -> BuildHelp:
    """What the program knows.

    Raises:
        Unavailable: It cannot be run, or does not answer.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *program,
            "--help",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=scrubbed_environment({}),
        )
    except OSError as error:
        raise Unavailable("the engine's program cannot be run") from error
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said, _ = await process.communicate()
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise Unavailable("the engine's program does not answer") from error
    return parse_help(said.decode("utf-8", "replace"))
