"""``secondchair-worker matters``: open, read, list and close matters."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from protocol.errors import BadRequest, NotFound
from protocol.ids import MatterId, UserName, matter_id, new_matter_id
from protocol.record import Ledger, LedgerState, Matter
from rag import production
from rag.coverage import coverage
from rag.embedding import Embedder
from rag.ingest import IngestProgress, ingest
from rag.matters import OpenMatter, create, matters_in
from rag.repair import forget_vectors
from worker import closing, registry
from worker.app import open_embedder
from worker.app_boxes import open_line
from worker.audit import Journal, path_of
from worker.cli import settings_of
from worker.cli.following import start_following, unwatch, watch
from worker.cli.travel import export_command, import_command
from worker.clock import utc_now
from worker.config import Settings
from worker.followed import folders_of
from worker.holds import hold_on, lift_from, put_on, refuse_if_held
from worker.paths import audit_folder, matters_folder, registry_path
from worker.quotation_index import make_missing
from worker.sharing import share_matter


@click.group()
def command() -> None:
    """Open, read, list and close matters."""


def new_matter(settings: Settings, title: str, users: tuple[str, ...]) -> MatterId:
    """Makes a matter's folder and gives it to users.

    Raises:
        NotFound: One of the users is not in the registry.
    """
    root = matters_folder(settings)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = registry_path(settings)
    held = registry.read(path)
    if missing := [name for name in users if held.user(name) is None]:
        raise NotFound(f"there is no user {missing[0]}", next_step="users add comes first")
    code = new_matter_id()
    while (root / code).exists() or path_of(audit_folder(settings), code).exists():
        code = new_matter_id()  # a closed matter's code is never given to another one
    matter = Matter(id=code, title=title, opened_at=utc_now(), date_order=settings.date_order)
    create(root / code, matter).close()
    share_matter(root / code)
    for name in users:
        held = registry.with_matter(held, UserName(name), code)
    registry.write(path, held)
    Journal(audit_folder(settings), code).seal(
        "matter.opened", by=UserName("operator"), now=utc_now()
    )
    return code


def read_folder(
    settings: Settings,
    matter: MatterId,
    folder: Path | None,
    embedder: Embedder,
    *,
    embed_again: bool = False,
) -> Ledger:
    """Reads a folder into a matter with progress on stderr; re-reads nothing it knows.

    With ``embed_again`` every vector is made anew, by the model given.

    Raises:
        Unavailable: The worker has the matter open; the inbox is the way then.
    """
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with (
        OpenMatter(matters_folder(settings) / matter) as held,
        Progress(*columns, console=Console(stderr=True)) as shown,
    ):
        tasks: dict[str, int] = {}

        def say(progress: IngestProgress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = shown.add_task(progress.stage, total=progress.total)
            shown.update(
                tasks[progress.stage],  # type: ignore[arg-type]
                completed=progress.done,
                total=progress.total,
            )

        if embed_again:
            embedder.count_tokens([""])  # a model that does not start costs no vector
            forget_vectors(held)
        followed = folders_of(held.folder)
        ledger = ingest(held, embedder=embedder, folder=folder, followed=followed, on_progress=say)
        make_missing(held)
        return ledger


def _code(value: str) -> MatterId:
    try:
        return matter_id(value)
    except ValueError as error:
        raise BadRequest(str(error)) from None


@command.command("open", epilog='Example: secondchair-worker matters open "Kim v. Lee" --folder .')
@click.argument("title")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Files to copy in and read.",
)
@click.option("--user", "users", multiple=True, help="A user who is given the matter.")
@click.option(
    "--watch", "follow_it", is_flag=True, help="Follow the folder, in the name of the first user."
)
@click.pass_context
def open_matter(
    ctx: click.Context, title: str, folder: Path | None, users: tuple[str, ...], follow_it: bool
) -> None:
    """Open a matter TITLE, copy files in, read them, and print its code."""
    settings = settings_of(ctx)
    if follow_it and (folder is None or not users):
        raise BadRequest("--watch wants --folder, and a --user in whose name its files come in")
    code = new_matter(settings, title, users)
    if folder is not None and follow_it:
        start_following(settings, code, folder, users[0])
    if folder is not None:
        _told(read_folder(settings, code, None if follow_it else folder, open_embedder(settings)))
    click.echo(code)


@command.command(epilog="Example: secondchair-worker matters read M-7F3K --folder new-papers")
@click.argument("matter")
@click.option(
    "--folder", type=click.Path(path_type=Path, exists=True, file_okay=False), help="More files."
)
@click.option(
    "--embed-again", is_flag=True, help="All vectors anew, after another model was configured."
)
@click.pass_context
def read(ctx: click.Context, matter: str, folder: Path | None, embed_again: bool) -> None:
    """Read what is new of MATTER while the worker does not have it open."""
    settings = settings_of(ctx)
    embedder = open_embedder(settings)
    _told(read_folder(settings, _code(matter), folder, embedder, embed_again=embed_again))


def _told(ledger: Ledger) -> None:
    for state in LedgerState:
        rows = [row for row in ledger.rows if row.state is state]
        if rows:
            click.echo(f"{len(rows)} {state}", err=True)
        if state is not LedgerState.INDEXED:
            for row in rows:
                click.echo(f"  {row.name}: {row.reason}", err=True)


command.add_command(watch)
command.add_command(unwatch)
command.add_command(export_command)
command.add_command(import_command)


@command.command("list", epilog="Example: secondchair-worker matters list --json")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def list_matters(ctx: click.Context, as_json: bool) -> None:
    """List matters by code."""
    found = list(matters_in(matters_folder(settings_of(ctx))))
    if as_json:
        click.echo(
            json.dumps(
                [
                    {"id": one.id, "title": one.title, "opened_at": one.opened_at.isoformat()}
                    for one in found
                ]
            )
        )
        return
    for one in found:
        click.echo(f"{one.id}  {one.opened_at:%Y-%m-%d}  {one.title}")


@command.command(epilog="Example: secondchair-worker matters show M-7F3K")
@click.argument("matter")
@click.pass_context
def show(ctx: click.Context, matter: str) -> None:
    """Show what of MATTER was read and what could not be."""
    settings = settings_of(ctx)
    with OpenMatter(matters_folder(settings) / _code(matter)) as held:
        covered = coverage(held)
        productions = production.told(held)
    if (hold := hold_on(matters_folder(settings) / _code(matter))) is not None:
        click.echo(f"on legal hold since {hold.at:%Y-%m-%d}, set by {hold.by}: {hold.reason}")
    click.echo(
        f"read {covered.documents_read} of {covered.documents} documents,"
        f" {covered.pages_read} of {covered.pages} pages"
    )
    for path in folders_of(matters_folder(settings) / _code(matter)).values():
        click.echo(f"  follows {path}{'' if path.is_dir() else ' (not there now)'}")
    for one in covered.unread:
        click.echo(f"  {one.name}{', pages ' + one.pages if one.pages else ''}: {one.reason}")
    for line in productions:
        click.echo(f"  Bates {line}")


@command.command(epilog="Example: secondchair-worker matters close M-7F3K --yes")
@click.argument("matter")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def close(ctx: click.Context, matter: str, yes: bool) -> None:
    """Close MATTER: remove its folder, its jobs and who may see it. Its audit journal stays.

    The worker may run: it stops the matter's jobs and lets go of it. A matter on legal hold is not
    closed. Called again, it goes on where it was cut off.
    """
    settings = settings_of(ctx)
    code = _code(matter)
    folder = matters_folder(settings) / code
    if not folder.is_dir() and not (closing.notes(settings.state) / code).exists():
        raise NotFound("no such matter")
    refuse_if_held(folder)
    if not yes:
        click.confirm(f"Remove everything of {code} from this box?", abort=True)
    refuse_if_held(folder)
    path = registry_path(settings)
    if path.is_file():
        registry.write(path, registry.without_matter(registry.read(path), code))
    closing.close(settings.state, code, lambda: open_line(settings, utc_now))
    Journal(audit_folder(settings), code).seal(
        "matter.closed", by=UserName("operator"), now=utc_now()
    )
    click.echo(f"{code} is closed")


@command.command(epilog='Example: secondchair-worker matters hold M-7F3K --by kim --reason "..."')
@click.argument("matter")
@click.option("--by", "name", required=True, help="The reviewer who orders it.")
@click.option("--reason", required=True, help="Why; it stays in the matter's folder.")
@click.pass_context
def hold(ctx: click.Context, matter: str, name: str, reason: str) -> None:
    """Put MATTER on legal hold: nothing of it is deleted until the hold is lifted."""
    settings = settings_of(ctx)
    folder, code = reviewer_of(settings, matter, name)
    journal = Journal(audit_folder(settings), code)
    put_on(folder, journal, reason, by=UserName(name), now=utc_now())
    click.echo(f"{code} is on legal hold")


@command.command("unhold", epilog="Example: secondchair-worker matters unhold M-7F3K --by kim")
@click.argument("matter")
@click.option("--by", "name", required=True, help="The reviewer who orders it.")
@click.pass_context
def unhold(ctx: click.Context, matter: str, name: str) -> None:
    """End the legal hold on MATTER."""
    settings = settings_of(ctx)
    folder, code = reviewer_of(settings, matter, name)
    lift_from(folder, Journal(audit_folder(settings), code), by=UserName(name), now=utc_now())
    click.echo(f"{code} is not on hold")


def reviewer_of(settings: Settings, matter: str, name: str) -> tuple[Path, MatterId]:
    """A matter and its code, where this person is a reviewer.

    Raises:
        NotFound: There is no such matter.
        BadRequest: The person may not order this here.
    """
    code = _code(matter)
    folder = matters_folder(settings) / code
    if not folder.is_dir():
        raise NotFound("no such matter")
    held = registry.read(registry_path(settings))
    user = held.user(name)
    if (
        user is None
        or user.role is not registry.Role.REVIEWER
        or code not in user.matters
        or held.walled(user.name, code)
    ):
        raise BadRequest(
            "this person may not order this here", next_step="name a reviewer of the matter"
        )
    return folder, code
