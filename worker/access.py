"""The one function that decides who may do what on which matter, and the one that explains it.

Deny by default: a request type that nobody listed here is refused for everybody. Whether somebody
may know that a matter exists is a question of its own (`Ruling.visible`): for those who may not, a
refusal reads exactly like absence.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Final

import msgspec

from protocol.errors import AppError, BadRequest, Refused
from protocol.ids import MatterId, UserName
from protocol.jobs import (
    Ask,
    Cancel,
    Chronology,
    CiteCheck,
    Decide,
    Edit,
    Export,
    Extract,
    Find,
    Follow,
    Forget,
    GetAnswer,
    GetBoards,
    Health,
    HoldBoard,
    HoldMatter,
    Ingest,
    KeepPlace,
    LiftHold,
    ListAudit,
    ListDocuments,
    ListJobs,
    ListMatters,
    ListPlaces,
    OpenSource,
    Request,
    ResumeBoard,
    Summarize,
    WriteDraft,
)
from worker.registry import Disclosure, Key, Registry, Role, User


class Action(StrEnum):
    """What a request does, as far as rights go."""

    LOOK = "look"
    """State of the worker, the list of one's own matters: no matter is touched."""
    READ = "read"
    """See the record, the jobs and the replies of a matter."""
    ASK = "ask"
    """Set the worker to work on a matter, stop it, forget a conversation."""
    ADD = "add"
    """Put files into a matter's record."""
    DECIDE = "decide"
    """Approve, return, withdraw or edit a draft; put a matter on legal hold and lift it."""
    EXPORT = "export"
    """Write an approved reply to a file, and take it."""
    OPERATE = "operate"
    """Hold a board and let it go on: no matter is touched."""


ACTION_OF: Final[dict[type[Request], Action]] = {
    ListMatters: Action.LOOK,
    ListPlaces: Action.LOOK,
    Health: Action.LOOK,
    GetBoards: Action.LOOK,
    HoldBoard: Action.OPERATE,
    ResumeBoard: Action.OPERATE,
    ListJobs: Action.READ,
    ListAudit: Action.READ,
    ListDocuments: Action.READ,
    OpenSource: Action.READ,
    GetAnswer: Action.READ,
    Follow: Action.READ,
    KeepPlace: Action.READ,
    Ask: Action.ASK,
    Find: Action.ASK,
    Summarize: Action.ASK,
    Extract: Action.ASK,
    Chronology: Action.ASK,
    CiteCheck: Action.ASK,
    WriteDraft: Action.ASK,
    Cancel: Action.ASK,
    Forget: Action.ASK,
    Ingest: Action.ADD,
    Decide: Action.DECIDE,
    Edit: Action.DECIDE,
    HoldMatter: Action.DECIDE,
    LiftHold: Action.DECIDE,
    Export: Action.EXPORT,
}
"""What each request needs; one that is missing here needs what nobody has."""

_OF_NO_MATTER: Final = frozenset({Action.LOOK, Action.OPERATE})

