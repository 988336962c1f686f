"""The command line of a ``llama-server``: which flags we give, checked against its own ``--help``.

What the build does not list is a refusal at start, not a surprise later.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from protocol.errors import BadRequest, Unavailable
from worker.engine.build_help import BuildHelp
from worker.engine.drafting import DRAFT_FLAGS
from worker.engine.models import weights_sha256
from worker.engine.settings import EngineSettings
from worker.engine.wall import refuse_shared_speculation

_FORBIDDEN = {
    flag: why
    for why, flags in {
        "it writes prompts to disk": "--log-prompts-dir --log-file",
        "it gives the server tools of its own": "--tools --agent --ui-mcp-proxy --webui-mcp-proxy",
        "it lets the server read files": "--media-path --path --models-dir --models-preset",
        "it sends the model's work to another machine": "--rpc",
        "it fetches files from elsewhere": (
            "-mu --model-url -hf -hfr --hf-repo -hff --hf-file -hfd -hfrd --hf-repo-draft -hft "
            "--hf-token -dr --docker-repo --spec-draft-hf -mmu --mmproj-url"
        ),
        "it moves state between texts": "--cache-reuse",
        "it keeps what one matter said for the next": (
            "--spec-default -lcs --lookup-cache-static -lcd --lookup-cache-dynamic"
        ),
        "the keeper chooses the socket": "--host --port --reuse-port --api-prefix",
        "the folder of its socket lets nobody else in": "--api-key --api-key-file",
        "the keeper chooses the folder": "--slot-save-path",
        "the keeper must see when a slot is free": "--no-slots",
        "the setting model says it": "-m --model -a --alias",
        "the setting cache_ram_mib says it": "--cache-ram -cram",
        "the setting speculation says it": "--spec-type",
        "the setting slots says it": "-np --parallel",
        "it lets slots share one pool": "--kv-unified -kvu",
        "the setting context_tokens says it": "-c --ctx-size",
        "it changes what the other flags say": "-fit --fit",
        "it may show prompts": "-v --verbose -lv --verbosity --log-verbosity",
    }.items()
    for flag in flags.split()
}
"""What a flag of the settings may not be, with every name that builds have given it."""

_SPECULATION = "--spec-type"
_NO_UI = ("--no-ui", "--no-webui")
"""The same flag, older name last."""

_VALUE_IS_PRIVATE = DRAFT_FLAGS | frozenset(
    "-m -a --host --slot-save-path --api-key-file --chat-template-file".split()
)
"""Flags whose value names a path or a secret; left out of provenance, where a draft model's hash
stands in its place."""


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


def setting_flags(settings: EngineSettings, *, model: Path) -> list[str]:
    """The arguments that follow from the settings: all but where it listens and what it may write.

    Raises:
        BadRequest: The settings ask for a flag or a kind of speculation that we do not allow; it is
            named.
    """
    refuse_shared_speculation(settings.speculation)
    for flag in settings.flags:
        name = flag.split("=", 1)[0]
        if name in _FORBIDDEN:
            raise BadRequest(f"the engine flag {name} is not allowed: {_FORBIDDEN[name]}")
    given = [
        *("-m", str(model)),
        *("-a", settings.name),
        *("-c", str(settings.context_tokens * settings.slots)),
        *("-np", str(settings.slots)),
        *("-b", str(settings.batch_tokens)),
        *("-ub", str(min(settings.ubatch_tokens, settings.batch_tokens))),
        *("-t", str(settings.threads)),
        *("-ctk", settings.kv_dtype),
        *("-ctv", settings.kv_dtype),
        *("--cache-ram", str(settings.cache_ram_mib)),
        *("--fit", "off"),
        "--offline",
        "--slots",
        *("-lv", "1"),
    ]
    if settings.speculation != "none":
        given += [_SPECULATION, settings.speculation]
    return given + list(settings.flags)


def placed_flags(given: Sequence[str], *, socket: Path, slots: Path, build: BuildHelp) -> list[str]:
    """The arguments with the place where it listens and the folder that it may write.

    Raises:
        BadRequest: Among them is a flag or a kind of speculation that the build lacks; it is named.
    """
    if _SPECULATION in given[:-1]:
        _refuse_unknown_speculation(given[list(given).index(_SPECULATION) + 1], build)
    placed = [
        *given,
        *("--host", str(socket)),
        *("--slot-save-path", f"{slots}/"),
        next((flag for flag in _NO_UI if flag in build.flags), _NO_UI[0]),
    ]
    for flag in placed:
        if _is_flag(flag) and flag.split("=", 1)[0] not in build.flags:
            raise BadRequest(
                f"this build of the engine does not know the flag {flag.split('=', 1)[0]}",
                next_step="remove the flag, or point to the build it was written for",
            )
    return placed


def server_flags(
    settings: EngineSettings, *, model: Path, socket: Path, slots: Path, build: BuildHelp
) -> list[str]:
    """The arguments after the program's name.

    Raises:
        BadRequest: The settings ask for a flag or a kind of speculation that the build lacks or
            that we do not allow; it is named.
    """
    given = setting_flags(settings, model=model)
    return placed_flags(given, socket=socket, slots=slots, build=build)


def _refuse_unknown_speculation(kinds: str, build: BuildHelp) -> None:
    missing = set(kinds.split(",")) - build.speculation - {"none"}
    if build.speculation and missing:
        raise BadRequest(
            f"this build of the engine knows no speculation {min(missing)}",
            next_step=f"it knows {', '.join(sorted(build.speculation))}",
        )


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
        if name in DRAFT_FLAGS:
            draft = await asyncio.to_thread(weights_sha256, Path(value or after))
            return (*public_flags(given), name, f"sha256:{draft}")
    return public_flags(given)


def _is_flag(word: str) -> bool:
    return re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word) is not None
