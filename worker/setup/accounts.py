"""The users a service box runs as: one for the worker, one for the gateway, with one group."""

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


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of the two users and their group."""

    worker_uid: int
    gateway_uid: int
    gid: int


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
    return Accounts(worker_uid=worker.pw_uid, gateway_uid=gateway.pw_uid, gid=gid)


def make_accounts() -> Accounts:
    """The accounts, made as system users without a shell or a home when they are not there.

    Raises:
        Unavailable: This process may not make users, or the system has no tool for it.
    """
    found = find_accounts()
    if found is not None:
        return found
    if os.geteuid() != 0:
        raise Unavailable("only root can make the service's users", next_step="run init with sudo")
    if shutil.which("useradd") is None or shutil.which("groupadd") is None:
        raise Unavailable(
            "this system has no useradd",
            next_step=f"make the users {WORKER} and {GATEWAY} with the group {GROUP}, then again",
        )
    if GROUP not in {group.gr_name for group in grp.getgrall()}:
        _run("groupadd", "--system", GROUP)
    known = {user.pw_name for user in pwd.getpwall()}
    for name in (WORKER, GATEWAY):
        if name not in known:
            _run(
                "useradd", "--system", "--gid", GROUP, "--no-create-home",
                "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", name,
            )  # fmt: skip
    made = find_accounts()
    if made is None:
        raise Unavailable("the service's users were made but cannot be found")
    return made


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"{command[0]} failed: {said}")
