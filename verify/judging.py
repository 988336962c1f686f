"""One quotation of a reply: is it one, does the record hold it, and where the reply says?

Brings together what the reply presents (`cues`), what the record holds (`quotes`), what the second
opinion says, and what the reply attributes (`attribution`). Every doubt ends in CHECK.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final

from protocol.answers import Verdict
from protocol.ids import DocumentId
from protocol.record import DocumentClass
from verify.attribution import Objection, capacity, object_to
from verify.citations import Attribution, named_document
from verify.cues import Cue, cue_of
from verify.edits import Edit, EditKind, show
from verify.judged import Judged
from verify.paper_frames import both_objection, frame_of
from verify.pins import document_title
from verify.places import doubt_about, supports_facts
from verify.quotation import readings
from verify.quotes import Grade, Match, Quoted, confirmed, search
from verify.record import OpenRecord
from verify.second import fold
from verify.sentences import split_sentences
from verify.titles import exact_titles

_SHORT: Final = 3
"""Words up to which a quotation needs a document it is attributed to."""
_LONG: Final = 6
"""Words from which the same words in the record outweigh what the reply says of the marks."""
_STOP: Final = re.compile(r"[.!?。]")
_FOLLOWS: Final = re.compile(
    r"[\[(]|(?:See|Id\.|Ibid|Cf\.|Accord|Source|Cite|Tr\.|Dep\.|Ex\.|Dkt|ECF)\b"
)
_OMITTED: Final = re.compile(
    r"(?:citations?|cites?|footnotes?|인용)[^()]{0,40}(?:omitted|생략)|cleaned up", re.IGNORECASE
)
_MARKS_OMITTED: Final = re.compile(r"quotation marks?[^()]{0,40}omitted|cleaned up", re.IGNORECASE)
_ALSO: Final = 6
"""Other places listed, those of the same document first."""


def judge_quote(
    reply: str,
    span: tuple[int, int],
    record: OpenRecord,
    documents: Sequence[DocumentId] | None = None,
    *,
    user_text: str = "",
    block: bool = False,
) -> Judged:
    """What the record says of the quotation at ``span`` of a reply.

    Args:
        reply: The whole reply.
        span: ``[start, end)`` inside the marks, in code points.
        record: The opened record.
        documents: Ids to look in; None for all.
        user_text: The user's own words; they support nothing.
        block: It is a block quotation.
    """
    cue = cue_of(reply, span[0], span[1], block=block)
    quoted = read_quoted(reply, span)
    forms = readings(quoted.text)
    if not forms:
        return Judged(verdict=Verdict.NOT_A_QUOTE, reason="No words between the marks")
    words = len(forms[-1].words)
    if cue is Cue.NOT and words < _LONG:
        return _no_quote()
    scope = [info.id for info in record.infos] if documents is None else list(documents)
    said = named_document(reply, span, record.source, scope)
    named = tuple(document for document in said.documents if document in record.by_id)
    near = _named_beside(reply, span, named, record, scope, block=block) if named else _Near.FAR
    found = search(quoted, record, scope, first=named)
    found = [replace_grade(match, record) for match in found]
    chosen = _choose(found, named, said, reply, span, quoted, record)
    if cue is Cue.NOT and (chosen is None or chosen[0].grade > Grade.DISCLOSED):
        return _no_quote()
    if chosen is None or chosen[0].grade is Grade.ABSENT:
        return _absent(cue, words, said, found, quoted, user_text, record)
    match, objection = chosen
    if words <= _SHORT and not named and not said.speaker:
        if cue is not Cue.QUOTES:
            return _no_quote()
        if match.grade <= Grade.DISCLOSED:
            return _judged(
                Verdict.CHECK, "A few words, attributed to no document", match, record, found
            )
    if match.grade is Grade.ALTERED:
        return _altered(match, found, named, cue, words, record)
    objection = objection or _of_both(match, found, reply, span, record)
    return _present(match, objection, named, said, found, record, near=near)


def _of_both(
    match: Match, found: Sequence[Match], reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    """ "Both versions say": the words must stand in each of them."""
    if match.grade > Grade.DISCLOSED:
        return None
    titles = exact_titles(reply, record.infos)
    holding = {other.document for other in found if other.grade <= Grade.DISCLOSED}
    said = both_objection(
        frame_of(reply, span, titles), titles, record.infos, holding | {match.document}
    )
    return Objection(verdict=said[0], reason=said[1]) if said else None


class _Near(IntEnum):
    """How near to the quotation its document is named."""

    BESIDE = 0
    """In its own sentence, or in a cite right after it."""
    PARAGRAPH = 1
    """In another sentence of the paragraph."""
    FAR = 2


def _named_beside(
    reply: str,
    span: tuple[int, int],
    named: Sequence[DocumentId],
    record: OpenRecord,
    scope: Sequence[DocumentId],
    *,
    block: bool,
) -> _Near:
    """Whether the sentence of the quotation names its document, or only the words around it."""
    titles = [(t.start, t.end) for t in exact_titles(reply, record.infos)]
    low, high = _sentence_around(reply, span, titles, block=block)
    inside = (span[0] - low, span[1] - low)
    local = named_document(reply[low:high], inside, record.source, scope)
    if set(local.documents) & set(named):
        return _Near.BESIDE
    start = reply.rfind("\n\n", 0, span[0]) + 1
    end = reply.find("\n\n", span[1])
    paragraph = reply[start : end if end >= 0 else len(reply)]
    local = named_document(paragraph, (span[0] - start, span[1] - start), record.source, scope)
    return _Near.PARAGRAPH if set(local.documents) & set(named) else _Near.FAR


def _sentence_around(
    reply: str, span: tuple[int, int], titles: Sequence[tuple[int, int]], *, block: bool
) -> tuple[int, int]:
    """The quotation's sentence with the cite that follows it and the words that lead to a block."""
    spans = split_sentences(reply, [span, *titles])
    number = next((k for k, (a, b) in enumerate(spans) if a <= span[0] < b), None)
    if number is None:
        return span
    low, high = spans[number]
    lead = reply[spans[number - 1][0] : spans[number - 1][1]] if number else ""
    if block and lead and not _STOP.search(lead[-1:]):
        low = spans[number - 1][0]
    if number + 1 < len(spans) and _FOLLOWS.match(reply, spans[number + 1][0]):
        high = spans[number + 1][1]
    return low, high


