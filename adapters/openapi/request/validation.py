"""Validation of requests and responses against the document, with one warning per tool and kind.

openapi-core takes seconds to import, so `openapi_core` is imported at the first call.
"""

from dataclasses import dataclass
from typing import Protocol

from adapters.base import CallResult, Json
from adapters.errors import ValidationUnavailable
from adapters.openapi.document.document import OpenApiDocument
from adapters.openapi.operation.reader import OperationReader
from adapters.openapi.request.builder import BuiltRequest
from adapters.openapi.tools.tool import OpenApiTool

_MAX_CHECKED_BYTES = 2**20
_MAX_NOTE_CHARS = 600


@dataclass(frozen=True, slots=True)
class ValidationNote:
    """A warning about a tool; `code` is request_unchecked, response_unchecked or response_mismatch."""

    code: str
    text: str


class OperationValidator(Protocol):
    """Validates requests and responses of one operation."""

    def request_faults(self, built: BuiltRequest) -> tuple[str, ...]:
        """Return `argument: problem` for each fault. Raises ValidationUnavailable."""

    def response_faults(self, status: int, payload: Json) -> tuple[str, ...]:
        """Return `member: problem` for each fault. Raises ValidationUnavailable."""


class CallValidator:
    """Validates the calls of the tools of one document; each note is returned once per tool.

    Its methods take milliseconds to seconds and must run off the event loop. They raise DocumentNotLoaded if another
    file of the document is needed.
    """

    def __init__(self, document: OpenApiDocument, reader: OperationReader) -> None:
        self._document, self._reader = document, reader
        self._checks: dict[str, OperationValidator] = {}
        self._sent: set[tuple[str, str]] = set()
        self._checked_tools: set[str] = set()

    def check_request(self, tool: OpenApiTool, built: BuiltRequest) -> tuple[tuple[str, ...], ValidationNote | None]:
        """Return the faults of a request, or a note if it cannot be validated."""
        try:
            return self._check_of(tool).request_faults(built), None
        except ValidationUnavailable as error:
            text = f"requests are not validated against the document: {error}"
            return (), self._once(tool, ValidationNote("request_unchecked", text))

    def should_check_response(self, tool: OpenApiTool, result: CallResult) -> bool:
        """Whether this is the first response of a tool, and at most 1 MiB."""
        return (
            tool.spec.name not in self._checked_tools
            and result.payload is not None
            and result.n_bytes <= _MAX_CHECKED_BYTES
        )

    def check_response(self, tool: OpenApiTool, result: CallResult) -> ValidationNote | None:
        """Return a note if a response does not match the document."""
        self._checked_tools.add(tool.spec.name)
        try:
            faults = self._check_of(tool).response_faults(result.status or 200, result.payload)
        except ValidationUnavailable as error:
            return self._once(
                tool, ValidationNote("response_unchecked", f"responses are not validated against the document: {error}")
            )
        if not faults:
            return None
        text = f"the response does not match the document and is used anyway: {'; '.join(faults)}"
        return self._once(tool, ValidationNote("response_mismatch", text[:_MAX_NOTE_CHARS]))

    def _check_of(self, tool: OpenApiTool) -> OperationValidator:
        if tool.spec.name not in self._checks:
            from adapters.openapi.request.openapi_core import build_operation_check

            names = {(one.location.value, one.name): name for name, one in tool.binding.parameters.items()}
            self._checks[tool.spec.name] = build_operation_check(self._document, self._reader, tool.operation, names)
        return self._checks[tool.spec.name]

    def _once(self, tool: OpenApiTool, note: ValidationNote) -> ValidationNote | None:
        key = (tool.spec.name, note.code)
        if key in self._sent:
            return None
        self._sent.add(key)
        return note
