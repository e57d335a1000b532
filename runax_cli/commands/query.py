"""`runax query`: one question, one answer, one exit code.

Knows the command. The way of a question is in `agent`.
"""

from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import open_conversation, until_interrupted, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.question import question_of
from runax_cli.core.errors import RunaxError
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.results import Coverage, ErrorReport, RunResult, RunStatus
from runax_cli.settings.loader import Configuration


async def run(argument: str | None, common: CommonOptions) -> ExitCode:
    """Ask the question of the argument and the pipe."""
    env = environment_of(common)
    note = Printer(env, "text").note
    question = question_of(argument, env.stdin, is_terminal=env.is_stdin_terminal, note=note)
    return await ask(question, common)


async def ask(question: str, common: CommonOptions, configuration: Configuration | None = None) -> ExitCode:
    """Ask one question; what keeps a run from beginning is told in the form of the output too."""
    try:
        return await _asked(question, common, configuration or configuration_of(common))
    except RunaxError as error:
        if common.output.form != "text":
            view_of(common).print_result(_failed(question, error))
        raise


async def _asked(question: str, common: CommonOptions, configuration: Configuration) -> ExitCode:
    view = view_of(common)
    async with open_conversation(configuration, common, view) as conversation:
        result = await until_interrupted(conversation.ask(question), conversation, view)
        view.print_result(result)
    return ExitCode(result.exit_code)  # type: ignore[call-arg]  # a lookup, and not the making of a member


def _failed(question: str, error: RunaxError) -> RunResult:
    return RunResult(
        run_id="",
        session_id="",
        status=RunStatus.FAILED,
        exit_code=exit_code_of(error),
        question=question,
        answer="",
        coverage=Coverage(is_complete=False),
        error=ErrorReport(type=type(error).__name__, message=str(error)),
    )