def read_quoted(reply: str, span: tuple[int, int]) -> Quoted:
    """The quotation with what the reply says right after it."""
    text = reply[span[0] : span[1]]
    after = reply[span[1] : span[1] + 160]
    inside = re.match(r"[.!?。,;]*(?=[”“»」』\"'’])", after)
    closes = bool(_STOP.search(text.rstrip()[-1:])) or bool(inside and _STOP.search(inside.group()))
    aside = after.split("\n\n")[0]
    return Quoted(
        text=text,
        closes=closes,
        citations_omitted=bool(_OMITTED.search(aside)),
        marks_omitted=bool(_MARKS_OMITTED.search(aside)),
    )


def replace_grade(match: Match, record: OpenRecord) -> Match:
    """A match that stands in what supports nothing, or on a doubtful page, as the doubt it is."""
    if match.grade > Grade.DISCLOSED:
        return match
    info = record.by_id[match.document]
    why = ""
    if not supports_facts(info):
        why = {
            DocumentClass.MODEL_OUTPUT: "it stands only in words this product made",
            DocumentClass.WORK_PRODUCT: "it stands in a lawyer's own notes, which support no fact",
            DocumentClass.AUTHORITY: "it stands in an authority, which supports no fact",
        }.get(info.document_class, "it stands in a document that supports no fact")
    for stretch in match.stretches:
        why = why or doubt_about(record.source, stretch)
    if not why:
        return match
    edit = Edit(kind=EditKind.DOUBT, record="", reply="", why=why)
    return replace(match, grade=Grade.DOUBT, edits=(*match.edits, edit))


def _choose(
    found: Sequence[Match],
    named: Sequence[DocumentId],
    said: Attribution,
    reply: str,
    span: tuple[int, int],
    quoted: Quoted,
    record: OpenRecord,
) -> tuple[Match, Objection | None] | None:
    """The place to speak of: in the document named, clean, and where the reply says, if any is."""
    if not found:
        return None
    inside = [match for match in found if match.document in named]
    pool = (
        inside if inside and (not said.exact or inside[0].grade <= Grade.ALTERED) else list(found)
    )
    if inside and inside[0].grade >= Grade.ALTERED and found[0].grade <= Grade.DISCLOSED:
        pool = list(found)  # the words are true of another document
    best: tuple[Match, Objection | None] | None = None
    for match in pool[:12]:
        if match.grade > max(pool[0].grade, Grade.DISCLOSED):
            break
        match = confirmed(match, quoted, record)
        objection = (
            object_to(match, said, reply, span, record) if match.grade <= Grade.DOUBT else None
        )
        if best is None or _badness(match, objection) < _badness(*best):
            best = (match, objection)
        if _badness(*best) == (0, 0):
            break
    return best


