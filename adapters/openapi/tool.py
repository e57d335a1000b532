"""One operation as a tool: its flat arguments, the map that takes them apart again, and what the model sees of them.

Knows arguments, pagination and overrides. Knows no value: `request` fills the map.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adapters.base import Effect, JsonObject, LeftOut, Pagination, ToolSpec
from adapters.openapi.document import Document, Node
from adapters.openapi.fit import MAX_DESCRIPTION, clipped, fitted
from adapters.openapi.inline import inline
from adapters.openapi.names import Wire, argument_names
from adapters.openapi.operation import Body, Location, Operation, Parameter, Style
from adapters.openapi.schema import Direction
from adapters.openapi.settings import ToolOverride
from adapters.openapi.shape import Shape
from adapters.pagination import detect

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BODY = "body"
_NO_DEFAULTS: Mapping[str, object] = MappingProxyType({})
_PAGED = (Location.QUERY, _BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Where each argument of a tool goes: into a parameter, a member of the body, or the body as a whole.

    `files` are the body's members that are sent as files; `defaults` are values of required parameters that the
    document supplies.
    """

    parameters: Mapping[str, Parameter]
    members: Mapping[str, str]
    whole_body: str | None = None
    files: frozenset[str] = frozenset()
    defaults: Mapping[str, object] = field(default_factory=lambda: _NO_DEFAULTS)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every argument, hidden ones included."""
        whole = (self.whole_body,) if self.whole_body else ()
        return (*self.parameters, *self.members, *whole)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, the operation behind it and the map between them."""

    spec: ToolSpec
    operation: Operation
    binding: Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    wire: Wire
    schema: JsonObject
    is_required: bool
    parameter: Parameter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What holds for every tool of one source. `provided` are parameters that credentials fill, in lower case."""

    source: str
    document: Document
    provided: frozenset[tuple[Location, str]]
    left_out: list[LeftOut]


def build_tool(
    name: str, operation: Operation, context: ToolContext, *, shape: Shape, effect: Effect, override: ToolOverride
) -> Tool:
    """The tool of one operation. Raises NotLoaded where another file is needed."""
    arguments, body_schema = _arguments(operation, context)
    named = argument_names([argument.wire for argument in arguments])
    pagination = _pagination(arguments, named, operation, override)
    hidden = set(pagination.hidden)
    shown = {named[one.wire]: one for one in arguments if named[one.wire] not in hidden}
    required = [key for key, one in shown.items() if one.is_required]
    schema: JsonObject = {"type": "object", "properties": {key: one.schema for key, one in shown.items()}}
    schema |= {"required": required} if required else {}
    schema, dropped = fitted(schema | {"additionalProperties": False})
    here = context.document.path_of(operation.entry.operation)
    if dropped:
        words = f"the tool would be too large with its optional arguments {', '.join(dropped[:20])}; they cannot be set"
        context.left_out.append(LeftOut(here, words))
    spec = ToolSpec(
        name=name,
        description=_description(operation),
        parameters=schema,
        source=context.source,
        locator=operation.entry.locator,
        effect=effect,
        pagination=pagination,
        noun=shape.noun,
        returns_many=shape.returns_many or pagination.position is not None,
        records_path=shape.records_path,
        parallel_safe=override.parallel_safe if override.parallel_safe is not None else True,
        requires_fresh_input=bool(override.requires_fresh_input),
    )
    return Tool(spec, operation, _binding(arguments, named, body_schema is not None))


def _binding(arguments: list[_Argument], named: Mapping[Wire, str], is_flat: bool) -> Binding:  # noqa: FBT001
    return Binding(
        parameters={named[one.wire]: one.parameter for one in arguments if one.parameter is not None},
        members={named[one.wire]: one.wire.name for one in arguments if one.parameter is None and is_flat},
        whole_body=next((named[one.wire] for one in arguments if one.parameter is None and not is_flat), None),
        files=frozenset(one.wire.name for one in arguments if one.parameter is None and _is_file(one.schema)),
        defaults={
            named[one.wire]: one.schema["default"]
            for one in arguments
            if one.parameter is not None and one.parameter.is_required and "default" in one.schema
        },
    )


def _arguments(operation: Operation, context: ToolContext) -> tuple[list[_Argument], JsonObject | None]:
    """The arguments, and the body's schema where its members are arguments of their own."""
    parameters = [one for one in operation.parameters if (one.location, one.name.lower()) not in context.provided]
    body = operation.body
    nodes = [_schema_node(one, operation.entry.operation) for one in parameters]
    nodes += [body.schema or operation.entry.operation.replaced({})] if body else []
    schemas, broken = inline(context.document, nodes, Direction.REQUEST)
    context.left_out.extend(LeftOut(error.path, f"{error.why}; any value is allowed") for error in broken)
    arguments = [_of_parameter(one, schema) for one, schema in zip(parameters, schemas, strict=False)]
    if body is None:
        return arguments, None
    if not is_flat(schemas[-1], body):
        return [*arguments, _of_whole(body, schemas[-1])], None
    return [*arguments, *_of_members(body, schemas[-1])], schemas[-1]


