"""Errors of sources: one tree, each error with its source and its request. Secrets in locations are masked."""

from collections.abc import Sequence


class SourceError(Exception):
    """Base of all errors of a source.

    `location` is the method and URL (secrets masked) or the MCP tool; `is_retryable` says whether the same request
    may succeed later; `retry_after_s` is the wait that the server asked for; `requests` counts retries too.
    """

    kind = "source_error"

    def __init__(
        self,
        message: str,
        *,
        source: str,
        location: str = "",
        is_retryable: bool = False,
        retry_after_s: float | None = None,
        requests: int = 1,
    ) -> None:
        super().__init__(message)
        self.source, self.location, self.requests = source, location, requests
        self.is_retryable, self.retry_after_s = is_retryable, retry_after_s


class DocumentError(SourceError):
    """The OpenAPI document of a source cannot be loaded."""

    kind = "document"


class UnknownTool(SourceError):
    """There is no tool of that name; the message suggests the closest one."""

    kind = "unknown_tool"


class InvalidRequest(SourceError):
    """The arguments do not match the schema; nothing was sent. `violations` are `path: problem`."""

    kind = "invalid_request"

    def __init__(self, message: str, *, source: str, location: str = "", violations: Sequence[str]) -> None:
        super().__init__(message, source=source, location=location, requests=0)
        self.violations = tuple(violations)


class MissingCredential(SourceError):
    """A credential that the operation needs is not configured; the message names the setting."""

    kind = "missing_credential"


class TokenRequestFailed(SourceError):
    """A token server returned no token; `code` is its error code (RFC 6749, section 5.2), if any."""

    kind = "token_refused"
    code = ""


class ConnectionFailed(SourceError):
    """The connection failed, or closed before the response was complete."""

    kind = "connection"


class ConnectError(ConnectionFailed):
    """No response: the connection failed, or closed before the first byte of a response."""


class CircuitOpen(SourceError):
    """Requests are paused for `retry_after_s`, because too many failed in a row."""

    kind = "left_alone"


class TimedOut(SourceError):
    """A request timed out."""

    kind = "timeout"


class HttpStatusError(SourceError):
    """The server responded with an error status; `body` is an excerpt."""

    kind = "http_status"

    def __init__(
        self,
        message: str,
        *,
        source: str,
        location: str,
        status: int,
        body: str = "",
        is_retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            message, source=source, location=location, is_retryable=is_retryable, retry_after_s=retry_after_s
        )
        self.status, self.body = status, body


class MalformedResponse(SourceError):
    """The response cannot be parsed as its content type."""

    kind = "malformed_response"


class ResponseTooLarge(SourceError):
    """The response body exceeds the size limit."""

    kind = "response_too_large"


class ForeignOrigin(SourceError):
    """A redirect or a `next` link to another origin was not followed."""

    kind = "foreign_origin"


class ToolFailed(SourceError):
    """An MCP tool returned `isError`; the message is the server's."""

    kind = "tool_failed"


class ValidationUnavailable(Exception):
    """The validator failed, so a request or response could not be checked."""
