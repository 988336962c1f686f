"""The registry file: strict, whole, and read again when it changes."""

from __future__ import annotations

import base64
import datetime as dt

import msgspec
import pytest

from protocol.errors import BadRequest, Conflict, NotFound
from protocol.ids import MatterId, UserName
from worker.registry import (
    Key,
    Registry,
    RegistryFile,
    Role,
    User,
    fingerprint,
    read,
    with_matter,
    with_revoked,
    with_user,
    write,
)

# `ssh-keygen -lf` prints this fingerprint for this key.
PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJS76a07tNkjuB//ycIJjiYQubFDvFA7zu8QeZG12ear"
MARK = "SHA256:RUAFv7yFN5Ky6zyagvXFMd3t/XlAYb93e7pxuvzogmk"


def _public(number: int, kind: bytes = b"ssh-ed25519") -> str:
    blob = len(kind).to_bytes(4) + kind + (32).to_bytes(4) + bytes([number]) * 32
    return f"{kind.decode()} {base64.b64encode(blob).decode()}"


def _registry() -> Registry:
    first = User(name="first", role=Role.LAWYER, keys=(Key(public=PUBLIC + " a comment"),))
    second = User(
        name="second",
        role=Role.REVIEWER,
        matters=("M-A1DR",),
        keys=(
            Key(public=_public(2), expires=dt.date(2030, 1, 1), networks=("10.0.0.0/8",)),
            Key(public=_public(3)),
        ),
        discord=("123",),
    )
    return Registry(users=(first, second))


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "registry" / "users.toml"
    write(path, _registry())
    assert read(path) == _registry()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in path.parent.iterdir()] == ["users.toml"]


def test_comment_of_a_key_is_dropped():
    assert Key(public=PUBLIC + " somebody@somewhere").public == PUBLIC


@pytest.mark.parametrize(
    "text",
    [
        "colour = 1",
        "version = 2",
        '[[users]]\nname = "x"\nrole = "lawyer"\nadmin = true',
        '[[users]]\nname = "x"\nrole = "root"',
        '[[users]]\nname = "X Y"\nrole = "lawyer"',
        '[[users]]\nname = "x"\nrole = "lawyer"\nmatters = ["*"]',
        '[[users]]\nname = "x"\nrole = "operator"\nmatters = ["M-A1DR"]',
        '[[users]]\nname = "x"\nrole = "lawyer"\ndiscord = ["me"]',
        '[[users]]\nname = "x"\nrole = "lawyer"\n[[users]]\nname = "x"\nrole = "bot"',
        f'[[users]]\nname = "x"\nrole = "lawyer"\nkeys = [{{public = "{PUBLIC}", restrict = 1}}]',
        f'[[users]]\nname = "x"\nrole = "lawyer"\nkeys = [{{public = "{PUBLIC}"}},'
        f'{{public = "{PUBLIC}"}}]',
        '[[users]]\nname = "x"\nrole = "lawyer"\nkeys = [{public = "ssh-ed25519 Marigold"}]',
        f'[[users]]\nname = "x"\nrole = "lawyer"\nkeys = [{{public = "{PUBLIC}", '
        'networks = ["Marigold"]}]',
        '[[walls]]\nmatter = "M-A1DR"\nusers = ["Not A Name"]',
        "Marigold said",
    ],
)
def test_anything_out_of_place_makes_the_whole_file_unreadable(tmp_path, text):
    path = tmp_path / "users.toml"
    path.write_text(text)
    with pytest.raises(BadRequest) as caught:
        read(path)
    assert "Marigold" not in caught.value.message
    assert caught.value.__cause__ is None


def test_absent_file_is_said_so(tmp_path):
    with pytest.raises(NotFound):
        read(tmp_path / "users.toml")


def test_a_key_of_a_kind_we_do_not_take_or_with_another_inside_is_refused():
    ok = _public(1)
    assert Key(public=ok)
    for bad in (
        _public(1, b"ssh-dss"),
        _public(1, b"ssh-ed25519-cert-v01@openssh.com"),
        ok.replace("ssh-ed25519", "ecdsa-sha2-nistp256"),
        ok[:-8],
        "ssh-ed25519",
        "",
        'from="10.0.0.0/8" ' + ok,
    ):
        with pytest.raises(ValueError, match=r"key"):
            Key(public=bad)


def test_short_rsa_is_refused():
    def rsa(bits: int) -> str:
        modulus = (1 << (bits - 1)).to_bytes(bits // 8 + 1)
        parts = (b"ssh-rsa", b"\x01\x00\x01", modulus)
        blob = b"".join(len(part).to_bytes(4) + part for part in parts)
        return f"ssh-rsa {base64.b64encode(blob).decode()}"

    assert Key(public=rsa(3072))
    with pytest.raises(ValueError, match="3072"):
        Key(public=rsa(2048))


def test_fingerprint_is_the_one_ssh_keygen_prints():
    assert fingerprint(PUBLIC) == MARK


def test_changes_are_new_registries():
    registry = _registry()
    with pytest.raises(Conflict):
        with_user(registry, User(name="first", role=Role.BOT))
    with pytest.raises(Conflict):
        with_user(registry, User(name="third", role=Role.BOT, keys=(Key(public=PUBLIC),)))
    more = with_user(registry, User(name="third", role=Role.BOT))
    assert more.user("third") is not None
    given = with_matter(more, UserName("first"), MatterId("M-A1DR"))
    assert given.user("first").matters == ("M-A1DR",)
    assert with_matter(given, UserName("first"), MatterId("M-A1DR")) == given
    revoked = with_revoked(given, MARK)
    assert revoked.by_key(MARK)[1].revoked
    assert sum(key.revoked for user in revoked.users for key in user.keys) == 1
    for call in (
        lambda: with_matter(registry, UserName("nobody"), MatterId("M-A1DR")),
        lambda: with_revoked(registry, "SHA256:none"),
    ):
        with pytest.raises(NotFound):
            call()


def test_a_change_on_disk_is_seen_and_a_broken_file_leaves_the_last_good_one(tmp_path):
    path = tmp_path / "users.toml"
    write(path, _registry())
    live = RegistryFile(path)
    assert live.current() is live.current()
    write(path, with_revoked(_registry(), MARK))
    assert live.current().by_key(MARK)[1].revoked
    good = path.read_text()
    path.write_text(good + "\nroot = true\n")
    assert live.current().by_key(MARK)[1].revoked
    assert isinstance(live.broken, BadRequest)
    path.write_text(good)
    assert live.current() == read(path)
    assert live.broken is None
    path.unlink()
    assert live.current().by_key(MARK)[1].revoked
    assert isinstance(live.broken, NotFound)


def test_registry_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "users.toml"
    write(path, _registry())
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "no space left")

    monkeypatch.setattr("worker.registry.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write(path, msgspec.structs.replace(_registry(), users=()))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["users.toml"]
