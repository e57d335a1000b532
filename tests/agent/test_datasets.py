"""Whole turns over datasets: fetched once, offered as a table, computed, read again; with real engine and executor."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.clock import SystemClock
from adapters.memory_source import MemorySource
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.executor.data_tools.router import DatasetToolRouter, LabelerDependencies
from runax_cli.executor.executor import Executor
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.sql.tables import TableCatalog
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ModelReply, ModelRequest, Role, ScriptedModel, ToolCall, Usage
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.runtime.runtime import LABELER_PROMPTS, REDUCER_PROMPTS

N = 90
CITIES = ("Brno", "Plzeň", "Zlín")
PAYMENTS: list[dict[str, Any]] = [
    {"id": 700 + n, "city": CITIES[n % 3], "amount": n * 1.5, "note": f"Poznámka {n} " + "o platbě " * 30}
    for n in range(N)
]
DATA_TOOLS = ["query_dataset", "label_dataset", "read_dataset"]


def spec(name: str = "list_payments", **changes: Any) -> ToolSpec:
    values: dict[str, Any] = {
        "name": name,
        "description": "Payments.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "source": "crm",
        "locator": "GET /payments",
        "noun": "payments",
        "pagination": Pagination(
            convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=20, default_size=20
        ),
    }
    return ToolSpec(**values | changes)


class Api:
    """Serves payments, and counts the requests."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
        self.requests += 1
        given = {**arguments, **(page.arguments if page else {})}
        chosen = [p for p in PAYMENTS if given.get("city") in (None, p["city"])]
        start, size = int(given.get("offset", 0)), min(20, int(given.get("limit", 20)))
        payload = {"items": chosen[start : start + size], "total": len(chosen)}
        return CallResult(payload=payload, location="GET /payments", n_bytes=len(json.dumps(payload)), status=200)


def says(text: str) -> ModelReply:
    return ModelReply(text=text, model="scripted", usage=Usage(is_reported=False))


def calls(*wanted: tuple[str, Mapping[str, Any]]) -> ModelReply:
    asked = tuple(ToolCall(f"c{i}", name, json.dumps(given)) for i, (name, given) in enumerate(wanted))
    return ModelReply(text="", model="scripted", tool_calls=asked, usage=Usage(is_reported=False))


