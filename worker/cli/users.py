"""``secondchair-worker users``: who may come in, with which key, to which matters."""

from __future__ import annotations

import json
from pathlib import Path

import click

from protocol.errors import BadRequest, NotFound
from protocol.ids import UserName, matter_id
from worker import access, registry
from worker.cli import settings_of
from worker.clock import utc_now
from worker.paths import registry_path


@click.group()
def command() -> None:
    """Users, keys and rights."""


def _read(ctx: click.Context) -> tuple[Path, registry.Registry]:
    path = registry_path(settings_of(ctx))
    return path, registry.read(path)


@command.command(epilog="Example: secondchair-worker users add kim --key kim.pub --role lawyer")
@click.argument("name")
@click.option(
    "--key",
    "keys",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A public key file; may be given more than once.",
)
@click.option("--role", type=click.Choice([role.value for role in registry.Role]), required=True)
@click.option("--matter", "matters", multiple=True, help="A matter code the user is given.")
@click.pass_context
def add(
    ctx: click.Context, name: str, keys: tuple[Path, ...], role: str, matters: tuple[str, ...]
) -> None:
    """Add a user NAME with a key. The key is the identity; the SSH login name is ignored."""
    path, held = _read(ctx)
    try:
        user = registry.User(
            name=name,
            role=registry.Role(role),
            keys=tuple(registry.Key(public=key.read_text("utf-8").strip()) for key in keys),
            matters=tuple(matter_id(matter) for matter in matters),
        )
    except ValueError as error:
        raise BadRequest(str(error)) from None
    registry.write(path, registry.with_user(held, user))
    for key in user.keys:
        click.echo(f"{name}: {role}, {key.fingerprint}")


@command.command(epilog="Example: secondchair-worker users give kim M-7F3K")
@click.argument("name")
@click.argument("matter")
@click.pass_context
def give(ctx: click.Context, name: str, matter: str) -> None:
    """Give user NAME the MATTER."""
    path, held = _read(ctx)
    try:
        code = matter_id(matter)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    registry.write(path, registry.with_matter(held, UserName(name), code))
    click.echo(f"{name} is given {code}")


@command.command(epilog="Example: secondchair-worker users revoke SHA256:u1yF...")
@click.argument("fingerprint")
@click.pass_context
def revoke(ctx: click.Context, fingerprint: str) -> None:
    """Revoke a key; its live connections are closed within a second."""
    path, held = _read(ctx)
    registry.write(path, registry.with_revoked(held, fingerprint))
    click.echo("revoked")


@command.command("list", epilog="Example: secondchair-worker users list --json")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def list_users(ctx: click.Context, as_json: bool) -> None:
    """List users with role, matters and key fingerprints."""
    _, held = _read(ctx)
    rows = [
        {
            "name": user.name,
            "role": user.role.value,
            "matters": list(user.matters),
            "keys": [{"fingerprint": key.fingerprint, "revoked": key.revoked} for key in user.keys],
        }
        for user in held.users
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    for user in held.users:
        click.echo(f"{user.name}  {user.role}  {' '.join(user.matters) or '(no matter)'}")
        for key in user.keys:
            click.echo(f"  {key.fingerprint}{'  REVOKED' if key.revoked else ''}")


@command.command(epilog="Example: secondchair-worker users explain kim read M-7F3K")
@click.argument("name")
@click.argument("action", type=click.Choice([action.value for action in access.Action]))
@click.argument("matter")
@click.pass_context
def explain(ctx: click.Context, name: str, action: str, matter: str) -> None:
    """Say which rules allow or refuse user NAME the ACTION on MATTER."""
    _, held = _read(ctx)
    user = held.user(name)
    if user is None or not user.keys:
        raise NotFound("there is no such user, or he has no key")
    who = access.Identity(
        user=UserName(name), fingerprint=user.keys[0].fingerprint, peer="127.0.0.1"
    )
    try:
        code = matter_id(matter)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    ruling = access.decide(held, who, access.Action(action), code, now=utc_now())
    click.echo(access.explain(ruling))
