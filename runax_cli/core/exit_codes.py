"""The exit codes, and the only mapping from errors to them. `docs/exit-codes.md` is generated from this module."""

from enum import IntEnum

from runax_cli.core import errors


class ExitCode(IntEnum):
    """An exit code of the process; `meaning` is its line in the documentation."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        """Create a member from a code and its meaning."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    COMPLETE = 0, "complete"
    INTERNAL = 1, "internal error"
    USAGE = 2, "usage"
    CONFIGURATION = 3, "configuration, key or document"
    SOURCE_FAILED = 4, "source failed"
    MODEL_FAILED = 5, "model failed"
    BUDGET_STOPPED = 6, "a budget stopped the run (partial answer printed and marked)"
    INCOMPLETE = (
        7,
        "data fetched or read incompletely, a statement failed its check, or no data was used",
    )
    APPROVAL_NEEDED = 8, "approval needed but not given"
    SMOKE_FAILED = 10, "smoke or bench failed"
    SMOKE_INCONCLUSIVE = 11, "smoke inconclusive: nothing could be judged"
    TIMED_OUT = 124, "`--timeout` passed"
    INTERRUPTED = 130, "interrupted"


_BY_ERROR: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (errors.UsageError, ExitCode.USAGE),
    (errors.ConfigurationError, ExitCode.CONFIGURATION),
    (errors.SourceUnavailable, ExitCode.SOURCE_FAILED),
    (errors.ModelKeyRefused, ExitCode.CONFIGURATION),
    (errors.ModelError, ExitCode.MODEL_FAILED),
    (errors.BudgetExhausted, ExitCode.BUDGET_STOPPED),
    (errors.NoProgress, ExitCode.INCOMPLETE),
    (errors.StoreError, ExitCode.CONFIGURATION),
    (errors.ApprovalDenied, ExitCode.APPROVAL_NEEDED),
    (errors.TurnTimedOut, ExitCode.TIMED_OUT),
)


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code for an error that ends a run; an unlisted error is an internal error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.INTERNAL)
