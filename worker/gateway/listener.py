"""The SSH server: who may connect, what his key proves, and a channel for what he asks.

The key is the identity and the login name is ignored. Only a bot's file drop reads it: there
``for-NUMBER`` names the Discord account a file is put for, which narrows what the key may and never
widens it. What a key is worth is looked up once after authentication and then watched; a key that
is revoked, expires or comes under an unreadable registry loses its live connections or gets no new
one.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import functools
import re
from collections.abc import AsyncIterator
from typing import Final

import asyncssh  # noqa: TID251

from protocol.errors import BadRequest, Conflict, Refused, Unavailable
from protocol.frames import Stamp
from protocol.ids import UserName
from worker.gateway import GatewaySettings, algorithms
from worker.gateway.boxes import join_lender
from worker.gateway.bridge import bridge
from worker.gateway.caps import Caps
from worker.gateway.channel import Channel
from worker.gateway.commands import HELP
from worker.gateway.drop import DropBox
from worker.gateway.launcher import launch
from worker.gateway.notice import files_arrived
from worker.gateway.seldom import Seldom
from worker.logs import Log
from worker.registry import RegistryFile, Role

_log: Final = Log("gateway")
_FOR: Final = re.compile(r"for-([0-9]{1,20})")

_FLOOD_S: Final = 10.0
"""Seconds between two log lines about refused connections of one address."""


class Gateway:
    """The listening gateway."""

    def __init__(self, settings: GatewaySettings) -> None:
        """Reads the registry.

        Raises:
            NotFound: There is no registry.
            BadRequest: The registry is not as it must be: the gateway does not start.
        """
        self.settings = settings
        self.registry = RegistryFile(settings.users)
        self.caps = Caps(total=settings.connections, each=settings.per_address)
        self.floods = Seldom(_FLOOD_S)
        self.programs = Caps(total=settings.programs, each=settings.programs_per_user)
        self.doors: set[Door] = set()
        self.port = 0
        self._running: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Gateway]:
        """Listens until the block ends; then closes every connection and ends every program.

        Raises:
            BadRequest: A host key cannot be read.
            Conflict: The port is taken.
        """
        settings = self.settings
        try:
            acceptor = await asyncssh.listen(
                settings.host,
                settings.port,
                server_factory=lambda: Door(self),
                server_host_keys=[str(path) for path in settings.host_keys[:1]],
                send_server_host_keys=True,  # announces the spare, as OpenSSH's UpdateHostKeys
                config=None,
                server_version="secondchair",
                kex_algs=algorithms.KEX,
                encryption_algs=algorithms.CIPHERS,
                mac_algs=algorithms.MACS,
                signature_algs=algorithms.SIGNATURES,
                compression_algs=None,
                public_key_auth=True,
                password_auth=False,
                kbdint_auth=False,
                host_based_auth=False,
                gss_host=None,
                gss_kex=False,
                gss_auth=False,
                agent_forwarding=False,
                x11_forwarding=False,
                allow_scp=False,
                line_editor=False,
                encoding=None,
                login_timeout=settings.login_s,
                keepalive_interval=settings.keepalive_s,
                keepalive_count_max=settings.keepalive_count,
                window=256 * 1024,
            )
        except asyncssh.KeyImportError as error:
            raise BadRequest("a host key cannot be read", next_step="run init") from error
        except OSError as error:
            raise Conflict("the gateway's port cannot be opened") from error
        self.port = acceptor.get_port()
        _log.info("gateway.open", port=self.port)
        watch = asyncio.create_task(self._watch())
        try:
            yield self
        finally:
            watch.cancel()
            acceptor.close()
            for door in set(self.doors):
                door.end("gateway_closing")
            await acceptor.wait_closed()
            # A program may need to be made to go; left behind, it would outlive the gateway.
            while self._running:
                await asyncio.wait(self._running)
            _log.info("gateway.closed", port=self.port)

    def runs(self, task: asyncio.Task[None]) -> None:
        """Takes note of a task that must have ended before the gateway has."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _watch(self) -> None:
        """Ends the connections of keys that stopped working."""
        broken = False
        while True:
            await asyncio.sleep(self.settings.watch_s)
            try:
                self.registry.current()
                if (self.registry.broken is not None) != broken:
                    broken = not broken
                    _log.error("registry.broken", ok=not broken)
                for door in set(self.doors):
                    if not door.still_welcome():
                        door.end("key_revoked")
            except Exception as error:
                _log.trouble("registry.watch", error)


