"""JSON answers checked by us: a server may fail open and return free text with status 200.

A small part of JSON Schema, chosen because every engine's grammar can follow it: ``type``,
``properties``, ``required``, ``additionalProperties`` (true or false), ``items``, ``enum``,
``const``, ``anyOf``, ``minLength``, ``maxLength``, ``minItems``, ``maxItems``, ``minimum``,
``maximum``. Every string and array needs an upper bound, else a model may loop in it until the
token limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from protocol.errors import BadRequest

_KNOWN = frozenset(
    "type properties required additionalProperties items enum const anyOf minLength maxLength "
    "minItems maxItems minimum maximum title description".split()
)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def refuse_unknown_schema(schema: Mapping[str, Any], *, where: str = "the schema") -> None:
    """Nothing when the schema is one that we can check and an engine can follow.

    Raises:
        BadRequest: It uses a word outside the part above, or leaves a string or array unbounded.
    """
    unknown = sorted(set(schema) - _KNOWN)
    if unknown:
        raise BadRequest(f"{where} uses a word we cannot check: {unknown[0]}")
    kind = schema.get("type")
    closed = "enum" in schema or "const" in schema
    if kind is None and not closed and "anyOf" not in schema:
        raise BadRequest(f"{where} names no type")
    if kind is not None and kind not in _TYPES:
        raise BadRequest(f"{where} names a type we do not know")
    if kind == "string" and not closed and "maxLength" not in schema:
        raise BadRequest(f"{where} holds a string without maxLength")
    if kind == "array":
        if "maxItems" not in schema or "items" not in schema:
            raise BadRequest(f"{where} holds an array without items or maxItems")
        refuse_unknown_schema(schema["items"], where=where)
    for inner in schema.get("properties", {}).values():
        refuse_unknown_schema(inner, where=where)
    for inner in schema.get("anyOf", ()):
        refuse_unknown_schema(inner, where=where)


def broken_because(text: str, schema: Mapping[str, Any]) -> str:
    """Why the text is not JSON of this schema, without repeating it; empty when it is."""
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return "it is not JSON"
    return _broken(value, schema, "the whole")


def _broken(value: Any, schema: Mapping[str, Any], at: str) -> str:
    if "anyOf" in schema and all(_broken(value, one, at) for one in schema["anyOf"]):
        return f"{at} fits none of its forms"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        return f"{at} is none of the allowed values"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{at} is not the required value"
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        return f"{at} is no {kind}"
    if isinstance(value, str):
        return _outside(len(value), schema, "minLength", "maxLength", f"{at}, its length")
    if isinstance(value, list):
        bad = _outside(len(value), schema, "minItems", "maxItems", f"{at}, its number of items")
        items = schema.get("items")
        if bad or items is None:
            return bad
        return next((why for one in value if (why := _broken(one, items, f"an item of {at}"))), "")
    if isinstance(value, dict):
        return _broken_object(value, schema, at)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _outside(value, schema, "minimum", "maximum", at)
    return ""


def _broken_object(value: dict[str, Any], schema: Mapping[str, Any], at: str) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{at} lacks {name}"
    for name, inner in value.items():
        if name in properties:
            if why := _broken(inner, properties[name], name):
                return why
        elif schema.get("additionalProperties", True) is False:
            return f"{at} holds more than is allowed"  # the name is the model's own words
    return ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _outside(size: float, schema: Mapping[str, Any], low: str, high: str, what: str) -> str:
    if low in schema and size < schema[low]:
        return f"{what}, is under {low}"
    if high in schema and size > schema[high]:
        return f"{what}, is over {high}"
    return ""
