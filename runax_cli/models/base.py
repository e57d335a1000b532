"""The seam to language models: one request, one reply.

Knows roles, messages, tool calls and usage. Knows no wire format, no prompt, and not what a reply is for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias


class Role(StrEnum):
    """For whom a model works; sent as `X-Runax-Role`."""

    PLANNER = "planner"
    AGENT = "agent"
    REDUCER = "reducer"
    LABELLER = "labeller"
    SUMMARIZER = "summarizer"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for. `arguments` is its raw text: it may not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `tool_calls` only with "assistant", `tool_call_id` only with "tool" (the result of that call)."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is sent to a model; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The strict JSON Schema that a reply must fit: every property required, no additional ones, no open maps."""

    name: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything that is sent. `max_output_tokens` is the output reserve that was set aside for the reply."""

    role: Role
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    output: OutputSchema | None = None
    max_output_tokens: int = 4096
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint reports them, or as counted here (`is_reported` False)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    is_reported: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A whole reply. A reply that was cut off is an error and never a ModelReply.

    `cost_usd` is None where no price is known. `requests` counts retries and repairs too, and `usage` sums them.
    """

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    duration_s: float = 0.0
    first_token_s: float | None = None
    requests: int = 1


OnText: TypeAlias = Callable[[str], None]


class Model(Protocol):
    """One model at one endpoint, for one role. Deadline, retries, budget and usage are behind this seam."""

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """Send one request. With `on_text` the reply streams, and each piece is handed over as it comes.

        Where `request.output` is given, `text` of the reply is JSON that fits the schema.
        Raises ModelError (and its kinds), BudgetExhausted; cancellation passes through.
        """

    async def aclose(self) -> None:
        """Close the connection."""


class TokenCounter(Protocol):
    """Counts tokens of a text."""

    @property
    def name(self) -> str:
        """What the log calls this counter."""

    def count(self, text: str) -> int:
        """Tokens in `text`."""


class ByteCounter:
    """One token a byte: the only proven upper bound, used where nothing better is known."""

    name = "bytes"

    def count(self, text: str) -> int:
        """Bytes of the UTF-8 text."""
        return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Prompt:
    """A named, versioned template. Fields are written `{{name}}`."""

    name: str
    version: int
    text: str

    @property
    def id(self) -> str:
        """Name and version, as they take part in keys of stored results."""
        return f"{self.name}@{self.version}"

    def fill(self, **values: str) -> str:
        """The text with every field replaced, in one pass: a value that looks like a field stays as it is."""
        parts = self.text.split("{{")
        filled = [parts[0]]
        for part in parts[1:]:
            name, rest = part.split("}}", 1)
            filled += [values[name.strip()], rest]
        return "".join(filled)


Scripted: TypeAlias = ModelReply | Exception | Callable[[ModelRequest], ModelReply]


@dataclass
class ScriptedModel:
    """A model that follows a script, in order or by a function; `requests` keeps what it was sent."""

    script: Sequence[Scripted] | Callable[[ModelRequest], ModelReply]
    name: str = "scripted"
    requests: list[ModelRequest] = field(default_factory=list)
    is_closed: bool = False

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """The next entry of the script; a script that has run out is an AssertionError."""
        self.requests.append(request)
        reply = self._next(request)
        if on_text is not None and reply.text:
            on_text(reply.text)
        return reply

    def _next(self, request: ModelRequest) -> ModelReply:
        if callable(self.script):
            return self.script(request)
        index = len(self.requests) - 1
        if index >= len(self.script):
            raise AssertionError(f"the script has {len(self.script)} replies; this is request {index + 1}")
        entry = self.script[index]
        if isinstance(entry, Exception):
            raise entry
        return entry(request) if callable(entry) else entry

    async def aclose(self) -> None:
        """Nothing is open; remember that it was closed."""
        self.is_closed = True
