"""From the definition of an MCP tool to a `ToolSpec`: effect, hidden pagination arguments, noun.

Hints of an untrusted server can make a tool look more dangerous than its name, never less.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from mcp.types import Tool

from adapters.base import (
    Effect,
    Json,
    JsonObject,
    Pagination,
    PaginationStyle,
    SkippedTool,
    ToolList,
    ToolSpec,
    tool_name,
)
from adapters.pagination import ResponseSchema, count_operations, detect, flatten_parameters

_RESPONSE_DEPTH = 3
_MAX_REFERENCES = 8
_MEMBER_DEPTH, _MAX_MEMBERS = 2, 40


def argument_schemas(schema: JsonObject) -> dict[str, JsonObject]:
    """The arguments by name, members of objects by path (`page/limit`), with local references resolved."""
    return flatten_parameters(
        {
            name: _resolve_members(value, schema)
            for name, value in _properties(schema).items()
            if isinstance(value, dict)
        }
    )


def without_arguments(schema: JsonObject, hidden: Collection[str]) -> JsonObject:
    """The schema without the hidden arguments; its type is always object."""
    visible = {**schema, "type": "object", "properties": dict(_properties(schema))}
    for name in hidden:
        visible = _remove_property(visible, name.split("/") if name not in visible["properties"] else [name], schema)
    return visible


def with_page_arguments(arguments: Mapping[str, Json], page: Mapping[str, Json], schema: JsonObject) -> JsonObject:
    """The arguments with those of a page; `page/limit` sets a member of the object `page`."""
    sent: JsonObject = dict(arguments)
    for name, value in page.items():
        first, *rest = [name] if name in _properties(schema) else name.split("/")
        if rest:
            inner = sent.get(first)
            sent[first] = _set_nested(dict(inner) if isinstance(inner, dict) else {}, rest, value)
        else:
            sent[first] = value
    return sent


def response_shape_of(output: JsonObject | None) -> ResponseSchema | None:
    """The shape of the results from the output schema, None without one; `{"result": …}` is unwrapped."""
    if not output:
        return None
    root, properties = output, _properties(output)
    if set(properties) == {"result"}:
        root = resolve_reference(properties["result"], output)
    if root.get("type") == "array":
        return ResponseSchema({}, is_list=True, item_members=_item_members(root, output))
    members = dict(_flatten_members(root, output, ()))
    lists = [resolve_reference(value, output) for value in _properties(root).values() if isinstance(value, dict)]
    items = next((found for value in lists if (found := _item_members(value, output))), frozenset[str]())
    return ResponseSchema(members, item_members=items) if members else None


def resolve_reference(value: Json, root: JsonObject) -> JsonObject:
    """A schema with its `$ref` resolved; an empty schema if the reference leads nowhere."""
    for _ in range(_MAX_REFERENCES):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        node: Json = root
        for key in reference[2:].split("/"):
            node = node.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        value = {**node, **{k: v for k, v in value.items() if k != "$ref"}} if isinstance(node, dict) else {}
    return value if isinstance(value, dict) else {}


def _resolve_members(value: Json, root: JsonObject, depth: int = _MEMBER_DEPTH) -> JsonObject:
    """A schema with references resolved in members of objects too, as deep as pagination detection looks."""
    schema = _unwrap_nullable(value, root)
    members = _properties(schema)
    if not depth or not members or len(members) > _MAX_MEMBERS:
        return schema
    inner = {
        name: _resolve_members(member, root, depth - 1) for name, member in members.items() if isinstance(member, dict)
    }
    return {**schema, "properties": inner}


def _unwrap_nullable(value: Json, root: JsonObject) -> JsonObject:
    """A schema with its reference resolved; of "object or null" the object."""
    schema = resolve_reference(value, root)
    for key in ("anyOf", "oneOf", "allOf"):
        branches = [
            branch for part in schema.get(key) or () if (branch := resolve_reference(part, root)).get("type") != "null"
        ]
        if len(branches) == 1 and _properties(branches[0]):
            beside = {name: inner for name, inner in schema.items() if name not in (key, "default")}
            return {**branches[0], **beside}
    return schema


def type_of(schema: JsonObject) -> str:
    """The only type other than null; empty if there are several or none."""
    types = schema.get("type")
    if isinstance(types, list):
        real = [kind for kind in types if kind != "null"]
        return str(real[0]) if len(real) == 1 else ""
    if isinstance(types, str):
        return types
    branches = [b for key in ("anyOf", "oneOf") for b in schema.get(key) or () if isinstance(b, dict)]
    real = [b["type"] for b in branches if isinstance(b.get("type"), str) and b["type"] != "null"]
    return str(real[0]) if len(set(real)) == 1 else ""


def _properties(schema: JsonObject) -> Mapping[str, Json]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _flatten_members(schema: JsonObject, root: JsonObject, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in _properties(schema).items():
        inner = resolve_reference(value, root)
        yield ".".join((*above, name)), type_of(inner)
        if len(above) + 1 < _RESPONSE_DEPTH:
            yield from _flatten_members(inner, root, (*above, name))


def _item_members(schema: JsonObject, root: JsonObject) -> frozenset[str]:
    return (
        frozenset(_properties(resolve_reference(schema.get("items"), root)))
        if type_of(schema) == "array"
        else frozenset()
    )


def _remove_property(schema: JsonObject, path: list[str], root: JsonObject) -> JsonObject:
    """The schema without the member at `path`; an object that becomes empty is removed too."""
    first, *rest = path
    properties = dict(_properties(schema))
    if first not in properties:
        return schema
    inner = _remove_property(_unwrap_nullable(properties[first], root), rest, root) if rest else {}
    if rest and _properties(inner):
        return {**schema, "properties": {**properties, first: inner}}
    del properties[first]
    required = schema.get("required")
    remaining = {"required": [name for name in required if name != first]} if isinstance(required, list) else {}
    return {**schema, "properties": properties, **remaining}


def _set_nested(target: JsonObject, path: list[str], value: Json) -> JsonObject:
    first, *rest = path
    inner = target.get(first)
    target[first] = _set_nested(dict(inner) if isinstance(inner, dict) else {}, rest, value) if rest else value
    return target


LIST_RESOURCES, READ_RESOURCE = "resources/list", "resources/read"
READ_VERBS = frozenset(
    {"get", "list", "search", "find", "read", "count", "query", "fetch", "show", "describe", "lookup", "browse"}
)
_WRITE_VERBS = frozenset(
    {
        "add", "append", "apply", "approve", "archive", "assign", "cancel", "clear", "close", "commit",
        "create", "delete", "disable", "drop", "edit", "enable", "execute", "grant", "import", "insert",
        "invite", "invoke", "kill", "make", "merge", "modify", "move", "overwrite", "patch", "pay", "post",
        "publish", "purge", "push", "put", "refund", "register", "remove", "rename", "replace", "reset",
        "restart", "revoke", "run", "save", "send", "set", "start", "stop", "submit", "sync", "terminate",
        "transfer", "trigger", "truncate", "update", "upload", "upsert", "write",
    }
)  # fmt: skip
_WRAPPERS = frozenset({"result", "content", "text", "data", "output"})
"""Members under which servers return plain text."""
_PREPOSITIONS = frozenset({"by", "for", "of", "in", "with", "from", "to", "all"})
_NO_PAGING: Mapping[str, Pagination] = MappingProxyType({})
_NO_SIZES: Mapping[str, int] = MappingProxyType({})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def tool_specs(
    tools: Sequence[Tool],
    *,
    source: str,
    read_tools: Collection[str] = (),
    paging: Mapping[str, Pagination] = _NO_PAGING,
    page_sizes: Mapping[str, int] = _NO_SIZES,
) -> ToolList:
    """All usable tools; of two tools with the same name the second is skipped.

    `paging` overrides how tools paginate, and `page_sizes` the maximum page size, both by the server's tool names.
    """
    specs: dict[str, ToolSpec] = {}
    skipped: list[SkippedTool] = []
    for tool in tools:
        if any(spec.locator == tool.name for spec in specs.values()):
            skipped.append(SkippedTool(tool.name, "the server lists two tools with this name; the first is used"))
            continue
        pagination = _with_page_size(paging.get(tool.name) or _detect_pagination(tool), page_sizes.get(tool.name))
        spec = _tool_spec(tool, pagination, source=source, taken=specs, is_vouched=tool.name in read_tools)
        specs[spec.name] = spec
    return ToolList(_with_count_operations(tuple(specs.values())), tuple(skipped))


def effect_of(tool: Tool) -> Effect:
    """The effect of a tool, by its name and hints."""
    hints = tool.annotations
    name = _split_words(tool.name)
    first = name[0] if name else ""
    if hints is not None and hints.destructive_hint and not hints.read_only_hint:
        return Effect.DESTRUCTIVE
    if first in _WRITE_VERBS:
        return Effect.WRITE
    if hints is not None and hints.read_only_hint is not None:
        return Effect.READ if hints.read_only_hint else Effect.WRITE
    opening = _split_words((tool.description or "").strip().split(" ")[0])
    is_reading = any(_is_read_verb(word) for word in (first, *opening))
    return Effect.READ if is_reading else Effect.WRITE


def noun_of(name: str) -> str:
    """What a tool returns, plural if its name is: `get_open_tickets_by_user` -> `open_tickets`."""
    words = [word.lower() for word in _split_words(name)]
    while words and words[0] in READ_VERBS | _WRITE_VERBS | _PREPOSITIONS:
        words.pop(0)
    end = next((index for index, word in enumerate(words) if word in _PREPOSITIONS), len(words))
    return "_".join(words[:end]) or "records"


def resource_specs(*, source: str, taken: Collection[str]) -> tuple[ToolSpec, ToolSpec]:
    """The two tools for a server's resources: one lists them, one reads the contents of one."""
    listing = ToolSpec(
        name=tool_name("list_resources", taken=taken),
        description=f"The resources (documents, files) that the server '{source}' offers, by URI.",
        parameters={"type": "object", "properties": {}},
        source=source,
        locator=LIST_RESOURCES,
        pagination=Pagination(
            convention=PaginationStyle.CURSOR, position="cursor", next_path="nextCursor", is_declared=True
        ),
        noun="resources",
        records_path="resources",
    )
    reading = ToolSpec(
        name=tool_name("read_resource", taken=taken),
        description=f"The contents of one resource of the server '{source}', such as a link in a result of its tools.",
        parameters={
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The resource's URI, as listed or linked."}},
            "required": ["uri"],
        },
        source=source,
        locator=READ_RESOURCE,
        noun="contents",
    )
    return listing, reading


