"""Who may do what: a table of cases, a sentence each, and what a refusal gives away."""

from __future__ import annotations

import base64
import datetime as dt
import itertools
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import BadRequest, NotFound, Refused, to_wire
from protocol.ids import MatterId, UserName
from protocol.jobs import AtOnceRequest, WorkRequest
from worker.access import ACTION_OF, Action, Identity, decide, explain, visible_matters
from worker.registry import Disclosure, Key, Registry, Role, User, Wall

NOW = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
ALDER, BIRCH, ABSENT = MatterId("M-A1DR"), MatterId("M-B1RC"), MatterId("M-ZZZZ")


def _key(number: int, **more) -> Key:
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 " + bytes([number]) * 32
    return Key(public=f"ssh-ed25519 {base64.b64encode(blob).decode()}", **more)


def _user(number: int, name: str, role: Role, *matters: str, key=None, **more) -> User:
    return User(name=name, role=role, matters=matters, keys=(key or _key(number),), **more)


KEYS = {
    "lawyer": 1,
    "reviewer": 2,
    "operator": 3,
    "strict": 4,
    "full": 5,
    "walled": 6,
    "late": 7,
    "gone": 8,
    "afar": 9,
    "shy": 10,
}

REGISTRY = Registry(
    users=(
        _user(1, "lawyer", Role.LAWYER, ALDER, discord=("11",)),
        _user(2, "reviewer", Role.REVIEWER, ALDER, discord=("22",), approve_from_chat=True),
        _user(3, "operator", Role.OPERATOR),
        _user(4, "strict", Role.BOT, ALDER),
        _user(5, "full", Role.BOT, ALDER, disclosure=Disclosure.FULL),
        _user(6, "walled", Role.REVIEWER, ALDER, BIRCH, discord=("66",), approve_from_chat=True),
        _user(7, "late", Role.LAWYER, ALDER, key=_key(7, expires=dt.date(2026, 3, 1))),
        _user(8, "gone", Role.LAWYER, ALDER, key=_key(8, revoked=True)),
        _user(10, "shy", Role.REVIEWER, ALDER, discord=("77",)),
        _user(9, "afar", Role.LAWYER, ALDER, key=_key(9, networks=("10.0.0.0/8",))),
    ),
    walls=(Wall(matter=ALDER, users=("walled",)),),
)


def _who(name: str, acting_for: str | None = None, peer: str = "127.0.0.1") -> Identity:
    mark = _key(KEYS.get(name, 99)).fingerprint
    return Identity(user=UserName(name), fingerprint=mark, peer=peer, acting_for=acting_for)


CASES = [
    # a lawyer works on the matter he is given
    ("lawyer", None, Action.ASK, ALDER, "allowed"),
    ("lawyer", None, Action.READ, ALDER, "allowed"),
    ("lawyer", None, Action.EXPORT, ALDER, "allowed"),
    # he may not decide, and is told so: he knows the matter anyway
    ("lawyer", None, Action.DECIDE, ALDER, "told"),
    # of a matter that is not his he learns nothing, nor of one that does not exist
    ("lawyer", None, Action.READ, BIRCH, "hidden"),
    ("lawyer", None, Action.READ, ABSENT, "hidden"),
    ("lawyer", None, Action.DECIDE, BIRCH, "hidden"),
    # a job that does not exist has no matter
    ("lawyer", None, Action.READ, None, "hidden"),
    # a reviewer decides
    ("reviewer", None, Action.DECIDE, ALDER, "allowed"),
    # an operator sees health and nothing else
    ("operator", None, Action.LOOK, None, "allowed"),
    ("operator", None, Action.READ, ALDER, "hidden"),
    # he alone holds boards and lets them go on
    ("operator", None, Action.OPERATE, None, "allowed"),
    ("reviewer", None, Action.OPERATE, None, "told"),
    ("lawyer", None, Action.OPERATE, None, "told"),
    ("strict", None, Action.OPERATE, None, "hidden"),
    ("strict", "11", Action.OPERATE, None, "told"),
    ("gone", None, Action.OPERATE, None, "hidden"),
    # a wall beats what a user is given
    ("walled", None, Action.READ, ALDER, "hidden"),
    ("walled", None, Action.READ, BIRCH, "allowed"),
    # keys that do not work any more, or not from here
    ("late", None, Action.LOOK, None, "hidden"),
    ("gone", None, Action.LOOK, None, "hidden"),
    ("afar", None, Action.LOOK, None, "hidden"),
    # nobody
    ("stranger", None, Action.LOOK, None, "hidden"),
    # a bot acts for a mapped person, within the rights of both
    ("strict", "11", Action.ASK, ALDER, "allowed"),
    ("strict", "11", Action.ASK, BIRCH, "hidden"),
    ("strict", "66", Action.READ, BIRCH, "hidden"),  # the person may, the bot may not
    ("strict", "66", Action.READ, ALDER, "hidden"),  # a wall holds through a bot
    ("strict", "999", Action.ASK, ALDER, "hidden"),  # an account nobody mapped
    # of itself a bot may look, no more
    ("strict", None, Action.LOOK, None, "allowed"),
    ("strict", None, Action.READ, ALDER, "hidden"),
    # approving from a chat: a full one, and a person who may
    ("full", "22", Action.DECIDE, ALDER, "allowed"),
    ("strict", "22", Action.DECIDE, ALDER, "told"),
    ("full", "77", Action.DECIDE, ALDER, "told"),
    ("full", "11", Action.DECIDE, ALDER, "told"),
    # nobody but a bot names another person
    ("reviewer", "11", Action.READ, ALDER, "hidden"),
    ("lawyer", "22", Action.DECIDE, ALDER, "hidden"),
    ("lawyer", "11", Action.READ, ALDER, "hidden"),
    # a request nobody listed
    ("reviewer", None, None, ALDER, "told"),
    ("reviewer", None, None, None, "hidden"),
]


