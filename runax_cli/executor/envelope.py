"""The envelope: a call's result as the model sees it, self-describing and never prose.

Knows the fields of the contract, the closed list of states and fault codes, and what a model should do next in each.
Knows nothing of how a call runs.
"""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Any, Literal

from runax_cli.executor.compact import compact
from runax_cli.results import Stored


class EnvelopeStatus(StrEnum):
    """How a requested call ended."""

    SUCCESS = "success"
    EMPTY = "empty"
    PARTIAL = "partial"
    ERROR = "error"
    VALIDATION_ERROR = "validation_error"
    DUPLICATE_CALL_BLOCKED = "duplicate_call_blocked"
    DEFERRED = "deferred"
    DENIED = "denied"
    BUDGET_EXHAUSTED = "budget_exhausted"


class FaultCode(IntEnum):
    """JSON-RPC codes: what kind of thing went wrong."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    INVALID_ARGUMENTS = -32602
    TRAPPED = -32000
    INTERNAL = -32603


class ToolFault(Stored):
    """What went wrong with a call. `retry_after_ms` and `retries_left` are left out where nothing is known."""

    type: str
    code: FaultCode
    message: str
    retryable: bool = False
    retryable_after_correction: bool | None = None
    retry_after_ms: int | None = None
    retries_left: int | None = None
    instruction: Literal["RE-EVALUATE_INTENT", "CORRECT_ARGUMENTS", "ANSWER_WITH_WHAT_IS_KNOWN"] = "RE-EVALUATE_INTENT"


class Envelope(Stored):
    """Status, figures, data and a hint. Fields that do not apply are None, and are left out of the text."""

    status: EnvelopeStatus
    tool: str | None = None
    query: dict[str, Any] | None = None
    strategy: str | None = None
    total_matches: int | None = None
    records_read: int | None = None
    is_complete: bool | None = None
    dataset: str | None = None
    data: Any = None
    error: ToolFault | None = None
    next_action_hint: str

    def to_model_text(self) -> str:
        """Compact JSON without the fields that do not apply; nulls inside `data` are kept."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if self.error is not None:
            fields["error"] = self.error.model_dump(mode="json", exclude_none=True)
        return compact({name: value for name, value in fields.items() if value is not None})

    @classmethod
    def failed(cls, tool: str, fault: ToolFault, *, hint: str | None = None) -> "Envelope":
        """The call could not be done; nothing is known about the data, and that is not the same as no data."""
        advice = (
            f"Calling {tool} again may help; if it fails again, say that its data could not be read."
            if fault.retryable
            else f"Do not repeat {tool} with the same arguments: change them, use another tool, or say what is missing."
        )
        said = hint or f"This is a failure and not an empty result: no conclusion about the data follows. {advice}"
        return cls(status=EnvelopeStatus.ERROR, tool=tool, error=fault, next_action_hint=said)

    @classmethod
    def validation_error(
        cls, tool: str, message: str, *, code: FaultCode = FaultCode.INVALID_ARGUMENTS, hint: str | None = None
    ) -> "Envelope":
        """The arguments do not fit, are no JSON, or there is no such tool; nothing was sent."""
        fault = ToolFault(
            type="validation",
            code=code,
            message=message,
            retryable_after_correction=True,
            instruction="CORRECT_ARGUMENTS",
        )
        said = hint or (
            "Choose one of the tools that are offered, by its exact name."
            if code is FaultCode.NO_SUCH_TOOL
            else f"Nothing was sent. Correct what the message names and call {tool} once more."
        )
        return cls(status=EnvelopeStatus.VALIDATION_ERROR, tool=tool, error=fault, next_action_hint=said)

    @classmethod
    def duplicate(cls, tool: str, query: dict[str, Any], *, dataset: str | None, hint: str | None = None) -> "Envelope":
        """The same call was made before; its result stands further up in the conversation."""
        where = f" Its records are dataset {dataset}." if dataset else ""
        said = hint or (
            f"{tool} was already called with these arguments and its result stands above.{where} "
            "Answer from it, or ask for something else."
        )
        return cls(
            status=EnvelopeStatus.DUPLICATE_CALL_BLOCKED, tool=tool, query=query, dataset=dataset, next_action_hint=said
        )

    @classmethod
    def deferred(
        cls, tool: str, query: dict[str, Any], *, waits_for: Sequence[str], hint: str | None = None
    ) -> "Envelope":
        """The call was asked for beside one that runs alone, and was not made."""
        said = hint or (
            f"{tool} was not called yet: it was asked for in the same step as {', '.join(waits_for)}, which runs "
            "alone. Look at that result, then call it if it is still needed."
        )
        return cls(status=EnvelopeStatus.DEFERRED, tool=tool, query=query, next_action_hint=said)

    @classmethod
    def denied(cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None) -> "Envelope":
        """The user's policy does not allow the call."""
        said = (
            hint or f"{tool} was not called: {why}. Do not ask for it again; tell the user what would have been done."
        )
        return cls(status=EnvelopeStatus.DENIED, tool=tool, query=query, next_action_hint=said)

    @classmethod
    def budget_exhausted(cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None) -> "Envelope":
        """A limit stopped the call before anything was read."""
        fault = ToolFault(type="budget", code=FaultCode.TRAPPED, message=why, instruction="ANSWER_WITH_WHAT_IS_KNOWN")
        said = hint or "No further calls are possible. Answer from the results above and say what was not looked at."
        return cls(status=EnvelopeStatus.BUDGET_EXHAUSTED, tool=tool, query=query, error=fault, next_action_hint=said)

    @classmethod
    def internal(cls, tool: str, message: str) -> "Envelope":
        """Something in runax itself failed and was trapped."""
        return cls.failed(tool, ToolFault(type="internal", code=FaultCode.INTERNAL, message=message))
