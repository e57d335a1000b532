"""From the raw result of an MCP request to a payload: everything that the server sent, in one value.

Knows the shapes in which servers return data: structured content; text blocks that hold data, one or one for each
record; resources inside the result, links to others, images. Knows neither session nor SDK: a result that breaks the
schema is read as far as it goes. Bytes are named and never inlined. Markers beside the data (`nextCursor`, `total`)
stay beside it, in the result itself, its `_meta`, or the words around the data.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from adapters.base import Json, JsonObject
from adapters.mcp.content.lenient_json import together
from adapters.mcp.content.prose_signals import (
    complaint_beside,
    complaint_in,
    facts_in,
    going_on,
    going_on_in,
    is_cut_short,
)
from adapters.mcp.content.text_data import TextContent, read_alone, read_text, unwrapped
from adapters.mcp.content.text_tables import is_head_alone
from adapters.pagination.read.text_signals import is_empty_message

_OWN = frozenset(
    {"content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "resultType", "ttlMs",
     "cacheScope", "contents"}
)  # fmt: skip
_HOLDING = frozenset({"content", "contents", "structuredContent", "structured_content"})
_RESERVED = ("io.modelcontextprotocol/", "modelcontextprotocol.io/", "mcp.dev/", "runax/")
_OF_PAGING = re.compile("next|cursor|more|total|page|token|offset|count|last", re.IGNORECASE)
_TEXTUAL = re.compile(r"text/(?!html)|application/(?:[\w.-]+\+)?(?:json|x-ndjson|ndjson|jsonl)\b", re.IGNORECASE)
_SOLE = frozenset({"result", "content"})
_BYTES = ("data", "blob")
_MOST_FLAWS = 3


@dataclass(frozen=True, slots=True)
class ParsedResult:
    """A payload, its size in bytes as it came, and what is odd about it as pairs of code and text.

    `flaw` says why a part of it could not be read.
    """

    payload: Json
    n_bytes: int = 0
    oddities: tuple[tuple[str, str], ...] = ()
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class _ResultBlocks:
    """The blocks of a result: what their texts hold, and what can be said about those without text."""

    contents: tuple[TextContent, ...]
    others: tuple[JsonObject, ...]


def read_result(raw: Mapping[str, Json], *, is_paged: bool = False) -> ParsedResult:
    """The data of a result; None where it holds nothing.

    A text without data is a page too where the tool pages, and what it says of the next one is heard; it is a part
    where it says so at its begin or end.
    """
    raw = _without_echo(_opened(raw))
    texts, parts = _sorted(_blocks(raw))
    structured = _structure(raw)
    has_structure = structured is not None and not (structured in ({}, []) and texts)
    said = _data(parts.contents)
    if has_structure and _n_records(said) > _n_records(structured):
        structured, has_structure = None, False
        raw = {**_told(raw), **raw}
    data = structured if has_structure else said
    if is_paged and isinstance(data, str) and is_head_alone(data):
        data = []
    words = "" if has_structure else _words(parts.contents)
    if data is None and not parts.others and not _has_content(raw):
        data = {name: value for name, value in raw.items() if name not in _OWN} or None
        return ParsedResult(data, _size(data))
    markers = _markers(raw, parts.contents) if not has_structure else _beside(raw, parts.contents, data)
    if isinstance(data, str) and (is_paged or is_cut_short(data)):
        markers = going_on_in(data) | ({"has_more": True} if is_cut_short(data) else {}) | markers
    payload = _joined(data, words, markers, parts.others)
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    flaw = "; ".join(filter(None, ("" if has_structure else _flaws(parts), complaint_beside(payload))))
    return ParsedResult(
        payload, n_bytes or _size(payload), tuple(_oddities(parts, flaw, has_structure=has_structure)), flaw
    )


def texts_of(raw: Mapping[str, Json]) -> list[str]:
    """The text of every block that has any, resources inside the result included."""
    return _sorted(_blocks(raw), is_read=False)[0]


def is_error(raw: Mapping[str, Json]) -> bool:
    """Whether the server says that the tool failed."""
    return raw.get("isError", raw.get("is_error")) in (True, "true", "True")


def told_failure(raw: Mapping[str, Json]) -> str:
    """The message of a failure that the server gives as if it were the result; empty where the result is none."""
    raw = _opened(raw)
    if is_error(raw):
        return "\n".join(texts_of(raw)) or str(_structure(raw) or "")
    structured = _structure(raw)
    if structured not in (None, {}, []):
        return complaint_in(structured)
    texts = texts_of(raw)
    if len(texts) != 1 or len(_blocks(raw)) != 1:
        return ""
    return complaint_in(read_text(texts[0]).value)


def asks_for_input(raw: Mapping[str, Json]) -> bool:
    """Whether the server wants something from a person or a model before it answers (`resultType`, 2026-07-28)."""
    return raw.get("resultType") == "input_required"


def is_put_off(raw: Mapping[str, Json]) -> bool:
    """Whether the server began a task and gives its name in place of the result."""
    return raw.get("resultType") == "task" or (isinstance(raw.get("task"), dict) and not _has_content(raw))


def is_void(raw: Mapping[str, Json]) -> bool:
    """Whether a result holds nothing, not even content that is empty: nobody says that there is no data."""
    return all(value is None or name in _OWN - _HOLDING for name, value in raw.items())


def _opened(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    """The result that another server gave, where the one text of this result is all of that one."""
    texts = texts_of(raw) if _structure(raw) is None else []
    if len(texts) != 1 or not texts[0].lstrip().startswith("{") or '"content"' not in texts[0]:
        return raw
    try:
        inner = orjson.loads(texts[0])
    except orjson.JSONDecodeError:
        return raw
    blocks = inner.get("content") if isinstance(inner, dict) and inner.keys() <= _OWN else None
    is_result = isinstance(blocks, list) and all(isinstance(block, dict) and "type" in block for block in blocks)
    return inner if is_result and blocks else raw


def _without_echo(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    """The result without structured content that only says its text once more, or as that text where it has none.

    Frameworks wrap every text that a tool returns once more, as `{"result": "…"}`; to them that is structure.
    """
    structured = raw.get("structuredContent", raw.get("structured_content"))
    if isinstance(structured, dict) and len(structured) == 1 and not _SOLE.isdisjoint(structured):
        (structured,) = structured.values()
    if not isinstance(structured, str):
        return raw
    rest = {name: value for name, value in raw.items() if name not in ("structuredContent", "structured_content")}
    texts = [text.strip() for text in texts_of(raw)]
    if structured.strip() in (*texts, "\n".join(texts)):
        return rest
    return raw if texts else {**rest, "content": [*_blocks(raw), {"type": "text", "text": structured}]}


def _structure(raw: Mapping[str, Json]) -> Json:
    """The structured content, unwrapped; a text that holds data as that data."""
    structured = raw.get("structuredContent", raw.get("structured_content"))
    return read_text(structured).value if isinstance(structured, str) else unwrapped(structured)


def _n_records(value: Json, depth: int = 3) -> int:
    """How many records a value may hold: the longest list in it, or one for an object."""
    if isinstance(value, list):
        return len(value)
    if not isinstance(value, dict) or not value:
        return 0
    inner = max((_n_records(part, depth - 1) for part in value.values()), default=0) if depth else 0
    return inner if inner or any(isinstance(part, list) for part in value.values()) else 1


def _told(raw: Mapping[str, Json]) -> JsonObject:
    """What structured content says of the data, where the data itself is in the text: figures and marks."""
    structured = _structure(raw)
    told = structured.items() if isinstance(structured, dict) else ()
    return {name: value for name, value in told if not isinstance(value, dict | list) and name not in _OWN}


def _has_content(raw: Mapping[str, Json]) -> bool:
    return not _HOLDING.isdisjoint(raw)


def _blocks(raw: Mapping[str, Json]) -> list[Json]:
    content = raw.get("content", raw.get("contents"))
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _sorted(blocks: Sequence[Json], *, is_read: bool = True) -> tuple[list[str], _ResultBlocks]:
    texts: list[str] = []
    contents: list[TextContent] = []
    others: list[JsonObject] = []
    for block in blocks:
        inner = _inner(block)
        if isinstance(inner, str):
            texts.append(inner)
            contents.append(read_text(inner) if is_read else TextContent(inner))
        elif isinstance(block, dict) and inner is block and _is_described(block):
            others.append(_described(block))
        else:
            contents.append(TextContent(inner))
    is_text = is_read and not others and all(isinstance(content.value, str) for content in contents)
    whole = (read_alone("\n".join(texts)),) if is_text and texts else ()
    if whole and whole[0].is_data:
        return texts, _ResultBlocks(whole, ())
    return texts, _ResultBlocks(_cut_by_length(texts) or tuple(contents), tuple(others))


def _cut_by_length(texts: Sequence[str]) -> tuple[TextContent, ...]:
    """The one value that is spread over all texts, cut where a block was full; empty where there is none."""
    if len(texts) < 2 or not read_text(texts[0]).flaw:
        return ()
    joined = read_text("".join(texts))
    return (joined,) if joined.is_data and not joined.words else ()


def _inner(block: Json) -> Json:
    """The text of a block, or the value that an unusual one holds in its place."""
    if not isinstance(block, dict):
        return block
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    for name in ("text", "json", "value"):
        if holder.get(name) is not None:
            return holder[name]
    text = _decoded(holder)
    return block if text is None else text


def _decoded(holder: JsonObject) -> str | None:
    """The text that is written as bytes, where its type says that it is one."""
    blob, kind = holder.get("blob"), holder.get("mimeType")
    if not isinstance(blob, str) or not isinstance(kind, str) or _TEXTUAL.match(kind) is None:
        return None
    try:
        return base64.b64decode(blob, validate=True).decode("utf-8-sig")
    except ValueError:
        return None


def _is_described(block: JsonObject) -> bool:
    """Whether a block says of itself what it is, or holds bytes; any other one is data."""
    return "type" in block or any(isinstance(block.get(name), str) for name in _BYTES)


def _described(block: JsonObject) -> JsonObject:
    """A block without its bytes: their number stands for them."""
    resource = block.get("resource")
    flat = {**block, **resource} if isinstance(resource, dict) else dict(block)
    flat.pop("resource", None)
    described = {name: value for name, value in flat.items() if name not in (*_BYTES, "_meta", "annotations")}
    encoded = next((flat[name] for name in _BYTES if isinstance(flat.get(name), str)), None)
    if encoded is not None:
        described["n_bytes"] = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return described


def _data(contents: Sequence[TextContent]) -> Json:
    """The data that the texts hold: one value, or a record for each of them; else one text."""
    values = [content.value for content in contents if not isinstance(content.value, str)]
    if not values:
        texts = [content.value for content in contents]
        return "\n".join(texts) if texts else None
    if len(values) == 1:
        return values[0]
    return _pages(values) if all(map(_is_page, values)) else together(values)


def _is_page(value: Json) -> bool:
    """Whether an object is a page: one list of objects in it, and nothing else of any length."""
    lists = [inner for inner in value.values() if isinstance(inner, list)] if isinstance(value, dict) else []
    return len(lists) == 1 and bool(lists[0]) and all(isinstance(item, dict) for item in lists[0])


def _pages(values: Sequence[Json]) -> Json:
    """Pages of one list as one page: what the last of them says of going on holds for all."""
    pages = [value for value in values if isinstance(value, dict)]
    names = {name for page in pages for name, inner in page.items() if isinstance(inner, list)}
    if len(names) != 1 or any(_has_identity(page) for page in pages):
        return list(values)
    (name,) = names
    return {**pages[-1], name: [item for page in pages for item in page[name]]}


def _has_identity(page: JsonObject) -> bool:
    """Whether an object is a record that holds a list, and no page: it has a name or an id of its own."""
    return any(name in page for name in ("id", "name", "key", "title", "uuid", "uri"))


def _words(contents: Sequence[TextContent]) -> str:
    """What stands around the data; nothing where the words are the data."""
    if not any(content.is_data for content in contents):
        return ""
    around = (content.words if content.is_data else content.value for content in contents)
    return "\n".join(words for words in around if isinstance(words, str) and words.strip())


def _markers(raw: Mapping[str, Json], contents: Sequence[TextContent]) -> JsonObject:
    """Members beside the data that the protocol does not know, and facts in the words around it."""
    said = {name: value for content in contents if content.is_data for name, value in content.facts.items()}
    if any(content.is_data for content in contents):
        said |= facts_in(_loose(contents), n_records=_n_records(_data(contents)))
    return {**said, **_unknown(raw)}


def _beside(raw: Mapping[str, Json], contents: Sequence[TextContent], data: Json) -> JsonObject:
    """The same beside structured content: of the words, which tell it once more, only what they say of going on."""
    told = going_on_in(_loose(contents), n_records=_n_records(data)) if isinstance(data, dict | list) else {}
    told = going_on(content.facts for content in contents) | told
    known = data if isinstance(data, dict) else {}
    return {**{name: value for name, value in told.items() if name not in known}, **_unknown(raw)}


def _loose(contents: Sequence[TextContent]) -> str:
    return "\n".join(content.value for content in contents if isinstance(content.value, str))


def _unknown(raw: Mapping[str, Json]) -> JsonObject:
    """Members of the result that the protocol does not know, those in `_meta` without the owner of their name."""
    meta = raw.get("_meta")
    beside = {name: value for name, value in raw.items() if name not in _OWN and value is not None}
    named = meta.items() if isinstance(meta, dict) else ()
    own = {name.rpartition("/")[2]: value for name, value in named if _is_told(name, value)}
    return {**({"_meta": own} if own else {}), **beside}


def _is_told(name: str, value: Json) -> bool:
    """Whether a member of `_meta` may tell of the data; what is between frameworks does not."""
    is_of_paging = not isinstance(value, dict) or any(_OF_PAGING.search(inner) for inner in value)
    return is_of_paging and not name.startswith(_RESERVED)


def _joined(data: Json, words: str, markers: JsonObject, others: Sequence[JsonObject]) -> Json:
    """One value of data and what is around it; the data alone where there is nothing around.

    One object beside markers is a page of one record: a cursor must not become a part of it.
    """
    if data is None or (others and isinstance(data, str)):
        words, data, others = (data or words), list(others) or None, ()
    around: JsonObject = {**({"message": words} if words else {}), **markers}
    if others:
        around["attachments"] = list(others)
    if not around or (data is None and not markers):
        return data
    is_record = bool(markers) and isinstance(data, dict) and not any(isinstance(v, list) for v in data.values())
    if isinstance(data, dict) and not is_record:
        return {**around, **data}
    is_none = data is None or (isinstance(data, str) and is_empty_message(data))
    return {**around, "items": data if isinstance(data, list) else [] if is_none else [data]}


def _flaws(parts: _ResultBlocks) -> str:
    return "; ".join([content.flaw for content in parts.contents if content.flaw][:_MOST_FLAWS])


def _oddities(parts: _ResultBlocks, flaw: str, *, has_structure: bool) -> Iterator[tuple[str, str]]:
    if parts.others and not has_structure:
        kinds = ", ".join(sorted({str(block.get("type")) for block in parts.others}))
        yield "content_not_text", f"returned content that is no text ({kinds}): it is named and not inlined"
    if flaw:
        yield "text_not_json", f"returned text that looks like data and could not be read: {flaw}"


def _size(value: Json) -> int:
    return 0 if value is None else len(orjson.dumps(value, default=str))
