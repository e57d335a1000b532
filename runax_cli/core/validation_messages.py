"""What is wrong with a value that a user gave, in words: validation speaks of inputs, types and patterns.

Pure, and cheap to import: an error that ends the process passes through here too. Knows the kinds of faults and the
members that an entry of a settings file may have only as they are handed in.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

_OF_VALUE = "Value error, "
_OF_ADDRESS = "^https?"
_KINDS = frozenset({"openapi", "mcp"})
_HOLDS_KEYS = frozenset({"headers", "env", "auth"})
_PLAIN = {
    "int_parsing": "it is no whole number",
    "int_type": "it is no whole number",
    "int_from_float": "it is no whole number",
    "float_parsing": "it is no number",
    "float_type": "it is no number",
    "bool_parsing": "it is neither true nor false",
    "bool_type": "it is neither true nor false",
    "string_type": "it is no text",
    "dict_type": "it is no mapping of names to values",
    "model_type": "it is no mapping of names to values",
    "model_attributes_type": "it is no mapping of names to values",
    "list_type": "it is no list",
    "tuple_type": "it is no list",
    "missing": "it is missing",
}
_OF_BOUND = {
    "greater_than_equal": ("it must be at least", "ge"),
    "greater_than": ("it must be more than", "gt"),
    "less_than_equal": ("it must be at most", "le"),
    "less_than": ("it must be less than", "lt"),
    "literal_error": ("it must be", "expected"),
    "enum": ("it must be", "expected"),
}


def misfit(fault: Mapping[str, Any], *, known: Iterable[str] = ()) -> str:
    """One fault of a validation in words; of a name that is not there, the nearest of those `known`."""
    kind, given = str(fault["type"]), fault.get("ctx") or {}
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _OF_BOUND:
        words, key = _OF_BOUND[kind]
        bound = given.get(key)
        return f"{words} {bound:g}" if isinstance(bound, float) else f"{words} {bound}"
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(fault["loc"][-1]), list(known), n=1)
        return "there is no such entry" + (f"; did you mean '{near[0]}'?" if near else "")
    if kind.startswith("union_tag"):
        return "its 'kind' must be 'openapi' or 'mcp'"
    if kind == "string_pattern_mismatch" and str(given.get("pattern", "")).startswith(_OF_ADDRESS):
        return "it is no http address, which begins with 'https://' or 'http://'"
    return str(fault["msg"]).removeprefix(_OF_VALUE)


def shown_at(loc: tuple[str | int, ...], value: object) -> str:
    """A value that does not fit, as it may be shown: not where keys may stand in the open."""
    return "'***'" if _HOLDS_KEYS & set(map(str, loc)) else repr(value)


def place_of(loc: tuple[str | int, ...]) -> str:
    """Where in a settings file a fault lies, as the file spells it: alternatives that were tried are no part of it."""
    parts = [str(part) for part in loc]
    if parts[:1] == ["sources"] and len(parts) > 2 and parts[2] in _KINDS:
        del parts[2]
    return ".".join(part for part in parts if "[" not in part and part != "ClientPart")
