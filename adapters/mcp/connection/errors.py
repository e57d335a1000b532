"""Translates failures of the MCP SDK and of servers to source errors. All messages are masked."""

import re
from dataclasses import dataclass
from typing import TypeVar

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
from adapters.secret_forms import argument_secrets, url_secrets

_E = TypeVar("_E", bound=SourceError)
_STATUS_CODES = frozenset({INTERNAL_ERROR, METHOD_NOT_FOUND})
_GENERIC_MESSAGES = ("server returned an error response", "not found")
_CONNECTION_LOST = (
    "session terminated", "session not found", "connection closed", "valid session id", "invalid session",
    "session expired", "unknown session", "not initialized", "sse stream ended", "sse stream failed",
)  # fmt: skip
"""Messages of servers and the SDK when the connection or session is gone; there is no code for it."""
_TOO_LARGE_MESSAGES = (
    TOO_LARGE,
    "failed to parse json response: is larger than",
    "sse stream failed: server-sent event exceeded",
)
_LOST_EXCEPTIONS = (
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    httpx2.TransportError,
    OSError,
)
_RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_SESSION_LOST_STATUSES = frozenset({400, 404})
_ENDPOINT_HINT = "check that the URL is the MCP endpoint, often a path such as '/mcp'"
_MAX_MESSAGE_CHARS, _TRANSIENT_CHARS = 2000, 300
_TRANSIENT = re.compile(
    r"\b(?:rate.?limit|too many (?:requests|calls)|(?:try|retry) (?:it )?(?:again|later)|temporar(?:y|ily)"
    r"|timed? ?out\b|overloaded|is busy|is locked|service unavailable|bad gateway|connection (?:reset|refused|lost)"
    r"|(?:http|status|error|code)\W{0,3}(?:code\W{0,3})?(?:429|502|503|504)\b)",
    re.IGNORECASE,
)
"""Messages of tools whose failure may be temporary, so that a retry may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureContext:
    """What was being done when it failed, the last HTTP status of 400 or more, and the end of the server's stderr.

    `retry_after_s` is the server's Retry-After. `has_session` says that the server keeps sessions over HTTP, and may
    have forgotten this one. `tool_timeout_s` is the time limit of the tool, if it has its own.
    """

    settings: McpSettings
    location: str
    status: int | None = None
    server_output: str = ""
    is_connecting: bool = False
    has_session: bool = False
    retry_after_s: float | None = None
    tool_timeout_s: float | None = None


def secret_mask_of(settings: McpSettings) -> SecretMask:
    """The mask that keeps a server's secrets out of messages."""
    named = (settings.token, *settings.headers.values(), *settings.env.values())
    found = {*url_secrets(settings.url or ""), *argument_secrets(settings.command or ())}
    bare = {value.partition(" ")[2] for value in settings.headers.values()}
    return SecretMask(value for value in (*named, *found, *bare) if value)


def to_source_error(error: Exception, context: FailureContext) -> SourceError:
    """The source error for an exception of the SDK."""
    cause = _root_cause(error)
    if isinstance(cause, SourceError):
        return cause
    if isinstance(cause, TimeoutError):
        return timeout_error(context)
    if isinstance(cause, MCPError):
        return _from_protocol_error(cause, context)
    if isinstance(cause, ValidationError):
        reason = f"the reply is not a valid MCP result (validation errors: {cause.error_count()})"
        return _error(MalformedResponse, context, reason)
    if isinstance(cause, FileNotFoundError | PermissionError) and context.settings.command:
        reason = f"the command '{context.settings.command[0]}' cannot be started: {cause}"
        return connection_error(context, reason, is_retryable=False)
    is_lost = isinstance(cause, _LOST_EXCEPTIONS)
    return connection_error(context, str(cause) if is_lost and str(cause) else f"{type(cause).__name__}: {cause}")


def connection_error(context: FailureContext, reason: str, *, is_retryable: bool = True) -> ConnectionFailed:
    """The connection failed or was lost; usually worth a retry on a new connection."""
    return _error(ConnectionFailed, context, reason, is_retryable=is_retryable)


def timeout_error(context: FailureContext) -> TimedOut:
    """The time limit of one step was exceeded."""
    limit_s, owner = context.settings.timeout_s, "source's"
    if context.tool_timeout_s is not None:
        limit_s, owner = context.tool_timeout_s, "tool's"
    reason = f"no reply within {limit_s:g} s; raise the {owner} timeout if it needs longer"
    return _error(TimedOut, context, reason, is_retryable=True)


