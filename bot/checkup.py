"""What `secondchair doctor` looks at: settings, key, pinned host keys, words, the line, the box.

Every check ends in a state, a reason and, where it is not ok, the next step. Values of settings are
shown to the person at this terminal; no case text is involved.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path

import msgspec

from bot import words as catalogue
from bot.blocks import Block, Piece, Tone, paragraph
from bot.config import Loaded
from bot.conversation import Worker
from bot.look import Look
from protocol.errors import AppError, BadRequest, Unavailable
from protocol.jobs import Health, HealthIs


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    DEGRADED = "degraded"
    """It works, with less."""
    FAILED = "failed"
    """It does not work; the next step says what to do."""
    SKIPPED = "skipped"
    """It was not tried, because of a check before it."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at."""

    name: str
    state: State
    reason: str
    next_step: str = ""
    exit_code: int = 0
    """What the program ends with when this is the first check that failed."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Every check, and every setting with where its value came from."""

    checks: tuple[Check, ...]
    settings: dict[str, tuple[str, str]]
    """Key to its value and "default", "file", "environment" or "flag"."""


Opener = Callable[[], AbstractAsyncContextManager[Worker]]


async def run(loaded: Loaded, open_link: Opener) -> Report:
    """Looks at everything; nothing is changed.

    Args:
        loaded: The settings.
        open_link: Opens the line to the box; called only when key and host keys are there.
    """
    settings = loaded.settings
    checks = [_key(settings.key_file), _known_hosts(settings.known_hosts), _words()]
    if any(check.state is State.FAILED for check in checks):
        checks.append(Check(name="line", state=State.SKIPPED, reason="a check before it failed"))
    else:
        checks += await _line(open_link)
    values = {key: (str(getattr(settings, key)), source) for key, source in loaded.sources.items()}
    return Report(checks=tuple(checks), settings=values)


def exit_code(report: Report) -> int:
    """0 when nothing failed, else the code of the first check that did."""
    failed = [check.exit_code or 1 for check in report.checks if check.state is State.FAILED]
    return failed[0] if failed else 0


def blocks(report: Report, look: Look) -> list[Block]:
    """The report for a person."""
    tones = {State.OK: Tone.GREEN, State.FAILED: Tone.RED}
    lines = []
    for check in report.checks:
        head = Piece(f"{check.state:<9}", tones.get(check.state, Tone.AMBER), whole=True)
        text = Piece(f"{look.line(check.name)}: {look.line(check.reason)}")
        lines.append(paragraph(head, text, hang=11))
        if check.next_step:
            step = look.words("error.next", step=look.line(check.next_step))
            lines.append(paragraph(Piece(step), indent=11, hang=11))
    for key, (value, source) in report.settings.items():
        text = Piece(f"{key} = {look.line(value)}  ({source})", Tone.FAINT)
        lines.append(paragraph(text, hang=3))
    return lines


def _key(path: Path) -> Check:
    if not path.is_file():
        return Check(
            name="key",
            state=State.FAILED,
            reason="there is no private key",
            next_step="secondchair init makes one",
            exit_code=BadRequest.exit_code,
        )
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Check(
            name="key",
            state=State.FAILED,
            reason="others on this machine may read the private key",
            next_step="chmod 600 on the key file, and think about making a new key",
            exit_code=BadRequest.exit_code,
        )
    return Check(name="key", state=State.OK, reason="there, and readable by you alone")


def _known_hosts(path: Path) -> Check:
    keys = 0
    if path.is_file():
        lines = path.read_text("utf-8", errors="replace").splitlines()
        keys = sum(bool(line.strip()) and not line.startswith("#") for line in lines)
    if not keys:
        return Check(
            name="host keys",
            state=State.FAILED,
            reason="no host key is pinned, so the box cannot be told from another",
            next_step="ask the operator for known_hosts, then secondchair init --known-hosts-from",
            exit_code=BadRequest.exit_code,
        )
    if keys == 1:
        return Check(
            name="host keys",
            state=State.DEGRADED,
            reason="one host key is pinned and no spare: a change of key will lock you out",
            next_step="ask the operator for the spare key",
        )
    return Check(name="host keys", state=State.OK, reason=f"{keys} pinned")


def _words() -> Check:
    keys = {language: catalogue.load(language).keys for language in catalogue.LANGUAGES}
    if len(set(keys.values())) > 1:
        return Check(
            name="words", state=State.FAILED, reason="the catalogues do not hold the same sentences"
        )
    return Check(name="words", state=State.OK, reason=f"languages: {', '.join(keys)}")


async def _line(open_link: Opener) -> list[Check]:
    try:
        async with open_link() as worker:
            health = await worker.call(Health())
            assert isinstance(health, HealthIs)
    except AppError as error:
        return [
            Check(
                name="line",
                state=State.FAILED,
                reason=error.message,
                next_step=error.next_step,
                exit_code=error.exit_code,
            )
        ]
    checks = [Check(name="line", state=State.OK, reason="connected, host key as pinned")]
    states = {"ok": State.OK, "degraded": State.DEGRADED}
    for part, (state, sentence) in sorted(health.parts.items()):
        checks.append(
            Check(
                name=f"box {part}",
                state=states.get(state, State.FAILED),
                reason=sentence,
                exit_code=Unavailable.exit_code,
            )
        )
    return checks
