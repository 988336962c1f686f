"""`python -m rag`: read one file, or run the retrieval measurement. For benches and outsiders.

Exit codes follow the error tree: 0 also when a file could be opened but nothing of it read, 2 for a
missing file or wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protocol.errors import AppError, NotFound
from rag.loaders import LoadOptions, load
from rag.paged import PagedText


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except NotFound as error:
        print(error.message, file=sys.stderr)
        return 2
    except AppError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rag", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    read = commands.add_parser("read", help="read one file and say what was found")
    read.add_argument("file", type=Path)
    read.add_argument("--json", action="store_true", help="one JSON object")
    read.add_argument("--text", action="store_true", help="add the text itself")
    read.add_argument("--language", action="append", help="OCR language (eng, kor, fra, ...)")
    read.set_defaults(run=_read)
    evaluate = commands.add_parser("eval", help="answer a file of queries with passages")
    evaluate.add_argument("--documents", type=Path, required=True)
    evaluate.add_argument("--queries", type=Path, required=True)
    evaluate.add_argument("--out", type=Path, required=True)
    evaluate.add_argument("--top-k", type=int, default=20)
    evaluate.set_defaults(run=_evaluate)
    return parser


def _read(chosen: argparse.Namespace) -> int:
    options = LoadOptions(languages=tuple(chosen.language or ("eng",)))
    document, *parts = load(chosen.file, options=options)
    value = _value(document, chosen.text)
    value["parts"] = [_value(part, chosen.text) for part in parts]
    if chosen.json:
        json.dump(value, sys.stdout, ensure_ascii=False)
        print()
    else:
        for paged in (document, *parts):
            _show(paged)
    return 0


def _value(paged: PagedText, with_text: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "file": paged.name,
        "kind": paged.kind,
        "pages": [
            {
                "number": page.number,
                "label": page.label,
                "bates": page.bates,
                "chars": page.end - page.start,
                "class": page.reading.value,
                "confidence": page.confidence,
                "readers_disagree": page.readers_disagree,
                "reason": page.reason,
            }
            for page in paged.pages
        ],
        "characters": len(paged.text),
        "findings": [
            {
                "kind": found.kind.value,
                "page": found.page,
                "start": found.start,
                "end": found.end,
                "reason": found.reason,
            }
            for found in paged.findings
        ],
        "warnings": list(paged.warnings),
    }
    if with_text:
        value["text"] = paged.text
    return value


def _show(paged: PagedText) -> None:
    print(f"{paged.name}: {paged.kind}, {len(paged.pages)} pages, {len(paged.text)} characters")
    for page in paged.pages:
        told = [page.reading.value, f"{page.end - page.start} characters"]
        told += [f"printed {page.label}"] if page.label else []
        told += [page.bates] if page.bates else []
        told += [f"confidence {page.confidence:.0%}"] if page.confidence is not None else []
        told += [page.reason] if page.reason else []
        print(f"  page {page.number}: " + ", ".join(told))
    for found in paged.findings:
        print(f"  {found.kind.value}, page {found.page}: {found.reason}")
    for warning in paged.warnings:
        print(f"  note: {warning}")


def _evaluate(chosen: argparse.Namespace) -> int:
    from rag.evaluate import run  # brings the embedder; reading a file must not

    run(chosen.documents, chosen.queries, chosen.out, chosen.top_k)
    return 0


if __name__ == "__main__":
    sys.exit(main())