def tool_error(context: FailureContext, reason: str) -> ToolFailed:
    """The server reports that the tool failed; its message shows whether a retry may succeed."""
    message = secret_mask_of(context.settings).text(reason.strip())[:_MAX_MESSAGE_CHARS]
    return ToolFailed(
        message or "the server gave no reason",
        source=context.settings.name,
        location=context.location,
        is_retryable=_TRANSIENT.search(message[:_TRANSIENT_CHARS]) is not None,
    )


def empty_result_error(context: FailureContext) -> MalformedResponse:
    """A tool that reads returned no content member, which is different from an empty result."""
    reason = "the result has neither 'content' nor 'structuredContent'"
    return _error(MalformedResponse, context, reason, is_retryable=True)


def _from_protocol_error(error: MCPError, context: FailureContext) -> SourceError:
    message = error.message.lower()
    if error.code == REQUEST_TIMEOUT:
        return timeout_error(context)
    if any(text in message for text in _TOO_LARGE_MESSAGES):
        reason = "the reply exceeds the size limit; request less data or smaller pages"
        return _error(ResponseTooLarge, context, reason)
    if any(text in message for text in _CONNECTION_LOST) or (error.code == PARSE_ERROR and context.settings.command):
        return connection_error(context, error.message)
    if error.code == PARSE_ERROR:
        return _unreadable_reply(error.message, context)
    if context.status is not None and error.code in _STATUS_CODES and message in _GENERIC_MESSAGES:
        return _from_status(context.status, context)
    if "unexpected content type" in message and not context.is_connecting:
        return _unreadable_reply(error.message, context)
    hint = f"; {_ENDPOINT_HINT}" if context.is_connecting and "content type" in message else ""
    reason = f"{error.message}{_details(error)} (code {error.code}){hint}"
    if context.is_connecting:
        return connection_error(context, reason, is_retryable=False)
    return tool_error(context, reason)


def _unreadable_reply(reason: str, context: FailureContext) -> MalformedResponse:
    """A response that is not MCP, such as a proxy's error page; a retry may succeed."""
    return _error(MalformedResponse, context, f"the reply cannot be read: {reason}", is_retryable=True)


def _details(error: MCPError) -> str:
    """The `data` of a JSON-RPC error; often the only informative part."""
    data = error.error.data
    return f": {str(data)[:_MAX_MESSAGE_CHARS]}" if data and str(data) not in error.message else ""


def _from_status(status: int, context: FailureContext) -> SourceError:
    settings = context.settings
    if status in _SESSION_LOST_STATUSES and context.has_session:
        return connection_error(context, f"the server responded with HTTP {status}; it may have forgotten the session")
    if status in (401, 403) and settings.token is None and not settings.headers:
        reason = f"the server requires a credential (HTTP {status}); set a token for this source"
        return _error(MissingCredential, context, reason)
    return HttpStatusError(
        _message(context, f"the server responded with HTTP {status}{_hint(status, context)}"),
        source=settings.name,
        location=context.location,
        status=status,
        is_retryable=status in _RETRYABLE_STATUSES,
        retry_after_s=context.retry_after_s,
    )


def _hint(status: int, context: FailureContext) -> str:
    if context.retry_after_s is not None:
        return f"; retry after {context.retry_after_s:g} s"
    is_no_endpoint = context.is_connecting and status in (404, 405)
    return f"; {_ENDPOINT_HINT}" if is_no_endpoint else ""


def _root_cause(error: Exception) -> Exception:
    """The first plain exception in nested groups: the SDK's task groups wrap exceptions."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _error(kind: type[_E], context: FailureContext, reason: str, *, is_retryable: bool = False) -> _E:
    """An error of that kind about the request of the context."""
    message, settings = _message(context, reason), context.settings
    return kind(message, source=settings.name, location=context.location, is_retryable=is_retryable)


def _message(context: FailureContext, reason: str) -> str:
    output = context.server_output.strip()
    tail = f"; stderr: {output}" if output else ""
    return secret_mask_of(context.settings).text(
        f"MCP server '{context.settings.name}', {context.location}: {reason}{tail}"
    )
