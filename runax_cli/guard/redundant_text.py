"""Removes what the descriptions of a tool say twice, and writes a tool as one line.

Documents are often generated: a description then repeats the name of its tool, or is the same sentence for every
argument with another name in it. Nothing is removed that is not said elsewhere in the tool.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from adapters.base import JsonObject
from adapters.json_text import compact_json

MIN_REPEATED = 3
"""As many arguments must share a sentence before it moves to the description of the tool."""
_MAX_SHARED_CHARS = 160
_GAP = "…"
_WORD = re.compile(r"\w+")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_FIRST_SENTENCE = re.compile(r"^(.*?[.!?\u3002])(?:\s+|$)(.*)$", re.DOTALL)
_QUOTED_GAP = re.compile(rf"['\"`\u2018\u201c]?{_GAP}(?:[\W_]*{_GAP})*[\W_]*?['\"`\u2019\u201d]?(?=\s|[.,;:)]|$)")


def without_name(text: str, name: str) -> str:
    """A description without a first sentence that only repeats the tool's name: `List tickets.` of `list_tickets`."""
    line = " ".join(text.split())
    match = _FIRST_SENTENCE.match(line)
    first, rest = (match[1], match[2]) if match else (line, "")
    return rest if _letters(first) == _letters(name) else line


def join_repeated(properties: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Describe arguments whose descriptions differ only in the name together: the properties without it, and a text.

    Descriptions that only repeat the argument's name are removed too. The text is "" if no sentence is shared.
    """
    patterns = {name: _pattern(schema, name) for name, schema in properties.items()}
    redundant = {name for name, pattern in patterns.items() if pattern == _GAP}
    counted: dict[str, list[str]] = {}
    for name, pattern in patterns.items():
        if pattern is not None and pattern != _GAP:
            counted.setdefault(pattern, []).append(name)
    texts: list[str] = []
    for pattern, names in counted.items():
        if len(names) >= MIN_REPEATED:
            texts.append(f"{_who(names, properties)}: {pattern}")
            redundant.update(names)
    if not redundant:
        return properties, ""
    return {
        name: _without_description(schema) if name in redundant else schema for name, schema in properties.items()
    }, " ".join(texts)


def _who(names: list[str], properties: Mapping[str, Any]) -> str:
    others = [schema for name, schema in properties.items() if name not in names]
    if all(isinstance(schema, Mapping) and schema.get("description") for schema in others):
        return "Each argument without a description" if others else "Each argument"
    return ", ".join(names)


def as_line(schema: JsonObject) -> str:
    """The arguments of a tool in one line, required ones with `*`: `id* integer, status open|closed, since date`."""
    required = schema.get("required") or ()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return ", ".join(
        f"{name}{'*' if name in required else ''} {_type_text(inner)}".rstrip() for name, inner in properties.items()
    )


def _type_text(schema: Any) -> str:
    """The allowed values, the format or the type of an argument; a nested one as JSON."""
    if not isinstance(schema, Mapping):
        return ""
    if isinstance(schema.get("enum"), list):
        return "|".join(value if isinstance(value, str) else compact_json(value) for value in schema["enum"])
    plain = {key: value for key, value in schema.items() if key not in ("description", "title", "default")}
    if set(plain) <= {"type", "format"}:
        kind = plain.get("format") or plain.get("type") or ""
        return kind if isinstance(kind, str) else "|".join(map(str, kind))
    return compact_json(plain)


def _pattern(schema: Any, name: str) -> str | None:
    """The description with a gap for the words of the name; None if it does not contain them all."""
    text = schema.get("description") if isinstance(schema, Mapping) else None
    if not isinstance(text, str) or not text.strip() or len(text) > _MAX_SHARED_CHARS:
        return None
    line = " ".join(text.split())
    span = _span_of(line, [part.casefold() for part in _NAME_PART.findall(name)])
    if span is None:
        return None
    pattern = _QUOTED_GAP.sub(_GAP, f"{line[: span[0]]}{_GAP}{line[span[1] :]}", count=1)
    return _GAP if pattern.rstrip(".") == _GAP else pattern


def _span_of(line: str, parts: list[str]) -> tuple[int, int] | None:
    """Where the words of a name stand in a line, one after another; None if they do not."""
    wanted = "".join(parts)
    words = [(word[0].casefold().replace("_", ""), *word.span()) for word in _WORD.finditer(line)]
    for at in range(len(words) if wanted else 0):
        for end in _ends(words, at, wanted):
            return words[at][1], end
    return None


def _ends(words: list[tuple[str, int, int]], at: int, wanted: str) -> Iterator[int]:
    said = ""
    for word, _start, end in words[at:]:
        said += word
        if said == wanted:
            yield end
        if not wanted.startswith(said):
            return


def _without_description(schema: Any) -> Any:
    return {key: value for key, value in schema.items() if key != "description"}


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
