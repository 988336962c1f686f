"""What our path adds to the engine: client, SSH, gateway, worker, jobs, and back.

The same engine child is asked twice in turn: over SSH by a client that follows the job's events,
and directly over its socket with a prompt of the same length. Both sides count tokens between the
first and the last word they see.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import time
from contextlib import aclosing
from typing import Any

from bench.harness import Result
from bench.whole_box import WholeBox, whole_box
from protocol.events import Completed, Event, Progress, Stage, Stopped
from protocol.jobs import Accepted, Ask, Cancel, GetAnswer
from worker.engine import Finished, Limits, Prompt, Text, Usage
from worker.engine.llama_http import LlamaHttp

BATCH_TOKENS = 64
ANSWER_TOKENS = 160
_TOPICS = (
    "roof boiler parking garden elevator insurance windows laundry fence cellar heating mail "
    "painting security balcony wiring plumbing chimney signage storage"
).split()
_SETTINGS = f"""
composition = "model"
answer_tokens = {ANSWER_TOKENS}
passages = 4
[[boards]]
name = "A"
context_tokens = 4096
batch_tokens = {BATCH_TOKENS}
ubatch_tokens = {BATCH_TOKENS}
"""


def _documents() -> dict[str, str]:
    """One note a topic, so that questions about different topics read different passages."""
    return {
        f"{topic}.txt": "\n".join(
            f"The {topic} was inspected on day {n} and item {n * 37 % 991} of the {topic} "
            f"needed {n * 53 % 97} hours of work, said the note about the {topic}."
            for n in range(1, 40)
        )
        for topic in _TOPICS
    }


async def measure_path(result: Result, *, pairs: int, cancels: int) -> None:
    """Interleaved pairs for decode rate and first word, then cancels over SSH."""
    async with whole_box(_documents(), _SETTINGS) as box:
        api = LlamaHttp(f"unix:{box.engine_socket}")
        try:
            await _pairs(result, box, api, pairs)
            await _cancels(result, box, api, cancels)
        finally:
            await api.close()


# --- decode rate and first word -------------------------------------------------------------------


async def _pairs(result: Result, box: WholeBox, api: LlamaHttp, pairs: int) -> None:
    question = "List every inspection of the roof and repeat each line word for word."
    first = await _over_ssh(box, question)  # reads the record; the pairs then reuse it
    prompt = await _prompt_of(api, first["prompt_tokens"])
    await _alone(api, prompt, 1)
    ratios, same_call, added = [], [], []
    for n in range(pairs):
        path = await _over_ssh(box, question)
        alone = await _alone(api, prompt, path["tokens"])
        ratios.append(path["tokens_per_s"] / alone["tokens_per_s"])
        same_call.append(path["tokens_per_s"] / path["engine_tokens_per_s"])
        added.append(path["first_word_ms"] - path["retrieving_ms"] - path["reading_ms"])
        result.rows.append(
            {"part": "path", "pair": n, "expected": "ratio >= 0.95", "ssh": path, "alone": alone}
        )
    result.figures["decode_ratio"] = round(statistics.median(ratios), 4)
    result.figures["decode_ratio_same_call"] = round(statistics.median(same_call), 4)
    result.figures["added_ttft_ms"] = round(statistics.median(added), 1)


async def _over_ssh(box: WholeBox, question: str) -> dict[str, Any]:
    """One question as a client asks it."""
    started = time.perf_counter()
    accepted = await box.link.call(
        Ask(
            matter=box.matter,
            question=question,
            conversation=secrets.token_hex(4),  # no earlier turns: every prompt is the same
            key=secrets.token_hex(8),
        )
    )
    assert isinstance(accepted, Accepted)
    seen: list[tuple[float, int]] = []
    over = False
    async for event in box.link.follow(accepted.job):
        if isinstance(event.body, Progress):
            if event.body.stage is not Stage.WRITING:
                over = bool(seen)  # a quotation that fails is asked for anew, in a second writing
            elif event.body.done and not over:
                seen.append((time.perf_counter(), event.body.done))
        elif isinstance(event.body, Completed):
            break
    answer = (await box.link.call(GetAnswer(job=accepted.job))).answer
    (first_at, first), (last_at, last) = seen[0], seen[-1]
    timings = answer.timings
    return {
        "first_word_ms": 1000 * (first_at - started),
        "tokens_per_s": (last - first) / (last_at - first_at),
        "tokens": timings.output_tokens,
        "prompt_tokens": timings.prompt_tokens,
        "reused_tokens": timings.reused_tokens,
        "retrieving_ms": timings.retrieving_ms,
        "reading_ms": timings.reading_ms,
        "engine_tokens_per_s": timings.tokens_per_s,
    }


async def _prompt_of(api: LlamaHttp, tokens: int) -> Prompt:
    """A prompt of about that many tokens."""
    line = "The roof was inspected and needed some hours of work, said the note. "
    question = "Repeat each line word for word."
    bare = len(await api.prompt_tokens(Prompt(system="Answer.", question=question)))
    lines = max(1, round((tokens - bare) / len(await api.tokens(line))))
    return Prompt(system="Answer.", record=(line * lines,), question=question)


async def _alone(api: LlamaHttp, prompt: Prompt, tokens: int) -> dict[str, Any]:
    """The same engine without our path."""
    started = time.perf_counter()
    marks: list[float] = []
    usage = Usage()
    async with aclosing(
        api.ask(prompt, Limits(max_tokens=max(2, tokens)), stall_timeout_s=600)
    ) as events:
        async for event in events:
            if isinstance(event, Text):
                marks.append(time.perf_counter())
            elif isinstance(event, Finished):
                usage = event.usage
    return {
        "first_word_ms": 1000 * (marks[0] - started),
        "tokens_per_s": (len(marks) - 1) / max(1e-9, marks[-1] - marks[0]),
        "tokens": usage.output_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "reused_tokens": usage.reused_tokens,
        "engine_tokens_per_s": usage.tokens_per_s,
    }


# --- cancel over SSH ------------------------------------------------------------------------------


async def _cancels(result: Result, box: WholeBox, api: LlamaHttp, cancels: int) -> None:
    in_time = 0
    for n in range(cancels):
        reading = n % 2 == 0
        row = await _cancel_once(box, api, n, Stage.READING if reading else Stage.WRITING)
        in_time += row["in_time"]
        result.rows.append(row)
    result.figures["cancels"] = cancels
    result.figures["cancels_in_time"] = in_time


async def _cancel_once(box: WholeBox, api: LlamaHttp, number: int, stage: Stage) -> dict[str, Any]:
    """Cancel a job at a stage as its client sees it; then watch the engine itself."""
    topic = _TOPICS[number % len(_TOPICS)]
    question = f"Run {number}: repeat every line about the {topic} word for word."
    accepted = await box.link.call(
        Ask(matter=box.matter, question=question, conversation="", key=secrets.token_hex(8))
    )
    assert isinstance(accepted, Accepted)
    cancelled_at = 0.0
    done = 0
    last: Event | None = None
    async for event in box.link.follow(accepted.job):
        last = event
        body = event.body
        here = isinstance(body, Progress) and body.stage is stage and body.done > 0
        if here and not cancelled_at:
            done = body.done
            cancelled_at = time.perf_counter()
            await box.link.call(Cancel(job=accepted.job))
    stopped_at = time.perf_counter()
    slot = await _idle_slot(api)
    idle_at = time.perf_counter()
    assert last is not None
    stopped = isinstance(last.body, Stopped)
    after = slot["n_prompt_tokens"] - done if stage is Stage.READING else None
    most = 2 * BATCH_TOKENS
    return {
        "part": "cancel over SSH",
        "number": number,
        "while": stage.value,
        "expected_at_most_tokens": most if after is not None else None,
        "tokens_after": after,
        "said_stopped_ms": round(1000 * (stopped_at - cancelled_at), 1),
        "idle_after_ms": round(1000 * (idle_at - cancelled_at), 1),
        "last_event": type(last.body).__name__,
        "in_time": stopped and (after is None or after <= most),
    }


async def _idle_slot(api: LlamaHttp) -> dict[str, Any]:
    """The engine's slot once it works no more."""
    while True:
        slot: dict[str, Any] = (await api.get("/slots"))[0]
        if not slot["is_processing"]:
            return slot
        await asyncio.sleep(0.02)
