"""From readings to the state of boards: what is kept, when a board is paused, when it may go on.

`Health` is fed with what the probe read and gives the changes. It reads no clock and starts
nothing: times are those of the readings. A paused board goes on again when an operator says so, or,
where every rule that paused it allows that, after clean minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from worker.boards import Lost, Sample, Samples, Severity, Trouble
from worker.boards.probe import Silent
from worker.boards.rules import judge
from worker.boards.verdicts import Expected, Verdict
from worker.boards.xid import PROGRAM, PROGRAM_MOST, PROGRAM_WITHIN_S, lookup

_DENSE_S: Final = 90.0
"""Readings of so long are kept one by one; older ones one a minute, for an hour."""
_SPARSE_S: Final = 60.0
_KEPT_S: Final = 3600.0
_WIDTH_RUN: Final = 3
"""Equal readings that make a PCIe width steady; they survive the thinning."""
_CLEAN_S: Final = 600.0
_ORDER: Final = list(Severity)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A new verdict, a pause or a resumption, for an operator and for the queue."""

    kind: str
    """verdict, pause or resume."""
    board: str
    severity: Severity
    rule: str
    reason: str
    next_step: str = ""
    uuid: str = ""
    at_s: float = 0.0
    series: tuple[Sample, ...] = ()
    """The card's last minute, with a pause."""


class _BoardState:
    def __init__(self) -> None:
        self.paused: dict[tuple[str, str], Verdict] = {}
        """What paused it, by rule and card."""
        self.clean_since: float | None = None


