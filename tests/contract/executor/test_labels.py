"""`label_dataset`: labels become a column, and SQL counts exactly the labels of the model."""

import hashlib
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import SystemClock
from runax_cli.agent import prompts
from runax_cli.agent.loop.data_tools import LABEL, QUERY
from runax_cli.core.results import Lineage
from runax_cli.executor.data_tools.labeler import LabelerPrompts
from runax_cli.executor.data_tools.router import DatasetToolRouter, LabelerDependencies
from runax_cli.executor.outcome import CallOutcome, DecidedCall
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ModelReply, ModelRequest, OnText, Usage
from runax_cli.models.tokens import CalibratedCounter, O200kCounter, request_text
from runax_cli.runtime.runtime import REDUCER_PROMPTS

LABELS = ("outage", "invoice", "router", "other")
LABELER_PROMPTS = LabelerPrompts(
    system=prompts.LABELLER_SYSTEM, user=prompts.LABELLER_USER, repair=prompts.LABELLER_REPAIR
)
N = 600


def text_of(number: int) -> str:
    """Return a text that contains its true label; every fifth text is in the data twice."""
    number -= number % 5 == 4
    return f"Zákazník {number} píše: vec {LABELS[number % 4 if number % 7 else 0]}, prosí o pomoc a zavolání."


def truth(text: str) -> str:
    return next(label for label in LABELS if label in text)


RECORDS: list[dict[str, Any]] = [
    {"id": 100 + n, "city": ["Brno", "Plzeň", "Zlín"][n % 3], "text": text_of(n)} for n in range(N)
]


class LabelingModel:
    """A model that returns the true label of each text with probability `p`, the same each time.

    `spoil` may change its reply: request number from 0 and entries in, entries or raw text out.
    """

    name = "labeling"

    def __init__(self, p: float = 1.0, *, spoil: Any = None, seed: int = 1) -> None:
        self.p, self.seed, self.requests, self.spoil = p, seed, list[ModelRequest](), spoil
        self.said = 0

    def label(self, text: str) -> str:
        digest = hashlib.sha256(f"{self.seed} {text}".encode()).digest()
        chance = random.Random(digest)
        return truth(text) if chance.random() < self.p else chance.choice([x for x in LABELS if x != truth(text)])

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        del on_text
        self.requests.append(request)
        lines = request.messages[-1].content.partition("<texts>\n")[2].partition("\n</texts>")[0].splitlines()
        found = [re.fullmatch(r"\[(\d+)\] (.*)", line) for line in lines]
        entries: Any = [{"ref": int(m[1]), "label": self.label(m[2])} for m in found if m]
        if self.spoil is not None:
            entries = self.spoil(len(self.requests) - 1, entries)
        said = entries if isinstance(entries, str) else json.dumps({"labels": entries}, separators=(",", ":"))
        self.said += O200kCounter().count(said)
        return ModelReply(text=said, model=self.name, usage=Usage(is_reported=False))

    async def aclose(self) -> None: ...


class Desk:
    """A dataset tool router with one dataset."""

    def __init__(self, bench: Any, model: Any, router: DatasetToolRouter) -> None:
        self.bench, self.model, self.router = bench, model, router

    async def call(self, spec: Any, **arguments: Any) -> CallOutcome:
        call = DecidedCall(call_id="c2", tool=spec, arguments=arguments, focus="")
        scope = self.bench.scope()
        scope = type(scope)(emitter=scope.emitter, budget=scope.budget, reducer=scope.reducer, labeler=self.model)
        return await self.router.execute(call, scope, direct_limit=500)

    async def label(self, **changes: Any) -> CallOutcome:
        given = {
            "dataset": "tickets_1",
            "columns": ["text"],
            "instruction": "What is it about?",
            "labels": list(LABELS),
        }
        return await self.call(LABEL, **given | changes)

    async def value(self, sql: str) -> Any:
        outcome = await self.call(QUERY, sql=sql)
        assert outcome.sql is not None, outcome.envelope
        return outcome.sql.rows


@pytest.fixture
def desk(make: Any, tmp_path: Path) -> Any:
    """Make a router over the records with a model for labels."""

    async def made(model: Any, *, records: Any = None, journal: Any = None, effective: int = 6000) -> Desk:
        bench = make(records=RECORDS if records is None else records, effective=effective)
        counter = CalibratedCounter(O200kCounter(), ratio=1.0)
        router = DatasetToolRouter(
            bench.executor,
            DatasetStore(tmp_path / "datasets"),
            journal or MemoryJournal(),
            reducers=ReducerFactory(counter, prompts=REDUCER_PROMPTS, effective_tokens=effective, concurrency=4),
            labels=LabelerDependencies(
                counter=counter, prompts=LABELER_PROMPTS, effective_tokens=effective, concurrency=4
            ),
            clock=SystemClock(),
        )
        call = DecidedCall(call_id="c1", tool=bench.api.spec(bench.pagination), arguments={}, focus="", need="compute")
        fetched = await router.execute(call, bench.scope(), direct_limit=500)
        assert fetched.envelope.strategy == "table"
        return Desk(bench, model, router)

    return made


