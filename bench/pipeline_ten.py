"""Ten pages summarized by the real small model, over SSH: every page covered, every part worded.

What a small model says is its own; what is counted is ours: that no page is left out, that each
document is worded once, and that whatever is green stands on the page it names.
"""

from __future__ import annotations

import secrets
from typing import Final

from bench.pipeline_ssh import Box, stands
from bench.whole_box import whole_box
from protocol.answers import GREEN
from protocol.jobs import Summarize

PAGES: Final = 10
_EACH: Final = 2
_SETTINGS: Final = """
composition = "model"
[[boards]]
name = "A"
context_tokens = 4096
"""
_SUBJECTS: Final = ("pump", "ledger", "gate", "survey", "roof")


async def run_ten_pages() -> dict[str, int]:
    """Asks once for a summary of all.

    Returns:
        ``ten_pages`` there were, ``ten_pages_read``, ``ten_parts`` documents, of them
        ``ten_parts_worded`` by the model, ``ten_green`` items and ``ten_false_green``.
    """
    async with whole_box(_folder(), _SETTINGS) as box:
        asked = Box(box.link, box.matter, "ten")
        reply = await asked.answer(Summarize(matter=box.matter, key=secrets.token_hex(8)))
        green = [item for item in reply.items if item.verdict in GREEN]
        return {
            "ten_pages": reply.coverage.pages,
            "ten_pages_read": reply.coverage.pages_read,
            "ten_parts": len(_SUBJECTS),
            "ten_parts_worded": sum("): worded from " in note for note in reply.notes),
            "ten_green": len(green),
            "ten_false_green": sum([not await stands(asked, reply, item) for item in green]),
        }


def _folder() -> dict[str, str]:
    """Short reports of two pages each, every one about a thing of its own."""
    return {
        f"{subject}.txt": "\f".join(
            f"Report on the {subject}, page {page}.\n\n"
            f"On March {page + number} the surveyor looked at the {subject} and wrote that it was"
            f" {number * 7 + page} years old.\n\n"
            f"The owner of the {subject} said that repairs had cost ${number * 900 + page * 45}.\n"
            for page in range(1, _EACH + 1)
        )
        for number, subject in enumerate(_SUBJECTS, start=1)
    }
