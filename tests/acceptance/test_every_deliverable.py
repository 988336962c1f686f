"""Every deliverable through SSH with the real small model: what the answer key plants is shown.

The scorer is the bench's, so what this test holds is what the figures claim.
"""

from __future__ import annotations

import pytest

from bench.pipeline_ssh import Box, every_deliverable
from bot.link import Link, Target

KINDS = {"ask", "find", "summarize", "extract", "chronology", "draft", "citecheck"}


@pytest.mark.slow
@pytest.mark.model
async def test_every_planted_item_is_shown_and_nothing_false_is_green(box):
    target = Target(
        host="127.0.0.1",
        port=box.port,
        key=box.key("you"),
        known_hosts=box.folder / "known_hosts",
    )
    async with Link.over_ssh(target) as link:
        asked = Box(link, box.matter, prefix="every")
        rows, wrong = await every_deliverable(asked)
    assert {reply.kind for reply in asked.replies} == KINDS
    assert {row["deliverable"] for row in rows} == KINDS
    assert len(rows) >= 100
    assert [row for row in rows if not row["found"]] == []
    assert wrong == []
