"""A conversation as every asking command needs it: the running parts, the view, the files of the log, the approver.

Knows how a command's options become a conversation. Knows nothing of what is asked.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from adapters.base import ToolSpec
from runax_cli.agent.certificate import certificate_line
from runax_cli.agent.session import Session
from runax_cli.commands.approval import approver_of
from runax_cli.commands.interruption import run_turn
from runax_cli.commands.options import Common
from runax_cli.commands.printing import environment_of
from runax_cli.memory.journal import StoredRun
from runax_cli.models.base import Role
from runax_cli.models.rules.model import NOTICE
from runax_cli.results import RunResult, counted
from runax_cli.runtime import Runtime, open_runtime
from runax_cli.settings_load import Configuration
from runax_cli.state import mark_session
from runax_cli.telemetry.fanout import FanOutSink
from runax_cli.telemetry.recorder import Recorder
from runax_cli.telemetry.redact import RedactingSink, Redactor
from runax_cli.ui.plain import line_of
from runax_cli.ui.views import View, build_view


def view_of(common: Common) -> View:
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
class Conversation:
    """One session over the running parts; what leaves it has its secrets masked."""

    session: Session
    runtime: Runtime
    redactor: Redactor
    begin: Callable[[], Session]

    def anew(self) -> "Conversation":
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
        self.runtime.store.never_again(call.dataset for result in earlier for call in result.calls if call.dataset)
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


async def until_interrupted(turn: Coroutine[Any, Any, RunResult], conversation: Conversation, view: View) -> RunResult:
    """The result of a turn; that of the interrupted one where Ctrl-C cancelled it."""
    try:
        return await run_turn(turn, before_abort=view.close)
    except asyncio.CancelledError:
        if conversation.last_result is None:
            raise
        return conversation.last_result


@asynccontextmanager
async def open_conversation(
    configuration: Configuration, common: Common, view: View, *, state: Path | None = None
) -> AsyncIterator[Conversation]:
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
            yield Conversation(begin(), runtime, redactor, begin)
    finally:
        recorder.close()
        view.close()


def _notices(runtime: Runtime) -> tuple[str, ...]:
    left_out = len(runtime.catalog.left_out)
    missing = f"left out of the sources: {counted(left_out, 'part')}; `runax tools list` says why" if left_out else ""
    model = NOTICE if runtime.registry.config(Role.AGENT).is_rules else ""
    return tuple(notice for notice in (model, missing, *runtime.configuration.remarks) if notice)