async def test_correct_labels_give_exact_counts(desk: Any) -> None:
    table = await desk(LabelingModel())
    outcome = await table.label()
    expected = Counter(truth(record["text"]) for record in RECORDS)
    assert dict(outcome.sql.rows) == dict(expected)
    assert outcome.sql.lineage is Lineage.BY_LABEL
    assert outcome.sql.agreement == 1.0
    assert outcome.envelope.status == "success"
    assert (outcome.coverage.selected, outcome.coverage.read_by_model) == (N, N)


@pytest.mark.parametrize("p", [0.97, 0.9, 0.7])
async def test_the_error_of_a_count_is_that_of_the_model(desk: Any, p: float) -> None:
    model = LabelingModel(p)
    outcome = await (await desk(model)).label()
    given = Counter(model.label(record["text"]) for record in RECORDS)
    assert dict(outcome.sql.rows) == dict(given), "the table counts something else than the model said"
    simulated = [
        Counter(LabelingModel(p, seed=seed).label(r["text"]) for r in RECORDS)["outage"] for seed in range(2, 60)
    ]
    assert min(simulated) * 0.9 <= dict(outcome.sql.rows)["outage"] <= max(simulated) * 1.1


async def test_each_distinct_text_is_read_once_without_the_rest_of_the_record(desk: Any) -> None:
    model = LabelingModel()
    await (await desk(model)).label()
    sent = "\n".join(request.messages[-1].content for request in model.requests)
    distinct = {record["text"] for record in RECORDS}
    n_again = min(50, round(0.05 * len(distinct)))
    assert len(re.findall(r"^\[\d+\] Zákazník", sent, re.MULTILINE)) == len(distinct) + n_again
    assert "Brno" not in sent
    assert all(len(re.findall(r"^\[\d+\]", r.messages[-1].content, re.MULTILINE)) <= 100 for r in model.requests)


async def test_tokens_are_little_more_than_those_of_the_texts(desk: Any) -> None:
    model, counter = LabelingModel(), O200kCounter()
    await (await desk(model, effective=30_000)).label()
    distinct = {record["text"] for record in RECORDS}
    texts = sum(counter.count(text) for text in distinct)
    used = sum(counter.count(request_text(request)) for request in model.requests) + model.said
    frame = [re.sub(r"^\[\d+\] .*$", "", request_text(r), flags=re.MULTILINE).strip() for r in model.requests]
    prompts_alone = sum(counter.count(re.sub(r"\n{3,}", "\n\n", text)) for text in frame)
    assert used - prompts_alone <= 1.2 * (texts + 12 * len(distinct))


def drops_some(number: int, entries: list[Any]) -> Any:
    return entries[::2] if number % 2 == 0 else entries


def invents_references(number: int, entries: list[Any]) -> Any:
    return [*entries, {"ref": 999, "label": "outage"}] if number % 2 == 0 else entries


def replies_with_prose(number: int, entries: list[Any]) -> Any:
    return "I think these are mostly outages." if number % 3 == 0 else entries


def invents_values(_number: int, entries: list[Any]) -> Any:
    """In large requests every ninth text gets a label that is not allowed."""
    return [e | {"label": "angry"} if i % 9 == 0 and len(entries) > 20 else e for i, e in enumerate(entries)]


@pytest.mark.parametrize("spoil", [drops_some, invents_references, replies_with_prose, invents_values])
async def test_partly_invalid_replies_cost_no_label(desk: Any, spoil: Any) -> None:
    outcome = await (await desk(LabelingModel(spoil=spoil))).label()
    assert dict(outcome.sql.rows) == dict(Counter(truth(record["text"]) for record in RECORDS))
    assert outcome.coverage.is_complete


