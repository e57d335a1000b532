"""The errors of the runner, one tree.

A message names what is wrong in quotes, its value and the next step. `exit_codes` maps errors to exit codes; errors of
sources are in `adapters.errors`. A failed tool call is not an error but an envelope with `status` "error".
"""

from pathlib import PurePath


class RunaxError(Exception):
    """The base of all errors that runax raises on purpose."""


def first_cause(error: BaseException) -> BaseException:
    """The first error inside an exception group, whose own message does not help a user."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def sentence(text: str) -> str:
    """The text with a full stop at its end, unless it ends with `?` or `!`."""
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def raised_at(error: BaseException) -> str:
    """Where an error was raised, as `module.py:line`; "" if it was not raised."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "" if at is None else f"{PurePath(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"


class UsageError(RunaxError):
    """The command line is wrong: an unknown option, a bad value or options that exclude each other."""


class ConfigurationError(RunaxError):
    """A setting, a key or a settings file is missing or wrong; `setting` is its name."""

    def __init__(self, message: str, *, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


class BudgetExhausted(RunaxError):
    """A reservation would exceed a limit: `resource` of `owner` has `limit`, of which `used` is spent or reserved.

    `flag` is the option that raises the limit, if it is not that of a turn. `unsettled` is the part of `used` that
    processes had reserved when they died.
    """

    def __init__(
        self,
        *,
        resource: str,
        owner: str,
        limit: float,
        used: float,
        requested: float,
        flag: str | None = None,
        unsettled: float = 0.0,
    ) -> None:
        flag = flag or f"--max-{resource.replace('_', '-')}"
        crashed = f" Of that, {unsettled:g} may have been billed by processes that died"
        crashed = f"{crashed}; `runax runs usage --clear` removes it." if unsettled else ""
        super().__init__(
            f"budget exceeded: '{resource}' of the {owner} is limited to {limit:g}; {used:g} is spent or reserved and "
            f"{requested:g} more is needed. Raise the limit with {flag} or ask a narrower question."
            f"{crashed}"
        )
        self.resource, self.owner, self.limit, self.used, self.requested = resource, owner, limit, used, requested


class LedgerClosed(BudgetExhausted):
    """The spend ledger at `path` cannot be read or written, so that limits of a day or tenant cannot be checked."""

    def __init__(self, why: str, *, path: str) -> None:
        super().__init__(resource="ledger", owner="day", limit=0, used=0, requested=0)
        text = (
            f"cannot read or write the spend ledger '{path}': {why}. Limits of the day or the tenant depend on it, so "
            "no more requests are sent. Free disk space, make the folder writable, or move the file away to start a "
            "new ledger."
        )
        self.args = (text,)
        self.path = path


class NoProgress(RunaxError):
    """The steps of a turn make no progress: the same error again, the same calls in a loop, or no new data."""


class SourceUnavailable(RunaxError):
    """A source cannot be used: its document cannot be read or its server cannot be reached."""


class ModelError(RunaxError):
    """A model endpoint gave no usable reply; `retryable` says whether a retry can help.

    `status` is the HTTP status of a refusal, None if there was no response or another failure.
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
    """The endpoint rejected the request (bad key, unknown model, invalid request). Never retried."""


class ModelKeyRefused(ModelRefused):
    """The endpoint rejected the API key: a configuration error, like a missing key."""


class ContextTooLong(ModelRefused):
    """The request is longer than the context window of the model, as the endpoint reports it."""


class ModelReplyInvalid(ModelError):
    """A reply arrived that cannot be used: cut off, malformed or not valid against the schema."""


class ApprovalDenied(RunaxError):
    """An action needs approval and was not approved."""


class TurnTimedOut(RunaxError):
    """A turn took longer than `--timeout`."""


class StoreError(RunaxError):
    """State at `path` cannot be read or written: disk full, read-only or file damaged."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path