def _badness(match: Match, objection: Objection | None) -> tuple[int, int]:
    against = 0 if objection is None else 1 if objection.verdict is Verdict.CHECK else 2
    return (max(0, match.grade - Grade.DISCLOSED), against)


def _no_quote() -> Judged:
    return Judged(verdict=Verdict.NOT_A_QUOTE, reason="The marks do not quote the record")


def _absent(
    cue: Cue,
    words: int,
    said: Attribution,
    found: Sequence[Match],
    quoted: Quoted,
    user_text: str,
    record: OpenRecord,
) -> Judged:
    if user_text and fold(quoted.text) in fold(user_text):
        reason = "These words stand only in the question, not in the record"
        return Judged(verdict=Verdict.NOT_FOUND, reason=reason)
    attributed = bool(said.documents or said.speaker)
    if cue is Cue.UNSURE and words <= 8 and not attributed:
        return _no_quote()
    if words <= _SHORT and cue is not Cue.QUOTES and not said.exact:
        return _no_quote()
    nearest = found[0] if found and found[0].likeness >= 0.3 else None
    where = f". Nearest: {document_title(record, nearest.document)}" if nearest else ""
    return Judged(
        verdict=Verdict.NOT_FOUND,
        reason=f"No document of the record holds these words{where}",
        nearest=nearest.stretches if nearest else (),
        diff=show(nearest.edits) if nearest else "",
    )


def _altered(
    match: Match,
    found: Sequence[Match],
    named: Sequence[DocumentId],
    cue: Cue,
    words: int,
    record: OpenRecord,
) -> Judged:
    if words <= _SHORT and cue is not Cue.QUOTES and not named:
        return _no_quote()
    elsewhere = (
        ""
        if not named or match.document in named
        else f" of {document_title(record, match.document)}"
    )
    reason = f"Not the words of the record{elsewhere}: {_first_change(match)}"
    return _judged(Verdict.ALTERED, reason, match, record, ())


def _first_change(match: Match) -> str:
    edit = next((edit for edit in match.edits if edit.kind is EditKind.MATERIAL), None)
    return show([edit]) if edit else "the words differ"


def _present(
    match: Match,
    objection: Objection | None,
    named: Sequence[DocumentId],
    said: Attribution,
    found: Sequence[Match],
    record: OpenRecord,
    *,
    near: _Near,
) -> Judged:
    """The words stand in the record; what is left is where, and what changes were disclosed."""
    title = document_title(record, match.document)
    told = near is not _Near.FAR or said.labelled
    if named and match.document not in named and told:
        sure = (said.exact or len(named) == 1) and near is _Near.BESIDE
        sure = sure or (said.labelled and said.exact)
        wanted = document_title(record, named[0])
        return _judged(
            Verdict.MISATTRIBUTED if sure else Verdict.CHECK,
            f"These words stand in {title}, not in {wanted}",
            match, record, found,
        )  # fmt: skip
    if objection is not None and objection.verdict is Verdict.MISATTRIBUTED:
        return _judged(Verdict.MISATTRIBUTED, objection.reason, match, record, found)
    if match.grade is Grade.DOUBT:
        why = next((e.why for e in reversed(match.edits) if e.kind >= EditKind.DOUBT and e.why), "")
        return _judged(Verdict.CHECK, f"Found, but {why or 'not proven'}", match, record, found)
    if objection is not None:
        return _judged(Verdict.CHECK, objection.reason, match, record, found)
    problem = said.problem if said.exact else ""
    if problem and match.document not in named:
        return _judged(Verdict.CHECK, problem, match, record, found)
    where = capacity(match, record)
    tail = f", {where}" if where else ""
    if match.grade is Grade.DISCLOSED:
        return _judged(
            Verdict.VERIFIED_MARKED,
            f"The record's words, changes disclosed{tail}",
            match,
            record,
            found,
        )
    return _judged(Verdict.VERIFIED, f"The record's words{tail}", match, record, found)


def _judged(
    verdict: Verdict, reason: str, match: Match, record: OpenRecord, found: Sequence[Match]
) -> Judged:
    also = [
        other.stretches[0]
        for other in sorted(found, key=lambda other: other.document != match.document)
        if other.grade <= Grade.DISCLOSED
        and (other.document, other.start) != (match.document, match.start)
    ]
    steps = [edit.why for edit in match.edits if edit.kind is EditKind.DISCLOSED and edit.why]
    return Judged(
        verdict=verdict,
        reason=reason,
        places=match.stretches,
        also_in=tuple(also[:_ALSO]),
        diff=show(match.edits),
        steps=tuple(dict.fromkeys((*steps, *match.asides))),
    )