def _detect_pagination(tool: Tool) -> Pagination:
    """How a tool paginates; a tool that changes data does not, because its arguments say what to change."""
    if _changes_data(tool):
        return Pagination()
    return detect(
        argument_schemas(tool.input_schema),
        description=_description(tool),
        response=response_shape_of(tool.output_schema),
    )


def _changes_data(tool: Tool) -> bool:
    """Whether hints or the verb say that a tool changes data; an unknown tool may only read."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint is not None:
        return not hints.read_only_hint
    is_destructive = hints is not None and bool(hints.destructive_hint)
    return is_destructive or next(iter(_split_words(tool.name)), "") in _WRITE_VERBS


def _with_page_size(pagination: Pagination, page_size: int | None) -> Pagination:
    if page_size is None:
        return pagination
    return replace(pagination, max_size=min(page_size, pagination.max_size or page_size))


def _description(tool: Tool) -> str:
    return (tool.description or tool.title or "").strip()


def _tool_spec(
    tool: Tool, pagination: Pagination, *, source: str, taken: Collection[str], is_vouched: bool
) -> ToolSpec:
    return ToolSpec(
        name=tool_name(tool.name, taken=taken),
        description=_description(tool),
        parameters=without_arguments(tool.input_schema, pagination.hidden),
        source=source,
        locator=tool.name,
        effect=Effect.READ if is_vouched else effect_of(tool),
        pagination=pagination,
        noun=noun_of(tool.name),
        returns_many=pagination != Pagination() or not (_returns_one_object(tool.output_schema) or _takes_own_id(tool)),
    )


def _with_count_operations(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools, each with the name of the tool that counts its records, if there is one."""
    counts = count_operations(specs)
    return tuple(
        replace(spec, pagination=replace(spec.pagination, count_operation=counts[spec.name]))
        if spec.name in counts
        else spec
        for spec in specs
    )


def _returns_one_object(output: JsonObject | None) -> bool:
    """Whether the output schema declares one object whose members are all scalars."""
    properties = (output or {}).get("properties")
    if not isinstance(properties, dict) or not properties or set(properties) <= _WRAPPERS:
        return False
    return all(
        isinstance(value, dict) and value.get("type") in {"string", "integer", "number", "boolean", "null"}
        for value in properties.values()
    )


def _takes_own_id(tool: Tool) -> bool:
    """Whether a tool looks like `get_customer(customer_id)`: it names one thing and requires its id."""
    noun = noun_of(tool.name).replace("_", "")
    required = {str(name).lower().replace("_", "") for name in tool.input_schema.get("required") or ()}
    return required == {f"{noun}id"} or (required == {"id"} and not noun.endswith("s"))


def _is_read_verb(word: str) -> bool:
    """Whether a word is a verb of reading, also in the third person (`gets`, `searches`)."""
    return bool({word, word.removesuffix("s"), word.removesuffix("es")} & READ_VERBS)


def _split_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