async def test_texts_without_a_usable_label_are_reported(desk: Any) -> None:
    def never_the_router(_number: int, entries: list[Any]) -> Any:
        return [entry for entry in entries if entry["label"] != "router"]

    table = await desk(LabelingModel(spoil=never_the_router))
    outcome = await table.label()
    missing = sum(truth(record["text"]) == "router" for record in RECORDS)
    assert outcome.envelope.status == "partial"
    assert not outcome.coverage.is_complete
    assert outcome.coverage.read_by_model == N - missing
    assert [reason.code for reason in outcome.coverage.reasons] == ["labels_unusable"]
    assert dict(outcome.sql.rows)[None] == missing
    assert outcome.sql.lineage is Lineage.LOWER_BOUND
    assert "say so" in outcome.envelope.next_action_hint


async def test_labels_are_joined_by_row_and_joins_cost_no_request(desk: Any) -> None:
    model = LabelingModel()
    table = await desk(model)
    outcome = await table.label()
    asked = len(model.requests)
    rows = await table.value(
        f"SELECT city, count(*) FROM {outcome.envelope.data['joined']} WHERE label = 'outage' GROUP BY city ORDER BY 1"
    )
    expected = Counter(record["city"] for record in RECORDS if truth(record["text"]) == "outage")
    assert dict(rows) == dict(expected)
    pairs = await table.value(
        "SELECT count(*) FROM tickets_1_labelled_1 a JOIN tickets_1_labelled_1 b "
        "ON a.label = b.label AND a.city = b.city AND a.row < b.row"
    )
    by_pair = Counter((truth(record["text"]), record["city"]) for record in RECORDS)
    assert pairs == ((sum(n * (n - 1) // 2 for n in by_pair.values()),),)
    assert len(model.requests) == asked


async def test_only_selected_rows_are_labeled(desk: Any) -> None:
    table = await desk(LabelingModel())
    outcome = await table.label(where="city = 'Brno' AND id < 200 -- so few")
    chosen = [record for record in RECORDS if record["city"] == "Brno" and record["id"] < 200]
    assert sum(n for _, n in outcome.sql.rows) == len(chosen) == outcome.coverage.selected
    assert await table.value("SELECT count(*) FROM tickets_1_labelled_1 WHERE label IS NULL") == ((N - len(chosen),),)


async def test_stored_labels_are_reused_in_a_later_run(desk: Any) -> None:
    journal, first, second = MemoryJournal(), LabelingModel(), LabelingModel()
    before = await (await desk(first, journal=journal)).label()
    table = await desk(second, journal=journal)
    again = await table.label(dataset="tickets_2")
    assert again.sql.rows == before.sql.rows
    assert first.requests
    assert not second.requests


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dataset": "ticket_1"}, "Datasets: tickets_1"),
        ({"columns": ["txt"]}, "Nearest columns: text"),
        ({"where": "citty = 'Brno'"}, "Nearest columns: city"),
        ({"where": "1 = 1); DROP TABLE tickets_1; SELECT (1"}, "statement"),
        ({"labels": None}, "either 'labels'"),
        ({"labels": None, "schema": {"properties": {"row": {"type": "integer"}}}}, "'row'"),
    ],
)
async def test_arguments_that_do_not_fit_the_data_are_rejected_with_a_suggestion(
    desk: Any, wrong: Any, said: str
) -> None:
    model = LabelingModel()
    outcome = await (await desk(model)).label(**wrong)
    assert outcome.envelope.status == "validation_error"
    assert outcome.envelope.error is not None
    assert said in outcome.envelope.error.message
    assert not model.requests


async def test_several_columns_and_fields_are_read_together(desk: Any) -> None:
    class Scorer(LabelingModel):
        async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
            lines = re.findall(r"^\[(\d+)\] (\[.*\])$", request.messages[-1].content, re.MULTILINE)
            said = [
                {"ref": int(ref), "score": len(json.loads(text)[0]), "is_brno": "Brno" in text} for ref, text in lines
            ]
            return ModelReply(text=json.dumps({"labels": said}), model=self.name)

    schema = {"type": "object", "properties": {"score": {"type": "integer"}, "is_brno": {"type": "boolean"}}}
    table = await desk(Scorer())
    await table.label(columns=["city", "id"], labels=None, schema=schema, where="id < 130")
    rows = await table.value(
        "SELECT count(*) FROM tickets_1_labelled_1 WHERE score = length(city) AND is_brno = (city = 'Brno')"
    )
    assert rows == ((30,),)


async def test_rows_without_text_get_no_label_and_are_counted(desk: Any) -> None:
    records = [record | ({"text": None} if record["id"] % 10 == 0 else {}) for record in RECORDS]
    outcome = await (await desk(LabelingModel(), records=records)).label()
    assert outcome.envelope.data["without_text"] == N // 10
    assert outcome.coverage.selected == N - N // 10
    assert outcome.coverage.is_complete
