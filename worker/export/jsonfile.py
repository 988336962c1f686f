"""An approved answer as JSON: the answer value itself, indented."""

from __future__ import annotations

import msgspec

from protocol.answers import Answer


def render(answer: Answer, title: str) -> bytes:
    """The file's bytes; ``title`` is not part of the answer value and is left out."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=1) + b"\n"
