"""Whether a model's slot files may be used: what its header says, then a test at start.

Does a restored slot branch exactly as the one in memory did?

Some models write only part of their state; restoring then "works" and is wrong, or is silently not
reused. The test prefills a head, saves it, branches from the middle of it in memory, erases,
restores, branches again, and compares first-token logprobs and reuse.
"""

from __future__ import annotations

import secrets
from pathlib import Path

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


async def why_slot_files_fail(api: LlamaHttp, slots: Path) -> str:
    """Why this model's slot files must not be used; empty when they passed the test.

    The engine must be idle; its slot is left empty.
    """
    name = f"{secrets.token_hex(8)}{SUFFIX}"
    whole = walled("", Prompt(system="Read the lines.", record=_LINES, question="Which shelf?"))
    middle = walled("", Prompt(system="Read the lines.", record=_LINES[:8], question="How many?"))
    try:
        await api.erase_slot()
        await api.peek(whole)
        saved = await api.save_slot(name)
        in_memory = await api.peek(middle)
        await api.erase_slot()
        restored = await api.restore_slot(name)
        from_file = await api.peek(middle)
        await api.erase_slot()
    except AppError:
        return "slot files off: this build cannot save or restore a slot"
    finally:
        (slots / name).unlink(missing_ok=True)
    if saved != restored:
        return "slot files off: fewer tokens came back than were saved"
    if from_file.reused_tokens < in_memory.prompt_tokens // 2:
        return "slot files off: a restored slot was not reused"
    if apart(in_memory, from_file) > TOLERANCE:
        return "slot files off: a restored slot gave other probabilities"
    return ""
