"""How MCP fails, as the errors of a source.

Knows the SDK's exceptions, the JSON-RPC codes, and which of them mean that the connection is gone. Knows no session:
what it needs (the last HTTP status, the server's last words) is given to it. Every message passes the mask.
"""

import re
from dataclasses import dataclass

import anyio
import httpx2
from mcp import MCPError
from mcp.types import INTERNAL_ERROR, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from adapters.errors import (
    ConnectionFailed,
    HttpStatusError,
    MalformedResponse,
    MissingCredential,
    ResponseTooLarge,
    SourceError,
    TimedOut,
    ToolFailed,
)
from adapters.http.secret_mask import SecretMask
from adapters.mcp.connection.jsonrpc_repair import TOO_LARGE
from adapters.mcp.settings import McpSettings

_BY_STATUS = frozenset({INTERNAL_ERROR, METHOD_NOT_FOUND})
_STAND_INS = ("server returned an error response", "not found")
_GONE = (
    "session terminated", "session not found", "connection closed", "valid session id", "invalid session",
    "session expired", "unknown session", "not initialized", "sse stream ended", "sse stream failed",
)  # fmt: skip
"""What servers and the SDK say when the connection or its session is gone; no code is reserved for it."""
_TOO_LARGE = (
    TOO_LARGE,
    "failed to parse json response: is larger than",
    "sse stream failed: server-sent event exceeded",
)
_LOST = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, httpx2.TransportError, OSError)
_LATER = frozenset({408, 429, 500, 502, 503, 504})
_SESSION_UNKNOWN = frozenset({400, 404})
_NO_ENDPOINT = "is the URL that of its MCP endpoint, often a path such as '/mcp'?"
_EXCERPT, _OPENING = 2000, 300
_PASSING = re.compile(
    r"\b(?:rate.?limit|too many (?:requests|calls)|(?:try|retry) (?:it )?(?:again|later)|temporar(?:y|ily)"
    r"|timed? ?out\b|overloaded|is busy|is locked|service unavailable|bad gateway|connection (?:reset|refused|lost)"
    r"|(?:http|status|error|code)\W{0,3}(?:code\W{0,3})?(?:429|502|503|504)\b)",
    re.IGNORECASE,
)
"""What a tool says whose trouble may pass; the answer to the same request may be another one soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureContext:
    """What was being done when it failed, the last HTTP status of 400 or more, and the end of the server's stderr.

    `retry_after_s` is how long the server then asked to wait.
    `has_session` says that the server may forget who is asking: it keeps sessions, over HTTP. `own_limit_s` is the time
    limit of the tool itself, where it has one.
    """

    settings: McpSettings
    location: str
    status: int | None = None
    last_words: str = ""
    is_connecting: bool = False
    has_session: bool = False
    retry_after_s: float | None = None
    own_limit_s: float | None = None


def mask_of(settings: McpSettings) -> SecretMask:
    """What keeps a server's secrets out of messages."""
    return SecretMask(value for value in (settings.token, *settings.headers.values(), *settings.env.values()) if value)


def failure_of(error: Exception, around: FailureContext) -> SourceError:
    """The source error that an exception of the SDK means."""
    cause = _root(error)
    if isinstance(cause, SourceError):
        return cause
    if isinstance(cause, TimeoutError):
        return timed_out(around)
    if isinstance(cause, MCPError):
        return _of_protocol(cause, around)
    if isinstance(cause, ValidationError):
        return MalformedResponse(
            _told(around, f"the reply is no valid MCP result ({cause.error_count()} faults); see the server's version"),
            source=around.settings.name,
            location=around.location,
        )
    if isinstance(cause, FileNotFoundError | PermissionError) and around.settings.command:
        why = f"the command '{around.settings.command[0]}' cannot be started: {cause}"
        return connection_failed(around, why, is_retryable=False)
    is_lost = isinstance(cause, _LOST)
    return connection_failed(around, str(cause) if is_lost and str(cause) else f"{type(cause).__name__}: {cause}")


def connection_failed(around: FailureContext, why: str, *, is_retryable: bool = True) -> ConnectionFailed:
    """No connection, or it was lost; usually worth trying again on a new one."""
    return ConnectionFailed(
        _told(around, why), source=around.settings.name, location=around.location, is_retryable=is_retryable
    )


