"""From the raw result of an MCP request to a payload: everything that the server sent, as one value.

Data may be structured content; text blocks, one or one per record; embedded resources; links and images. A result that
violates the schema is parsed as far as possible. Binary data is described, not inlined. Pagination metadata
(`nextCursor`, `total`) in the result, its `_meta`, or the text around the data is kept with the data.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from adapters.base import Json, JsonObject
from adapters.mcp.content.lenient_json import combine_values
from adapters.mcp.content.prose_signals import (
    error_message_in,
    is_truncated,
    metadata_in,
    paging_metadata,
    paging_metadata_in,
    partial_error_in,
)
from adapters.mcp.content.text_data import TextContent, parse_text, parse_whole_text, unwrap
from adapters.mcp.content.text_tables import is_header_only
from adapters.pagination.read.text_signals import is_empty_message

_PROTOCOL_MEMBERS = frozenset(
    {"content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "resultType", "ttlMs",
     "cacheScope", "contents"}
)  # fmt: skip
_CONTENT_MEMBERS = frozenset({"content", "contents", "structuredContent", "structured_content"})
_RESERVED_PREFIXES = ("io.modelcontextprotocol/", "modelcontextprotocol.io/", "mcp.dev/", "runax/")
_PAGING_NAME = re.compile("next|cursor|more|total|page|token|offset|count|last", re.IGNORECASE)
_TEXT_MIME_TYPE = re.compile(r"text/(?!html)|application/(?:[\w.-]+\+)?(?:json|x-ndjson|ndjson|jsonl)\b", re.IGNORECASE)
_GENERIC_WRAPPERS = frozenset({"result", "content"})
_BINARY_MEMBERS = ("data", "blob")
_MAX_FLAWS = 3


@dataclass(frozen=True, slots=True)
class ParsedResult:
    """A payload, its size in bytes as received, and warnings as pairs of code and text.

    `flaw` says why a part of it could not be parsed.
    """

    payload: Json
    n_bytes: int = 0
    warnings: tuple[tuple[str, str], ...] = ()
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class _ResultBlocks:
    """The blocks of a result: the content of text blocks, and descriptions of all others."""

    contents: tuple[TextContent, ...]
    attachments: tuple[JsonObject, ...]


def parse_result(raw: Mapping[str, Json], *, is_paged: bool = False) -> ParsedResult:
    """The data of a result; None if it has none.

    A text without data is a page if the tool paginates, and may state where the next page is. It is incomplete if its
    first or last line says so.
    """
    raw = _drop_duplicate_structure(_unwrap_nested_result(raw))
    texts, blocks = _read_blocks(_blocks(raw))
    structured = _structured_content(raw)
    has_structure = structured is not None and not (structured in ({}, []) and texts)
    text_data = _combine_data(blocks.contents)
    if has_structure and _count_records(text_data) > _count_records(structured):
        structured, has_structure = None, False
        raw = {**_scalar_members(raw), **raw}
    data = structured if has_structure else text_data
    if is_paged and isinstance(data, str) and is_header_only(data):
        data = []
    surrounding = "" if has_structure else _surrounding_text(blocks.contents)
    if data is None and not blocks.attachments and not _has_content(raw):
        data = {name: value for name, value in raw.items() if name not in _PROTOCOL_MEMBERS} or None
        return ParsedResult(data, _size(data))
    markers = _markers(raw, blocks.contents) if not has_structure else _structured_markers(raw, blocks.contents, data)
    if isinstance(data, str) and (is_paged or is_truncated(data)):
        markers = paging_metadata_in(data) | ({"has_more": True} if is_truncated(data) else {}) | markers
    payload = _assemble(data, surrounding, markers, blocks.attachments)
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    flaw = "; ".join(filter(None, ("" if has_structure else _flaws(blocks), partial_error_in(payload))))
    return ParsedResult(
        payload, n_bytes or _size(payload), tuple(_warnings(blocks, flaw, has_structure=has_structure)), flaw
    )


def result_texts(raw: Mapping[str, Json]) -> list[str]:
    """The text of every block that has one, including embedded resources."""
    return _read_blocks(_blocks(raw), is_read=False)[0]


def is_error(raw: Mapping[str, Json]) -> bool:
    """Whether the server reports that the tool failed (`isError`)."""
    return raw.get("isError", raw.get("is_error")) in (True, "true", "True")


def error_in_result(raw: Mapping[str, Json]) -> str:
    """The error message of a result that reports a failure, with or without `isError`; empty for data."""
    raw = _unwrap_nested_result(raw)
    if is_error(raw):
        return "\n".join(result_texts(raw)) or str(_structured_content(raw) or "")
    structured = _structured_content(raw)
    if structured not in (None, {}, []):
        return error_message_in(structured)
    texts = result_texts(raw)
    if len(texts) != 1 or len(_blocks(raw)) != 1:
        return ""
    return error_message_in(parse_text(texts[0]).value)


def needs_input(raw: Mapping[str, Json]) -> bool:
    """Whether the server needs input from the client before it answers (`resultType`, 2026-07-28)."""
    return raw.get("resultType") == "input_required"


def is_deferred_task(raw: Mapping[str, Json]) -> bool:
    """Whether the server started a task and returned its id instead of the result."""
    return raw.get("resultType") == "task" or (isinstance(raw.get("task"), dict) and not _has_content(raw))


def is_empty_result(raw: Mapping[str, Json]) -> bool:
    """Whether a result has no content member at all; `content: []` is not empty in this sense."""
    return all(value is None or name in _PROTOCOL_MEMBERS - _CONTENT_MEMBERS for name, value in raw.items())


def _unwrap_nested_result(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    """The result of another MCP server, if it is the only text of this result."""
    texts = result_texts(raw) if _structured_content(raw) is None else []
    if len(texts) != 1 or not texts[0].lstrip().startswith("{") or '"content"' not in texts[0]:
        return raw
    try:
        inner = orjson.loads(texts[0])
    except orjson.JSONDecodeError:
        return raw
    blocks = inner.get("content") if isinstance(inner, dict) and inner.keys() <= _PROTOCOL_MEMBERS else None
    is_result = isinstance(blocks, list) and all(isinstance(block, dict) and "type" in block for block in blocks)
    return inner if is_result and blocks else raw


def _drop_duplicate_structure(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    """The result without structured content that repeats its text; without text, that text becomes the content.

    Frameworks wrap every returned string as `{"result": "…"}` and declare it as structured content.
    """
    structured = raw.get("structuredContent", raw.get("structured_content"))
    if isinstance(structured, dict) and len(structured) == 1 and not _GENERIC_WRAPPERS.isdisjoint(structured):
        (structured,) = structured.values()
    if not isinstance(structured, str):
        return raw
    rest = {name: value for name, value in raw.items() if name not in ("structuredContent", "structured_content")}
    texts = [text.strip() for text in result_texts(raw)]
    if structured.strip() in (*texts, "\n".join(texts)):
        return rest
    return raw if texts else {**rest, "content": [*_blocks(raw), {"type": "text", "text": structured}]}


def _structured_content(raw: Mapping[str, Json]) -> Json:
    """The structured content, unwrapped; a string that contains data is parsed."""
    structured = raw.get("structuredContent", raw.get("structured_content"))
    return parse_text(structured).value if isinstance(structured, str) else unwrap(structured)


def _count_records(value: Json, depth: int = 3) -> int:
    """How many records a value may hold: the length of the longest list in it, or 1 for an object."""
    if isinstance(value, list):
        return len(value)
    if not isinstance(value, dict) or not value:
        return 0
    inner = max((_count_records(part, depth - 1) for part in value.values()), default=0) if depth else 0
    return inner if inner or any(isinstance(part, list) for part in value.values()) else 1


def _scalar_members(raw: Mapping[str, Json]) -> JsonObject:
    """Scalar members of structured content, such as totals, when the data itself is in the text."""
    structured = _structured_content(raw)
    members = structured.items() if isinstance(structured, dict) else ()
    return {
        name: value for name, value in members if not isinstance(value, dict | list) and name not in _PROTOCOL_MEMBERS
    }


def _has_content(raw: Mapping[str, Json]) -> bool:
    return not _CONTENT_MEMBERS.isdisjoint(raw)


def _blocks(raw: Mapping[str, Json]) -> list[Json]:
    content = raw.get("content", raw.get("contents"))
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _read_blocks(blocks: Sequence[Json], *, is_read: bool = True) -> tuple[list[str], _ResultBlocks]:
    texts: list[str] = []
    contents: list[TextContent] = []
    attachments: list[JsonObject] = []
    for block in blocks:
        inner = _block_value(block)
        if isinstance(inner, str):
            texts.append(inner)
            contents.append(parse_text(inner) if is_read else TextContent(inner))
        elif isinstance(block, dict) and inner is block and _is_attachment(block):
            attachments.append(_describe_attachment(block))
        else:
            contents.append(TextContent(inner))
    is_text = is_read and not attachments and all(isinstance(content.value, str) for content in contents)
    whole = (parse_whole_text("\n".join(texts)),) if is_text and texts else ()
    if whole and whole[0].is_data:
        return texts, _ResultBlocks(whole, ())
    return texts, _ResultBlocks(_join_split_text(texts) or tuple(contents), tuple(attachments))


def _join_split_text(texts: Sequence[str]) -> tuple[TextContent, ...]:
    """The value that is split over all texts; empty if there is none."""
    if len(texts) < 2 or not parse_text(texts[0]).flaw:
        return ()
    joined = parse_text("".join(texts))
    return (joined,) if joined.is_data and not joined.surrounding else ()


def _block_value(block: Json) -> Json:
    """The text of a block, or the value that an unusual block holds instead."""
    if not isinstance(block, dict):
        return block
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    for name in ("text", "json", "value"):
        if holder.get(name) is not None:
            return holder[name]
    text = _decode_blob(holder)
    return block if text is None else text


def _decode_blob(holder: JsonObject) -> str | None:
    """The text of a blob whose MIME type is textual."""
    blob, kind = holder.get("blob"), holder.get("mimeType")
    if not isinstance(blob, str) or not isinstance(kind, str) or _TEXT_MIME_TYPE.match(kind) is None:
        return None
    try:
        return base64.b64decode(blob, validate=True).decode("utf-8-sig")
    except ValueError:
        return None


def _is_attachment(block: JsonObject) -> bool:
    """Whether a block states its type or holds binary data; other blocks are data."""
    return "type" in block or any(isinstance(block.get(name), str) for name in _BINARY_MEMBERS)


def _describe_attachment(block: JsonObject) -> JsonObject:
    """A block with the size of its binary data instead of the data."""
    resource = block.get("resource")
    flat = {**block, **resource} if isinstance(resource, dict) else dict(block)
    flat.pop("resource", None)
    described = {name: value for name, value in flat.items() if name not in (*_BINARY_MEMBERS, "_meta", "annotations")}
    encoded = next((flat[name] for name in _BINARY_MEMBERS if isinstance(flat.get(name), str)), None)
    if encoded is not None:
        described["n_bytes"] = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return described


def _combine_data(contents: Sequence[TextContent]) -> Json:
    """The data of the texts: one value, or one record per text; else the joined text."""
    values = [content.value for content in contents if not isinstance(content.value, str)]
    if not values:
        texts = [content.value for content in contents]
        return "\n".join(texts) if texts else None
    if len(values) == 1:
        return values[0]
    return _merge_pages(values) if all(map(_is_page, values)) else combine_values(values)


def _is_page(value: Json) -> bool:
    """Whether an object is a page: it has exactly one list, and that is a list of objects."""
    lists = [inner for inner in value.values() if isinstance(inner, list)] if isinstance(value, dict) else []
    return len(lists) == 1 and bool(lists[0]) and all(isinstance(item, dict) for item in lists[0])


def _merge_pages(values: Sequence[Json]) -> Json:
    """Pages of the same list as one page, with the metadata of the last one."""
    pages = [value for value in values if isinstance(value, dict)]
    names = {name for page in pages for name, inner in page.items() if isinstance(inner, list)}
    if len(names) != 1 or any(_has_identity(page) for page in pages):
        return list(values)
    (name,) = names
    return {**pages[-1], name: [item for page in pages for item in page[name]]}


def _has_identity(page: JsonObject) -> bool:
    """Whether an object is a record with a list, not a page: it has its own name or id."""
    return any(name in page for name in ("id", "name", "key", "title", "uuid", "uri"))


def _surrounding_text(contents: Sequence[TextContent]) -> str:
    """The text around the data; empty if the text is the data."""
    if not any(content.is_data for content in contents):
        return ""
    texts = (content.surrounding if content.is_data else content.value for content in contents)
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _markers(raw: Mapping[str, Json], contents: Sequence[TextContent]) -> JsonObject:
    """Members next to the data that MCP does not define, and metadata in the text around the data."""
    markers = {name: value for content in contents if content.is_data for name, value in content.metadata.items()}
    if any(content.is_data for content in contents):
        markers |= metadata_in(_plain_text(contents), n_records=_count_records(_combine_data(contents)))
    return {**markers, **_extra_members(raw)}


def _structured_markers(raw: Mapping[str, Json], contents: Sequence[TextContent], data: Json) -> JsonObject:
    """The same in addition to structured content; from the text, only what it says about further pages."""
    markers = (
        paging_metadata_in(_plain_text(contents), n_records=_count_records(data))
        if isinstance(data, dict | list)
        else {}
    )
    markers = paging_metadata(content.metadata for content in contents) | markers
    members = data if isinstance(data, dict) else {}
    return {**{name: value for name, value in markers.items() if name not in members}, **_extra_members(raw)}


def _plain_text(contents: Sequence[TextContent]) -> str:
    return "\n".join(content.value for content in contents if isinstance(content.value, str))


def _extra_members(raw: Mapping[str, Json]) -> JsonObject:
    """Members of the result that MCP does not define; those in `_meta` without their prefix."""
    meta = raw.get("_meta")
    beside = {name: value for name, value in raw.items() if name not in _PROTOCOL_MEMBERS and value is not None}
    named = meta.items() if isinstance(meta, dict) else ()
    own = {name.rpartition("/")[2]: value for name, value in named if _is_data_metadata(name, value)}
    return {**({"_meta": own} if own else {}), **beside}


def _is_data_metadata(name: str, value: Json) -> bool:
    """Whether a member of `_meta` may describe the data; members used between frameworks do not."""
    is_of_paging = not isinstance(value, dict) or any(_PAGING_NAME.search(inner) for inner in value)
    return is_of_paging and not name.startswith(_RESERVED_PREFIXES)


def _assemble(data: Json, surrounding: str, markers: JsonObject, attachments: Sequence[JsonObject]) -> Json:
    """The data together with the text, markers and attachments around it; the data alone if there are none.

    One object next to markers is a page of one record, so that the cursor does not become part of the record.
    """
    if data is None or (attachments and isinstance(data, str)):
        surrounding, data, attachments = (data or surrounding), list(attachments) or None, ()
    extra: JsonObject = {**({"message": surrounding} if surrounding else {}), **markers}
    if attachments:
        extra["attachments"] = list(attachments)
    if not extra or (data is None and not markers):
        return data
    is_record = bool(markers) and isinstance(data, dict) and not any(isinstance(v, list) for v in data.values())
    if isinstance(data, dict) and not is_record:
        return {**extra, **data}
    is_none = data is None or (isinstance(data, str) and is_empty_message(data))
    return {**extra, "items": data if isinstance(data, list) else [] if is_none else [data]}


def _flaws(blocks: _ResultBlocks) -> str:
    return "; ".join([content.flaw for content in blocks.contents if content.flaw][:_MAX_FLAWS])


def _warnings(blocks: _ResultBlocks, flaw: str, *, has_structure: bool) -> Iterator[tuple[str, str]]:
    if blocks.attachments and not has_structure:
        kinds = ", ".join(sorted({str(block.get("type")) for block in blocks.attachments}))
        yield "content_not_text", f"returned non-text content ({kinds}); it is described but not inlined"
    if flaw:
        yield "text_not_json", f"returned text that looks like data but could not be parsed: {flaw}"


def _size(value: Json) -> int:
    return 0 if value is None else len(orjson.dumps(value, default=str))
