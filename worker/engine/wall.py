"""Keeps two matters apart inside an engine: their kv_cache state never meets.

Two rules (`docs/decisions` tells the experiments):

1. Every prompt begins with a code of its matter. A server reuses state by the longest common
   prefix of tokens, so two matters share the few tokens that the template puts before the system
   text, which are the same for everybody, perhaps the first digits of their codes, and nothing
   after them: no text in a slot, none in a host-RAM entry.
2. Where the server keeps one record at a time (no host-RAM cache), the slot is erased when the
   matter changes.

`Watch` holds the first rule to account: it knows how many tokens a matter can have left behind.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict

from protocol.errors import BadRequest, Internal
from worker.engine import Prompt, Usage, prompt_sha256

KEPT_APART = frozenset({"none", "ngram-simple"})
"""Kinds of speculation that look at the prompt at hand only. By experiment: ``ngram-mod`` keeps one
pool for all slots; ``ngram-map-k`` keeps what a slot saw before, so that a matter's drafts change
with what another was asked; ``ngram-cache`` keeps lookups over requests."""


CODE_DIGITS = 12
"""Hexadecimal digits of a code. Two matters of one box share all of them once in 10**14 pairs."""


def matter_code(matter: str) -> str:
    """Digits that stand for the matter; equal after a restart."""
    return hashlib.sha256(b"secondchair kv_cache\0" + matter.encode()).hexdigest()[:CODE_DIGITS]


def walled(matter: str, prompt: Prompt) -> Prompt:
    """The prompt with its matter's code at the very front of the system text."""
    system = f"{matter_code(matter)} is the code of this matter.\n\n{prompt.system}"
    return Prompt(system=system, record=prompt.record, turns=prompt.turns, question=prompt.question)


def refuse_shared_speculation(kind: str) -> None:
    """Nothing when this kind of speculation, or each of a list with commas, keeps matters apart.

    A draft model (``draft-...``) reads the same prompt with the matter's code, so the first rule
    holds for its kv_cache too.

    Raises:
        BadRequest: It keeps n-grams from one request to the next.
    """
    for one in kind.split(","):
        if one not in KEPT_APART and not re.fullmatch(r"draft-[a-z0-9-]+", one):
            raise BadRequest(
                f"speculation {one} keeps what one matter said for the next",
                next_step="choose ngram-simple, which looks at the prompt at hand only",
            )


class Watch:
    """Checks after every call that what was reused can only be the matter's own.

    Args:
        template_tokens: Tokens that every prompt shares whatever its matter.
    """

    def __init__(self, template_tokens: int) -> None:
        self._shared_tokens = template_tokens + CODE_DIGITS - 1
        self._most: defaultdict[str, int] = defaultdict(int)
        self._last = ""
        self.read_again = False
        """Whether the last call read a record again that the call before it had just read: every
        way in which reuse can break is silent, so this is what shows it."""

    def compare(self, matter: str, prompt: Prompt, usage: Usage, *, reuse: bool) -> None:
        """Note a whole call, for `read_again`."""
        head = prompt_sha256(
            walled(matter, Prompt(system=prompt.system, record=prompt.record, question=""))
        )
        worth = len(prompt.record) > 0 and reuse
        self.read_again = worth and head == self._last and usage.reused_tokens == 0
        self._last = head

    def check(self, matter: str, usage: Usage) -> None:
        """Note the call.

        Raises:
            Internal: More tokens were reused than this matter ever left in the engine. The answer
                must not be used and the engine must be restarted.
        """
        own = self._most[matter]
        if usage.reused_tokens > max(own, self._shared_tokens):
            raise Internal("the engine reused state that is not this matter's; it was stopped")
        self._most[matter] = max(own, usage.prompt_tokens + usage.output_tokens)

    def restored(self, matter: str, tokens: int) -> None:
        """A slot file of this matter was loaded."""
        self._most[matter] = max(self._most[matter], tokens)

    def forget(self, matter: str) -> None:
        """Nothing of this matter is left in the engine."""
        self._most.pop(matter, None)
        self._last = ""
