"""Our own check of JSON answers, held against the reference validator."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import BadRequest
from worker.engine.schema import broken_because, refuse_unknown_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "party": {"type": "string", "minLength": 1, "maxLength": 12},
        "rent": {"type": "integer", "minimum": 0, "maximum": 100},
        "share": {"type": "number", "maximum": 1},
        "kind": {"enum": ["lease", "sale", 1, True, None]},
        "open": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "days": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        "fixed": {"const": 1},
    },
    "required": ["party"],
    "additionalProperties": False,
}

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-3, 120)
    | st.floats(-2, 2, allow_nan=False)
    | st.text(max_size=14)
    | st.sampled_from(["lease", "sale", 1, 1.0, True])
)
values = st.dictionaries(
    st.sampled_from([*SCHEMA["properties"], "other"]),
    leaves | st.lists(leaves, max_size=4),
    max_size=8,
)


@given(values | leaves)
def test_it_agrees_with_the_reference(value: object) -> None:
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    assert (broken_because(json.dumps(value), SCHEMA) == "") == valid


@pytest.mark.parametrize("text", ["", "{", '{"party": "A"} more', "party", "\ud800"])
def test_what_is_not_json_is_broken(text: str) -> None:
    assert broken_because(text, SCHEMA) == "it is not JSON"


def test_a_reason_never_repeats_the_answer() -> None:
    said = [
        '{"party": "SECRETSECRETSECRET"}',
        '{"party": "A", "SECRET": 1}',
        '{"party": "A", "kind": "SECRET"}',
        '{"party": "A", "days": ["SECRET"]}',
    ]
    for text in said:
        assert broken_because(text, SCHEMA)
        assert "SECRET" not in broken_because(text, SCHEMA)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "maxLength"),
        ({"type": "array", "items": {"type": "integer"}}, "maxItems"),
        ({"type": "array", "maxItems": 3}, "items"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "maxLength"),
        ({"anyOf": [{"type": "string"}]}, "maxLength"),
        ({"type": "string", "maxLength": 3, "pattern": "a"}, "pattern"),
        ({"$ref": "#/nowhere"}, "ref"),
        ({"type": "money"}, "type"),
        ({}, "type"),
    ],
)
def test_a_schema_outside_our_part_is_refused(schema: dict[str, object], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        refuse_unknown_schema(schema)


def test_our_part_is_accepted() -> None:
    refuse_unknown_schema(SCHEMA)
