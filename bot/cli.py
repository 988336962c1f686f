"""The command `secondchair`: chat, ask, init, doctor.

Concrete parts of this side are built here and nowhere else. Replies go to stdout, talk to stderr;
exit codes follow the error tree. Heavy libraries are imported by the command that needs them, so
that help is instant and a missing extra is a sentence, not a traceback.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from bot import words as catalogue
from bot.config import Loaded, Settings, load, state_folder
from bot.outbox import Outbox
from protocol.answers import Answer
from protocol.errors import AppError, BadRequest
from protocol.ids import MatterId, matter_id

if TYPE_CHECKING:
    from bot.link import Link

_INTERRUPTED = 130  # what shells report for Ctrl-C


class _Epilog(click.Command):
    """A command whose examples keep their lines in the help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Prints the examples as they are written."""
        if self.epilog:
            formatter.write("\nExamples:\n" + self.epilog)


def _settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every command takes, joined into one `Loaded`."""

    @click.option("--config", type=click.Path(path_type=Path), help="The settings file.")
    @click.option("--host", help="The box's SSH gateway.")
    @click.option("--port", help="The gateway's port.")
    @click.option("--key-file", help="Your private key.")
    @click.option("--known-hosts", help="The gateway's pinned host keys.")
    @click.option("--language", help="The language of the face: en or ko.")
    @wraps(command)
    def with_settings(
        *,
        config: Path | None,
        host: str | None,
        port: str | None,
        key_file: str | None,
        known_hosts: str | None,
        language: str | None,
        **rest: Any,
    ) -> None:
        flags = {
            "host": host,
            "port": port,
            "key_file": key_file,
            "known_hosts": known_hosts,
            "language": language,
        }
        command(config=config, flags=flags, **rest)

    return with_settings


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="secondchair")
def main() -> None:
    """Ask a matter's record over SSH and read checked replies.

    The box does the work; this program shows it. Nothing else is contacted.
    """


@main.command(
    cls=_Epilog,
    epilog="  secondchair chat\n  secondchair chat --matter M-7F3K --language ko\n",
)
@click.option("--matter", help="The matter to open first.")
@click.option("--fd", type=int, help="Speak over this connected socket (used by the gateway).")
@_settings_options
def chat(config: Path | None, flags: dict[str, object], matter: str | None, fd: int | None) -> None:
    """Talk to a matter line by line; /help inside lists the commands."""
    _ended(_chat(_settings(config, flags | {"matter": matter}).settings, fd))


@main.command(
    cls=_Epilog,
    epilog=(
        "  echo 'When did Northgate first know of the leak?' |\n"
        "      secondchair ask --matter M-7F3K -\n"
        "  secondchair ask --matter M-7F3K - --json < question.txt > answer.json\n"
    ),
)
@click.argument("question", default="-")
@click.option("--matter", help="The matter to ask.")
@click.option("--json", "as_json", is_flag=True, help="The whole answer as one JSON object.")
@_settings_options
def ask(
    config: Path | None,
    flags: dict[str, object],
    question: str,
    matter: str | None,
    as_json: bool,
) -> None:
    """Ask one QUESTION, read from stdin when it is "-", and print the checked reply.

    Everybody on this machine can read a command line, so a question may stand there for the demo
    matter only.
    """
    settings = _settings(config, flags | {"matter": matter}, as_json=as_json).settings
    _ended(_ask(settings, question, as_json=as_json), as_json=as_json)


@main.command(
    cls=_Epilog,
    epilog="  secondchair init --host gpu-box.office --known-hosts-from ./known_hosts\n",
)
@click.option("--known-hosts-from", type=click.Path(path_type=Path), help="Host keys to pin.")
@_settings_options
def init(config: Path | None, flags: dict[str, object], known_hosts_from: Path | None) -> None:
    """Write an explained settings file, make your key, pin the host keys, then run doctor."""
    from bot import setup

    loaded = _settings(config if config and config.exists() else None, flags)
    try:
        for done in setup.prepare(loaded.settings, config, flags, known_hosts_from):
            click.echo(done, err=True)
    except AppError as error:
        _fail(error)
    _doctor(_settings(config, flags), as_json=False)


@main.command(cls=_Epilog, epilog="  secondchair doctor\n  secondchair doctor --json\n")
@click.option("--json", "as_json", is_flag=True, help="Every check as one JSON object.")
@_settings_options
def doctor(config: Path | None, flags: dict[str, object], as_json: bool) -> None:
    """Check settings, key, host keys, terminal and the line to the box."""
    _doctor(_settings(config, flags, as_json=as_json), as_json=as_json)


