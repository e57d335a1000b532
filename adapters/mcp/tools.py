"""From an MCP tool to a tool as the model sees it: name, effect, hidden pagination, noun.

Knows tool definitions, and how far to trust them: the hints of a server that nobody vouches for can make a tool look
more dangerous than its name, and never less. Knows no session.
"""

import re
from collections.abc import Collection, Sequence

from mcp.types import Tool

from adapters.base import Effect, Json, JsonObject, LeftOut, Pagination, ToolList, ToolSpec
from adapters.pagination import detect
from adapters.toolnames import tool_name

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
_LINKING = frozenset({"by", "for", "of", "in", "with", "from", "to", "all"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def specs_of(tools: Sequence[Tool], *, source: str, read_tools: Collection[str] = ()) -> ToolList:
    """Every tool that can be used; two tools of one name cannot be told apart, so the second is left out."""
    specs: dict[str, ToolSpec] = {}
    left_out: list[LeftOut] = []
    for tool in tools:
        if any(spec.locator == tool.name for spec in specs.values()):
            left_out.append(LeftOut(tool.name, "the server lists two tools of this name; the first is used"))
            continue
        spec = _spec_of(tool, source=source, taken=specs, is_vouched=tool.name in read_tools)
        specs[spec.name] = spec
    return ToolList(tuple(specs.values()), tuple(left_out))


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


def _spec_of(tool: Tool, *, source: str, taken: Collection[str], is_vouched: bool) -> ToolSpec:
    pagination = detect(_flat(tool.input_schema), description=tool.description or "")
    return ToolSpec(
        name=tool_name(tool.name, taken=taken),
        description=(tool.description or tool.title or "").strip(),
        parameters=_without(tool.input_schema, pagination.hidden),
        source=source,
        locator=tool.name,
        effect=Effect.READ if is_vouched else effect_of(tool),
        pagination=pagination,
        noun=noun_of(tool.name),
        returns_many=pagination != Pagination() or not (_is_surely_one(tool.output_schema) or _is_by_id(tool)),
    )


def _flat(schema: JsonObject) -> dict[str, JsonObject]:
    """Arguments by name, each with a reference inside the schema followed once."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: _resolved(value, schema) for name, value in properties.items() if isinstance(value, dict)}


def _resolved(value: JsonObject, root: JsonObject) -> JsonObject:
    reference = value.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return value
    node: Json = root
    for key in reference[2:].split("/"):
        node = node.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node | {k: v for k, v in value.items() if k != "$ref"} if isinstance(node, dict) else value


def _without(schema: JsonObject, hidden: Collection[str]) -> JsonObject:
    """The schema without the hidden arguments, of type object whatever the server left unsaid."""
    properties = schema.get("properties")
    kept = {name: value for name, value in properties.items() if name not in hidden} if properties else {}
    visible: JsonObject = {**schema, "type": "object", "properties": kept}
    required = [name for name in schema.get("required") or () if name not in hidden]
    return {**visible, "required": required} if "required" in schema else visible


def _is_surely_one(output: JsonObject | None) -> bool:
    """Whether the declared output is one object of known members, none of which is a list."""
    properties = (output or {}).get("properties")
    if not isinstance(properties, dict) or not properties or set(properties) == {"result"}:
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
