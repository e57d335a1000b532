"""Opens a conversation for a command: runtime, view, log files, approval and Ctrl-C."""

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
    """Asks for approval on the terminal, one call at a time; only `y` and `yes` approve."""

    env: Environment
    view: View
    turn: asyncio.Lock

    async def approve(self, request: ApprovalRequest) -> bool:
        """Whether the user approved the call."""
        async with self.turn:
            with self.view.paused():
                self.env.stderr.write("\n".join([*approval_prompt(request), "Allow it? [y/N] "]))
                self.env.stderr.flush()
                await self._wait_for_line()
                return self.env.stdin.readline().strip().lower() in ("y", "yes")

    async def _wait_for_line(self) -> None:
        """Wait until a line is typed without reading it: a reading thread would block Ctrl-C."""
        loop = asyncio.get_running_loop()
        has_input, descriptor = asyncio.Event(), self.env.stdin.fileno()
        loop.add_reader(descriptor, has_input.set)
        try:
            await has_input.wait()
        except asyncio.CancelledError:
            self.env.stderr.write("\n")
            raise
        finally:
            loop.remove_reader(descriptor)


def approval_prompt(request: ApprovalRequest) -> list[str]:
    """The lines that show what a call would send, without control characters; a very long body is truncated.

    Lines with text chosen by the model are indented, so that none can imitate the prompt.
    """
    tool, shown = request.tool, request.request
    body = dict(request.arguments) if shown is None else shown.body
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
    rest = len(text) - BODY_SHOWN
    sent = one_line(tool.locator if shown is None else f"{shown.method} {shown.target}")
    lines = [f"'{one_line(tool.name)}' of '{one_line(tool.source)}' changes data:", f"  {sent}"]
    lines += [f"  {line}" for line in strip_control(text[:BODY_SHOWN]).splitlines()]
    return [*lines, f"  … and {rest:,} more characters not shown"] if rest > 0 else lines


def approver_of(common: CommonOptions, view: View) -> Approver:
    """Asks on the terminal; denies if standard input or error is not a terminal."""
    env = environment_of(common)
    if env.is_stdin_terminal and env.is_stderr_terminal:
        return TerminalApprover(env, view, asyncio.Lock())
    return AlwaysDeny()


_Result = TypeVar("_Result")


async def run_turn(turn: Coroutine[Any, Any, _Result], *, before_abort: Callable[[], None]) -> _Result:
    """Run a turn that Ctrl-C cancels, raising CancelledError; a second Ctrl-C exits the process."""
    try:
        return await run_interruptible(turn)
    except KeyboardInterrupt:
        # Closing connections may hang.
        before_abort()
        abort()


def view_of(common: CommonOptions) -> View:
    """The view for the output options."""
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
    """One session of a runtime; secrets in its results are masked."""

    session: Session
    runtime: Runtime
    redactor: Redactor
    start_session: Callable[[], Session]

    def new_session(self) -> "SessionConversation":
        """Another conversation with the same runtime and an empty history."""
        return replace(self, session=self.start_session())

    async def ask(self, question: str) -> RunResult:
        """Answer one question. If it is cancelled, `last_result` has the partial result."""
        return self.redactor.model(await self.session.ask(question))

    async def resume(self, stored: StoredRun) -> RunResult:
        """Resume a stored run, as the first turn of this conversation.

        Earlier answers of its conversation are remembered, but their datasets are not open; no new dataset or result
        reuses a name that these answers cite.
        """
        earlier = (run.result for run in self.runtime.journal.earlier_runs(stored) if run.result is not None)
        calls = [call for result in earlier for call in result.calls]
        self.runtime.store.reserve_names(call.dataset for call in calls if call.dataset)
        self.runtime.store.reserve_names(kept.name for call in calls for kept in call.stored)
        mark_session(self.runtime.store.folder, stored.session_id)
        return self.redactor.model(await self.session.resume(stored))

    @property
    def last_result(self) -> RunResult | None:
        """The result of the previous turn, including an interrupted one."""
        result = self.session.last_result
        return None if result is None else self.redactor.model(result)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""
        return self.runtime.catalog.tools

    @property
    def models(self) -> Mapping[str, str]:
        """The model name of each role."""
        return {role.value: self.runtime.registry.config(role).name for role in Role}


async def until_interrupted(
    turn: Coroutine[Any, Any, RunResult], conversation: SessionConversation, view: View
) -> RunResult:
    """The result of a turn; the partial result if Ctrl-C cancelled it."""
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
    """Open a runtime and a session; leaving the block closes everything, including the view."""
    redactor = Redactor(configuration.secrets())
    recorder = Recorder(configuration.settings.log_dir, line_of=line_of, redactor=redactor, on_failure=view.warn)
    try:
        async with open_runtime(configuration, state=state, warn=view.warn) as runtime:
            new_session = partial(
                runtime.session,
                sink=FanOutSink([RedactingSink(view, redactor), recorder]),
                approver=approver_of(common, view),
                allow_writes=common.call.allow_writes,
                notices=_notices(runtime),
                trace_of=recorder.trace_path,
            )
            yield SessionConversation(new_session(), runtime, redactor, new_session)
    finally:
        recorder.close()
        view.close()


def _notices(runtime: Runtime) -> tuple[str, ...]:
    n_skipped = len(runtime.catalog.skipped)
    skipped = f"skipped {counted(n_skipped, 'part')} of the sources; `runax tools list` shows why" if n_skipped else ""
    model = NOTICE if runtime.registry.config(Role.AGENT).is_rules else ""
    return tuple(notice for notice in (model, skipped, *runtime.configuration.warnings) if notice)
