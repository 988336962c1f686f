"""Whether a model's chat template keeps matters apart, tested at start on text of nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from protocol.errors import Unavailable
from worker.engine import Prompt
from worker.engine.wall import walled


async def shared_tokens(tokens_of: Callable[[Prompt], Awaitable[Sequence[int]]]) -> int:
    """Tokens that prompts of different matters share at their head.

    Args:
        tokens_of: Gives the tokens of a prompt as the model will read them.

    Raises:
        Unavailable: The template puts the matter's code behind the record, or drops it: then
            nothing keeps matters apart in this model's kv_cache.
    """
    one, other = (Prompt(system="", record=(word,), question="?") for word in ("one", "two"))
    first, second, third = [
        await tokens_of(walled(matter, prompt))
        for matter, prompt in (("a", one), ("b", one), ("a", other))
    ]
    shared, before_record = _same_start(first, second), _same_start(first, third)
    if shared >= before_record:
        raise Unavailable(
            "the model's chat template does not keep the system text first: "
            "matters cannot be kept apart",
            next_step="choose a model whose template has a system role",
        )
    return shared


def _same_start(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts share from their first."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
