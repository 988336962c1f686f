"""init makes what is missing and overwrites nothing; doctor says of each thing how it stands."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tomllib

import msgspec
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from bot import checkup, cli
from bot import words as catalogue
from bot.blocks import plain
from bot.checkup import Check, Report, State
from bot.config import Settings, load
from bot.look import Look
from bot.setup import prepare
from protocol.errors import BadRequest, Refused, Unavailable
from protocol.jobs import HealthIs


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "conf"


@pytest.fixture
def settings(folder):
    return Settings(key_file=folder / "id_ed25519", known_hosts=folder / "known_hosts")


def made(settings, folder, **more):
    flags = more.pop("flags", {})
    settings = msgspec.structs.replace(settings, **{k: v for k, v in flags.items() if v})
    source = more.pop("known_hosts_from", None)
    return list(prepare(settings, folder / "bot.toml", flags, source))


def test_a_key_of_ones_own_that_nobody_else_can_read(settings, folder):
    said = made(settings, folder)
    private = load_ssh_private_key(settings.key_file.read_bytes(), None)
    public = load_ssh_public_key(said[-1].encode())
    assert said[-1].startswith("ssh-ed25519 ")
    assert private.public_key().public_bytes_raw() == public.public_bytes_raw()
    assert (folder / "id_ed25519.pub").read_text().strip() == said[-1]
    assert not any("PRIVATE" in line for line in said)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_modes(settings, folder):
    made(settings, folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("id_ed25519", "bot.toml"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_what_is_there_stays(settings, folder, tmp_path):
    source = tmp_path / "given"
    source.write_text("[box]:8022 ssh-ed25519 AAAA\n")
    made(settings, folder, known_hosts_from=source)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    source.write_text("another\n")
    said = made(settings, folder, known_hosts_from=source, flags={"port": 9})
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert sum("there already" in line for line in said) == 3


def test_flags_are_written_into_a_new_file(settings, folder):
    made(settings, folder, flags={"host": 'a"b', "port": 2222, "language": None})
    assert tomllib.loads((folder / "bot.toml").read_text("utf-8")) == {"host": 'a"b', "port": 2222}


def test_host_keys_that_are_not_there(settings, folder, tmp_path):
    with pytest.raises(BadRequest):
        made(settings, folder, known_hosts_from=tmp_path / "none")


def test_a_disk_that_refuses(settings, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable):
        made(settings, tmp_path / "file")


# --- doctor ---------------------------------------------------------------------------------------


class Box:
    def __init__(self, outcome) -> None:
        self.outcome = outcome
        self.opened = 0

    @contextlib.asynccontextmanager
    async def __call__(self):
        self.opened += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        yield self

    async def call(self, request):
        return self.outcome


HEALTHY = HealthIs(parts={"engine": ("ok", "ready"), "index": ("degraded", "rebuilding")})


async def looked_over(settings, folder, outcome=HEALTHY) -> tuple[dict[str, Check], Report, Box]:
    flags = {"key_file": str(settings.key_file), "known_hosts": str(settings.known_hosts)}
    box = Box(outcome)
    report = await checkup.run(load(environment={}, flags=flags), box)
    return {check.name: check for check in report.checks}, report, box


@pytest.fixture
def ready(settings, folder):
    made(settings, folder)
    settings.known_hosts.write_text("# ours\n[box]:1 ssh-ed25519 AAAA\n[box]:1 ssh-ed25519 AAAB\n")
    return settings


async def test_all_is_well(ready, folder):
    checks, report, _ = await looked_over(ready, folder)
    assert {name: check.state for name, check in checks.items()} == {
        "key": State.OK,
        "host keys": State.OK,
        "words": State.OK,
        "line": State.OK,
        "box engine": State.OK,
        "box index": State.DEGRADED,
    }
    assert checkup.exit_code(report) == 0
    assert report.settings["key_file"] == (str(ready.key_file), "flag")
    assert report.settings["host"] == ("127.0.0.1", "default")


async def test_without_a_key_the_line_is_not_tried(settings, folder):
    checks, report, box = await looked_over(settings, folder)
    assert checks["key"].state is State.FAILED
    assert "init" in checks["key"].next_step
    assert checks["line"].state is State.SKIPPED
    assert (box.opened, checkup.exit_code(report)) == (0, BadRequest.exit_code)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
async def test_a_key_that_others_can_read(ready, folder):
    ready.key_file.chmod(0o640)
    checks, _, box = await looked_over(ready, folder)
    assert checks["key"].state is State.FAILED
    assert box.opened == 0


async def test_no_pinned_host_key_and_no_spare(ready, folder):
    ready.known_hosts.write_text("# nothing\n\n")
    checks, _, box = await looked_over(ready, folder)
    assert (checks["host keys"].state, box.opened) == (State.FAILED, 0)
    ready.known_hosts.write_text("[box]:1 ssh-ed25519 AAAA\n")
    checks, _, box = await looked_over(ready, folder)
    assert (checks["host keys"].state, box.opened) == (State.DEGRADED, 1)


@pytest.mark.parametrize("error", [Unavailable("away", next_step="wait"), Refused("wrong key")])
async def test_a_line_that_does_not_come_up(ready, folder, error):
    checks, report, _ = await looked_over(ready, folder, error)
    assert (checks["line"].state, checks["line"].reason) == (State.FAILED, error.message)
    assert checkup.exit_code(report) == error.exit_code


async def test_a_part_of_the_box_that_is_down(ready, folder):
    down = HealthIs(parts={"engine": ("down", "no model")})
    checks, report, _ = await looked_over(ready, folder, down)
    assert checks["box engine"].state is State.FAILED
    assert checkup.exit_code(report) == Unavailable.exit_code


async def test_the_report_for_a_person(settings, folder):
    _, report, _ = await looked_over(settings, folder)
    text = plain(checkup.blocks(report, Look(words=catalogue.load("en"))), 100)
    assert " failed   key: there is no private key\n" in text
    assert "Next: secondchair init makes one\n" in text
    assert " port = 8022  (default)\n" in text


# --- the commands ---------------------------------------------------------------------------------


def run(*words: str, **more: str):
    return CliRunner().invoke(cli.main, list(words), env=more, catch_exceptions=False)


def test_init_then_doctor(tmp_path):
    folder = tmp_path / "conf"
    paths = {
        "SECONDCHAIR_KEY_FILE": str(folder / "id"),
        "SECONDCHAIR_KNOWN_HOSTS": str(folder / "kh"),
    }
    (tmp_path / "kh").write_text("[127.0.0.1]:9 ssh-ed25519 AAAA\n")
    words = ("init", "--config", str(folder / "bot.toml"), "--port", "9")
    done = run(*words, "--known-hosts-from", str(tmp_path / "kh"), **paths)
    assert "ssh-ed25519 AAAA" in (folder / "kh").read_text()
    assert "port = 9" in (folder / "bot.toml").read_text("utf-8")
    assert "made" in done.stderr
    assert "host keys: one host key is pinned" in done.stdout
    assert "failed   line:" in done.stdout  # nothing listens on port 9
    assert done.exit_code != 0


def test_doctor_as_json(tmp_path):
    (tmp_path / "bot.toml").write_text('language = "ko"\n')
    done = run(
        "doctor",
        "--json",
        "--config",
        str(tmp_path / "bot.toml"),
        SECONDCHAIR_KEY_FILE=str(tmp_path / "id"),
    )
    report = json.loads(done.stdout)
    assert done.exit_code == BadRequest.exit_code
    assert {"name", "state", "reason", "next_step"} <= set(report["checks"][0])
    assert report["settings"]["language"] == ["ko", "file"]
    assert report["settings"]["key_file"][1] == "environment"


def test_an_error_of_ours_is_a_sentence_and_never_a_traceback(monkeypatch):
    words_of_a_case = "Marigold said the leak was known"

    async def broken(*args: object, **more: object) -> int:
        raise RuntimeError(words_of_a_case)

    monkeypatch.setattr(cli, "_once", broken)
    done = run("ask", "--matter", "M-7F3K", "-")
    assert done.exit_code == 1
    assert "this program failed (RuntimeError at bot.options:" in done.stderr
    assert words_of_a_case not in done.output


@pytest.mark.parametrize("command", ["chat", "ask", "find", "init", "doctor"])
def test_help_has_examples(command):
    done = run(command, "--help")
    assert "Examples:\n" in done.stdout
    assert f"secondchair {command}" in done.stdout