ROLE_MAY: Final[dict[Role, frozenset[Action]]] = {
    Role.LAWYER: frozenset(Action) - {Action.DECIDE, Action.OPERATE},
    Role.REVIEWER: frozenset(Action) - {Action.OPERATE},
    Role.OPERATOR: _OF_NO_MATTER,
    Role.BOT: frozenset(Action)
    - {Action.OPERATE},  # of itself LOOK only: see the rule "somebody to act for"
    Role.BOX: frozenset(),  # it has calls of a model made, which is no request
}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end, as the key proved it."""

    user: UserName
    fingerprint: str
    peer: str
    acting_for: str | None = None
    """A Discord account; only a bot's key may name one."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule that was considered and how it fared."""

    name: str
    holds: bool
    hides: bool
    """Whether its failing also hides that the matter exists."""
    said: str = ""
    """What the peer is told when it fails and hides nothing."""


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided and by which rules."""

    rules: tuple[Rule, ...]
    person: UserName
    """Who is answerable: the user himself, or the one a bot acts for."""

    @property
    def allowed(self) -> bool:
        """Every rule holds."""
        return all(rule.holds for rule in self.rules)

    @property
    def visible(self) -> bool:
        """Whether this user may know that the matter exists."""
        return all(rule.holds for rule in self.rules if rule.hides)

    def refusal(self) -> AppError | None:
        """What to raise, or None when it is allowed."""
        if self.allowed:
            return None
        if not self.visible:
            return Refused("refused")
        failed = next(rule for rule in self.rules if not rule.holds)
        return BadRequest(failed.said, next_step="ask a reviewer of this matter")


def decide(
    registry: Registry,
    who: Identity,
    action: Action | None,
    matter: MatterId | None,
    *,
    now: dt.datetime,
) -> Ruling:
    """Decides, once per call, from the registry as it stands now.

    Args:
        registry: The registry in force.
        who: The peer.
        action: What is to be done; None (an unlisted request) is refused.
        matter: The matter it touches; None only for what touches none.
        now: The time, in UTC.
    """
    found = registry.by_key(who.fingerprint)
    user, key = found if found is not None else (None, None)
    person = registry.by_discord(who.acting_for) if who.acting_for is not None else user
    rules = [
        _hide("the key is known and is this user's", user is not None and user.name == who.user),
        _hide("the key works now and from here", _works(key, who, now)),
        _hide("only a bot names another person", _may_name(user, who)),
        _hide("the person is known", person is not None),
    ]
    if matter is not None:
        rules += [_sees(registry, "user", user, matter), _sees(registry, "person", person, matter)]
    elif action not in _OF_NO_MATTER:
        rules.append(_hide("the matter is known", False))
    if user is not None and user.role is Role.BOT:
        told = who.acting_for is not None or action is Action.LOOK
        rules.append(_hide("a bot has somebody to act for", told))
        rules.append(_hide("a bot acts for people only", _acts_for_people(person, who)))
        if action is Action.DECIDE:
            rules.append(_chat_approval(user, person))
    asked = action or "do this"
    may = _role_may(person, action)
    rules.append(_tell(f"the role may {asked}", may, f"your role may not {asked} here"))
    answerable = person if person is not None else user
    name = UserName(answerable.name) if answerable is not None else who.user
    return Ruling(rules=tuple(rules), person=name)


def explain(ruling: Ruling) -> str:
    """The rules considered and how each fared, one a line; for the operator, never for the peer."""
    lines = [f"{'holds' if rule.holds else 'FAILS'}  {rule.name}" for rule in ruling.rules]
    lines.append("=> allowed" if ruling.allowed else "=> refused")
    return "\n".join(lines)


def visible_matters(registry: Registry, who: Identity, *, now: dt.datetime) -> tuple[MatterId, ...]:
    """The matters whose existence this peer may know of."""
    found = registry.by_key(who.fingerprint)
    if found is None:
        return ()
    if found[0].role is Role.BOT and who.acting_for is None:  # its own set, for autocomplete
        alone = decide(registry, who, Action.LOOK, None, now=now)
        return tuple(MatterId(m) for m in found[0].matters) if alone.allowed else ()
    return tuple(
        MatterId(matter)
        for matter in found[0].matters
        if decide(registry, who, Action.READ, MatterId(matter), now=now).allowed
    )


def _hide(name: str, holds: bool) -> Rule:
    return Rule(name=name, holds=holds, hides=True)


def _tell(name: str, holds: bool, said: str) -> Rule:
    return Rule(name=name, holds=holds, hides=False, said=said)


def _works(key: Key | None, who: Identity, now: dt.datetime) -> bool:
    return key is not None and key.works(peer=who.peer, now=now)


def _may_name(user: User | None, who: Identity) -> bool:
    return who.acting_for is None or (user is not None and user.role is Role.BOT)


def _acts_for_people(person: User | None, who: Identity) -> bool:
    if who.acting_for is None:
        return True
    return person is not None and person.role in {Role.LAWYER, Role.REVIEWER}


def _sees(registry: Registry, part: str, user: User | None, matter: MatterId) -> Rule:
    given = user is not None and matter in user.matters and not registry.walled(user.name, matter)
    return _hide(f"the {part} is given the matter, and no wall stands between", given)


def _chat_approval(bot: User, person: User | None) -> Rule:
    allowed = bot.disclosure is Disclosure.FULL and person is not None and person.approve_from_chat
    said = "you may not approve from this chat"
    return _tell("this person may approve from this chat", allowed, said)


def _role_may(person: User | None, action: Action | None) -> bool:
    return person is not None and action is not None and action in ROLE_MAY[person.role]
