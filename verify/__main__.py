"""The checker on a folder of text files, from the command line.

    python -m verify check --documents DIR --cases CASES.jsonl --out PRED.jsonl
    python -m verify reply --documents DIR REPLY.txt --markdown

``check`` reads of a case only id, kind, matter, documents, reply, span and marked, and writes one
line a case: id, verdict, source, page, reason, diff. ``reply`` checks a whole reply.
Exit codes: 0 done; 2 bad input; 4 no such file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protocol.answers import Verdict
from protocol.errors import AppError, BadRequest, NotFound
from protocol.ids import DocumentId
from verify.checker import check
from verify.citations import judge_authority_cite, judge_record_cite
from verify.dates import judge_date
from verify.figures import judge_figure
from verify.folder import FolderSource, Part
from verify.judged import Judged, Stretch
from verify.judging import judge_quote
from verify.record import OpenRecord
from verify.report import as_json, as_markdown, as_text

EXAMPLES = """examples:
  python -m verify reply --documents record/ reply.txt
      the reply with a numbered mark after every quotation, date, amount and cite, then the reasons
  python -m verify reply --documents record/ reply.txt --markdown > report.md
      a report to keep: items, places, the record's own words, sentences, hashes
  echo 'The lease says "rent is due".' | python -m verify reply --documents record/ -
      a reply from standard input
  python -m verify check --documents record/ --cases cases.jsonl --out pred.jsonl
      one verdict a line, for measuring
"""
_READ = ("id", "kind", "matter", "documents", "reply", "span", "marked")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code follows the error tree."""
    parser = argparse.ArgumentParser(
        prog="python -m verify",
        description="Checks quotations, dates, amounts, names and cites against a record.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    cases = commands.add_parser("check", help="judge labelled items, one JSON object a line")
    cases.add_argument("--documents", type=Path, required=True, help="folder of .txt files")
    cases.add_argument("--cases", type=Path, required=True, help="one case a line")
    cases.add_argument("--out", type=Path, required=True, help="where the verdicts go")
    reply = commands.add_parser("reply", help="check a whole reply")
    reply.add_argument("--documents", type=Path, required=True, help="folder of .txt files")
    reply.add_argument("reply", help="a text file, or - for standard input")
    reply.add_argument("--user-text", type=Path, help="the user's own words; they support nothing")
    shape = reply.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true")
    shape.add_argument("--markdown", action="store_true")
    reply.add_argument("--ascii", action="store_true", help="[ok] [look] [bad] for the signs")
    given = parser.parse_args(arguments)
    try:
        return _cases(given) if given.command == "check" else _reply(given)
    except AppError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code


def _reply(given: argparse.Namespace) -> int:
    text = sys.stdin.read() if given.reply == "-" else _text(Path(given.reply))
    user_text = _text(given.user_text) if given.user_text else ""
    report = check(text, FolderSource(given.documents), user_text=user_text)
    if given.json:
        print(as_json(text, report).decode())
    elif given.markdown:
        print(as_markdown(text, report), end="")
    else:
        print(as_text(text, report, ascii_only=given.ascii), end="")
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as cause:
        raise NotFound("There is no such file.") from cause
    except (UnicodeDecodeError, OSError) as cause:
        raise BadRequest("A file could not be read as UTF-8 text.") from cause


def _cases(given: argparse.Namespace) -> int:
    rows = [_case(line) for line in _text(given.cases).splitlines() if line.strip()]
    wanted = {name for row in rows for name in row["documents"]}
    whole = FolderSource(given.documents, only=sorted(wanted))
    records: dict[tuple[str, ...], OpenRecord] = {}
    with given.out.open("w", encoding="utf-8") as out:
        for row in rows:
            key = tuple(row["documents"])
            if key not in records:
                records[key] = OpenRecord(Part(whole, key))
            record = records[key]
            out.write(json.dumps(_answer(row, record), ensure_ascii=False) + "\n")
    return 0


def _case(line: str) -> dict[str, Any]:
    """A case with nothing in it but what a checker may read."""
    try:
        raw = json.loads(line)
        row = {name: raw[name] for name in _READ}
        start, end = row["span"]
        if not 0 <= start <= end <= len(row["reply"]):
            raise ValueError
    except (ValueError, KeyError, TypeError) as cause:
        raise BadRequest("A case is malformed.") from cause
    return row


def _answer(row: dict[str, Any], record: OpenRecord) -> dict[str, Any]:
    judged = judge_case(row["kind"], row["reply"], (row["span"][0], row["span"][1]), record)
    shown = judged.places
    page = record.layout(shown[0].document).page_at(shown[0].start) if shown else None
    return {
        "id": row["id"],
        "verdict": judged.verdict.value,
        "source": [{"doc": s.document, "start": s.start, "end": s.end} for s in _source(judged)],
        "page": page,
        "reason": judged.reason,
        "diff": judged.diff,
    }


def _source(judged: Judged) -> list[Stretch]:
    """The places as ranges: what only jumps over page furniture is one, other places follow."""
    places = list(judged.places)
    if judged.verdict is Verdict.VERIFIED and len(places) > 1:
        first, last = places[0], places[-1]
        if all(place.document == first.document for place in places):
            places = [Stretch(document=first.document, start=first.start, end=last.end)]
    if not places:
        return []
    return places + [place for place in judged.also_in if place.document == places[0].document][:3]


def judge_case(kind: str, reply: str, span: tuple[int, int], record: OpenRecord) -> Judged:
    """Judges one item of a known kind; a failure is CHECK, never a green."""
    scope: list[DocumentId] = [info.id for info in record.infos]
    source, tables = record.source, record.tables
    try:
        if kind == "quote":
            block = reply[max(0, span[0] - 200) : span[0]].rsplit("\n", 1)[-1].strip(" >") == ""
            return judge_quote(reply, span, record, scope, block=block and "\n" in reply[: span[0]])
        if kind == "date":
            return judge_date(reply, span, source, scope, tables=tables)
        if kind == "number":
            return judge_figure(reply, span, source, scope, tables=tables)
        if kind == "cite":
            return judge_authority_cite(reply, span, source, scope, tables=tables)
        if kind == "record_cite":
            return judge_record_cite(reply, span, source, scope)
    except Exception:
        return Judged(verdict=Verdict.CHECK, reason="not checked")
    return Judged(verdict=Verdict.CHECK, reason="No such kind of item")


if __name__ == "__main__":
    sys.exit(main())
