"""The algorithms that are offered, in order; short lists, tested against stock clients.

Every list is explicit: the library's defaults still hold SHA-1. Ciphers are authenticated ones
(AEAD), so no separate MAC is in use with them; the MAC list is for the day a cipher is added.
"""

from __future__ import annotations

from typing import Final

KEX: Final = ("mlkem768x25519-sha256", "curve25519-sha256", "curve25519-sha256@libssh.org")
"""Post-quantum hybrid first; OpenSSH before 9.9 and Windows builds take curve25519."""

CIPHERS: Final = (
    "chacha20-poly1305@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-gcm@openssh.com",
)

MACS: Final = ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com")

SIGNATURES: Final = (
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
)
"""RSA keys sign with SHA-512 only; `worker/registry.py` has the same kinds of keys."""
