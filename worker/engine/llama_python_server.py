"""The child of `worker.engine.llama_python`: llama-cpp-python behind a socket.

Run as a script. It speaks the part of ``llama-server``'s interface that our adapter uses, with its
flags. One sequence: a second request waits. Generation runs in one thread; a stop is looked for
before every batch and every token, so a closed stream frees the model within one batch.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web

from worker.engine.native_server import flags

# The binding's one process. By name, because the package is typed in part only: where it is
# installed, the type checker would find faults that are absent where it is not.
llama_cpp: Any = importlib.import_module("llama_cpp")
chat_format: Any = importlib.import_module("llama_cpp.llama_chat_format")

Say = Callable[[dict[str, Any] | None], None]


class Model:
    """The loaded weights and their one sequence. All methods but ``__init__`` run in one thread."""

    def __init__(self, given: argparse.Namespace) -> None:
        kinds = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}
        self._llama = llama_cpp.Llama(
            given.model,
            n_ctx=given.ctx_size,
            n_batch=given.batch_size,
            n_ubatch=given.ubatch_size,
            n_threads=given.threads,
            n_threads_batch=given.threads,
            n_gpu_layers=-1 if given.gpu_layers == "all" else int(given.gpu_layers),
            flash_attn=given.flash_attn == "on",
            type_k=kinds[given.cache_type_k],
            type_v=kinds[given.cache_type_v],
            swa_full=True,  # a cut-back window would be reused as if it were whole
            verbose=False,
        )
        self._batch = given.batch_size
        self.context = self._llama.n_ctx()
        self.template = self._llama.metadata.get(
            "tokenizer.chat_template", chat_format.CHATML_CHAT_TEMPLATE
        )
        vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        self._is_end: Callable[[int], bool] = lambda token: bool(
            llama_cpp.llama_vocab_is_eog(vocabulary, token)
        )
        self._bos = self._text([self._llama.token_bos()])
        self._format = chat_format.Jinja2ChatFormatter(
            self.template, eos_token=self._text([self._llama.token_eos()]), bos_token=self._bos
        )
        kind = self._llama.metadata.get("general.architecture", "")
        self._keeps_state = any(name.startswith(f"{kind}.ssm.") for name in self._llama.metadata)

    def _text(self, tokens: list[int]) -> str:
        text: bytes = self._llama.detokenize(tokens, special=True)
        return text.decode("utf-8", "replace")

    def render(self, messages: list[dict[str, str]]) -> str:
        """The prompt as the template writes it, without a start mark that tokenizing adds."""
        prompt: str = self._format(messages=messages).prompt
        return prompt.removeprefix(self._bos) if self._adds_bos() else prompt

    def _adds_bos(self) -> bool:
        return bool(self._llama.metadata.get("tokenizer.ggml.add_bos_token") == "true")

    def tokens(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text, or of a whole rendered prompt."""
        found: list[int] = self._llama.tokenize(text.encode(), add_bos=special, special=special)
        return found

    def erase(self) -> None:
        """Forget the sequence."""
        self._llama.reset()

    def answer(self, body: dict[str, Any], stop: threading.Event, say: Say) -> None:
        """Read the prompt and write the answer, saying chunks; ends early when ``stop`` is set."""
        tokens = self.tokens(self.render(body["messages"]), special=True)
        started = time.monotonic()
        reused = self._cut_back(tokens) if body.get("cache_prompt", True) else self._cut_back([])
        total = len(tokens)
        say(_progress(total, reused, reused))
        for at in range(reused, total - 1, self._batch):
            if stop.is_set():
                return
            self._llama.eval(tokens[at : min(at + self._batch, total - 1)])
            say(_progress(total, reused, min(at + self._batch, total - 1)))
        written, reason = 0, "length"
        first = 0.0
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in self._generated(tokens, body):
            if not first:
                first = time.monotonic()
                say(_progress(total, reused, total))
            if stop.is_set():
                return
            if self._is_end(token) and not body.get("ignore_eos"):
                reason = "stop"
                break
            written += 1
            if text := decoder.decode(self._llama.detokenize([token])):
                say(_chunk({"content": text}))
            if written == body["max_tokens"]:
                break
        if text := decoder.decode(b"", final=True):
            say(_chunk({"content": text}))
        end = time.monotonic()
        say(_chunk({}, reason))
        say(
            {
                "choices": [],
                "usage": {"prompt_tokens": total, "completion_tokens": written},
                "timings": {
                    "cache_n": reused,
                    "prompt_n": total - reused,
                    "prompt_ms": 1000 * ((first or end) - started),
                    "predicted_n": written,
                    "predicted_ms": 1000 * (end - (first or end)),
                },
            }
        )

    def _cut_back(self, tokens: list[int]) -> int:
        """Keep what the sequence shares with these tokens, at least one short of all of them."""
        same = 0
        for kept, wanted in zip(
            self._llama.input_ids[: self._llama.n_tokens], tokens, strict=False
        ):
            if kept != wanted:
                break
            same += 1
        same = max(0, min(same, len(tokens) - 1))
        if same < self._llama.n_tokens and self._keeps_state:
            same = 0
        if same == 0:
            self._llama.reset()
        self._llama.n_tokens = same
        return same

    def _generated(self, tokens: list[int], body: dict[str, Any]) -> Iterator[int]:
        self._llama.set_seed(body.get("seed", 1))
        grammar = None
        if form := body.get("response_format"):
            schema = json.dumps(form["json_schema"]["schema"])
            grammar = llama_cpp.LlamaGrammar.from_json_schema(schema, verbose=False)
        generated: Iterator[int] = self._llama.generate(
            tokens, temp=body.get("temperature", 0.0), repeat_penalty=1.0, grammar=grammar
        )
        return generated


