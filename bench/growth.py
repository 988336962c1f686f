"""From one box to a firm: waiting and boards by size, the shared queue, two boxes and a loss.

The office is simulated (`growth_office` says what is assumed, `growth_line` what is exact); the
queue is the real one on a real PostgreSQL, and so are the two boxes, of which each is killed once
(`growth_boxes`). The picture: ``python -m bench.growth_plot``.
"""

from __future__ import annotations

from bench import growth_boxes, growth_queue, postgres
from bench.growth_office import REFERENCE, Office, half
from bench.growth_size import LIMIT_S, Sizing, size, sized
from bench.harness import Arguments, Result

TRUE_WEIGHTS = (20.0, 600.0, 120.0)
"""What the three kinds take in the mean here, where the queue is told fixed guesses today."""


def run(given: Arguments) -> Result:
    """Three sizes of office, three variations of the largest, and the queue under four boxes."""
    days_each = 10 if given.full else 3
    sizings = sized(given.seed, days_each=days_each)
    result = Result(figures={}, sizes={"limit_s": LIMIT_S, "speeds": REFERENCE.name})
    for sizing in sizings:
        _figures(result, sizing, f"_{sizing.lawyers}")
        result.sizes[f"questions_{sizing.lawyers}"] = sizing.questions
    large = {"days_each": days_each, "seed": given.seed, "more": 0}
    slow = size(Office(lawyers=500), half(REFERENCE), **large)
    true = size(Office(lawyers=500, weights_s=TRUE_WEIGHTS), **large)
    once = size(Office(lawyers=500, second_reading=False), **large)
    for sizing, name in ((slow, "half_speed"), (true, "true_weights"), (once, "read_once")):
        _figures(result, sizing, f"_500_{name}")
    if reason := postgres.missing():
        result.notes.append(f"the shared queue was not measured: {reason}")
        result.figures |= growth_queue.NOTHING | growth_boxes.NOTHING
    else:
        result.figures |= growth_queue.measure() | growth_boxes.measure()
        lost = ("handoffs_lost", "handoffs_doubled")
        result.failed = any(result.figures[name] for name in lost)
    result.notes.append("people and prompt lengths are assumed, speeds are public figures")
    return result


def _figures(result: Result, sizing: Sizing, name: str) -> None:
    waits = sizing.waits[sizing.boards]
    result.figures |= {
        f"boards{name}": sizing.boards,
        f"wait_p95_s{name}": round(waits["p95"], 1),
        f"wait_p99_s{name}": round(waits["p99"], 1),
        f"reply_p95_s{name}": round(waits["reply_p95"], 1),
        f"load{name}": round(sizing.load, 2),
        f"wait_p95_s_worst_day{name}": round(sizing.worst_day_s, 1),
    }
    for boards, found in sizing.waits.items():
        row = {"office": name[1:], "boards": boards}
        result.rows.append(row | {key: round(value, 1) for key, value in found.items()})
