"""From an MCP tool to a tool as the model sees it: name, effect, hidden pagination, noun.

Knows tool definitions, and how far to trust them: the hints of a server that nobody vouches for can make a tool look
more dangerous than its name, and never less. Knows no session.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from mcp.types import Tool

from adapters.base import Convention, Effect, JsonObject, LeftOut, Pagination, ToolList, ToolSpec
from adapters.mcp.shape import arguments_of, response_of, without
from adapters.pagination import counting, detect
from adapters.toolnames import tool_name

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
    left_out: list[LeftOut] = []
    for tool in tools:
        if any(spec.locator == tool.name for spec in specs.values()):
            left_out.append(LeftOut(tool.name, "the server lists two tools of this name; the first is used"))
            continue
        pagination = _capped(paging.get(tool.name) or _detected(tool), page_sizes.get(tool.name))
        spec = _spec_of(tool, pagination, source=source, taken=specs, is_vouched=tool.name in read_tools)
        specs[spec.name] = spec
    return ToolList(_with_counts(tuple(specs.values())), tuple(left_out))


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
            convention=Convention.CURSOR, position="cursor", next_path="nextCursor", is_declared=True
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
    counts = counting(specs)
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