class Play:
    """A session whose main model follows a script; readers find the first of the records that they get."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.names = folder, names
        self.api, self.sink = Api(), CollectingSink()
        self.script: list[ModelReply] = []
        self.model = ScriptedModel(self._reply)

    async def start(self, *, limits: TurnLimits | None = None) -> None:
        journal = MemoryJournal()
        role = RoleConfig(name="scripted", is_rules=True, max_context=32_000)
        registry = ModelRegistry({Role.AGENT: role}, concurrency=4, rules=lambda: self.model)
        counter, effective = registry.counter(Role.REDUCER), registry.config(Role.REDUCER).effective_tokens
        sources = {name: (spec(name), self.api) for name in self.names}
        catalog = await ToolCatalog.load([MemorySource("crm", sources)])
        store = DatasetStore(self.folder / "datasets")
        executor = Executor(
            catalog, store, journal, counter=counter, effective_tokens=effective, prompts=REDUCER_PROMPTS
        )
        self.workbench = DatasetToolRouter(
            executor,
            store,
            journal,
            reducers=ReducerFactory(counter, prompts=REDUCER_PROMPTS, effective_tokens=effective, concurrency=4),
            labels=LabelerDependencies(
                counter=counter, prompts=LABELER_PROMPTS, effective_tokens=effective, concurrency=4
            ),
            clock=SystemClock(),
        )
        self.session = Session(
            registry=registry,
            executor=self.workbench,
            workbench=self.workbench,
            catalog=catalog,
            journal=journal,
            sink=self.sink,
            limits=limits or TurnLimits(),
        )

    async def ask(self, question: str, *script: ModelReply) -> RunResult:
        self.script += script
        return await self.session.ask(question)

    def _reply(self, request: ModelRequest) -> ModelReply:
        match request.role:
            case Role.REDUCER:
                finding = {"statement": "Je tu platba.", "records": [1], "quote": None}
                return says(json.dumps({"findings": [finding], "nothing_relevant": False}))
            case Role.LABELLER:
                refs = range(1, request.messages[-1].content.count("\n[") + 1)
                return says(json.dumps({"labels": [{"ref": ref, "label": "ok"} for ref in refs]}))
            case _:
                return self.script.pop(0)

    @property
    def asked(self) -> list[ModelRequest]:
        """What was sent to the main model."""
        return [request for request in self.model.requests if request.role is Role.AGENT]

    def offered(self, number: int) -> list[str]:
        return [tool.name for tool in self.asked[number].tools]

    def results(self) -> list[dict[str, Any]]:
        """The envelopes in the last request to the main model."""
        return [json.loads(m.content) for m in self.asked[-1].messages if m.role == "tool"]

    def codes(self) -> list[str]:
        return [event.body.code for event in self.sink.events if event.body.type == "guard.decided"]


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Play]:
    """A play over one tool of payments."""
    made = Play(tmp_path, ["list_payments"])
    await made.start()
    yield made
    made.workbench.close()


COMPUTE = ("list_payments", {"need": "compute"})
SUM = ("query_dataset", {"sql": "SELECT sum(amount) AS total FROM payments_1"})


async def test_a_figure_over_many_records_is_computed_and_cited(play: Play) -> None:
    result = await play.ask("Jaký je součet plateb?", calls(COMPUTE), calls(SUM), says("Celkem 6007.5 [q1]."))

    card, figure = play.results()
    assert card["strategy"] == "table"
    assert card["data"]["table"].startswith("Table payments_1: 90 rows; complete")
    assert figure["data"] == {"ref": "q1", "rows": 1, "result": "total\n6007.5"}
    assert (result.status, result.answer) == (RunStatus.COMPLETE, "Celkem 6007.5 [q1].")
    assert (result.coverage.records_read, result.coverage.records_total) == (N, N)
    assert (result.coverage.selected, result.coverage.read_by_model) == (0, 0)
    assert [(call.tool, call.strategy) for call in result.calls] == [
        ("list_payments", "table"),
        ("query_dataset", None),
    ]


async def test_the_tools_over_datasets_are_offered_only_while_there_is_a_dataset(play: Play) -> None:
    await play.ask("Jaký je součet plateb?", calls(COMPUTE), says("Nevím."))
    assert play.offered(0) == ["list_payments"]
    assert play.offered(1) == ["list_payments", *DATA_TOOLS]


async def test_a_dataset_is_never_listed_without_the_call_it_came_from(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts run in parallel: another one may get the list while the table of this one is still being described."""
    listed: list[str] = []
    card = TableCatalog.card

    async def described(tables: TableCatalog, name: str) -> str:
        listed.append(play.workbench.listing)
        return await card(tables, name)

    monkeypatch.setattr(TableCatalog, "card", described)
    await play.ask("Jaký je součet plateb?", calls(COMPUTE), says("Nevím."))
    assert listed == [f"payments_1 ({N} of list_payments {{}})"]


async def test_calling_one_of_them_before_is_no_tool(play: Play) -> None:
    await play.ask("Jaký je součet plateb?", calls(SUM), says("Nevím."), says("Nevím."))
    (envelope,) = play.results()
    assert (envelope["status"], envelope["error"]["code"]) == ("validation_error", -32601)


async def test_after_reading_too_figures_can_be_computed(play: Play) -> None:
    wanted = ("list_payments", {"need": "read", "focus": "poznámky"})
    await play.ask("Co je v platbách?", calls(wanted), calls(SUM), says("Celkem 6007.5 [q1]."))
    read, figure = play.results()
    assert read["strategy"] == "paginated_reduction"
    assert "query_dataset" in read["next_action_hint"]
    assert figure["data"]["result"] == "total\n6007.5"


async def test_a_follow_up_question_fetches_nothing(play: Play) -> None:
    await play.ask("Jaký je součet plateb?", calls(COMPUTE), calls(SUM), says("Celkem 6007.5 [q1]."))
    before = play.api.requests
    most = ("query_dataset", {"sql": "SELECT max(amount) FROM payments_1"})
    result = await play.ask("A nejvyšší platba?", calls(most), says("133.5 [q2]."))

    assert play.api.requests == before
    assert (result.status, result.coverage.records_read, result.coverage.records_total) == (RunStatus.COMPLETE, N, N)
    described = next(tool.description for tool in play.asked[-2].tools if tool.name == "query_dataset")
    assert "payments_1 (90 of list_payments {})" in described


