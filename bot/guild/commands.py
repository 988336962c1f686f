"""The slash commands of a server. A strict one is offered no option that takes words."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

import discord  # noqa: TID251
from discord import app_commands  # noqa: TID251

from bot.guild import editing, lookback, orders
from bot.guild.counter import LISTED, Counter, asker_of
from bot.guild.gate import Said
from bot.guild.settings import Mode
from protocol.errors import AppError

Here = discord.Interaction[Any]
Add = Callable[..., Callable[[Callable[..., Any]], Any]]
_What = app_commands.Choice[str]

WHAT: Final = [_What(name=w, value=w) for w in ("dates", "amounts", "parties", "facts", "all")]
FORMS: Final = [_What(name=form, value=form) for form in ("md", "json")]
PAPERS: Final = [_What(name=form, value=form) for form in ("facts", "declaration", "demand")]
_QUESTION_CHARS: Final = 4000
_Only = app_commands.Range[str, 1, 300]
_ONLY: Final = "Where to look: from:2026-01 to:2026-03 in:NAME custodian:NAME class:evidence"
_CHOICE_CHARS: Final = 100
_CHOICES: Final = 25


def build(tree: app_commands.CommandTree[Any], counter: Counter) -> None:
    """Puts the commands of the server's mode into a tree."""
    server = discord.Object(int(counter.settings.server))
    add = functools.partial(tree.command, guild=server)
    _both(add, counter)
    if counter.settings.mode is Mode.FULL:
        _full(add, counter)
    else:
        _strict(add, counter)


def fingerprint(tree: app_commands.CommandTree[Any], server: str) -> str:
    """Changes when the set of commands does: Discord is told only then."""
    commands = tree.get_commands(guild=discord.Object(int(server)))
    made = [command.to_dict(tree) for command in commands]
    return hashlib.sha256(
        json.dumps([server, made], sort_keys=True, default=str).encode()
    ).hexdigest()


def _both(add: Add, counter: Counter) -> None:
    @add(name="jobs", description="The newest jobs of this matter")
    async def jobs(here: Here) -> None:
        await counter.serve(here, counter.jobs)

    @add(name="history", description="What was asked in this matter; its words are in the terminal")
    async def history(here: Here) -> None:
        await counter.serve(here, lambda grant: lookback.history(counter, grant))

    @add(name="audit", description="The end of this matter's sealed journal")
    async def audit(here: Here) -> None:
        await counter.serve(here, lambda grant: lookback.audit(counter, grant))

    @add(name="matter", description="This channel's matter in numbers")
    async def matter(here: Here) -> None:
        await counter.serve(here, counter.state)

    @add(name="mode", description="What this server may be shown")
    async def mode(here: Here) -> None:
        await counter.serve(here, counter.mode)

    @add(name="health", description="How the box is")
    async def health(here: Here) -> None:
        await counter.serve(here, counter.health)

    @add(name="help", description="What can be done here")
    async def help_(here: Here) -> None:
        await counter.serve(here, counter.help)


def _strict(add: Add, counter: Counter) -> None:
    @add(name="ask", description="Ask in the terminal; states are announced here")
    async def ask(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.announce(grant, Said.ASK_THERE))

    @add(name="find", description="Search in the terminal")
    async def find(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.point(grant, Said.FIND_THERE))

    @add(name="summarize", description="Summarize the record; read it in the terminal")
    async def summarize(here: Here) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.summarize(counter, grant, key))

    @add(name="extract", description="A table with places; read it in the terminal")
    @app_commands.choices(what=WHAT)
    async def extract(here: Here, what: app_commands.Choice[str]) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.extract(counter, grant, key, what.value))

    @add(name="chronology", description="What the record dates, in order; read it in the terminal")
    async def chronology(here: Here) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.chronology(counter, grant, key))

    @add(name="draft", description="A paper in a form; read it in the terminal")
    @app_commands.choices(form=PAPERS)
    async def draft(here: Here, form: app_commands.Choice[str]) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.draft(counter, grant, key, form.value))

    @add(name="citecheck", description="Check a brief in the terminal; states are announced here")
    async def citecheck(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.announce(grant, Said.CITE_THERE))

    @add(name="open", description="Open the record in the terminal")
    async def open_(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.point(grant, Said.OPEN_THERE))

    @add(name="forget", description="Forget a conversation in the terminal")
    async def forget(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.point(grant, Said.FORGET_THERE))

    @add(name="retry", description="Make a request once more")
    async def retry(here: Here) -> None:
        await counter.serve(here, counter.offer_again)

    @add(name="sources", description="Where to look at the newest reply's places")
    async def sources(here: Here) -> None:
        await counter.serve(here, lambda grant: counter.sources(grant, "", None))

    @add(name="cancel", description="Stop a job at work")
    async def cancel(here: Here) -> None:
        await counter.serve(here, counter.cancel)

    @add(name="export", description="Write an approved reply to the matter's out folder")
    @app_commands.choices(form=FORMS)
    async def export(here: Here, form: app_commands.Choice[str]) -> None:
        await counter.serve(here, lambda grant: counter.export(grant, form.value))


