"""The gate: nothing leaves without a named human's decision on the exact text.

Pure functions over values; `workfile.py` stores what they give, `audit.py` seals it.

::

    AWAITING ──► APPROVED ──► FINAL ──► FILED (frozen)
       │  │         │           │
       │  └► RETURNED           │
       └──────► WITHDRAWN ◄─────┘
"""

from __future__ import annotations

import datetime as dt
import hashlib
import unicodedata
from collections.abc import Collection
from typing import Final

import msgspec

from protocol.answers import AMBER, RED, Answer, Citation, Decision, Finding, ReviewState
from protocol.errors import BadRequest, Conflict
from protocol.ids import DocumentId, UserName
from protocol.jobs import Decide

_NEXT: Final[dict[ReviewState, frozenset[ReviewState]]] = {
    ReviewState.AWAITING: frozenset(
        {ReviewState.APPROVED, ReviewState.RETURNED, ReviewState.WITHDRAWN}
    ),
    ReviewState.RETURNED: frozenset({ReviewState.WITHDRAWN}),
    ReviewState.APPROVED: frozenset(
        {ReviewState.FINAL, ReviewState.RETURNED, ReviewState.WITHDRAWN}
    ),
    ReviewState.FINAL: frozenset({ReviewState.FILED, ReviewState.WITHDRAWN}),
    ReviewState.FILED: frozenset(),
    ReviewState.WITHDRAWN: frozenset(),
}

MAY_LEAVE: Final = frozenset({ReviewState.APPROVED, ReviewState.FINAL, ReviewState.FILED})
"""The states in which a text may be exported."""

MOST_REASON_CHARS: Final = 500
"""Of a reason, what is kept with the decision and printed on the report."""


def text_sha256(text: str) -> str:
    """The hash to which a decision is bound: SHA-256 over the UTF-8 text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def live_state(answer: Answer) -> ReviewState:
    """The state that counts: a decision on another text than this one is void."""
    decision = answer.decision
    if decision is None or decision.answer_sha256 != text_sha256(answer.text):
        return ReviewState.AWAITING
    return answer.review


def open_items(answer: Answer) -> tuple[Finding, ...]:
    """The items that are not green: each wants a reason before approval."""
    return tuple(item for item in answer.items if item.verdict in AMBER | RED)


def opened_sentences(
    answer: Answer, looked_at: Collection[tuple[DocumentId, int]]
) -> tuple[int, ...]:
    """The sentences, from 1, at the source of at least one item of which somebody has looked."""
    pages = {
        item.number
        for item in answer.items
        for place in (*item.places, *item.also_in, *item.nearest)
        if any((place.document, page) in looked_at for page in _pages(place))
    }
    return tuple(
        number
        for number, claim in enumerate(answer.sentences, start=1)
        if pages.intersection(claim.items)
    )


def _pages(place: Citation) -> range:
    return range(place.span.page, max(place.span.page, place.end_page) + 1)


def decide(
    answer: Answer,
    request: Decide,
    *,
    by: UserName,
    at: dt.datetime,
    looked_at: Collection[tuple[DocumentId, int]] = (),
) -> Decision:
    """The decision a request makes of an answer.

    Args:
        answer: As stored.
        request: The reviewer's.
        by: The reviewer.
        at: The time.
        looked_at: Pages of the record that the reviewer has opened, as (document, page).

    Raises:
        Conflict: The text is not the one that was shown, or the state does not allow it.
        BadRequest: Approval while an item that is not green has no reason.
    """
    if text_sha256(answer.text) != answer.text_sha256:
        raise Conflict("the stored text does not match its hash; make the reply again")
    if request.answer_sha256 != answer.text_sha256:
        raise Conflict("the text changed since it was shown", next_step="open it again and decide")
    if request.state is ReviewState.FINAL:
        raise BadRequest("final is reached by exporting an approved text")
    state = live_state(answer)
    if request.state not in _NEXT[state]:
        raise Conflict(f"a reply that is {state.lower()} cannot become {request.state.lower()}")
    if request.state is ReviewState.APPROVED:
        missing = [
            item.number
            for item in open_items(answer)
            if not _says_something(request.acknowledged.get(item.number, ""))
        ]
        if missing:
            raise BadRequest(
                f"items {', '.join(map(str, missing))} are not verified and have no reason",
                next_step="give a reason for each, or return the reply",
            )
    if request.state is ReviewState.FILED and answer.decision is not None:
        said = " ".join(f"filed by {by}, {at:%Y-%m-%d} {request.note}".split())
        note = _after(answer.decision, said)
        return msgspec.structs.replace(answer.decision, state=ReviewState.FILED, note=note)
    return Decision(
        state=request.state,
        by=by,
        at=at,
        answer_sha256=answer.text_sha256,
        note=request.note,
        opened=opened_sentences(answer, looked_at),
        acknowledged=_reasons(answer, request),
    )


def _reasons(answer: Answer, request: Decide) -> dict[int, str]:
    """The reviewer's reasons, each on one line; those for items that are green are none."""
    wanted = (item.number for item in open_items(answer))
    return {
        number: " ".join(request.acknowledged[number].split())[:MOST_REASON_CHARS]
        for number in wanted
        if request.acknowledged.get(number, "").strip()
    }


def _says_something(reason: str) -> bool:
    """Whether a letter or a digit can be seen in it: spaces and dots are no reason."""
    return any(unicodedata.category(sign)[0] in "LN" and sign not in _BLANK for sign in reason)


_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0")
"""Fillers of Hangul: letters by their class, and nothing on the screen."""


def finalize(answer: Answer, *, by: UserName, at: dt.datetime) -> Decision:
    """The decision that an export makes of an approved answer.

    It stays the reviewer's: who exports it, as a lawyer may, has not reviewed it.

    Raises:
        Conflict: No live approval of exactly this text.
    """
    decision = answer.decision
    if decision is None or live_state(answer) not in MAY_LEAVE:
        raise Conflict(
            "only an approved reply can be exported",
            next_step="a reviewer approves it first (/approve)",
        )
    if answer.review is not ReviewState.APPROVED:
        return decision
    return msgspec.structs.replace(
        decision, state=ReviewState.FINAL, note=_after(decision, f"exported by {by}, {at:%Y-%m-%d}")
    )


def _after(approval: Decision, said: str) -> str:
    """The note of a step that follows an approval: its own words, then the reviewer's."""
    return f"{said}. {approval.note}" if approval.note else said
