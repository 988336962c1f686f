"""Our kv_cache formulas beside what the real llama.cpp says it allocates, on small models."""

import asyncio
import contextlib
import re

import pytest

from bench.tiny_model import write_sliding_window_model
from protocol.errors import Unavailable
from worker.boards import MIB
from worker.boards.sizes import cache_needs, read_model
from worker.engine import EngineSettings, bundled_model
from worker.engine.child import scrubbed_environment
from worker.engine.server_flags import server_program

pytestmark = pytest.mark.model
BUFFER = re.compile(rb"KV buffer size\s*=\s*([\d.]+) MiB")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    pytest.importorskip("xllamacpp")
    try:
        bundled = bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    window = tmp_path_factory.mktemp("model") / "window.gguf"
    write_sliding_window_model(window, bundled)
    return {"full": bundled, "window": window}


async def allocated_mib(model, folder, context, kind):
    """The sum of the cache buffers that the server names in its log."""
    (folder / "slots").mkdir(exist_ok=True)
    child = await asyncio.create_subprocess_exec(
        *server_program(EngineSettings()),
        *("-m", str(model), "--host", str(folder / "e.sock"), "-c", str(context), "-np", "1"),
        *("-b", "512", "-ub", "512", "-t", "1", "-ctk", kind, "-ctv", kind, "-fa", "on"),
        *("--fit", "off", "--offline", "-lv", "5", "--cache-ram", "0"),
        *("--slot-save-path", f"{folder / 'slots'}/"),
        env=scrubbed_environment({}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = b""
    try:
        async with asyncio.timeout(90):
            while more := await child.stdout.read(65536):
                said += more
                if b"init: model loaded" in said:  # the log's own last word: it lags what we print
                    break
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        child._transport.close()
    sizes = BUFFER.findall(said)
    assert sizes, said[-500:]
    return sum(map(float, sizes))


@pytest.mark.parametrize("name", ["full", "window"])
@pytest.mark.parametrize(("context", "kind"), [(2048, "f16"), (8192, "q8_0"), (4096, "q4_0")])
async def test_llama_cpp_allocates_what_we_work_out(models, tmp_path, name, context, kind):
    header = read_model(models[name])
    ours = cache_needs(header, context_tokens=context, key_type=kind, value_type=kind)
    real = await allocated_mib(models[name], tmp_path, context, kind)
    assert sum(ours.layers) / MIB == pytest.approx(real, abs=0.01)
