"""``secondchair-worker matters watch`` and ``unwatch``: office folders a matter follows."""

from __future__ import annotations

import json
from pathlib import Path

import click

from protocol.errors import BadRequest, NotFound
from protocol.ids import MatterId, UserName, matter_id
from worker import registry
from worker.access import ROLE_MAY, Action
from worker.audit import Journal
from worker.cli import settings_of
from worker.clock import utc_now
from worker.config import Settings
from worker.followed import follow, followed_by, unfollow
from worker.paths import audit_folder, matters_folder, registry_path

_BY = click.option("--by", "name", required=True, help="A lawyer or reviewer of the matter.")
_FOLDER = click.Path(path_type=Path, file_okay=False)


def start_following(settings: Settings, code: MatterId, folder: Path, name: str) -> None:
    """Puts a folder on a matter's list; a running worker begins within seconds.

    Raises:
        BadRequest: The person may not add files to the matter, or the folder cannot be followed.
        NotFound: There is no such matter or folder.
    """
    where = _matter(settings, code, name)
    journal = Journal(audit_folder(settings), code)
    follow(where, journal, folder, by=UserName(name), now=utc_now())


@click.command(
    "watch",
    epilog=(
        "\b\nExamples:\n"
        "  secondchair-worker matters watch M-7F3K --folder /srv/cases/kim-v-lee --by kim\n"
        "  secondchair-worker matters watch M-7F3K --list --json"
    ),
)
@click.argument("matter")
@click.option(
    "--folder", type=_FOLDER, help="What is put there is read, with all folders under it."
)
@click.option(
    "--by", "name", help="A lawyer or reviewer of the matter: its files come in under it."
)
@click.option("--list", "listed", is_flag=True, help="Only say what is followed.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def watch(
    ctx: click.Context,
    matter: str,
    folder: Path | None,
    name: str | None,
    listed: bool,
    as_json: bool,
) -> None:
    """Follow a folder of the office for MATTER: what is new there is read while the worker runs.

    Files that go from the folder stay in the matter. In the record its files stand under the
    folder's name.
    """
    settings = settings_of(ctx)
    code = _code(matter)
    if not listed:
        if folder is None or name is None:
            raise BadRequest("name --folder and --by, or --list")
        start_following(settings, code, folder, name)
    where = matters_folder(settings) / code
    if not where.is_dir():
        raise NotFound("no such matter")
    held = followed_by(where)
    if as_json:
        rows = [
            {"folder": one.folder, "by": one.by, "since": one.since.isoformat()} for one in held
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for one in held:
        there = "" if Path(one.folder).is_dir() else "  (not there now)"
        click.echo(f"{one.folder}  since {one.since:%Y-%m-%d}, by {one.by}{there}")
    if not held:
        click.echo("no folder is followed")


@click.command(
    "unwatch", epilog="Example: secondchair-worker matters unwatch M-7F3K --by kim --folder X"
)
@click.argument("matter")
@click.option("--folder", type=_FOLDER, help="Which one; without it all.")
@_BY
@click.pass_context
def unwatch(ctx: click.Context, matter: str, folder: Path | None, name: str) -> None:
    """Stop following a folder for MATTER; what came from it stays in the record."""
    settings = settings_of(ctx)
    code = _code(matter)
    journal = Journal(audit_folder(settings), code)
    left = unfollow(
        _matter(settings, code, name), journal, folder, by=UserName(name), now=utc_now()
    )
    click.echo(f"{left} {'folder is' if left == 1 else 'folders are'} not followed any more")


def _code(value: str) -> MatterId:
    try:
        return matter_id(value)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _matter(settings: Settings, code: MatterId, name: str) -> Path:
    """A matter's folder, where this person may add files to it."""
    where = matters_folder(settings) / code
    if not where.is_dir():
        raise NotFound("no such matter")
    held = registry.read(registry_path(settings))
    user = held.user(name)
    if (
        user is None
        or Action.ADD not in ROLE_MAY[user.role]
        or code not in user.matters
        or held.walled(user.name, code)
    ):
        raise BadRequest(
            "this person may not add files here", next_step="name a lawyer of the matter"
        )
    return where
