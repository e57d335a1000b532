import io
import re
import typing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from runax_cli.core import event_types as ev
from runax_cli.core.events import CollectingSink, Emitter, Event, Stamp
from runax_cli.core.results import Coverage, ForecastCheck, RunResult, RunStatus, TotalIs
from runax_cli.ui.console import Tone
from runax_cli.ui.log_lines import PREVIEW_LIMIT, line_of, lines_of, stages, usd

BODIES = typing.get_args(typing.get_args(ev.AnyEvent)[0])
COVERED = Coverage(records_read=261, records_total=261, total_is=TotalIs.EXACT)


def chunking(**fields) -> ev.ChunkingPlanned:
    base = {"budget_tokens": 24000, "avg_tokens_per_item": 1360.24, "items_per_chunk": 17, "page_size": 17}
    return ev.ChunkingPlanned(**(base | {"pages": 16, "chunks": 15, "is_corrected": False} | fields))


def paging(convention: str, *, has_metadata: bool, hidden: tuple[str, ...] = ()) -> ev.PagingDetected:
    return ev.PagingDetected(tool="t", convention=convention, hidden=hidden, has_metadata=has_metadata)


def probed(total: int | None, total_is: TotalIs, tokens: int | None) -> ev.CallProbed:
    return ev.CallProbed(
        tool="t", total_items=total, total_is=total_is, total_tokens_est=tokens, rung="metadata", records_path="data"
    )


def finished(tool: str, coverage: Coverage, *, strategy: str | None = None) -> ev.CallFinished:
    return ev.CallFinished(
        tool=tool,
        status="success",
        strategy=strategy,
        dataset=None,
        coverage=coverage,
        tokens_to_model=9,
        preview="{}",
    )


def page(**fields) -> ev.PageFetched:
    base = {"index": 3, "of": 9, "position": "offset=58", "limit": 29, "items": 29, "retries": 1}
    return ev.PageFetched(**(base | fields))


