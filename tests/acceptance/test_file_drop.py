"""A file put with stock sftp is in the record at once; an export is fetched the same way."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

pytestmark = pytest.mark.skipif(shutil.which("sftp") is None, reason="no OpenSSH client here")

UP_S = 120


def _sftp(box, commands: str, user: str = "you") -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            "sftp", "-F", "none", "-b", "-", "-P", str(box.port), "-i", box.key(user),
            "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={box.folder / 'known_hosts'}",
            "-o", "StrictHostKeyChecking=yes", "whoever@127.0.0.1",
        ],
        input=commands,
        capture_output=True,
        text=True,
        timeout=UP_S,
    )  # fmt: skip


def test_a_file_put_over_sftp_is_found_and_a_stranger_sees_none_of_it(box, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    (given / "First letter.txt").write_text("The pump was delivered on March 4, 2024.\n")
    opened = box.operator(
        "matters", "open", "Drop v. Box", "--folder", str(given), "--user", "you"
    )  # fmt: skip
    matter = opened.stdout.strip()
    late = tmp_path / "Second letter.txt"
    late.write_text("The gasket of the pump had perished by the ninth of May 2024.\n")
    put = _sftp(box, f'put "{late}" /{matter}/inbox/\nls /{matter}/inbox\n')
    assert put.returncode == 0, put.stderr
    assert "Second letter.txt" in put.stdout

    deadline = time.monotonic() + UP_S
    found = ""
    while "Second letter" not in found:  # the question itself holds the words
        assert time.monotonic() < deadline, "the file did not come into the record"
        done = box.client("find", "--matter", matter, "--json", "-", said="gasket perished")
        found = done.stdout
        time.sleep(0.5)

    journal = (box.state / "audit" / f"{matter}.jsonl").read_text()
    assert '"what":"file.put"' in journal
    assert box.operator("audit", "verify", check=False).returncode == 0

    there, nowhere = (_sftp(box, f"ls /{code}\n", "stranger") for code in (matter, "M-ZZZZ"))
    assert there.returncode == nowhere.returncode != 0
    assert there.stderr.replace(matter, "M-ZZZZ") == nowhere.stderr
