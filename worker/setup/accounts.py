"""The users a service box runs as: one for the worker, one for the gateway, with one group.

Engines run as a third user with a group of its own, to which the worker belongs and the gateway
does not: who may enter that group's folders may ask an engine.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
from typing import Final

import msgspec

from protocol.errors import BadRequest, Unavailable

GROUP: Final = "secondchair"
WORKER: Final = "secondchair"
GATEWAY: Final = "secondchair-gateway"
ENGINE: Final = "secondchair-engine"


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of the users and their groups."""

    worker_uid: int
    gateway_uid: int
    gid: int
    engine_gid: int | None = None
    """The group of engines; None on a box that was set up before they had units of their own."""


def find_accounts() -> Accounts | None:
    """The accounts, when all of them are there.

    Raises:
        BadRequest: One of the users has another primary group: their files would not be shared.
    """
    try:
        gid = grp.getgrnam(GROUP).gr_gid
        worker, gateway = pwd.getpwnam(WORKER), pwd.getpwnam(GATEWAY)
    except KeyError:
        return None
    for user in (worker, gateway):
        if user.pw_gid != gid:
            raise BadRequest(
                f"the user {user.pw_name} has another primary group than {GROUP}",
                next_step=f"usermod --gid {GROUP} {user.pw_name}",
            )
    return Accounts(
        worker_uid=worker.pw_uid, gateway_uid=gateway.pw_uid, gid=gid, engine_gid=_engine_gid()
    )


def make_accounts() -> Accounts:
    """The accounts, made as system users without a shell or a home when they are not there.

    Raises:
        Unavailable: This process may not make users, or the system has no tool for it.
    """
    found = find_accounts()
    if found is not None and found.engine_gid is not None:
        return found
    if os.geteuid() != 0:
        raise Unavailable("only root can make the service's users", next_step="run init with sudo")
    if shutil.which("useradd") is None or shutil.which("groupadd") is None:
        raise Unavailable(
            "this system has no useradd",
            next_step=f"make the users {WORKER} and {GATEWAY} with the group {GROUP}, then again",
        )
    groups = {group.gr_name for group in grp.getgrall()}
    for name in (GROUP, ENGINE):
        if name not in groups:
            _run("groupadd", "--system", name)
    known = {user.pw_name for user in pwd.getpwall()}
    for name, group in ((WORKER, GROUP), (GATEWAY, GROUP), (ENGINE, ENGINE)):
        if name not in known:
            _run(
                "useradd", "--system", "--gid", group, "--no-create-home",
                "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", name,
            )  # fmt: skip
    _run("usermod", "--append", "--groups", ENGINE, WORKER)
    made = find_accounts()
    if made is None or made.engine_gid is None:
        raise Unavailable("the service's users were made but cannot be found")
    return made


def _engine_gid() -> int | None:
    """The engines' group, when its user is there and the worker belongs to it."""
    try:
        pwd.getpwnam(ENGINE)
        group = grp.getgrnam(ENGINE)
    except KeyError:
        return None
    return group.gr_gid if WORKER in group.gr_mem else None


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"{command[0]} failed: {said}")
