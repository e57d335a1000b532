"""Limits among the arguments of a tool that knows no pages: what may have cut its one answer.

Knows arguments and their schemas. Knows no response but the number of its records.
"""

from collections.abc import Iterator, Mapping

from adapters.base import Json
from runax_cli.executor.outcome import DecidedCall

_ABOUT_PAGING = frozenset(
    "paging pagination pager pageable paginator pagerequest pageoptions pagingoptions paginationoptions".split()
)
_FEWEST, _ROUND = 5, 5


def limit_of(call: DecidedCall, count: int) -> str | None:
    """The argument that lets through just as many records as came, by its value or default; None for none.

    One record proves nothing: many defaults are 1, and so are many results. A number without a default is not looked
    at: it may be anybody's identity.
    """
    found = _numbers(call.tool.parameters, call.arguments)
    return next((name for name, number in found if number == count), None) if count > 1 else None


def unread_paging(call: DecidedCall, count: int) -> str | None:
    """An argument that is about paging by its whole name, where as many records came as servers cut at.

    Nobody knows how it is written (a JSON text, an object of unknown members), so nothing can be asked for by it.
    """
    if count < _FEWEST or count % _ROUND:
        return None
    declared = call.tool.parameters.get("properties", {})
    return next((name for name in declared if _plain(name) in _ABOUT_PAGING and name not in call.arguments), None)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _numbers(schema: Mapping[str, Json], given: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, declared in schema.get("properties", {}).items():
        if not isinstance(declared, Mapping):
            continue
        value = given.get(name)
        if declared.get("type") == "object":
            yield from _numbers(declared, value if isinstance(value, Mapping) else {})
        elif declared.get("type") == "integer" and "default" in declared:
            yield name, given.get(name, declared["default"])
