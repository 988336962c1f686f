"""The few words a client may send as a command, and nothing else.

No shell ever sees the text: it is cut into words and each must be on the list. Questions and search
words come on standard input only, since a command line is visible to every process of a machine.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

_MATTER: Final = re.compile(r"M-[0-9A-Z]{4,12}")

HELP: Final = """\
secondchair, over SSH

  ssh HOST                                 the chat
  ssh -t HOST chat --plain                 the chat line by line: screen readers, scrollback
  ssh HOST ask --matter M-XXXX -           a question from standard input
  ssh HOST find --matter M-XXXX -          passages for the words on standard input
  ssh HOST history --matter M-XXXX         what was asked; with - the words on standard input
  ssh HOST audit --matter M-XXXX           the end of the sealed journal
  sftp HOST                                files: put into <matter>/inbox, get from <matter>/out

Add --json for a reply that a program can read.
"""


def parse(command: str) -> tuple[str, ...] | None:
    """The arguments for the program, or None when the command is not one of ours.

    ``help`` gives an empty tuple: the gateway answers it itself.
    """
    if len(command) > 200:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if words in (["help"], ["--help"]):
        return ()
    if words[:1] == ["chat"]:
        return _arguments("chat", words[1:], {"--plain"})
    if words[:1] == ["history"]:
        return _arguments("history", words[1:], {"--json", "-"})
    if words[:1] == ["audit"]:
        return _arguments("audit", words[1:], {"--json", *map(str, range(1, 201))})
    if words[:1] not in (["ask"], ["find"]):
        return None
    given = _arguments(words[0], words[1:], {"--json", "-"})
    return given if given is not None and "-" in given else None


def _arguments(verb: str, words: list[str], flags: set[str]) -> tuple[str, ...] | None:
    given: list[str] = [verb]
    seen: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word in seen:
            return None
        seen.add(word)
        if word == "--matter":
            matter = next(rest, "").upper()
            if not _MATTER.fullmatch(matter):
                return None
            given += [word, matter]
        elif word in flags:
            given.append(word)
        else:
            return None
    return tuple(given)
