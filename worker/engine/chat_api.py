"""The OpenAI-style HTTP interface as a client: one stream parser for every server that speaks it.

Speaks to a unix socket or to loopback, nothing else. Foreign exceptions end here. What a server
says about a refused request may repeat the request, so its words are never passed on.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from protocol.errors import BadRequest, Unavailable
from worker.engine import (
    EngineLost,
    Finished,
    FinishReason,
    Limits,
    PromptProgress,
    ReasoningText,
    StreamEvent,
    Text,
    Usage,
)

_CONNECT_TIMEOUT_S = 5.0
_MAX_LINE_BYTES = 8 << 20
"""A longer line is no event of a stream: the server is broken."""

_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
"""Others (tool_calls, content_filter) do not occur: we send no tools, reach no hosted service."""


class ChatApi:
    """A connection to one server. Every call opens its own connection and closes it."""

    def __init__(self, endpoint: str, *, key: str = "", answer_timeout_s: float = 60.0) -> None:
        """Args:
        endpoint: A socket's path, ``unix:/path`` or a loopback ``http://127.0.0.1:port``.
        key: Sent as a bearer token.
        answer_timeout_s: How long a small answer may take.

        Raises:
            BadRequest: The endpoint is neither a socket nor loopback.
        """
        self.endpoint = endpoint
        self._answer_timeout_s = answer_timeout_s
        self._socket, self._base = parse_endpoint(endpoint)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, *, timeout_s: float | None = None) -> Any:
        """A small JSON answer.

        Raises:
            EngineLost: The server is away or does not answer in time.
            Unavailable: It is still loading.
            BadRequest: It refused.
        """
        return await self._small("GET", path, None, timeout_s)

    async def post(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> Any:
        """The same with a JSON body."""
        return await self._small("POST", path, body, timeout_s)

    async def stream(
        self, body: Mapping[str, Any], *, stall_timeout_s: float
    ) -> AsyncGenerator[StreamEvent]:
        """Stream one chat completion; closing the generator closes the connection.

        Raises:
            EngineLost: The server is not there, went away, broke the stream, or said nothing for
                so long. Comment pings do not count: HTTP may ping while the engine hangs.
            BadRequest: It refused the request.
            Unavailable: It is still loading, or failed at this request.
        """
        reader = _Reader()
        async for data in self._events(body, stall_timeout_s):
            for event in reader.events(data):
                yield event
        yield reader.finished()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _small(self, verb: str, path: str, body: Any, timeout_s: float | None) -> Any:
        timeout = aiohttp.ClientTimeout(
            total=timeout_s or self._answer_timeout_s, sock_connect=_CONNECT_TIMEOUT_S
        )
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with self._opened().request(
                verb, self._base + path, data=data, headers=_JSON, timeout=timeout
            ) as response:
                await _refuse_status(response)
                return msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, OSError, msgspec.DecodeError) as error:
            raise EngineLost("the engine does not answer") from error

    async def _events(self, body: Mapping[str, Any], stall_s: float) -> AsyncGenerator[bytes]:
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_TIMEOUT_S, sock_read=stall_s
        )
        rest = b""
        loop = asyncio.get_running_loop()
        heard = loop.time()
        try:
            async with self._opened().post(
                self._base + "/v1/chat/completions",
                data=msgspec.json.encode(body),
                headers=_JSON,
                timeout=timeout,
            ) as response:
                await _refuse_status(response)
                while True:
                    async with asyncio.timeout_at(heard + stall_s):
                        block = await response.content.readany()
                    if not block:
                        return
                    *lines, rest = (rest + block).split(b"\n")
                    if len(rest) > _MAX_LINE_BYTES:
                        raise EngineLost("the engine broke its stream")
                    for line in lines:
                        if line.startswith(b"data:"):
                            heard = loop.time()
                            yield line[5:].strip()
                        elif line.startswith(b"error:"):
                            raise Unavailable("the engine failed at this request")
        except aiohttp.ClientConnectorError as error:
            raise EngineLost("the engine does not answer") from error
        except TimeoutError as error:
            raise EngineLost("the engine said nothing for too long") from error
        except (aiohttp.ClientError, OSError) as error:
            raise EngineLost("the engine went away while it worked") from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A connection a call: llama-server closes idle ones, and a reused one may be dead.
            connector: aiohttp.BaseConnector
            if self._socket:
                connector = aiohttp.UnixConnector(self._socket, force_close=True, limit=0)
            else:
                connector = aiohttp.TCPConnector(force_close=True, limit=0)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, trust_env=False
            )
        return self._session


_JSON = {"Content-Type": "application/json"}


def parse_endpoint(endpoint: str) -> tuple[str, str]:
    """Socket path (empty for TCP) and base URL of an endpoint.

    Raises:
        BadRequest: It is neither a socket nor an address of this machine. A host name is refused
            too: what it means is decided elsewhere.
    """
    if endpoint.startswith("unix:"):
        return endpoint.removeprefix("unix:"), "http://engine"
    if endpoint.startswith("/"):
        return endpoint, "http://engine"
    parts = urlsplit(endpoint)
    try:
        local = parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
        port = parts.port
    except ValueError:
        local = False
        port = None
    if not local or port is None:
        raise BadRequest(
            "an engine's endpoint is a unix socket or http on a loopback address with a port",
            next_step="let the gateway offer a distant engine as a unix socket",
        )
    return "", f"http://{parts.netloc}{parts.path.rstrip('/')}"


def sampling(limits: Limits) -> dict[str, Any]:
    """The standard part of a request's body."""
    body: dict[str, Any] = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": limits.max_tokens,
        "temperature": limits.temperature,
        "seed": limits.seed,
    }
    if limits.json_schema is not None:
        form = {"name": "answer", "strict": True, "schema": limits.json_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


async def _refuse_status(response: aiohttp.ClientResponse) -> None:
    if response.status < 400:
        return
    await response.read()  # taken off the line and dropped: it may hold the request
    if response.status in (401, 403):
        raise Unavailable("the engine does not accept our key")
    if response.status == 404:
        raise BadRequest("the engine does not know this call")
    if response.status < 500:
        raise BadRequest("the engine refused the request")
    raise Unavailable("the engine is not ready")


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Progress(msgspec.Struct):
    total: int
    cache: int
    processed: int


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Counts(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Timings(msgspec.Struct):
    cache_n: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    draft_n: int = 0
    draft_n_accepted: int = 0


class _Chunk(msgspec.Struct):
    """One event of the stream, as far as we read it: the interface's reference."""

    choices: list[_Choice] = []
    usage: _Counts | None = None
    timings: _Timings | None = None
    prompt_progress: _Progress | None = None
    error: msgspec.Raw | None = None


class _Reader:
    """Turns the server's chunks into events, and its last figures into `Usage`."""

    def __init__(self) -> None:
        self._reason: FinishReason | None = None
        self._counts = _Counts()
        self._timings = _Timings()

    def events(self, data: bytes) -> list[StreamEvent]:
        if data == b"[DONE]":
            return []
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise EngineLost("the engine broke its stream") from error
        if chunk.error is not None:
            raise Unavailable("the engine failed at this request")
        self._timings = chunk.timings or self._timings
        self._counts = chunk.usage or self._counts
        found: list[StreamEvent] = []
        if seen := chunk.prompt_progress:
            found.append(
                PromptProgress(total=seen.total, cached=seen.cache, processed=seen.processed)
            )
        for choice in chunk.choices:
            if choice.delta.reasoning_content:
                found.append(ReasoningText(delta=choice.delta.reasoning_content))
            if choice.delta.content:
                found.append(Text(delta=choice.delta.content))
            if choice.finish_reason:
                self._reason = _FINISH.get(choice.finish_reason, FinishReason.STOP)
        return found

    def finished(self) -> Finished:
        """The last event.

        Raises:
            EngineLost: The stream ended without one of its own.
        """
        if self._reason is None:
            raise EngineLost("the engine went away while it worked")
        counts, timings = self._counts, self._timings
        cached = counts.prompt_tokens_details.cached_tokens if counts.prompt_tokens_details else 0
        return Finished(
            usage=Usage(
                prompt_tokens=counts.prompt_tokens,
                reused_tokens=timings.cache_n or cached,
                output_tokens=counts.completion_tokens,
                prefill_ms=timings.prompt_ms,
                decode_ms=timings.predicted_ms,
                finish_reason=self._reason,
                drafted_tokens=timings.draft_n,
                accepted_tokens=timings.draft_n_accepted,
            )
        )
