"""A server as it comes, for benches that compare with it: none of the keeper's care, any flag."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from protocol.errors import Unavailable
from worker.engine import EngineSettings
from worker.engine.child import Child
from worker.engine.llama_http import LlamaHttp
from worker.engine.run_folder import RunFolder
from worker.engine.server_flags import server_program

_START_S = 120.0


@asynccontextmanager
async def raw_server(
    model: Path, *, flags: Sequence[str] = (), context_tokens: int = 4096, batch_tokens: int = 512
) -> AsyncIterator[LlamaHttp]:
    """The native server of the product, with these flags and one thread."""
    run = RunFolder(None)
    socket = run.new_socket()
    command = [
        *server_program(EngineSettings()),
        *("-m", str(model), "--host", str(socket), "-c", str(context_tokens)),
        *("-b", str(batch_tokens), "-ub", str(batch_tokens), "-t", "1"),
        *("--slot-save-path", f"{run.folder('slots')}/", "--slots", "--offline", "--no-ui"),
        *flags,
    ]
    child = await Child.start(command, {})
    api = LlamaHttp(str(socket))
    try:
        async with asyncio.timeout(_START_S):
            while True:
                if not child.alive:
                    raise Unavailable(f"the server did not start: {child.reason()}")
                try:
                    await api.get("/health", timeout_s=2.0)
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
        yield api
    finally:
        await api.close()
        await child.stop()
        run.remove()
