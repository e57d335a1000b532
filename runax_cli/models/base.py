"""The model interface: messages, tools, requests, replies and the `Model` protocol, with a scripted model for tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias


class Role(StrEnum):
    """The part of the agent that sends a request; sent as header `X-Runax-Role`."""

    PLANNER = "planner"
    AGENT = "agent"
    REDUCER = "reducer"
    LABELLER = "labeller"
    SUMMARIZER = "summarizer"
    REVIEWER = "reviewer"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by the model. `arguments` is the raw text, which may not be valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `tool_calls` is for role "assistant", `tool_call_id` for role "tool" (the result of that call)."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool definition for a model; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The strict JSON Schema of a reply: all properties required, no additional properties, no open maps."""

    name: str
    schema: dict[str, Any]


OnText: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a model. `max_output_tokens` limits the reply and is reserved in the budget.

    `on_hidden` receives what the model writes besides text, such as reasoning and tool arguments, as it arrives.
    """

    role: Role
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    output: OutputSchema | None = None
    max_output_tokens: int = 4096
    run_id: str = ""
    on_hidden: OnText | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token usage as reported by the endpoint, or as counted by runax (`is_reported` False)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    is_reported: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A complete reply; a truncated one raises an error instead.

    `cost_usd` is None if the price is unknown. `requests` and `usage` include retries and repairs.
    """

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    duration_s: float = 0.0
    first_token_s: float | None = None
    requests: int = 1


class Model(Protocol):
    """One model at one endpoint, for one role. Implementations handle timeouts, retries, budget and usage."""

    @property
    def name(self) -> str:
        """The name of the model at its endpoint."""

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """Send one request. With `on_text` the reply is streamed, and `on_text` receives each piece of text.

        If `request.output` is given, the `text` of the reply is JSON that is valid against the schema.
        Raises ModelError and its subclasses, and BudgetExhausted.
        """

    async def aclose(self) -> None:
        """Close the connection."""


class TokenCounter(Protocol):
    """Counts tokens of a text."""

    @property
    def name(self) -> str:
        """The name of this counter in the log."""

    def count(self, text: str) -> int:
        """The number of tokens in `text`."""


class ByteCounter:
    """Counts one token per byte: the only proven upper bound, used until calibration gives a better one."""

    name = "bytes"

    def count(self, text: str) -> int:
        """The length of the UTF-8 text in bytes."""
        return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Prompt:
    """A named, versioned prompt template with fields `{{name}}`."""

    name: str
    version: int
    text: str

    @property
    def id(self) -> str:
        """Name and version, as used in the keys of stored results."""
        return f"{self.name}@{self.version}"

    def fill(self, **values: str) -> str:
        """The text with every field replaced, in one pass: values are not searched for fields."""
        parts = self.text.split("{{")
        filled = [parts[0]]
        for part in parts[1:]:
            name, rest = part.split("}}", 1)
            filled += [values[name.strip()], rest]
        return "".join(filled)


Scripted: TypeAlias = ModelReply | Exception | Callable[[ModelRequest], ModelReply]


@dataclass
class ScriptedModel:
    """A model that replies from a script, in order or by a function; `requests` records what it was sent."""

    script: Sequence[Scripted] | Callable[[ModelRequest], ModelReply]
    name: str = "scripted"
    requests: list[ModelRequest] = field(default_factory=list)
    is_closed: bool = False

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """The next entry of the script; AssertionError if the script is exhausted."""
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
        """Record the call; nothing is open."""
        self.is_closed = True
