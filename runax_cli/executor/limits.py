"""Limits among the arguments of a tool that knows no pages: numbers that may have cut its one answer.

Knows arguments and their schemas. Knows no response but the number of its records.
"""

from collections.abc import Iterator, Mapping

from adapters.base import Json
from runax_cli.executor.outcome import DecidedCall


def limit_of(call: DecidedCall, count: int) -> str | None:
    """The argument that lets through just as many records as came, by its value or default; None for none.

    One record proves nothing: many defaults are 1, and so are many results. A number without a default is not looked
    at: it may be anybody's identity.
    """
    found = _numbers(call.tool.parameters, call.arguments)
    return next((name for name, number in found if number == count), None) if count > 1 else None


def _numbers(schema: Mapping[str, Json], given: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, declared in schema.get("properties", {}).items():
        if not isinstance(declared, Mapping):
            continue
        value = given.get(name)
        if declared.get("type") == "object":
            yield from _numbers(declared, value if isinstance(value, Mapping) else {})
        elif declared.get("type") == "integer" and "default" in declared:
            yield name, given.get(name, declared["default"])
