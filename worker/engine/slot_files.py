"""Slot files: the kv_cache of a record's head, written in the matter's own folder.

A file is named by the hash of everything that must be equal for it to be loaded, and beside it
stands the hash of its bytes. It holds the prompt's tokens: keep the folder on an encrypted disk,
and delete it with the matter.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from worker.engine import EngineProvenance, Prompt, messages
from worker.engine.wall import walled

SUFFIX = ".slot"
FOLDER = "slots"
"""In a matter's folder."""
KEPT_FREE_BYTES = 2 * 1024**3
"""Disk that slot files leave alone: a job's own file must never find it full."""
_READ_BYTES = 1 << 20


class SlotNote(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside a slot file."""

    sha256: str
    tokens: int


def slot_key(provenance: EngineProvenance, matter: str, prompt: Prompt) -> str:
    """Hash of matter, head, weights, build, template and flags: another of any is another file.

    Flags include context, kv types and batch sizes. The matter stands in its code at the head. The
    question is left out: the head is what the file is for.
    """
    head = Prompt(system=prompt.system, record=prompt.record)
    whole = msgspec.json.encode(
        {
            "model": provenance.model_sha256,
            "binary": provenance.binary_sha256,
            "template": provenance.template_sha256,
            "flags": provenance.flags,
            "head": messages(walled(matter, head)),
        }
    )
    return hashlib.sha256(whole).hexdigest()


@contextmanager
def lent(file: Path, slots: Path) -> Iterator[str]:
    """A name in the server's slot folder that stands for ``file`` while the block runs.

    A server writes and reads slot files in one folder; a link lets it use the matter's own.
    """
    name = f"{secrets.token_hex(8)}{SUFFIX}"
    link = slots / name
    link.symlink_to(file)
    try:
        yield name
    finally:
        link.unlink(missing_ok=True)


def write_note(file: Path, tokens: int) -> None:
    """Record the hash of a slot file that is complete. Reads the file: call it in a thread."""
    note = SlotNote(sha256=_sha256(file), tokens=tokens)
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(note))
    part.chmod(0o600)
    part.replace(_note_path(file))


def read_note(file: Path) -> SlotNote | None:
    """The note of a slot file whose bytes match it; one that does not match is removed.

    A file without a note was never finished. Reads the file: call it in a thread.
    """
    try:
        note = msgspec.json.decode(_note_path(file).read_bytes(), type=SlotNote)
        if _sha256(file) == note.sha256:
            return note
    except (OSError, msgspec.DecodeError):
        pass
    remove(file)
    return None


def remove(file: Path) -> None:
    """Delete a slot file and its note; neither need be there."""
    _note_path(file).unlink(missing_ok=True)
    file.unlink(missing_ok=True)


def has_room(folder: Path, size_bytes: int) -> bool:
    """Whether a file of this size may be written there, and `KEPT_FREE_BYTES` are left after it."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free >= size_bytes + KEPT_FREE_BYTES


def keep_newest(matters: Path, most_bytes: int) -> int:
    """Delete the oldest slot files of all matters until the rest take no more than this.

    Args:
        matters: The folder of all matters; slot files lie in ``<matter>/slots/``.
        most_bytes: What may stay.

    Returns:
        How many were deleted.
    """
    files = []
    for file in matters.glob(f"*/{FOLDER}/*{SUFFIX}"):
        try:
            stat = file.stat()
        except OSError:
            continue  # its matter was closed meanwhile
        files.append((stat.st_mtime_ns, stat.st_size, file))
    left, gone = sum(size for _, size, _ in files), 0
    for _, size, file in sorted(files):
        if left <= most_bytes:
            break
        remove(file)
        left -= size
        gone += 1
    return gone


def keep_only(file: Path) -> None:
    """Delete every other slot file of the same matter: the record was another one then."""
    for other in file.parent.glob(f"*{SUFFIX}"):
        if other != file:
            remove(other)


def _note_path(file: Path) -> Path:
    return file.with_suffix(".json")


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()
