"""From an MCP result to a payload: structured content, or the JSON that its text holds.

Knows the shapes in which servers return data: structured content, wrapped as `{"result": …}`; one text block of JSON,
also inside `{"content": "…"}`; one block for each item; text that is Python and not JSON. Knows no session. Text that
is none of these stays text: it is data all the same.
"""

import ast
import json
from collections.abc import Sequence

import orjson
from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from adapters.base import Json

_WRAPPERS = frozenset({"result", "content"})


def payload_of(result: CallToolResult) -> Json:
    """The data of a result; None where it holds nothing."""
    if result.structured_content is not None:
        return unwrapped(result.structured_content)
    texts = texts_of(result.content)
    if not texts:
        return [_described(block) for block in result.content] or None
    if len(texts) == 1:
        return unwrapped(parsed(texts[0]))
    values = [parsed(text) for text in texts]
    if any(isinstance(value, dict | list) for value in values):
        return values
    return parsed("\n".join(texts))


def texts_of(content: Sequence[ContentBlock]) -> list[str]:
    """The text of every block that has any, embedded resources included."""
    blocks = [block.resource if isinstance(block, EmbeddedResource) else block for block in content]
    return [block.text for block in blocks if isinstance(block, TextContent | TextResourceContents)]


def n_unread(content: Sequence[ContentBlock]) -> int:
    """How many blocks hold something else than text."""
    return len(content) - len(texts_of(content))


def unwrapped(value: Json) -> Json:
    """The value inside `{"result": …}` or `{"content": "…"}`, read as JSON where it is text that holds JSON."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    name, inner = next(iter(value.items()))
    if name not in _WRAPPERS:
        return value
    if isinstance(inner, str):
        return parsed(inner)
    return inner if name == "result" else value


def parsed(text: str) -> Json:
    """The object or list that a text holds as JSON or as a Python literal; else the text itself."""
    start = text.lstrip()[:1]
    if start not in ("{", "[", "("):
        return text
    for read in (orjson.loads, json.loads, _python_literal):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, dict | list) else text
    return text


def _python_literal(text: str) -> Json:
    return _as_json(ast.literal_eval(text.strip()))


def _as_json(value: object) -> Json:
    """A Python literal in the types of JSON. Raises ValueError for what has no counterpart."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise ValueError(f"a literal of type {type(value).__name__} is no JSON")


def _described(block: ContentBlock) -> Json:
    """What can be said about a block that holds no text, without its bytes."""
    if isinstance(block, ImageContent | AudioContent):
        return {"type": block.type, "mime_type": block.mime_type, "n_base64": len(block.data)}
    if isinstance(block, ResourceLink):
        return {"type": block.type, "uri": str(block.uri), "name": block.name, "description": block.description}
    return {"type": block.type}
