import json

import pytest

from runax_cli.core import event_types as ev
from runax_cli.core.results import Coverage, ErrorReport, Evidence, Reason, ReasonCode, RecordRef, RunStatus
from runax_cli.ui.console import ColorChoice
from runax_cli.ui.view_factory import View, build_view

STARTED = ev.RunStarted(question="q", model="m", reducer_model="r", effective_tokens=100, counter="c")
NASTY = "\x1b[31mred\x1b[0m \u202eturned [/x]"


def certificate(_result) -> str:
    return "261/261 tickets fetched · run 7f3a"


@pytest.fixture
def show(world):
    """Builds a view over the streams of the environment."""

    def build(output="text", *, quiet=False, verbose=False, evidence=False, **environment) -> View:
        env = world.environment(**environment)
        return build_view(output, env, certificate=certificate, quiet=quiet, verbose=verbose, evidence=evidence)

    return build


def test_pipe_gets_only_the_answer(show, world, event_of, result_of) -> None:
    view = show()
    view.emit(event_of(STARTED))
    view.emit(event_of(ev.AnswerDelta(text="# Tw")))
    view.print_result(result_of(answer="# Two **tickets** [tickets_1#17]."))
    assert world.out.getvalue() == "# Two **tickets** [tickets_1#17].\n"
    assert world.err.getvalue().splitlines()[-1] == certificate(None)
    assert "\x1b" not in world.err.getvalue()


def test_piped_answer_is_not_wrapped(show, world, result_of, event_of) -> None:
    view = show(width=20, color=ColorChoice.ALWAYS)
    view.emit(event_of(ev.Warned(code="x", text="word " * 60)))
    view.print_result(result_of(answer="word " * 60))
    assert len(world.out.getvalue().splitlines()) == 1
    assert world.err.getvalue().splitlines()[0].count("word") == 60


def test_color_can_be_forced_on_the_log_but_not_on_a_piped_answer(show, world, event_of, result_of) -> None:
    view = show(color=ColorChoice.ALWAYS)
    view.emit(event_of(ev.TokensChanged(before=2, after=1)))
    view.print_result(result_of(answer="**Two.**"))
    assert world.out.getvalue() == "**Two.**\n"
    assert "\x1b[31;47mTOKEN CHANGE" in world.err.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_answer_cannot_control_the_terminal(show, world, result_of, is_terminal) -> None:
    show(is_stdout_terminal=is_terminal, color=ColorChoice.NEVER).print_result(result_of(answer=NASTY))
    assert world.out.getvalue().splitlines()[0] == "red turned [/x]"
    assert "\x1b" not in world.out.getvalue()


def stream(view: View, event_of, text: str, *, size: int = 5) -> None:
    view.emit(event_of(STARTED))
    for start in range(0, len(text), size):
        view.emit(event_of(ev.AnswerDelta(text=text[start : start + size]), role="agent"))


ANSWER = "# Two\n\nThere are **two** of them.\n\n- one\n- two\n\nThat is all."


def test_terminal_gets_each_block_when_it_is_finished(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True, color=ColorChoice.NEVER)
    stream(view, event_of, ANSWER)
    early = world.out.getvalue()
    assert "There are two of them." in early
    assert "That is all." not in early
    view.print_result(result_of(answer=ANSWER))
    text = world.out.getvalue()
    assert text.startswith(early)
    assert [text.count(part) for part in ("There are two of them.", "• one", "That is all.")] == [1, 1, 1]
    assert text.splitlines()[-1] == certificate(None)


def test_text_before_a_tool_call_is_not_the_answer(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True)
    stream(view, event_of, "Let me look.")
    view.emit(event_of(ev.ModelRequested(model="m", tokens_in=1, n_messages=1, n_tools=0, preview=""), role="agent"))
    view.emit(event_of(ev.AnswerDelta(text="Two."), role="agent"))
    view.print_result(result_of(answer="Two."))
    assert world.out.getvalue().splitlines()[0] == "Two."
    assert "Let me look" not in world.out.getvalue()


def test_reducer_events_do_not_interrupt_the_answer(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True)
    stream(view, event_of, "One.\n\nTw")
    view.emit(event_of(ev.ModelRequested(model="m", tokens_in=1, n_messages=1, n_tools=0, preview=""), role="reducer"))
    view.emit(event_of(ev.AnswerDelta(text="o."), role="agent"))
    view.print_result(result_of(answer="One.\n\nTwo."))
    assert world.out.getvalue().splitlines()[:3] == ["One.", "", "Two."]
    assert world.out.getvalue().count("One.") == 1


