"""Runs one bench: ``python -m bench verify --json``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from bench.harness import HERE, Arguments, Result, data_folder, machine, write_rows

_PARTS = {"__init__", "__main__", "harness", "fuzz", "make_record"}


def names() -> list[str]:
    """The benches there are: modules of this package with a ``run``."""
    stems = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in _PARTS)
    return [stem for stem in stems if "def run(" in (HERE / f"{stem}.py").read_text("utf-8")]


def main() -> int:
    """Exit code 1 when a figure that must hold does not, 2 for a wrong name."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=names())
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--full", action="store_true", help="the issue's sizes; may take an hour")
    parser.add_argument("--data", help="folder with verify/, retrieval/, files/")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--part", action="append", default=[], help="only this one; repeatable")
    own = parser.add_argument_group("models of the operator, for rag_table")
    own.add_argument("--model", action="append", default=[], type=Path, help="a folder; repeatable")
    own.add_argument("--question-prefix", default="", help='what they want first, as "query: "')
    own.add_argument("--passage-prefix", default="", help='what they want first, as "passage: "')
    own.add_argument("--reranker", type=Path, help="folder of a cross-encoder")
    own.add_argument("--device", default="cpu", help="where they run: cpu, cuda, cuda:1")
    given = parser.parse_args()
    bench = importlib.import_module(f"bench.{given.name}")
    parts: tuple[str, ...] = getattr(bench, "PARTS", ())
    if unknown := sorted(set(given.part) - set(parts)):
        has = f"its parts are {', '.join(parts)}" if parts else "it has no parts"
        parser.error(f"{given.name} has no part {', '.join(unknown)}; {has}")
    started = time.time()
    result: Result = bench.run(
        Arguments(
            full=given.full,
            data=data_folder(given.data),
            seed=given.seed,
            parts=frozenset(given.part),
            models=tuple(given.model),
            prefixes=(given.question_prefix, given.passage_prefix),
            reranker=given.reranker,
            device=given.device,
        )
    )
    path = write_rows(given.name, result.rows)
    report = {
        "bench": given.name,
        "figures": result.figures,
        "sizes": result.sizes,
        "notes": result.notes,
        "machine": machine(),
        "seconds": round(time.time() - started, 1),
        "rows": f"{path.parent.parent.name}/{path.parent.name}/{path.name}",
    }
    if given.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        for name, value in result.figures.items():
            print(f"{name:32} {value}")
        for line in result.lines:
            print(line)
        for note in result.notes:
            print(f"! {note}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
