"""Values that stand beside a type, in enumerations and defaults: as that type, where they can be read as it.

Pure. Knows the slips of documents: numbers and truth in quotes, texts that YAML turned into numbers, the values of an
array's items listed at the array. Knows no keyword but these.
"""

import math
from collections.abc import Iterable

from adapters.base import Json, JsonObject
from adapters.openapi.serialize import compact

_TRUTH = {"true": True, "false": False}
_MOST_TOLD = 20


class Unfit(Exception):
    """The value is of none of the types, and cannot be read as one."""


def take_values(fields: JsonObject, out: JsonObject) -> None:
    """Take over `enum`, `const` and `default`; `out` has its type and description already.

    Of an enumeration without a single fitting value, the values are told in words.
    """
    kinds = _listed(out.get("type"))
    listed = fields.get("enum")
    if isinstance(listed, list) and listed:
        _take_enum(listed, kinds, out)
    if "const" in fields:
        out["const"] = fields["const"]
    if fields.get("default") is not None:
        fitting = _fitting([fields["default"]], kinds)
        out |= {"default": fitting[0]} if fitting else {}


def of_items(fields: JsonObject) -> list[Json]:
    """The values of an array's items, where they are listed at the array itself."""
    listed = fields.get("enum")
    if not isinstance(listed, list) or any(isinstance(value, list) for value in listed):
        return []
    return list({compact(value): value for value in listed}.values())


def _take_enum(listed: list[Json], kinds: list[str], out: JsonObject) -> None:
    fitting = _fitting(listed, kinds)
    if fitting:
        out["enum"] = list({compact(value): value for value in fitting}.values())
    elif kinds != ["array"]:
        told = f"Values: {', '.join(compact(value) for value in listed[:_MOST_TOLD])}"
        out["description"] = f"{out['description']} {told}" if "description" in out else told


def _listed(kind: Json) -> list[str]:
    return kind if isinstance(kind, list) else [kind] if isinstance(kind, str) else []


def _fitting(values: Iterable[Json], kinds: list[str]) -> list[Json]:
    """The values as one of the types; those that fit none are left out. Null always stays."""
    if not kinds:
        return list(values)
    found = []
    for value in values:
        try:
            found.append(value if value is None else _as_any(value, kinds))
        except Unfit:
            continue
    return found if any(value is not None for value in found) or "null" in kinds else []


def _as_any(value: Json, kinds: list[str]) -> Json:
    if any(_is(value, kind) for kind in kinds):
        return value
    for kind in kinds:
        try:
            return _as(value, kind)
        except Unfit:
            continue
    raise Unfit


def _is(value: Json, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _as(value: Json, kind: str) -> Json:
    """The value read as a type. Raises Unfit."""
    if kind == "string" and isinstance(value, int | float):
        return compact(value)
    if kind == "boolean" and isinstance(value, str) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    if kind in ("integer", "number") and isinstance(value, str):
        return _number(value, kind)
    raise Unfit


def _number(text: str, kind: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise Unfit from None
    if kind == "integer" or not math.isfinite(number):
        raise Unfit
    return number
