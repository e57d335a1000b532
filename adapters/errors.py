"""How a source fails: one tree, each error with the source and the request it belongs to.

Locations are already free of secrets. Knows nothing of what the caller does about a failure.
"""

from collections.abc import Sequence


class SourceError(Exception):
    """Root of all failures of a source.

    `location` is the method and URL (secrets masked) or the MCP tool; `is_retryable` says whether the same request
    may succeed later; `retry_after_s` is what the server asked for; `requests` is how many were sent, retries included.
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
    """The document that describes a source cannot be read at all."""

    kind = "document"


class UnknownTool(SourceError):
    """There is no tool of that name; the message names the nearest."""

    kind = "unknown_tool"


class InvalidRequest(SourceError):
    """The arguments do not fit the document; nothing was sent. `violations` are `path: what is wrong`."""

    kind = "invalid_request"

    def __init__(self, message: str, *, source: str, location: str = "", violations: Sequence[str]) -> None:
        super().__init__(message, source=source, location=location, requests=0)
        self.violations = tuple(violations)


class MissingCredential(SourceError):
    """A credential that the operation needs is not configured; the message names the setting."""

    kind = "missing_credential"


class TokenRequestFailed(SourceError):
    """A token server gave no token; `code` is its error code of RFC 6749, section 5.2, where it gave one."""

    kind = "token_refused"
    code = ""


class ConnectionFailed(SourceError):
    """No connection, or it was cut before the response was whole."""

    kind = "connection"


class ConnectError(ConnectionFailed):
    """Nobody answered: no connection, or one that was closed before the first byte of an answer."""


class CircuitOpen(SourceError):
    """The source failed so often in a row that nothing is sent to it for a while; `retry_after_s` is how long."""

    kind = "left_alone"


class TimedOut(SourceError):
    """The deadline of a request passed."""

    kind = "timeout"


class HttpStatusError(SourceError):
    """The server answered with a status that is no success; `body` is an excerpt."""

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
    """The body is not what its content type says, or is nested or sized beyond all reason."""

    kind = "malformed_response"


class ResponseTooLarge(SourceError):
    """The body passed the cap while it was streamed, and was cut off."""

    kind = "response_too_large"


class ForeignOrigin(SourceError):
    """A redirect or a `next` link leads to another origin; it was not followed."""

    kind = "foreign_origin"


class ToolFailed(SourceError):
    """An MCP server answered `isError`; the message is the server's."""

    kind = "tool_failed"


class ValidationUnavailable(Exception):
    """The validator cannot read what it was given; nothing is known about the request."""
