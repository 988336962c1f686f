"""``secondchair-worker init``, as it is typed: from nothing, twice, dry, and refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

from worker import registry
from worker.config import load


def init(folder, *more, check=True):
    return subprocess.run(
        [
            sys.executable, "-m", "worker", "--state", folder / "state",
            "init", "--config", folder / "worker.toml", *more,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=check,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder.with_name(f"{folder.name}-run"))},
    )  # fmt: skip


def everything(folder):
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode, path.read_bytes() if path.is_file() else b""
        )
        for path in sorted(folder.rglob("*"))
    }  # fmt: skip


def test_from_nothing_to_a_box_that_doctor_knows(tmp_path):
    said = init(tmp_path, "--yes", "--target", tmp_path / "units", "--user", "kim").stderr
    assert "worker.toml, every key explained" in said
    assert "≈ look  worker" in said  # doctor's table comes last
    state = tmp_path / "state"
    assert load(tmp_path / "worker.toml", environment={}).settings.state == state
    assert registry.read(state / "registry" / "users.toml").user("kim") is not None
    for path in (
        tmp_path / "worker.toml",
        *state.rglob("*"),
        *(tmp_path / "state-keys").rglob("*"),
    ):
        open_to_others = path.stat().st_mode & 0o007
        assert not open_to_others or path.suffix == ".pub", path
    for private in (state / "gateway" / "host_ed25519", tmp_path / "state-keys" / "kim_ed25519"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
        asked = subprocess.run(
            ["ssh-keygen", "-y", "-f", private], capture_output=True, text=True, check=True
        )
        assert (
            asked.stdout.split()[:2]
            == private.with_suffix(private.suffix + ".pub").read_text().split()[:2]
        )
    assert (tmp_path / "units" / "secondchair-gateway.service").is_file()


def test_a_second_time_changes_nothing(tmp_path):
    given = ("--yes", "--target", tmp_path / "units", "--user", "kim")
    init(tmp_path, *given)
    before = everything(tmp_path)
    init(tmp_path, *given)
    assert everything(tmp_path) == before


def test_settings_that_are_there_are_used_and_kept(tmp_path):
    (tmp_path / "worker.toml").write_text(f'state = "{tmp_path / "state"}"\nport = 2200\n')
    init(tmp_path, "--yes", "--target", tmp_path / "units")
    unit = (tmp_path / "units" / "secondchair-gateway.service").read_text()
    assert "SocketBindAllow=tcp:2200" in unit
    assert (tmp_path / "worker.toml").read_text().count("\n") == 2


def test_a_dry_run_says_all_of_it_and_leaves_nothing(tmp_path):
    said = init(tmp_path, "--dry-run", "--target", tmp_path / "units", "--user", "kim").stderr
    for what in ("worker.toml", "host_ed25519", "users.toml", "secondchair-worker.service", "kim"):
        assert what in said
    assert "nothing was changed" in said
    assert list(tmp_path.iterdir()) == []


def test_a_private_key_without_its_public_half_is_not_written_over(tmp_path):
    init(tmp_path, "--yes")
    key = tmp_path / "state" / "gateway" / "host_ed25519"
    before, public = key.read_bytes(), key.with_suffix(".pub").read_text()
    key.with_suffix(".pub").unlink()
    init(tmp_path, "--yes")
    assert key.read_bytes() == before
    assert key.with_suffix(".pub").read_text().split()[:2] == public.split()[:2]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "nobody is there to be asked"),
        (("--yes", "--user", "Kim Lee"), "a user"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(more, said, tmp_path):
    done = init(tmp_path, *more, check=False)
    assert done.returncode not in (0, 1)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_settings_that_are_no_toml_are_refused_and_kept(tmp_path):
    (tmp_path / "worker.toml").write_text("my client confessed\n")
    done = init(tmp_path, "--yes", check=False)
    assert "not TOML" in done.stderr
    assert "confessed" not in done.stderr
    assert (tmp_path / "worker.toml").read_text() == "my client confessed\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="runs as root here")
def test_a_service_wants_root(tmp_path):
    done = init(tmp_path, "--yes", "--service", check=False)
    assert "only root" in done.stderr
