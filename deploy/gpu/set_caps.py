#!/usr/bin/python3 -I
"""Sets each declared card's power limit and clock cap as root, reads them back, and fails on a
difference.

    set_caps.py [--dry-run] [--json] [--wait SECONDS] [BOARDS.toml]

Runs at start-up before the engines (secondchair-caps.service), on a timer, and whenever the worker
says that a limit was lost: the settings vanish when the driver is loaded again or a card is reset.
It needs nothing but Python 3.11 and the driver's own library, so that no installed package runs as
root. Values and their names are those of the boards file (docs/hardware.md).

Exit: 0 everything is as declared, 1 something is not, 2 nothing could be done.
"""

# ruff: noqa: T201 - a program of its own
from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
import tomllib
from pathlib import Path

BOARDS = "/var/lib/secondchair/boards.toml"
CLOCK_SLACK_MHZ = 8
_SM_CLOCK = 1  # NVML_CLOCK_SM
_NOT_SUPPORTED = 3
_SAID = {
    3: "this card cannot do that",
    4: "only root may do that",
    6: "there is no such card",
    9: "the driver is not running",
    12: "the driver's library is not installed",
    15: "the card is gone from the bus",
    18: "the driver was updated while the box ran; restart it",
}


class Driver:
    """The few calls that are needed, by the driver's own library (NVML)."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            raise SystemExit(_stop(_SAID[12])) from None
        if code := self._library.nvmlInitWithFlags(0):
            raise SystemExit(_stop(_said(code)))

    def card(self, uuid: str) -> ctypes.c_void_p | None:
        """A card's handle; None while it is not there."""
        handle = ctypes.c_void_p()
        code = self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle))
        return handle if code == 0 else None

    def read(self, card: ctypes.c_void_p, call: str, *before: int) -> int | None:
        """A number; None where the card has none."""
        value = ctypes.c_uint()
        given = [ctypes.c_uint(number) for number in before]
        call_ = getattr(self._library, f"nvmlDeviceGet{call}")
        return value.value if call_(card, *given, ctypes.byref(value)) == 0 else None

    def limits(self, card: ctypes.c_void_p) -> tuple[int, int] | None:
        """The least and the most power limit in mW; None where the card does not say."""
        least, most = ctypes.c_uint(), ctypes.c_uint()
        call = self._library.nvmlDeviceGetPowerManagementLimitConstraints
        code = call(card, ctypes.byref(least), ctypes.byref(most))
        return (least.value, most.value) if code == 0 else None

    def set(self, card: ctypes.c_void_p, call: str, *values: int) -> int:
        """The driver's code; 0 is well."""
        given = [ctypes.c_uint(value) for value in values]
        return int(getattr(self._library, f"nvmlDeviceSet{call}")(card, *given))


def main(arguments: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(
        description="Set and read back power limits and clock caps of the declared cards.",
        epilog="Example: sudo deploy/gpu/set_caps.py --dry-run /var/lib/secondchair/boards.toml",
    )
    parser.add_argument("boards", nargs="?", default=BOARDS, type=Path)
    parser.add_argument("--dry-run", action="store_true", help="say what would be set; set nothing")
    parser.add_argument("--json", action="store_true", help="one object a card, for scripts")
    parser.add_argument("--wait", type=float, default=60.0, help="seconds to wait for cards")
    given = parser.parse_args(arguments)
    try:
        declared = tomllib.loads(given.boards.read_text("utf-8"))
    except OSError as error:
        return _stop(f"the boards file cannot be read ({error.strerror})")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return _stop("the boards file is not TOML")
    driver = Driver()
    own = {card["uuid"]: card for card in declared.get("card", [])}
    wanted = [
        (board | own.get(uuid, {}), uuid)
        for board in declared.get("board", [])
        for uuid in board["gpus"]
    ]
    cards = _waited(driver, [uuid for _, uuid in wanted], given.wait)
    rows = [_one(driver, board, uuid, cards[uuid], dry_run=given.dry_run) for board, uuid in wanted]
    for row in rows:
        print(json.dumps(row) if given.json else _line(row))
    return 1 if any(row["wrong"] for row in rows) else 0


def _waited(driver: Driver, uuids: list[str], wait_s: float) -> dict[str, ctypes.c_void_p | None]:
    """Handles of the cards, once all are there or the time is over."""
    until = time.monotonic() + wait_s
    while True:
        cards = {uuid: driver.card(uuid) for uuid in uuids}
        if None not in cards.values() or time.monotonic() >= until:
            return cards
        time.sleep(0.5)


def _one(
    driver: Driver, board: dict, uuid: str, card: ctypes.c_void_p | None, *, dry_run: bool
) -> dict:
    """One card: what was set, what it reads now, and what is wrong."""
    row: dict = {"uuid": uuid, "board": board["name"], "set": [], "wrong": []}
    if card is None:
        row["wrong"].append("it is not there")
        return row
    watts, cap = board.get("power_limit_w"), board.get("sm_clock_cap_mhz")
    if not dry_run and (watts or cap):
        code = driver.set(card, "PersistenceMode", 1)
        if code not in (0, _NOT_SUPPORTED):
            row["wrong"].append(f"persistence mode: {_said(code)}")
    if watts:
        _power(driver, card, watts, row, dry_run=dry_run)
    if cap:
        _clock(driver, card, cap, row, dry_run=dry_run)
    return row


def _power(driver: Driver, card: ctypes.c_void_p, watts: int, row: dict, *, dry_run: bool) -> None:
    span = driver.limits(card)
    if span is not None and not span[0] <= watts * 1000 <= span[1]:
        row["wrong"].append(
            f"{watts} W are declared; this card takes {span[0] // 1000} to {span[1] // 1000} W"
        )
        return
    row["set"].append(f"{watts} W")
    if dry_run:
        return
    code = driver.set(card, "PowerManagementLimit", watts * 1000)
    if code:
        row["wrong"].append(f"power limit: {_said(code)}")
    for call in ("PowerManagementLimit", "EnforcedPowerLimit"):
        read = driver.read(card, call)
        if read != watts * 1000:
            said = "nothing" if read is None else f"{read / 1000:g} W"
            row["wrong"].append(f"{watts} W were set and the card reads {said}")
            return


def _clock(driver: Driver, card: ctypes.c_void_p, cap: int, row: dict, *, dry_run: bool) -> None:
    """Locks the graphics clock below the cap. No call gives a lock back: the clock now is read, and
    the worker watches it under load."""
    row["set"].append(f"at most {cap} MHz")
    if dry_run:
        return
    code = driver.set(card, "GpuLockedClocks", 0, cap)
    if code:
        row["wrong"].append(f"clock lock: {_said(code)}")
        return
    now = driver.read(card, "ClockInfo", _SM_CLOCK)
    if now is not None and now > cap + CLOCK_SLACK_MHZ:
        row["wrong"].append(f"it was capped at {cap} MHz and runs at {now} MHz")


def _line(row: dict) -> str:
    sign = "FAILS" if row["wrong"] else "ok   "
    said = "; ".join(row["wrong"]) or ", ".join(row["set"]) or "nothing is declared for it"
    return f"{sign}  {row['board']}  {row['uuid']}  {said}"


def _said(code: int) -> str:
    return _SAID.get(code, f"the driver refuses it (code {code})")


def _stop(said: str) -> int:
    print(f"set_caps: {said}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
