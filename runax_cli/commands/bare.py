"""`runax` alone: a conversation on a terminal, one question from a pipe, else help.

Knows how to choose. The two ways are commands of their own.
"""

from collections.abc import Callable

from runax_cli.commands import chat, query
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.question import piped_text
from runax_cli.core.exit_codes import ExitCode


async def run(common: CommonOptions, *, explain: Callable[[], ExitCode]) -> ExitCode:
    """Begin a conversation, answer the pipe's question, or call `explain`."""
    env = environment_of(common)
    if env.is_stdin_terminal:
        return await chat.run(common) if env.is_stdout_terminal else explain()
    question = piped_text(env.stdin, note=Printer(env, "text").note)
    return await query.ask(question, common) if question else explain()