def test_answer_that_differs_from_the_stream_is_printed_again(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True)
    stream(view, event_of, "Perhaps three.\n\nOr four.\n\n")
    view.print_result(result_of(answer="Two."))
    assert "Two." in world.out.getvalue()


def test_text_added_after_the_stream_is_appended(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True)
    stream(view, event_of, ANSWER)
    view.print_result(result_of(answer=ANSWER + "\n\nPartial: a budget stopped the run."))
    assert world.out.getvalue().count("That is all.") == 1
    assert "Partial: a budget stopped the run." in world.out.getvalue()


def test_second_question_starts_with_an_empty_stream(show, world, event_of, result_of) -> None:
    view = show(is_stdout_terminal=True)
    for _ in range(2):
        stream(view, event_of, ANSWER)
        view.print_result(result_of(answer=ANSWER))
    assert world.out.getvalue().count("That is all.") == 2


PROVEN = Evidence(
    statement="Two tickets",
    kind="record",
    records=(RecordRef(dataset="tickets_1", row=17, id="9\x1b[31m001"), RecordRef(dataset="tickets_1", row=18)),
    quote="the router",
    verified=True,
)
GUESSED = Evidence(statement="He is angry", kind="inference")
WRONG = Evidence(statement="He paid", kind="record", verified=False)
COUNTED = Evidence(statement="261 in all", kind="sql", sql="SELECT count(*)\nFROM t", exact=True, verified=True)


def test_footnotes_and_unverified_statements_follow_the_answer(show, world, result_of) -> None:
    show().print_result(result_of(evidence=(PROVEN, GUESSED, WRONG, COUNTED)))
    assert world.err.getvalue().splitlines() == [
        "[tickets_1#17] id 9001",
        "Unverified:",
        "  - He is angry (inference)",
        certificate(None),
        "UNSUPPORTED: He paid (not supported by its citations)",
    ]


FAILED = tuple(
    Evidence(statement=f"It was {n}", kind="inference", fault="unsupported", note=f"{n} does not appear in the data")
    for n in range(7)
)


@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
def test_failed_statements_are_on_stderr_even_if_quiet(show, world, result_of, output) -> None:
    result = result_of(status=RunStatus.INCOMPLETE, exit_code=7, evidence=(GUESSED, *FAILED))
    show(output, quiet=True).print_result(result)
    lines = [line for line in world.err.getvalue().splitlines() if line.startswith(("UNSUPPORTED", "and "))]
    assert lines[0] == "UNSUPPORTED: It was 0 (0 does not appear in the data)"
    assert lines[5:] == ["and 2 more statements that failed (use -o json for all)"]


def test_an_answer_without_data_is_on_stderr_even_if_quiet(show, world, result_of) -> None:
    coverage = Coverage(is_complete=False, reasons=(Reason(code=ReasonCode.NO_DATA_USED, text="no call"),))
    result = result_of(status=RunStatus.INCOMPLETE, exit_code=7, coverage=coverage)
    show("json", quiet=True).print_result(result)
    assert world.err.getvalue() == "NO DATA USED: no call\n"


