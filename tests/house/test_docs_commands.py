"""Every command, setting and path that a page shows, held against the program itself.

A command line is read by the program's own parser, in a block as a whole and in running text as far
as it is shown; a block that is neither commands, settings nor a picture is refused, so nothing
escapes.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import msgspec
import pytest

from bot.cli import main as client
from bot.slash import Name, parse
from worker.boards.declared import load_declared
from worker.box_settings import BoxSettings, OtherBoxSettings
from worker.cli import cli as operator
from worker.config import Settings
from worker.engine import EngineSettings
from worker.setup.units import CAPS_UNITS, UNITS

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
]
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)((?: {4,}\S.*\n?)+)")
PICTURE = re.compile(r"[│┌└►✔]|\Astate/\n|\A *seal = ")
GROUPS = {"secondchair": client, "secondchair-worker": operator}
PROGRAMS = ("pip", "make", "python", "systemctl", "ssh", "git", *GROUPS)


def ids(path):
    return str(path.relative_to(ROOT))


def blocks(page):
    """Every code block of a page: its language and its text."""
    text = page.read_text("utf-8")
    for _, language, inner in FENCED.findall(text):
        yield language, inner
    for inner in INDENTED.findall(FENCED.sub("", text)):
        yield "", inner


def is_toml(language, inner):
    return language == "toml" or inner.lstrip().startswith("[")


def commands(page):
    """Every command line of the page's blocks, as words."""
    for language, inner in blocks(page):
        if not is_toml(language, inner) and not PICTURE.search(inner):
            for line in inner.splitlines():
                if words := shlex.split(line, comments=True):
                    yield words


def spans(page):
    """What stands between back-ticks in running text."""
    text = INDENTED.sub("", FENCED.sub("", page.read_text("utf-8")))
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


def parsed(words, *, whole):
    """Reads a command line of ours by its own parser, running nothing.

    Raises:
        click.ClickException: It is not one.
    """
    group, args, context = GROUPS[words[0]], list(words[1:]), None
    while True:
        try:
            context = group.make_context(group.name or words[0], args, parent=context)
        except click.exceptions.NoArgsIsHelpError:
            assert not whole, words
            return
        except click.MissingParameter:
            assert not whole, words
            return
        except click.BadParameter as error:
            if "does not exist" not in error.message:  # a reader's file
                raise
            return
        except click.exceptions.Exit:
            return  # --help, --version
        if not isinstance(group, click.Group):
            return
        args = [*context._protected_args, *context.args]
        if not args:
            return
        name = args.pop(0)
        inner = group.get_command(context, name)
        assert inner is not None, f"{' '.join(words)}: there is no {name}"
        group = inner


def without_prefix(words):
    """The command without ``sudo`` and variables set in front of it, and without what follows."""
    while words and (words[0] == "sudo" or re.fullmatch(r"[A-Z_]+=.*", words[0])):
        words = words[1:]
    for stop in ("<", ">", "|", "&&"):
        words = words[: next((i for i, w in enumerate(words) if w.startswith(stop)), len(words))]
    return words


