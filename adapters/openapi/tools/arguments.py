"""The flat arguments of one operation: its parameters, and its body as a whole or member by member.

Knows schemas and where an argument belongs. Knows no paging, no name that a tool gives it, and no value.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from adapters.base import Json, JsonObject, SkippedTool
from adapters.openapi.document.document import DocumentNode
from adapters.openapi.operation.model import (
    Operation,
    OperationEntry,
    OperationParameter,
    ParameterEncoding,
    ParameterLocation,
    ParameterStyle,
    RequestBody,
)
from adapters.openapi.schema.inline import Inliner
from adapters.openapi.tools.size_budget import clip_text

MAX_LENGTH = 64
_NOT_TOOL = re.compile(r"[^A-Za-z0-9_-]+")
_ARGUMENT = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")
_NOT_ARGUMENT = re.compile(r"[^A-Za-z0-9_.-]+")
VERSION_SEGMENT = re.compile(r"^v\d+(?:[.]\d+)*$|^api$", re.IGNORECASE)


def tool_names(entries: Sequence[OperationEntry]) -> dict[str, str]:
    """A name for each operation, by its locator (`GET /tickets`)."""
    wanted = {entry.locator: _preferred_name(entry) for entry in entries}
    counts = Counter(name.lower() for name in wanted.values())
    return {
        locator: name if counts[name.lower()] == 1 and len(name) <= MAX_LENGTH else _hashed_name(name, locator)
        for locator, name in wanted.items()
    }


def _preferred_name(entry: OperationEntry) -> str:
    stated = entry.operation.fields.get("operationId")
    name = _NOT_TOOL.sub("_", stated).strip("_-") if isinstance(stated, str) else ""
    return name if name and not name[0].isdigit() else _name_from_path(entry)


def _name_from_path(entry: OperationEntry) -> str:
    """`get_tickets_by_id` from `GET /api/v2/tickets/{id}`."""
    parts = [entry.method.lower()]
    for segment in entry.path.split("/"):
        if segment.startswith("{") and segment.endswith("}"):
            parts.append(f"by_{segment[1:-1]}")
        elif segment and not VERSION_SEGMENT.match(segment):
            parts.append(segment)
    return _NOT_TOOL.sub("_", "_".join(parts)).strip("_-")


def _hashed_name(name: str, meaning: str) -> str:
    """Head, two underscores and tail of a name, with a short hash of what it stands for."""
    digest = hashlib.sha256(meaning.encode()).hexdigest()[:8]
    room = MAX_LENGTH - len(digest) - 1
    if len(name) > room:
        tail = room // 3
        name = f"{name[: room - tail - 2].rstrip('_-')}__{name[-tail:].lstrip('_-')}"
    return f"{name}_{digest}"


class WireName(NamedTuple):
    """A name as the document has it, and the place where it stands; `body` for a member of the body."""

    place: ParameterLocation | str
    name: str


def argument_names(wires: Sequence[WireName]) -> dict[WireName, str]:
    """A name for each argument: the document's own where it is legal and stands in one place only."""
    wanted = {wire: _legal_name(wire.name) for wire in wires}
    counts = Counter(wanted.values())
    named = {wire: name if counts[name] == 1 else f"{name[:50]}__{wire.place}" for wire, name in wanted.items()}
    taken = Counter(named.values())
    return {
        wire: name if taken[name] == 1 else _hashed_name(name, f"{wire.place} {wire.name}")
        for wire, name in named.items()
    }


def _legal_name(name: str) -> str:
    if _ARGUMENT.match(name):
        return name
    return _NOT_ARGUMENT.sub("_", name).strip("_")[:MAX_LENGTH] or "value"


