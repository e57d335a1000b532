"""A conversation as every asking command needs it: the running parts, the view, the files of the log, the approver.

Knows how a command's options become a conversation. Knows nothing of what is asked.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from adapters.base import ToolSpec
from runax_cli.agent.result.certificate import certificate_line
from runax_cli.agent.session import Session
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import environment_of
from runax_cli.core.results import RunResult, counted
from runax_cli.guard.approval import AlwaysDeny, ApprovalRequest, Approver
from runax_cli.memory.journal import StoredRun
from runax_cli.models.base import Role
from runax_cli.models.rules.model import NOTICE
from runax_cli.process import abort
from runax_cli.runtime.runtime import Runtime, open_runtime
from runax_cli.runtime.state import mark_session
from runax_cli.settings.loader import Configuration
from runax_cli.telemetry.recorder import FanOutSink, Recorder
from runax_cli.telemetry.redaction import RedactingSink, Redactor
from runax_cli.ui.console import Environment, one_line, strip_control
from runax_cli.ui.interrupt import run_interruptible
from runax_cli.ui.log_lines import line_of
from runax_cli.ui.view_factory import View, build_view

BODY_SHOWN = 4_000


@dataclass(frozen=True, slots=True)
class TerminalApprover:
    """Asks on the terminal, one call after another; only `y` and `yes` allow."""

    env: Environment
    view: View
    turn: asyncio.Lock

    async def approve(self, request: ApprovalRequest) -> bool:
        """Whether the person said yes."""
        async with self.turn:
            with self.view.paused():
                self.env.stderr.write("\n".join([*lines_about(request), "Allow it? [y/N] "]))
                self.env.stderr.flush()
                await self._typed()
                return self.env.stdin.readline().strip().lower() in ("y", "yes")

    async def _typed(self) -> None:
        """Wait for a line without reading it: a thread that reads would hold up Ctrl-C until somebody presses Enter."""
        loop = asyncio.get_running_loop()
        is_there, descriptor = asyncio.Event(), self.env.stdin.fileno()
        loop.add_reader(descriptor, is_there.set)
        try:
            await is_there.wait()
        except asyncio.CancelledError:
            self.env.stderr.write("\n")
            raise
        finally:
            loop.remove_reader(descriptor)


def lines_about(request: ApprovalRequest) -> list[str]:
    """What would be sent, line by line and disarmed; of a very long body the beginning, and how much more there is.

    Every line of what the model chose is indented, so that none can pass for the question.
    """
    tool, shown = request.tool, request.request
    body = dict(request.arguments) if shown is None else shown.body
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
    rest = len(text) - BODY_SHOWN
    sent = one_line(tool.locator if shown is None else f"{shown.method} {shown.place}")
    lines = [f"'{one_line(tool.name)}' of '{one_line(tool.source)}' changes data:", f"  {sent}"]
    lines += [f"  {line}" for line in strip_control(text[:BODY_SHOWN]).splitlines()]
    return [*lines, f"  … and {rest:,} more characters that are not shown"] if rest > 0 else lines


def approver_of(common: CommonOptions, view: View) -> Approver:
    """The person at the terminal; nobody where standard input or error is none."""
    env = environment_of(common)
    if env.is_stdin_terminal and env.is_stderr_terminal:
        return TerminalApprover(env, view, asyncio.Lock())
    return AlwaysDeny()


_Result = TypeVar("_Result")


async def run_turn(turn: Coroutine[Any, Any, _Result], *, before_abort: Callable[[], None]) -> _Result:
    """What the turn returns. Raises CancelledError where it was cancelled; does not return where it was aborted."""
    try:
        return await run_interruptible(turn)
    except KeyboardInterrupt:
        # Closing connections may hang, which is why somebody pressed twice.
        before_abort()
        abort()


def view_of(common: CommonOptions) -> View:
    """The view that the options ask for."""
    output = common.output
    return build_view(
        output.form,
        environment_of(common),
        certificate=certificate_line,
        quiet=output.quiet,
        verbose=output.verbose,
        evidence=common.answer.evidence,
    )


@dataclass(frozen=True, slots=True)
class SessionConversation:
    """One session over the running parts; what leaves it has its secrets masked."""

    session: Session
    runtime: Runtime
    redactor: Redactor
    begin: Callable[[], Session]

    def anew(self) -> "SessionConversation":
        """Another conversation over the same parts, with no memory of this one."""
        return replace(self, session=self.begin())

    async def ask(self, question: str) -> RunResult:
        """Answer one question. When it is cancelled, `last_result` holds what there was."""
        return self.redactor.model(await self.session.ask(question))

    async def resume(self, stored: StoredRun) -> RunResult:
        """Go on with a stored run, as the first turn of this conversation.

        Earlier answers of its conversation are remembered; their datasets are not at hand, and no other gets a name
        by which these answers cite them.
        """
        earlier = (run.result for run in self.runtime.journal.runs_before(stored) if run.result is not None)
        self.runtime.store.reserve_names(call.dataset for result in earlier for call in result.calls if call.dataset)
        mark_session(self.runtime.store.folder, stored.session_id)
        return self.redactor.model(await self.session.resume(stored))

    @property
    def last_result(self) -> RunResult | None:
        """The result of the turn before, interrupted ones included."""
        result = self.session.last_result
        return None if result is None else self.redactor.model(result)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""
        return self.runtime.catalog.tools

    @property
    def models(self) -> Mapping[str, str]:
        """The model's name for each role."""
        return {role.value: self.runtime.registry.config(role).name for role in Role}


async def until_interrupted(
    turn: Coroutine[Any, Any, RunResult], conversation: SessionConversation, view: View
) -> RunResult:
    """The result of a turn; that of the interrupted one where Ctrl-C cancelled it."""
    try:
        return await run_turn(turn, before_abort=view.close)
    except asyncio.CancelledError:
        if conversation.last_result is None:
            raise
        return conversation.last_result


@asynccontextmanager
async def open_conversation(
    configuration: Configuration, common: CommonOptions, view: View, *, state: Path | None = None
) -> AsyncIterator[SessionConversation]:
    """Open the running parts and a session over them; leaving the block closes everything, the view too."""
    redactor = Redactor(configuration.secrets())
    recorder = Recorder(configuration.settings.log_dir, line_of=line_of, redactor=redactor, on_failure=view.warn)
    try:
        async with open_runtime(configuration, state=state, warn=view.warn) as runtime:
            begin = partial(
                runtime.session,
                sink=FanOutSink([RedactingSink(view, redactor), recorder]),
                approver=approver_of(common, view),
                allow_writes=common.call.allow_writes,
                notices=_notices(runtime),
                trace_of=recorder.trace_path,
            )
            yield SessionConversation(begin(), runtime, redactor, begin)
    finally:
        recorder.close()
        view.close()


def _notices(runtime: Runtime) -> tuple[str, ...]:
    left_out = len(runtime.catalog.left_out)
    missing = f"left out of the sources: {counted(left_out, 'part')}; `runax tools list` says why" if left_out else ""
    model = NOTICE if runtime.registry.config(Role.AGENT).is_rules else ""
    return tuple(notice for notice in (model, missing, *runtime.configuration.remarks) if notice)
