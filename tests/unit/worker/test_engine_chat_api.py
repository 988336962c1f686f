"""The HTTP side against a server that misbehaves in every way we thought of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from protocol.errors import AppError, BadRequest, Unavailable
from worker.engine import (
    EngineLost,
    Finished,
    FinishReason,
    PromptProgress,
    ReasoningText,
    StreamEvent,
    Text,
)
from worker.engine.chat_api import ChatApi, parse_endpoint

Script = Callable[[web.StreamResponse], Awaitable[None]]


class Server:
    """Answers every call with the script it is given."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.script: Script | None = None
        self.status = 200
        self.text = ""
        self.closed = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.script is None:
            return web.Response(status=self.status, text=self.text)
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await self.script(response)
        except (ConnectionError, asyncio.CancelledError):
            self.closed.set()
            raise
        return response


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    made = Server(tmp_path / "s.sock")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.UnixSite(runner, str(made.socket)).start()
    yield made
    await runner.cleanup()


def _says(*lines: bytes) -> Script:
    async def script(response: web.StreamResponse) -> None:
        for line in lines:
            await response.write(line)

    return script


def _data(**chunk: object) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _delta(**delta: object) -> bytes:
    return _data(choices=[{"index": 0, "finish_reason": None, "delta": delta}])


def _end(reason: str = "stop") -> bytes:
    return _data(choices=[{"index": 0, "finish_reason": reason, "delta": {}}])


async def _stream(server: Server, *, stall_s: float = 2.0) -> list[StreamEvent]:
    api = ChatApi(str(server.socket))
    try:
        return [event async for event in api.stream({}, stall_timeout_s=stall_s)]
    finally:
        await api.close()


async def test_events_in_their_order_with_reasoning_kept_apart(server: Server) -> None:
    server.script = _says(
        _data(
            choices=[{"index": 0, "finish_reason": None, "delta": {"content": None}}],
            prompt_progress={"total": 9, "cache": 4, "processed": 9, "time_ms": 1},
        ),
        b": a comment\n\n",
        _delta(reasoning_content="hm"),
        _delta(content="wo"),
        _delta(content="rds"),
        _end("length"),
        _data(
            choices=[],
            usage={"prompt_tokens": 9, "completion_tokens": 2},
            timings={
                "cache_n": 4,
                "prompt_n": 5,
                "prompt_ms": 2.5,
                "predicted_ms": 4.0,
                "predicted_n": 2,
                "draft_n": 3,
                "draft_n_accepted": 1,
            },
        ),
        b"data: [DONE]\n\n",
    )
    events = await _stream(server)
    assert events[:4] == [
        PromptProgress(total=9, cached=4, processed=9),
        ReasoningText(delta="hm"),
        Text(delta="wo"),
        Text(delta="rds"),
    ]
    usage = events[4].usage
    assert (usage.prompt_tokens, usage.reused_tokens, usage.output_tokens) == (9, 4, 2)
    assert (usage.drafted_tokens, usage.accepted_tokens) == (3, 1)
    assert usage.finish_reason is FinishReason.LENGTH
    assert usage.tokens_per_s == 500


async def test_a_plain_endpoint_without_timings_is_enough(server: Server) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}
    server.script = _says(_delta(content="hi"), _end(), _data(choices=[], usage=usage))
    events = await _stream(server)
    assert isinstance(events[-1], Finished)
    assert events[-1].usage.prompt_tokens == 9
    assert events[-1].usage.reused_tokens == 0


