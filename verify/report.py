"""What a check found, as one value, and as text, Markdown and JSON.

Marks are words and shapes; colour is left to whoever shows them. The order is the reply's own.
"""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.answers import AMBER, GREEN, RED, Citation, Claim, Finding, SentenceClass, Verdict

CHECKER_VERSION: Final = "verify-1"
"""Changes whenever a verdict may change for the same reply and record."""

SIGNS: Final = {"verified": "✔", "look": "≈", "failing": "✘"}
ASCII_SIGNS: Final = {"verified": "[ok]", "look": "[look]", "failing": "[bad]"}
_WORDS: Final = {
    Verdict.VERIFIED_MARKED: "VERIFIED, changes disclosed",
    Verdict.COMPUTED: "COMPUTED, see steps",
}


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many items carry which sign."""

    verified: int
    look: int
    failing: int
    sentences: int
    supported: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the checker has to say of one reply."""

    findings: tuple[Finding, ...]
    sentences: tuple[Claim, ...]
    counts: Counts
    record: dict[str, str]
    """Document id to the hash of the text that was read."""
    notes: tuple[str, ...] = ()
    """Said loudly beside the reply."""
    failures: tuple[str, ...] = ()
    """Of the notes, those that say which part of the checker failed: what was not checked."""
    checker_version: str = CHECKER_VERSION


def sign_of(verdict: Verdict) -> str:
    """``verified``, ``look`` or ``failing``; empty for NOT_A_QUOTE."""
    if verdict in GREEN:
        return "verified"
    if verdict in AMBER:
        return "look"
    return "failing" if verdict in RED else ""


def words_of(verdict: Verdict) -> str:
    """The verdict as people read it: "NOT FOUND"."""
    return _WORDS.get(verdict, verdict.value.replace("_", " "))


def count(findings: tuple[Finding, ...], sentences: tuple[Claim, ...]) -> Counts:
    """Adds up the signs."""
    signs = [sign_of(finding.verdict) for finding in findings]
    return Counts(
        verified=signs.count("verified"),
        look=signs.count("look"),
        failing=signs.count("failing"),
        sentences=len(sentences),
        supported=sum(s.sentence_class is SentenceClass.SUPPORTED for s in sentences),
    )


def annotated(text: str, findings: tuple[Finding, ...], *, ascii_only: bool = False) -> str:
    """The reply with a numbered mark after every item."""
    signs = ASCII_SIGNS if ascii_only else SIGNS
    made = []
    last = 0
    for finding in sorted(findings, key=lambda f: (f.end, f.start)):
        sign = sign_of(finding.verdict)
        if not sign or finding.end < last:
            continue
        end = finding.end
        while end < len(text) and text[end] in "”“\"’'»」』.,)*_":
            end += 1
        made.append(f"{text[last:end]} [{finding.number} {signs[sign]}]")
        last = end
    return "".join(made) + text[last:]


def as_text(text: str, report: Report, *, ascii_only: bool = False) -> str:
    """The annotated reply, then one entry an item, then the counts."""
    signs = ASCII_SIGNS if ascii_only else SIGNS
    lines = [annotated(text, report.findings, ascii_only=ascii_only), ""]
    for finding in report.findings:
        sign = sign_of(finding.verdict)
        if not sign:
            continue
        lines.append(
            f"{finding.number} {signs[sign]} {words_of(finding.verdict)}  {finding.reason}"
        )
        lines.extend(f"    {detail}" for detail in _details(finding))
    lines += ["", _summary(report)]
    lines += [f"! {note}" for note in report.notes]
    return "\n".join(lines) + "\n"


def as_markdown(text: str, report: Report) -> str:
    """The same as Markdown: reply, table of items, sentences, provenance."""
    lines = ["## Reply", "", annotated(text, report.findings), "", "## Items", ""]
    lines += ["| | verdict | words | place | why |", "|---|---|---|---|---|"]
    for finding in report.findings:
        sign = sign_of(finding.verdict)
        if sign:
            words = _cell(text[finding.start : finding.end], 120)
            place = "; ".join(c.pin_cite for c in finding.places[:2]) or "; ".join(
                f"nearest: {c.pin_cite}" for c in finding.nearest[:1]
            )
            why = finding.reason + (f" ({finding.diff})" if finding.diff else "")
            lines.append(
                f"| {finding.number} {SIGNS[sign]} | {words_of(finding.verdict)} | {words} "
                f"| {_cell(place, 120)} | {_cell(why, 300)} |"
            )
    lines += ["", "## Record's own words", ""]
    for finding in report.findings:
        for citation in finding.places[:1]:
            if citation.words:
                lines.append(
                    f"{finding.number}. {citation.pin_cite}: “{_cell(citation.words, 600)}”"
                )
    lines += ["", "## Sentences", ""]
    for claim in report.sentences:
        lines.append(
            f"- *{claim.sentence_class.value}*: {_cell(text[claim.start : claim.end], 200)}"
        )
    lines += ["", f"**{_summary(report)}**", ""]
    lines += [f"> {note}" for note in report.notes]
    lines += ["", f"Checker {report.checker_version}. Texts read:", ""]
    lines += [
        f"- {document}: sha256 {digest}" for document, digest in sorted(report.record.items())
    ]
    return "\n".join(lines) + "\n"


def as_json(text: str, report: Report) -> bytes:
    """The report with the reply's text, indented."""
    return msgspec.json.format(
        msgspec.json.encode({"text": text, "report": report}, order="deterministic"), indent=1
    )


def _summary(report: Report) -> str:
    counts = report.counts
    return (
        f"{counts.verified} verified · {counts.look} to look at · {counts.failing} failing · "
        f"{counts.supported} of {counts.sentences} sentences supported"
    )


def _details(finding: Finding) -> list[str]:
    made = [_place(citation) for citation in finding.places[:3]]
    made += [f"also in: {citation.pin_cite}" for citation in finding.also_in]
    made += [f"nearest: {_place(citation)}" for citation in finding.nearest[:1]]
    if finding.diff:
        made.append(f"difference: {finding.diff}")
    made += [f"step: {step}" for step in finding.steps]
    return made


def _place(citation: Citation) -> str:
    return f"{citation.pin_cite}: “{_cell(citation.words, 240)}”"


def _cell(words: str, limit: int) -> str:
    plain = " ".join(words.split()).replace("|", "\\|")
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
