"""Whether a model's slot files may be used: what its header says, then a test at start.

Does a restored slot branch exactly as the one in memory did?

Some models write only part of their state; restoring then "works" and is wrong, or is silently not
reused. The test prefills a head, saves it, branches from the middle of it in memory, erases,
restores, branches again, and compares first-token logprobs and reuse.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from protocol.errors import AppError
from worker.boards.model_file import ModelHeader
from worker.engine import Prompt
from worker.engine.llama_http import LlamaHttp, apart
from worker.engine.slot_files import SUFFIX
from worker.engine.wall import walled

TOLERANCE = 0.01
"""Largest difference of a logprob. Dense models were bit-identical; a window model that was wrong
differed by 0.33 at the first token."""

_LINES = tuple(
    f"Line {n}: item {n * 37 % 101} of the inventory was counted on shelf {n * 11 % 17}."
    for n in range(1, 17)
)
"""About 300 tokens; nobody's record."""


def why_no_slot_files(header: ModelHeader) -> str:
    """Why the kv_cache of this model must not be written to a file; empty when it may.

    A window or a recurrent state is only partly in the file: branching back from it gives other
    logits without a warning, or none is reused (measured on Gemma 3; see docs/engine.md).
    """
    for key, value in header.values.items():
        name = key.removeprefix(f"{header.architecture}.")
        if name == "attention.sliding_window" and value:
            return "slot files off: the model has sliding-window attention"
        if name.startswith(("ssm.", "wkv.", "shortconv.")) or name == "full_attention_interval":
            return "slot files off: the model keeps a recurrent state"
    return ""


class SlotTest(msgspec.Struct, frozen=True, kw_only=True):
    """How the test came out."""

    why_not: str
    """Why this model's slot files must not be used; empty when they passed."""
    token_bytes: int = 0
    """What a token takes in a file."""


async def try_slot_files(api: LlamaHttp, slots: Path) -> SlotTest:
    """Whether this model's slot files may be used. The engine must be idle; its slot is left empty.

    Args:
        api: The server.
        slots: Its slot folder.
    """
    try:
        return await _try(api, slots)
    except (AppError, OSError):
        return SlotTest(why_not="slot files off: this build cannot save or restore a slot")


async def _try(api: LlamaHttp, slots: Path) -> SlotTest:
    name = f"{secrets.token_hex(8)}{SUFFIX}"
    whole = walled("", Prompt(system="Read the lines.", record=_LINES, question="Which shelf?"))
    middle = walled("", Prompt(system="Read the lines.", record=_LINES[:8], question="How many?"))
    try:
        await api.erase_slot()
        await api.peek(whole)
        saved = await api.save_slot(name)
        token_bytes = -(-(slots / name).stat().st_size // max(1, saved))
        in_memory = await api.peek(middle)
        await api.erase_slot()
        restored = await api.restore_slot(name)
        from_file = await api.peek(middle)
        await api.erase_slot()
    finally:
        (slots / name).unlink(missing_ok=True)
    why = ""
    if saved != restored:
        why = "slot files off: fewer tokens came back than were saved"
    elif from_file.reused_tokens < in_memory.prompt_tokens // 2:
        why = "slot files off: a restored slot was not reused"
    elif apart(in_memory, from_file) > TOLERANCE:
        why = "slot files off: a restored slot gave other probabilities"
    return SlotTest(why_not=why, token_bytes=token_bytes)
