"""Up to Python 3.11 asyncio.wait_for may swallow a cancellation that comes as its task ends: a
watcher then went on after it was cancelled. The rooms use asyncio.timeout()."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", ["bot", "worker", "rag", "verify", "protocol"])
def test_no_room_uses_wait_for(room):
    uses = [
        str(path.relative_to(ROOT))
        for path in (ROOT / room).rglob("*.py")
        if "asyncio.wait_for(" in path.read_text("utf-8")
    ]
    assert uses == []