# --- what the commands do -------------------------------------------------------------------------


async def _chat(settings: Settings, fd: int | None) -> int:
    from bot.conversation import Conversation
    from bot.terminal.lines import Piped, Prompt
    from bot.terminal.plain import Plain, run
    from bot.terminal.screen import Screen

    words = catalogue.load(settings.language)
    screen = Screen(words, settings, sys.stdout)
    lines = Prompt() if sys.stdin.isatty() and sys.stdout.isatty() else Piped(sys.stdin.fileno())
    outbox = Outbox(None if fd is not None else state_folder() / "outbox.sqlite")
    async with _link(settings, fd) as link:
        user = link.welcome.user if link.welcome is not None else ""
        front = Plain(screen, lines)
        talk = Conversation(
            link, front, outbox, thread=f"chat-{user}", new_key=lambda: secrets.token_hex(16)
        )
        host = settings.host if fd is None else "the box"
        talk.say("chat.hello", host=screen.look.line(host), user=user)
        done = await run(front, talk, matter=settings.matter)
    outbox.close()
    return 0 if done or sys.stdin.isatty() else 1


async def _ask(settings: Settings, question: str, *, as_json: bool) -> int:
    from bot import render
    from bot.once import answer_once
    from bot.terminal.screen import Screen

    matter = _asked_matter(settings)
    text = _question(question, demo=settings.demo_matter == matter)
    words = catalogue.load(settings.language)
    talk = Screen(words, settings, sys.stderr)
    try:
        async with _link(settings, None) as link:
            answer = await answer_once(
                link,
                matter,
                text,
                key=secrets.token_hex(16),
                on_progress=talk.progress,
                words=words,
            )
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

    _ended(look_over(), as_json=as_json)


def _link(settings: Settings, fd: int | None) -> Link:
    """The line: over a socket that the gateway gave, or over SSH."""
    try:
        from bot.link import Link, Target
    except ModuleNotFoundError as error:
        raise BadRequest(
            f"{error.name} is not installed", next_step="pip install secondchair[terminal]"
        ) from error
    if fd is not None:
        return Link.over_fd(fd)
    return Link.over_ssh(
        Target(
            host=settings.host,
            port=settings.port,
            key=settings.key_file,
            known_hosts=settings.known_hosts,
        )
    )


def _asked_matter(settings: Settings) -> MatterId:
    code = settings.matter.removeprefix("#").upper()
    if not code:
        raise BadRequest("which matter?", next_step="add --matter with its code, such as M-7F3K")
    return matter_id(code)


def _question(given: str, *, demo: bool) -> str:
    if given != "-" and not demo:
        raise BadRequest(
            "everybody on this machine can read a command line: only the demo matter's questions "
            "may stand there",
            next_step="pass the question on stdin, with - in its place",
        )
    text = (sys.stdin.buffer.read().decode("utf-8", "replace") if given == "-" else given).strip()
    if not text:
        raise BadRequest("there is no question", next_step="pass it on stdin")
    return text


# --- settings, endings ----------------------------------------------------------------------------


def _settings(config: Path | None, flags: dict[str, object], *, as_json: bool = False) -> Loaded:
    try:
        return load(config, environment=os.environ, flags=flags)
    except AppError as error:
        _fail(error, as_json=as_json)


def _ended(doing: Coroutine[None, None, int], *, as_json: bool = False) -> None:
    """Runs to the end and leaves with the exit code that fits."""
    try:
        code = asyncio.run(doing)
    except AppError as error:
        _fail(error, as_json=as_json)
    except KeyboardInterrupt:
        click.echo("left; a job that was accepted goes on", err=True)
        sys.exit(_INTERRUPTED)
    sys.exit(code)


def _fail(error: AppError, *, as_json: bool = False) -> NoReturn:
    from bot import render

    value = render.error_value(error)
    if as_json:
        click.echo(msgspec.json.encode({"error": value}).decode(), err=True)
    else:
        click.echo(f"secondchair: {value.message}", err=True)
        if value.next_step:
            click.echo(f"next: {value.next_step}", err=True)
        if value.reference:
            click.echo(f"reference: {value.reference}", err=True)
    sys.exit(error.exit_code)


def _print_json(value: Answer | msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
