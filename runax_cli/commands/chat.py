"""`runax chat`: one question after another on a terminal.

Knows the command. The prompt is in `ui.repl`.
"""

from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import open_conversation, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.process import abort
from runax_cli.ui.repl import Repl


async def run(common: CommonOptions) -> ExitCode:
    """Converse until the user leaves. Raises UsageError without a terminal."""
    env = environment_of(common)
    if not (env.is_stdin_terminal and env.is_stderr_terminal):
        raise UsageError("there is no terminal to converse on. Ask one question with `runax query`.")
    view = view_of(common)
    async with open_conversation(configuration_of(common), common, view) as conversation:
        code = await Repl(conversation, view, env=env).run()
        if code is ExitCode.INTERRUPTED:
            abort()
    return code
