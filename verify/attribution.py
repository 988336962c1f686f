"""Does the record say it where, and by whom, the reply says it does?

`citations.named_document` reads what the reply attributes; this file compares it with a place that
was found: page, line, paragraph or Bates label, speaker, and the capacity in which the words stand
there (a question of counsel, quoted mail, a syllabus, a dissent).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from protocol.answers import Verdict
from verify.answers_given import asked_otherwise
from verify.citations import Attribution
from verify.courtesies import courtesies, korean_speaker, mistitled
from verify.frame_people import people_around
from verify.judged import Stretch
from verify.locators import CiteKind, find_record_cites
from verify.paper_frames import frame_of, paper_objection, whose_objection, writer_objection
from verify.pins import page_of
from verify.pronouns import named_before, pronoun_at
from verify.quotes import Match
from verify.record import OpenRecord
from verify.resolve import resolve
from verify.section_cites import find_section_cites, section_objection
from verify.sections import Sections
from verify.speakers import UNNAMED, Speakers, Turn, Voice, same_person
from verify.titles import exact_titles
from verify.versions import other_version

_NOBODY: Final = frozenset(
    "he she they it we i you who this that court counsel witness deponent plaintiff defendant "
    "plaintiffs defendants both "
    "neither nobody someone everyone one another the a an also then later record reply "
    "answer".split()
)
"""Subjects of "said" that name no person."""
_TESTIFIED: Final = re.compile(
    r"\b(?:testif\w+|answered|admitted|conceded|acknowledged|swore|witness said|deponent "
    r"said)\b[^.;“\"]{0,40}\Z",
    re.IGNORECASE,
)
_SAID: Final = re.compile(
    r"\b(?:he|she|they|witness|deponent) (?:\w+ )?(?:said|stated|told|replied|"
    r"explained)\b[^.;“\"]{0,40}\Z",
    re.IGNORECASE,
)
_PUT_TO: Final = re.compile(
    r"(?:\A|[.\n(:;,–—-]\s{0,3}|\b(?:was|were|when|being|is|if) )asked"
    r"(?: by (?:\w+\.? ){1,3})?[ ,:]{0,2}\Z",
    re.IGNORECASE,
)
"""A question put to somebody, who is named behind it."""
_OF_THE_COURT: Final = re.compile(r"\b(?:the )?(?:court|majority)\b[^.;“\"]{0,60}\Z", re.IGNORECASE)
_COURT: Final = re.compile(
    r"\b(?:court|judge|justice|tribunal|j\.)\b|법원|법정|gericht", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Objection:
    """Why a place that holds the words is not where the reply says they are."""

    verdict: Verdict
    """MISATTRIBUTED, or CHECK where it cannot be told."""
    reason: str


def object_to(
    match: Match, said: Attribution, reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    """What speaks against a place, the worst first; None when nothing does.

    Args:
        match: A place of the document the reply names, or of any when it names none.
        said: What the reply attributes.
        reply: The reply.
        span: Where the quotation stands in it.
        record: The opened record.
    """
    found = [
        objection
        for objection in (
            _place(match, said, reply, record),
            _speaker(match, said, reply, span, record),
            _voice(match, reply, span[0], record),
            _version(match, reply, span[0], record),
            _section(match, reply, span, record),
            _described(match, reply, span, record),
            _question(match, reply, span[0], record),
            _called(match, reply, span[0], record),
        )
        if objection
    ]
    found.sort(key=lambda objection: objection.verdict is not Verdict.MISATTRIBUTED)
    return found[0] if found else None


def _question(match: Match, reply: str, at: int, record: OpenRecord) -> Objection | None:
    reason = asked_otherwise(reply, at, match, record)
    return Objection(verdict=Verdict.MISATTRIBUTED, reason=reason) if reason else None


def _version(match: Match, reply: str, at: int, record: OpenRecord) -> Objection | None:
    info = record.by_id[match.document]
    titles = [(t.start, t.end) for t in exact_titles(reply, record.infos)]
    said = other_version(reply, at, titles, info.title, record.layout(match.document).text)
    if not said:
        return None
    return Objection(
        verdict=Verdict.CHECK,
        reason=f'the reply says "{said}"; {info.title}, where the words stand, does not say so',
    )


def _section(
    match: Match, reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    if not find_section_cites(reply):
        return None  # a long document's headings are read only when asked for
    info = record.by_id[match.document]
    found = section_objection(
        reply,
        span,
        exact_titles(reply, record.infos),
        (match.start, match.end),
        record.tables.get("sections", record.source, info, Sections),
        info.title,
        info.id,
    )
    return Objection(verdict=found[0], reason=found[1]) if found else None


def _called(match: Match, reply: str, at: int, record: OpenRecord) -> Objection | None:
    info = record.by_id[match.document]
    wrong = mistitled(
        reply, at, lambda: record.tables.get("courtesies", record.source, info, courtesies)
    )
    if not wrong:
        return None
    return Objection(
        verdict=Verdict.CHECK, reason=f'The reply says "{wrong}"; {info.title} has another title'
    )


def _described(
    match: Match, reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    """The paper as the words around the quotation describe it: its kind, its date, whose it is."""
    info = record.by_id[match.document]
    frame = frame_of(reply, span, exact_titles(reply, record.infos))
    found = paper_objection(frame, info, record.infos, record.paper)
    found = found or whose_objection(frame, info, record.layout(match.document).text)
    return Objection(verdict=found[0], reason=found[1]) if found else None


def _place(match: Match, said: Attribution, reply: str, record: OpenRecord) -> Objection | None:
    cite = said.place
    if cite is None:
        return None
    infos = record.infos
    titles = exact_titles(reply, infos)
    target = resolve(cite, reply, find_record_cites(reply), titles, infos, record.source)
    if target.documents and match.document not in target.documents:
        return None  # the cite is about another document
    problem = said.problem or target.problem
    layout = record.layout(match.document)
    pages = range(layout.page_at(match.start), layout.page_at(max(match.start, match.end - 1)) + 1)
    stands = _stands(match, record)
    if cite.line is None and cite.page is not None:
        asked = range(cite.page, (cite.page_end or cite.page) + 1)
        return _page(asked, pages, match, record, physical=cite.physical, problem=problem)
    if problem:
        return Objection(verdict=Verdict.MISATTRIBUTED, reason=f"{problem}; it stands {stands}")
    if not target.places or not target.certain:
        return None
    if any(_meets(place, match) for place in target.places):
        return None
    whole = len(target.places) == 1 and target.places[0].start == 0
    if cite.kind in (CiteKind.EXHIBIT, CiteKind.DOCKET) and cite.paragraph is None and whole:
        return None
    return Objection(
        verdict=Verdict.MISATTRIBUTED, reason=f"It stands {stands}, not where the reply says"
    )


def _meets(place: Stretch, match: Match) -> bool:
    """The quotation begins inside the place, or covers it."""
    if place.document != match.document:
        return False
    return place.start <= match.start < place.end or match.start <= place.start < match.end


def _page(
    asked: range, pages: range, match: Match, record: OpenRecord, *, physical: bool, problem: str
) -> Objection | None:
    layout = record.layout(match.document)
    by_count = any(page in asked for page in pages)
    labels = [page_of(layout, page).label for page in pages]
    by_label = any(label == str(page) for label in labels for page in asked)
    stands = _stands(match, record)
    if (by_label and not physical) or (by_count and (physical or not any(labels))):
        return None
    if by_count or by_label:
        return Objection(
            verdict=Verdict.CHECK,
            reason=f"It stands {stands}: the printed and the physical page differ",
        )
    if problem:
        return Objection(verdict=Verdict.MISATTRIBUTED, reason=f"{problem}; it stands {stands}")
    wanted = str(asked[0]) if len(asked) == 1 else f"{asked[0]}-{asked[-1]}"
    return Objection(
        verdict=Verdict.MISATTRIBUTED, reason=f"It stands {stands}, not on page {wanted}"
    )


def _stands(match: Match, record: OpenRecord) -> str:
    layout = record.layout(match.document)
    first, last = layout.page_at(match.start), layout.page_at(max(match.start, match.end - 1))
    label = page_of(layout, first).label
    printed = f" (printed {label})" if label and label != str(first) else ""
    return f"on page {first}{printed}" if first == last else f"on pages {first}-{last}"


def _speaker(
    match: Match, said: Attribution, reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    speakers = record.speakers(match.document)
    turn = speakers.at(match.start)
    if turn is None and said.speaker and said.speaker.casefold() not in _NOBODY:
        info = record.by_id[match.document]
        text = record.layout(match.document).text
        found = writer_objection(said.speaker, info, record.paper(info), text)
        return Objection(verdict=found[0], reason=found[1]) if found else None
    if turn is None or turn.voice in (Voice.SYLLABUS, Voice.SEPARATE):
        return None
    if turn.voice is Voice.QUESTION and _PUT_TO.search(_words_before(reply, span[0], 80)):
        return None  # 'Asked "...?", Vance said': the words after it are of the answer
    if not said.speaker or said.speaker.casefold() in _NOBODY:
        said_by = korean_speaker(reply, span[0])
        if said_by and turn.who and not same_person(said_by, turn.who) and said_by not in turn.who:
            return Objection(
                verdict=Verdict.CHECK,
                reason=f"These are words of {_who(turn.who)}; the reply names {said_by}",
            )
        of_counsel = _asked(turn, _words_before(reply, span[0], 80))
        return (
            of_counsel
            or _pronoun(turn, reply, span, speakers)
            or _named_around(turn, match, reply, span, record)
        )
    if not turn.who or turn.who.casefold() in UNNAMED:
        named_elsewhere = any(same_person(said.speaker, name) for name in speakers.names)
        if turn.voice is Voice.QUESTION or named_elsewhere:
            return Objection(
                verdict=Verdict.MISATTRIBUTED,
                reason=f"The record gives these words to {_who(turn.who)}, not to {said.speaker}",
            )
        if not turn.who and turn.voice is Voice.PLAIN:
            return None
        return Objection(verdict=Verdict.CHECK, reason="The record does not name who speaks here")
    if same_person(said.speaker, turn.who):
        return _quoting(turn, match, record)
    asked = ", in a question of counsel" if turn.voice is Voice.QUESTION else ""
    quoted = ", in an earlier message that is quoted" if turn.voice is Voice.QUOTED_MAIL else ""
    return Objection(
        verdict=Verdict.MISATTRIBUTED,
        reason=f"These are words of {turn.who}{asked}{quoted}, not of {said.speaker}",
    )


def _quoting(turn: Turn, match: Match, record: OpenRecord) -> Objection | None:
    """The speaker is right, but quotes somebody else there: "She said to me, \"nobody ...\"."""
    spoken = record.source.text(match.document)[turn.start : match.start + 1][-1_500:]
    straight = spoken.count('"') % 2 == 1
    curly = spoken.rfind("“") > spoken.rfind("”")
    if not straight and not curly:
        return None
    return Objection(
        verdict=Verdict.CHECK,
        reason=f"{_who(turn.who)} quotes these words there: whose they are is not checked",
    )


