"""One process of ours: started with a clean environment, ended by its process id.

Its output is kept in memory, a few lines of it, and only ever turned into one of the sentences
below: a server may print what it was asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from protocol.errors import BadRequest, Unavailable

_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_CACHE_PATH",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
)
"""All that a child inherits: switches such as GGML_*, LLAMA_*, proxies and keys stay behind."""

_REFUSED_VARIABLES = ("GGML_CUDA_P2P", "LLAMA_SERVER_SLOTS_DEBUG")
"""The first turns peer copies on by its mere presence, even as "0", and across PCIe with an IOMMU
they may corrupt output silently; the second makes the server show prompts."""

_FLAGS_BY_NAME = ("LLAMA_ARG_", "LLAMA_LOG_", "LLAMA_API_")
"""A server takes a flag from a variable of such a name, too: there nothing would check it."""

_KEPT_LINES = 80

_REASONS = (
    ("unknown argument", "the engine does not know one of its flags"),
    ("invalid argument", "the engine does not know one of its flags"),
    ("unrecognized arguments", "the engine does not know one of its flags"),
    ("invalid choice", "the engine does not accept the value of one of its flags"),
    ("invalid int value", "the engine does not accept the value of one of its flags"),
    ("error while handling argument", "the engine does not accept the value of one of its flags"),
    ("out of memory", "the model does not fit the memory"),
    ("failed to allocate", "the model does not fit the memory"),
    ("unable to allocate", "the model does not fit the memory"),
    ("unknown model architecture", "this build does not know the model's architecture"),
    ("failed to open", "the model file cannot be opened"),
    ("no such file", "a file that the engine needs is missing"),
    ("invalid magic", "the model file is not a GGUF file"),
    ("not within the file bounds", "the model file is cut short"),
    ("wrong number of tensors", "the model file is damaged or not for this build"),
    ("missing tensor", "the model file is damaged or not for this build"),
    ("failed to load model", "the model could not be loaded"),
    ("no module named 'xllamacpp'", "the package xllamacpp is not installed"),
    ("failed to init server", "the engine cannot be set up as its flags say"),
    ("couldn't bind", "the engine could not open its socket"),
)
"""What the output holds, in lower case, and what it means; the first match counts."""


def scrubbed_environment(added: Mapping[str, str]) -> dict[str, str]:
    """The variables a child gets: the few it needs of ours, and those of the settings.

    Raises:
        BadRequest: The settings add a variable that may not be set; it is named.
    """
    for name in _REFUSED_VARIABLES:
        if name in added:
            raise BadRequest(f"the engine's environment must not hold {name}, whatever its value")
    for name in added:
        if name.startswith(_FLAGS_BY_NAME):
            raise BadRequest(
                f"the engine's environment must not hold {name}",
                next_step="give it among the board's flags, where it is checked",
            )
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, **added}


class Child:
    """A running process in its own session, killed by the kernel when ours ends."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader = asyncio.create_task(self._read(), name="engine-child-output")

    @classmethod
    async def start(cls, command: Sequence[str], added: Mapping[str, str]) -> Child:
        """Start a program; it runs when this returns, which says nothing of its health.

        Raises:
            BadRequest: See `scrubbed_environment`.
            Unavailable: The program is missing or may not be run.
        """
        launcher = Path(__file__).with_name("launcher.py")
        program = Path(command[0])
        if not os.access(program, os.X_OK):
            raise Unavailable("the engine's program is missing or may not be run")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(launcher),
            str(os.getpid()),
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=scrubbed_environment(added),
            cwd="/",
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    def reason(self) -> str:
        """Why it ended or will not work, as far as its output tells; never the output itself."""
        said = "\n".join(self._lines).lower()
        for words, sentence in _REASONS:
            if words in said:
                return sentence
        code = self._process.returncode
        if code is None:
            return "the engine does not answer"
        if code < 0:
            return f"the engine was ended by signal {-code}"
        return f"the engine ended with code {code}"

    async def wait(self) -> int:
        """Its exit code, once it has ended and its output is read."""
        code = await self._process.wait()
        await asyncio.wait({self._reader}, timeout=1.0)
        return code

    async def stop(self, grace_s: float = 5.0) -> None:
        """End it: SIGTERM, after ``grace_s`` SIGKILL to its whole group. Twice is harmless."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._process.wait()
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        await self.wait()
        self._reader.cancel()
        await asyncio.wait({self._reader})

    async def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while block := await stream.read(65536):
            for line in block.decode("utf-8", "replace").splitlines():
                self._lines.append(line[:500])