BODY = "body"
_MAX_DESCRIPTION = 8_000
_PLACEHOLDER = re.compile(r"^\s*(?:\{+[\w .-]+\}+|<[\w .-]+>)\s*$")
"""A default that only shows where a value goes."""
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument; `parameter` is None for the body and its members."""

    wire: WireName
    schema: JsonObject
    is_required: bool
    parameter: OperationParameter | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """All arguments of an operation, the parameters first; `is_flat` if members of the body are among them."""

    all: tuple[Argument, ...]
    is_flat: bool = False


class ArgumentReader:
    """Reads the arguments of the operations of one document, without those that credentials fill.

    Those are `credential_parameters`, in lower case. What is left out is added to `skipped`. Arguments that operations share are
    made once, and none may be changed.
    """

    def __init__(
        self, inliner: Inliner, skipped: list[SkippedTool], provided: frozenset[tuple[ParameterLocation, str]]
    ) -> None:
        self._inliner, self._left_out, self._provided = inliner, skipped, provided
        self._tool_name_of: dict[int, tuple[JsonObject, Argument]] = {}

    def read(self, operation: Operation) -> Arguments:
        """The arguments. Raises NotLoaded."""
        parameters = [one for one in operation.parameters if (one.location, one.name.lower()) not in self._provided]
        body = operation.body
        nodes = [_schema_node(one, operation.entry.operation) for one in parameters]
        nodes += [body.schema or operation.entry.operation.with_value({})] if body else []
        schemas, broken = self._inliner.inline(nodes)
        self._left_out.extend(SkippedTool(error.path, f"{error.why}; any value is allowed") for error in broken)
        found = [self._of_parameter(one, schema) for one, schema in zip(parameters, schemas, strict=False)]
        if body is None:
            return Arguments(tuple(found))
        if not is_flat(schemas[-1], body):
            return Arguments((*found, _body_argument(body, schemas[-1])))
        return Arguments((*found, *_member_arguments(body, schemas[-1])), is_flat=True)

    def _of_parameter(self, parameter: OperationParameter, schema: JsonObject) -> Argument:
        known = self._tool_name_of.get(id(parameter))
        if known is None or known[0] is not schema:
            known = self._tool_name_of[id(parameter)] = schema, _parameter_argument(parameter, schema)
        return known[1]


def with_undeclared(arguments: Arguments, names: Iterable[str], *, known: Iterable[str]) -> Arguments:
    """The arguments, and those that somebody needs although the document has none of these `names`.

    `known` are names that arguments go by beside their own. An undeclared one is a member of a flat body where there
    is one, else a parameter of the query. A path such as `page/limit` needs its object.
    """
    taken = {*known, *(one.wire.name for one in arguments.all)}
    added = [
        _undeclared_argument(name, arguments) for name in dict.fromkeys(names) if name not in taken and "/" not in name
    ]
    return replace(arguments, all=(*arguments.all, *added)) if added else arguments


def _undeclared_argument(name: str, arguments: Arguments) -> Argument:
    if arguments.is_flat:
        return Argument(wire=WireName(BODY, name), schema={}, is_required=False)
    encoding = ParameterEncoding(style=ParameterStyle.FORM, is_exploded=True)
    parameter = OperationParameter(name=name, location=ParameterLocation.QUERY, encoding=encoding, schema=None)
    return Argument(wire=WireName(ParameterLocation.QUERY, name), schema={}, is_required=False, parameter=parameter)


def _schema_node(parameter: OperationParameter, place: DocumentNode) -> DocumentNode:
    return parameter.schema if parameter.schema is not None else place.with_value({})


def _parameter_argument(parameter: OperationParameter, schema: JsonObject) -> Argument:
    """One parameter. Which thing is meant, a path asks whatever the default: documents give an example there."""
    if parameter.description:
        schema = schema | {"description": parameter.description}
    if isinstance(schema.get("default"), str) and _PLACEHOLDER.search(schema["default"]):
        schema = {key: value for key, value in schema.items() if key != "default"}
    is_addressing = parameter.location is ParameterLocation.PATH
    is_required = parameter.is_required and (is_addressing or "default" not in schema)
    return Argument(
        wire=WireName(parameter.location, parameter.name),
        schema=_with_clean_description(schema),
        is_required=is_required,
        parameter=parameter,
    )


def is_flat(schema: JsonObject, body: RequestBody) -> bool:
    """Whether each member of the body can be an argument: an object of known members and no alternatives."""
    is_object = schema.get("type") == "object" and bool(schema.get("properties"))
    is_closed = not schema.get("additionalProperties") and not schema.get("patternProperties")
    kind = body.media_type.split(";")[0].lower()
    is_writable = "json" in kind or "form" in kind or "*" in kind
    return is_object and is_closed and is_writable and not any(key in schema for key in ("allOf", "anyOf", "oneOf"))


def _body_argument(body: RequestBody, schema: JsonObject) -> Argument:
    words = schema.get("description") or f"The request body, {body.media_type}."
    schema = _with_clean_description(schema | {"description": words})
    return Argument(wire=WireName(BODY, BODY), schema=schema, is_required=body.is_required)


def _member_arguments(body: RequestBody, schema: JsonObject) -> list[Argument]:
    required = schema.get("required", ()) if body.is_required or body.is_expected else ()
    return [
        Argument(wire=WireName(BODY, name), schema=_with_clean_description(inner), is_required=name in required)
        for name, inner in schema["properties"].items()
    ]


def _with_clean_description(schema: JsonObject) -> JsonObject:
    """The schema with its own description free of markup."""
    words = schema.get("description")
    return schema | {"description": strip_markup(words)} if isinstance(words, str) else schema


def strip_markup(text: str) -> str:
    """The words of a text, its tags and line breaks gone; of an enormous one, those that anybody reads."""
    return clip_text(_TAG.sub(" ", text), _MAX_DESCRIPTION)


class NotAnObject(Exception):
    """Something that must hold a member is no object; the text is its path."""


def set_arguments(arguments: Mapping[str, Json], added: Mapping[str, Json], *, known: Collection[str]) -> JsonObject:
    """The arguments with others put over them; a path leads into an object unless `known` has it as a name.

    The objects given are not changed: those on the way are copied. Raises NotAnObject.
    """
    out = dict(arguments)
    for name, value in added.items():
        path = [name] if name in known else name.split("/")
        out = _set_path(out, path, value, way="")
    return out


def _set_path(holder: JsonObject, path: list[str], value: Json, *, way: str) -> JsonObject:
    name, *rest = path
    if not rest:
        return holder | {name: value}
    inner = holder.get(name)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        raise NotAnObject(way + name)
    return holder | {name: _set_path(inner, rest, value, way=f"{way}{name}/")}
