"""From an MCP tool to a tool as the model sees it: name, effect, hidden pagination, noun.

Knows tool definitions, and how far to trust them: the hints of a server that nobody vouches for can make a tool look
more dangerous than its name, and never less. Knows no session.
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

_DEPTH = 3
_REFERENCES = 8
_MEMBERS_DEEP, _WIDEST = 2, 40


def arguments_of(schema: JsonObject) -> dict[str, JsonObject]:
    """Arguments by name, members of objects by their path (`page/limit`), references inside the schema followed."""
    return flatten_parameters(
        {name: _followed(value, schema) for name, value in _properties(schema).items() if _is(value)}
    )


def without(schema: JsonObject, hidden: Collection[str]) -> JsonObject:
    """The schema without the hidden arguments, of type object whatever the server left unsaid."""
    visible = {**schema, "type": "object", "properties": dict(_properties(schema))}
    for name in hidden:
        visible = _removed(visible, name.split("/") if name not in visible["properties"] else [name], schema)
    return visible


def placed(arguments: Mapping[str, Json], page: Mapping[str, Json], schema: JsonObject) -> JsonObject:
    """The arguments with those of a page, `page/limit` as a member of the object `page`."""
    sent: JsonObject = dict(arguments)
    for name, value in page.items():
        first, *rest = [name] if name in _properties(schema) else name.split("/")
        if rest:
            inner = sent.get(first)
            sent[first] = _with(dict(inner) if isinstance(inner, dict) else {}, rest, value)
        else:
            sent[first] = value
    return sent


def response_of(output: JsonObject | None) -> ResponseSchema | None:
    """The shape of the answers; None where the server does not tell. `{"result": …}` is opened, as in the answers."""
    if not output:
        return None
    root, properties = output, _properties(output)
    if set(properties) == {"result"}:
        root = resolved(properties["result"], output)
    if root.get("type") == "array":
        return ResponseSchema({}, is_list=True, item_members=_members_of_items(root, output))
    members = dict(_members(root, output, ()))
    lists = [resolved(value, output) for value in _properties(root).values() if isinstance(value, dict)]
    items = next((found for value in lists if (found := _members_of_items(value, output))), frozenset[str]())
    return ResponseSchema(members, item_members=items) if members else None


def resolved(value: Json, root: JsonObject) -> JsonObject:
    """A schema with the reference that it may be followed; an empty one where it leads nowhere."""
    for _ in range(_REFERENCES):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        node: Json = root
        for key in reference[2:].split("/"):
            node = node.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        value = {**node, **{k: v for k, v in value.items() if k != "$ref"}} if isinstance(node, dict) else {}
    return value if isinstance(value, dict) else {}


def _followed(value: Json, root: JsonObject, depth: int = _MEMBERS_DEEP) -> JsonObject:
    """A schema with references followed in the members of objects too, as deep as paging looks."""
    schema = _opened(value, root)
    members = _properties(schema)
    if not depth or not members or len(members) > _WIDEST:
        return schema
    inner = {name: _followed(member, root, depth - 1) for name, member in members.items() if _is(member)}
    return {**schema, "properties": inner}


def _opened(value: Json, root: JsonObject) -> JsonObject:
    """A schema with its reference followed; of an object that may be null, as generators write it, the object."""
    schema = resolved(value, root)
    for key in ("anyOf", "oneOf", "allOf"):
        branches = [branch for part in schema.get(key) or () if (branch := resolved(part, root)).get("type") != "null"]
        if len(branches) == 1 and _properties(branches[0]):
            beside = {name: inner for name, inner in schema.items() if name not in (key, "default")}
            return {**branches[0], **beside}
    return schema


def _is(schema: Json) -> bool:
    return isinstance(schema, dict)


def type_of(schema: JsonObject) -> str:
    """The one type that a value has beside null; empty where there are several or none is named."""
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


def _members(schema: JsonObject, root: JsonObject, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in _properties(schema).items():
        inner = resolved(value, root)
        yield ".".join((*above, name)), type_of(inner)
        if len(above) + 1 < _DEPTH:
            yield from _members(inner, root, (*above, name))


def _members_of_items(schema: JsonObject, root: JsonObject) -> frozenset[str]:
    return frozenset(_properties(resolved(schema.get("items"), root))) if type_of(schema) == "array" else frozenset()


def _removed(schema: JsonObject, path: list[str], root: JsonObject) -> JsonObject:
    """The schema without the member at `path`; an object that is left without members goes with its last one."""
    first, *rest = path
    properties = dict(_properties(schema))
    if first not in properties:
        return schema
    inner = _removed(_opened(properties[first], root), rest, root) if rest else {}
    if rest and _properties(inner):
        return {**schema, "properties": {**properties, first: inner}}
    del properties[first]
    required = schema.get("required")
    left = {"required": [name for name in required if name != first]} if isinstance(required, list) else {}
    return {**schema, "properties": properties, **left}


def _with(target: JsonObject, path: list[str], value: Json) -> JsonObject:
    first, *rest = path
    inner = target.get(first)
    target[first] = _with(dict(inner) if isinstance(inner, dict) else {}, rest, value) if rest else value
    return target


LIST_RESOURCES, READ_RESOURCE = "resources/list", "resources/read"
READING = frozenset(
    {"get", "list", "search", "find", "read", "count", "query", "fetch", "show", "describe", "lookup", "browse"}
)
_WRITING = frozenset(
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
"""Members under which servers wrap text of any length."""
_LINKING = frozenset({"by", "for", "of", "in", "with", "from", "to", "all"})
_NO_PAGING: Mapping[str, Pagination] = MappingProxyType({})
_NO_SIZES: Mapping[str, int] = MappingProxyType({})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def specs_of(
    tools: Sequence[Tool],
    *,
    source: str,
    read_tools: Collection[str] = (),
    paging: Mapping[str, Pagination] = _NO_PAGING,
    page_sizes: Mapping[str, int] = _NO_SIZES,
) -> ToolList:
    """Every tool that can be used; two tools of one name cannot be told apart, so the second is left out.

    `paging` is how tools page by what the user says, `page_sizes` the longest page to ask for, both by their own names.
    """
    specs: dict[str, ToolSpec] = {}
    skipped: list[SkippedTool] = []
    for tool in tools:
        if any(spec.locator == tool.name for spec in specs.values()):
            skipped.append(SkippedTool(tool.name, "the server lists two tools of this name; the first is used"))
            continue
        pagination = _capped(paging.get(tool.name) or _detected(tool), page_sizes.get(tool.name))
        spec = _spec_of(tool, pagination, source=source, taken=specs, is_vouched=tool.name in read_tools)
        specs[spec.name] = spec
    return ToolList(_with_counts(tuple(specs.values())), tuple(skipped))


def effect_of(tool: Tool) -> Effect:
    """What a tool does, as its name says and its hints admit."""
    hints = tool.annotations
    name = _words(tool.name)
    first = name[0] if name else ""
    if hints is not None and hints.destructive_hint and not hints.read_only_hint:
        return Effect.DESTRUCTIVE
    if first in _WRITING:
        return Effect.WRITE
    if hints is not None and hints.read_only_hint is not None:
        return Effect.READ if hints.read_only_hint else Effect.WRITE
    opening = _words((tool.description or "").strip().split(" ")[0])
    is_reading = any(_is_reading(word) for word in (first, *opening))
    return Effect.READ if is_reading else Effect.WRITE


def noun_of(name: str) -> str:
    """What a tool returns, in the plural where its name has it: `get_open_tickets_by_user` -> `open_tickets`."""
    words = [word.lower() for word in _words(name)]
    while words and words[0] in READING | _WRITING | _LINKING:
        words.pop(0)
    cut = next((at for at, word in enumerate(words) if word in _LINKING), len(words))
    return "_".join(words[:cut]) or "records"


def resource_specs(*, source: str, taken: Collection[str]) -> tuple[ToolSpec, ToolSpec]:
    """Tools for the resources of a server: their list, and the contents of one, read when somebody asks for it."""
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


def _detected(tool: Tool) -> Pagination:
    """How a tool pages; one that changes data does not, whatever its arguments are called: they say what to change."""
    if _is_surely_changing(tool):
        return Pagination()
    return detect(
        arguments_of(tool.input_schema), description=_description(tool), response=response_of(tool.output_schema)
    )


def _is_surely_changing(tool: Tool) -> bool:
    """Whether a tool changes data by its hints or its verb; of others nobody knows, and caution is no knowledge."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint is not None:
        return not hints.read_only_hint
    is_destructive = hints is not None and bool(hints.destructive_hint)
    return is_destructive or next(iter(_words(tool.name)), "") in _WRITING


