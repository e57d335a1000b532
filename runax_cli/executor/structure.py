"""The structure of a record in one line: names and types, as a person would sketch it.

Knows JSON values. Knows no schema document.
"""

from adapters.base import Json

_MOST_NAMES = 40
_DEEPEST = 3


def structure_of(value: Json, *, depth: int = 0) -> str:
    """`{id: int, tags: [str], owner: {…}}`; deeper than three levels is left out."""
    match value:
        case dict() if depth < _DEEPEST:
            named = [
                f"{name}: {structure_of(inner, depth=depth + 1)}" for name, inner in list(value.items())[:_MOST_NAMES]
            ]
            return "{" + ", ".join(named + ["…"] * (len(value) > _MOST_NAMES)) + "}"
        case dict():
            return "{…}"
        case list():
            return f"[{structure_of(value[0], depth=depth + 1)}]" if value else "[]"
        case None:
            return "null"
        case _:
            return type(value).__name__
