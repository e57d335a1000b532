"""What the two wire formats have in common: what is read off the wire, and what an endpoint was found to refuse.

Knows JSON payloads, as tolerantly as real endpoints demand. Knows no HTTP and neither of the formats.
"""

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
"""Parameters that a request can do without; an endpoint that refuses one gets no further request with it."""


@dataclass(slots=True)
class Quirks:
    """What one model at one endpoint was found to refuse, shared by all that talk to it."""

    api: Api | None = None
    dropped: set[str] = field(default_factory=set)
    needs_schema_in_prompt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model is to choose its words; None leaves it to the endpoint."""

    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReply:
    """A whole reply as it was read. `usage` is None where the endpoint reports none, or nonsense."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage | None
    model: str


class UnusableReply(ModelReplyInvalid):
    """A reply that arrived, was perhaps billed as `usage` says, and is not what was asked for."""

    def __init__(self, message: str, *, model: str, retryable: bool, usage: Usage | None = None) -> None:
        super().__init__(message, model=model, retryable=retryable)
        self.usage = usage


class Collector(Protocol):
    """Puts the events of a stream together."""

    def add(self, event: Payload) -> str:
        """Take one event; return the piece of text in it, "" where there is none."""

    def payload(self) -> Payload:
        """The whole reply. Raises UnusableReply where the stream ended without its terminal event."""


class WireFormat(Protocol):
    """One wire format. Pure: bodies out, replies in."""

    @property
    def api(self) -> Api:
        """Which format this is."""

    @property
    def path(self) -> str:
        """Where requests go, under the base URL."""

    def body(self, request: ModelRequest, *, sampling: Sampling, dropped: set[str], stream: bool) -> Payload:
        """The body of a request, without the parameters in `dropped`."""

    def collector(self) -> Collector:
        """For one stream."""

    def read(self, payload: Payload) -> WireReply:
        """Read a whole reply. Raises UnusableReply."""


def as_object(value: Any) -> Payload:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> Iterator[Payload]:
    """The objects in a list; nothing where `value` is no list."""
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def text_or_empty(value: Any) -> str:
    """`value` where it is text, else "". Halves of characters, which JSON can spell and nobody can write, go."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def arguments_text(value: Any) -> str:
    """The arguments of a tool call as raw text; some endpoints send an object instead."""
    return text_or_empty(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value)


def read_usage(payload: Payload, *, input_name: str, output_name: str, details_name: str) -> Usage | None:
    """Reported usage, None where it is missing or makes no sense."""
    usage = as_object(payload.get("usage"))
    tokens_in, tokens_out = _tokens(usage.get(input_name)), _tokens(usage.get(output_name))
    if not tokens_in or tokens_out is None:
        return None
    cached = _tokens(as_object(usage.get(details_name)).get("cached_tokens")) or 0
    return Usage(tokens_in, tokens_out, min(cached, tokens_in))


def _tokens(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