class Door(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._settings = gateway.settings
        self._conn: asyncssh.SSHServerConnection
        self._peer = ""
        self._counted = False
        self._tried: set[str] = set()
        self._checks = 0
        self._offered = ""
        self._stamp: Stamp | None = None
        self._channels: set[Channel] = set()

    # --- what the library calls ---

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._conn = conn
        self._peer = str(conn.get_extra_info("peername")[0])
        self._counted = self._gateway.caps.take(self._peer)
        if not self._counted:
            if count := self._gateway.floods.happened(f"capped {self._peer}"):
                _log.warning("connection.capped", peer=self._peer, count=count)
            conn.abort()
            return
        self._gateway.doors.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._counted:
            self._gateway.caps.give(self._peer)
            self._counted = False
        self._gateway.doors.discard(self)
        if self._stamp is not None:
            _log.info("connection.closed", user=self._stamp.user)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        mark = key.get_fingerprint()
        self._tried.add(mark)
        self._checks += 1  # a key that is taken is looked at twice: offered, then signed with
        most = self._settings.attempts
        if len(self._tried) > most or self._checks > 2 * most:
            if count := self._gateway.floods.happened(f"attempts {self._peer}"):
                _log.warning("connection.attempts", peer=self._peer, count=count)
            self._conn.disconnect(
                asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "too many keys were tried"
            )
            return False
        if self._look_up(mark) is None:
            return False
        # Called again for the key that signs, in one go with the check of the signature, so the
        # last one here is the one that proved itself.
        self._offered = mark
        return True

    def auth_completed(self) -> None:
        user = self._look_up(self._offered)
        if user is None:
            self.end("key_revoked")
            return
        name, role = user
        self._stamp = Stamp(user=name, role=role, fingerprint=self._offered, peer=self._peer)
        _log.info(
            "connection.open", user=name, role=role, fingerprint=self._offered, peer=self._peer
        )

    def session_requested(self) -> Channel | bool:
        if self._stamp is None or len(self._channels) >= self._settings.channels:
            _log.info("channel.capped", peer=self._peer)
            return False
        files = self._settings.drop is not None and self._stamp.role != Role.BOX
        drop = self._drop if files else None
        channel = Channel(self._serve, self._channels.discard, self._gateway.runs, drop)
        self._channels.add(channel)
        return channel

    # --- ours ---

    def still_welcome(self) -> bool:
        """Whether the key of this connection works now; before authentication there is none."""
        if self._stamp is None:
            return True
        found = self._gateway.registry.current().by_key(self._stamp.fingerprint)
        if found is None or found[0].name != self._stamp.user:
            return False
        user, key = found
        same_role = user.role.value == self._stamp.role
        return same_role and key.works(peer=self._peer, now=dt.datetime.now(dt.UTC))

    def end(self, reason: str) -> None:
        """Closes the connection at once."""
        _log.info("connection.ended", peer=self._peer, reason=reason)
        self._conn.disconnect(asyncssh.DISC_BY_APPLICATION, "this connection is closed")

    def _drop(self, chan: asyncssh.SSHServerChannel[bytes]) -> DropBox:
        assert self._settings.drop is not None
        assert self._stamp is not None  # no channel opens before authentication
        account = self._acting_for()
        arrived = functools.partial(files_arrived, self._settings.worker, self._stamp, account)
        registry = self._gateway.registry
        return DropBox(chan, self._settings.drop, registry, self._stamp, arrived, account)

    def _acting_for(self) -> str | None:
        """The account that a bot's login name names; nobody else's name is looked at."""
        assert self._stamp is not None
        if self._stamp.role != Role.BOT:
            return None
        named = _FOR.fullmatch(self._conn.get_extra_info("username", ""))
        return named[1] if named else None

    def _look_up(self, mark: str) -> tuple[UserName, str] | None:
        registry = self._gateway.registry
        found = registry.current().by_key(mark)
        if found is None or registry.broken is not None:
            return None
        user, key = found
        if not key.works(peer=self._peer, now=dt.datetime.now(dt.UTC)):
            return None
        return UserName(user.name), user.role.value

    async def _serve(self, channel: Channel) -> int:
        assert self._stamp is not None  # no channel opens before authentication
        box = self._stamp.role == Role.BOX
        if box or channel.engine:  # a box's key opens this one door, and no other key does
            if not (box and channel.engine) or self._settings.lender is None:
                return Refused.exit_code
            return await join_lender(channel, self._settings.lender)
        if channel.subsystem:
            return await bridge(channel, self._stamp, self._settings.worker)
        if channel.command == ():
            await channel.write(HELP.encode())
            return 0
        programs, user = self._gateway.programs, self._stamp.user
        if not programs.take(user):
            await channel.say("too many windows are open; close one and try again.")
            return Unavailable.exit_code
        try:
            return await launch(channel, self._stamp, self._settings)
        finally:
            programs.give(user)


async def serve(settings: GatewaySettings) -> None:
    """Runs the gateway until it is cancelled.

    Raises:
        BadRequest: The registry or a host key is not as it must be.
        Conflict: The port is taken.
        NotFound: There is no registry.
    """
    async with Gateway(settings).open():
        await asyncio.get_running_loop().create_future()
