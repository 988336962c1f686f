"""SSH keys made on the spot: host keys, and the demo user's key."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def make_key(path: Path) -> str:
    """Makes an ed25519 key pair unless it is there; gives the public key line.

    The private key is written to ``path`` with mode 0600 in OpenSSH's format and without a
    passphrase, the public one beside it with the suffix ``.pub``.
    """
    public_path = path.with_name(path.name + ".pub")
    if path.exists() and public_path.exists():
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
