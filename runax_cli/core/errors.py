"""Errors of the runner, one tree.

Each names the thing in quotes, its value and the next step. Knows nothing of exit codes (`cli` maps) and nothing
of how a source fails (`adapters.errors`). A failed tool is no error here: it is an envelope.
"""

from pathlib import PurePath


class RunaxError(Exception):
    """Root of all errors that runax raises on purpose."""


def first_cause(error: BaseException) -> BaseException:
    """The first error inside groups of errors: a group says nothing to a user."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def sentence(text: str) -> str:
    """The text with the full stop that another sentence needs before it; a question has its own mark."""
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def place_of(error: BaseException) -> str:
    """Where an error was raised, as `module.py:line`; '' where it never was."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "" if at is None else f"{PurePath(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"


class UsageError(RunaxError):
    """The command line asks for something that cannot be."""


class ConfigurationError(RunaxError):
    """A setting, a key or a settings file is missing or wrong; `setting` is its name."""

    def __init__(self, message: str, *, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


class BudgetExhausted(RunaxError):
    """A reservation would pass a limit: `resource` of `owner` has `limit`, of which `used` is spent or reserved.

    `flag` is the option that raises it, where that is not the one for a turn.
    """

    def __init__(
        self, *, resource: str, owner: str, limit: float, used: float, asked: float, flag: str | None = None
    ) -> None:
        flag = flag or f"--max-{resource.replace('_', '-')}"
        super().__init__(
            f"the budget '{resource}' of the {owner} is {limit:g}; {used:g} is spent or reserved and {asked:g} more "
            f"was asked for. Raise it with {flag} or ask a narrower question."
        )
        self.resource, self.owner, self.limit, self.used, self.asked = resource, owner, limit, used, asked


class LedgerClosed(BudgetExhausted):
    """What all processes have used together cannot be learnt: then nothing more may be used. `path` is the ledger."""

    def __init__(self, why: str, *, path: str) -> None:
        super().__init__(resource="ledger", owner="day", limit=0, used=0, asked=0)
        text = (
            f"the ledger '{path}' of what a day has used cannot be read or written: {why}. A limit of the day or the "
            "tenant rests on it, so nothing more is sent. Free some space, make the folder writable, or move the file "
            "away to begin a new one."
        )
        self.args = (text,)
        self.path = path


class NoProgress(RunaxError):
    """The steps of a turn led nowhere: the same error, the same calls in a circle, nothing new for long."""


class SourceUnavailable(RunaxError):
    """A source cannot be used at all: its document cannot be read, its server cannot be reached."""


class ModelError(RunaxError):
    """A model endpoint gave no usable reply; `retryable` says whether asking again can help.

    `status` is that of the refusal, None where there was no answer or it was no refusal.
    """

    def __init__(
        self,
        message: str,
        *,
        model: str,
        retryable: bool,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.model, self.retryable, self.retry_after_s, self.status = model, retryable, retry_after_s, status


class ModelRefused(ModelError):
    """The endpoint refused for good: bad key, unknown model, invalid request. Never retried."""


class ModelKeyRefused(ModelRefused):
    """The endpoint does not take the key: that is the user's to mend, like a missing one."""


class ContextTooLong(ModelRefused):
    """The endpoint says that the request is longer than the model's context."""


class ModelReplyInvalid(ModelError):
    """A reply arrived and is not what was asked for (cut off, malformed, outside the schema)."""


class ApprovalDenied(RunaxError):
    """An action needs approval, and nobody gave it."""


class TurnTimedOut(RunaxError):
    """The wall time of a turn is used up (`--timeout`)."""


class StoreError(RunaxError):
    """State cannot be written or read (full disk, read-only, damaged); `path` names the place."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path
