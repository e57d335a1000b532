"""Plans the calls of "find everything about X": looks X up, then calls every reading tool that takes X's id. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from adapters.base import Effect, Json, JsonObject, ToolSpec
from adapters.text import fold
from runax_cli.agent.locales import any_of
from runax_cli.agent.planning.everything import EntityRequest
from runax_cli.agent.planning.references import (
    Binding,
    FoundEntity,
    bindings_of,
    noun_of,
    reads_one,
    referenced_nouns,
    refers_to,
)
from runax_cli.guard.visible_tool import Need
from runax_cli.memory.conversation import record_id

MAX_CALLS = 16
MAX_KINDS = 3
"""If the user does not name the kind of X, it is looked up among at most this many kinds of entities."""
_NAME_FILTERS = (
    *("name", "fullname", "displayname", "lastname", "surname", "username", "login", "title"),
    *("q", "query", "search", "searchterm", "term", "keyword", "text"),
)
_FAMILY_NAMES = ("lastname", "surname")
_NAME_FIELDS = re.compile(r"name|title|login|label|email|mail$")
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(rf"(?:{any_of(lambda locale: locale.everything.name_ending)})$")
_MIN_STEM = 3


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that code planned. `need` says how its records are wanted."""

    tool: ToolSpec
    arguments: JsonObject
    need: Need = "read"


@dataclass(frozen=True, slots=True)
class UncalledTool:
    """A tool that takes the entity's id and is not called, and why. `is_limit` is set if only a limit prevents it."""

    tool: str
    why: str
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The calls that read everything about an entity, and the tools that are not called."""

    calls: tuple[PlannedCall, ...] = ()
    uncalled: tuple[UncalledTool, ...] = field(default=())


def entity_kinds(request: EntityRequest, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """The nouns of the entities that the request may mean: the one it names, else those that other tools refer to."""
    specs = [spec for spec in tools if spec.effect is Effect.READ]
    nouns = tuple(dict.fromkeys(noun_of(spec) for spec in specs))
    named = tuple(noun for noun in nouns if noun in request.kinds)
    if named:
        return named[:1]
    referenced = {noun for spec in specs for noun in referenced_nouns(spec) - {noun_of(spec)}}
    return tuple(noun for noun in nouns if noun in referenced)[:MAX_KINDS]


def lookup_calls(request: EntityRequest, kinds: Sequence[str], tools: Sequence[ToolSpec]) -> tuple[PlannedCall, ...]:
    """The calls that find the entity: by its id, or by name in the listing of each kind."""
    planned = (_lookup_of(request, noun, tools) for noun in kinds)
    return tuple(call for call in planned if call is not None)


def listing_calls(kinds: Sequence[str], tools: Sequence[ToolSpec]) -> tuple[PlannedCall, ...]:
    """The calls that list all entities of the kinds, as a table: for a name that no search finds."""
    listings = (_listing_of(noun, tools) for noun in kinds)
    return tuple(PlannedCall(spec, {}, "compute") for spec in listings if spec is not None and not _required(spec))


def matching_entities(
    request: EntityRequest, records: Iterable[Mapping[str, Json]], spec: ToolSpec
) -> tuple[FoundEntity, ...]:
    """The records of a tool that have the name or id: the whole name, else all of its words, else declined words."""
    graded: dict[int, dict[str, FoundEntity]] = {}
    for record in records:
        own, grade = record_id(record, spec.noun), _grade(request, record, spec)
        if own is not None and grade is not None:
            entity = FoundEntity(noun=noun_of(spec), id=_raw_id(record, own), source=spec.source, record=record)
            graded.setdefault(grade, {}).setdefault(own, entity)
    return tuple(graded[min(graded)].values()) if graded else ()


def sweep_calls(entity: FoundEntity, tools: Sequence[ToolSpec], *, max_calls: int = MAX_CALLS) -> SweepPlan:
    """One call of every reading tool for each of its parameters that refers to the entity, at most `max_calls`."""
    helpers = {name for spec in tools for name in _helper_operations(spec)}
    calls: list[PlannedCall] = []
    uncalled: list[UncalledTool] = []
    for spec in sorted(tools, key=lambda spec: not _is_getter(spec, entity)):
        bound = bindings_of(spec, entity)
        if not bound or spec.name in helpers or _lists_own_kind(spec, entity):
            continue
        if why := _why_not(spec, bound, entity):
            uncalled.append(UncalledTool(spec.name, why))
            continue
        planned = _calls_of(spec, bound)
        if len(calls) + len(planned) > max_calls:
            uncalled.append(UncalledTool(spec.name, f"limit of {max_calls} calls", is_limit=True))
        else:
            calls += planned
    return SweepPlan(tuple(calls), tuple(uncalled))


def ambiguous_plan(entities: Sequence[FoundEntity], tools: Sequence[ToolSpec]) -> SweepPlan:
    """No calls: several entities have the name. Every tool that takes the id of one is listed."""
    ids = ", ".join(str(entity.id) for entity in entities[:MAX_KINDS])
    more = ", …" if len(entities) > MAX_KINDS else ""
    why = f"the id is ambiguous: {len(entities)} records match ({ids}{more})"
    takers = [spec for spec in tools if any(refers_to(spec, noun) for noun in {entity.noun for entity in entities})]
    return SweepPlan((), tuple(UncalledTool(spec.name, why) for spec in takers if spec.effect is Effect.READ))


def _lookup_of(request: EntityRequest, noun: str, tools: Sequence[ToolSpec]) -> PlannedCall | None:
    if request.is_id and (call := _getter_call(request, noun, tools)) is not None:
        return call
    spec = _listing_of(noun, tools)
    name = None if spec is None else _name_filter(spec)
    if spec is None or name is None:
        return None
    words = request.name.split()
    value = words[-1] if _normal(name) in _FAMILY_NAMES else request.name
    return PlannedCall(spec, {name: value})


def _getter_call(request: EntityRequest, noun: str, tools: Sequence[ToolSpec]) -> PlannedCall | None:
    """The call that reads the record with this id, if there is a tool for it that needs nothing else."""
    for spec in tools:
        entity = FoundEntity(noun=noun, id=request.name, source=spec.source, record={})
        bound = bindings_of(spec, entity) if _is_getter(spec, entity) else ()
        if bound and not _why_not(spec, bound, entity):
            return _calls_of(spec, bound)[0]
    return None


def _listing_of(noun: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that lists the entities of a kind: with a name filter, and the shortest path."""
    fitting = [
        spec
        for spec in tools
        if spec.effect is Effect.READ
        and spec.returns_many
        and noun_of(spec) == noun
        and not reads_one(spec, noun)
        and _required(spec) <= {_name_filter(spec)}
    ]
    return min(
        fitting,
        key=lambda spec: (_name_filter(spec) is None, spec.locator.count("/"), len(spec.name), spec.name),
        default=None,
    )


