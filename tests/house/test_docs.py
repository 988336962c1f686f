"""What the documentation shows exists: commands, settings, pages it links to."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from bot.cli import main as client
from bot.config import Settings as ClientSettings
from worker.cli import cli as operator
from worker.config import Settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
# An anchor's own line begins with the product's name, too; a day stands behind it.
COMMAND = re.compile(r"(?<!/)secondchair(-worker)? (?!anchor \d)([a-z]+)(?: ([a-z][a-z-]*))?")


OF_THE_TESTS = {"data", "llama_server"}
"""Variables that tests and benches read; the product knows its settings only."""


def ids(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_command_shown_exists(page):
    for worker, name, sub in COMMAND.findall(page.read_text("utf-8")):
        group = operator if worker else client
        context = click.Context(group)
        command = group.get_command(context, name)
        assert command is not None, f"{name} in {page.name}"
        if isinstance(command, click.Group) and sub:
            assert command.get_command(click.Context(command), sub), f"{name} {sub}"


def shown(text):
    """Every command line of ours that a page shows: in a block, or between back-ticks."""
    for part in re.findall(r"`([^`\n]+)`", text) + text.splitlines():
        for line in re.findall(r"((?<!/)secondchair(?:-worker)? [^|`#;]+)", part):
            words = line.split()
            if not LINK.search(part) and words[1:2] != ["anchor"]:
                yield words


def found(words):
    """The command of a line, the ones above it, and the options that stand in the line."""
    group = operator if words[0].endswith("-worker") else client
    chain = [group]
    for word in words[1:]:
        inner = chain[-1]
        if not isinstance(inner, click.Group):
            break
        command = inner.get_command(click.Context(inner), word)
        if command is not None:
            chain.append(command)
    return chain, [word for word in words if re.fullmatch(r"--[a-z][a-z-]*", word)]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_option_shown_exists(page):
    for words in shown(page.read_text("utf-8")):
        chain, options = found(words)
        known = {name for one in chain for option in one.params for name in option.opts}
        known |= {name for one in chain for option in one.params for name in option.secondary_opts}
        assert set(options) <= known | {"--help", "--version"}, " ".join(words)


def test_an_option_that_is_not_there_would_be_seen():
    chain, options = found("secondchair-worker matters open X --foldr papers".split())
    assert [one.name for one in chain] == ["cli", "command", "open"]
    assert options == ["--foldr"]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_variable_target_and_script_shown_exists(page):
    text = page.read_text("utf-8")
    for name in re.findall(r"SECONDCHAIR_([A-Z_]+)", text):
        keys = {*Settings.__struct_fields__, *ClientSettings.__struct_fields__, *OF_THE_TESTS}
        assert name.lower() in keys, name
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for name in re.findall(r"(?:^|`|    )make ([a-z]+)\b", text, re.MULTILINE):
        assert name in targets, name
    for name in re.findall(r"(?<![\w/])(deploy/[\w./-]*\w)", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_the_map_names_is_there(page):
    text = (ROOT / page).read_text("utf-8")
    rooms = "bot|worker|rag|verify|protocol|tests|bench|docs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]*)`", text)
    assert len(named) > 5 or page != "ARCHITECTURE.md"
    for name in named:
        assert (ROOT / name).exists(), name


def test_every_setting_is_on_the_operations_page_and_every_one_there_exists():
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    fields = set(Settings.__struct_fields__)
    assert fields <= named | {"extractive_below_billion"}
    roles = {"lawyer", "reviewer", "operator", "bot"}
    assert named - roles <= fields


def test_every_decision_has_a_number_of_its_own():
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
    assert len(numbers) == len(set(numbers))
    assert all(number.isdigit() for number in numbers)


def test_every_command_has_help_with_an_example():
    for group in (operator, client):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            commands = [command]
            if isinstance(command, click.Group):
                inner = click.Context(command)
                commands = [command.get_command(inner, sub) for sub in command.list_commands(inner)]
            for one in commands:
                assert one.help, name
                assert "secondchair" in (one.epilog or ""), f"{name} {one.name}"  # an example
