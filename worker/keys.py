"""SSH keys made on the spot: host keys, and the demo user's key."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from protocol.errors import BadRequest


def make_key(path: Path) -> str:
    """Makes an ed25519 key pair unless it is there; gives the public key line.

    The private key is written to ``path`` with mode 0600 in OpenSSH's format and without a
    passphrase, the public one beside it with the suffix ``.pub``.
    """
    public_path = path.with_name(path.name + ".pub")
    if path.exists() and public_path.exists():
        return public_path.read_text("ascii").strip()
    if path.exists():  # a private key is never written over
        public_path.write_bytes(_public_of(path) + b"\n")
        return public_path.read_text("ascii").strip()
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(private)
    public_path.write_bytes(public + b"\n")
    return public.decode("ascii")


def _public_of(path: Path) -> bytes:
    try:
        key = load_ssh_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadRequest(
            f"{path.name} has no public half beside it, and it cannot be read to make one",
            next_step=f"ssh-keygen -y -f {path} > {path}.pub",
        ) from error
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


def public_key_only() -> str:
    """The public line of a key whose private half nobody has."""
    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")