def _capped(pagination: Pagination, page_size: int | None) -> Pagination:
    if page_size is None:
        return pagination
    return replace(pagination, max_size=min(page_size, pagination.max_size or page_size))


def _description(tool: Tool) -> str:
    return (tool.description or tool.title or "").strip()


def _spec_of(tool: Tool, pagination: Pagination, *, source: str, taken: Collection[str], is_vouched: bool) -> ToolSpec:
    return ToolSpec(
        name=tool_name(tool.name, taken=taken),
        description=_description(tool),
        parameters=without(tool.input_schema, pagination.hidden),
        source=source,
        locator=tool.name,
        effect=Effect.READ if is_vouched else effect_of(tool),
        pagination=pagination,
        noun=noun_of(tool.name),
        returns_many=pagination != Pagination() or not (_is_surely_one(tool.output_schema) or _is_by_id(tool)),
    )


def _with_counts(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools, those whose records another tool counts with the name of that one."""
    counts = count_operations(specs)
    return tuple(
        replace(spec, pagination=replace(spec.pagination, count_operation=counts[spec.name]))
        if spec.name in counts
        else spec
        for spec in specs
    )


def _is_surely_one(output: JsonObject | None) -> bool:
    """Whether the declared output is one object of known members, none of which is a list."""
    properties = (output or {}).get("properties")
    if not isinstance(properties, dict) or not properties or set(properties) <= _WRAPPERS:
        return False
    return all(
        isinstance(value, dict) and value.get("type") in {"string", "integer", "number", "boolean", "null"}
        for value in properties.values()
    )


def _is_by_id(tool: Tool) -> bool:
    """Whether the tool is of the kind `get_customer(customer_id)`: it names one thing, and needs that thing's id."""
    noun = noun_of(tool.name).replace("_", "")
    required = {str(name).lower().replace("_", "") for name in tool.input_schema.get("required") or ()}
    return required == {f"{noun}id"} or (required == {"id"} and not noun.endswith("s"))


def _is_reading(word: str) -> bool:
    """Whether a word is a verb of reading, in the third person too (`gets`, `searches`)."""
    return bool({word, word.removesuffix("s"), word.removesuffix("es")} & READING)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
