"""What is checked when, and what is said about it once.

Knows which requests and responses are worth checking and what has been told already. The checking itself is done by
`check`, which is imported when the first call is made, because its library takes seconds to import.
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
    """Something to tell about a tool; `code` is request_unchecked, response_unchecked or response_mismatch."""

    code: str
    text: str


class OperationValidator(Protocol):
    """What one operation is held against."""

    def request_faults(self, built: BuiltRequest) -> tuple[str, ...]:
        """`argument: what is wrong`, for each. Raises ValidationUnavailable."""

    def response_faults(self, status: int, payload: Json) -> tuple[str, ...]:
        """`member: what is wrong`, for each. Raises ValidationUnavailable."""


class CallValidator:
    """Checks calls of the tools of one document; each remark is made once a tool.

    Its methods take milliseconds to seconds and are to be run off the event loop; they raise NotLoaded where another
    file of the document is needed.
    """

    def __init__(self, document: OpenApiDocument, reader: OperationReader) -> None:
        self._document, self._reader = document, reader
        self._checks: dict[str, OperationValidator] = {}
        self._sent: set[tuple[str, str]] = set()
        self._checked_tools: set[str] = set()

    def check_request(self, tool: OpenApiTool, built: BuiltRequest) -> tuple[tuple[str, ...], ValidationNote | None]:
        """What is wrong with a request; where that cannot be told, a remark."""
        try:
            return self._check_of(tool).request_faults(built), None
        except ValidationUnavailable as error:
            text = f"requests are sent without being checked against the document: {error}"
            return (), self._once(tool, ValidationNote("request_unchecked", text))

    def should_check_response(self, tool: OpenApiTool, result: CallResult) -> bool:
        """Whether this is the first response of a tool, and one of at most 1 MiB."""
        return (
            tool.spec.name not in self._checked_tools
            and result.payload is not None
            and result.n_bytes <= _MAX_CHECKED_BYTES
        )

    def check_response(self, tool: OpenApiTool, result: CallResult) -> ValidationNote | None:
        """A remark where a response does not fit."""
        self._checked_tools.add(tool.spec.name)
        try:
            faults = self._check_of(tool).response_faults(result.status or 200, result.payload)
        except ValidationUnavailable as error:
            return self._once(tool, ValidationNote("response_unchecked", f"responses cannot be checked: {error}"))
        if not faults:
            return None
        text = f"the response does not fit the document and is used all the same: {'; '.join(faults)}"
        return self._once(tool, ValidationNote("response_mismatch", text[:_MAX_NOTE_CHARS]))

    def _check_of(self, tool: OpenApiTool) -> OperationValidator:
        if tool.spec.name not in self._checks:
            from adapters.openapi.request.openapi_core import build_operation_check

            names = {(one.location.value, one.name): name for name, one in tool.binding.parameters.items()}
            self._checks[tool.spec.name] = build_operation_check(self._document, self._reader, tool.operation, names)
        return self._checks[tool.spec.name]

    def _once(self, tool: OpenApiTool, remark: ValidationNote) -> ValidationNote | None:
        key = (tool.spec.name, remark.code)
        if key in self._sent:
            return None
        self._sent.add(key)
        return remark
