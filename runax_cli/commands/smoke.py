"""`runax smoke`: questions with known answers, over the mock API and a model server, both over real HTTP.

Knows the order of things. Whether an answer is right is decided in `judging`.
"""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from mock_api.app import create_app
from mock_api.llm_server import create_llm_app
from mock_api.serving import serve
from mockdata.questions import Question, load
from runax_cli.agent.certificate import certificate_line
from runax_cli.commands.conversation import Conversation, open_conversation
from runax_cli.commands.demo import TOKEN, demo_configuration
from runax_cli.commands.interruption import run_turn
from runax_cli.commands.judging import Outcome, Verdict, exit_code, judge, junit
from runax_cli.commands.options import Common
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.rules_server import answer
from runax_cli.errors import UsageError
from runax_cli.exits import ExitCode
from runax_cli.settings_load import Configuration
from runax_cli.settings_load import load as settings_in_force
from runax_cli.ui.jsonl import to_json
from runax_cli.ui.views import build_view

MODEL = "rules-over-http"
_COLUMNS = ("id", "kind", "outcome", "seconds", "reasons")


async def run(common: Common, *, json_file: Path | None, junit_file: Path | None, only: Sequence[str]) -> ExitCode:
    """Ask every question, print and write the verdicts."""
    chosen = [question for question in load().questions if _is_wanted(question, only)]
    if not chosen:
        raise UsageError(f"no question has an id like {', '.join(map(repr, only))}. `runax smoke` asks all of them.")
    printer = Printer(environment_of(common), common.output.form)
    async with _conversation(common) as conversation:
        verdicts = [await _asked(question, conversation, common, printer) for question in chosen]
    code = exit_code(verdicts)
    printer.rows("questions", [_shown(verdict, common) for verdict in verdicts], columns=_COLUMNS)
    passed = sum(verdict.outcome is Outcome.PASSED for verdict in verdicts)
    printer.note(f"smoke: {passed} of {len(verdicts)} passed; {code.meaning if code else 'all is as expected'}")
    _write(json_file, to_json(_report(verdicts, code)) + "\n")
    _write(junit_file, junit(verdicts))
    return code


def _is_wanted(question: Question, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(question.id, glob) for glob in only)


@asynccontextmanager
async def _conversation(common: Common) -> AsyncIterator[Conversation]:
    """A conversation over both servers; its state is thrown away, so that nothing is answered from an earlier run."""
    quiet = not common.output.verbose
    view = build_view("text", environment_of(common), certificate=certificate_line, quiet=quiet, verbose=False)
    with tempfile.TemporaryDirectory(prefix="runax-smoke-") as folder:
        async with (
            serve(create_app(token=TOKEN), port=0) as api_url,
            serve(create_llm_app(answer, model=MODEL), port=0) as model_url,
            open_conversation(_configuration(api_url, model_url), common, view, state=Path(folder)) as conversation,
        ):
            yield conversation


def _configuration(api_url: str, model_url: str) -> Configuration:
    log_dir = settings_in_force().settings.log_dir
    return demo_configuration(api_url, llm_name=MODEL, llm_api_base_url=f"{model_url}/v1", log_dir=log_dir)


async def _asked(question: Question, conversation: Conversation, common: Common, printer: Printer) -> Verdict:
    answering = conversation.anew().ask(question.question)
    verdict = judge(question, await run_turn(answering, before_abort=lambda: None))
    if not common.output.quiet:
        printer.note(f"smoke: {verdict.outcome.value:<12} {verdict.duration_s:5.1f} s  {question.id}")
    return verdict


def _shown(verdict: Verdict, common: Common) -> dict[str, object]:
    row = verdict.as_row()
    return row | {"reasons": "; ".join(verdict.reasons)} if common.output.form == "text" else row


def _report(verdicts: Sequence[Verdict], code: ExitCode) -> dict[str, object]:
    return {"exit_code": int(code), "model": MODEL, "questions": [verdict.as_row() for verdict in verdicts]}


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"'{path}' cannot be written ({error.strerror}). Name a file in a folder that exists."
        ) from error
