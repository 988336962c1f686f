"""What `init` is going to do, as values: shown first, then done, the same either way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest
from worker.boards import Box
from worker.boards.declared import as_declared, as_toml, load_declared
from worker.config import Settings
from worker.keys import make_key
from worker.paths import boards_path
from worker.setup.accounts import (
    ENGINE,
    GATEWAY,
    WORKER,
    Accounts,
    find_accounts,
    make_accounts,
)
from worker.setup.engine_units import with_units
from worker.setup.explained import write_explained
from worker.setup.folders import first_user, prepare
from worker.setup.units import caps_script, render_units, write_units

_LIBRARY: Final = Path("/usr/local/lib/secondchair")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One set-up, decided."""

    settings: Settings
    config: Path
    box: Box
    service: bool
    """Whether worker and gateway run as users of their own, under the service manager."""
    target: Path | None = None
    """Where units go; None for none."""
    user: str = ""
    """A first user whose key is made on this box; empty for none."""
    user_key: Path | None = None


def carry_out(plan: Plan, *, dry_run: bool) -> Iterator[str]:
    """Does it step by step, one sentence each; with ``dry_run`` only the sentences.

    Raises:
        BadRequest: The installation or a path cannot be used so; nothing was changed by that step.
        Unavailable: Users cannot be made here.
    """
    settings = plan.settings
    accounts = None
    if plan.service:
        _refuse_hidden_install()
        accounts = find_accounts()
        if accounts is None or accounts.engine_gid is None:
            yield f"users {WORKER} and {GATEWAY}, one group {WORKER}; user {ENGINE} with its own"
            accounts = accounts if dry_run else make_accounts()
        if accounts is not None:
            settings = _with_gateway(settings, accounts)
        if not plan.config.exists():
            settings = with_units(settings)
    yield from _config(plan, settings, accounts, dry_run)
    stand_in = Accounts(worker_uid=os.geteuid(), gateway_uid=os.geteuid(), gid=os.getegid())
    known = accounts or (stand_in if plan.service else None)
    for deed in prepare(settings, known, dry_run=dry_run):
        if deed.new:
            yield f"{deed.what} {deed.path} ({deed.mode:04o})"
    boards = boards_path(settings)
    if plan.box.gpus and not boards.exists():
        yield f"boards file {boards}: correct it where a card or a link is missing"
        if not dry_run:
            boards.write_text(as_toml(as_declared(plan.box)), "utf-8")
            boards.chmod(0o640)
            if accounts is not None:
                os.chown(boards, accounts.worker_uid, accounts.gid)
    if plan.user and plan.user_key is not None:
        if not plan.user_key.exists():
            yield f"key of {plan.user}: {plan.user_key} (0600); the private half is his alone"
        if not dry_run:
            first_user(settings, plan.user, plan.user_key)
            if accounts is not None:  # the registry was written anew, by root
                prepare(settings, accounts)
    yield from _box_keys(settings, accounts, dry_run)
    yield from _units(plan, settings, dry_run)


def _box_keys(settings: Settings, accounts: Accounts | None, dry_run: bool) -> Iterator[str]:
    """The keys by which this box's gateway comes to other boxes; the gateway alone reads them."""
    for other in settings.other_box:
        if other.key.exists():
            continue
        name = settings.box.name if settings.box else "NAME"
        yield (
            f"key to box {other.name}: {other.key} (0600); on {other.name}: secondchair-worker"
            f" users add {name} --key {other.key.name}.pub --role box"
        )
        if not dry_run:
            make_key(other.key)
            if accounts is not None:
                os.chown(other.key, accounts.gateway_uid, accounts.gid)


def _config(
    plan: Plan, settings: Settings, accounts: Accounts | None, dry_run: bool
) -> Iterator[str]:
    if plan.config.exists():
        return
    yield f"settings {plan.config}, every key explained"
    if dry_run:
        return
    try:
        write_explained(settings, plan.config, mode=0o640 if accounts else 0o600)
        if accounts is not None:
            os.chown(plan.config, 0, accounts.gid)
    except OSError as error:
        raise BadRequest(f"the settings file cannot be written ({error.strerror})") from error


def _units(plan: Plan, settings: Settings, dry_run: bool) -> Iterator[str]:
    if plan.target is None:
        return
    units = render_units(
        settings,
        plan.config,
        box=plan.box,
        declared=load_declared(boards_path(settings)),
        caps=_caps(plan, dry_run),
    )
    if dry_run:
        yield from (f"unit {plan.target / name}" for name in units)
        return
    yield from (f"unit {path}" for path in write_units(units, plan.target))


def _caps(plan: Plan, dry_run: bool) -> Path | None:
    """The script that root runs; on a service box a copy that only root can change."""
    source = caps_script()
    if source is None or not plan.service or not plan.box.gpus:
        return source
    target = _LIBRARY / source.name
    if not dry_run and (not target.exists() or target.read_bytes() != source.read_bytes()):
        try:
            _LIBRARY.mkdir(mode=0o755, parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(0o755)
        except OSError as error:
            raise BadRequest(f"{target} cannot be written ({error.strerror})") from error
    return target


def _with_gateway(settings: Settings, accounts: Accounts) -> Settings:
    uids = (accounts.gateway_uid,)
    return (
        msgspec.structs.replace(settings, gateway_uids=uids)
        if not settings.gateway_uids
        else (settings)
    )


def _refuse_hidden_install() -> None:
    """The service's users must be able to read the installation."""
    for place in (Path(sys.prefix), Path(__file__).parents[2]):
        for folder in (place, *place.parents):
            if not folder.stat().st_mode & 0o005 == 0o005:
                raise BadRequest(
                    f"the service's users cannot read the installation: {folder} is closed to them",
                    next_step="install into a folder such as /opt/secondchair, and run init there",
                )
