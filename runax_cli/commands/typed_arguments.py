"""Arguments of a tool as they are typed: `key=value`, checked against the tool's schema.

Knows text and schemas. Sends nothing.
"""

import json
from collections.abc import Sequence
from typing import Any

from runax_cli.errors import UsageError
from runax_cli.guard.validate import Refused, arguments_of
from runax_cli.guard.virtual import VisibleTool


def typed_arguments(typed: Sequence[str], tool: VisibleTool) -> dict[str, Any]:
    """The arguments, virtual ones included. Raises UsageError, which says what to correct."""
    properties = tool.schema.parameters.get("properties", {})
    given = dict(_pair(text, properties) for text in typed)
    checked = arguments_of(json.dumps(given), tool)
    if isinstance(checked, Refused):
        name = tool.spec.name
        raise UsageError(
            f"'{name}' cannot be called so: {checked.message}. `runax tools show {name}` tells its arguments."
        )
    return checked


def _pair(text: str, properties: dict[str, Any]) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise UsageError(f"'{text}' is not KEY=VALUE, as in 'customer_id=4'.")
    return key, _value(value, properties.get(key) or {})


def _value(text: str, schema: dict[str, Any]) -> Any:
    """The value as JSON where it is JSON, else the text; a text where the schema takes nothing else."""
    kinds = schema.get("type")
    if kinds == "string" or kinds == ["string"]:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