def _name_filter(spec: ToolSpec) -> str | None:
    """The parameter that selects records by name."""
    by_normal = {_normal(name): name for name in spec.parameters.get("properties") or {}}
    own = noun_of(spec)
    wanted = chain.from_iterable((name, f"{own}{name}") for name in _NAME_FILTERS)
    return next((by_normal[name] for name in wanted if name in by_normal), None)


def _grade(request: EntityRequest, record: Mapping[str, Json], spec: ToolSpec) -> int | None:
    """How well a record has the name: 0 is best, None is not at all."""
    if request.is_id and record_id(record, spec.noun) == request.name:
        return 0
    wanted = _WORD.findall(fold(request.name))
    texts = [_WORD.findall(fold(text)) for text in _names(record)]
    words = {word for text in texts for word in text}
    if not wanted or not words:
        return None
    if wanted in texts:
        return 0
    if set(wanted) <= words:
        return 1
    stems = {_stem(word) for word in words} | words
    return 2 if all(_stem(word) in stems for word in wanted) else None


def _names(record: Mapping[str, Json]) -> Iterator[str]:
    """The names of a record, and those of the objects in it that are parts of its name."""
    for key, value in record.items():
        if isinstance(value, str) and _NAME_FIELDS.search(key.casefold()):
            yield value.partition("@")[0] if "@" in value else value
        elif isinstance(value, dict) and "name" in key.casefold():
            yield " ".join(str(inner) for inner in value.values() if isinstance(inner, str))


def _stem(word: str) -> str:
    """A name without its ending of declension, if enough of it is left."""
    bare = _ENDING.sub("", word)
    return bare if len(bare) >= _MIN_STEM else word


def _raw_id(record: Mapping[str, Json], own: str) -> Json:
    """The id with its own type."""
    return next((value for value in record.values() if isinstance(value, int) and str(value) == own), own)


def _why_not(spec: ToolSpec, bound: Sequence[Binding], entity: FoundEntity) -> str:
    """Why a tool that refers to the entity is not called; "" if it can be called."""
    required = [one for one in bound if one.is_required]
    uncertain = [one.why_not for one in (required or bound) if one.why_not]
    missing = sorted(_required(spec) - {one.path[0] for one in required})
    if spec.effect is not Effect.READ:
        return "it changes data and needs approval"
    if spec.source != entity.source:
        return f"it belongs to the source '{spec.source}', whose ids may differ"
    if len(required) > 1:
        return f"the id is ambiguous: it could be {' or '.join(_quoted(one.path[-1] for one in required))}"
    if uncertain and (required or len(uncertain) == len(bound)):
        return f"the id is ambiguous: {uncertain[0]}"
    return f"it also needs {', '.join(_quoted(missing))}" if missing else ""


def _calls_of(spec: ToolSpec, bound: Sequence[Binding]) -> list[PlannedCall]:
    """One call with the parameter that is required, or one for each that is not."""
    required = [one for one in bound if one.is_required]
    certain = [one for one in bound if not one.why_not]
    return [PlannedCall(spec, one.arguments) for one in (required or certain)]


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"'{name}'" for name in names]


def _is_getter(spec: ToolSpec, entity: FoundEntity) -> bool:
    return spec.effect is Effect.READ and reads_one(spec, entity.noun)


def _lists_own_kind(spec: ToolSpec, entity: FoundEntity) -> bool:
    """Whether a tool lists entities of the same kind by id: the record is known already."""
    is_listing = noun_of(spec) == entity.noun and spec.returns_many and spec.effect is Effect.READ
    return is_listing and "{" not in spec.locator


def _helper_operations(spec: ToolSpec) -> Iterator[str]:
    """The tools that another tool calls for its total or its further pages."""
    paging = spec.pagination
    yield from (name for name in (paging.count_operation, paging.next_operation) if name is not None)


def _required(spec: ToolSpec) -> frozenset[str]:
    return frozenset(spec.parameters.get("required") or ())


def _normal(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
