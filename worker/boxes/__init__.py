"""Boxes that work for each other: what travels, and who may let a matter's text travel.

A box owns the folders of its matters and runs their jobs. What it may hand to another box is one
call of a model: a prompt goes over SSH from gateway to gateway, words come back, nothing is kept
there. `lender` is the end that works for others: each call waits its turn in the line of its board
like any job, and runs under that job's lease. `borrowed` is the other box as an `Engine`;
`handing` puts one's own engine and the borrowed ones behind a single `Engine`, which gives a call
to the next one when a box is lost. Models are the same when their weights' hashes are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from protocol.errors import BadRequest, Unavailable
from protocol.ids import MatterId, matter_id
from worker.jobs import wordless

LEND: Final = "lend"
"""The kind of a job that is a call for another box."""

OFFER_PATH: Final = "/v1/offer"
MODELS_PATH: Final = "/v1/models"
CHAT_PATH: Final = "/v1/chat/completions"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a box would do for others, as it says itself when asked."""

    box: str
    board: str
    model_sha256: str
    """Of the weights; two boxes answer alike only where these are equal."""
    context_tokens: int
    slots: int
    state: str
    """As `worker.engine.State`."""
    schema: bool = False


class Loan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a borrower says beside its prompt. Every field must be there: nothing is assumed."""

    box: str
    """Who borrows."""
    call: str
    """Names the call, never used twice; the idempotency key of the job that lends."""
    matter: MatterId
    may_leave: bool
    """The owner's word that this matter may leave its box. False is never taken."""
    weight_s: float
    """Seconds it should take; decides its turn on the other box."""

    def __post_init__(self) -> None:
        wordless.check_code(self.box, "box")
        wordless.check_id(self.call, "call")
        matter_id(self.matter)


class Rules:
    """Which matters may be worked outside the box that owns them. Both ends have their own.

    Args:
        box: This box.
        leaving: Its matters that may be handed to others. What is not listed stays.
        staying: Matters that never leave their box, of whichever box: they win over ``leaving``,
            and are not taken from others either.
    """

    def __init__(
        self, box: str, *, leaving: Collection[str] = (), staying: Collection[str] = ()
    ) -> None:
        self.box = wordless.check_code(box, "box")
        self._leaving = frozenset(leaving)
        self._staying = frozenset(staying)

    def may_leave(self, matter: str) -> bool:
        """Whether this matter of ours may be handed to another box."""
        return matter in self._leaving and matter not in self._staying

    def check_sending(self, matter: str) -> None:
        """Nothing when the matter may be handed out.

        Raises:
            BadRequest: It stays on this box.
        """
        if not self.may_leave(matter):
            raise BadRequest("this matter never leaves its box")

    def check_taking(self, loan: Loan) -> None:
        """Nothing when this box may work on the matter for another.

        Raises:
            BadRequest: The owner did not say it may leave, or it is known here as one that stays.
            Unavailable: It comes from ourselves, round a ring of boxes.
        """
        if loan.box == self.box:
            raise Unavailable("a box does not borrow from itself")
        if not loan.may_leave or loan.matter in self._staying:
            raise BadRequest("this matter never leaves its box: not taken")
