"""A model fetched from a server on loopback: whole, cut, resumed, refused, never half a model."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from click.testing import CliRunner

from protocol.errors import BadRequest, Conflict, Damaged, NotFound, Unavailable
from worker.cli.models import command
from worker.engine import model_pull
from worker.engine.model_pull import model_name, offer, pull_model
from worker.engine.models import list_models, remove_model, unfinished

BODY = b"GGUF" + b"\x03\0\0\0" + b"\0" * 16 + bytes(range(256)) * 40_000
"""About ten megabytes: more than one read."""
SHA256 = hashlib.sha256(BODY).hexdigest()


class Site(http.server.ThreadingHTTPServer):
    """Has A.gguf at /A.gguf, and at /on/A.gguf an address that leads there."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = BODY
        self.cut_after: int | None = None
        """The line is cut after so many bytes of an answer."""
        self.ranges = True
        self.says_length = True
        self.leads_to = ""
        self.sent: list[int] = []
        """Bytes of each answer."""

    def at(self, path: str = "A.gguf") -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        site = self.server
        if self.path == "/on/A.gguf":
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", site.leads_to)
            self.end_headers()
            return
        if self.path != "/A.gguf":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(asked[1]) if asked and site.ranges else 0
        if first and first >= len(site.body):
            self.send_error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            return
        rest = site.body[first:]
        self.send_response(HTTPStatus.PARTIAL_CONTENT if first else HTTPStatus.OK)
        if site.says_length:
            self.send_header("Content-Length", str(len(rest)))
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(site.body) - 1}/*")
        self.end_headers()
        if body:
            sent = rest[: site.cut_after]
            site.sent.append(len(sent))
            self.wfile.write(sent)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "models"


@pytest.fixture(autouse=True)
def _any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk under the tests may be nearly full."""
    monkeypatch.setattr(model_pull, "KEPT_FREE_BYTES", 0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_fetched_whole_and_noted(site: Site, folder: Path) -> None:
    came: list[int] = []
    offered = offer(site.at(), folder, SHA256)
    assert (offered.name, offered.size_bytes, offered.here_bytes) == ("A.gguf", len(BODY), 0)
    assert offered.host == "127.0.0.1"
    assert not folder.exists()
    model = pull_model(site.at(), folder, SHA256.upper(), came.append)
    assert sum(came) == len(BODY)
    assert list_models(folder) == (model,)
    assert (model.sha256, names(folder)) == (SHA256, ["A.gguf", "A.gguf.sha256"])
    with pytest.raises(Conflict):
        pull_model(site.at(), folder, SHA256)
    with pytest.raises(Conflict):
        offer(site.at(), folder, SHA256)


def test_without_a_length_a_cut_file_is_no_model_either(site: Site, folder: Path) -> None:
    site.says_length = False
    site.cut_after = 3_000_000
    assert offer(site.at(), folder, SHA256).size_bytes == 0
    with pytest.raises(Damaged):
        pull_model(site.at(), folder, SHA256)
    assert names(folder) == []
    site.cut_after = None
    pull_model(site.at(), folder, SHA256)
    assert (folder / "A.gguf").read_bytes() == BODY


def test_a_file_of_another_hash_is_removed(site: Site, folder: Path) -> None:
    with pytest.raises(Damaged):
        pull_model(site.at(), folder, "0" * 64)
    assert names(folder) == []


@pytest.mark.parametrize("cut", [0, 3, 1 << 20, len(BODY) - 1])
def test_a_cut_line_loses_nothing_that_came(site: Site, folder: Path, cut: int) -> None:
    site.cut_after = cut
    with pytest.raises(Unavailable, match="cut") as caught:
        pull_model(site.at(), folder, SHA256)
    assert "goes on" in caught.value.next_step
    assert list_models(folder) == ()  # half a model is none
    assert [part.size_bytes for part in unfinished(folder)] == [cut]
    site.cut_after = None
    assert offer(site.at(), folder, SHA256).here_bytes == cut
    came: list[int] = []
    pull_model(site.at(), folder, SHA256, came.append)
    assert site.sent == [cut, len(BODY) - cut]
    assert came[0] == cut
    assert sum(came) == len(BODY)
    assert (folder / "A.gguf").read_bytes() == BODY


def test_a_line_that_is_cut_again_and_again_arrives_in_the_end(site: Site, folder: Path) -> None:
    site.cut_after = 3_000_000
    for _ in range(3):
        with pytest.raises(Unavailable):
            pull_model(site.at(), folder, SHA256)
    pull_model(site.at(), folder, SHA256)
    assert sum(site.sent) == len(BODY)


def test_a_server_that_knows_no_ranges_begins_anew(site: Site, folder: Path) -> None:
    site.cut_after, site.ranges = 5_000_000, False
    with pytest.raises(Unavailable):
        pull_model(site.at(), folder, SHA256)
    site.cut_after = None
    came: list[int] = []
    pull_model(site.at(), folder, SHA256, came.append)
    assert sum(came) == len(BODY)
    assert came[:2] == [5_000_000, -5_000_000]
    assert (folder / "A.gguf").read_bytes() == BODY


def test_what_had_come_whole_but_was_not_yet_a_model_becomes_one(site: Site, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / f"A.{SHA256[:16]}.part").write_bytes(BODY)
    pull_model(site.at(), folder, SHA256)
    assert site.sent == []
    assert names(folder) == ["A.gguf", "A.gguf.sha256"]


def test_bytes_of_another_file_are_never_gone_on_with(site: Site, folder: Path) -> None:
    """Another hash, another unfinished file; and where the server's file changed, no model."""
    site.cut_after = 4_000_000
    with pytest.raises(Unavailable):
        pull_model(site.at(), folder, SHA256)
    other = BODY[::-1]
    site.body, site.cut_after = b"GGUF" + other, None
    wanted = hashlib.sha256(site.body).hexdigest()
    pull_model(site.at(), folder, wanted)
    assert site.sent[-1] == len(site.body)
    remove_model("A.gguf", folder)
    assert names(folder) == []
    site.body, site.cut_after = BODY, 4_000_000
    with pytest.raises(Unavailable):
        pull_model(site.at(), folder, SHA256)
    site.body, site.cut_after = other, None
    with pytest.raises(Damaged):
        pull_model(site.at(), folder, SHA256)
    assert names(folder) == []


def test_a_disk_that_fills_up_is_given_back(site: Site, folder: Path) -> None:
    folder.mkdir(parents=True)
    part = folder / f"A.{SHA256[:16]}.part"
    part.symlink_to("/dev/full")  # the kernel's own full disk
    with pytest.raises(Unavailable, match="disk is full"):
        pull_model(site.at(), folder, SHA256)
    assert names(folder) == []


def test_what_has_no_room_is_not_begun(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_pull, "KEPT_FREE_BYTES", 1 << 60)
    for fetch in (offer, pull_model):
        with pytest.raises(Unavailable, match="disk lacks"):
            fetch(site.at(), folder, SHA256)
    assert list_models(folder) == ()


def test_one_command_at_a_time(site: Site, folder: Path) -> None:
    def again(_more: int) -> None:
        with pytest.raises(Conflict, match="another command"):
            pull_model(site.at(), folder, SHA256)
        asked.append(1)

    asked: list[int] = []
    pull_model(site.at(), folder, SHA256, again)
    assert asked
    assert (folder / "A.gguf").read_bytes() == BODY


def test_where_an_address_leads_is_said_and_never_to_plain_http(
    site: Site, folder: Path, tmp_path: Path
) -> None:
    site.leads_to = site.at()
    assert offer(site.at("on/A.gguf"), folder, SHA256).host == "127.0.0.1"
    pull_model(site.at("on/A.gguf"), folder, SHA256)
    for bad in ("http://models.example/A.gguf", "ftp://127.0.0.1/A.gguf", "file:///etc/passwd"):
        site.leads_to = bad
        with pytest.raises(Unavailable):
            pull_model(site.at("on/A.gguf"), tmp_path / "other", SHA256)
    assert not list_models(tmp_path / "other")


def test_what_is_not_there_is_said(site: Site, folder: Path) -> None:
    with pytest.raises(Unavailable, match="no such file"):
        offer(site.at("B.gguf"), folder, SHA256)
    with pytest.raises(BadRequest, match="SHA-256"):
        pull_model(site.at(), folder, "")
    gone = site.at()
    site.shutdown()
    site.server_close()
    with pytest.raises(Unavailable):
        pull_model(gone, folder, SHA256)


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/A.gguf",
        "file:///etc/A.gguf",
        "https://models.example/A.bin",
        "https://models.example/..%2Fx/%2e.gguf",
        "https://name:word@models.example/A.gguf",
        "https://models.example/",
        "http://127.0.0.1.models.example/A.gguf",
    ],
)
def test_addresses_that_are_not_taken(url: str) -> None:
    with pytest.raises(BadRequest):
        model_name(url)


def test_the_command_says_what_it_will_fetch_and_asks(site: Site, tmp_path: Path) -> None:
    obj = {"config": None, "flags": {"state": tmp_path / "state"}}

    def run(*words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(command, list(words), obj=obj)
        return done.exit_code, done.stdout, done.stderr

    pull = ("pull", site.at(), "--sha256", SHA256)
    code, _, told = run(*pull)
    assert code != 0  # nobody to ask
    assert f"A.gguf, 0.01 GB, from {site.at()}" in told
    assert site.sent == []
    site.cut_after = 6_000_000
    assert run(*pull, "--yes")[0] != 0
    assert "A.gguf  not whole: 0.01 GB came" in run("list")[1]
    assert json.loads(run("list", "--json")[1]) == []
    site.cut_after = None
    code, said, told = run(*pull, "--yes")
    assert (code, SHA256 in said) == (0, True)
    assert "0.01 GB of it are here from an earlier try" in told
    assert run("verify")[:2] == (0, "A.gguf: as recorded\n")
    assert run("remove", "A.gguf")[0] == 0
    assert run("list")[1] == ""


def test_an_unfinished_model_can_be_removed(site: Site, folder: Path) -> None:
    site.cut_after = 100
    with pytest.raises(Unavailable):
        pull_model(site.at(), folder, SHA256)
    remove_model("A.gguf", folder)
    assert names(folder) == []
    with pytest.raises(NotFound):
        remove_model("A.gguf", folder)
