"""Descriptions in few words: what a tool costs in every request is mostly its prose.

Pure. Knows text and JSON Schema. A text is cut where a sentence ends, else where a word ends, and never inside a word;
what is cut off can be read with `runax tools show`.
"""

import re
from collections.abc import Mapping
from typing import Any

from adapters.base import JsonObject

TOOL_CHARS = 300
ARGUMENT_CHARS = 160
_SENTENCE = re.compile(r"[.!?\u2026\u3002]+(?=\s|$)|[\u3002\uff01\uff1f]")
_FIRST_OF_NO_SPACES = 0x2E80
_KEPT_SHARE = 2
_NESTED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COMBINED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")


def brief(text: str, most_chars: int) -> str:
    """The text on one line in at most so many characters.

    Cut after the last sentence that fits where that keeps half of them, else after the last word that fits, with an
    ellipsis. A first word that is longer than all of it leaves the ellipsis alone.
    """
    line = " ".join(text.split())
    if len(line) <= most_chars:
        return line
    ends = [match.end() for match in _SENTENCE.finditer(line) if match.end() <= most_chars]
    if ends and ends[-1] * _KEPT_SHARE >= most_chars:
        return line[: ends[-1]]
    cut = next((at for at in range(most_chars - 1, 0, -1) if _is_between_words(line, at)), 0)
    return line[:cut].rstrip(" ,;:(-") + "…" if most_chars > 0 else ""


def briefly(schema: JsonObject, most_chars: int = ARGUMENT_CHARS, *, name: str | None = None) -> JsonObject:
    """The schema with every description in it, at any depth, in at most so many characters.

    The whole schema's title is left out, one beside a description, and one that only spells the schema's `name` again:
    generators write one for each argument.
    """
    out = {key: _inside(key, value, most_chars) for key, value in schema.items()}
    title = out.get("title")
    if isinstance(title, str) and ("description" in out or name is None or _letters(title) == _letters(name)):
        del out["title"]
    if isinstance(out.get("description"), str):
        out["description"] = brief(out["description"], most_chars)
    return out


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _is_between_words(line: str, at: int) -> bool:
    return line[at] == " " or ord(line[at - 1]) >= _FIRST_OF_NO_SPACES


def _inside(key: str, value: Any, most_chars: int) -> Any:
    if key in _NESTED and isinstance(value, Mapping):
        return {name: _one(inner, most_chars, name=name) for name, inner in value.items()}
    if key in _COMBINED and isinstance(value, list):
        return [_one(inner, most_chars) for inner in value]
    return _one(value, most_chars) if key in _INNER else value


def _one(value: Any, most_chars: int, *, name: str = "") -> Any:
    return briefly(value, most_chars, name=name) if isinstance(value, dict) else value
