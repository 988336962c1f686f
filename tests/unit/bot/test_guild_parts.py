"""The bot's small parts: what was delivered, the pace of edits, escaping, settings, rights."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.guild import settings as guild_settings
from bot.guild.deliveries import Bound, Deliveries, Delivery, Intake, nonce
from bot.guild.gate import Prose
from bot.guild.pacer import Newest, Pace
from bot.guild.rights import Asker, authorize
from bot.guild.settings import GuildSettings, Mode
from bot.guild.shape import escaped
from protocol.errors import BadRequest, Conflict, NotFound, Refused
from protocol.ids import JobId, MatterId
from protocol.jobs import Matters

MATTER = MatterId("M-7F3K")
JOB = JobId("J-0DV3K9Q2A-7F3K")
DELIVERY = Delivery(job=JOB, channel="5", matter=MATTER, account="3")


# --- deliveries ---


def test_a_part_is_started_once_and_known_after_a_restart(tmp_path):
    file = tmp_path / "state.sqlite"
    store = Deliveries(file)
    assert store.expect(DELIVERY)
    assert not store.expect(DELIVERY)
    assert store.start_part(JOB, "5", 1) == (True, "")
    store.close()  # killed here: nobody knows whether Discord has it
    store = Deliveries(file)
    assert store.start_part(JOB, "5", 1) == (False, "")
    store.sent_part(JOB, "5", 1, "99")
    assert store.start_part(JOB, "5", 1) == (False, "99")
    assert store.open_ones() == [DELIVERY]
    store.end(JOB, "5")
    assert store.open_ones() == []
    store.close()
    assert file.stat().st_mode & 0o077 == 0


def test_a_request_under_way_is_known_until_it_is_answered():
    store = Deliveries(None)
    intake = Intake(key="discord-1", channel="5", account="3")
    store.begin(intake)
    store.begin(intake)
    assert store.interrupted() == [intake]
    assert store.taken("discord-1", DELIVERY)
    assert store.interrupted() == []
    assert store.delivery(JOB, "5") == DELIVERY


def test_a_channel_keeps_its_matter():
    store = Deliveries(None)
    store.bind(Bound(channel="5", matter=MATTER))
    store.told("5")
    store.bind(Bound(channel="5", matter=MATTER, consent_by="you", consent_on="2026-11-30"))
    assert store.bound("5").consent_by == "you"
    assert not store.bound("5").banner, "a new consent is told anew"
    with pytest.raises(Conflict):
        store.bind(Bound(channel="5", matter=MatterId("M-ZZZZ")))


def test_nonces_fit_and_differ():
    made = {nonce(JOB, channel, part) for channel in "56" for part in range(3)}
    assert len(made) == 6
    assert all(len(each) <= 25 for each in made)


# --- pace ---


async def test_the_newest_progress_wins_and_edits_keep_their_distance():
    slept, shown = [], []
    resting, go = asyncio.Event(), asyncio.Event()

    async def sleep(seconds):
        slept.append(seconds)
        resting.set()
        await go.wait()

    async def edit(template):
        shown.append(template.text)
        return True

    newest = Newest(Prose(text="0"))
    running = asyncio.create_task(Pace(1.5, sleep).run("5", newest, edit))
    for number in range(1, 100):
        newest.offer(Prose(text=str(number)))
        await asyncio.sleep(0)
    await resting.wait()
    assert len(shown) == 1
    resting.clear()
    go.set()
    await resting.wait()
    assert len(shown) == 2
    assert shown[-1] == "99"
    newest.offer(Prose(text="99"))
    await asyncio.sleep(0.01)
    assert len(shown) == 2, "what is shown is not shown again"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert set(slept) == {1.5}


async def test_an_edit_that_is_of_no_use_ends_the_pacing():
    async def edit(template):
        return False

    newest = Newest(Prose(text="0"))
    newest.offer(Prose(text="1"))
    await asyncio.wait_for(Pace(1.5).run("5", newest, edit), 60)


# --- escaping ---


@given(st.text(max_size=200))
def test_escaping_only_adds_backslashes(text):
    made = escaped(text)
    rest = iter(made)
    kept = []
    for character in rest:
        if character == "\\":
            character = next(rest)
        kept.append(character)
    assert "".join(kept) == text


@pytest.mark.parametrize(
    "text", ["<@1>", "@everyone", "**x**", "# x", "> x", "[a](http://b)", "~~"]
)
def test_markup_is_shown_not_obeyed(text):
    assert escaped(text) != text
    assert "\\" in escaped(text)


# --- settings ---


def settings(**changes):
    values = {
        "mode": "strict", "server": "1", "token_file": "/t", "key_file": "/k", "state": "/s",
    }  # fmt: skip
    return "\n".join(f'{key} = "{value}"' for key, value in (values | changes).items())


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "open"},
        {"server": "my server"},
        {"api": "http://example.com/api/v10"},
        {"api": "ftp://127.0.0.1/api"},
        {"gateway": "ws://example.com/"},
        {"gateway": "https://example.com/"},
        {"nonsense": "x"},
        {"zone": "Nowhere/None"},
        {"token_file": ""},
    ],
)
def test_wrong_settings_are_refused_without_their_value(tmp_path, changes):
    file = tmp_path / "bot.toml"
    file.write_text(settings(**changes))
    with pytest.raises(BadRequest) as caught:
        guild_settings.read(file)
    assert not any(
        value and value in str(caught.value) for value in changes.values() if value != "x"
    )


def test_settings_come_back_as_they_were_explained(tmp_path):
    made = GuildSettings(
        mode=Mode.FULL, server="1", token_file=tmp_path / "t", key_file=tmp_path / "k",
        state=tmp_path / "s",
    )  # fmt: skip
    file = tmp_path / "bot.toml"
    file.write_text(guild_settings.explained(made))
    assert guild_settings.read(file) == made
    with pytest.raises(NotFound):
        guild_settings.read(tmp_path / "absent.toml")


def test_a_token_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text("secret-value\n")
    made = GuildSettings(
        mode=Mode.STRICT, server="1", token_file=file, key_file=file, state=tmp_path / "s"
    )
    file.chmod(0o644)
    with pytest.raises(BadRequest) as caught:
        guild_settings.token(made)
    assert "secret" not in str(caught.value)
    file.chmod(0o600)
    assert guild_settings.token(made) == "secret-value"


# --- rights ---


class OneLine:
    """Knows account 3, who may see nothing but what is given."""

    def __init__(self, *matters):
        self.matters = matters

    async def call(self, request, *, acting_for=None, within_s=60.0):
        if acting_for != "3":
            raise NotFound("no such matter")
        return Matters(matters=self.matters)

    def follow(self, job, after=0, *, acting_for=None):
        raise AssertionError


@pytest.mark.parametrize(
    "asker",
    [
        Asker(server="2", channel="5", account="3", roles=frozenset({"7"})),
        Asker(server="", channel="5", account="3", roles=frozenset({"7"})),
        Asker(server="1", channel="6", account="3", roles=frozenset({"7"})),
        Asker(server="1", channel="5", account="4", roles=frozenset({"7"})),
        Asker(server="1", channel="5", account="3"),
    ],
)
async def test_server_channel_person_and_role_must_all_agree(asker):
    from datetime import UTC, datetime

    from protocol.record import Matter

    store = Deliveries(None)
    store.bind(Bound(channel="5", matter=MATTER, role="7"))
    line = OneLine(Matter(id=MATTER, title="t", opened_at=datetime.now(UTC)))
    good = Asker(server="1", channel="5", account="3", roles=frozenset({"7"}))
    assert (await authorize(line, store, good, server="1")).bound.matter == MATTER
    with pytest.raises((Refused, NotFound)):
        await authorize(line, store, asker, server="1")
    with pytest.raises(Refused):
        await authorize(OneLine(), store, good, server="1")
