"""What the two wire formats share: protocols, tolerant readers of JSON payloads, and the quirks of an endpoint."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from runax_cli.core.errors import ModelReplyInvalid
from runax_cli.models.base import ModelRequest, ToolCall, Usage

Payload: TypeAlias = dict[str, Any]
Api: TypeAlias = Literal["responses", "chat"]

OPTIONAL_PARAMETERS = (
    "temperature",
    "top_p",
    "store",
    "stream_options",
    "max_output_tokens",
    "max_completion_tokens",
    "max_tokens",
)
"""Parameters that are left out of later requests once an endpoint has rejected them."""


@dataclass(slots=True)
class Quirks:
    """What one model at one endpoint rejects; shared by all its users."""

    api: Api | None = None
    dropped: set[str] = field(default_factory=set)
    needs_schema_in_prompt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters; None means the default of the endpoint."""

    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReply:
    """A complete reply. `usage` is None if the endpoint reports none or implausible values."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage | None
    model: str


class UnusableReply(ModelReplyInvalid):
    """A reply that cannot be used; it may have been billed, with `usage` if that was reported."""

    def __init__(self, message: str, *, model: str, retryable: bool, usage: Usage | None = None) -> None:
        super().__init__(message, model=model, retryable=retryable)
        self.usage = usage


class ReplyTooLong(UnusableReply):
    """A reply longer than the limit of its request; it was billed with at least that limit."""


class Collector(Protocol):
    """Collects the events of a stream into one payload."""

    def add(self, event: Payload) -> str:
        """Add one event and return the text in it, "" if there is none."""

    def payload(self) -> Payload:
        """The complete reply. Raises UnusableReply if the stream ended without its terminal event."""


class WireFormat(Protocol):
    """One wire format: builds request bodies and reads replies, without I/O."""

    @property
    def api(self) -> Api:
        """The name of the format."""

    @property
    def path(self) -> str:
        """The path of requests under the base URL."""

    def body(self, request: ModelRequest, *, sampling: Sampling, dropped: set[str], stream: bool) -> Payload:
        """The request body, without the parameters in `dropped`."""

    def collector(self) -> Collector:
        """A collector for one stream."""

    def hidden_in(self, payload: Payload) -> str:
        """What the model wrote besides text, such as reasoning and tool calls, in an event or a complete reply."""

    def read(self, payload: Payload) -> WireReply:
        """Read a complete reply. Raises UnusableReply."""


def as_object(value: Any) -> Payload:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> Iterator[Payload]:
    """The JSON objects in a list; none if `value` is not a list."""
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


_NOT_WRITTEN = frozenset(
    {"role", "type", "id", "call_id", "status", "format", "encrypted_content", "data", "signature"}
)


def strings_written(value: Any) -> str:
    """The strings at any depth that a model wrote. Text that an endpoint sends under two names is taken once."""
    found: dict[str, None] = {}
    stack = [value]
    while stack:
        match stack.pop():
            case str() as text:
                found[text_or_empty(text)] = None
            case list() as items:
                stack.extend(reversed(items))
            case dict() as members:
                stack.extend(reversed([item for name, item in members.items() if name not in _NOT_WRITTEN]))
            case _:
                pass
    return "".join(found)


def text_or_empty(value: Any) -> str:
    """`value` if it is a string, else "". Lone surrogates, which JSON allows and UTF-8 does not, are replaced."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def arguments_text(value: Any) -> str:
    """The arguments of a tool call as text; some endpoints send an object instead."""
    return text_or_empty(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value)


def read_usage(payload: Payload, *, input_name: str, output_name: str, details_name: str) -> Usage | None:
    """The reported usage, None if it is missing or implausible."""
    usage = as_object(payload.get("usage"))
    tokens_in, tokens_out = _tokens(usage.get(input_name)), _tokens(usage.get(output_name))
    if not tokens_in or tokens_out is None:
        return None
    cached = _tokens(as_object(usage.get(details_name)).get("cached_tokens")) or 0
    return Usage(tokens_in, tokens_out, min(cached, tokens_in))


def _tokens(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