def _named_around(
    turn: Turn, match: Match, reply: str, span: tuple[int, int], record: OpenRecord
) -> Objection | None:
    """The reply names people around the words and none of them is who speaks there."""
    if not turn.who or turn.who.casefold() in UNNAMED:
        return None
    titles = [(t.start, t.end) for t in exact_titles(reply, record.infos)]
    people = people_around(
        reply, span, titles, record.titled(match.document), record.folded(match.document).holds
    )
    if not people or any(same_person(who, turn.who) for who in people):
        return None
    return Objection(
        verdict=Verdict.CHECK,
        reason=f"These are words of {_who(turn.who)}; the reply names {', '.join(people[:3])}",
    )


def _pronoun(turn: Turn, reply: str, span: tuple[int, int], speakers: Speakers) -> Objection | None:
    """ "She answered": green only where nobody else can be meant.

    The reply has spoken of nobody but the one who speaks, or of nobody at all and the document
    has one witness, who answers counsel's questions.
    """
    said = pronoun_at(reply, span[0], span[1])
    if not said or not turn.who or turn.who.casefold() in UNNAMED:
        return None
    named = named_before(reply, span[0], speakers.names - UNNAMED)
    others = [who for who in named if not same_person(who, turn.who)]
    alone = speakers.telling - UNNAMED
    if not others and (named or len(alone) < 2):
        return None
    return Objection(
        verdict=Verdict.CHECK,
        reason=f'These are words of {_who(turn.who)}; whom "{said}" means is not certain',
    )


