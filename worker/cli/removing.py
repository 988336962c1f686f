"""``secondchair-worker documents remove``: takes a paper out of a matter for good."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import click

from protocol.errors import NotFound
from protocol.ids import DocumentId, UserName
from rag.matters import OpenMatter
from rag.removal import remove, take_back
from worker.audit import Journal
from worker.clawback import claw_back
from worker.cli import settings_of
from worker.cli.matters import reviewer_of
from worker.cli.naming import document_named
from worker.clock import utc_now
from worker.holds import refuse_if_held
from worker.paths import audit_folder
from worker.workfile import WorkFile


@click.command(
    "remove",
    epilog=(
        "\b\nExamples:\n"
        '  secondchair-worker documents remove M-7F3K "Wrong.pdf" --by kim --yes\n'
        "  secondchair-worker documents remove M-7F3K SHA256 --by kim --undo"
    ),
)
@click.argument("matter")
@click.argument("document")
@click.option("--by", "name", required=True, help="The reviewer who orders it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--undo", is_flag=True, help="DOCUMENT is a removed file's hash: it may come again.")
@click.pass_context
def remove_command(
    ctx: click.Context, matter: str, document: str, name: str, yes: bool, undo: bool
) -> None:
    """Take DOCUMENT (id or name) and its family out of MATTER for good: words, vectors, file.

    The same bytes are not taken in again, whatever folder they lie in. Replies that were made from
    it stay, and are listed: they are the firm's own papers. On a matter under legal hold nothing is
    removed; `quarantine` only sets aside.
    """
    settings = settings_of(ctx)
    folder, code = reviewer_of(settings, matter, name)
    refuse_if_held(folder)
    journal, by = Journal(audit_folder(settings), code), UserName(name)
    with OpenMatter(folder) as held:
        if undo:
            if not take_back(held, document.strip().lower()):
                raise NotFound("no file with that hash was removed")
            journal.seal("document.taken_back", by=by, now=utc_now(), details={"file": document})
            click.echo("it is taken in again when it comes")
            return
        found = document_named(held, document)
        sha = str(held.store.one("SELECT file_sha256 FROM documents WHERE id = ?", (found,)))
        if not yes:
            click.confirm(f"Remove {document} and what came with it for good?", abort=True)
        with contextlib.closing(WorkFile(folder / "work.sqlite")) as work:
            done = claw_back(held, work, journal, found, by=by, now=utc_now())
        refuse_if_held(folder)
        gone = remove(held, DocumentId(found))
        _leave(folder / "inbox", sha)
    details = {"file": sha, "family": str(len(gone)), "answers": str(len(done.answers))}
    journal.seal("document.removed", by=by, now=utc_now(), details=details)
    click.echo(f"removed: {', '.join(gone)}")
    click.echo(f"  sha256 {sha}")
    for one in done.answers:
        click.echo(f"  quoted in: {one.job} {one.kind} {one.review.value}")


def _leave(inbox: Path, sha: str) -> None:
    """Takes the file's copies out of the inbox."""
    for path in inbox.glob("*") if inbox.is_dir() else ():
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == sha
            if same:
                path.unlink()
