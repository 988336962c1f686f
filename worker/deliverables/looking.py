"""Before a reply is written, a model may look further: a bounded run of tool calls, all kept.

Each call and what came of it stays with the job in the matter's own file; the log counts them. What
the calls bring up are sentences of the record like any other: they widen what the reply may quote,
and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from protocol.errors import BadRequest, Unavailable
from worker.deliverables import Desk, tools
from worker.deliverables.writing import write
from worker.engine import AnswerMalformed
from worker.heads import Head, placed
from worker.logs import Log
from worker.quoting import Sentence

_LOG: Final = Log("tools")
NOTE: Final = "tools"
"""The name under which a job's calls stand in the matter's file."""
_MOST_CALLS: Final = 6
_MOST_WRONG: Final = 2
"""Calls in a row that come to nothing before it is enough."""
_CALL_TOKENS: Final = 96
_HISTORY_CHARS: Final = 6_000
"""Of what was told so far, the newest is shown again."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One call as it is kept with the job."""

    call: tools.ToolCall | None
    """None where what the model wrote was no call."""
    outcome: tools.Outcome


@dataclass(frozen=True, kw_only=True)
class Widened:
    """What the calls came to."""

    sentences: tuple[Sentence, ...]
    """Those found before, then those the calls brought up; none twice."""
    computed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def look_further(
    desk: Desk, question: str, found: Sequence[Sentence], head: Head | None = None
) -> Widened:
    """Lets the model call tools until it is done, at most six times."""
    kept: list[Kept] = []
    pool = {(one.document, one.start): one for one in found}
    wrong = 0
    while len(kept) < _MOST_CALLS and wrong < _MOST_WRONG:
        try:
            prompt, _ = await placed(
                desk.engine,
                "tools",
                _asked(question, kept),
                list(pool.values()),
                head=head,
                output_tokens=_CALL_TOKENS,
            )
            written = await write(
                desk, prompt, max_tokens=_CALL_TOKENS, json_schema=tools.call_schema()
            )
            call = tools.parse(written.text)
        except AnswerMalformed:
            call = None
        except (Unavailable, BadRequest):
            break  # the reply is written from what there is; if the model is away, it says so
        if call is not None and call.tool == "done":
            break
        if call is None:
            told = tools.Outcome(told="error: one JSON object with a tool is wanted", ok=False)
            looked = tools.Looked(outcome=told)
        else:
            looked = await tools.use(desk, call)
        wrong = 0 if looked.outcome.ok else wrong + 1
        kept.append(Kept(call=call, outcome=looked.outcome))
        pool.update({(one.document, one.start): one for one in looked.sentences})
        _LOG.info(
            "tools.called",
            job=desk.context.job,
            kind=_name(call),
            count=len(looked.sentences),
            ok=looked.outcome.ok,
        )
        desk.matter.work.put_note(desk.context.job, NOTE, msgspec.json.encode(kept).decode())
        await desk.context.breathe()
    return Widened(
        sentences=tuple(pool.values()),
        computed=tuple(dict.fromkeys(one.outcome.computed for one in kept if one.outcome.computed)),
        notes=_notes(kept),
    )


def _asked(question: str, kept: Sequence[Kept]) -> str:
    told = "\n".join(
        f"You asked {msgspec.json.encode(one.call).decode()}; it gave: {one.outcome.told}"
        for one in kept
    )
    return f"{question}\n\n{told[-_HISTORY_CHARS:]}" if told else question


def _name(call: tools.ToolCall | None) -> str:
    """A tool's name for the log; whatever a model made up stays out of it."""
    return call.tool if call is not None and call.tool in tools.TOOLS else "unknown"


def _notes(kept: Sequence[Kept]) -> tuple[str, ...]:
    if not kept:
        return ()
    counts = Counter(_name(one.call).replace("_", " ") for one in kept)
    refused = sum(not one.outcome.ok for one in kept)
    said = ", ".join(f"{name} {count}" for name, count in counts.items())
    after = f"; {refused} came to nothing" if refused else ""
    return (f"Before writing, the model looked further in this matter: {said}{after}.",)