LINES = [
    (
        ev.ToolSelected(tool="get_tickets", arguments={"customer_id": 4}),
        '[agent] LLM TOOL SELECTED: get_tickets [ARGS: {"customer_id": 4}]',
    ),
    (
        ev.ToolSelected(tool="t", arguments={}, focus="why", need="read"),
        "[agent] LLM TOOL SELECTED: t [ARGS: {}] [FOCUS: why] [NEED: read]",
    ),
    (
        paging("offset", has_metadata=True, hidden=("offset", "limit", "meta_only")),
        "[agent] API end-point supports metadata & pagination convention=offset hidden=offset, limit, meta_only",
    ),
    (paging("page", has_metadata=False), "[agent] API end-point supports pagination convention=page"),
    (paging("single", has_metadata=True), "[agent] API end-point supports metadata convention=single"),
    (
        paging("single", has_metadata=False),
        "[agent] API end-point supports neither metadata nor pagination convention=single",
    ),
    (ev.SourceRequested(source="api", location="GET http://h/t?k=***"), "[agent] API CALL: GET http://h/t?k=***"),
    (
        probed(261, TotalIs.EXACT, 355000),
        "[agent] [META] total_items=261 total_tokens_est=355000 records_path=data probe=metadata",
    ),
    (
        probed(1000, TotalIs.AT_LEAST, None),
        "[agent] [META] total_items=1000+ total_tokens_est=unknown records_path=data probe=metadata",
    ),
    (
        probed(None, TotalIs.UNKNOWN, None),
        "[agent] [META] total_items=unknown total_tokens_est=unknown records_path=data probe=metadata",
    ),
    (ev.StrategyChosen(strategy="empty", why="w"), "[agent] [STRATEGY] EMPTY DATASET: w"),
    (ev.StrategyChosen(strategy="direct_pass", why="w"), "[agent] [STRATEGY] DIRECT PASS: w"),
    (ev.StrategyChosen(strategy="single_reduction", why="w"), "[agent] [STRATEGY] SINGLE REDUCTION: w"),
    (ev.StrategyChosen(strategy="paginated_reduction", why="w"), "[agent] [STRATEGY] PAGING ACTIVATED: w"),
    (ev.StrategyChosen(strategy="table", why="w"), "[agent] [STRATEGY] TABLE: w"),
    (
        chunking(),
        "[agent] [CHUNKING] budget=24000 avg_tokens_per_item=1360.2 limit=17 page_size=17 total_pages=16 chunks=15",
    ),
    (
        chunking(page_size=None, pages=None, is_corrected=True),
        (
            "[agent] [CHUNKING] budget=24000 avg_tokens_per_item=1360.2 limit=17 total_pages=? chunks=15 "
            "(corrected after page 1)"
        ),
    ),
    (page(), "[agent] [PAGE 3/9] offset=58 limit=29 items=29 retries=1"),
    (page(of=None, limit=None, position="abc"), "[agent] [PAGE 3/?] position=abc items=29 retries=1"),
    (page(from_store=True), "[agent] [PAGE 3/9] offset=58 limit=29 items=29 retries=1 (from store)"),
    (ev.PageFailed(index=2, of=9, position="page=2", why="503"), "[agent] [PAGE 2/9] FAILED page=2 why=503"),
    (ev.ChunkPacked(index=2, of=None, records=17, tokens=23950), "[reducer] [CHUNK 2/?] records=17 tokens=23950"),
    (
        ev.ChunkReduced(index=2, of=9, findings=3, tokens=180, preview="The router\nfails"),
        "[reducer] [REDUCER] preview=The router fails | chunk=2/9 findings=3 tokens=180",
    ),
    (ev.ChunkFailed(index=2, of=9, records=4, why="no JSON"), "[reducer] [CHUNK 2/9] FAILED records=4 why=no JSON"),
    (
        ev.AnswerReviewed(supported=3, contradicted=1, not_in_evidence=0, unreviewed=2),
        "[agent] [REVIEW] supported=3 contradicted=1 not_in_evidence=0 unreviewed=2",
    ),
    (ev.FindingsMerged(level=0, before=30, after=28), "[reducer] [MERGE] level=0 findings=30 -> 28"),
    (ev.TokensChanged(before=355000, after=2100), "[agent] TOKEN CHANGE: 355000 -> 2100, Δ -352900, -99.4 %"),
    (ev.TokensChanged(before=0, after=5), "[agent] TOKEN CHANGE: 0 -> 5, Δ +5"),
    (
        ev.GuardDecided(tool="t", code="suppressed_duplicate", text="seen"),
        "[agent] [GUARD] suppressed_duplicate t: seen",
    ),
    (
        ev.BudgetNoted(resource="tokens", used=90, limit=100, is_exhausted=True, text="stop"),
        "[agent] [BUDGET] tokens 90/100 EXHAUSTED: stop",
    ),
    (
        ev.RetryScheduled(what="GET /t", attempt=2, wait_s=1.5, why="429"),
        "[agent] [RETRY] GET /t attempt=2 wait=1.5 s why=429",
    ),
    (
        ev.RequestDelayed(what="GET /t", wait_s=2.5, why="'s' says that it allows no more for now"),
        "[agent] [HELD] GET /t wait=2.5 s why='s' says that it allows no more for now",
    ),
    (
        ev.SourceProgressed(source="s", location="tools/call t", done=2, total=5, text="reading"),
        "[agent] [PROGRESS] tools/call t 2/5 reading",
    ),
    (ev.Resumed(text="5 pages are here"), "[agent] [RESUME] 5 pages are here"),
    (ev.Warned(code="schema", text="extra field"), "[agent] [WARNING] schema: extra field"),
    (ev.ContextMeasured(used_tokens=8192, effective_tokens=32768), "[agent] [CONTEXT] 8192/32768 tokens (25.0%)"),
    (
        ev.CallFinished(
            tool="t",
            status="success",
            strategy="direct_pass",
            dataset="tickets_1",
            coverage=COVERED,
            tokens_to_model=90,
            preview="{}",
        ),
        (
            "[agent] TOOL RESULT: t status=success strategy=direct_pass dataset=tickets_1 records=261/261 tokens=90 "
            "preview={}"
        ),
    ),
    (
        finished("query_dataset", Coverage(records_total=0, total_is=TotalIs.EXACT, is_complete=True)),
        "[agent] TOOL RESULT: query_dataset status=success tokens=9 preview={}",
    ),
    (
        finished("read_dataset", Coverage(records_total=0, total_is=TotalIs.EXACT, selected=7, is_complete=True)),
        "[agent] TOOL RESULT: read_dataset status=success selected=7 tokens=9 preview={}",
    ),
    (
        finished("t", Coverage(records_total=0, total_is=TotalIs.EXACT, is_complete=True), strategy="empty"),
        "[agent] TOOL RESULT: t status=success strategy=empty records=0/0 tokens=9 preview={}",
    ),
]


@pytest.mark.parametrize(("body", "line"), LINES, ids=lambda value: getattr(value, "type", ""))
def test_each_stage_has_its_name_and_fields(event_of, body, line) -> None:
    assert line_of(event_of(body)) == line


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_every_event_type_has_a_stage(body: type) -> None:
    assert stages.dispatch(body) is not stages.dispatch(ev.EventData)


def test_answer_delta_has_no_line(event_of) -> None:
    assert line_of(event_of(ev.AnswerDelta(text="x"))) is None


def test_body_is_shown_only_if_verbose(event_of) -> None:
    event = event_of(ev.StructureSeen(tool="t", text="id: int\nname: str"))
    assert line_of(event) == "[agent] STRUCTURE: t: id: int name: str"
    assert line_of(event, is_verbose=True) == "[agent] STRUCTURE: t: id: int name: str\n    id: int\n    name: str"


