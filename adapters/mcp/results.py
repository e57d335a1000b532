"""From the raw result of an MCP request to a payload: everything that the server sent, in one value.

Knows the shapes in which servers return data: structured content; text blocks that hold data, one or one for each
record; resources inside the result, links to others, images. Knows neither session nor SDK: a result that breaks the
schema is read as far as it goes. Bytes are named and never inlined. Markers beside the data (`nextCursor`, `total`)
stay beside it, in the result itself, its `_meta`, or the words around the data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from adapters.base import Json, JsonObject
from adapters.mcp.texts import Content, read_text, unwrapped
from adapters.mcp.words import facts_in
from adapters.paging.prose import says_failed

_OWN = frozenset(
    {"content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "resultType", "ttlMs",
     "cacheScope", "contents"}
)  # fmt: skip
_OF_FAILURE = frozenset({"error", "message", "code", "status", "status_code", "success", "ok", "detail", "details"})
_BYTES = ("data", "blob")
_MOST_FLAWS = 3


@dataclass(frozen=True, slots=True)
class Read:
    """A payload, its size in bytes as it came, and what is odd about it as pairs of code and text.

    `flaw` says why a part of it could not be read.
    """

    payload: Json
    n_bytes: int = 0
    oddities: tuple[tuple[str, str], ...] = ()
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The blocks of a result: what their texts hold, and what can be said about those without text."""

    contents: tuple[Content, ...]
    others: tuple[JsonObject, ...]


def read_result(raw: Mapping[str, Json]) -> Read:
    """The data of a result; None where it holds nothing."""
    texts, parts = _sorted(_blocks(raw))
    structured = raw.get("structuredContent", raw.get("structured_content"))
    has_structure = structured is not None and not (structured in ({}, []) and texts)
    data = unwrapped(structured) if has_structure else _data(parts.contents)
    words = "" if has_structure else _words(parts.contents)
    if data is None and not parts.others and not _has_content(raw):
        data = {name: value for name, value in raw.items() if name not in _OWN} or None
        return Read(data, _size(data))
    payload = _joined(data, words, _markers(raw, parts.contents), parts.others)
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    flaw = "" if has_structure else _flaws(parts)
    return Read(payload, n_bytes or _size(payload), tuple(_oddities(parts, flaw, has_structure=has_structure)), flaw)


def texts_of(raw: Mapping[str, Json]) -> list[str]:
    """The text of every block that has any, resources inside the result included."""
    return _sorted(_blocks(raw), is_read=False)[0]


def is_error(raw: Mapping[str, Json]) -> bool:
    """Whether the server says that the tool failed."""
    return raw.get("isError", raw.get("is_error")) in (True, "true", "True")


def told_failure(raw: Mapping[str, Json]) -> str:
    """The message of a failure that the server gives as if it were the result; empty where the result is none."""
    if any(name in raw for name in ("structuredContent", "structured_content")):
        return ""
    blocks = _blocks(raw)
    texts = texts_of(raw)
    if len(texts) != 1 or len(blocks) != 1:
        return ""
    value = read_text(texts[0]).value
    if isinstance(value, dict) and value.keys() <= _OF_FAILURE and value.get("error"):
        return texts[0]
    return texts[0] if isinstance(value, str) and says_failed(value) else ""


def asks_for_input(raw: Mapping[str, Json]) -> bool:
    """Whether the server wants something from a person or a model before it answers (`resultType`, 2026-07-28)."""
    return raw.get("resultType") == "input_required"


def _has_content(raw: Mapping[str, Json]) -> bool:
    return any(name in raw for name in ("content", "contents", "structuredContent", "structured_content"))


def _blocks(raw: Mapping[str, Json]) -> list[Json]:
    content = raw.get("content", raw.get("contents"))
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _sorted(blocks: Sequence[Json], *, is_read: bool = True) -> tuple[list[str], _Parts]:
    texts: list[str] = []
    contents: list[Content] = []
    others: list[JsonObject] = []
    for block in blocks:
        inner = _inner(block)
        if isinstance(inner, str):
            texts.append(inner)
            contents.append(read_text(inner) if is_read else Content(inner))
        elif isinstance(block, dict) and inner is block and _is_described(block):
            others.append(_described(block))
        else:
            contents.append(Content(inner))
    return texts, _Parts(_cut_by_length(texts) or tuple(contents), tuple(others))


def _cut_by_length(texts: Sequence[str]) -> tuple[Content, ...]:
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
    return block


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


def _data(contents: Sequence[Content]) -> Json:
    """The data that the texts hold: one value, or a record for each of them; else one text."""
    values = [content.value for content in contents if not isinstance(content.value, str)]
    if not values:
        texts = [content.value for content in contents]
        return read_text("\n".join(texts)).value if len(texts) > 1 else texts[0] if texts else None
    if len(values) == 1:
        return values[0]
    if all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    return values


def _words(contents: Sequence[Content]) -> str:
    """What stands around the data; nothing where the words are the data."""
    if not any(content.is_data for content in contents):
        return ""
    around = (content.words if content.is_data else content.value for content in contents)
    return "\n".join(words for words in around if isinstance(words, str) and words.strip())


def _markers(raw: Mapping[str, Json], contents: Sequence[Content]) -> JsonObject:
    """Members beside the data that the protocol does not know, and facts in the words around it."""
    meta = raw.get("_meta")
    said = {name: value for content in contents if content.is_data for name, value in content.facts.items()}
    if any(content.is_data for content in contents):
        loose = [content.value for content in contents if isinstance(content.value, str)]
        said |= facts_in("\n".join(loose))
    beside = {name: value for name, value in raw.items() if name not in _OWN and value is not None}
    own = {name: value for name, value in meta.items() if "/" not in name} if isinstance(meta, dict) else {}
    return {**said, **({"_meta": own} if own else {}), **beside}


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
    return {**around, "items": data if isinstance(data, list) else [] if data is None else [data]}


def _flaws(parts: _Parts) -> str:
    return "; ".join([content.flaw for content in parts.contents if content.flaw][:_MOST_FLAWS])


def _oddities(parts: _Parts, flaw: str, *, has_structure: bool) -> Iterator[tuple[str, str]]:
    if parts.others and not has_structure:
        kinds = ", ".join(sorted({str(block.get("type")) for block in parts.others}))
        yield "content_not_text", f"returned content that is no text ({kinds}): it is named and not inlined"
    if flaw:
        yield "text_not_json", f"returned text that looks like data and could not be read: {flaw}"


def _size(value: Json) -> int:
    return 0 if value is None else len(orjson.dumps(value, default=str))
