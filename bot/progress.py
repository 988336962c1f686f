"""A job's events as one line that fills up: queued, reading, writing, checking, done.

Live text is kept apart, since it is shown only as *unverified* and is void when an attempt starts
over.
"""

from __future__ import annotations

from typing import Final

from bot.words import Words
from protocol.events import (
    EngineLost,
    Event,
    Found,
    Interrupted,
    Parked,
    Progress,
    Queued,
    Stage,
    Started,
)
from protocol.events import (
    Words as LiveText,
)

_STAGES: Final = {
    Stage.RETRIEVING: "progress.retrieving",
    Stage.READING: "progress.reading",
    Stage.WRITING: "progress.writing",
    Stage.CHECKING: "progress.checking",
}

_SOON_S: Final = 1.0
"""Under this many seconds, "about 0 s" would only puzzle."""


class Watch:
    """What a person sees of one job while it is at work."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._parts: dict[int, str] = {}
        self.line = ""
        """The line to show now; empty before the first event."""
        self.stage = ""
        """Changes when the line says something new, not when a percent grows."""

    @property
    def live(self) -> str:
        """The unverified text so far, raw; empty where the matter does not allow it."""
        return "".join(self._parts[part] for part in sorted(self._parts))

    def feed(self, event: Event) -> None:
        """Takes the next event of the job; the last events of a job change nothing here."""
        words = self._words
        body = event.body
        match body:
            case Queued():
                place = words.ordinal(body.place)
                if body.eta_s is None or body.eta_s < _SOON_S:
                    self._say("queued", words("progress.queued_place", place=place))
                else:
                    eta = words.duration(round(body.eta_s))
                    self._say("queued", words("progress.queued", place=place, eta=eta))
            case Started():
                self._parts.clear()
                again = body.attempt > 1
                key = "progress.started_again" if again else "progress.started"
                self._say(f"started {body.attempt}", words(key, attempt=body.attempt))
            case Progress():
                self._say(body.stage.value, self._progress(body))
            case Found():
                said = words("progress.found", passages=body.passages, documents=body.documents)
                self._say("found", said)
            case LiveText():
                self._parts[body.part] = body.text
            case EngineLost():
                self._parts.clear()
                self._say("engine_lost", words("progress.engine_lost"))
            case Interrupted():
                self._parts.clear()
                self._say("interrupted", words("progress.interrupted"))
            case Parked():
                self._say("parked", words("progress.parked"))
            case _:
                pass

    def _say(self, stage: str, line: str) -> None:
        self.stage, self.line = stage, line

    def _progress(self, body: Progress) -> str:
        stage = self._words(_STAGES[body.stage])
        if body.total <= 0:
            return stage
        percent = min(100, 100 * max(0, body.done) // body.total)
        if body.eta_s is None or body.eta_s < _SOON_S:
            return self._words("progress.percent", stage=stage, percent=percent)
        eta = self._words.duration(round(body.eta_s))
        return self._words("progress.percent_eta", stage=stage, percent=percent, eta=eta)
