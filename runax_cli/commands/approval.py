"""Leave for a call that changes data: asked for on a terminal, denied where nobody can be asked.

Knows one question with two answers. The policy is in `guard.policy`.
"""

import asyncio
from dataclasses import dataclass

from runax_cli.commands.options import Common
from runax_cli.commands.printing import environment_of
from runax_cli.guard.policy import AlwaysDeny, ApprovalRequest, Approver
from runax_cli.ui.console import Environment, one_line
from runax_cli.ui.jsonl import to_json
from runax_cli.ui.views import View

_ARGUMENTS_SHOWN = 500


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
                return await asyncio.to_thread(self._ask, request)

    def _ask(self, request: ApprovalRequest) -> bool:
        arguments = one_line(to_json(dict(request.arguments)), limit=_ARGUMENTS_SHOWN)
        self.env.stderr.write(f"{request.tool.locator} with {arguments} changes data. Allow it? [y/N] ")
        self.env.stderr.flush()
        return self.env.stdin.readline().strip().lower() in ("y", "yes")


def approver_of(common: Common, view: View) -> Approver:
    """The person at the terminal; nobody where standard input or error is none."""
    env = environment_of(common)
    if env.is_stdin_terminal and env.is_stderr_terminal:
        return TerminalApprover(env, view, asyncio.Lock())
    return AlwaysDeny()