def test_call_id_is_shown_if_verbose(event_of) -> None:
    event = event_of(ev.Resumed(text="x"), call_id="call_2")
    assert line_of(event, is_verbose=True) == "[agent] [RESUME] x · call call_2"


@pytest.mark.parametrize(
    ("role", "prefix"), [("reducer", "reducer"), ("labeller", "reducer"), ("agent", "agent"), (None, "agent")]
)
def test_prefix_names_the_actor(event_of, role, prefix) -> None:
    event = event_of(ev.ModelRequested(model="m", tokens_in=9, n_messages=2, n_tools=0, preview=""), role=role)
    assert line_of(event) == f"[{prefix}] LLM REQUEST: m messages=2 tools=0 tokens=9"


REQUEST = ev.ModelRequested(model="m", tokens_in=9, n_messages=1, n_tools=0, preview="")
REPLY = ev.ModelReplied(
    model="m", input_tokens=9, output_tokens=1, cost_usd=None, duration_s=1, first_token_s=None, preview="hi"
)


@pytest.mark.parametrize(
    ("body", "role", "tone"),
    [
        (REQUEST, "agent", Tone.REQUEST),
        (REPLY, "agent", Tone.RESPONSE),
        (REQUEST, "reducer", Tone.REDUCER_REQUEST),
        (REPLY, "reducer", Tone.REDUCER_RESPONSE),
        (ev.StructureSeen(tool="t", text="id: int"), None, Tone.STRUCTURE),
        (ev.TokensChanged(before=2, after=1), None, Tone.TOKENS),
        (LINES[-1][0], None, Tone.TOOL_RESULT),
    ],
)
def test_tone_of_each_event(event_of, body, role, tone) -> None:
    (line,) = lines_of(event_of(body, role=role))
    assert line.spans[1].tone is tone


@pytest.mark.parametrize(
    ("body", "role", "code"),
    [
        (REQUEST, "agent", "\x1b[34m"),
        (REPLY, "agent", "\x1b[32m"),
        (LINES[-1][0], None, "\x1b[33m"),
        (REQUEST, "reducer", "\x1b[94;44m"),
        (REPLY, "reducer", "\x1b[92;44m"),
        (ev.StructureSeen(tool="t", text="x"), None, "\x1b[35m"),
        (ev.TokensChanged(before=2, after=1), None, "\x1b[31;47m"),
    ],
)
def test_colors_of_the_theme(event_of, body, role, code) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard")
    (line,) = lines_of(event_of(body, role=role))
    console.print(line.rich(), soft_wrap=True)
    assert code in out.getvalue()


nasty = st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]\n\r\t\x00\x9b/m\u202e")), max_size=60)


@given(nasty, nasty)
def test_untrusted_text_stays_on_its_line_without_control_characters(text: str, other: str) -> None:
    stamp = Stamp(run_id="r", session_id="s", span_id="x")
    result = RunResult(run_id="r", session_id="s", status="complete", exit_code=0, question=text, answer=other)
    bodies: list[ev.AnyEvent] = [
        ev.ToolSelected(tool=text, arguments={other: text}, focus=other),
        ev.ChunkReduced(index=1, of=1, findings=1, tokens=1, preview=text),
        ev.Warned(code=text, text=other),
        ev.StructureSeen(tool=text, text=other),
        ev.RunFinished(result=result),
        page(position=text),
    ]
    for body in bodies:
        line = line_of(Event(1, datetime.now(UTC), stamp, body))
        assert line is not None
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", line)


def test_long_preview_is_truncated(event_of) -> None:
    line = line_of(event_of(ev.ChunkReduced(index=1, of=1, findings=1, tokens=1, preview="x" * 5000)))
    assert line is not None
    assert len(line) < PREVIEW_LIMIT + 80
    assert "…" in line


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "$0"), (0.004, "$0.004"), (0.00004, "<$0.0001"), (1.5, "$1.50"), (0.12345, "$0.1235")]
)
def test_positive_amount_is_never_shown_as_zero(amount: float, text: str) -> None:
    assert usd(amount) == text


def test_lines_name_their_sub_question() -> None:
    sink = CollectingSink()
    root = Emitter.for_run(sink, run_id="r", session_id="s")
    root.emit(ev.Warned(code="c", text="t"))
    root.child(sub_question=2).emit(ev.Warned(code="c", text="t"))
    assert [line_of(event) for event in sink.events] == ["[agent] [WARNING] c: t", "[agent] [WARNING] c: t · part 2"]


def test_run_finished_shows_the_forecast_error() -> None:
    result = RunResult(run_id="r", session_id="s", status=RunStatus.COMPLETE, exit_code=0, question="q", answer="a")
    check = ForecastCheck(tokens_forecast=110, tokens_used=100, off_by=0.1)
    sink = CollectingSink()
    Emitter.for_run(sink, run_id="r", session_id="s").emit(ev.RunFinished(result=result, forecast=check))
    assert "forecast=110 (+10.0%)" in (line_of(sink.events[0]) or "")