def _schema_node(parameter: Parameter, place: Node) -> Node:
    return parameter.schema if parameter.schema is not None else place.replaced({})


def _of_parameter(parameter: Parameter, schema: JsonObject) -> _Argument:
    if parameter.description:
        schema = schema | {"description": parameter.description}
    is_required = parameter.is_required and "default" not in schema
    return _Argument(
        wire=Wire(parameter.location, parameter.name),
        schema=_readable(schema),
        is_required=is_required,
        parameter=parameter,
    )


def is_flat(schema: JsonObject, body: Body) -> bool:
    """Whether each member of the body can be an argument: an object of known members and no alternatives."""
    is_object = schema.get("type") == "object" and bool(schema.get("properties"))
    is_closed = not schema.get("additionalProperties") and not schema.get("patternProperties")
    kind = body.media_type.split(";")[0].lower()
    is_writable = "json" in kind or "form" in kind or "*" in kind
    return is_object and is_closed and is_writable and not any(key in schema for key in ("allOf", "anyOf", "oneOf"))


def _of_whole(body: Body, schema: JsonObject) -> _Argument:
    words = schema.get("description") or f"The request body, {body.media_type}."
    schema = _readable(schema | {"description": words})
    return _Argument(wire=Wire(_BODY, _BODY), schema=schema, is_required=body.is_required)


def _of_members(body: Body, schema: JsonObject) -> list[_Argument]:
    required = schema.get("required", ()) if body.is_required else ()
    return [
        _Argument(wire=Wire(_BODY, name), schema=_readable(inner), is_required=name in required)
        for name, inner in schema["properties"].items()
    ]


def _readable(schema: JsonObject) -> JsonObject:
    """The schema with its own description free of markup."""
    words = schema.get("description")
    return schema | {"description": _plain(words)} if isinstance(words, str) else schema


def _plain(text: str) -> str:
    return " ".join(_TAG.sub(" ", text).split())


def _description(operation: Operation) -> str:
    text = _plain(operation.description) or operation.entry.locator
    prefix = "Deprecated. " if operation.is_deprecated else ""
    return prefix + clipped(text, MAX_DESCRIPTION)


def _pagination(
    arguments: list[_Argument], named: Mapping[Wire, str], operation: Operation, override: ToolOverride
) -> Pagination:
    """How the tool pages, in the names of its arguments: what the user says, else what the parameters show."""
    paged = [one for one in arguments if one.wire.place in _PAGED and not _is_structured(one)]
    by_wire = {one.wire.name: named[one.wire] for one in reversed(paged)}
    schemas = {one.wire.name: one.schema for one in reversed(paged)}
    found = override.pagination or detect(dict(reversed(schemas.items())), description=_plain(operation.description))
    found = replace(
        found,
        position=_renamed(found.position, by_wire),
        size=_renamed(found.size, by_wire),
        metadata=_renamed(found.metadata, by_wire),
        other_hidden=tuple(by_wire.get(name, name) for name in found.other_hidden),
    )
    if override.page_size is not None:
        found = replace(found, max_size=min(override.page_size, found.max_size or override.page_size))
    return found


def _is_file(schema: JsonObject) -> bool:
    """Whether the value, or each item of it, is binary."""
    inner = schema.get("items")
    return schema.get("format") == "binary" or (isinstance(inner, dict) and inner.get("format") == "binary")


def _renamed(name: str | None, names: Mapping[str, str]) -> str | None:
    return None if name is None else names.get(name, name)


def _is_structured(argument: _Argument) -> bool:
    if argument.parameter is None:
        return False
    encoding = argument.parameter.encoding
    return encoding.media_type is not None or encoding.style is Style.DEEP
