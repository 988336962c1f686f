"""Boards: faults of the reference builds found on simulated hardware, and placements judged by
llama.cpp's own rule.

The hardware is a stand-in for the NVIDIA library under the real nvidia-ml-py; every fault runs
through the probe's child and the watcher as on a box. Hold times of the rules are shortened to one
second, so the seconds to detect say how quick the path is, not how long a rule waits on purpose.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

from bench.board_boxes import random_box
from bench.board_faults import FAULTS, Outcome, severity_of, try_faults
from bench.board_models import random_header
from bench.harness import Arguments, Result
from bench.llama_split import board_changes, devices_of_slots
from bench.nvml_double import build_library, why_not
from worker.boards import Box
from worker.boards.model_file import ModelHeader
from worker.boards.placement import Decision, Placement, PlanSettings, plan, slots_of
from worker.boards.sizes import cache_needs, needs_of

_CASES = 20_000


def run(arguments: Arguments) -> Result:
    """``faults``, ``detected``, ``wrong_board_paused``, ``placement_*``."""
    result = Result(figures={"faults": None, "detected": None, "wrong_board_paused": None})
    if reason := why_not():
        result.notes.append(f"faults were not measured: {reason}")
    else:
        _faults(result)
    _placements(result, arguments.seed)
    figures = result.figures
    result.failed = bool(
        figures["detected"] != figures["faults"]
        or figures["wrong_board_paused"]
        or figures["placement_mismatches"]
    )
    return result


def _faults(result: Result) -> None:
    with tempfile.TemporaryDirectory() as folder:
        outcomes = asyncio.run(try_faults(build_library(), Path(folder), at_once=1))
    found = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
    result.figures |= {
        "faults": len(outcomes),
        "detected": sum(outcome.detected for outcome in outcomes),
        "wrong_board_paused": sum(bool(outcome.wrong) for outcome in outcomes),
        "false_alarms": sum(len(outcome.before) for outcome in outcomes),
        "detect_s_max": max(found, default=None),
    }
    result.rows += [_row(outcome) for outcome in outcomes]
    result.sizes["faults"] = len(FAULTS)


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "fault": f"{outcome.fault.box}: {outcome.fault.name}",
        "seconds": outcome.seconds,
        "pause_seconds": outcome.pause_seconds,
        "severity": severity_of(outcome),
        "message": outcome.message,
        "next_step": outcome.next_step,
        "paused": sorted(outcome.paused),
        "should_be_paused": sorted(outcome.wanted),
        "detected": outcome.detected,
    }


def _placements(result: Result, seed: int) -> None:
    chance = random.Random(seed)
    decided = dict.fromkeys(Decision, 0)
    mismatches = 0
    for case in range(_CASES):
        box, header = random_box(chance), random_header(chance)
        settings = PlanSettings(
            context_tokens=chance.choice([2048, 8192, 32768, 131072]),
            span=chance.choice(["never", "two-boards"]),
        )
        placement = plan(box, header, settings)
        decided[placement.decision] += 1
        if wrong := mismatch(box, header, settings, placement):
            mismatches += 1
            result.rows.append({"placement": case, "decision": placement.decision, "wrong": wrong})
    result.figures |= {"placement_random_cases": _CASES, "placement_mismatches": mismatches}
    result.sizes["placements"] = {decision.value: count for decision, count in decided.items()}


def mismatch(box: Box, header: ModelHeader, settings: PlanSettings, placement: Placement) -> str:
    """How a placement differs from what llama.cpp would do with it; empty when it does not."""
    if placement.decision is Decision.REFUSE:
        return "flags of a refusal" if placement.flags or placement.cards else ""
    needs = needs_of(header)
    cache = cache_needs(
        header,
        context_tokens=settings.context_tokens,
        key_type=settings.key_type,
        value_type=settings.value_type,
    )
    split = placement.flags[placement.flags.index("-ts") + 1]
    devices = devices_of_slots(len(needs.layers), [float(part) for part in split.split(",")])
    held = [0] * len(placement.cards)
    for size, device in zip(slots_of(needs, cache), devices, strict=True):
        held[device] += size
    if held != [card.load_bytes for card in placement.cards]:
        return "other loads"
    if any(load > card.room_bytes for load, card in zip(held, placement.cards, strict=True)):
        return "a card is over-full"
    homes = {uuid: board.name for board in box.boards for uuid in board.uuids}
    changes = board_changes(devices, [homes[card.uuid] for card in placement.cards])
    wanted = 0 if placement.decision is Decision.PIN else 1
    return "" if changes == placement.crossings == wanted else "other crossings"
