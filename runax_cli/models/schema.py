"""Output schemas in words: how a prompt asks for one, how a reply is read against one.

Pure. Knows JSON and JSON Schema. Knows no endpoint and sends nothing.
"""

import json
import re
from typing import Any

from runax_cli.models.base import OutputSchema, Prompt

SCHEMA_PROMPT = Prompt(
    "schema_in_prompt",
    1,
    "Answer with one JSON object and nothing else: no words before or after it, no code fence. "
    'The object "{{name}}" must fit this JSON Schema:\n{{schema}}',
)
REPAIR_PROMPT = Prompt(
    "schema_repair",
    1,
    "That reply does not fit the JSON Schema:\n{{errors}}\n"
    "Answer again with the corrected JSON object and nothing else.",
)

_FENCE = re.compile(r"```[A-Za-z0-9_-]*\s*\n(.*?)```", re.DOTALL)
_MOST_VIOLATIONS = 5
_NOTHING = object()


def schema_note(output: OutputSchema) -> str:
    """The words that ask for `output` where an endpoint takes no schema."""
    schema = json.dumps(output.schema, ensure_ascii=False, separators=(",", ":"))
    return SCHEMA_PROMPT.fill(name=output.name, schema=schema)


def repair_note(errors: tuple[str, ...]) -> str:
    """The words that ask for a corrected reply."""
    return REPAIR_PROMPT.fill(errors="\n".join(f"- {error}" for error in errors))


class NotJson(ValueError):
    """A reply holds no JSON value."""


class OutsideSchema(ValueError):
    """A reply is JSON and does not fit; `errors` are `path: what is wrong`, the first five."""

    def __init__(self, errors: tuple[str, ...]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


def fitting_json(text: str, output: OutputSchema) -> str:
    """The JSON in `text` (bare, in a code fence, or among words) that fits `output`.

    Raises NotJson where there is none, and OutsideSchema where it does not fit.
    """
    source, value = _found(text)
    if errors := _violations(value, output.schema):
        raise OutsideSchema(errors)
    return source


def _found(text: str) -> tuple[str, Any]:
    for candidate in _candidates(text):
        value = _parsed(candidate)
        if value is not _NOTHING:
            return candidate, value
    raise NotJson("the reply is not JSON")


def _candidates(text: str) -> list[str]:
    bare = text.strip().removeprefix("\ufeff")
    fenced = [match.strip() for match in _FENCE.findall(bare)]
    start, end = bare.find("{"), bare.rfind("}")
    among_words = [bare[start : end + 1]] if 0 <= start < end else []
    return [bare, *reversed(fenced), *among_words]


def _parsed(candidate: str) -> Any:
    try:
        return json.loads(candidate, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _violations(value: Any, schema: dict[str, Any]) -> tuple[str, ...]:
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path)))
    return tuple(f"{error.json_path}: {_short(error.message)}" for error in errors[:_MOST_VIOLATIONS])


def _short(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:200]}…"
