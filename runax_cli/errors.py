"""Errors of the runner, one tree.

Each names the thing in quotes, its value and the next step. Knows nothing of exit codes (`cli` maps) and nothing
of how a source fails (`adapters.errors`). A failed tool is no error here: it is an envelope.
"""


class RunaxError(Exception):
    """Root of all errors that runax raises on purpose."""


class UsageError(RunaxError):
    """The command line asks for something that cannot be."""


class ConfigurationError(RunaxError):
    """A setting, a key or a settings file is missing or wrong; `setting` is its name."""

    def __init__(self, message: str, *, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


class BudgetExhausted(RunaxError):
    """A reservation would pass a limit: `resource` of `owner` has `limit`, of which `used` is spent or reserved."""

    def __init__(self, *, resource: str, owner: str, limit: float, used: float, asked: float) -> None:
        super().__init__(
            f"the budget '{resource}' of the {owner} is {limit:g}; {used:g} is spent or reserved and {asked:g} more "
            f"was asked for. Raise it with --max-{resource.replace('_', '-')} or ask a narrower question."
        )
        self.resource, self.owner, self.limit, self.used, self.asked = resource, owner, limit, used, asked


class SourceUnavailable(RunaxError):
    """A source cannot be used at all: its document cannot be read, its server cannot be reached."""


class ModelError(RunaxError):
    """A model endpoint gave no usable reply; `retryable` says whether asking again can help."""

    def __init__(self, message: str, *, model: str, retryable: bool, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.model, self.retryable, self.retry_after_s = model, retryable, retry_after_s


class ModelRefused(ModelError):
    """The endpoint refused for good: bad key, unknown model, invalid request. Never retried."""


class KeyRefused(ModelRefused):
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
