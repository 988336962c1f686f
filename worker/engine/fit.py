"""Whether a prompt fits the context, and how to ask in parts when it does not.

Pure: token counts in, a plan out. The keepers count; this file only reckons.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from protocol.errors import BadRequest


class SplitPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How the record of a prompt that is too long could be asked in parts."""

    parts: tuple[tuple[int, ...], ...]
    """Indices into ``Prompt.record``, in order; each part fits with the same question."""
    too_long: tuple[int, ...] = ()
    """Blocks that do not fit even alone and must be cut first."""


class PromptTooLong(BadRequest):
    """The prompt and the allowed answer do not fit the context; nothing was sent."""

    def __init__(
        self, *, prompt_tokens: int, max_tokens: int, context_tokens: int, plan: SplitPlan
    ) -> None:
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.context_tokens = context_tokens
        self.overflow_tokens = prompt_tokens + max_tokens - context_tokens
        self.plan = plan
        super().__init__(
            f"the prompt has {prompt_tokens} tokens and the answer may take {max_tokens}: "
            f"{self.overflow_tokens} more than the {context_tokens} the model can hold",
            next_step=f"ask in {len(plan.parts)} parts" if len(plan.parts) > 1 else "ask for less",
        )


def split_plan(block_tokens: Sequence[int], room_tokens: int) -> SplitPlan:
    """Parts of consecutive blocks, each within the room that system, turns and answer leave.

    Order is kept and every block is in exactly one part or in ``too_long``. Filling greedily from
    the front gives the fewest parts for a fixed order.

    Args:
        block_tokens: Tokens of each record block, what stands between blocks included.
        room_tokens: Context less everything that is not record; may be zero or negative.
    """
    parts: list[tuple[int, ...]] = []
    too_long: list[int] = []
    part: list[int] = []
    used = 0
    for index, tokens in enumerate(block_tokens):
        if tokens > room_tokens:
            too_long.append(index)
            continue
        if part and used + tokens > room_tokens:
            parts.append(tuple(part))
            part, used = [], 0
        part.append(index)
        used += tokens
    if part:
        parts.append(tuple(part))
    return SplitPlan(parts=tuple(parts), too_long=tuple(too_long))


def refuse_if_too_long(
    *, prompt_tokens: int, max_tokens: int, context_tokens: int, block_tokens: Sequence[int]
) -> None:
    """Nothing when the prompt and its answer fit the context.

    Raises:
        PromptTooLong: With the exact overflow and a split plan.
    """
    if prompt_tokens + max_tokens <= context_tokens:
        return
    besides = prompt_tokens - sum(block_tokens)
    plan = split_plan(block_tokens, context_tokens - max_tokens - besides)
    raise PromptTooLong(
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        context_tokens=context_tokens,
        plan=plan,
    )
