"""The stand-in's REST side: routes, faults on demand, and the record of all that came in."""

from __future__ import annotations

import asyncio
import contextlib
import email
import email.policy
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from bench.guild_double.gateway import Gateway
from bench.guild_double.spec import the_spec
from bench.guild_double.world import BOT, SERVER, Json, World, limit_faults, now

_API: Final = "/api/v10"
_ANSWER_S: Final = 3.0
_EPHEMERAL: Final = 64


@dataclass
class Fault:
    """Something that goes wrong for the next requests that match."""

    method: str
    path: re.Pattern[str]
    status: int
    """An HTTP status, or 0: the connection is cut."""
    times: int
    after: bool
    """Whether Discord does what it was asked before it fails."""
    retry_after: float


@dataclass
class Spoken:
    """One interaction and what the bot made of it."""

    id: str
    token: str
    kind: int
    channel: str
    account: str
    message: Json | None = None
    """The message a component stands on."""
    born: float = field(default_factory=time.monotonic)
    acked_s: float | None = None
    callback: Json | None = None
    original: Json | None = None
    dead: bool = False
    """The token is of no use any more, as after 15 minutes."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Refusal(Exception):
    """An error reply."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.body = status, {"code": code, "message": message}


class Double:
    """The whole stand-in."""

    def __init__(self, token: str = "token-of-the-double") -> None:
        self.token = token
        self.world = World()
        self.spec = the_spec()
        self.received: list[bytes] = []
        """Every request with its head, and every frame, as they came."""
        self.requests = 0
        """REST requests that were held against the description."""
        self.invalid: list[str] = []
        """What was wrong with requests of the bot."""
        self.wrong: list[str] = []
        """What was wrong with our own replies."""
        self.seen: list[tuple[str, str]] = []
        """Method and path of every request."""
        self.spoken: dict[str, Spoken] = {}
        """By token."""
        self.gateway = Gateway(self.world, token, self.received.append)
        self._faults: list[Fault] = []
        self.port = 0

    @property
    def api(self) -> str:
        """The base of the REST side."""
        return f"http://127.0.0.1:{self.port}{_API}"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Double]:
        """Listens on a free port of the loopback until the block ends."""
        app = web.Application(client_max_size=32 * 2**20)
        app.router.add_get("/gateway", self.gateway.handle)
        app.router.add_get("/files/{number}", self._file)
        app.router.add_route("*", "/{path:.*}", self._rest)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self.world.base = f"http://127.0.0.1:{self.port}"
        self.gateway.address = f"ws://127.0.0.1:{self.port}/gateway"
        try:
            yield self
        finally:
            await self.gateway.close(1001)
            await runner.cleanup()

    def fail(
        self,
        method: str,
        path: str,
        status: int = 0,
        *,
        times: int = 1,
        after: bool = False,
        retry_after: float = 0.05,
    ) -> None:
        """Lets the next requests that match fail; see `Fault`."""
        self._faults.append(Fault(method, re.compile(path), status, times, after, retry_after))

    def expire_tokens(self) -> None:
        """Fifteen minutes pass for every interaction so far."""
        for spoken in self.spoken.values():
            spoken.dead = True

    def messages(self, channel: str, author: str = BOT) -> list[Json]:
        """What somebody wrote in a channel, oldest first."""
        return [m for m in self.world.messages[channel] if m["author"]["id"] == author]

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """An attachment; Discord serves them apart from its API, to whoever has the address."""
        data = self.world.files.get(request.match_info["number"])
        return web.Response(body=data) if data is not None else web.Response(status=404)

    # --- one request ---

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        head = f"{request.method} {request.path_qs}\n".encode()
        heads = b"\n".join(name + b": " + value for name, value in request.raw_headers)
        self.received.append(head + heads + b"\n\n" + raw)
        path = request.path.removeprefix(_API)
        method = request.method
        self.seen.append((method, path))
        body, files = _decoded(request, raw)
        self.requests += 1
        kind = request.content_type if raw else ""
        faults = self.spec.request_faults(method, path, kind, body)
        if isinstance(body, dict):
            inner = body.get("data") if path.endswith("/callback") else body
            faults += limit_faults(inner) if isinstance(inner, dict) else []
        self.invalid += faults
        fault = self._fault(method, path)
        if fault is not None and not fault.after:
            return self._failed(request, method, path, fault)
        try:
            status, reply = await self._route(method, path, request, body, files)
        except Refusal as refusal:
            status, reply = refusal.status, refusal.body
        if fault is not None:
            return self._failed(request, method, path, fault)
        return self._reply(method, path, status, reply)

    def _reply(
        self, method: str, path: str, status: int, body: object, **heads: str
    ) -> web.Response:
        self.wrong += self.spec.reply_faults(method, path, status, body)
        if body is None:
            return web.Response(status=status, headers=heads)
        # Exactly this content type: discord.py takes a charset behind it for plain text.
        return web.Response(
            status=status,
            body=json.dumps(body).encode(),
            content_type="application/json",
            headers=heads,
        )

    def _fault(self, method: str, path: str) -> Fault | None:
        for fault in self._faults:
            if fault.times and fault.method == method and fault.path.search(path):
                fault.times -= 1
                return fault
        return None

    def _failed(
        self, request: web.Request, method: str, path: str, fault: Fault
    ) -> web.StreamResponse:
        if fault.status == 0:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if fault.status == 429:
            body = {
                "message": "rate limited",
                "code": 0,
                "retry_after": fault.retry_after,
                "global": False,
            }
            heads = {"Via": "1.1 double", "Retry-After": "1"}
            return self._reply(method, path, 429, body, **heads)
        return web.Response(status=fault.status, text="unavailable")

    async def _route(
        self,
        method: str,
        path: str,
        request: web.Request,
        body: Any,
        files: tuple[tuple[str, bytes], ...],
    ) -> tuple[int, object]:
        by_token = path.startswith(("/interactions/", "/webhooks/"))
        if not by_token and request.headers.get("Authorization") != f"Bot {self.token}":
            raise Refusal(401, 0, "401: Unauthorized")
        parts = path.strip("/").split("/")
        match method, parts:
            case "GET", ["users", "@me"]:
                me = {**self.world.users[BOT], "mfa_enabled": False, "locale": "en-US"}
                del me["primary_guild"]
                return 200, me
            case "GET", ["oauth2", "applications", "@me"]:
                return 200, self.world.application()
            case "PUT", ["applications", _, "guilds", guild, "commands"]:
                return 200, self._commands(guild, body)
            case "POST", ["channels", channel, "messages"]:
                return 200, await self._send(channel, body, files)
            case "GET", ["channels", channel, "messages"]:
                return 200, self._history(channel, request)
            case "PATCH", ["channels", channel, "messages", message]:
                return 200, self._edit(self._message(channel, message), body)
            case "POST", ["interactions", number, token, "callback"]:
                return self._answer(number, token, request, body)
            case "PATCH", ["webhooks", _, token, "messages", "@original"]:
                spoken = self._token(token)
                if spoken.original is None:
                    raise Refusal(404, 10008, "Unknown Message")
                reply = self._edit(spoken.original, body)
                spoken.changed.set()
                return 200, reply
            case _:
                raise Refusal(404, 0, "404: Not Found")

    def _commands(self, guild: str, body: list[Json]) -> list[Json]:
        if guild != SERVER:
            raise Refusal(403, 50001, "Missing Access")
        if len(body) > 100 or any(len(each.get("options") or []) > 25 for each in body):
            self.invalid.append("commands over their limit")
        self.world.commands = [
            {
                "type": 1,
                "description": "",
                "default_member_permissions": None,
                **{key: value for key, value in each.items() if value is not None},
                "id": self.world.new_id(),
                "application_id": BOT,
                "version": self.world.new_id(),
                "guild_id": guild,
            }
            for each in body
        ]
        return self.world.commands

    async def _send(self, channel: str, body: Json, files: tuple[tuple[str, bytes], ...]) -> Json:
        if channel not in self.world.channels:
            raise Refusal(404, 10003, "Unknown Channel")
        if len(body.get("content") or "") > 2000:
            raise Refusal(400, 50035, "Invalid Form Body")
        key = (channel, str(body.get("nonce")))
        if body.get("enforce_nonce") and key in self.world.nonces:
            return self._message(channel, self.world.nonces[key])
        message = self.world.message(channel, BOT, body, files=files)
        self.world.nonces[key] = message["id"]
        self.world.messages[channel].append(message)
        event = {**message, "guild_id": SERVER, "member": self.world.member(BOT)}
        await self.gateway.dispatch("MESSAGE_CREATE", event)
        return message

    def _message(self, channel: str, number: str) -> Json:
        for message in self.world.messages.get(channel, ()):
            if message["id"] == number:
                return message
        raise Refusal(404, 10008, "Unknown Message")

    def _history(self, channel: str, request: web.Request) -> list[Json]:
        if channel not in self.world.channels:
            raise Refusal(404, 10003, "Unknown Channel")
        most = int(request.query.get("limit", "50"))
        found = list(self.world.messages[channel])
        if after := request.query.get("after"):
            found = [m for m in found if int(m["id"]) > int(after)][:most]
        if before := request.query.get("before"):
            found = [m for m in found if int(m["id"]) < int(before)]
        # Discord does not give a nonce back with the history.
        return [{k: v for k, v in m.items() if k != "nonce"} for m in found[::-1][:most]]

    def _edit(self, message: Json, body: Json) -> Json:
        made = self.world.message(message["channel_id"], message["author"]["id"], body)
        for key in ("content", "components", "embeds"):
            if key in body:
                message[key] = made[key]
        message["edited_timestamp"] = now()
        return message

    # --- interactions ---

    def _token(self, token: str) -> Spoken:
        spoken = self.spoken.get(token)
        if spoken is None or spoken.dead:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return spoken

    def _answer(
        self, number: str, token: str, request: web.Request, body: Json
    ) -> tuple[int, object]:
        spoken = self.spoken.get(token)
        if spoken is None or spoken.id != number:
            raise Refusal(404, 10062, "Unknown interaction")
        if spoken.callback is not None:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        if time.monotonic() - spoken.born > _ANSWER_S:
            raise Refusal(404, 10062, "Unknown interaction")
        spoken.callback = body
        spoken.acked_s = time.monotonic() - spoken.born
        reply: Json = {"interaction": {"id": number, "type": spoken.kind}}
        data = body.get("data") or {}
        match body["type"]:
            case 4 | 5:
                spoken.original = self.world.message(spoken.channel, BOT, data)
                spoken.original["type"] = 20 if spoken.kind == 2 else 19
                if not data.get("flags", 0) & _EPHEMERAL:
                    self.world.messages[spoken.channel].append(spoken.original)
                reply["interaction"]["response_message_id"] = spoken.original["id"]
                if body["type"] == 4:  # the description has no resource for a deferred answer
                    reply["resource"] = {"type": 4, "message": spoken.original}
            case 7 if spoken.message is not None:
                spoken.original = spoken.message
                self._edit(spoken.message, data)
                reply["resource"] = {"type": 7, "message": spoken.message}
            case _:
                spoken.original = spoken.message
        spoken.changed.set()
        if request.query.get("with_response") in ("1", "true"):
            return 200, reply
        return 204, None


def _decoded(request: web.Request, raw: bytes) -> tuple[Any, tuple[tuple[str, bytes], ...]]:
    """The JSON of a request, of its form where it is one, and the files."""
    if request.content_type == "application/json":
        return json.loads(raw), ()
    if request.content_type != "multipart/form-data":
        return None, ()
    head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    form = email.message_from_bytes(head + raw, policy=email.policy.HTTP)
    body: Any = {}
    files = []
    for part in form.iter_parts():
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if (name := part.get_filename()) is not None:
            files.append((name, data))
        elif part.get_param("name", header="content-disposition") == "payload_json":
            body = json.loads(data)
    return body, tuple(files)
