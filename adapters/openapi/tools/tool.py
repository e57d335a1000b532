"""Builds the tool of one operation: its flat arguments, their binding to the request, and the schema for the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adapters.base import Effect, JsonObject, Pagination, PaginationStyle, SkippedTool, ToolSpec
from adapters.openapi.document.document import OpenApiDocument
from adapters.openapi.operation.model import Operation, OperationParameter
from adapters.openapi.settings import ToolOverride
from adapters.openapi.tools.arguments import (
    ArgumentReader,
    Arguments,
    WireName,
    argument_names,
    strip_markup,
    with_undeclared,
)
from adapters.openapi.tools.pagination import page_defaults, pagination_of, visible_arguments
from adapters.openapi.tools.response_shape import RecordShape
from adapters.openapi.tools.size_budget import MAX_CHARACTERS, MAX_DESCRIPTION, ToolSizeBudget, clip_text, size_of

_NO_DEFAULTS: Mapping[str, object] = MappingProxyType({})
_RESERVED_CHARACTERS = 300
"""Characters reserved for what is added before a tool is sent to a model: a few short arguments, a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentBinding:
    """Maps the arguments of a tool to parameters, members of the body, or the whole body.

    `files` are the members that are sent as files; `defaults` are values of required parameters, from the document or
    for the first page. With `allows_slashes`, the settings allow slashes in the values of path parameters.
    """

    parameters: Mapping[str, OperationParameter]
    members: Mapping[str, str]
    whole_body: str | None = None
    files: frozenset[str] = frozenset()
    defaults: Mapping[str, object] = field(default_factory=lambda: _NO_DEFAULTS)
    allows_slashes: bool = False

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments, including hidden ones."""
        whole = (self.whole_body,) if self.whole_body else ()
        return (*self.parameters, *self.members, *whole)


@dataclass(frozen=True, slots=True)
class OpenApiTool:
    """A tool, its operation and the binding of its arguments."""

    spec: ToolSpec
    operation: Operation
    binding: ArgumentBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What all tools of one source share."""

    source: str
    document: OpenApiDocument
    arguments: ArgumentReader
    skipped: list[SkippedTool]
    size_budget: ToolSizeBudget = field(default_factory=ToolSizeBudget)


def build_tool(
    name: str, operation: Operation, context: ToolContext, *, shape: RecordShape, effect: Effect, override: ToolOverride
) -> OpenApiTool:
    """Build the tool of one operation. Raises DocumentNotLoaded if another file is needed."""
    arguments = context.arguments.read(operation)
    named = argument_names([argument.wire for argument in arguments.all])
    if override.pagination is not None:
        arguments = with_undeclared(arguments, override.pagination.hidden, known=named.values())
        named = argument_names([argument.wire for argument in arguments.all])
    pagination = pagination_of(arguments.all, named, operation, response=shape.response, override=override)
    description = override.description or _description(operation)
    room = MAX_CHARACTERS - _RESERVED_CHARACTERS - size_of({"name": name, "description": description, "parameters": 0})
    spec = ToolSpec(
        name=name,
        description=description,
        parameters=_parameters(arguments, named, pagination, operation, context, room=room),
        source=context.source,
        locator=operation.entry.locator,
        effect=effect,
        pagination=pagination,
        noun=shape.noun,
        returns_many=shape.returns_many or _is_paginated(pagination),
        records_path=shape.records_path,
        parallel_safe=override.parallel_safe if override.parallel_safe is not None else True,
        requires_fresh_input=bool(override.requires_fresh_input),
        timeout_s=override.timeout_s,
        approval=override.approval,
    )
    binding = replace(_binding(arguments, named, pagination), allows_slashes=override.allows_slashes)
    return OpenApiTool(spec, operation, binding)


def _is_paginated(pagination: Pagination) -> bool:
    """Whether the parameters show that an operation returns lists, regardless of its response schema."""
    is_sized = pagination.convention is not PaginationStyle.SINGLE and pagination.size is not None
    return pagination.position is not None or is_sized


def _parameters(
    arguments: Arguments,
    named: Mapping[WireName, str],
    pagination: Pagination,
    operation: Operation,
    context: ToolContext,
    *,
    room: int,
) -> JsonObject:
    """Return the schema that the model sees, within the size budget; dropped arguments are reported."""
    visible = visible_arguments({named[one.wire]: one.schema for one in arguments.all}, pagination.hidden)
    required = [named[one.wire] for one in arguments.all if one.is_required and named[one.wire] in visible]
    schema: JsonObject = {"type": "object", "properties": visible}
    schema |= {"required": required} if required else {}
    schema, dropped = context.size_budget.fit(schema | {"additionalProperties": False}, room)
    if dropped:
        words = f"the tool is too large; its optional arguments {', '.join(dropped[:20])} cannot be set"
        context.skipped.append(SkippedTool(context.document.display_path(operation.entry.operation), words))
    return schema


def _binding(arguments: Arguments, named: Mapping[WireName, str], pagination: Pagination) -> ArgumentBinding:
    in_body = [one for one in arguments.all if one.parameter is None]
    return ArgumentBinding(
        parameters={named[one.wire]: one.parameter for one in arguments.all if one.parameter is not None},
        members={named[one.wire]: one.wire.name for one in in_body if arguments.is_flat},
        whole_body=next((named[one.wire] for one in in_body if not arguments.is_flat), None),
        files=frozenset(one.wire.name for one in in_body if _is_file(one.schema)),
        defaults=_defaults(arguments, named, pagination),
    )


def _defaults(arguments: Arguments, named: Mapping[WireName, str], pagination: Pagination) -> JsonObject:
    """Return defaults of required parameters: the document's, or those of the first page."""
    of_page = page_defaults(pagination)
    found: JsonObject = {}
    for one in arguments.all:
        if one.parameter is None or not one.parameter.is_required:
            continue
        name = named[one.wire]
        if "default" in one.schema:
            found[name] = one.schema["default"]
        elif name in of_page:
            found[name] = of_page[name]
    return found


def _description(operation: Operation) -> str:
    text = strip_markup(operation.description) or operation.entry.locator
    prefix = "Deprecated. " if operation.is_deprecated else ""
    return prefix + clip_text(text, MAX_DESCRIPTION)


def _is_file(schema: JsonObject) -> bool:
    """Whether a value, or each of its items, is binary."""
    inner = schema.get("items")
    return schema.get("format") == "binary" or (isinstance(inner, dict) and inner.get("format") == "binary")
