"""Requests and replies held against Discord's OpenAPI description.

The description types ids as digit strings and permission sets as integers; the real service takes
either, and discord.py sends either, so digits pass as both. Objects of the description are open: an
unknown key at the top of a request is reported all the same.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, validators

FILE: Final = Path(__file__).parents[2] / "tests" / "data" / "discord" / "openapi.json"
_SNOWFLAKE: Final = 10**15
"""Integers from here on are ids."""
_HABITS: Final = {
    ("PATCH", "/channels/{channel_id}/messages/{message_id}"): {"tts"},
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/@original"): {"tts"},
}
"""Keys that discord.py 2.7.1 always sends, that the description does not list there and that the
service ignores."""


def _is_integer(_: object, value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit()
    return type(value) is int


_Validator: Final = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer}),
)


@cache
def the_spec() -> Spec:
    """The description, read once in a process."""
    return Spec()


class Spec:
    """The description, ready to be asked."""

    def __init__(self, file: Path = FILE) -> None:
        document = json.loads(file.read_text("utf-8"))
        self._components = document["components"]
        self._routes = []
        # A literal path wins over one with blanks: "@me" before an id.
        for path in sorted(document["paths"], key=lambda path: (path.count("{"), path)):
            shape = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path))
            self._routes.append((shape, path, document["paths"][path]))
        self._schema = cache(self._build)

    def operation(self, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
        """The template and the operation of a request; None when Discord has none."""
        for shape, template, operations in self._routes:
            if shape.fullmatch(path) and method.lower() in operations:
                return template, operations[method.lower()]
        return None

    def request_faults(self, method: str, path: str, kind: str, body: object) -> list[str]:
        """What is wrong with a request; each fault names a place, never a value.

        Args:
            method: The HTTP method.
            path: The path without the API's base.
            kind: The content type without parameters; empty when there is no body.
            body: The decoded body, for forms their JSON part.
        """
        found = self.operation(method, path)
        if found is None:
            return [f"{method} {path}: Discord has no such operation"]
        template, operation = found
        wanted = operation.get("requestBody")
        if wanted is None:
            return [] if body in (None, {}) else [f"{method} {template}: takes no body"]
        if body is None and not wanted.get("required"):
            return []
        content = wanted["content"].get(kind)
        if content is None:
            return [f"{method} {template}: takes no {kind or 'empty body'}"]
        where = f"{method} {template}"
        faults = self._faults(where, content["schema"], _with_text_ids(body))
        if isinstance(body, dict):
            known = self._properties(content["schema"])
            known |= _HABITS.get((method, template), set()) if known else set()
            faults += [f"{where}: unknown key {key}" for key in body if known and key not in known]
        return faults

    def reply_faults(self, method: str, path: str, status: int, body: object) -> list[str]:
        """What is wrong with a reply of the double."""
        found = self.operation(method, path)
        if found is None:
            return []
        template, operation = found
        replies = operation["responses"]
        reply = replies.get(str(status)) or replies.get(f"{status // 100}XX")
        if reply is None:
            return [f"{method} {template}: answers no {status}"]
        if "$ref" in reply:
            reply = self._resolved(reply["$ref"])
        content = reply.get("content", {}).get("application/json")
        if content is None:
            return [] if body is None else [f"{method} {template}: {status} has no body"]
        return self._faults(
            f"{method} {template} {status}", content["schema"], _with_text_ids(body)
        )

    def _faults(self, where: str, schema: dict[str, Any], body: object) -> list[str]:
        checker = self._schema(json.dumps(schema))
        return [
            f"{where}: {'/'.join(map(str, error.absolute_path)) or 'body'} fails {error.validator}"
            for error in checker.iter_errors(body)
        ]

    def _build(self, schema: str) -> Any:
        return _Validator({"components": self._components, "allOf": [json.loads(schema)]})

    def _resolved(self, reference: str) -> dict[str, Any]:
        node: Any = {"components": self._components}
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        assert isinstance(node, dict)
        return node

    def _properties(self, schema: dict[str, Any]) -> set[str]:
        if "$ref" in schema:
            schema = self._resolved(schema["$ref"])
        names = set(schema.get("properties", {}))
        for part in ("allOf", "anyOf", "oneOf"):
            for each in schema.get(part, ()):
                names |= self._properties(each)
        return names


def _with_text_ids(body: object) -> object:
    """Ids as text; attachments are numbered by small integers, which are ids all the same."""
    if isinstance(body, dict):
        made = {key: _with_text_ids(value) for key, value in body.items()}
        for each in made.get("attachments") or ():
            if isinstance(each, dict) and "id" in each:
                each["id"] = str(each["id"])
        if str(made.get("nonce", "")).isdigit():
            made["nonce"] = 1  # a number or text, as the sender likes: digits would be both
        return made
    if isinstance(body, list):
        return [_with_text_ids(each) for each in body]
    return str(body) if type(body) is int and body >= _SNOWFLAKE else body
