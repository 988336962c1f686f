"""The checker from its command line, on a folder of text files."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.answers import GREEN, SentenceClass, Verdict
from verify import OpenRecord, checker
from verify.__main__ import main
from verify.folder import FolderSource

LEASE = (
    "LEASE AGREEMENT\n\n4.1 The landlord is not permitted to terminate this lease during the fixed"
    " term.\n\n4.2 Rent of $4,250.00 per month is due on March 5, 2021.\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "lease.txt").write_text(LEASE, "utf-8")
    (documents / "memo.txt").write_text("MEMORANDUM\n\nOur own view of the claim.\n", "utf-8")
    rows = [
        {"id": "lease", "title": "Lease Agreement"},
        {"id": "memo", "title": "Memorandum", "class": "work_product"},
    ]
    (documents / "index.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return documents


def case(number: int, kind: str, reply: str, marked: str) -> dict[str, object]:
    start = reply.index(marked)
    return {
        "id": f"c{number}", "kind": kind, "matter": "m", "documents": ["lease", "memo"],
        "reply": reply, "span": [start, start + len(marked)], "marked": marked,
        "verdict": "the answer key is never read", "accept": None,
    }  # fmt: skip


def test_check_answers_every_case_and_reads_no_answer_key(folder: Path, tmp_path: Path) -> None:
    true = "The landlord is not permitted to terminate this lease"
    cases = [
        case(1, "quote", f"The lease says “{true}”.", true),
        case(2, "quote", f"The lease says “{true.replace('not ', '')}”.", true.replace("not ", "")),
        case(3, "date", "Rent of $4,250.00 per month is due on March 5, 2021.", "March 5, 2021"),
        case(4, "number", "The lease sets rent of $9,999 per month.", "$9,999"),
        case(5, "cite", "The lease cites 558 F.2d 106.", "558 F.2d 106"),
        case(6, "unheard_of", "The lease is long.", "long"),
    ]
    file, out = tmp_path / "cases.jsonl", tmp_path / "pred.jsonl"
    file.write_text("\n".join(json.dumps(c, ensure_ascii=False) for c in cases), "utf-8")
    code = main(["check", "--documents", str(folder), "--cases", str(file), "--out", str(out)])
    answers = {a["id"]: a for a in map(json.loads, out.read_text("utf-8").splitlines())}
    assert code == 0
    assert [answers[f"c{k}"]["verdict"] in GREEN for k in range(1, 7)] == [
        True, False, True, False, False, False,
    ]  # fmt: skip
    place = answers["c1"]["source"][0]
    assert LEASE[place["start"] : place["end"]] == true
    assert answers["c1"]["page"] == 1
    assert 'record "not"' in answers["c2"]["diff"]


@pytest.mark.parametrize("shape", [[], ["--json"], ["--markdown"], ["--ascii"]])
def test_reply_in_every_shape(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: list[str]
) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text("The lease says “the landlord is permitted to terminate this lease”.", "utf-8")
    assert main(["reply", "--documents", str(folder), str(reply), *shape]) == 0
    shown = capsys.readouterr().out
    assert "ALTERED" in shown
    assert "not" in shown
    if shape == ["--json"]:
        report = json.loads(shown)["report"]
        assert report["counts"] == {
            "verified": 0, "look": 0, "failing": 1, "sentences": 1, "supported": 0,
        }  # fmt: skip
        assert report["record"].keys() == {"lease"}
    if shape == ["--ascii"]:
        assert "[bad]" in shown
        assert shown.isascii() is False  # the reply's own marks stay


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["reply", "--documents", "nowhere", "-"], 4),
        (["reply", "--documents", ".", "no-such-file.txt"], 4),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(arguments) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_malformed_case_never_shows_its_words(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "x", "reply": "PRIVILEGED WORDS", "span": [0, 900]}\n', "utf-8")
    out = tmp_path / "out.jsonl"
    code = main(["check", "--documents", str(folder), "--cases", str(file), "--out", str(out)])
    assert code == 2
    assert "PRIVILEGED" not in capsys.readouterr().err


def test_a_judge_that_fails_leaves_no_green(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = (
        "The lease says “The landlord is not permitted to terminate this lease”."
        " Rent of $4,250.00 per month is due on March 5, 2021."
    )
    record = OpenRecord(FolderSource(folder))
    sound = checker.check(reply, record)
    assert sum(finding.verdict in GREEN for finding in sound.findings) == 3

    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("broken on purpose")

    for name in ("judge_quote", "judge_date", "judge_figure"):
        monkeypatch.setattr(checker, name, broken)
    told: list[Exception] = []
    report = checker.check(reply, record, on_failure=told.append)
    assert len(told) == len(sound.findings)
    assert {type(error) for error in told} == {RuntimeError}
    assert len(report.findings) == len(sound.findings)
    assert {finding.verdict for finding in report.findings} == {Verdict.CHECK}
    assert {finding.reason for finding in report.findings} == {"not checked"}


@pytest.mark.parametrize("name", ["find_dates", "find_marked", "find_figures", "find_names"])
def test_a_search_that_fails_supports_no_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(checker, name, broken)
    reply = "The lease says “The landlord is not permitted to terminate this lease”."
    told: list[Exception] = []
    report = checker.check(reply, FolderSource(folder), on_failure=told.append)
    assert len(told) == 1
    assert report.counts.supported == 0
    assert len(report.failures) == 1
    assert "not checked" in report.failures[0]
    assert set(report.failures) <= set(report.notes)
    assert all(s.sentence_class is not SentenceClass.SUPPORTED for s in report.sentences)


def test_help_shows_examples_in_a_fresh_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "verify", "--help"], capture_output=True, text=True, check=True
    )
    assert "python -m verify reply --documents" in done.stdout
