"""Words pydantic's validation errors for users.

Cheap to import: the handler of fatal errors uses it too.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

_VALUE_ERROR_PREFIX = "Value error, "
_URL_PATTERN_PREFIX = "^https?"
_SOURCE_KINDS = frozenset({"openapi", "mcp"})
_SECRET_KEYS = frozenset({"headers", "env", "auth"})
_BY_TYPE = {
    "int_parsing": "must be an integer",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "missing": "is required",
}
_BY_BOUND = {
    "greater_than_equal": ("must be at least", "ge"),
    "greater_than": ("must be greater than", "gt"),
    "less_than_equal": ("must be at most", "le"),
    "less_than": ("must be less than", "lt"),
    "literal_error": ("must be", "expected"),
    "enum": ("must be", "expected"),
}


def describe_error(error: Mapping[str, Any], *, known_keys: Iterable[str] = ()) -> str:
    """What is wrong with the value of one pydantic error, e.g. "must be an integer".

    `known_keys` are the candidates for "did you mean" if a key is unknown.
    """
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if kind in _BY_BOUND:
        words, key = _BY_BOUND[kind]
        bound = context.get(key)
        return f"{words} {bound:g}" if isinstance(bound, float) else f"{words} {bound}"
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(error["loc"][-1]), list(known_keys), n=1)
        return "unknown key" + (f"; did you mean '{near[0]}'?" if near else "")
    if kind.startswith("union_tag"):
        return "'kind' must be 'openapi' or 'mcp'"
    if kind == "string_pattern_mismatch" and str(context.get("pattern", "")).startswith(_URL_PATTERN_PREFIX):
        return "must be a URL that starts with 'https://' or 'http://'"
    return str(error["msg"]).removeprefix(_VALUE_ERROR_PREFIX)


def masked_value(loc: tuple[str | int, ...], value: object) -> str:
    """The invalid value for a message; masked below keys that can hold secrets in plain text."""
    return "'***'" if _SECRET_KEYS & set(map(str, loc)) else repr(value)


def setting_path(loc: tuple[str | int, ...]) -> str:
    """The dotted path of a pydantic error as the settings file spells it, without the tags of union members."""
    parts = [str(part) for part in loc]
    if parts[:1] == ["sources"] and len(parts) > 2 and parts[2] in _SOURCE_KINDS:
        del parts[2]
    return ".".join(part for part in parts if "[" not in part)