async def test_bytes_may_be_cut_anywhere(server: Server) -> None:
    whole = _delta(content="갑 제3호증") + _end()

    async def script(response: web.StreamResponse) -> None:
        for n in range(0, len(whole), 3):
            await response.write(whole[n : n + 3])
            await asyncio.sleep(0)

    server.script = script
    events = await _stream(server)
    assert events[0] == Text(delta="갑 제3호증")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ((_delta(content="half"),), EngineLost),
        ((b"data: {broken\n\n",), EngineLost),
        ((), EngineLost),
        ((_delta(content="x"), _data(error={"message": "SECRET"})), Unavailable),
        ((b"error: SECRET\n\n",), Unavailable),
        ((b'data: {"choices": 7}\n\n',), EngineLost),
        ((b"data: [1]\n\n",), EngineLost),
        ((b'data: {"prompt_progress": {"total": 1}}\n\n',), EngineLost),
    ],
)
async def test_a_broken_stream_is_an_error_without_its_words(
    server: Server, lines: tuple[bytes, ...], kind: type[AppError]
) -> None:
    server.script = _says(*lines)
    with pytest.raises(kind) as caught:
        await _stream(server)
    assert "SECRET" not in str(caught.value)


async def test_pings_do_not_hide_that_an_engine_hangs(server: Server) -> None:
    async def script(response: web.StreamResponse) -> None:
        await response.write(_delta(content="x"))
        while True:
            await response.write(b":\n\n")
            await asyncio.sleep(0.02)

    server.script = script
    with pytest.raises(EngineLost, match="too long"):
        await _stream(server, stall_s=0.2)


async def test_a_slow_engine_that_goes_on_is_no_hang(server: Server) -> None:
    """Each word gives it as long again."""

    async def script(response: web.StreamResponse) -> None:
        for _ in range(4):
            await response.write(_delta(content="x"))
            await asyncio.sleep(1.2)
        await response.write(_end())

    server.script = script
    events = await _stream(server, stall_s=4.0)
    assert len(events) == 5


async def test_silence_before_the_first_byte_is_a_hang_too(server: Server) -> None:
    async def script(_response: web.StreamResponse) -> None:
        await asyncio.sleep(30)

    server.script = script
    with pytest.raises(EngineLost):
        await _stream(server, stall_s=0.2)


async def test_closing_the_stream_closes_the_connection(server: Server) -> None:
    async def script(response: web.StreamResponse) -> None:
        await response.write(_delta(content="x"))
        await asyncio.sleep(30)

    server.script = script
    api = ChatApi(str(server.socket))
    events = api.stream({}, stall_timeout_s=5)
    await anext(events)
    await events.aclose()
    await asyncio.wait_for(server.closed.wait(), 60)
    await api.close()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, BadRequest), (404, BadRequest), (401, Unavailable), (503, Unavailable)],
)
async def test_a_refusal_never_repeats_the_server(
    server: Server, status: int, kind: type[AppError]
) -> None:
    server.status, server.text = status, "SECRET"
    with pytest.raises(kind) as caught:
        await _stream(server)
    assert "SECRET" not in str(caught.value)
    api = ChatApi(str(server.socket))
    with pytest.raises(kind) as caught:
        await api.get("/props")
    assert "SECRET" not in str(caught.value)
    await api.close()


async def test_nobody_there(tmp_path: Path) -> None:
    api = ChatApi(str(tmp_path / "none.sock"))
    with pytest.raises(Unavailable):
        await api.get("/health")
    with pytest.raises(EngineLost):
        async for _ in api.stream({}, stall_timeout_s=1):
            pass
    await api.close()


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://10.0.0.1:80",
        "http://localhost:80",
        "https://127.0.0.1:80",
        "http://127.0.0.1",
        "",
        "x",
        "http://127.0.0.1@10.0.0.1:80",
        "http://[::ffff:10.0.0.1]:80",
        "http://0.0.0.0:80",
    ],
)
def test_nothing_beyond_this_machine_is_an_endpoint(endpoint: str) -> None:
    with pytest.raises(BadRequest):
        parse_endpoint(endpoint)


def test_sockets_and_loopback_are() -> None:
    assert parse_endpoint("/run/e.sock") == ("/run/e.sock", "http://engine")
    assert parse_endpoint("unix:/run/e.sock") == ("/run/e.sock", "http://engine")
    assert parse_endpoint("http://127.0.0.1:8080/") == ("", "http://127.0.0.1:8080")
    assert parse_endpoint("http://[::1]:8080") == ("", "http://[::1]:8080")
