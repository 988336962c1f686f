"""The command `secondchair`: chat, ask, find, audit, history, init, doctor, bot.

Concrete parts of this side are built here and nowhere else. Replies go to stdout, talk to stderr;
exit codes follow the error tree. Heavy libraries are imported by the command that needs them, so
that help is instant and a missing extra is a sentence, not a traceback.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from bot import lookback
from bot import lookback_lists as lists
from bot import words as catalogue
from bot.config import Loaded, Settings, state_file
from bot.misuse import Misuse
from bot.options import (
    WithExamples,
    end_with,
    fail,
    fd_option,
    matter_code,
    once_options,
    settings_of,
    settings_options,
)
from bot.outbox import Outbox
from bot.serving import bot as bot_group
from protocol.answers import Answer
from protocol.errors import AppError, BadRequest, Damaged
from protocol.ids import MatterId, matter_id
from protocol.jobs import Ask, AuditIs, Find, Jobs, ListAudit, Result, WorkRequest

if TYPE_CHECKING:
    from bot.blocks import Block
    from bot.link import Link
    from bot.look import Look


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="secondchair")
def main() -> None:
    """Ask a matter's record over SSH and read checked replies.

    The box does the work; this program shows it. Nothing else is contacted.
    """


@main.command(
    cls=WithExamples,
    epilog="  secondchair chat\n  secondchair chat --plain --matter M-7F3K --language ko\n",
)
@click.option("--matter", help="The matter to open first.")
@click.option("--plain", is_flag=True, help="Line by line, for screen readers and scrollback.")
@fd_option
@settings_options
def chat(
    config: Path | None,
    flags: dict[str, object],
    matter: str | None,
    plain: bool,
    fd: int | None,
) -> None:
    """Talk to your matters on the whole screen, or line by line; /help inside lists the commands.

    Through a pipe and on a terminal that cannot do more it goes line by line by itself.
    """
    loaded = settings_of(config, flags | {"matter": matter_code(matter)})
    doing = _plain_chat if plain or not _whole_screen() else _full_chat
    end_with(doing(loaded.settings, fd, state_file(config)))


@main.command(
    cls=WithExamples,
    epilog=(
        "  echo 'When did Northgate first know of the leak?' |\n"
        "      secondchair ask --matter M-7F3K -\n"
        "  secondchair ask --matter M-7F3K - --json < question.txt > answer.json\n"
    ),
)
@click.argument("question", default="-")
@once_options
def ask(question: str, loaded: Loaded, fd: int | None, as_json: bool) -> None:
    """Ask one QUESTION, read from stdin when it is "-", and print the checked reply.

    Everybody on this machine can read a command line, so a question may stand there for the demo
    matter only.
    """

    def request(matter: MatterId, text: str, key: str) -> WorkRequest:
        return Ask(matter=matter, conversation=f"once-{key}", question=text, key=key)

    end_with(_once(loaded.settings, question, request, fd, as_json=as_json), as_json=as_json)


@main.command(
    cls=WithExamples,
    epilog="  echo 'January 9, 2024' | secondchair find --matter M-7F3K -\n",
)
@click.argument("words", default="-")
@once_options
def find(words: str, loaded: Loaded, fd: int | None, as_json: bool) -> None:
    """Find passages for WORDS, read from stdin when they are "-"; no model is used."""

    def request(matter: MatterId, text: str, key: str) -> WorkRequest:
        return Find(matter=matter, text=text, key=key)

    end_with(_once(loaded.settings, words, request, fd, as_json=as_json), as_json=as_json)


@main.command(
    cls=WithExamples,
    epilog=(
        "  secondchair audit --matter M-7F3K\n"
        "  secondchair audit 200 --matter M-7F3K --json > audit.json\n"
    ),
)
@click.argument("entries", type=click.IntRange(1, lookback.MOST_ENTRIES), required=False)
@once_options
def audit(entries: int | None, loaded: Loaded, fd: int | None, as_json: bool) -> None:
    """Print the last ENTRIES (20) of a matter's sealed journal; exit 7 when it is not whole.

    Who did what, when, on which reply or document, by ids; the journal holds no words of a case.
    """

    async def doing() -> int:
        request = ListAudit(matter=_matter(loaded.settings), most=entries or lookback.ENTRIES)
        async with _link(loaded.settings, fd) as link:
            found = await link.call(request)
        assert isinstance(found, AuditIs)
        _print(loaded.settings, found, as_json, partial(lists.audit, request.matter, found))
        return 0 if found.broken_at is None and not found.troubles else Damaged.exit_code

    end_with(doing(), as_json=as_json)


@main.command(
    cls=WithExamples,
    epilog=(
        "  secondchair history --matter M-7F3K\n"
        "  echo 'before:J-0DV3K9Q2A-7F3K leak' | secondchair history --matter M-7F3K --json -\n"
    ),
)
@click.argument("words", default="")
@once_options
def history(words: str, loaded: Loaded, fd: int | None, as_json: bool) -> None:
    """Print what was asked in a matter, newest first, 50 at most, with who asked and its state.

    WORDS, read from stdin when they are "-", leave only what holds all of them; before:JOB among
    them begins after that job.
    """

    async def doing() -> int:
        matter = _matter(loaded.settings)
        text = _text(words, demo=loaded.settings.demo_matter == matter) if words else ""
        try:
            request = lookback.history_request(matter, text)
        except Misuse:
            raise BadRequest("what stands behind before: is no job's code") from None
        async with _link(loaded.settings, fd) as link:
            found = await link.call(request)
        assert isinstance(found, Jobs)
        _print(loaded.settings, found, as_json, partial(lists.history, request, found))
        return 0

    end_with(doing(), as_json=as_json)


@main.command(
    cls=WithExamples,
    epilog="  secondchair init --host gpu-box.office --known-hosts-from ./known_hosts\n",
)
@click.option("--known-hosts-from", type=click.Path(path_type=Path), help="Host keys to pin.")
@settings_options
def init(config: Path | None, flags: dict[str, object], known_hosts_from: Path | None) -> None:
    """Write an explained settings file, make your key, pin the host keys, then run doctor."""
    from bot import setup

    loaded = settings_of(config if config and config.exists() else None, flags)
    try:
        for done in setup.prepare(loaded.settings, config, flags, known_hosts_from):
            click.echo(done, err=True)
    except AppError as error:
        fail(error)
    _doctor(settings_of(config, flags), as_json=False)


@main.command(cls=WithExamples, epilog="  secondchair doctor\n  secondchair doctor --json\n")
@click.option("--json", "as_json", is_flag=True, help="Every check as one JSON object.")
@settings_options
def doctor(config: Path | None, flags: dict[str, object], as_json: bool) -> None:
    """Check settings, key, host keys, terminal and the line to the box."""
    _doctor(settings_of(config, flags, as_json=as_json), as_json=as_json)


main.add_command(bot_group)


# --- what the commands do -------------------------------------------------------------------------


def _whole_screen() -> bool:
    """Whether there is a terminal that can be painted on."""
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return on_terminal and os.environ.get("TERM", "") not in ("dumb", "unknown")


async def _full_chat(settings: Settings, fd: int | None, outbox_file: Path) -> int:
    from bot.terminal.screen import Screen

    try:
        from bot.terminal import full
        from bot.terminal.window import Start
    except ModuleNotFoundError as error:
        click.echo(f"{error.name} is not installed: going on line by line", err=True)
        return await _plain_chat(settings, fd, outbox_file)
    look = Screen(catalogue.load(settings.language), settings, sys.stdout).look
    with closing(_outbox(None if fd is not None else outbox_file)) as outbox:
        async with _link(settings, fd) as link:
            start = Start(
                worker=link,
                outbox=outbox,
                look=look,
                user=link.welcome.user if link.welcome is not None else "",
                host=settings.host if fd is None else "",
                matter=settings.matter,
                new_key=_key,
                up=lambda: link.up,
            )
            return await full.run(start)


async def _plain_chat(settings: Settings, fd: int | None, outbox_file: Path) -> int:
    from bot.conversation import Conversation
    from bot.terminal.lines import Piped, Prompt
    from bot.terminal.plain import Plain, run
    from bot.terminal.screen import Screen

    screen = Screen(catalogue.load(settings.language), settings, sys.stdout)
    typing = sys.stdin.isatty() and sys.stdout.isatty()
    front = Plain(screen, Prompt() if typing else Piped(sys.stdin.fileno()))
    with closing(_outbox(None if fd is not None else outbox_file)) as outbox:
        async with _link(settings, fd) as link:
            user = link.welcome.user if link.welcome is not None else ""
            talk = Conversation(link, front, outbox, thread=f"chat-{user}", new_key=_key)
            host = screen.look.line(settings.host)
            if fd is None:
                talk.say("chat.hello", host=host, user=user)
            else:
                talk.say("chat.hello_here", user=user)
            await run(front, talk, matter=settings.matter)
    return 0


def _outbox(file: Path | None) -> Outbox:
    """The outbox; in memory where the disk refuses, since a chat can do without."""
    try:
        return Outbox(file)
    except AppError as error:
        click.echo(f"{error.message}: what was missed is not shown at the next start", err=True)
        return Outbox(None)


async def _once(
    settings: Settings,
    given: str,
    request: Callable[[MatterId, str, str], WorkRequest],
    fd: int | None,
    *,
    as_json: bool,
) -> int:
    from bot import render
    from bot.once import answer_once
    from bot.terminal.screen import Screen

    matter = _matter(settings)
    asked = request(matter, _text(given, demo=settings.demo_matter == matter), _key())
    words = catalogue.load(settings.language)
    talk = Screen(words, settings, sys.stderr)
    try:
        async with _link(settings, fd) as link:
            answer = await answer_once(link, asked, words=words, on_progress=talk.progress)
    finally:
        talk.settle()
    if as_json:
        _print_json(answer)
    else:
        screen = Screen(words, settings, sys.stdout)
        screen.show(render.reply(answer, screen.look))
    return 0


def _doctor(loaded: Loaded, *, as_json: bool) -> None:
    from bot import checkup
    from bot.terminal.screen import Screen

    async def look_over() -> int:
        report = await checkup.run(loaded, lambda: _link(loaded.settings, None))
        if as_json:
            _print_json(report)
        else:
            words = catalogue.load(loaded.settings.language)
            screen = Screen(words, loaded.settings, sys.stdout)
            screen.show(checkup.blocks(report, screen.look))
        return checkup.exit_code(report)

    end_with(look_over(), as_json=as_json)


def _link(settings: Settings, fd: int | None) -> Link:
    """The line: over a socket that the gateway gave, or over SSH."""
    from bot.link import Link, Target

    if fd is not None:
        return Link.over_fd(fd)
    target = Target(
        host=settings.host,
        port=settings.port,
        key=settings.key_file,
        known_hosts=settings.known_hosts,
    )
    try:
        return Link.over_ssh(target)
    except ModuleNotFoundError as error:
        raise BadRequest(
            f"{error.name} is not installed", next_step="pip install 'secondchair[terminal]'"
        ) from error


def _text(given: str, *, demo: bool) -> str:
    """The question or the words, from stdin where "-" is given."""
    if given != "-" and not demo:
        raise BadRequest(
            "everybody on this machine can read a command line: only the demo matter's questions "
            "may stand there",
            next_step="pass the words on stdin, with - in their place",
        )
    text = (sys.stdin.buffer.read().decode("utf-8", "replace") if given == "-" else given).strip()
    if not text:
        raise BadRequest("there is no question", next_step="pass it on stdin")
    return text


def _matter(settings: Settings) -> MatterId:
    """The matter that is meant."""
    if not settings.matter:
        raise BadRequest("which matter?", next_step="add --matter with its code, such as M-7F3K")
    return matter_id(settings.matter)


def _print(
    settings: Settings, found: Result, as_json: bool, blocks: Callable[[Look], list[Block]]
) -> None:
    """A list, for a program or for a person."""
    from bot.terminal.screen import Screen

    if as_json:
        _print_json(found)
    else:
        screen = Screen(catalogue.load(settings.language), settings, sys.stdout)
        screen.show(blocks(screen.look))


def _key() -> str:
    """A fresh idempotency key."""
    return secrets.token_hex(16)


def _print_json(value: Answer | msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