def _progress(total: int, cached: int, done: int) -> dict[str, Any]:
    return {"prompt_progress": {"total": total, "cache": cached, "processed": done}}


def _chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


class Service:
    """The HTTP side."""

    def __init__(self, model: Model, alias: str) -> None:
        self._model = model
        self._alias = alias
        self._thread = ThreadPoolExecutor(1, "llama")
        self._working = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=256 << 20)
        app.router.add_get("/health", self._health)
        app.router.add_get("/props", self._props)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/slots", self._slots)
        app.router.add_post("/slots/0", self._erase)
        app.router.add_post("/apply-template", self._apply)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _in_thread(self, act: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _props(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {
                "default_generation_settings": {"n_ctx": self._model.context},
                "total_slots": 1,
                "chat_template": self._model.template,
                "chat_template_caps": {},
                "build_info": f"llama-cpp-python {llama_cpp.__version__}",
            }
        )

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": self._alias}]})

    async def _slots(self, _request: web.Request) -> web.Response:
        return web.json_response([{"id": 0, "is_processing": self._working > 0}])

    async def _erase(self, _request: web.Request) -> web.Response:
        await self._in_thread(self._model.erase)
        return web.json_response({"id_slot": 0})

    async def _apply(self, request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        return web.json_response({"prompt": self._model.render(messages)})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        special = bool(body.get("add_special"))
        return web.json_response({"tokens": self._model.tokens(body["content"], special=special)})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        stop = threading.Event()

        def say(chunk: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        def work() -> None:
            try:
                if not stop.is_set():
                    self._model.answer(body, stop, say)
            except Exception:
                say({"error": {"message": "generation failed"}})
            finally:
                say(None)

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._working += 1
        done = self._thread.submit(work)
        done.add_done_callback(lambda _done: loop.call_soon_threadsafe(self._ended))
        try:
            while (chunk := await chunks.get()) is not None:
                await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            await response.write(b"data: [DONE]\n\n")
        finally:
            stop.set()
        return response

    def _ended(self) -> None:
        self._working -= 1


async def _serve(given: argparse.Namespace) -> None:
    model = await asyncio.to_thread(Model, given)
    runner = web.AppRunner(Service(model, given.alias).app(), handler_cancellation=True)
    await runner.setup()
    await web.UnixSite(runner, given.host).start()
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    await done.wait()
    os._exit(0)  # a batch under way must not hold up the end


def main(arguments: list[str]) -> None:
    """Load the model, serve until SIGTERM."""
    asyncio.run(_serve(flags().parse_args(arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
