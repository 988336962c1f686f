"""A matter is closed while the worker runs and has it open: nothing of it stays on the box."""

from __future__ import annotations

import contextlib
import json
import sqlite3

CANARY = "Quokkanaut"


def files_with(folder, words):
    """The files in which the words stand, in any of the usual encodings."""
    needles = [
        form.encode(code)
        for code in ("utf-8", "utf-16-le", "utf-16-be")
        for form in (words, words.lower(), words.upper())
    ]
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if words in path.name or any(needle in content for needle in needles):
                found.append(path.relative_to(folder))
    return found


def test_closing_leaves_no_word_no_job_and_no_right(box, tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / f"{CANARY} memo.txt").write_text(
        f"MEMO\n\n{CANARY} paid the rent of $9,800.00 on March 4, 2024.\n"
        f"Ms. Reeves told {CANARY} about the leak on January 9, 2024.\n"
    )
    opened = box.operator(
        "matters", "open", f"{CANARY} v. Northgate", "--folder", str(papers), "--user", "you"
    )
    code = opened.stdout.strip()
    question = f"When did {CANARY} pay the rent?"
    asked = box.client("ask", "--matter", code, "--json", "-", said=question)
    assert asked.returncode == 0, asked.stderr
    job = json.loads(asked.stdout)["job"]
    assert files_with(box.folder, CANARY)

    done = box.operator("matters", "close", code, "--yes", check=False)
    assert done.returncode == 0, done.stderr
    assert not (box.state / "matters" / code).exists()
    assert files_with(box.folder, CANARY) == []
    with contextlib.closing(sqlite3.connect(box.state / "queue.sqlite")) as queue:
        for table, column in (("job", "matter"), ("last_turn", "matter"), ("event", "job")):
            kept = {row[0] for row in queue.execute(f"SELECT {column} FROM {table}")}
            assert not kept & {code, job}
    assert code not in (box.state / "registry" / "users.toml").read_text("utf-8")
    assert not (box.state / "closing").exists()
    again = box.client("ask", "--matter", code, "--json", "-", said=question)
    assert again.returncode != 0
    journal = (box.state / "audit" / f"{code}.jsonl").read_text("utf-8")
    assert "matter.closed" in journal
    assert box.operator("audit", "verify", check=False).returncode == 0
    assert box.operator("matters", "close", code, "--yes", check=False).returncode != 0
    assert box.ask("How much is the base rent per month?")["items"]  # the other matter goes on
