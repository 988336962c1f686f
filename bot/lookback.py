"""Looking back at a matter: its sealed journal (`/audit`) and what was asked in it (`/history`).

The journal holds no words of a case; what was asked does, so it is shown in the terminal only.
"""

from __future__ import annotations

from typing import Final

from bot import lookback_lists
from bot.conversation import Conversation
from bot.misuse import Misuse
from bot.slash import Typed
from protocol.ids import JobId, MatterId, job_id
from protocol.jobs import AuditIs, Jobs, ListAudit, ListJobs

ENTRIES: Final = 20
"""Entries of the journal that are shown when no number is given."""
MOST_ENTRIES: Final = 200
PAGE: Final = 50
"""Requests on a page of what was asked."""
_BEFORE: Final = "before:"


async def audit(talk: Conversation, typed: Typed) -> None:
    """The end of the matter's journal, and whether its chain holds.

    Raises:
        Misuse: The line names something else than a number of entries.
    """
    result = await talk.worker.call(ListAudit(matter=talk.bound(), most=_entries(typed)))
    assert isinstance(result, AuditIs)
    talk.front.show(lookback_lists.audit(talk.bound(), result, talk.front.look))


async def history(talk: Conversation, typed: Typed) -> None:
    """What was asked in the matter, newest first, a page at a time.

    Raises:
        Misuse: A page begins before something that is no job.
    """
    request = history_request(talk.bound(), typed.rest)
    result = await talk.worker.call(request)
    assert isinstance(result, Jobs)
    talk.front.show(lookback_lists.history(request, result, talk.front.look))


def history_request(matter: MatterId, rest: str) -> ListJobs:
    """A page of what was asked, from the words of a line: ``before:JOB`` and words to look for.

    Raises:
        Misuse: What stands behind ``before:`` is no job's code.
    """
    words, before = [], None
    for word in rest.split():
        if word.casefold().startswith(_BEFORE):
            before = _job(word[len(_BEFORE) :])
        else:
            words.append(word)
    return ListJobs(matter=matter, most=PAGE, asked=True, words=" ".join(words), before=before)


def _entries(typed: Typed) -> int:
    rest = typed.rest
    if not rest:
        return ENTRIES
    known = rest.isascii() and rest.isdecimal() and len(rest) <= len(str(MOST_ENTRIES))
    if not known or not 1 <= int(rest) <= MOST_ENTRIES:
        raise Misuse("needs", name=typed.name, what="audit_count")
    return int(rest)


def _job(code: str) -> JobId:
    try:
        return job_id(code.upper())
    except ValueError:
        raise Misuse("needs", name="history before:", what="job_code") from None
