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
from collections.abc import Collection
from typing import Final

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
            if not request.acknowledged.get(item.number, "").strip()
        ]
        if missing:
            raise BadRequest(
                f"items {', '.join(map(str, missing))} are not verified and have no reason",
                next_step="give a reason for each, or return the reply",
            )
    return Decision(
        state=request.state,
        by=by,
        at=at,
        answer_sha256=answer.text_sha256,
        note=request.note,
        opened=opened_sentences(answer, looked_at),
    )


def finalize(answer: Answer, *, by: UserName, at: dt.datetime) -> Decision:
    """The decision that an export makes of an approved answer.

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
    return Decision(
        state=ReviewState.FINAL,
        by=by,
        at=at,
        answer_sha256=answer.text_sha256,
        note=f"approved by {decision.by}",
        opened=decision.opened,
    )
