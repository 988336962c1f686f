"""The command line of a ``llama-server``: which flags we give, checked against its own ``--help``.

Flags come and go between builds. One that the build does not list is a refusal at start, not a
surprise later.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from protocol.errors import BadRequest, Unavailable
from worker.engine.child import scrubbed_environment
from worker.engine.models import file_sha256
from worker.engine.settings import EngineSettings
from worker.engine.wall import refuse_shared_speculation

_HELP_TIMEOUT_S = 30.0

_FORBIDDEN = {
    "--log-prompts-dir": "it writes prompts to disk",
    "--tools": "it gives the server tools of its own",
    "--media-path": "it lets the server read files",
    "--cache-reuse": "it moves state between texts",
    "--host": "the keeper chooses the socket",
    "--port": "the keeper chooses the socket",
    "--slot-save-path": "the keeper chooses the folder",
    "--cache-ram": "the setting cache_ram_mib says it",
    "--spec-type": "the setting speculation says it",
    "--parallel": "the setting slots says it",
    "-np": "the setting slots says it",
    "--ctx-size": "the setting context_tokens says it",
    "-c": "the setting context_tokens says it",
    "-v": "it shows prompts",
    "--verbose": "it shows prompts",
    "-lv": "it may show prompts",
    "--verbosity": "it may show prompts",
    "--log-verbosity": "it may show prompts",
}

_NO_UI = ("--no-ui", "--no-webui")
"""The same flag, older name last."""

_DRAFT = frozenset("-md --model-draft --spec-draft-model".split())
"""Flags that name the file of a draft model: its hash stands in provenance instead."""
_VALUE_IS_PRIVATE = _DRAFT | frozenset(
    "-m -a --host --slot-save-path --api-key-file --chat-template-file".split()
)
"""Flags whose value names a path or a secret; left out of provenance."""


def server_program(settings: EngineSettings) -> list[str]:
    """The binary of the settings, else our child around the native server of ``xllamacpp``.

    Raises:
        Unavailable: Neither is there.
    """
    if settings.binary is not None:
        return [str(settings.binary)]
    if importlib.util.find_spec("xllamacpp") is None:
        raise Unavailable(
            "no llama-server is configured and the package xllamacpp is not installed",
            next_step='pip install "secondchair[engine]", or set the path of a llama-server binary',
        )
    return [sys.executable, "-P", str(Path(__file__).with_name("native_server.py"))]


def server_binary(settings: EngineSettings) -> Path:
    """The file whose hash says which build answers; builds misreport their number."""
    if settings.binary is not None:
        return settings.binary
    spec = importlib.util.find_spec("xllamacpp")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder).glob("xllamacpp*.so")):
            return file
    raise Unavailable("the package xllamacpp is not installed")


async def known_flags(program: Sequence[str]) -> frozenset[str]:
    """Every flag that the program's ``--help`` names.

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
        async with asyncio.timeout(_HELP_TIMEOUT_S):
            said, _ = await process.communicate()
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise Unavailable("the engine's program does not answer") from error
    return frozenset(re.findall(r"(?<![\w-])--?[a-z][\w-]*", said.decode("utf-8", "replace")))


def server_flags(
    settings: EngineSettings, *, model: Path, socket: Path, slots: Path, known: frozenset[str]
) -> list[str]:
    """The arguments after the program's name.

    Raises:
        BadRequest: The settings ask for a flag that the build lacks or that we do not allow; the
            flag is named.
    """
    refuse_shared_speculation(settings.speculation)
    for flag in settings.flags:
        name = flag.split("=", 1)[0]
        if name in _FORBIDDEN:
            raise BadRequest(f"the engine flag {name} is not allowed: {_FORBIDDEN[name]}")
    given = [
        *("-m", str(model)),
        *("-a", settings.name),
        *("--host", str(socket)),
        *("-c", str(settings.context_tokens * settings.slots)),
        *("-np", str(settings.slots)),
        *("-b", str(settings.batch_tokens)),
        *("-ub", str(min(settings.ubatch_tokens, settings.batch_tokens))),
        *("-t", str(settings.threads)),
        *("-ctk", settings.kv_dtype),
        *("-ctv", settings.kv_dtype),
        *("--cache-ram", str(settings.cache_ram_mib)),
        *("--slot-save-path", f"{slots}/"),
        *("--fit", "off"),
        "--offline",
        "--slots",
        *("-lv", "1"),
        next((flag for flag in _NO_UI if flag in known), _NO_UI[0]),
    ]
    if settings.speculation != "none":
        given += ["--spec-type", settings.speculation]
    given += settings.flags
    for flag in given:
        if _is_flag(flag) and flag.split("=", 1)[0] not in known:
            raise BadRequest(
                f"this build of the engine does not know the flag {flag.split('=', 1)[0]}",
                next_step="remove the flag, or point to the build it was written for",
            )
    return given


def public_flags(given: Sequence[str]) -> tuple[str, ...]:
    """The arguments without those that name paths, sockets or keys, for provenance."""
    kept: list[str] = []
    private = False
    for word in given:
        name, _, value = word.partition("=")
        if private:
            private = False
        elif word in _VALUE_IS_PRIVATE:
            private = True
        elif name not in _VALUE_IS_PRIVATE and not (value or word).startswith("/"):
            kept.append(word)
    return tuple(kept)


async def recorded_flags(given: Sequence[str]) -> tuple[str, ...]:
    """The public arguments, with the hash of a draft model's file in place of its path.

    Raises:
        NotFound: There is no such draft model.
    """
    for word, after in zip(given, (*given[1:], ""), strict=True):
        name, _, value = word.partition("=")
        if name in _DRAFT:
            draft = await asyncio.to_thread(file_sha256, Path(value or after))
            return (*public_flags(given), name, f"sha256:{draft}")
    return public_flags(given)


def _is_flag(word: str) -> bool:
    return re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word) is not None