@functools.cache
def help_of(*command):
    done = subprocess.run(
        [sys.executable, *command, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 0, command
    return done.stdout


def check_python(words):
    if words[1] != "-m":
        assert (ROOT / words[1]).is_file(), words
        return
    module, rest = words[2], words[3:]
    if "." in module:  # a trial of its own, which may want a package of its own
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), words
        return
    if module == "pytest":
        assert all((ROOT / word).exists() for word in rest)
        return
    name = rest[0] if rest and not rest[0].startswith("-") else ""
    if module == "bench":
        assert (ROOT / "bench" / f"{name}.py").is_file(), words
        said = help_of("-m", module)
    else:
        said = help_of("-m", module, *([name] if name else []))
    for word in rest:
        if word.startswith("--"):
            assert word.partition("=")[0] in said, words


def check_pip(words):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = (ROOT / "constraints.txt").read_text("utf-8").lower()
    assert words[1] in ("install", "wheel"), words
    for before, word in itertools.pairwise(words[1:]):
        if before == "-c":
            assert (ROOT / word).is_file()
        elif extras := re.fullmatch(r"(?:\.|secondchair)\[([a-z,-]+)\]", word):
            assert set(extras[1].split(",")) <= set(project["optional-dependencies"]), words
        elif not word.startswith("-"):
            name, _, version = word.partition("==")
            assert f"\n{name}==" in pinned, word
            assert not version or f"\n{name}=={version}" in pinned, word


def check_systemctl(words):
    known = {*UNITS, *CAPS_UNITS}
    for word in words[2:]:
        if not word.startswith("-"):
            unit = word if "." in word else f"{word}.service"
            assert unit in known or unit.startswith("secondchair-engine-"), word


def check_script(words):
    path = ROOT / words[0]
    assert path.is_file(), words[0]
    for word in words[1:]:
        if word.startswith("--"):
            assert word in path.read_text("utf-8"), words


def check(words, *, whole=True):
    words = without_prefix(words)
    program = words[0].rpartition("/")[2] if ".venv/" in words[0] else words[0]
    if program in GROUPS:
        parsed(words, whole=whole)
    elif program == "python":
        check_python(words)
    elif program == "pip":
        check_pip(words)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(targets), words
    elif program == "systemctl":
        check_systemctl(words)
    elif program.startswith("deploy/"):
        check_script(words)
    elif re.fullmatch(r"/[a-z]+", words[0]):  # typed in the chat
        typed = parse(" ".join(words))
        assert typed is not None, words
        assert typed.name is not None, words
    else:
        raise AssertionError(f"a page shows a command that nobody checks: {words[0]}")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_command_line_of_a_block_is_read_by_its_own_parser(page):
    for words in commands(page):
        try:
            check(words)
        except click.ClickException as error:
            pytest.fail(f"{shlex.join(words)}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_command_line_in_running_text_is_read_as_far_as_it_goes(page):
    for span in spans(page):
        words = without_prefix(span.split() if "…" in span else shlex.split(span.replace("'", "")))
        if words and (words[0] in PROGRAMS or words[0].startswith("deploy/")) and len(words) > 1:
            if words[0] in ("ssh", "git") or words[1] == "anchor":
                continue
            try:
                check(words, whole=False)
            except click.ClickException as error:
                pytest.fail(f"{span}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_settings_block_is_taken_by_the_settings(page, tmp_path):
    for language, inner in blocks(page):
        if is_toml(language, inner):
            check_settings(tomllib.loads(inner), inner, tmp_path)


def check_settings(found, text, folder):
    if {"board", "card"} & set(found):
        (folder / "boards.toml").write_text(text, "utf-8")
        load_declared(folder / "boards.toml")
        return
    for kind, key in ((BoxSettings, "box"), (OtherBoxSettings, "other_box")):
        for part in found.get(key, []) if key == "other_box" else filter(None, [found.get(key)]):
            msgspec.convert(part, kind, dec_hook=lambda wanted, value: wanted(value))
    rest = {key: value for key, value in found.items() if key not in ("box", "other_box")}
    kind = Settings if set(rest) <= set(Settings.__struct_fields__) else EngineSettings
    msgspec.convert(rest, kind, dec_hook=lambda wanted, value: wanted(value))


@functools.cache
def identifiers():
    """Every name in the program, its tests and benches, its data and its tables."""
    found = set()
    for pattern in ("**/*.py", "**/*.toml", "**/*.sql", "deploy/**/*", "tests/**/*.c"):
        for path in ROOT.glob(pattern):
            if path.is_file() and not {".venv", "results"} & set(path.relative_to(ROOT).parts):
                found |= set(re.findall(r"[A-Za-z_]\w+", path.read_text("utf-8", "replace")))
    return found


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_name_shown_is_a_name_of_the_program(page):
    for span in spans(page):
        name = re.fullmatch(r"([a-z]+(?:_[a-z0-9]+)+)(?: = .*)?", span)
        if name:
            assert name[1] in identifiers(), span
        setting = re.fullmatch(r"([a-z_]+) = .+", span)
        if setting:
            assert setting[1] in identifiers(), span


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_path_shown_exists(page):
    rooms = "protocol|verify|rag|worker|bot|bench|docs|deploy|tests|decisions"
    for span in spans(page):
        for path in re.findall(rf"(?<![\w/.])((?:{rooms})/[\w./*-]*)", span):
            near = [ROOT, page.parent, ROOT / "docs", ROOT / "bot", ROOT / "worker"]
            if path.startswith("bench/results/"):
                continue  # written by a run
            found = any(any(folder.glob(path.rstrip("/."))) for folder in near)
            assert found, path


@functools.cache
def typed_commands():
    """What begins with a slash in the chat, and in Discord."""
    guild = (ROOT / "bot" / "guild" / "commands.py").read_text("utf-8")
    return {*map(str, Name), *re.findall(r"@add\(name=\"([a-z]+)\"", guild)}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_slash_command_shown_is_one(page):
    for span in spans(page):
        for line in span.split(" /") if span.startswith("/") else ():
            typed = re.fullmatch(r"/?([a-z]+)(?: .*)?", line)
            if typed and not (Path("/") / typed[1]).is_dir():  # a folder of the system
                assert typed[1] in typed_commands(), span


def test_the_pages_are_full_of_commands():
    assert sum(1 for page in PAGES for _ in commands(page)) > 50
    assert sum(is_toml(*block) for page in PAGES for block in blocks(page)) >= 5


def test_what_is_not_there_would_be_seen(tmp_path):
    for line in (
        "secondchair-worker matters open X --foldr papers",
        "secondchair-worker restor /mnt",
        "secondchair-worker restore",
        "python -m bench nothing --json",
        "python -m bench verify --nothing",
        'pip install ".[nothing]"',
        "pip install left-pad",
        "systemctl enable secondchair-nothing.service",
        "make nothing",
        "curl example.org",
    ):
        with pytest.raises((AssertionError, click.ClickException)):
            check(shlex.split(line))
    with pytest.raises(msgspec.ValidationError):
        check_settings({"box": {"nam": "one"}}, "", tmp_path)
