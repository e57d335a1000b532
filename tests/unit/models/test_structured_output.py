"""Reading JSON out of replies: valid parts are accepted, violations are named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.models.base import OutputSchema
from runax_cli.models.structured_output import (
    NotJson,
    OutsideSchema,
    parse_structured,
    repair_instruction,
    schema_instruction,
)

ANY_OBJECT = OutputSchema("any", {"type": "object"})
FINDINGS = OutputSchema(
    "findings",
    {
        "type": "object",
        "properties": {
            "records": {"type": "array", "items": {"type": "integer"}},
            "quote": {"type": ["string", "null"]},
        },
        "required": ["records", "quote"],
        "additionalProperties": False,
    },
)
OBJECTS = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(
    OBJECTS,
    st.sampled_from(["{}", "\n {}\n", "```json\n{}\n```", "Here you are:\n```\n{}\n```\nGood luck!", "\ufeff{}"]),
)
def test_json_is_found_plain_and_in_a_code_fence(value: dict[str, Any], around: str) -> None:
    text = around.replace("{}", json.dumps(value, ensure_ascii=False))
    assert json.loads(parse_structured(text, ANY_OBJECT)) == value


def test_json_is_found_inside_prose() -> None:
    assert parse_structured('The result is {"a": 1}, as asked.', ANY_OBJECT) == '{"a": 1}'


def test_the_last_fence_counts() -> None:
    assert parse_structured('```json\n{"a": 1}\n```\nNo, rather:\n```json\n{"a": 2}\n```', ANY_OBJECT) == '{"a": 2}'


@pytest.mark.parametrize("text", ["", "no", "{", '{"a": ', '{"a": NaN}', "[" * 100_000, "```json\n```"])
def test_a_reply_without_json_raises_not_json(text: str) -> None:
    with pytest.raises(NotJson):
        parse_structured(text, ANY_OBJECT)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"records": ["1"], "quote": null}', "$.records[0]: '1' is not of type 'integer'"),
        ('{"records": []}', "$: 'quote' is a required property"),
        ('{"records": [], "quote": null, "more": 1}', "$: Additional properties are not allowed"),
        ("[]", "$: [] is not of type 'object'"),
    ],
)
def test_schema_errors_name_their_path(text: str, error: str) -> None:
    with pytest.raises(OutsideSchema) as caught:
        parse_structured(text, FINDINGS)
    assert caught.value.errors[0].startswith(error)


def test_errors_are_few_and_short() -> None:
    with pytest.raises(OutsideSchema) as caught:
        parse_structured(json.dumps({"records": ["x" * 10_000] * 100, "quote": 1}), FINDINGS)
    assert len(caught.value.errors) == 5
    assert max(map(len, caught.value.errors)) < 260


def test_the_instructions_contain_schema_and_errors() -> None:
    assert '"additionalProperties":false' in schema_instruction(FINDINGS)
    assert repair_instruction(("$.a: wrong", "$.b: worse")).count("\n- ") == 2