@pytest.mark.parametrize(("variables", "is_red"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_failed_statements_are_bold_red_unless_no_color_is_set(show, world, result_of, variables, is_red) -> None:
    result = result_of(status=RunStatus.INCOMPLETE, evidence=FAILED[:1])
    show(quiet=True, is_stderr_terminal=True, **variables).print_result(result)
    assert ("\x1b[1;31mUNSUPPORTED: It was 0" in world.err.getvalue()) is is_red
    assert "UNSUPPORTED: It was 0" in world.err.getvalue()


def test_an_interrupted_answer_has_no_failed_statements(show, world, result_of) -> None:
    show(quiet=True).print_result(result_of(status=RunStatus.INTERRUPTED, evidence=FAILED))
    assert "UNSUPPORTED" not in world.err.getvalue()


def test_evidence_lists_records_quote_and_sql(show, world, result_of) -> None:
    show(evidence=True).print_result(result_of(evidence=(PROVEN, COUNTED)))
    assert world.err.getvalue().splitlines()[1:-1] == [
        "Evidence: 2 statements",
        "  1. Two tickets (record, verified)",
        "     records: tickets_1#17 (id 9001), tickets_1#18",
        "     quote: “the router”",
        "  2. 261 in all (sql, verified, exact)",
        "     sql: SELECT count(*)",
        "     sql: FROM t",
    ]


def test_number_of_footnotes_is_limited(show, world, result_of) -> None:
    records = tuple(RecordRef(dataset="t_1", row=row, id=str(row)) for row in range(1, 101))
    show().print_result(result_of(evidence=(PROVEN.model_copy(update={"records": records}),)))
    assert world.err.getvalue().splitlines()[20] == "+80 more records (use -o json for all)"


def test_incomplete_answer_lists_the_reasons(show, world, result_of, incomplete: Coverage) -> None:
    show(quiet=True).print_result(result_of(status=RunStatus.INCOMPLETE, coverage=incomplete))
    assert world.err.getvalue().splitlines() == [
        "INCOMPLETE",
        "  - page_failed: page 5 (offset=68): 503",
        certificate(None),
    ]


def test_partial_answer_is_marked(show, world, result_of) -> None:
    show().print_result(result_of(status=RunStatus.LIMIT))
    assert "PARTIAL: a budget stopped the run" in world.err.getvalue()


def test_quiet_shows_the_answer_and_failures(show, world, event_of, result_of) -> None:
    view = show(quiet=True)
    view.emit(event_of(STARTED))
    view.emit(event_of(ev.PageFailed(index=1, of=1, position="", why="503")))
    view.print_result(result_of())
    assert world.out.getvalue() == "Two.\n"
    assert world.err.getvalue() == "[agent] [PAGE 1/1] FAILED why=503\n"


def test_failure_prints_only_the_error_on_stderr(show, world, result_of) -> None:
    error = ErrorReport(type="ModelRefused", message="the key is refused\nnext line")
    show().print_result(result_of(status=RunStatus.FAILED, exit_code=5, answer="", error=error))
    assert world.out.getvalue() == ""
    assert world.err.getvalue().splitlines()[-1] == "runax: the key is refused next line"


def test_json_is_one_object_on_one_line(show, world, event_of, result_of) -> None:
    view, result = show("json"), result_of(answer=NASTY)
    view.emit(event_of(STARTED))
    view.print_result(result)
    assert len(world.out.getvalue().splitlines()) == 1
    assert json.loads(world.out.getvalue()) == result.model_dump(mode="json")
    assert "\u202e" not in world.out.getvalue()
    assert "[agent] QUESTION" in world.err.getvalue()


def lines(world) -> list[dict]:
    return [json.loads(line) for line in world.out.getvalue().splitlines()]


def test_jsonl_has_every_event_and_one_run_finished_at_the_end(show, world, event_of, result_of) -> None:
    view, result = show("jsonl"), result_of()
    view.emit(event_of(STARTED, seq=1))
    view.emit(event_of(ev.AnswerDelta(text="Two."), seq=2))
    view.emit(event_of(ev.RunFinished(result=result), seq=3))
    view.emit(event_of(ev.Warned(code="late", text="x"), seq=4))
    view.print_result(result)
    assert [(line["seq"], line["type"]) for line in lines(world)] == [
        (1, "run.started"),
        (2, "answer.delta"),
        (3, "run.finished"),
    ]
    assert lines(world)[-1]["result"] == result.model_dump(mode="json")


def test_jsonl_ends_with_run_finished_if_the_run_could_not_start(show, world, result_of) -> None:
    show("jsonl").print_result(result_of(status=RunStatus.FAILED))
    assert [(line["seq"], line["type"], line["run_id"]) for line in lines(world)] == [(1, "run.finished", "7f3a")]


@pytest.mark.parametrize("value", ["\ud800", "\x9b2J", float("nan"), float("inf"), 10**40, {"a": (1,)}, "Baláž \u2028"])
def test_any_value_becomes_one_line_of_valid_json(show, world, event_of, value) -> None:
    show("jsonl").emit(event_of(ev.ToolSelected(tool="t", arguments={"x": value})))
    text = world.out.getvalue()
    assert text.count("\n") == 1
    assert len(text.splitlines()) == 1
    text.encode()
    json.loads(text, parse_constant=pytest.fail)


def test_json_lines_on_the_terminal_disable_the_live_view(show, world, event_of) -> None:
    view = show("jsonl", is_stdout_terminal=True, is_stderr_terminal=True, color=ColorChoice.NEVER)
    view.emit(event_of(STARTED))
    view.close()
    assert "\x1b" not in world.err.getvalue()
