"""Fetches a model file by https, for the one command that an operator types to do so.

Nothing else of the product calls this: the running worker opens no connection. What came before
a line was cut stays beside the models under a name of its own; the same command goes on from there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import ipaddress
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from protocol.errors import BadRequest, Conflict, Unavailable
from worker.engine.models import ModelFile, keep_model

KEPT_FREE_BYTES = 2 * 1024**3
"""Disk that a pull leaves alone: the worker's own files must go on being written."""

_TIMEOUT_S = 60.0
_READ_BYTES = 1 << 20
_AGAIN = "the same command goes on from there"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a pull would fetch."""

    name: str
    size_bytes: int
    """0 where the server does not say."""
    host: str
    """Who really sends it: an address may lead on to another one."""
    here_bytes: int
    """So many came with an earlier try."""


def model_name(url: str) -> str:
    """The file name that an address gives.

    Raises:
        BadRequest: It is not https (http is taken on loopback only), holds a name and password, or
            does not end in a plain name with the suffix .gguf.
    """
    parts = urlsplit(url)
    if not _is_taken(url):
        raise BadRequest("a model is fetched by https only")
    if parts.username or parts.password:
        raise BadRequest("an address with a password in it is not taken")
    name = unquote(parts.path).rpartition("/")[2]
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.gguf", name):
        raise BadRequest("the address does not end in the name of a .gguf file")
    return name


def offer(url: str, folder: Path, sha256: str) -> Offer:
    """What the server offers, and how much of it is here; nothing is fetched.

    Raises:
        BadRequest: The address or the hash is not one.
        Conflict: A model of this name is there.
        Unavailable: It cannot be reached or has no such file, or the disk has no room for it.
    """
    target, part = _places(url, folder, sha256)
    with _answers(urllib.request.Request(url, method="HEAD")) as answer:  # noqa: S310 - checked
        size = _length(answer)
        host = urlsplit(answer.url).hostname or ""
    here = part.stat().st_size if part.exists() else 0
    _refuse_without_room(folder, size - here)
    return Offer(name=target.name, size_bytes=size, host=host, here_bytes=here)


def pull_model(
    url: str, folder: Path, sha256: str, on_bytes: Callable[[int], None] = lambda _bytes: None
) -> ModelFile:
    """Fetch a model into the folder; it is a model there once it is whole and of this hash.

    Args:
        url: See `model_name`.
        folder: The box's models.
        sha256: What the file must hash to; there is no pull without one.
        on_bytes: Told how many more bytes are here; first those of an earlier try. Fewer than 0
            when they had to be given up.

    Raises:
        BadRequest: The address or the hash is not one.
        Conflict: A model of this name is there, or is being fetched by another command.
        Damaged: What came is not the file of that hash; it was removed.
        Unavailable: It could not be fetched, or not to its end: the same call goes on from there.
            When the disk was full, what had come was removed.
    """
    target, part = _places(url, folder, sha256)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _ours_alone(part) as out:
        try:
            _fetch(url, out, on_bytes)
            os.fsync(out.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                part.unlink(missing_ok=True)
                raise Unavailable(
                    "the disk is full; what had come was removed", next_step="make room"
                ) from error
            raise _cut(out) from error
        except http.client.HTTPException as error:
            raise _cut(out) from error
        return keep_model(part, target, sha256)


def _places(url: str, folder: Path, sha256: str) -> tuple[Path, Path]:
    """Where the model will lie, and where it lies until it is whole: the hash is in that name, so
    that nothing is ever continued with bytes of another file."""
    target = folder / model_name(url)
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise BadRequest("a model is fetched against its SHA-256 only")
    if target.exists():
        raise Conflict("a model of this name is there", next_step="remove it first")
    return target, target.with_suffix(f".{sha256[:16].lower()}.part")


def _fetch(url: str, out: FileIO, on_bytes: Callable[[int], None]) -> None:
    """Everything that is missing, to the end of the file that is open for appending."""
    here = out.seek(0, os.SEEK_END)
    on_bytes(here)
    request = urllib.request.Request(url)  # noqa: S310 - checked by model_name
    if here:
        request.add_header("Range", f"bytes={here}-")
    with _answers(request, whole=here) as answer:
        if answer is None:
            return  # the server has no more than what is here; the hash will tell
        if here and answer.status != 206:
            on_bytes(-here)
            out.truncate(0)
            here = out.seek(0)
        end = here + _length(answer)
        _refuse_without_room(Path(str(out.name)).parent, end - here)
        while block := answer.read(_READ_BYTES):
            written = 0
            while written < len(block):  # unbuffered: what the disk did not take is not kept back
                written += out.write(block[written:])
            here += len(block)
            on_bytes(len(block))
        if here < end:
            raise http.client.IncompleteRead(b"", end - here)


@contextlib.contextmanager
def _answers(request: urllib.request.Request, *, whole: int = 0) -> Iterator[Any]:
    """A server's answer; None where it has nothing after byte ``whole``.

    Raises:
        Unavailable: It cannot be reached, or has no such file.
    """
    opener = urllib.request.build_opener(_SameKind)
    try:
        answer = opener.open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if whole and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            yield None
            return
        said = "has no such file" if error.code == 404 else f"refuses it (HTTP {error.code})"
        raise Unavailable(f"the model cannot be fetched: the server {said}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unavailable("the model cannot be fetched from there") from error
    with answer:
        yield answer


class _SameKind(urllib.request.HTTPRedirectHandler):
    """Follows to where a pull may lead, and nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not _is_taken(newurl) or (_is_local(newurl) and not _is_local(req.full_url)):
            raise Unavailable("the address leads on to one that is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextlib.contextmanager
def _ours_alone(part: Path) -> Iterator[FileIO]:
    """The unfinished file, open for appending, for one command at a time."""
    with part.open("ab", buffering=0) as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(out.fileno()), part.stat()):
                raise FileNotFoundError
        except OSError as error:  # taken, or made a model by the command that had it
            raise Conflict("this model is being fetched by another command") from error
        yield out


def _refuse_without_room(folder: Path, missing_bytes: int) -> None:
    while not folder.exists():
        folder = folder.parent
    short = missing_bytes + KEPT_FREE_BYTES - shutil.disk_usage(folder).free
    if missing_bytes > 0 and short > 0:
        raise Unavailable(
            f"the disk lacks {short / 1e9:.2f} GB for this model",
            next_step="make room, or remove a model: secondchair-worker models remove NAME",
        )


def _cut(out: FileIO) -> Unavailable:
    here = out.tell()
    return Unavailable(f"the line was cut after {here / 1e9:.2f} GB", next_step=_AGAIN)


def _length(answer: Any) -> int:
    said = answer.headers.get("Content-Length") or ""
    return int(said) if said.isdecimal() else 0


def _is_taken(url: str) -> bool:
    return urlsplit(url).scheme == "https" or _is_local(url)


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    try:
        return parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
