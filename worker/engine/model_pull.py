"""Fetches a model file by https, for the one command that an operator types to do so.

Nothing else of the product calls this: the running worker opens no connection.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from protocol.errors import BadRequest, Conflict, Unavailable
from worker.engine.models import ModelFile, keep_model

_TIMEOUT_S = 60.0
_READ_BYTES = 1 << 20


def model_name(url: str) -> str:
    """The file name that an address gives.

    Raises:
        BadRequest: It is not https (http is taken on loopback only), holds a name and password, or
            does not end in a plain name with the suffix .gguf.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname)):
        raise BadRequest("a model is fetched by https only")
    if parts.username or parts.password:
        raise BadRequest("an address with a password in it is not taken")
    name = unquote(parts.path).rpartition("/")[2]
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.gguf", name):
        raise BadRequest("the address does not end in the name of a .gguf file")
    return name


def offered_bytes(url: str) -> int:
    """How large the file is, as the server says; 0 when it does not.

    Raises:
        Unavailable: It cannot be reached, or has no such file.
    """
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - checked by model_name
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            return int(answer.headers.get("Content-Length") or 0)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unavailable("the model cannot be fetched from there") from error


def pull_model(
    url: str, folder: Path, sha256: str, on_bytes: Callable[[int], None] = lambda _bytes: None
) -> ModelFile:
    """Fetch a model into the folder; it is there whole and of this hash, or not at all.

    Args:
        url: See `model_name`.
        folder: The box's models.
        sha256: What the file must hash to; there is no pull without one.
        on_bytes: Told how many more bytes came.

    Raises:
        BadRequest: The address or the hash is not one.
        Conflict: A model of this name is there.
        Damaged: What came is not the file of that hash; it was removed.
        Unavailable: It could not be fetched.
    """
    target = folder / model_name(url)
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise BadRequest("a model is fetched against its SHA-256 only")
    if target.exists():
        raise Conflict("a model of this name is there", next_step="remove it first")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    try:
        with (
            urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer,  # noqa: S310
            part.open("wb") as out,
        ):
            while block := answer.read(_READ_BYTES):
                out.write(block)
                on_bytes(len(block))
    except (OSError, http.client.HTTPException) as error:
        part.unlink(missing_ok=True)
        raise Unavailable("the model cannot be fetched from there") from error
    return keep_model(part, target, sha256)


def _is_loopback(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
