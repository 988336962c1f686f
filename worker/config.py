"""The worker's settings: one TOML file, then ``SECONDCHAIR_*`` variables, then flags.

Every key has a default and one sentence; unknown keys are refused. An error names the key and the
expected type and never repeats the value, so a secret pasted into the wrong place stays out of
logs. Secrets are paths to files, never values.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import platformdirs

from protocol.errors import BadRequest
from protocol.record import DateOrder
from worker.box_settings import BoxSettings, OtherBoxSettings
from worker.engine import EngineSettings

_PREFIX: Final = "SECONDCHAIR_"
# Tables and lists: in the file only.
_TABLES: Final = frozenset({"boards", "roles", "tools", "box", "other_box"})


def _default_state() -> Path:
    service = Path("/var/lib/secondchair")
    if service.is_dir() and os.access(service, os.W_OK):
        return service
    return Path(platformdirs.user_state_dir("secondchair"))


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator may set. The file of each key's source is kept by `load`."""

    state: Path = msgspec.field(default_factory=_default_state)
    """Where matters, queue, keys and audit live."""
    host: str = "127.0.0.1"
    """The address the SSH gateway listens on."""
    port: int = 8022
    """The SSH gateway's port; 0 takes a free one."""
    run_folder: Path | None = None
    """Where sockets lie; a folder of the system's run or temp folder when not set."""
    gateway_uids: tuple[int, ...] = ()
    """User ids that may connect to the worker's socket, besides the worker's own."""
    zone: str = "UTC"
    """The time zone in which times are shown."""
    date_order: DateOrder = DateOrder.UNSET
    """How all-digit dates read where neither the record nor the matter says."""
    embedder: Path | None = None
    """A sentence-transformers folder; the small model of the embedder wheel when not set. That one
    knows no Hangul: set a multilingual one for Korean."""
    embedder_question_prefix: str = ""
    """What that model wants before a question, as "query: "."""
    embedder_passage_prefix: str = ""
    """What that model wants before a passage, as "passage: "."""
    embedder_device: str = "cpu"
    """Where embedder and reranker run: cpu, cuda, cuda:1."""
    reranker: Path | None = None
    """A cross-encoder's folder; the first passages are ordered without one when not set."""
    engine: Literal["llama_server", "llama_python", "remote", "scripted"] = "llama_server"
    """What turns a prompt into text, where no board says otherwise."""
    model: Path | None = None
    """The GGUF file, where no board says otherwise; the bundled small model when not set."""
    binary: Path | None = None
    """A llama-server binary; the prebuilt native server when not set."""
    script: Path | None = None
    """For the scripted engine: a JSON file of answers."""
    boards: tuple[EngineSettings, ...] = ()
    """One table a board: a model pinned to it. None means one board named A."""
    watch_boards: bool = True
    """Whether the cards are watched while the worker runs, on a box that has any."""
    composition: Literal["auto", "extractive", "model"] = "auto"
    """Who words a reply: the record alone, or the model. Auto decides by the model's size."""
    extractive_below_billion: float = 7.0
    """Under auto, models below this many billion parameters only order the record's words."""
    tools: tuple[Literal["draft"], ...] = ()
    """Roles in which a model that words replies may look further before it writes: search, open a
    page, list documents, find a date, compute a span of days; in its own matter, nothing else."""
    roles: dict[Literal["draft", "summarize", "review"], str] = {}
    """Role to board: who writes replies, who words summaries, who reads a reply once more. Without
    an entry the first board writes and summarizes, and boards with the same model share its line;
    another board, where there is one, reads."""
    second_reading: bool = True
    """Whether a reply that a model worded is read once more as the other side would read it."""
    live_text: bool = False
    """Whether text is shown while it is written, marked unverified."""
    passages: int = 12
    """Passages a question is answered from."""
    whole_record_tokens: int = 16_384
    """A record of at most so many tokens stands whole in each prompt, and the model keeps it read
    between questions; a longer one is answered from the passages found. 0 for never. Counts only
    where the model words the reply."""
    answer_tokens: int = 768
    """The longest reply a model may write."""
    turns: int = 6
    """Earlier turns of a conversation that are context, never evidence."""
    keep_jobs_days: int = 90
    """How long ended jobs stay in the queue's list; answers stay with the matter."""
    box: BoxSettings | None = None
    """This box among the firm's: its name, and what may leave it. None means it is alone."""
    other_box: tuple[OtherBoxSettings, ...] = ()
    """One table for each box that may word replies for this one."""

    def board_settings(self) -> tuple[EngineSettings, ...]:
        """The boards, with the one default board where none is configured."""
        if self.boards:
            return self.boards
        return (
            EngineSettings(
                name="A",
                engine=self.engine,
                model=self.model,
                binary=self.binary,
                script=self.script,
            ),
        )

    def run(self) -> Path:
        """The folder for sockets, made with mode 0700; short, since socket paths are."""
        folder = self.run_folder
        if folder is None:
            runtime = os.environ.get("XDG_RUNTIME_DIR")
            if runtime:
                folder = Path(runtime) / "secondchair"
            else:
                folder = Path(tempfile.gettempdir()) / f"secondchair-{os.getuid()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise BadRequest("the run folder belongs to another user")
        return folder

    def run_of_worker(self) -> Path:
        """The worker's run folder as the gateway sees it, whose user may be another one.

        Only a folder that the settings name may belong to somebody else: a folder of the temp
        folder could be anybody's.
        """
        if self.run_folder is not None and self.run_folder.is_dir():
            return self.run_folder
        return self.run()


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Settings and where each value came from."""

    settings: Settings
    sources: dict[str, str]
    """Key to "default", "file", "environment" or "flag"."""


def config_path() -> Path:
    """Where the settings file is looked for when none is named."""
    service = Path("/etc/secondchair/worker.toml")
    if service.exists():
        return service
    return Path(platformdirs.user_config_dir("secondchair")) / "worker.toml"


def load(
    path: Path | None = None,
    *,
    environment: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """The settings of file, environment and flags, later ones winning.

    Args:
        path: The TOML file; `config_path` when None, where a missing file means defaults.
        environment: The process's environment.
        flags: Values from the command line; None values are left out.

    Raises:
        BadRequest: A key is unknown or a value has the wrong type; the value is not repeated.
    """
    named = path is not None
    path = path if path is not None else config_path()
    values: dict[str, Any] = {}
    sources = dict.fromkeys(Settings.__struct_fields__, "default")
    if named or path.exists():
        values.update(_read(path))
        sources.update(dict.fromkeys(values, "file"))
    for name, value in environment.items():
        key = name.removeprefix(_PREFIX).lower()
        if name.startswith(_PREFIX) and key in sources and key not in _TABLES:
            values[key] = value
            sources[key] = "environment"
    for key, flag in (flags or {}).items():
        if flag is not None:
            values[key] = flag
            sources[key] = "flag"
    try:
        settings = msgspec.convert(values, Settings, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f"settings: {_without_value(str(error))}", next_step="see secondchair-worker doctor"
        ) from None
    return Loaded(settings=settings, sources=sources)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadRequest(f"the settings file cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise BadRequest("the settings file is not TOML") from None


def _without_value(said: str) -> str:
    """What msgspec says of the shape; of a wrong choice it would repeat the value."""
    if not said.startswith("Invalid"):
        return said
    return f"none of the values this key takes - at {said.rpartition(' - at ')[2]}"


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str | Path):
        return Path(value).expanduser()
    raise ValueError("a path is wanted")
