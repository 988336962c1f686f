"""The Windows kit: filled in, read by stock tools, parsed where a PowerShell grammar is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2] / "deploy" / "windows"
SCRIPTS = ("setup.ps1", "remove.ps1")

needs_ssh = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no OpenSSH client here")


def text_of(name: str) -> str:
    return (KIT / name).read_bytes().decode("utf-8-sig")


def ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def filled(tmp_path):
    """A kit for an office with a current and a spare host key."""
    keys = []
    for name in ("host", "spare"):
        ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name)
        keys.append(tmp_path / f"{name}.pub")
    done = ran(KIT / "make-kit.sh", tmp_path / "kit", "box.example", "8022", *keys)
    assert done.returncode == 0, done.stderr
    return tmp_path / "kit", keys


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name):
    grammar = pytest.importorskip(
        "tree_sitter_powershell", reason="tree-sitter-powershell is not installed"
    )
    tree_sitter = pytest.importorskip("tree_sitter", reason="tree-sitter is not installed")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    def faults(source: str) -> bool:
        return bool(parser.parse(source.encode()).root_node.has_error)

    text = text_of(name)
    assert not faults(text)
    assert faults(text.replace("{", "", 1)), "a grammar that takes anything checks nothing"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_for_the_powershell_that_windows_has(name):
    raw = (KIT / name).read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf"), "Windows PowerShell 5.1 reads Korean only with a mark"
    assert raw.count(b"\n") == raw.count(b"\r\n")
    text = re.sub(r"<#.*?#>", "", text_of(name), flags=re.DOTALL)
    code = "\n".join(row.split(" #")[0] for row in text.splitlines())
    for newer in ("??", "?.", "&&", "||", " ? "):
        assert newer not in re.sub(r"'[^']*'|\"[^\"]*\"", "", code), newer
    for opening, closing in ("{}", "()"):
        bare = re.sub(r"'[^'\r\n]*'|#[^\r\n]*", "", text)
        assert bare.count(opening) == bare.count(closing)
    assert "Set-StrictMode" in text
    assert "$ErrorActionPreference = 'Stop'" in text


def test_messages_say_the_same_in_both_languages():
    text = text_of("setup.ps1")
    tables = dict(re.findall(r"\$(English|Korean) = @\{(.*?)\n\}", text, re.DOTALL))
    keys = {name: set(re.findall(r"^\s+(\w+)\s+=", rows, re.M)) for name, rows in tables.items()}
    assert keys["English"] == keys["Korean"]
    assert keys["English"] == set(re.findall(r"\$Words\.(\w+)", text))


def test_the_launcher_is_for_cmd_and_puts_the_terminal_right():
    raw = (KIT / "Start-secondchair.cmd").read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n"), "cmd misses labels after bare line ends"
    text = raw.decode("ascii")
    for code in ("[?1049l", "[?1000l", "[?2004l", "[?25h", "[0m"):
        assert code in text
    for label in re.findall(r"goto (\w+)", text):
        assert f"\n:{label}\r" in text


@needs_ssh
def test_stock_ssh_reads_the_config_as_it_is_meant(filled):
    kit, _ = filled
    told = ran("ssh", "-G", "-F", kit / "config", "secondchair")
    assert told.returncode == 0, told.stderr
    rows = dict(row.split(" ", 1) for row in told.stdout.splitlines() if " " in row)
    assert (rows["hostname"], rows["port"]) == ("box.example", "8022")
    assert rows["stricthostkeychecking"] in ("yes", "true")
    assert rows["identitiesonly"] == "yes"
    assert rows["forwardagent"] == rows["forwardx11"] == "no"
    assert rows["clearallforwardings"] == "yes"
    assert rows["passwordauthentication"] == "no"
    assert (rows["serveraliveinterval"], rows["serveralivecountmax"]) == ("15", "3")
    assert rows["userknownhostsfile"].endswith("secondchair/known_hosts")


@needs_ssh
def test_both_host_keys_are_pinned_for_ssh_and_for_putty(filled):
    kit, keys = filled
    found = ran("ssh-keygen", "-F", "[box.example]:8022", "-f", kit / "known_hosts")
    for key in keys:
        kind, blob = key.read_text().split()[:2]
        assert f"{kind} {blob}" in found.stdout
        mark = ran("ssh-keygen", "-l", "-f", key).stdout.split()[1]
        assert mark in (kit / "putty.reg").read_text()
    assert {file.name for file in kit.iterdir()} == {
        "known_hosts", "config", "putty.reg", "setup.ps1", "remove.ps1",
        "Start-secondchair.cmd", "GUIDE.md", "pictures",
    }  # fmt: skip
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", (kit / "GUIDE.md").read_text()):
        assert (kit / picture).is_file()


@needs_ssh
def test_a_private_key_or_an_odd_host_goes_into_no_kit(tmp_path):
    ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "host")
    private = ran(KIT / "make-kit.sh", tmp_path / "a", "box", "8022", tmp_path / "host")
    assert private.returncode == 2
    assert not (tmp_path / "a").exists()
    odd = ran(KIT / "make-kit.sh", tmp_path / "b", "box/e;id", "8022", tmp_path / "host.pub")
    assert odd.returncode == 2


def test_nothing_in_the_kit_forwards_or_trusts_on_first_use():
    for file in KIT.iterdir():
        if file.name in ("README.md", "TESTS.md"):
            continue
        text = file.read_bytes().decode("utf-8-sig")
        assert "accept-new" not in text
        assert not re.search(r"ssh(\.exe)? .*-[LRD] ", text), file.name
