"""Classifies HTTP errors of model endpoints: what is retryable, what was rejected, and the error for the caller.

API keys never get into a message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from runax_cli.core.errors import ContextTooLong, ModelError, ModelKeyRefused, ModelRefused
from runax_cli.models.wire import OPTIONAL_PARAMETERS, Payload

_CONTEXT = re.compile(
    r"context[_ ](length|window|size)|maximum context|prompt is too long|too many (input )?tokens|input is too long",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"response_format|text\.format|json_schema|structured outputs?", re.IGNORECASE)
_UNKNOWN_MODEL = re.compile(r"\bmodel\b.*(not found|does not exist|not exist|unknown)", re.IGNORECASE | re.DOTALL)
_KEY_REJECTED = frozenset({401, 403})
_RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_UNKNOWN_API = frozenset({404, 405, 501})
_INVALID = frozenset({400, 422})
_MAX_EXCERPT_CHARS = 500
_MIN_KEY_CHARS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRefusal:
    """A response with an error status; `code`, `param` and `message` are "" if the endpoint gave none."""

    status: int
    message: str
    code: str = ""
    param: str = ""
    retry_after_s: float | None = None


class StatusError(Exception):
    """Carries an HTTP error from the connection to the code that classifies it."""

    def __init__(self, refusal: HttpRefusal) -> None:
        super().__init__(f"{refusal.status}: {refusal.message}")
        self.refusal = refusal


class SchemaUnsupported(ModelRefused):
    """The endpoint does not support structured output; the schema can go into the prompt instead."""


def refused_parameter(refusal: HttpRefusal, body: Payload) -> str | None:
    """The optional parameter of `body` that was rejected: the one in `param`, or the first named in the message."""
    if refusal.status not in _INVALID:
        return None
    sent = [name for name in OPTIONAL_PARAMETERS if name in body]
    if refusal.param in sent:
        return refusal.param
    found = {name: match.start() for name in sent if (match := re.search(rf"\b{name}\b", refusal.message))}
    return min(found, key=lambda name: found[name]) if found else None


def refuses_schema(refusal: HttpRefusal, body: Payload) -> bool:
    """Whether the output schema of `body` was rejected."""
    has_schema = "text" in body or "response_format" in body
    text = f"{refusal.param} {refusal.code} {refusal.message}"
    return has_schema and refusal.status in _INVALID and _SCHEMA.search(text) is not None


def is_unknown_api(refusal: HttpRefusal) -> bool:
    """Whether the endpoint does not know the path, as opposed to the model."""
    return refusal.status in _UNKNOWN_API and not _is_unknown_model(refusal)


def _is_unknown_model(refusal: HttpRefusal) -> bool:
    return refusal.code == "model_not_found" or _UNKNOWN_MODEL.search(refusal.message) is not None


def model_error(refusal: HttpRefusal, *, model: str, base_url: str, api_key: str) -> ModelError:
    """The error for the caller, with the setting to check."""
    reason = excerpt(refusal.message, api_key=api_key)
    message = f"'{base_url}' returned {refusal.status} for the model '{model}': {reason}"
    if refusal.status == 413 or (refusal.status in _INVALID and _is_context(refusal)):
        return ContextTooLong(f"{message} Lower LLM_MAX_CONTEXT.", model=model, retryable=False)
    if refusal.status in _RETRYABLE and refusal.code != "insufficient_quota":
        return ModelError(
            message, model=model, retryable=True, retry_after_s=refusal.retry_after_s, status=refusal.status
        )
    kind = ModelKeyRefused if refusal.status in _KEY_REJECTED else ModelRefused
    return kind(f"{message} {_next_step(refusal)}".strip(), model=model, retryable=False)


def _is_context(refusal: HttpRefusal) -> bool:
    return refusal.code == "context_length_exceeded" or _CONTEXT.search(refusal.message) is not None


def _next_step(refusal: HttpRefusal) -> str:
    if refusal.status in _KEY_REJECTED:
        return "Check LLM_API_KEY."
    if refusal.status in _UNKNOWN_API:
        return "Check LLM_NAME." if _is_unknown_model(refusal) else "Check LLM_API_BASE_URL and LLM_API."
    if 300 <= refusal.status < 400:
        return "Redirects are not followed, as they would forward the API key: set LLM_API_BASE_URL to the target."
    return ""


def excerpt(text: str, *, api_key: str) -> str:
    """The start of a text on one line, with the API key masked, ending with a full stop.

    A key of less than eight characters is a placeholder ("none", "ollama") and can be an ordinary word of the text.
    """
    masked = text.replace(api_key, "***") if len(api_key) >= _MIN_KEY_CHARS else text
    line = " ".join(masked.split())[:_MAX_EXCERPT_CHARS] or "no reason given"
    return line if line.endswith((".", "!", "?")) else f"{line}."


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait by `Retry-After-Ms`, or `Retry-After` in seconds or as a date. `now` is a Unix time."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _number(value: str | None) -> float | None:
    is_number = value is not None and re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()) is not None
    return float(value) if is_number and value is not None else None
