"""Selects the next tool calls and their arguments by lexical matching."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.text import fold
from runax_cli.models.base import ToolSchema
from runax_cli.models.rules.sql import requested_figure
from runax_cli.models.rules.words import READING_VERBS, Clue, Clues, stem, stems, words

_PLACES = {
    "in": ("city", "town", "state", "region", "country", "location", "place", "address"),
    "from": ("origin", "source", "from", "sender", "city", "state", "country"),
    "to": ("destination", "target", "to", "recipient"),
    "at": ("airport", "location", "place", "host"),
}
_NAME_LIKE = frozenset(
    """
    name surname username user customer client title fullname person
    """.split()
)
_SEARCH_LIKE = frozenset(
    """
    q query search text contains keyword keywords term phrase
    """.split()
)
_SINCE, _UNTIL = frozenset(["from", "since", "after", "start"]), frozenset(["to", "until", "before", "till", "end"])
_VIRTUAL = frozenset({"focus", "need", "at_most"})


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call to request; `arguments` include virtual ones."""

    tool: str
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        """The identity of the call without its virtual arguments."""
        own = {k: v for k, v in self.arguments.items() if k not in _VIRTUAL}
        return self.tool + json.dumps(own, sort_keys=True)


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity that an earlier call returned: the stem of its kind ("customer"), its id, and its folded text."""

    kind: str
    id: Any
    text: str


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """How well a tool matches: its score, the arguments that could be filled, and the names that they use."""

    tool: ToolSchema
    score: float
    arguments: dict[str, Any]
    used: frozenset[str]


def next_calls(
    clues: Clues, tools: Sequence[ToolSchema], entities: Sequence[KnownEntity], done: frozenset[str]
) -> list[WantedCall]:
    """The calls to request now; none if all were made."""
    matches = sorted((m for t in tools if (m := match(clues, t, entities))), key=lambda m: (-m.score, m.tool.name))
    if not matches:
        return []
    target = matches[0]
    lookup = _lookup(clues, target, matches, entities)
    if lookup is not None and _wanted_call(lookup, clues).key not in done:
        return [_wanted_call(lookup, clues)]
    chosen = [target]
    if clues.wants_everything and entities:
        chosen += [m for m in matches[1:] if _uses_entity(m, entities)]
    calls = [_wanted_call(m, clues) for m in chosen]
    return [w for w in {w.key: w for w in calls}.values() if w.key not in done]


def match(clues: Clues, tool: ToolSchema, entities: Sequence[KnownEntity]) -> ToolMatch | None:
    """How well `tool` matches the question; None if a required argument cannot be filled or nothing matches."""
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    arguments: dict[str, Any] = {}
    used: set[str] = set()
    for name, schema in properties.items():
        if name not in _VIRTUAL:
            _fill(name, schema, _KnownValues(clues, entities, frozenset(properties)), arguments, used)
    if any(name not in arguments for name in tool.parameters.get("required", ())):
        return None
    required = len(tool.parameters.get("required", ()))
    score = _score(clues, tool) + 1.5 * len(arguments) + required
    return ToolMatch(tool, score, arguments, frozenset(used)) if score >= 1 else None


def _score(clues: Clues, tool: ToolSchema) -> float:
    own = {stem(word) for word in words(tool.name)} - READING_VERBS
    weight = sum((1.0 if name in clues.qualifiers else 3.0) for name in own & clues.stems)
    described = set(stems(tool.description)) & clues.stems - own
    return weight + 0.1 * min(len(described), 5)


@dataclass(frozen=True, slots=True)
class _KnownValues:
    """The values that arguments can be filled from, and the names of all arguments of the tool."""

    clues: Clues
    entities: Sequence[KnownEntity]
    properties: frozenset[str]


def _fill(name: str, schema: Any, known: _KnownValues, into: dict[str, Any], used: set[str]) -> None:
    if not isinstance(schema, dict):
        return
    own = words(name)
    clue = _enum_value(schema, known.clues) or _number(own, schema, known.clues, known.entities)
    clue = clue or _text(own, schema, known)
    if clue is None:
        return
    value, names = clue
    into[name] = value
    used.update(names)


_Filled = tuple[Any, tuple[str, ...]]


def _enum_value(schema: dict[str, Any], clues: Clues) -> _Filled | None:
    values = schema.get("enum") or schema.get("items", {}).get("enum") or ()
    asked = words(clues.text)
    for value in values:
        spelled = words(value) if isinstance(value, str) else []
        if spelled and any(asked[i : i + len(spelled)] == spelled for i in range(len(asked))):
            return ([value] if schema.get("type") == "array" else value), ()
    return None


def _number(own: list[str], schema: dict[str, Any], clues: Clues, entities: Sequence[KnownEntity]) -> _Filled | None:
    kinds = _kinds(own)
    if _is_identifier(own):
        for entity in entities:
            if entity.kind in kinds:
                return _as_type(entity.id, schema), ()
    if not _takes(schema, "integer", "number") and not _is_identifier(own):
        return None
    for clue in clues.numbers:
        if stem(clue.before) in kinds and kinds:
            return _as_type(clue.value, schema), (clue.value,)
    return None


def _text(own: list[str], schema: dict[str, Any], known: _KnownValues) -> _Filled | None:
    if not _takes(schema, "string") or schema.get("enum"):
        return None
    dated = _date(own, known.clues)
    if dated is not None:
        return dated
    if set(own) & _SEARCH_LIKE and known.clues.quoted:
        return known.clues.quoted[0], ()
    for clue in known.clues.names:
        if _names_argument(own, clue, known.properties):
            return clue.value, (clue.value,)
    return None


def _date(own: list[str], clues: Clues) -> _Filled | None:
    for clue in clues.dates:
        side = _SINCE if clue.before in _SINCE else _UNTIL if clue.before in _UNTIL else frozenset()
        if set(own) & side:
            return clue.value, ()
    return None


def _names_argument(own: list[str], clue: Clue, properties: frozenset[str]) -> bool:
    if clue.before and clue.before in own:
        return True
    if clue.before in properties:
        return False
    if clue.before in _PLACES:
        return bool(set(own) & set(_PLACES[clue.before]))
    return bool(set(own) & _NAME_LIKE) and "id" not in own


def _kinds(own: list[str]) -> set[str]:
    return {stem(word) for word in own if word not in {"id", "key", "number", "no"}}


def _is_identifier(own: list[str]) -> bool:
    return bool(own) and own[-1] in {"id", "key", "number", "no"}


def _takes(schema: dict[str, Any], *types: str) -> bool:
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    kinds += [s.get("type") for s in schema.get("anyOf", ()) if isinstance(s, dict)]
    return any(kind in types for kind in kinds)


def _as_type(value: Any, schema: dict[str, Any]) -> Any:
    if _takes(schema, "integer") and str(value).isdigit():
        return int(value)
    if _takes(schema, "number") and str(value).replace(".", "", 1).isdigit():
        return float(value)
    return value if _takes(schema, "integer", "number") else str(value)


def _lookup(
    clues: Clues, target: ToolMatch, matches: Iterable[ToolMatch], entities: Sequence[KnownEntity]
) -> ToolMatch | None:
    """The tool that finds the id which the target needs, if the question gives only a name."""
    open_names = {clue.value for clue in clues.names} - target.used
    wanted = {
        kind
        for name in target.tool.parameters.get("properties", {})
        if _is_identifier(own := words(name)) and name not in target.arguments
        for kind in _kinds(own)
    }
    known = {entity.kind for entity in entities}
    for candidate in matches:
        kind = {stem(word) for word in words(candidate.tool.name)} - READING_VERBS
        if candidate is not target and candidate.used & open_names and kind & wanted - known:
            return candidate
    return None


def _uses_entity(candidate: ToolMatch, entities: Sequence[KnownEntity]) -> bool:
    ids = {str(entity.id) for entity in entities}
    return any(_is_identifier(words(name)) and str(value) in ids for name, value in candidate.arguments.items())


def _wanted_call(chosen: ToolMatch, clues: Clues) -> WantedCall:
    properties = chosen.tool.parameters.get("properties", {})
    arguments = dict(chosen.arguments)
    if "focus" in properties:
        arguments["focus"] = clues.text
    if "need" in properties:
        arguments["need"] = "read" if requested_figure(clues.text) is None else "compute"
    if "at_most" in properties and clues.first_n:
        arguments["at_most"] = clues.first_n
    return WantedCall(chosen.tool.name, arguments)


def entities_of(tool: str, records: Iterable[Any], clues: Clues) -> list[KnownEntity]:
    """The entities in the records of a call that have a name from the question."""
    kinds = {stem(word) for word in words(tool)} - READING_VERBS
    named = [fold(clue.value) for clue in clues.names]
    found = []
    for record in records:
        if isinstance(record, dict) and "id" in record and kinds:
            text = fold(json.dumps(record, ensure_ascii=False))
            found.append(KnownEntity(min(kinds), record["id"], text))
    return [e for e in found if any(name in e.text for name in named)]
