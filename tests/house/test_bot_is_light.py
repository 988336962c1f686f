"""The PC's side loads nothing of the box: a fresh interpreter imports it and looks."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "aiohttp",
    "asyncssh",
    "chromadb",
    "cryptography",
    "discord",
    "docx",
    "eyecite",
    "llama_cpp",
    "lxml",
    "numpy",
    "prompt_toolkit",
    "pynvml",
    "pypdf",
    "pypdfium2",
    "rag",
    "sentence_transformers",
    "sqlalchemy",
    "textual",
    "torch",
    "verify",
    "worker",
    "xllamacpp",
)
CHAT = ("asyncssh", "cryptography", "prompt_toolkit")
"""What a chat needs besides: the SSH client and the line editor."""


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{n.partition('.')[0] for n in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import bot.cli", ()),
        ("import bot.__main__", ()),
        ("import bot.link, bot.terminal.plain, bot.terminal.lines, bot.checkup", CHAT),
        ("import bot.terminal.full", ("textual",)),
    ],
)
def test_importing_the_bot_loads_nothing_heavy(statement, allowed):
    loaded = loaded_by(statement)
    assert "bot" in loaded
    assert loaded & (set(HEAVY) - set(allowed)) == set()


def test_the_test_bites():
    assert "numpy" in loaded_by("import bot.cli, numpy")


@pytest.mark.parametrize("words", [["--help"], ["ask", "--help"], ["doctor", "--help"]])
def test_help_works_without_any_extra(words):
    blocked = "; ".join(f"sys.modules[{name!r}] = None" for name in HEAVY)
    code = f"import sys; {blocked}; from bot.cli import main; main({words!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
