"""``secondchair-worker documents``: list a matter's papers, set one aside, admit one by hand.

These open the matter themselves, so the worker must not have it open: stop it first.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import click
import msgspec

from protocol.errors import NotFound
from protocol.ids import MatterId, UserName
from rag.ledger import ledger
from rag.matters import OpenMatter
from rag.reading import read_again
from worker.audit import Journal
from worker.clawback import claw_back, give_back
from worker.cli import settings_of
from worker.cli.marking import mark
from worker.cli.matters import reviewer_of
from worker.cli.naming import document_named
from worker.cli.removing import remove_command
from worker.clock import utc_now
from worker.config import Settings
from worker.paths import audit_folder, matters_folder
from worker.workfile import WorkFile

_BY = click.option("--by", "name", required=True, help="The reviewer who orders it.")


@click.group()
def command() -> None:
    """List a matter's papers, mark them, set aside, remove, admit by hand."""


command.add_command(mark)
command.add_command(remove_command)


@contextlib.contextmanager
def _opened(settings: Settings, code: MatterId) -> Iterator[OpenMatter]:
    with OpenMatter(matters_folder(settings) / code) as held:
        yield held


def _journal(settings: Settings, code: MatterId) -> Journal:
    return Journal(audit_folder(settings), code)


@command.command("list", epilog="Example: secondchair-worker documents list M-7F3K --json")
@click.argument("matter")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def list_documents(ctx: click.Context, matter: str, as_json: bool) -> None:
    """List the papers of MATTER with their classes and flags, quarantined ones too."""
    settings = settings_of(ctx)
    with _opened(settings, MatterId(matter)) as held:
        rows = [
            dict(row)
            for row in held.store.rows(
                "SELECT id, name, document_class, pages, privileged, designation, custodian,"
                " quarantined FROM documents ORDER BY name"
            )
        ]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        flags = [name for name in ("privileged", "quarantined") if row[name]]
        flags += [row[name] for name in ("designation", "custodian") if row[name]]
        said = " · ".join([row["document_class"], f"{row['pages']} pages", *flags])
        click.echo(f"{row['id']}  {row['name']}  {said}")


@command.command(
    epilog='Example: secondchair-worker documents quarantine M-7F3K "Memo.docx" --by kim --json'
)
@click.argument("matter")
@click.argument("document")
@_BY
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def quarantine(ctx: click.Context, matter: str, document: str, name: str, as_json: bool) -> None:
    """Set DOCUMENT (id or name) of MATTER aside and list the answers that were made from it."""
    settings = settings_of(ctx)
    folder, code = reviewer_of(settings, matter, name)
    with (
        _opened(settings, code) as held,
        contextlib.closing(WorkFile(folder / "work.sqlite")) as work,
    ):
        done = claw_back(
            held,
            work,
            _journal(settings, code),
            document_named(held, document),
            by=UserName(name),
            now=utc_now(),
        )
    rows = [{"job": one.job, "kind": one.kind, "review": one.review.value} for one in done.answers]
    if as_json:
        value = {"documents": done.documents, "answers": rows, "turns_kept": done.turns_kept}
        click.echo(json.dumps(value))
        return
    click.echo(f"set aside: {', '.join(done.documents)}")
    for row in rows:
        click.echo(f"  made from it: {row['job']} {row['kind']} {row['review']}")
    if not rows:
        click.echo("  no answer was made from it")
    if done.turns_kept:
        click.echo("  a legal hold keeps conversations that quote it: begin new ones", err=True)


@command.command(epilog='Example: secondchair-worker documents release M-7F3K "Memo.docx" --by kim')
@click.argument("matter")
@click.argument("document")
@_BY
@click.pass_context
def release(ctx: click.Context, matter: str, document: str, name: str) -> None:
    """Bring DOCUMENT of MATTER back; its vectors follow with the next reading."""
    settings = settings_of(ctx)
    _, code = reviewer_of(settings, matter, name)
    with _opened(settings, code) as held:
        found = document_named(held, document)
        back = give_back(held, _journal(settings, code), found, by=UserName(name), now=utc_now())
    click.echo(f"back in the record: {', '.join(back)}")


@command.command(epilog='Example: secondchair-worker documents admit M-7F3K "Old.pdf" --by kim')
@click.argument("matter")
@click.argument("file")
@_BY
@click.pass_context
def admit(ctx: click.Context, matter: str, file: str, name: str) -> None:
    """Admit FILE of MATTER although it could not be looked through for hidden text.

    The next reading takes its words without that check. Nothing on such a page is ever green.
    """
    settings = settings_of(ctx)
    _, code = reviewer_of(settings, matter, name)
    with _opened(settings, code) as held:
        found = next((row for row in ledger(held).rows if row.name == file), None)
        if found is None:
            raise NotFound("no such file in the ledger")
        admitted = tuple(dict.fromkeys([*held.manifest.admitted, file]))
        held.set_manifest(msgspec.structs.replace(held.manifest, admitted=admitted))
        read_again(held, [file])
    _journal(settings, code).seal(
        "document.admitted",
        by=UserName(name),
        now=utc_now(),
        details={"original": found.original_sha256},
    )
    click.echo(f"admitted; `matters read {code}` reads it now")
