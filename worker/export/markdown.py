"""An approved answer as Markdown: each mark a footnote with its pin cite, then the coverage."""

from __future__ import annotations

import datetime as dt

from protocol.answers import AMBER, GREEN, Answer, Finding, Verdict
from protocol.record import Coverage

_SIGN = {
    **dict.fromkeys(GREEN, "✔"),
    **dict.fromkeys(AMBER, "≈"),
    Verdict.NOT_A_QUOTE: "",
}


def render(answer: Answer, title: str) -> bytes:
    """The file's bytes."""
    marked = [item for item in answer.items if item.verdict is not Verdict.NOT_A_QUOTE]
    parts = [
        f"# {title}",
        _state(answer),
        *([f"> {_plain(answer.question)}"] if answer.question else []),
        _with_marks(answer.text, marked),
        "## Record",
        "\n".join(_footnote(item) for item in marked) or "No checkable item.",
        "## Coverage",
        _coverage(answer.coverage),
        *([f"**{note}**" for note in answer.notes]),
    ]
    return ("\n\n".join(parts) + "\n").encode()


def _state(answer: Answer) -> str:
    decision = answer.decision
    if decision is None:
        return "**DRAFT, not reviewed**"
    at = decision.at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Reviewed and released by {decision.by}, {at}. Text {answer.text_sha256[:16]}."


def _plain(text: str) -> str:
    return " ".join(text.split())


def _with_marks(text: str, items: list[Finding]) -> str:
    for item in sorted(items, key=lambda item: -item.end):
        text = f"{text[: item.end]}[^{item.number}]{text[item.end :]}"
    return text


def _footnote(item: Finding) -> str:
    word = item.verdict.replace("_", " ")
    places = "; ".join(place.pin_cite for place in item.places)
    said = " ".join(part for part in (places, _plain(item.reason), _plain(item.diff)) if part)
    return f"[^{item.number}]: {_SIGN.get(item.verdict, '✘')} {word}. {said}"


def _coverage(coverage: Coverage) -> str:
    lines = [
        f"Read {coverage.documents_read} of {coverage.documents} documents,"
        f" {coverage.pages_read} of {coverage.pages} pages."
    ]
    for unread in coverage.unread:
        pages = f", pages {unread.pages}" if unread.pages else ""
        lines.append(f"- not read: {unread.name}{pages}: {unread.reason}")
    return "\n".join(lines)