def _words_before(reply: str, at: int, most: int) -> str:
    """What the reply says right before a quotation, its opening mark left out."""
    return reply[max(0, at - most) : at].rstrip(" \t\n>\"'“„«‘「『")


def _asked(turn: Turn, before: str) -> Objection | None:
    """Words of a question given to a witness who is not named."""
    if turn.voice is not Voice.QUESTION:
        return None
    if _TESTIFIED.search(before):
        return Objection(
            verdict=Verdict.MISATTRIBUTED,
            reason="These words stand in a question of counsel, not in the testimony",
        )
    if _SAID.search(before):
        return Objection(
            verdict=Verdict.CHECK,
            reason="These words stand in a question of counsel: who said them?",
        )
    return None


def _who(printed: str) -> str:
    return {"q": "counsel, who asks", "a": "the witness", "": "somebody else"}.get(
        printed.casefold(), printed
    )


def _voice(match: Match, reply: str, at: int, record: OpenRecord) -> Objection | None:
    """A dissent or a syllabus quoted as the court."""
    turn = record.speakers(match.document).at(match.start)
    if not _OF_THE_COURT.search(_words_before(reply, at, 120)):
        return None
    info = record.by_id[match.document]
    if not _COURT.search(info.title) and not _COURT.search(record.layout(match.document).text):
        return Objection(
            verdict=Verdict.CHECK,
            reason=f"The reply gives these words to a court; {info.title} speaks of none",
        )
    if turn is None:
        return None
    if turn.voice is Voice.SEPARATE:
        return Objection(
            verdict=Verdict.MISATTRIBUTED,
            reason=f"It stands in the separate opinion of {turn.who}, not in the court's",
        )
    if turn.voice is Voice.SYLLABUS:
        return Objection(
            verdict=Verdict.CHECK,
            reason="It stands in the syllabus, which is not the court's opinion",
        )
    return None


def capacity(match: Match, record: OpenRecord) -> str:
    """In what capacity the words stand there, in words; empty when it is the plain text."""
    turn = record.speakers(match.document).at(match.start)
    voice = turn.voice if turn else Voice.PLAIN
    if match.region.name == "FOOTNOTE":
        return "in a footnote"
    return {
        Voice.SYLLABUS: "in the syllabus",
        Voice.SEPARATE: f"in the separate opinion of {turn.who}" if turn else "",
        Voice.QUOTED_MAIL: f"in a quoted message{f' of {turn.who}' if turn and turn.who else ''}",
        Voice.QUESTION: "in a question of counsel",
    }.get(voice, "")
