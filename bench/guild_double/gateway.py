"""The gateway: hello, identify, resume with replay, heartbeats, events filtered by intents."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Final

from aiohttp import WSMsgType, web

from bench.guild_double.world import BOT, SERVER, Json, World

_GUILDS: Final = 1 << 0
_GUILD_MESSAGES: Final = 1 << 9
_MESSAGE_CONTENT: Final = 1 << 15


class Session:
    """One session: its intents, what was sent under it, its socket while there is one."""

    def __init__(self, number: str, intents: int) -> None:
        self.id = number
        self.intents = intents
        self.sent: list[Json] = []
        self.socket: web.WebSocketResponse | None = None


class Gateway:
    """All sessions; one bot, so the newest one is the bot's."""

    def __init__(self, world: World, token: str, record: Callable[[bytes], None]) -> None:
        self._world = world
        self._token = token
        self._record = record
        self._numbers = itertools.count(1)
        self.sessions: dict[str, Session] = {}
        self.identified = self.resumed = 0
        self.privileged = True
        """Whether the application may read messages; else who asks for it is closed with 4014."""
        self.refuse = 0
        """So many connections to come are refused."""
        self.address = ""

    @property
    def session(self) -> Session | None:
        """The newest session."""
        return next(reversed(self.sessions.values()), None)

    @property
    def connected(self) -> bool:
        """Whether a bot listens now."""
        return self.session is not None and self.session.socket is not None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One socket's life."""
        if self.refuse:
            self.refuse -= 1
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json(
            {"op": 10, "d": {"heartbeat_interval": 41_250}, "s": None, "t": None}
        )
        session: Session | None = None
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            self._record(message.data.encode())
            frame = json.loads(message.data)
            match frame["op"]:
                case 1:
                    await socket.send_json({"op": 11, "d": None, "s": None, "t": None})
                case 2:
                    session = await self._identify(socket, frame["d"])
                case 6:
                    session = await self._resume(socket, frame["d"])
                case _:
                    pass
        if session is not None and session.socket is socket:
            session.socket = None
        return socket

    async def dispatch(self, name: str, data: Json) -> None:
        """An event for the bot: kept for a resume, sent where a socket is open."""
        session = self.session
        if session is None:
            return
        if name == "MESSAGE_CREATE":
            if not session.intents & _GUILD_MESSAGES:
                return
            if not session.intents & _MESSAGE_CONTENT and data["author"]["id"] != BOT:
                data = {**data, "content": "", "attachments": [], "components": []}
        await self._send(session, name, data)

    async def close(self, code: int) -> None:
        """Closes the bot's socket with a code."""
        if (session := self.session) is not None and session.socket is not None:
            socket, session.socket = session.socket, None
            await socket.close(code=code)

    def drop(self) -> None:
        """Cuts the bot's socket without a word."""
        if (session := self.session) is not None and session.socket is not None:
            socket, session.socket = session.socket, None
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> Session | None:
        if data["token"] != self._token:
            await socket.close(code=4004)
            return None
        if data["intents"] & _MESSAGE_CONTENT and not self.privileged:
            await socket.close(code=4014)
            return None
        self.identified += 1
        session = Session(f"session{next(self._numbers)}", data["intents"])
        session.socket = socket
        self.sessions[session.id] = session
        ready = {
            "v": 10,
            "user": self._world.users[BOT],
            "guilds": [{"id": SERVER, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.address,
            "application": {"id": BOT, "flags": 1 << 19},
            "private_channels": [],
        }
        await self._send(session, "READY", ready)
        if session.intents & _GUILDS:
            await self._send(session, "GUILD_CREATE", self._world.guild())
        return session

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> Session | None:
        session = self.sessions.get(data["session_id"])
        if session is None or data["token"] != self._token:
            await socket.send_json({"op": 9, "d": False, "s": None, "t": None})
            return None
        self.resumed += 1
        for frame in session.sent:
            if frame["s"] > data["seq"]:
                await socket.send_json(frame)
        session.socket = socket
        await self._send(session, "RESUMED", {})
        return session

    async def _send(self, session: Session, name: str, data: Json) -> None:
        frame = {"op": 0, "t": name, "s": len(session.sent) + 1, "d": data}
        session.sent.append(frame)
        if session.socket is not None:
            with contextlib.suppress(ConnectionError):
                await session.socket.send_json(frame)
        await asyncio.sleep(0)
