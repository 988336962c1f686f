"""The tests an engine passes before it is asked anything of a matter.

They ask for form, never for meaning: a small model that talks nonsense passes, a large one that
counts its tokens wrongly does not. All of it is nobody's text.
"""

from __future__ import annotations

import hashlib
from contextlib import aclosing

import msgspec

from protocol.errors import Unavailable
from worker.engine import (
    AnswerMalformed,
    Engine,
    Finished,
    FinishReason,
    Limits,
    Prompt,
    PromptProgress,
    Request,
    Text,
    Usage,
)


def _shelf(n: int) -> str:
    return f"Shelf {n}: {n * 53 % 97} boxes came in and {n * 29 % 61} went out on day {n * 7 % 31}."


_SHELVES = tuple(_shelf(number) for number in range(1, 13))
_ANSWER_TOKENS = 16
_FRAME_TOKENS = 128
"""More than the template, the matter's code and the question take."""
_FRAME_TOKENS_A_LINE = 4
"""What stands between two lines of the long prompt, and the longer numbers of later ones."""
_STOP_S = 30.0
_FORM = {
    "type": "object",
    "properties": {"full": {"type": "boolean"}},
    "required": ["full"],
    "additionalProperties": False,
}


class SelfTestFailed(Unavailable):
    """The engine came up but failed a test; the message names it."""


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """What the tests saw."""

    answer_sha256: str
    usage: Usage
    long_answer_sha256: str = ""
    """Of the long prompt; empty where none was asked for."""


async def run_self_test(
    engine: Engine,
    *,
    expected_sha256: str,
    floor_tokens_per_s: float,
    long_tokens: int = 0,
    expected_long_sha256: str = "",
    brief: bool = False,
) -> Passed:
    """Count, exact answer, speed, reuse, form, cancel and a long prompt, on an idle engine.

    Args:
        engine: Started.
        expected_sha256: Hash of the answer this build gave before; empty for none.
        floor_tokens_per_s: Slowest decode rate allowed; 0 for none.
        long_tokens: Length of a long prompt; 0 for none.
        expected_long_sha256: As the first one, of the long prompt.
        brief: Only the first three, for a build that passed all of them in this process already.

    Raises:
        SelfTestFailed: With the test that failed.
        Unavailable: The engine went away.
    """
    prompt = Prompt(system="Answer briefly.", record=_SHELVES, question="Which shelf is fullest?")
    words, usage = await _ask(engine, prompt, Limits(max_tokens=_ANSWER_TOKENS, reuse=False))
    if engine.capabilities.exact_count and usage.prompt_tokens != await engine.count_tokens(prompt):
        raise SelfTestFailed("the engine's start-up test failed: it counts tokens in two ways")
    answer = hashlib.sha256(words.encode()).hexdigest()
    if usage.output_tokens == 0:
        raise SelfTestFailed("the engine's start-up test failed: it gave no answer")
    if expected_sha256 and answer != expected_sha256:
        raise SelfTestFailed(
            "the engine's start-up test failed: another answer than when this build was good"
        )
    if 0 < usage.tokens_per_s < floor_tokens_per_s:
        raise SelfTestFailed(
            f"the engine's start-up test failed: {usage.tokens_per_s:.1f} tokens a second, "
            f"the floor is {floor_tokens_per_s:.1f}"
        )
    if not brief:
        await _test_reuse(engine, prompt)
        await _test_form(engine, prompt)
        await _test_cancel(engine)
        long_answer = await _test_long(engine, long_tokens, expected_long_sha256)
    else:
        long_answer = ""
    return Passed(answer_sha256=answer, usage=usage, long_answer_sha256=long_answer)


async def _test_reuse(engine: Engine, prompt: Prompt) -> None:
    if not engine.capabilities.reports_reuse:
        return
    other = Prompt(system=prompt.system, record=prompt.record, question="Which one is empty?")
    _, usage = await _ask(engine, other, Limits(max_tokens=1))
    if usage.reused_tokens == 0:
        raise SelfTestFailed("the engine's start-up test failed: it reads a known record again")


async def _test_form(engine: Engine, prompt: Prompt) -> None:
    if not engine.capabilities.schema:
        return
    try:
        await _ask(engine, prompt, Limits(max_tokens=64, json_schema=_FORM))
    except AnswerMalformed as error:
        raise SelfTestFailed("the engine's start-up test failed: it breaks a form") from error


async def _test_cancel(engine: Engine) -> None:
    prompt = Prompt(system="Count.", record=_SHELVES[::-1], question="Go on and on.")
    request = Request(
        id="self-test-cancel", matter="", prompt=prompt, limits=Limits(max_tokens=512)
    )
    reason = None
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, PromptProgress | Text):
                await engine.cancel(request.id)
            if isinstance(event, Finished):
                reason = event.usage.finish_reason
    if reason is not FinishReason.CANCELLED:
        raise SelfTestFailed("the engine's start-up test failed: it cannot be stopped")
    await engine.wait_idle(_STOP_S)


async def _test_long(engine: Engine, tokens: int, expected_sha256: str) -> str:
    """Hash of the answer to a long prompt; asked twice where nothing is known to compare with."""
    if tokens == 0:
        return ""
    shelf = max(1, sum(await engine.count_texts(_SHELVES)) // len(_SHELVES))
    fits = engine.capabilities.context_tokens - _ANSWER_TOKENS - _FRAME_TOKENS
    count = max(1, min(tokens, fits) // (shelf + _FRAME_TOKENS_A_LINE))
    prompt = Prompt(
        system="Answer briefly.",
        record=tuple(_shelf(number) for number in range(1, count + 1)),
        question="Which shelf is fullest?",
    )
    answers = []
    for _ in range(1 if expected_sha256 else 2):
        words, _usage = await _ask(engine, prompt, Limits(max_tokens=_ANSWER_TOKENS, reuse=False))
        answers.append(hashlib.sha256(words.encode()).hexdigest())
    if len(set(answers)) > 1:
        raise SelfTestFailed(
            "the engine's start-up test failed: a long prompt was answered in two ways"
        )
    if expected_sha256 and answers[0] != expected_sha256:
        raise SelfTestFailed(
            "the engine's start-up test failed: another answer to a long prompt than when this"
            " build was good"
        )
    return answers[0]


async def _ask(engine: Engine, prompt: Prompt, limits: Limits) -> tuple[str, Usage]:
    request = Request(id="self-test", matter="", prompt=prompt, limits=limits)
    words: list[str] = []
    usage = Usage()
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Text):
                words.append(event.delta)
            elif isinstance(event, Finished):
                usage = event.usage
    return "".join(words), usage
