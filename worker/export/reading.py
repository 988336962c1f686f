"""What every export says of an answer, in words: state, counts, footnotes, coverage, exhibits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

from protocol.answers import AMBER, GREEN, RED, Answer, Citation, Finding, ItemKind, Verdict
from protocol.record import Coverage
from worker import told
from worker.review import MAY_LEAVE, live_state

DRAFT: Final = "DRAFT, not reviewed"
SIGNS: Final = {
    **dict.fromkeys(GREEN, "✔"),
    **dict.fromkeys(AMBER, "≈"),
    **dict.fromkeys(RED, "✘"),
}


def state(answer: Answer) -> str:
    """Who stands for this text, or that nobody does yet."""
    decision = answer.decision
    if decision is None or live_state(answer) not in MAY_LEAVE:
        return DRAFT
    at = decision.at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Reviewed and released by {decision.by}, {at}. Text {answer.text_sha256[:16]}."


def opened(answer: Answer) -> str:
    """How many sentences' sources the reviewer had looked at; empty before a decision."""
    if answer.decision is None or live_state(answer) not in MAY_LEAVE:
        return ""
    count, every = len(answer.decision.opened), len(answer.sentences)
    return f"The reviewer opened the source of {count} of {every} sentences."


def marked(answer: Answer) -> list[Finding]:
    """The items that carry a mark, in reading order."""
    return [item for item in answer.items if item.verdict is not Verdict.NOT_A_QUOTE]


def counts(answer: Answer) -> str:
    """``3 verified · 1 to look at · 0 failing``."""
    verdicts = told.verdicts(answer)
    green, amber, red = (sum(v in group for v in verdicts) for group in (GREEN, AMBER, RED))
    return f"{green} verified · {amber} to look at · {red} failing"


def rows(answer: Answer, *, green: bool) -> list[str]:
    """Of a cite-check of a paper: each item of the paper that is, or is not, verified, with the
    finding; empty for any other reply."""
    return [
        plain(f"“{row['item']}”: {row['finding']}. {row['reason']}. {row['the record']}")
        for row, verdict in told.found_rows(answer.table)
        if (verdict in GREEN) is green
    ]


def word(verdict: Verdict) -> str:
    """The verdict as people read it, without its sign."""
    return verdict.replace("_", " ")


def footnote(item: Finding) -> str:
    """The verdict, its place as filed, and the reason."""
    places = "; ".join(place.pin_cite for place in item.places)
    parts = (places, plain(item.reason), plain(item.diff), *map(plain, item.steps))
    said = ". ".join(part.rstrip(".") for part in parts if part)
    return f"{SIGNS.get(item.verdict, '✘')} {word(item.verdict)}. {said}."


def look_at(item: Finding) -> str:
    """What a reviewer must look at, with the nearest passage where nothing was found."""
    near = "; ".join(f"{one.pin_cite}: “{one.words}”" for one in item.nearest[:1])
    return footnote(item) + (f" Nearest: {near}" if near else "")


def reason(answer: Answer, item: Finding) -> str:
    """Why the reviewer let an item stand that is not green; empty before an approval."""
    decision = answer.decision
    if decision is None or live_state(answer) not in MAY_LEAVE:
        return ""
    return plain(decision.acknowledged.get(item.number, ""))


def comment(answer: Answer, item: Finding) -> str:
    """`look_at`, and the reviewer's reason."""
    why = reason(answer, item)
    return look_at(item) + (f" The reviewer: {why}" if why else "")


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """What was read, and each thing that was not."""
    yield (
        f"Read {coverage.documents_read} of {coverage.documents} documents,"
        f" {coverage.pages_read} of {coverage.pages} pages."
    )
    for unread in coverage.unread:
        word = "page" if unread.pages.isdecimal() else "pages"
        pages = f", {word} {unread.pages}" if unread.pages else ""
        yield f"not read: {unread.name}{pages}: {unread.reason}"


def exhibits(answer: Answer) -> list[tuple[str, str, str]]:
    """Each document cited: its title, its Bates labels and the pages used."""
    cited: dict[str, list[Citation]] = {}
    for item in answer.items:
        if item.verdict in GREEN | AMBER:
            for place in item.places:
                cited.setdefault(place.document, []).append(place)
    rows = []
    for places in cited.values():
        pages = sorted({n for one in places for n in range(one.span.page, one.end_page + 1)})
        bates = list(dict.fromkeys(one.bates for one in places if one.bates))
        rows.append((places[0].title, ", ".join(bates), ", ".join(map(str, pages))))
    return rows


def authorities(answer: Answer) -> list[tuple[str, str]]:
    """Each cite of law with what was checked of it."""
    return list(
        dict.fromkeys(
            (plain(answer.text[item.start : item.end]), word(item.verdict))
            for item in answer.items
            if item.kind is ItemKind.AUTHORITY_CITE
        )
    )


def plain(text: str) -> str:
    """On one line."""
    return " ".join(text.split())
