"""Somebody in the server: types, uses commands, clicks, fills in forms, as Discord's own client."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

from bench.guild_double.double import Double, Spoken
from bench.guild_double.world import BOT, SERVER, Json

_TYPES: Final = {str: 3, int: 4, bool: 5}
_COMMAND: Final = 2
_COMPONENT: Final = 3
_COMPLETE: Final = 4
_FORM: Final = 5


class Answered:
    """What the bot answered to one interaction."""

    def __init__(self, spoken: Spoken) -> None:
        self.spoken = spoken

    @property
    def kind(self) -> int:
        """The type of the first response; 9 is a form."""
        assert self.spoken.callback is not None
        return int(self.spoken.callback["type"])

    @property
    def private(self) -> bool:
        """Whether only this person sees the answer."""
        assert self.spoken.callback is not None
        return bool((self.spoken.callback.get("data") or {}).get("flags", 0) & 64)

    @property
    def form(self) -> Json:
        """The form that was opened."""
        assert self.kind == 9, self.spoken.callback
        assert self.spoken.callback is not None
        data: Json = self.spoken.callback["data"]
        return data

    async def message(self, within_s: float = 60.0) -> Json:
        """The answer once it says something."""
        async with asyncio.timeout(within_s):
            while not (self.spoken.original or {}).get("content"):
                self.spoken.changed.clear()
                await self.spoken.changed.wait()
        assert self.spoken.original is not None
        return self.spoken.original

    async def said(self, within_s: float = 60.0) -> str:
        """The words of the answer."""
        return str((await self.message(within_s))["content"])


class Person:
    """One account."""

    def __init__(self, double: Double, account: str, roles: tuple[str, ...] = ()) -> None:
        self.account = account
        self._double = double
        double.world.add_user(account, roles=roles)

    async def types(
        self, channel: str, text: str, files: tuple[tuple[str, bytes], ...] = ()
    ) -> Json:
        """A plain message."""
        world = self._double.world
        message = world.message(channel, self.account, {"content": text}, files=files)
        world.messages[channel].append(message)
        await self._double.gateway.dispatch("MESSAGE_CREATE", self._event(message))
        return message

    async def again(self, message: Json) -> None:
        """The same message arrives a second time, as after a resume."""
        await self._double.gateway.dispatch("MESSAGE_CREATE", self._event(message))

    async def slash(self, channel: str, name: str, /, **options: Any) -> Answered:
        """A slash command; only what is registered can be used."""
        command = self._command(name)
        known = {each["name"]: each for each in command.get("options") or []}
        for key, value in options.items():
            assert key in known, f"/{name} takes no {key}"
            choices = known[key].get("choices")
            assert not choices or value in [c["value"] for c in choices], f"not a choice of {key}"
            assert known[key]["type"] == _TYPES[type(value)]
        missing = [
            key for key, each in known.items() if each.get("required") and key not in options
        ]
        assert not missing, f"/{name} needs {missing}"
        given = [{"name": k, "type": _TYPES[type(v)], "value": v} for k, v in options.items()]
        return await self._speak(channel, _COMMAND, self._data(command, given))

    async def complete(
        self, channel: str, name: str, option: str, partial: str, /, **options: Any
    ) -> list[Json]:
        """What is offered while an option is typed."""
        command = self._command(name)
        given: list[Json] = [
            {"name": k, "type": _TYPES[type(v)], "value": v} for k, v in options.items()
        ]
        given.append({"name": option, "type": 3, "value": partial, "focused": True})
        answered = await self._speak(channel, _COMPLETE, self._data(command, given))
        assert answered.kind == 8
        assert answered.spoken.callback is not None
        choices: list[Json] = answered.spoken.callback["data"]["choices"]
        assert len(choices) <= 25
        return choices

    async def click(self, message: Json, button: str) -> Answered:
        """A button, by its label or its custom id."""
        rows = [part for row in message["components"] for part in row.get("components", [])]
        found = [b for b in rows if button in (b.get("label"), b.get("custom_id"))]
        assert found, f"no button {button}: {[b.get('label') for b in rows]}"
        return await self.click_id(message, found[0]["custom_id"])

    async def click_id(self, message: Json, custom_id: str) -> Answered:
        """A button that may have gone from the message meanwhile."""
        data = {"custom_id": custom_id, "component_type": 2, "id": 1}
        return await self._speak(message["channel_id"], _COMPONENT, data, message)

    async def submit(self, opened: Answered, /, **values: str | list[str]) -> Answered:
        """Fills in and sends the form of an answer; fields go by their custom ids."""
        parts = []
        for number, label in enumerate(opened.form["components"], 1):
            field = label["component"]
            key = field["custom_id"]
            value = values.pop(key, [] if field["type"] == 22 else field.get("value", ""))
            assert value or not field.get("required", True), f"{key} is required"
            filled = {"values": value} if isinstance(value, list) else {"value": value}
            inner = {"type": field["type"], "id": number + 10, "custom_id": key, **filled}
            parts.append({"type": 18, "id": number, "component": inner})
        assert not values, f"the form has no {list(values)}"
        data = {"custom_id": opened.form["custom_id"], "components": parts}
        return await self._speak(opened.spoken.channel, _FORM, data, opened.spoken.message)

    async def menu(self, message: Json, name: str) -> Answered:
        """A word of a message's menu; Discord sends the whole message with it."""
        data = {
            **self._data(self._command(name), []),
            "type": 3,
            "target_id": message["id"],
            "resolved": {"messages": {message["id"]: message}},
        }
        return await self._speak(message["channel_id"], _COMMAND, data)

    def _command(self, name: str) -> Json:
        for command in self._double.world.commands:
            if command["name"] == name:
                return command
        raise AssertionError(f"/{name} is not registered")

    def _data(self, command: Json, options: list[Json]) -> Json:
        return {
            "id": command["id"],
            "name": command["name"],
            "type": 1,
            "guild_id": SERVER,
            "options": options,
        }

    def _event(self, message: Json) -> Json:
        member = self._double.world.member(self.account)
        return {**message, "guild_id": SERVER, "member": member}

    async def _speak(
        self, channel: str, kind: int, data: Json, message: Json | None = None
    ) -> Answered:
        world = self._double.world
        spoken = Spoken(
            id=world.new_id(),
            token=secrets.token_hex(20),
            kind=kind,
            channel=channel,
            account=self.account,
            message=message,
        )
        self._double.spoken[spoken.token] = spoken
        event: Json = {
            "id": spoken.id,
            "application_id": BOT,
            "type": kind,
            "data": data,
            "guild_id": SERVER,
            "guild": {"id": SERVER, "features": [], "locale": "en-US"},
            "guild_locale": "en-US",
            "channel": world.channels[channel],
            "channel_id": channel,
            "member": world.member(self.account),
            "token": spoken.token,
            "version": 1,
            "app_permissions": "2147483647",
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": SERVER},
            "context": 0,
            "attachment_size_limit": 10 * 2**20,
        }
        if message is not None:
            event["message"] = message
        await self._double.gateway.dispatch("INTERACTION_CREATE", event)
        async with asyncio.timeout(3.0):  # Discord's own: after it, the interaction has failed
            await spoken.changed.wait()
        return Answered(spoken)
