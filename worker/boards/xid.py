"""What to do at the driver's Xid messages, as data.

Sources: NVIDIA, "Xid Errors" catalogue (the older one, for Volta); the list of codes that NVIDIA's
Kubernetes device plugin blames on the program (``nvidia-device-plugin``, health check); for 61, 62
and 64, where the catalogue says "reset or restart", we take the stricter reading.
"""

from __future__ import annotations

from typing import Final

import msgspec

from worker.boards import Severity


class Xid(msgspec.Struct, frozen=True, kw_only=True):
    """One code: how much it matters, what it means, what to do."""

    severity: Severity
    meaning: str
    next_step: str


_RESTART: Final = "restart the box; if it comes again, change the card"
_RESEAT: Final = (
    "shut down, check the card's seat and its power connectors (look for soot), start again"
)

XIDS: Final = {
    0: Xid(severity=Severity.PAUSE, meaning="the card fell off the bus", next_step=_RESEAT),
    48: Xid(
        severity=Severity.PAUSE,
        meaning="a memory error that could not be corrected",
        next_step="restart the engine of this board; answers of the last minutes deserve a look",
    ),
    61: Xid(severity=Severity.PAUSE, meaning="the card's controller failed", next_step=_RESTART),
    62: Xid(severity=Severity.PAUSE, meaning="the card's controller halted", next_step=_RESTART),
    63: Xid(
        severity=Severity.DRAIN,
        meaning="a memory page was retired",
        next_step="let the job end, then reload the driver so that the page is left out",
    ),
    64: Xid(
        severity=Severity.PAUSE,
        meaning="a bad memory page could not be retired",
        next_step="change the card",
    ),
    74: Xid(
        severity=Severity.PAUSE,
        meaning="an NVLink failed",
        next_step="shut down and reseat the cards or the NVLink bridge",
    ),
    79: Xid(severity=Severity.PAUSE, meaning="the card fell off the bus", next_step=_RESEAT),
    92: Xid(
        severity=Severity.DRAIN,
        meaning="many memory errors that were corrected",
        next_step="let the job end; watch the count, and change the card if it goes on",
    ),
    95: Xid(
        severity=Severity.PAUSE,
        meaning="a memory error that may have reached other programs",
        next_step=_RESTART,
    ),
}
"""Code 0 is a card that the kernel says is off the bus without giving a number."""

PROGRAM: Final = frozenset({13, 31, 43, 45, 68, 109})
"""Codes that blame the program on the card, not the card."""
PROGRAM_MOST: Final = 3
PROGRAM_WITHIN_S: Final = 600.0


def lookup(code: int) -> Xid:
    """What a code means; one that no list has is a warning."""
    if code in XIDS:
        return XIDS[code]
    if code in PROGRAM:
        return Xid(
            severity=Severity.OK,
            meaning="the program on the card did something wrong",
            next_step="nothing, unless it happens often",
        )
    return Xid(
        severity=Severity.WARN,
        meaning="a driver message that no list of ours explains",
        next_step="look the number up in NVIDIA's Xid catalogue",
    )