def timed_out(around: FailureContext) -> TimedOut:
    """The time limit of one step passed."""
    limit_s, whose = around.settings.timeout_s, "source's"
    if around.own_limit_s is not None:
        limit_s, whose = around.own_limit_s, "tool's"
    return TimedOut(
        _told(around, f"no reply within {limit_s:g} s; raise the {whose} timeout if it needs longer"),
        source=around.settings.name,
        location=around.location,
        is_retryable=True,
    )


def tool_failed(around: FailureContext, why: str) -> ToolFailed:
    """The server says that the tool failed; the words are its own, and tell whether it may do better later."""
    words = mask_of(around.settings).text(why.strip())[:_EXCERPT]
    return ToolFailed(
        words or "the server gives no reason",
        source=around.settings.name,
        location=around.location,
        is_retryable=_PASSING.search(words[:_OPENING]) is not None,
    )


def void_result(around: FailureContext) -> MalformedResponse:
    """A tool that reads gave nothing, which is not to say that there is nothing."""
    return MalformedResponse(
        _told(around, "the result has neither 'content' nor 'structuredContent'"),
        source=around.settings.name,
        location=around.location,
        is_retryable=True,
    )


def _of_protocol(error: MCPError, around: FailureContext) -> SourceError:
    said = error.message.lower()
    if error.code == REQUEST_TIMEOUT:
        return timed_out(around)
    if any(mark in said for mark in _TOO_LARGE):
        why = "the reply is larger than what is read; ask for less, or for smaller pages"
        return ResponseTooLarge(_told(around, why), source=around.settings.name, location=around.location)
    if any(mark in said for mark in _GONE) or (error.code == PARSE_ERROR and around.settings.command):
        return connection_failed(around, error.message)
    if error.code == PARSE_ERROR:
        return _unreadable(error.message, around)
    if around.status is not None and error.code in _BY_STATUS and said in _STAND_INS:
        return _of_status(around.status, around)
    if "unexpected content type" in said and not around.is_connecting:
        return _unreadable(error.message, around)
    hint = f"; {_NO_ENDPOINT}" if around.is_connecting and "content type" in said else ""
    why = f"{error.message}{_details(error)} (code {error.code}){hint}"
    return connection_failed(around, why, is_retryable=False) if around.is_connecting else tool_failed(around, why)


def _unreadable(why: str, around: FailureContext) -> MalformedResponse:
    """A reply that is none, such as the page of a proxy that has trouble; another one may be sound."""
    return MalformedResponse(
        _told(around, f"the reply cannot be read: {why}"),
        source=around.settings.name,
        location=around.location,
        is_retryable=True,
    )


def _details(error: MCPError) -> str:
    """What an error says beyond its message; often it is the only part that says anything."""
    data = error.error.data
    return f": {str(data)[:_EXCERPT]}" if data and str(data) not in error.message else ""


def _of_status(status: int, around: FailureContext) -> SourceError:
    settings = around.settings
    if status in _SESSION_UNKNOWN and around.has_session:
        return connection_failed(around, f"the server answered with HTTP {status}: it may have forgotten the session")
    if status in (401, 403) and settings.token is None and not settings.headers:
        return MissingCredential(
            _told(around, f"the server asks for a credential (HTTP {status}); set a token for this source"),
            source=settings.name,
            location=around.location,
        )
    return HttpStatusError(
        _told(around, f"the server answered with HTTP {status}{_hint(status, around)}"),
        source=settings.name,
        location=around.location,
        status=status,
        is_retryable=status in _LATER,
        retry_after_s=around.retry_after_s,
    )


def _hint(status: int, around: FailureContext) -> str:
    if around.retry_after_s is not None:
        return f", and asks to be left alone for {around.retry_after_s:g} s"
    is_no_endpoint = around.is_connecting and status in (404, 405)
    return f"; {_NO_ENDPOINT}" if is_no_endpoint else ""


def _root(error: Exception) -> Exception:
    """The first plain exception inside nested groups: the SDK's task groups wrap what happens in them."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(around: FailureContext, why: str) -> str:
    words = around.last_words.strip()
    tail = f"; its last words: {words}" if words else ""
    return mask_of(around.settings).text(f"MCP server '{around.settings.name}', {around.location}: {why}{tail}")