class Health:
    """What is known of the boards' health."""

    def __init__(
        self,
        boards: Mapping[str, Sequence[str]],
        expected: Mapping[str, Expected],
        *,
        clean_s: float = _CLEAN_S,
    ) -> None:
        """Knows nothing yet.

        Args:
            boards: Board names with the UUIDs of their cards.
            expected: What each card should read; a card without an entry is not judged.
            clean_s: Seconds without a pausing verdict after which a clearing pause ends.
        """
        self._boards = {name: tuple(uuids) for name, uuids in boards.items()}
        self._home = {uuid: name for name, uuids in boards.items() for uuid in uuids}
        self._expected = dict(expected)
        self._clean_s = clean_s
        self._series: dict[str, list[Sample]] = defaultdict(list)
        self._states = {name: _BoardState() for name in boards}
        self._current: dict[tuple[str, str], Verdict] = {}
        self._program_xids: dict[str, list[float]] = defaultdict(list)
        self._baselined: set[str] = set()
        self._said: dict[tuple[str, str], tuple[float, Severity]] = {}

    @property
    def paused(self) -> dict[str, tuple[Verdict, ...]]:
        """Boards that must take no work, with what paused them."""
        return {
            name: tuple(state.paused.values())
            for name, state in self._states.items()
            if state.paused
        }

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What stands now, gravest first."""
        return tuple(sorted(self._current.values(), key=lambda one: -_ORDER.index(one.severity)))

    def feed(self, read: Samples | Trouble, at_s: float) -> list[Change]:
        """Takes what the probe gave and returns what changed.

        Args:
            at_s: The moment, by the same clock as the readings.
        """
        if isinstance(read, Trouble):
            return self._apply(self._troubles(read), at_s, partial=True)
        samples = self._with_missing(read.samples, at_s)
        for sample in samples:
            self._keep(sample)
        verdicts = [
            verdict
            for sample in samples
            if sample.uuid in self._expected
            for verdict in judge(self._series[sample.uuid], self._expected[sample.uuid])
        ]
        verdicts += self._xids(read.xids, at_s)
        return self._apply(verdicts, at_s)

    def say(self, verdicts: Iterable[Verdict], at_s: float) -> list[Change]:
        """Takes verdicts from elsewhere (the kernel's log, bus counters, an unclean start)."""
        return self._apply(list(verdicts), at_s, partial=True)

    def xid(self, uuid: str, code: int, at_s: float) -> list[Change]:
        """Takes an Xid message that the kernel's log brought."""
        return self._apply(self._xids([(uuid, code)], at_s), at_s, partial=True)

    def resume(self, board: str, at_s: float) -> list[Change]:
        """An operator says that the board may go on; what he has seen is not held against it."""
        state = self._states.get(board)
        if state is None or not state.paused:
            return []
        state.paused.clear()
        for uuid in self._boards[board]:
            self._accept(uuid)
            for key in [key for key in self._current if key[1] == uuid]:
                del self._current[key]
            for key in [key for key in self._said if key[1] == uuid]:
                del self._said[key]
        return [resumed(board, "an operator resumed it", at_s)]

    # --- inside ----------------------------------------------------------------------------------

    def _accept(self, uuid: str) -> None:
        series, expected = self._series[uuid], self._expected.get(uuid)
        self._series[uuid] = series[-1:]
        if series and expected is not None:
            last = series[-1]
            self._expected[uuid] = msgspec.structs.replace(
                expected,
                uncorrected_before=_number(last.ecc_uncorrected, expected.uncorrected_before),
                double_pages_before=_number(last.pages_double, expected.double_pages_before),
            )

    def _keep(self, sample: Sample) -> None:
        """Adds a reading and thins older ones; the first sets what a used card brings along."""
        kept = self._series[sample.uuid]
        expected = self._expected.get(sample.uuid)
        if sample.uuid not in self._baselined and isinstance(sample.pages_double, int):
            self._baselined.add(sample.uuid)
            if expected is not None:
                self._expected[sample.uuid] = msgspec.structs.replace(
                    expected,
                    double_pages_before=max(expected.double_pages_before, sample.pages_double),
                )
        kept.append(sample)
        self._series[sample.uuid] = _thinned(kept, sample.at_s)

    def _with_missing(self, samples: Sequence[Sample], at_s: float) -> list[Sample]:
        """Gives nameless lost cards their name where only one is missing; adds those not listed."""
        named = [sample for sample in samples if sample.uuid]
        missing = [uuid for uuid in self._home if all(s.uuid != uuid for s in named)]
        return named + [_lost(uuid, at_s) for uuid in missing]

    def _troubles(self, trouble: Trouble) -> list[Verdict]:
        """The driver as a whole: every board, or the one at whose card it fell silent."""
        at = trouble.uuid if isinstance(trouble, Silent) else ""
        home = self._home.get(at)
        verdicts = []
        for name, uuids in self._boards.items():
            if not uuids:
                continue
            hit = home is None or name == home
            said = trouble.reason
            if name == home and at in self._expected:
                said = f"{said}: {self._expected[at].label}"
            verdicts.append(
                Verdict(
                    rule=trouble.kind if hit else "unwatched",
                    severity=Severity.PAUSE if hit else Severity.WARN,
                    uuid=at if name == home else uuids[0],
                    reason=said if hit else f"board {name} cannot be watched now",
                    next_step=trouble.next_step,
                )
            )
        return verdicts

    def _xids(self, xids: Iterable[tuple[str, int]], at_s: float) -> list[Verdict]:
        verdicts = []
        for uuid, code in xids:
            known, severity = lookup(code), lookup(code).severity
            if code in PROGRAM:
                times = self._program_xids[uuid]
                times[:] = [*(t for t in times if at_s - t <= PROGRAM_WITHIN_S), at_s]
                if len(times) < PROGRAM_MOST:
                    continue
                severity = Severity.DRAIN
            expected = self._expected.get(uuid)
            number = f" (Xid {code})" if code else ""
            verdicts.append(
                Verdict(
                    rule=f"xid_{code}",
                    severity=severity,
                    uuid=uuid,
                    reason=f"{expected.label if expected else 'a card'}: {known.meaning}{number}",
                    next_step=known.next_step,
                )
            )
        return verdicts

    def _apply(
        self, verdicts: Sequence[Verdict], at_s: float, *, partial: bool = False
    ) -> list[Change]:
        """Joins verdicts to boards. Partial ones say nothing about what they do not name."""
        changes: list[Change] = []
        now = {(verdict.rule, verdict.uuid): verdict for verdict in verdicts}
        for key, verdict in now.items():
            if self._is_news(key, verdict, at_s):
                changes.append(self._change("verdict", verdict, at_s))
        if partial:
            self._current.update(now)
        else:
            stay = {key: one for key, one in self._current.items() if not _read_anew(one)}
            self._current = stay | now
        for verdict in verdicts:
            if verdict.severity in (Severity.DRAIN, Severity.PAUSE):
                changes += self._pause(verdict, at_s)
        if not partial:
            changes += self._clear(now, at_s)
        return changes

    def _is_news(self, key: tuple[str, str], verdict: Verdict, at_s: float) -> bool:
        """Whether to say it: not again while it stands or comes and goes, unless it got graver."""
        grave = _ORDER.index(verdict.severity)
        said_s, said = self._said.get(key, (float("-inf"), Severity.OK))
        standing = self._current.get(key)
        self._said[key] = (at_s, max(said, verdict.severity, key=_ORDER.index))
        if standing is not None or at_s - said_s < self._clean_s:
            return grave > _ORDER.index(said)
        self._said[key] = (at_s, verdict.severity)
        return True

    def _pause(self, verdict: Verdict, at_s: float) -> list[Change]:
        state = self._states.get(self._home.get(verdict.uuid, ""))
        if state is None:
            return []
        graver = verdict.severity is Severity.PAUSE and not any(
            one.severity is Severity.PAUSE for one in state.paused.values()
        )  # a board that was to finish its job must now let go of it
        news = graver or not state.paused
        state.paused[verdict.rule, verdict.uuid] = verdict
        state.clean_since = None
        return [self._change("pause", verdict, at_s)] if news else []

    def _clear(self, now: Mapping[tuple[str, str], Verdict], at_s: float) -> list[Change]:
        changes = []
        for name, state in self._states.items():
            if not state.paused or not all(one.clears for one in state.paused.values()):
                continue
            if any(
                key in now and now[key].severity in (Severity.DRAIN, Severity.PAUSE)
                for key in state.paused
            ):
                state.clean_since = None
            elif state.clean_since is None:
                state.clean_since = at_s
            elif at_s - state.clean_since >= self._clean_s:
                state.paused.clear()
                state.clean_since = None
                changes.append(resumed(name, "its readings have been good for a while", at_s))
        return changes

    def _change(self, kind: str, verdict: Verdict, at_s: float) -> Change:
        series = self._series.get(verdict.uuid, []) if kind == "pause" else []
        return Change(
            kind=kind,
            board=self._home.get(verdict.uuid, ""),
            severity=verdict.severity,
            rule=verdict.rule,
            reason=verdict.reason,
            next_step=verdict.next_step,
            uuid=verdict.uuid,
            at_s=at_s,
            series=tuple(sample for sample in series if at_s - sample.at_s <= 60.0),
        )


def _thinned(kept: Sequence[Sample], now_s: float) -> list[Sample]:
    """The last seconds whole, before that one a minute, and the first three of a PCIe width."""
    thin: list[Sample] = []
    for one in kept:
        age = now_s - one.at_s
        if age > _KEPT_S:
            continue
        last = thin[-_WIDTH_RUN:]
        same = len(last) == _WIDTH_RUN and all(s.link_width == one.link_width for s in last)
        if age > _DENSE_S and same and one.at_s - last[-1].at_s < _SPARSE_S:
            continue
        thin.append(one)
    return thin


def _read_anew(verdict: Verdict) -> bool:
    """Whether the rule looks again at every reading; messages and host counters stay said."""
    return not verdict.rule.startswith(("xid_", "aer", "host_", "unclean"))


def resumed(board: str, reason: str, at_s: float) -> Change:
    """The change that lets a board go on."""
    return Change(
        kind="resume",
        board=board,
        severity=Severity.OK,
        rule="resume",
        reason=f"board {board} works again: {reason}",
        at_s=at_s,
    )


def _number(reading: object, otherwise: int) -> int:
    return reading if isinstance(reading, int) else otherwise


def _lost(uuid: str, at_s: float) -> Sample:
    """A card that should be listed and is not."""
    readings = {name: Lost() for name in Sample.__struct_fields__[3:]}
    return Sample(at_s=at_s, uuid=uuid, power_mw=(), **readings)
