"""Leave for a call that changes data: asked for on a terminal, denied where nobody can be asked.

Knows one question with two answers. The policy is in `guard.policy`.
"""

import asyncio
import json
from dataclasses import dataclass

from runax_cli.commands.options import Common
from runax_cli.commands.printing import environment_of
from runax_cli.guard.policy import AlwaysDeny, ApprovalRequest, Approver
from runax_cli.ui.console import Environment, one_line, strip_control
from runax_cli.ui.views import View

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


def approver_of(common: Common, view: View) -> Approver:
    """The person at the terminal; nobody where standard input or error is none."""
    env = environment_of(common)
    if env.is_stdin_terminal and env.is_stderr_terminal:
        return TerminalApprover(env, view, asyncio.Lock())
    return AlwaysDeny()
