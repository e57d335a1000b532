"""Results that the SDK will accept, from whatever a server sent.

Knows which members each kind of result must have, in every revision of the protocol. Knows no transport. What it gives
carries only what the SDK needs to know; the data itself is read from the raw result, by others.
"""

from collections.abc import Iterator, Mapping

from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from adapters.base import Json, JsonObject, LeftOut

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_CACHING = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def fitting(method: str, raw: JsonObject) -> JsonObject | None:
    """A result of `method` that every revision accepts; None where the raw one may be passed on as it is."""
    match method:
        case "tools/call":
            return {"resultType": "complete", "content": []}
        case "resources/read":
            return {**_CACHING, "contents": []}
        case "resources/list":
            return {**_CACHING, "resources": []}
        case "tools/list":
            return {**_CACHING, "tools": list(usable_tools(raw)), **_cursor(raw)}
        case "initialize":
            return _handshake(raw)
        case "server/discover":
            return _discovery(raw)
        case _:
            return None


def usable_tools(raw: Mapping[str, Json]) -> Iterator[JsonObject]:
    """The tools of a list that have a name, with what is malformed about them left away."""
    for tool in listed(raw, "tools"):
        if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"]:
            yield _tool(tool)


def unusable_tools(raw: Mapping[str, Json]) -> Iterator[LeftOut]:
    """The rest of the list, each with the reason."""
    for index, tool in enumerate(listed(raw, "tools")):
        if not isinstance(tool, dict):
            yield LeftOut(f"tools/{index}", "the tool is no object")
        elif not isinstance(tool.get("name"), str) or not tool["name"]:
            yield LeftOut(f"tools/{index}", "the tool has no name")


def listed(raw: Mapping[str, Json], name: str) -> list[Json]:
    """The list of that name in a result; of an object its values, each under its key as a name."""
    found = raw.get(name)
    if isinstance(found, dict):
        return [{"name": key, **value} for key, value in found.items() if isinstance(value, dict)]
    return found if isinstance(found, list) else []


def cursor_of(raw: Mapping[str, Json]) -> str | None:
    """Where the list goes on; a number counts as its digits, and an empty text as the end."""
    cursor = raw.get("nextCursor")
    if isinstance(cursor, bool) or not isinstance(cursor, str | int):
        return None
    return str(cursor) or None


def _cursor(raw: JsonObject) -> JsonObject:
    cursor = cursor_of(raw)
    return {} if cursor is None else {"nextCursor": cursor}


def _tool(tool: JsonObject) -> JsonObject:
    mended: JsonObject = {"name": tool["name"], "inputSchema": _object_schema(_schema_of(tool))}
    for name in ("title", "description"):
        if isinstance(tool.get(name), str):
            mended[name] = tool[name]
    output = tool.get("outputSchema")
    if isinstance(output, dict):
        is_object = output.get("type", "object") == "object"
        mended["outputSchema"] = _object_schema(output if is_object else {"properties": {"result": output}})
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        mended["annotations"] = {name: hints[name] for name in _HINTS if isinstance(hints.get(name), bool)}
    return mended


def _schema_of(tool: JsonObject) -> Json:
    """The schema of the arguments, also under the names that other protocols use."""
    return next((tool[name] for name in ("inputSchema", "input_schema", "parameters") if name in tool), None)


def _object_schema(schema: Json) -> JsonObject:
    if not isinstance(schema, dict):
        return {"type": "object"}
    properties = schema.get("properties")
    kept = {name: value for name, value in schema.items() if name not in ("properties", "required")}
    if not isinstance(kept.get("$schema", ""), str):
        del kept["$schema"]
    required = schema.get("required")
    return {
        **kept,
        "type": "object",
        **({"properties": _argument_schemas(properties)} if isinstance(properties, dict) else {}),
        **({"required": [name for name in required if isinstance(name, str)]} if isinstance(required, list) else {}),
    }


def _argument_schemas(properties: JsonObject) -> JsonObject:
    """The schemas of arguments; a type's bare name is that type, and whatever else is no schema allows anything."""
    return {
        name: value if isinstance(value, dict | bool) else {"type": value} if value in _TYPES else {}
        for name, value in properties.items()
    }


def _handshake(raw: JsonObject) -> JsonObject:
    """What the SDK needs of a handshake. A revision that is none of a handshake is taken for the last that is one."""
    server, revision, words = raw.get("serverInfo"), raw.get("protocolVersion"), raw.get("instructions")
    named = {"name": "", "version": "", **(server if isinstance(server, dict) else {})}
    return {
        "protocolVersion": revision if revision in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION,
        "capabilities": _offers(raw),
        "serverInfo": {"name": str(named["name"]), "version": str(named["version"])},
        **({"instructions": words} if isinstance(words, str) else {}),
    }


def _discovery(raw: JsonObject) -> JsonObject | None:
    """What the SDK needs of a stateless server's word about itself; None where it names no revision."""
    revisions = raw.get("supportedVersions")
    if not isinstance(revisions, list):
        return None
    return {**_CACHING, "supportedVersions": [str(name) for name in revisions], "capabilities": _offers(raw)}


def _offers(raw: JsonObject) -> JsonObject:
    """What a server says that it can do. One that says nothing may have tools all the same."""
    capabilities = raw.get("capabilities")
    told = capabilities.items() if isinstance(capabilities, dict) else ()
    return {name: _offer(offer) for name, offer in told if offer not in (None, False)}


def _offer(offer: Json) -> JsonObject:
    """What a server says of one thing that it can do: of that, flags matter only."""
    flags = offer.items() if isinstance(offer, dict) else ()
    return {name: flag for name, flag in flags if isinstance(flag, bool)}
