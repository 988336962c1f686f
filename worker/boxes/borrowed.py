"""Another box's engine as one of ours: the remote engine, with a loan's particulars in each call.

The socket it speaks to is the gateway's, which carries it over SSH to the other gateway.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from protocol.errors import AppError, Unavailable
from protocol.ids import MatterId
from worker.boxes import OFFER_PATH, Loan, Offer, Rules
from worker.engine import (
    Capabilities,
    EngineProvenance,
    EngineSettings,
    Health,
    Limits,
    Prompt,
    State,
    StreamEvent,
    messages,
)
from worker.engine.chat_api import sampling
from worker.engine.remote import Remote


class Borrowed(Remote):
    """See `worker.engine.Engine`. Matters that stay are refused before a byte is sent.

    Args:
        settings: ``endpoint`` is the gateway's socket for that box; ``model_sha256`` the weights
            it must have.
        rules: Which of our matters may leave.
        weight_s: Seconds a call should take there.
    """

    def __init__(self, settings: EngineSettings, rules: Rules, *, weight_s: float = 20.0) -> None:
        super().__init__(settings)
        self._rules = rules
        self._weight_s = weight_s
        self._wanted_sha256 = settings.model_sha256
        self.offer: Offer | None = None
        """What the other box said when it was last asked."""

    async def start(self) -> None:
        """Asks the other box what it offers.

        Raises:
            Unavailable: It is away, or has other weights than ours.
        """
        offer = await self._asked_offer()
        if offer.model_sha256 != self._wanted_sha256:
            raise Unavailable("the other box runs other weights than this one")
        self.offer = offer
        self._model = offer.model_sha256
        self._capabilities = Capabilities(
            context_tokens=min(offer.context_tokens, self._settings.context_tokens),
            slots=offer.slots,
            progress=True,
            reports_reuse=True,
            schema=offer.schema,
            notes=("another box's engine: tokens are counted by an upper estimate",),
        )
        self._up = True

    async def health(self) -> Health:
        """What the other box says now; asked anew each time, so a box that came back is seen."""
        try:
            if not self._up:
                await self.start()
            offer = await self._asked_offer()
        except AppError as error:
            return Health(state=State.DOWN, detail=error.message)
        if offer.model_sha256 != self._wanted_sha256:
            return Health(state=State.DOWN, detail="the other box has changed its weights")
        return Health(state=State(offer.state))

    @property
    def provenance(self) -> EngineProvenance:
        return EngineProvenance(engine="box", model_sha256=self._wanted_sha256)

    async def _asked_offer(self) -> Offer:
        try:
            return msgspec.convert(await self._api.get(OFFER_PATH, timeout_s=5.0), Offer)
        except msgspec.ValidationError as error:
            raise Unavailable("the other box is of another version") from error

    def _asked(self, matter: str, prompt: Prompt, limits: Limits) -> AsyncGenerator[StreamEvent]:
        self._rules.check_sending(matter)
        loan = Loan(
            box=self._rules.box,
            call=f"{self._rules.box}-{secrets.token_hex(12)}",
            matter=MatterId(matter),
            may_leave=True,
            weight_s=self._weight_s,
        )
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages(prompt),  # the engine there puts up the matter's wall
            "metadata": msgspec.to_builtins(loan),
            **sampling(limits),
        }
        return self._api.stream(body, stall_timeout_s=self._settings.stall_timeout_s)