def _full(add: Add, counter: Counter) -> None:
    async def some_jobs(here: Here, partial: str) -> list[app_commands.Choice[str]]:
        try:
            grant = await counter.let_in(asker_of(here), 2.0)
            found = [job.id for job in await counter.jobs_of(grant, LISTED)]
        except AppError:
            return []
        wanted = partial.strip().upper()
        return [app_commands.Choice(name=job, value=job) for job in found if wanted in job]

    async def some_documents(here: Here, partial: str) -> list[app_commands.Choice[str]]:
        try:
            grant = await counter.let_in(asker_of(here), 2.0)
            if not counter.desk.full(grant.bound):
                return []
            listed = (await counter.documents_of(grant)).documents
        except AppError:
            return []
        open_ones = [each for each in listed if not each.designation and not each.privileged]
        wanted = partial.strip().casefold()
        return [
            app_commands.Choice(name=counter.look.line(each.title)[:_CHOICE_CHARS], value=each.id)
            for each in open_ones
            if wanted in each.title.casefold()
        ][:_CHOICES]

    @add(name="ask", description="Ask the record")
    async def ask(here: Here, question: app_commands.Range[str, 1, _QUESTION_CHARS]) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.ask(counter, grant, question, key))

    @add(name="find", description="Passages with these words; no model")
    async def find(here: Here, words: app_commands.Range[str, 1, _QUESTION_CHARS]) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.find(counter, grant, words, key))

    @add(name="summarize", description="A summary of a document, or of the record")
    @app_commands.autocomplete(document=some_documents)
    @app_commands.describe(only=_ONLY)
    async def summarize(here: Here, document: str = "", only: _Only = "") -> None:
        key = f"discord-{here.id}"
        await counter.serve(
            here, lambda grant: orders.summarize(counter, grant, key, document, only)
        )

    @add(name="extract", description="A table with places")
    @app_commands.choices(what=WHAT)
    @app_commands.autocomplete(document=some_documents)
    @app_commands.describe(only=_ONLY)
    async def extract(
        here: Here,
        what: app_commands.Choice[str] | None = None,
        document: str = "",
        columns: app_commands.Range[str, 1, _QUESTION_CHARS] = "",
        only: _Only = "",
    ) -> None:
        key = f"discord-{here.id}"
        kind = what.value if what is not None else "all"
        await counter.serve(
            here,
            lambda grant: orders.extract(counter, grant, key, kind, document, columns, only),
        )

    @add(name="chronology", description="What a document dates, or the record, in order")
    @app_commands.autocomplete(document=some_documents)
    @app_commands.describe(only=_ONLY)
    async def chronology(here: Here, document: str = "", only: _Only = "") -> None:
        key = f"discord-{here.id}"
        await counter.serve(
            here, lambda grant: orders.chronology(counter, grant, key, document, only)
        )

    @add(name="draft", description="A paper in a form, its facts quoted and cited")
    @app_commands.choices(form=PAPERS)
    @app_commands.describe(about="What it is about; for a declaration, whose it is")
    async def draft(
        here: Here,
        form: app_commands.Choice[str],
        about: app_commands.Range[str, 1, _QUESTION_CHARS] = "",
    ) -> None:
        key = f"discord-{here.id}"
        await counter.serve(
            here, lambda grant: orders.draft(counter, grant, key, form.value, about)
        )

    @add(name="citecheck", description="A brief of the matter against the rest of its record")
    @app_commands.autocomplete(document=some_documents)
    async def citecheck(here: Here, document: str) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.citecheck(counter, grant, key, document))

    @add(name="open", description="A page of a document")
    @app_commands.autocomplete(document=some_documents)
    async def open_(
        here: Here, document: str, page: app_commands.Range[int, 1, 100_000] = 1
    ) -> None:
        await counter.serve(here, lambda grant: orders.open_page(counter, grant, document, page))

    @add(name="forget", description="Delete what was said here from the box")
    async def forget(here: Here) -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.forget(counter, grant, key))

    @add(name="retry", description="Make a request once more")
    @app_commands.autocomplete(job=some_jobs)
    async def retry(here: Here, job: str = "") -> None:
        key = f"discord-{here.id}"
        await counter.serve(here, lambda grant: orders.retry(counter, grant, job, key))

    @add(name="sources", description="The places of a reply's items")
    @app_commands.autocomplete(job=some_jobs)
    async def sources(
        here: Here, item: app_commands.Range[int, 1, 100_000] | None = None, job: str = ""
    ) -> None:
        await counter.serve(here, lambda grant: counter.sources(grant, job, item))

    @add(name="edit", description="Your words in a reply's place; they are checked anew")
    @app_commands.autocomplete(job=some_jobs)
    async def edit(here: Here, job: str = "") -> None:
        await editing.open_form(counter, here, job)

    @add(name="cancel", description="Stop a job")
    @app_commands.autocomplete(job=some_jobs)
    async def cancel(here: Here, job: str = "") -> None:
        await counter.serve(here, lambda grant: counter.cancel(grant, job))

    @add(name="export", description="Write an approved reply to the matter's out folder")
    @app_commands.choices(form=FORMS)
    @app_commands.autocomplete(job=some_jobs)
    async def export(here: Here, form: app_commands.Choice[str], job: str = "") -> None:
        await counter.serve(here, lambda grant: counter.export(grant, form.value, job))