@pytest.mark.parametrize("need", ["read", "compute"])
async def test_the_same_call_with_another_focus_is_read_again_and_not_fetched(play: Play, need: str) -> None:
    again = ("list_payments", {"need": need, "focus": "něco jiného"})
    first = calls(("list_payments", {"need": "read", "focus": "poznámky"}))
    result = await play.ask("Co je v platbách?", first, calls(again), says("Nic."))

    one, two = play.results()
    assert play.codes() == ["run", "read_again"]
    assert play.api.requests <= 8
    assert two["dataset"] == one["dataset"] == "payments_1"
    assert two["strategy"] == ("table" if need == "compute" else "paginated_reduction")
    assert (result.coverage.records_read, result.coverage.pages_read) == (N, result.calls[0].pages)
    assert result.calls[1].pages == 0


async def test_two_calls_for_the_same_data_in_one_step_fetch_it_once(play: Play) -> None:
    both = calls(COMPUTE, ("list_payments", {"need": "read", "focus": "poznámky"}))
    await play.ask("Co je v platbách?", both, says("Nic."))
    assert play.codes() == ["run", "read_again"]
    assert [envelope["dataset"] for envelope in play.results()] == ["payments_1", "payments_1"]


async def test_read_dataset_reads_only_what_the_condition_selects(play: Play) -> None:
    some = ("read_dataset", {"dataset": "payments_1", "focus": "poznámky", "where": "city = 'Brno' AND amount > 100"})
    result = await play.ask("Co je v platbách?", calls(COMPUTE), calls(some), says("Je tu [payments_1#70]."))

    chosen = [n + 1 for n, p in enumerate(PAYMENTS) if p["city"] == "Brno" and p["amount"] > 100]
    _, read = play.results()
    assert (read["status"], read["total_matches"]) == ("success", len(chosen))
    assert list(read["data"]) == [f"payments_1#{row}" for row in chosen]
    assert result.coverage.selected == result.coverage.read_by_model == len(chosen)
    assert result.coverage.records_read == N


async def test_findings_of_read_dataset_point_to_rows_of_the_dataset(play: Play) -> None:
    some = ("read_dataset", {"dataset": "payments_1", "focus": "poznámky", "where": "row > 40"})
    result = await play.ask("Co je v platbách?", calls(COMPUTE), calls(some), says("Je tu platba [payments_1#41]."))
    _, read = play.results()
    assert read["data"][0]["records"][0] == "payments_1#41"
    assert result.status is RunStatus.COMPLETE
    assert [(ref.row, ref.id) for entry in result.evidence for ref in entry.records] == [(41, "740")]


async def test_a_wrong_statement_is_told_with_the_nearest_names_and_can_be_mended(play: Play) -> None:
    wrong = ("query_dataset", {"sql": "SELECT sum(amout) FROM payments_1"})
    result = await play.ask("Součet plateb?", calls(COMPUTE), calls(wrong), calls(SUM), says("Celkem 6007.5 [q1]."))
    _, refused, figure = play.results()
    assert (refused["status"], figure["status"]) == ("validation_error", "success")
    assert "Nearest columns: amount" in refused["error"]["message"]
    assert (result.status, result.exit_code) == (RunStatus.COMPLETE, 0)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DROP VIEW payments_1", "only SELECT"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("COPY payments_1 TO 'x.csv'", "only SELECT"),
        ("SELECT 42", "reads no table"),
        ("SELECT * FROM read_text('/etc/passwd'), payments_1", "ermission"),
    ],
)
async def test_nothing_but_one_select_over_the_datasets_runs(play: Play, sql: str, why: str) -> None:
    await play.ask("Součet plateb?", calls(COMPUTE), calls(("query_dataset", {"sql": sql})), says("Nevím."))
    envelope = play.results()[-1]
    assert envelope["status"] == "validation_error"
    assert why in envelope["error"]["message"]


async def test_the_same_statement_twice_is_a_duplicate(play: Play) -> None:
    await play.ask("Součet plateb?", calls(COMPUTE), calls(SUM), calls(SUM), says("Celkem 6007.5 [q1]."))
    assert [envelope["status"] for envelope in play.results()] == ["success", "success", "duplicate_call_blocked"]