@pytest.mark.parametrize(("name", "acting_for", "action", "matter", "expected"), CASES)
def test_cases(name, acting_for, action, matter, expected):
    ruling = decide(REGISTRY, _who(name, acting_for), action, matter, now=NOW)
    refusal = ruling.refusal()
    got = {type(None): "allowed", BadRequest: "told", Refused: "hidden"}[type(refusal)]
    assert got == expected, explain(ruling)
    assert ruling.allowed == (expected == "allowed")


def test_every_request_of_the_protocol_has_its_action():
    kinds = {*typing.get_args(WorkRequest), *typing.get_args(AtOnceRequest)}
    assert set(ACTION_OF) == kinds


def test_hidden_refusals_are_one_value_on_the_wire_and_equal_absence():
    values = {
        to_wire(decide(REGISTRY, _who(n, a), action, m, now=NOW).refusal())
        for n, a, action, m, expected in CASES
        if expected == "hidden"
    }
    assert values == {to_wire(NotFound("no such matter"))}


def test_stamp_that_names_another_user_than_the_key_is_refused():
    who = Identity(user=UserName("reviewer"), fingerprint=_who("lawyer").fingerprint, peer="::1")
    assert not decide(REGISTRY, who, Action.LOOK, None, now=NOW).allowed


def test_networks_bind_the_key():
    def allowed(peer: str) -> bool:
        who = _who("afar", peer=peer)
        return decide(REGISTRY, who, Action.READ, ALDER, now=NOW).allowed

    assert allowed("10.1.2.3")
    assert allowed("::ffff:10.1.2.3")  # the same address as a dual-stack listener shows it
    assert not allowed("11.1.2.3")
    assert not allowed("")
    assert not allowed("not an address")


def test_a_key_works_on_its_last_day_and_not_after():
    last = dt.datetime(2026, 3, 1, 23, 59, tzinfo=dt.UTC)
    assert decide(REGISTRY, _who("late"), Action.READ, ALDER, now=last).allowed
    assert not decide(REGISTRY, _who("late"), Action.READ, ALDER, now=NOW).allowed


def test_explain_shows_each_rule_and_the_outcome():
    text = explain(decide(REGISTRY, _who("walled"), Action.READ, ALDER, now=NOW))
    assert "FAILS  the user is given the matter, and no wall stands between" in text
    assert "holds  the key works now and from here" in text
    assert text.endswith("=> refused")


def test_answerable_is_the_person_a_bot_acts_for():
    ruling = decide(REGISTRY, _who("strict", "11"), Action.ASK, ALDER, now=NOW)
    assert ruling.person == "lawyer"


@pytest.mark.parametrize(
    ("name", "acting_for", "expected"),
    [
        ("lawyer", None, (ALDER,)),
        ("walled", None, (BIRCH,)),
        ("operator", None, ()),
        ("strict", None, (ALDER,)),
        ("strict", "11", (ALDER,)),
        ("strict", "66", ()),
        ("gone", None, ()),
        ("stranger", None, ()),
    ],
)
def test_visible_matters(name, acting_for, expected):
    assert visible_matters(REGISTRY, _who(name, acting_for), now=NOW) == expected


_ROLES = st.sampled_from(Role)
_SETS = st.sets(st.sampled_from([ALDER, BIRCH]))


@given(_ROLES, _SETS, _ROLES, _SETS, st.sampled_from(Action), st.sampled_from([ALDER, BIRCH]))
def test_a_bot_never_widens_and_never_exceeds_its_own(role, mine, other, theirs, action, matter):
    """Whoever acts through whom: allowed means both are given the matter."""
    first = User(
        name="first",
        role=role,
        keys=(_key(1),),
        matters=() if role in (Role.OPERATOR, Role.BOX) else tuple(sorted(mine)),
        disclosure=Disclosure.FULL,
    )
    second = User(
        name="second",
        role=other,
        keys=(_key(2),),
        matters=() if other in (Role.OPERATOR, Role.BOX) else tuple(sorted(theirs)),
        discord=("5",),
        approve_from_chat=True,
    )
    registry = Registry(users=(first, second))
    for acting_for in (None, "5"):
        who = Identity(
            user=UserName("first"),
            fingerprint=_key(1).fingerprint,
            peer="::1",
            acting_for=acting_for,
        )
        through = decide(registry, who, action, matter, now=NOW)
        if not through.allowed:
            continue
        assert matter in first.matters
        if acting_for is None:
            assert role in {Role.LAWYER, Role.REVIEWER} or action is Action.LOOK
        else:
            assert role is Role.BOT
            alone = Identity(user=UserName("second"), fingerprint=_key(2).fingerprint, peer="::1")
            assert decide(registry, alone, action, matter, now=NOW).allowed


def test_walls_hold_whatever_the_role():
    for role, action in itertools.product((Role.LAWYER, Role.REVIEWER, Role.BOT), Action):
        registry = Registry(
            users=(User(name="one", role=role, keys=(_key(1),), matters=(ALDER,)),),
            walls=(Wall(matter=ALDER, users=("one",)),),
        )
        who = Identity(user=UserName("one"), fingerprint=_key(1).fingerprint, peer="::1")
        ruling = decide(registry, who, action, ALDER, now=NOW)
        assert not ruling.allowed
        assert not ruling.visible
