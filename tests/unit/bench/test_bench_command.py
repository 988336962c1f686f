"""The command that runs benches: which parts it takes, and what it says of wrong ones."""

import sys
import types

import pytest

import bench.__main__ as command
from bench import harness
from bench.harness import Arguments, Result


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """A bench of two parts; the list of those that ran."""
    parts: list[str] = []
    module = types.ModuleType("bench.pipeline")
    module.PARTS = ("one", "two")

    def run(arguments: Arguments) -> Result:
        parts.extend(part for part in module.PARTS if arguments.wants(part))
        return Result(figures={"tried": len(parts)})

    module.run = run
    monkeypatch.setitem(sys.modules, "bench.pipeline", module)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    # A report names its rows by a path under the folder of the benches.
    monkeypatch.setattr(command, "write_rows", lambda name, rows: tmp_path / "a" / "b" / name)
    return parts


def call(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return command.main()


def test_without_a_part_all_run_and_each_is_named(ran, monkeypatch, capsys):
    assert call(monkeypatch, "pipeline") == 0
    assert ran == ["one", "two"]
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["one", "two"]


def test_one_part_runs_alone(ran, monkeypatch):
    assert call(monkeypatch, "pipeline", "--part", "two") == 0
    assert ran == ["two"]


def test_a_part_that_does_not_exist_is_named_with_those_that_do(ran, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, "pipeline", "--part", "three")
    assert not ran
    assert "pipeline has no part three; its parts are one, two" in capsys.readouterr().err


def test_every_bench_with_parts_names_them():
    import importlib

    having = {
        name
        for name in command.names()
        if hasattr(importlib.import_module(f"bench.{name}"), "PARTS")
    }
    assert {"rag", "engine", "pipeline"} <= having