async def test_calls_over_datasets_count_against_the_limit_of_calls(tmp_path: Path) -> None:
    play = Play(tmp_path, ["list_payments"])
    await play.start(limits=TurnLimits(calls=1))
    result = await play.ask("Součet plateb?", calls(COMPUTE), calls(SUM), says("Nevím."))
    assert play.results()[-1]["status"] == "budget_exhausted"
    assert result.status is RunStatus.LIMIT


async def test_arguments_are_checked_like_those_of_any_tool(play: Play) -> None:
    bad = ("label_dataset", {"dataset": "payments_1", "columns": "note", "instructions": "?"})
    await play.ask("Součet plateb?", calls(COMPUTE), calls(bad), says("Nevím."))
    message = play.results()[-1]["error"]["message"]
    assert "columns" in message
    assert "nearest: 'instruction'" in message


async def test_labels_are_given_in_the_turn_and_by_the_labeller(play: Play) -> None:
    wanted = {"dataset": "payments_1", "columns": ["note"], "instruction": "Is it fine?", "labels": ["ok", "bad"]}
    result = await play.ask(
        "Kolik je v pořádku?", calls(COMPUTE), calls(("label_dataset", wanted)), says("V pořádku je 90 [q1].")
    )
    labelled = play.results()[-1]
    assert labelled["data"]["result"] == "label,n\nok,90"
    assert labelled["data"]["joined"] == "payments_1_labelled_1"
    assert result.usage.by_role["labeller"].requests >= 2
    assert result.coverage.read_by_model == N


async def test_a_long_result_is_cut_and_the_number_of_all_rows_is_told(play: Play) -> None:
    every = ("query_dataset", {"sql": "SELECT row, note FROM payments_1 ORDER BY row"})
    await play.ask("Co je v platbách?", calls(COMPUTE), calls(every), says("Nic."))
    data = play.results()[-1]["data"]
    assert data["rows"] == N
    assert 0 < data["shown"] < N
    assert len(data["result"].splitlines()) == data["shown"] + 1


async def test_a_tool_of_the_api_keeps_its_name_and_ours_gives_way(tmp_path: Path) -> None:
    play = Play(tmp_path, ["list_payments", "query_dataset"])
    await play.start()
    ours: Callable[..., ModelReply] = lambda: calls(("runax_query_dataset", SUM[1]))  # noqa: E731
    await play.ask("Součet plateb?", calls(COMPUTE), ours(), says("Celkem 6007.5 [q1]."))
    assert play.results()[-1]["data"]["result"] == "total\n6007.5"


async def test_how_many_match_is_answered_by_one_request_and_reads_nothing(play: Play) -> None:
    play.script = [calls(("list_payments", {"at_most": 0})), says("There are 90 payments [payments_1].")]
    result = await play.session.ask("How many payments are there?")
    assert play.api.requests == result.calls[0].requests == 1
    assert (result.exit_code, result.coverage.records_read, result.coverage.records_total) == (0, 0, N)
    assert [(entry.verified, entry.exact) for entry in result.evidence] == [(True, True)]


async def test_another_number_than_that_of_the_source_is_not_verified(play: Play) -> None:
    play.script = [calls(("list_payments", {"at_most": 0})), says("There are 91 payments [payments_1].")]
    result = await play.session.ask("How many payments are there?")
    assert result.exit_code == 7


async def test_all_records_are_read_after_they_were_only_counted(play: Play) -> None:
    counted, read = calls(("list_payments", {"at_most": 0})), calls(("list_payments", {"need": "compute"}))
    play.script = [
        counted,
        read,
        calls(("query_dataset", {"sql": "SELECT count(*) FROM payments_2"})),
        says("90 [q1]."),
    ]
    result = await play.session.ask("How many payments are there?")
    assert [call.records_read for call in result.calls] == [0, N, 0]
    assert result.exit_code == 0


async def test_a_later_turn_is_told_the_columns_of_earlier_datasets(play: Play) -> None:
    play.script = [calls(("list_payments", {"need": "compute"})), says("ok then")]
    await play.session.ask("first")
    first_turn = [tool.description for tool in play.model.requests[-1].tools if tool.name == "query_dataset"]
    play.script = [says("ok then")]
    await play.session.ask("second")
    later_turn = [tool.description for tool in play.model.requests[-1].tools if tool.name == "query_dataset"]
    assert "columns" not in first_turn[0]
    assert "with columns row BIGINT, id BIGINT, city, amount DOUBLE, note" in later_turn[0]


