"""`runax query`, `runax chat`, and `runax` without a command: ask questions and print the answers."""

import select
import stat
from collections.abc import Callable, Sequence
from os import fstat
from typing import TextIO

from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import open_conversation, until_interrupted, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.save import SaveTarget, parse_targets, save_notes
from runax_cli.core.errors import RunaxError, UsageError
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.results import Coverage, ErrorReport, RunResult, RunStatus
from runax_cli.process import abort
from runax_cli.settings.loader import Configuration

_NOTE_AFTER_S = 2.0
_STDIN = "-"


async def run_query(argument: str | None, common: CommonOptions, *, save: Sequence[str] = ()) -> ExitCode:
    """Ask the question given by the argument and the pipe, and save stored results to files."""
    env = environment_of(common)
    targets = parse_targets(save)
    note = Printer(env, "text").note
    question = question_of(argument, env.stdin, is_terminal=env.is_stdin_terminal, note=note)
    return await ask_question(question, common, save=targets)


async def run_chat(common: CommonOptions) -> ExitCode:
    """Read and answer questions until the user leaves. Raises UsageError without a terminal."""
    env = environment_of(common)
    if not (env.is_stdin_terminal and env.is_stderr_terminal):
        raise UsageError("`runax chat` needs a terminal. Ask a single question with `runax query`.")
    # prompt_toolkit is slow to import, and a single question does not need it.
    from runax_cli.ui.repl import Repl

    view = view_of(common)
    async with open_conversation(configuration_of(common), common, view) as conversation:
        code = await Repl(conversation, view, env=env).run()
        if code is ExitCode.INTERRUPTED:
            abort()
    return code


async def run_without_command(common: CommonOptions, *, print_help: Callable[[], ExitCode]) -> ExitCode:
    """Start a chat on a terminal, answer the question of a pipe, or else call `print_help`."""
    env = environment_of(common)
    if env.is_stdin_terminal:
        return await run_chat(common) if env.is_stdout_terminal else print_help()
    question = piped_text(env.stdin, note=Printer(env, "text").note)
    return await ask_question(question, common) if question else print_help()


async def ask_question(
    question: str,
    common: CommonOptions,
    configuration: Configuration | None = None,
    *,
    save: Sequence[SaveTarget] = (),
) -> ExitCode:
    """Ask one question. An error before the run starts is printed in the output format too, then raised."""
    try:
        result = await _ask(question, common, configuration or configuration_of(common))
    except RunaxError as error:
        if common.output.form != "text":
            view_of(common).print_result(_failed_result(question, error))
        raise
    _save(save, result, common)
    return ExitCode(result.exit_code)  # type: ignore[call-arg]  # looks up a member


def _save(targets: Sequence[SaveTarget], result: RunResult, common: CommonOptions) -> None:
    """Save results after the answer was printed. If the run itself failed, a failure is only noted."""
    note = Printer(environment_of(common), "text").note
    try:
        save_notes(targets, result, note=(lambda _text: None) if common.output.quiet else note)
    except RunaxError as error:
        if result.exit_code == ExitCode.COMPLETE:
            raise
        note(f"runax: {error}")


async def _ask(question: str, common: CommonOptions, configuration: Configuration) -> RunResult:
    view = view_of(common)
    async with open_conversation(configuration, common, view) as conversation:
        result = await until_interrupted(conversation.ask(question), conversation, view)
        view.print_result(result)
    return result


def _failed_result(question: str, error: RunaxError) -> RunResult:
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


def question_of(argument: str | None, stdin: TextIO, *, is_terminal: bool, note: Callable[[str], None]) -> str:
    """The text of the pipe followed by the argument. Raises UsageError if both are empty.

    Reads a pipe to its end; after two seconds without input, `note` is called. A terminal is read only for `-`.
    """
    is_stdin_requested = argument == _STDIN
    piped = _read(stdin, note) if is_stdin_requested else "" if is_terminal else piped_text(stdin, note=note)
    typed = "" if argument is None or is_stdin_requested else _checked_text(argument)
    question = "\n\n".join(part for part in (piped, typed) if part)
    if not question:
        raise UsageError('the question is missing. Pass it as an argument, `runax query "…"`, or pipe it in.')
    return question


def _checked_text(argument: str) -> str:
    """The argument, stripped. Python passes invalid UTF-8 as lone surrogates; they raise UsageError."""
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the question is not valid UTF-8 (at character {error.start + 1}).") from error
    return argument.strip()


def piped_text(stdin: TextIO, *, note: Callable[[str], None]) -> str:
    """The whole text of a pipe, file or socket; empty if standard input is none of these."""
    return _read(stdin, note) if _is_piped(stdin) else ""


def _is_piped(stdin: TextIO) -> bool:
    """Whether standard input is a pipe, a file or a socket, rather than closed or /dev/null."""
    try:
        mode = fstat(stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read(stdin: TextIO, note: Callable[[str], None]) -> str:
    try:
        ready, _, _ = select.select([stdin], [], [], _NOTE_AFTER_S)
        if not ready:
            note("runax: reading the question from standard input; press Ctrl-D to end it, or use `< /dev/null`")
        return stdin.read().strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not valid UTF-8 ({error.reason} at byte {error.start}).") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read standard input ({error}). Pass the question as an argument.") from error
