"""Whether "before", "about" and the like beside a date agree between reply and record."""

from __future__ import annotations

from typing import NamedTuple

from verify.dates.mention import Modifier

_EARLY = frozenset({Modifier.BEFORE, Modifier.BY})
_LATE = frozenset({Modifier.AFTER, Modifier.FROM})


class Bound(NamedTuple):
    """What speaks against two modifiers; both empty when they agree."""

    contradiction: str = ""
    """``record "by" / reply "after"``."""
    doubt: str = ""


def compare_modifiers(said: Modifier, held: Modifier, deadline: bool) -> Bound:
    """Compares the reply's modifier with the record's.

    Args:
        said: The reply's.
        held: The record's.
        deadline: The reply calls the date a deadline, which is as good as "by".
    """
    if said is held or (said is Modifier.ABOUT and held is Modifier.NONE):
        return Bound()
    if deadline and said is Modifier.NONE and held in _EARLY:
        return Bound()
    if (said in _EARLY and held in _LATE) or (said in _LATE and held in _EARLY):
        return Bound(contradiction=f'record "{held.value}" / reply "{said.value}"')
    if held is Modifier.NONE:
        return Bound(doubt=f'The reply says "{said.value}", the record gives the date itself')
    instead = f'says "{said.value}"' if said is not Modifier.NONE else "does not"
    return Bound(doubt=f'The record says "{held.value}" of this date, the reply {instead}')
