"""The few words, and the property that nothing else comes through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.gateway.caps import Caps
from worker.gateway.commands import parse

GIVEN = {"ask", "find", "chat", "history", "audit", "--fd", "--matter", "--json", "--plain", "-"}
GIVEN |= {str(number) for number in range(1, 201)}


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("help", ()),
        ("ask -", ("ask", "-")),
        ("ask --json -", ("ask", "--json", "-")),
        ("find --matter M-7F3K --json -", ("find", "--matter", "M-7F3K", "--json", "-")),
        ("find --matter m-7f3k -", ("find", "--matter", "M-7F3K", "-")),
        ("find --matter 'M-7F3K' -", ("find", "--matter", "M-7F3K", "-")),
        # words of a question would stand in the process list
        ("history --matter M-7F3K", ("history", "--matter", "M-7F3K")),
        ("history --matter M-7F3K - --json", ("history", "--matter", "M-7F3K", "-", "--json")),
        ("history leak", None),
        ("audit 200 --matter m-7f3k --json", ("audit", "200", "--matter", "M-7F3K", "--json")),
        ("audit 201 --matter M-7F3K", None),
        ("audit -", None),
        ("ask what did she know", None),
        ("ask --matter M-7F3K", None),
        # nothing that reaches further
        ("chat", ("chat",)),
        ("chat --plain", ("chat", "--plain")),
        ("chat --plain --matter M-7F3K", ("chat", "--plain", "--matter", "M-7F3K")),
        ("chat --fd 3", None),
        ("chat --config /etc/passwd", None),
        ("chat --plain --plain", None),
        ("chat -", None),
        ("ask --plain -", None),
        ("ask --fd 3 -", None),
        ("ask --config /etc/passwd -", None),
        ("ask --matter ../M-7F3K -", None),
        ("ask - ; id", None),
        ("ask - - ", None),
        ("ask 'unclosed", None),
        ("", None),
        ("ask " + "- " * 200, None),
    ],
)
def test_commands(command, arguments):
    assert parse(command) == arguments


@given(st.text(max_size=80) | st.lists(st.sampled_from([*GIVEN, "M-7F3K", ";", "$(id)", "\n"]))
       .map(" ".join))  # fmt: skip
def test_only_listed_words_and_matter_codes_come_out(text):
    for word in parse(text) or ():
        assert word in GIVEN - {"--fd"} or word == "M-7F3K"


def test_caps_count_what_is_open():
    caps = Caps(total=3, each=2)
    assert [caps.take("a"), caps.take("a"), caps.take("a")] == [True, True, False]
    assert [caps.take("b"), caps.take("c")] == [True, False]
    caps.give("a")
    assert [caps.take("c"), caps.take("b")] == [True, False]
    assert [caps.held(owner) for owner in "abc"] == [1, 1, 1]
