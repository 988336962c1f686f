"""The box's folders and keys, each made unless it is there, with the rights that it must have.

On a service box the state folder is shared by two users of one group: the worker owns everything
but ``gateway/`` (the host keys), and the group may pass only where the gateway works; the weights
in ``models/`` are readable for the engines' group. Elsewhere all of it is for one user alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from worker import registry
from worker.config import Settings
from worker.keeping.migrations import mark_new
from worker.keys import make_key, public_key_only
from worker.paths import matters_folder, registry_path
from worker.setup.accounts import Accounts
from worker.sharing import share_matter

PROBE: Final = "probe"
"""The user in whose name the box looks after itself; his key is nobody's."""

_SHARED: Final = {
    "": 0o750,
    "matters": 0o710,
    "audit": 0o1770,  # journals are added to by both; only their owner may remove one
    "registry": 0o750,
    "gateway": 0o750,
    "models": 0o700,
    "templates": 0o700,
}
_ALONE: Final = dict.fromkeys(_SHARED, 0o700)


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was made, or would be."""

    what: str
    path: Path
    mode: int
    new: bool


def prepare(
    settings: Settings, accounts: Accounts | None = None, *, dry_run: bool = False
) -> list[Deed]:
    """Makes folders, host keys and registry; what is there keeps its content.

    Args:
        settings: Where the state lies.
        accounts: The users of a service box; None for one user alone.
        dry_run: Only says what would be made.
    """
    modes = _SHARED if accounts else _ALONE
    deeds = [_folder(settings.state / name, mode, dry_run) for name, mode in modes.items()]
    for name in ("host_ed25519", "host_ed25519.spare"):
        path = settings.state / "gateway" / name
        deeds.append(Deed(what="host key", path=path, mode=0o600, new=not path.exists()))
        if not dry_run:
            make_key(path)
    path = registry_path(settings)
    deeds.append(Deed(what="key registry", path=path, mode=0o640, new=not path.exists()))
    if not dry_run:
        if not path.exists():
            mark_new(settings.state)
            registry.write(path, registry.Registry())
        if accounts is not None:
            _probe_user(path)
            _give(settings, accounts)
    return deeds


def first_user(settings: Settings, name: str, key: Path) -> str:
    """Registers a reviewer whose key pair is made at ``key`` unless it is there; gives its line.

    A user of that name who is registered already is left as he is.
    """
    public = make_key(key)
    held = registry.read(registry_path(settings))
    if held.user(name) is None:
        user = registry.User(
            name=name, role=registry.Role.REVIEWER, keys=(registry.Key(public=public),)
        )
        registry.write(registry_path(settings), registry.with_user(held, user))
    return public


def _probe_user(path: Path) -> None:
    """The operator in whose name the health check asks. Nobody holds his private key: it is made
    and dropped here, so he can come in through the worker's socket alone."""
    held = registry.read(path)
    if held.user(PROBE) is None:
        user = registry.User(
            name=PROBE, role=registry.Role.OPERATOR, keys=(registry.Key(public=public_key_only()),)
        )
        registry.write(path, registry.with_user(held, user))


def _folder(path: Path, mode: int, dry_run: bool) -> Deed:
    new = not path.is_dir()
    if not dry_run:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(mode)
    return Deed(what="folder", path=path, mode=mode, new=new)


def _give(settings: Settings, accounts: Accounts) -> None:
    """Owners and modes on a service box, also of what an earlier set-up left to root.

    Owners are set by folder handle without following links, modes by the owner himself: a link
    that somebody put there leads root nowhere.
    """
    state = settings.state
    keys, matters = state / "gateway", matters_folder(settings)
    weights = state / "models"
    os.chown(state, accounts.worker_uid, accounts.gid)
    for top, folders, files, handle in os.fwalk(state, follow_symlinks=False):
        here = Path(top)
        for name in (*folders, *files):
            owned = here / name
            uid = accounts.gateway_uid if keys in (owned, *owned.parents) else accounts.worker_uid
            gid = accounts.gid
            if accounts.engine_gid is not None and weights in (owned, *owned.parents):
                gid = accounts.engine_gid
            os.chown(name, uid, gid, dir_fd=handle, follow_symlinks=False)
        if here.parent == matters:  # what lies in these is the gateway's
            folders[:] = [name for name in folders if name not in ("inbox", "incoming")]
    if accounts.engine_gid is not None:
        with _as(accounts.worker_uid, accounts.engine_gid):
            weights.chmod(0o2750)  # what is added later belongs to the group, too
            for file in weights.glob("*.gguf"):
                if not file.is_symlink():
                    file.chmod(0o640)
    with _as(accounts.worker_uid, accounts.gid):
        registry_path(settings).chmod(0o640)
        for journal in (state / "audit").glob("*.jsonl"):
            journal.chmod(0o660)
        for manifest in matters.glob("*/matter.json"):
            share_matter(manifest.parent)


@contextlib.contextmanager
def _as(uid: int, gid: int) -> Iterator[None]:
    """Works as another user until the block ends."""
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