async def test_records_beside_a_table_card_can_be_cited(play: Play) -> None:
    play.script = [calls(("list_payments", {"need": "compute"})), says("Payment 700 is from Brno [payments_1#1].")]
    result = await play.session.ask("How many payments are from the city of payment 700?")
    (entry,) = result.evidence
    assert (result.calls[0].strategy, entry.verified) == ("table", True)
    assert [record.row for record in entry.records] == [1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT row, amount FROM payments_1 ORDER BY amount DESC LIMIT 3",
        "SELECT p.row AS zaznam, p.amount FROM payments_1 p JOIN payments_1 o ON o.id = p.id WHERE p.amount > 130",
        "SELECT arg_max(row, amount) AS which, max(amount) AS most FROM payments_1",
    ],
)
async def test_a_record_that_a_result_names_by_its_row_can_be_cited(play: Play, sql: str) -> None:
    most = calls(("query_dataset", {"sql": sql}))
    result = await play.ask(
        "Která platba je nejvyšší?", calls(COMPUTE), most, says("Platba 789 má 133.5 [payments_1#90].")
    )
    assert "a record as [payments_1#" in play.results()[-1]["next_action_hint"]
    (entry,) = result.evidence
    assert (entry.verified, [(ref.row, ref.id) for ref in entry.records]) == (True, [(90, "789")]), entry.note
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, amount FROM payments_1 ORDER BY amount DESC LIMIT 3",
        "SELECT 90 AS row, max(amount) FROM payments_1",
        "SELECT count(*) AS row FROM payments_1",
        "SELECT row, amount FROM payments_1 ORDER BY row LIMIT 3",
    ],
)
async def test_a_record_that_no_result_names_cannot_be_cited(play: Play, sql: str) -> None:
    most = calls(("query_dataset", {"sql": sql}))
    result = await play.ask(
        "Která platba je nejvyšší?", calls(COMPUTE), most, says("Platba 789 má 133.5 [payments_1#90].")
    )
    (entry,) = result.evidence
    assert (entry.verified, result.exit_code) == (False, 7)


async def test_a_row_beyond_those_that_were_shown_cannot_be_cited(play: Play) -> None:
    every = calls(("query_dataset", {"sql": "SELECT row, note FROM payments_1 ORDER BY row"}))
    result = await play.ask("Co je v platbách?", calls(COMPUTE), every, says("Poznámka 89 [payments_1#90]."))
    assert not result.evidence[0].verified
    assert "All 90 rows are stored as q1" in play.results()[-1]["next_action_hint"]


async def test_results_and_tables_of_labels_are_reported_with_their_files(play: Play) -> None:
    wanted = {"dataset": "payments_1", "columns": ["note"], "instruction": "Is it fine?", "labels": ["ok", "bad"]}
    result = await play.ask(
        "Kolik je v pořádku?", calls(COMPUTE), calls(("label_dataset", wanted)), calls(SUM), says("Celkem 6007.5 [q2].")
    )
    stored = [kept for call in result.calls for kept in call.stored]
    assert [(kept.name, kept.kind, kept.n_rows) for kept in stored] == [
        ("payments_1_labels_1", "labels", N),
        ("q1", "sql", 1),
        ("q2", "sql", 1),
    ]
    files = {path.name for path in play.folder.rglob("*.parquet")}
    assert files == {"records.parquet", "labels_1.parquet", "q1.parquet", "q2.parquet"}
    assert {str(kept.path).rpartition("/")[2] for kept in stored} == files - {"records.parquet"}
    assert [query.stored for query in result.evidence[0].queries] == [stored[2].path]


async def test_a_result_that_cannot_be_stored_is_reported_and_counts_as_evidence(play: Play) -> None:
    await play.ask("Jaký je součet plateb?", calls(COMPUTE), calls(SUM), says("Celkem 6007.5 [q1]."))
    play.workbench._results._left = 0
    again = calls(("query_dataset", {"sql": "SELECT max(amount) FROM payments_1"}))
    result = await play.ask("A nejvyšší?", again, says("133.5 [q2]."))
    (kept,) = result.calls[0].stored
    assert (kept.path, kept.n_rows, "STATE_MAX_GB" in str(kept.note)) == (None, 1, True)
    assert result.evidence[0].verified
    warned = [event.body.text for event in play.sink.events if event.body.type == "warned"]
    assert [text for text in warned if text.startswith("q2 is not stored")]
