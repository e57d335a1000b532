"""Arguments of tools: names, and the flat list of parameters and body members of an operation."""

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
    """Return a name for each operation, by locator (`GET /tickets`)."""
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
    """Derive a name from a path: `get_tickets_by_id` from `GET /api/v2/tickets/{id}`."""
    parts = [entry.method.lower()]
    for segment in entry.path.split("/"):
        if segment.startswith("{") and segment.endswith("}"):
            parts.append(f"by_{segment[1:-1]}")
        elif segment and not VERSION_SEGMENT.match(segment):
            parts.append(segment)
    return _NOT_TOOL.sub("_", "_".join(parts)).strip("_-")


def _hashed_name(name: str, meaning: str) -> str:
    """Shorten a name in the middle and append a short hash of its meaning."""
    digest = hashlib.sha256(meaning.encode()).hexdigest()[:8]
    room = MAX_LENGTH - len(digest) - 1
    if len(name) > room:
        tail = room // 3
        name = f"{name[: room - tail - 2].rstrip('_-')}__{name[-tail:].lstrip('_-')}"
    return f"{name}_{digest}"


class WireName(NamedTuple):
    """The name of a parameter or body member in the document, and its location; `body` for the body."""

    place: ParameterLocation | str
    name: str


def argument_names(wires: Sequence[WireName]) -> dict[WireName, str]:
    """Return a name for each argument: the document's own if it is legal and unique."""
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
"""A default that is a placeholder, such as `{id}`."""
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
    """All arguments of an operation, parameters first; `is_flat` if body members are arguments of their own."""

    all: tuple[Argument, ...]
    is_flat: bool = False


class ArgumentReader:
    """Reads the arguments of the operations of one document, without those that credentials fill.

    Those are `provided`, in lower case. Skipped parts are added to `skipped`. Operations share arguments: do not modify
    them.
    """

    def __init__(
        self, inliner: Inliner, skipped: list[SkippedTool], provided: frozenset[tuple[ParameterLocation, str]]
    ) -> None:
        self._inliner, self._skipped, self._provided = inliner, skipped, provided
        self._cache: dict[int, tuple[JsonObject, Argument]] = {}

    def read(self, operation: Operation) -> Arguments:
        """Read the arguments of one operation. Raises DocumentNotLoaded."""
        parameters = [one for one in operation.parameters if (one.location, one.name.lower()) not in self._provided]
        body = operation.body
        nodes = [_schema_node(one, operation.entry.operation) for one in parameters]
        nodes += [body.schema or operation.entry.operation.with_value({})] if body else []
        schemas, broken = self._inliner.inline(nodes)
        self._skipped.extend(SkippedTool(error.path, f"{error.reason}; any value is accepted") for error in broken)
        found = [self._of_parameter(one, schema) for one, schema in zip(parameters, schemas, strict=False)]
        if body is None:
            return Arguments(tuple(found))
        if not is_flat(schemas[-1], body):
            return Arguments((*found, _body_argument(body, schemas[-1])))
        return Arguments((*found, *_member_arguments(body, schemas[-1])), is_flat=True)

    def _of_parameter(self, parameter: OperationParameter, schema: JsonObject) -> Argument:
        cached = self._cache.get(id(parameter))
        if cached is None or cached[0] is not schema:
            cached = self._cache[id(parameter)] = schema, _parameter_argument(parameter, schema)
        return cached[1]


def with_undeclared(arguments: Arguments, names: Iterable[str], *, known: Iterable[str]) -> Arguments:
    """Add arguments for those of `names` that the document does not declare; `known` are further names in use.

    An undeclared argument becomes a member of a flat body if there is one, else a query parameter. A path such as
    `page/limit` is not added, since it needs its object.
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
    """Convert a parameter. A path parameter is required even with a default, which is usually an example there."""
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
    """Whether each body member can be an argument: an object of declared members without alternatives."""
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
    """Remove markup from the description of a schema."""
    words = schema.get("description")
    return schema | {"description": strip_markup(words)} if isinstance(words, str) else schema


def strip_markup(text: str) -> str:
    """Remove tags and line breaks from a text, and clip it if it is huge."""
    return clip_text(_TAG.sub(" ", text), _MAX_DESCRIPTION)


class NotAnObject(Exception):
    """A value on the path of a nested argument is not an object; the message is its path."""


def set_arguments(arguments: Mapping[str, Json], added: Mapping[str, Json], *, known: Collection[str]) -> JsonObject:
    """Return the arguments with others set; a path sets a nested member unless it is a name in `known`.

    The given objects are not modified. Raises NotAnObject.
    """
    out = dict(arguments)
    for name, value in added.items():
        path = [name] if name in known else name.split("/")
        out = _set_path(out, path, value, prefix="")
    return out


def _set_path(holder: JsonObject, path: list[str], value: Json, *, prefix: str) -> JsonObject:
    name, *rest = path
    if not rest:
        return holder | {name: value}
    inner = holder.get(name)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        raise NotAnObject(prefix + name)
    return holder | {name: _set_path(inner, rest, value, prefix=f"{prefix}{name}/")}
