"""Each statement of an answer is compared with the records it cites."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.statements.world import evidence_of
from runax_cli.agent.evidence.shown import ShownData, ShownDataset
from runax_cli.agent.evidence.verify import strip_certificates
from runax_cli.core.errors import StoreError
from runax_cli.core.results import CallReport, Coverage, EvidenceKind, Lineage, RecordRef, TotalIs
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, Finding, ResultEnvelope, SqlEvidence
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.conversation import record_id


class Records:
    """Two tickets; the third can no longer be read."""

    name = "tickets_1"

    def record(self, row: int) -> dict[str, Any]:
        if row == 3:
            raise StoreError("gone", path="x")
        return {1: {"id": 501, "text": "a"}, 2: {"ticket_id": "T-2", "customer_id": 4}}[row]

    def records(self) -> Iterator[dict[str, Any]]:
        yield from (self.record(row) for row in (1, 2))


def shown(rows: set[int], quotes: dict[int, str] | None = None) -> ShownData:
    data = ShownData()
    data.datasets["tickets_1"] = ShownDataset(Records(), rows, quotes or {})
    return data


def test_a_record_that_was_shown_proves_its_statement_and_gives_its_id() -> None:
    (evidence,) = evidence_of("It broke [tickets_1#1, 2].", shown({1, 2}, {2: "it is broken"}))
    assert evidence.statement == "It broke [tickets_1#1, 2]."
    assert evidence.kind is EvidenceKind.RECORD
    assert evidence.records == (
        RecordRef(dataset="tickets_1", row=1, id="501"),
        RecordRef(dataset="tickets_1", row=2, id="T-2"),
    )
    assert evidence.quote == "it is broken"
    assert evidence.verified


@pytest.mark.parametrize(
    ("citation", "why"),
    [
        ("[tickets_1#2]", "exists, but was not shown"),
        ("[tickets_1#9]", "there is no such row"),
        ("[tickets_1#3]", "the row cannot be read"),
        ("[tickets_2#1]", "there is no such dataset"),
        ("[tickets_1#1, tickets_1#9]", "one of two is wrong"),
    ],
)
def test_a_reference_that_cannot_be_verified_proves_nothing(citation: str, why: str) -> None:
    (evidence,) = evidence_of(f"It broke {citation}.", shown({1, 3}))
    assert not evidence.verified, why
    assert evidence.kind is EvidenceKind.RECORD
    assert evidence.records


def test_a_statement_without_reference_is_an_inference() -> None:
    first, second = evidence_of("It broke [tickets_1#1]. It will break again.", shown({1}))
    assert (first.kind, first.verified) == (EvidenceKind.RECORD, True)
    assert (second.kind, second.verified, second.records) == (EvidenceKind.INFERENCE, False, ())


@pytest.mark.parametrize(
    ("sentence", "kind", "is_verified"),
    [
        ("Customer 4 has 1261 tickets [tickets_1].", EvidenceKind.RECORD, True),
        ("Zákazník má 1 261 tiketů [tickets_1].", EvidenceKind.RECORD, True),
        ("There are 1,261 [tickets_1].", EvidenceKind.RECORD, True),
        ("Customer 4 has 12 tickets [tickets_1].", EvidenceKind.RECORD, False),
        ("Version v1261 has 3 tickets [tickets_1].", EvidenceKind.RECORD, False),
        ("There are many [tickets_1].", EvidenceKind.INFERENCE, False),
        ("There are 1261 [users_1].", EvidenceKind.INFERENCE, False),
    ],
)
def test_a_number_of_records_is_held_against_the_total(sentence: str, kind: EvidenceKind, is_verified: bool) -> None:
    data = shown(set())
    data.datasets["tickets_1"].exact_total = 1261
    (evidence,) = evidence_of(sentence, data, question="What of customer 4?")
    assert (evidence.kind, evidence.verified) == (kind, is_verified)


def test_a_total_that_is_not_exact_proves_no_number() -> None:
    (evidence,) = evidence_of("There are 1261 [tickets_1].", shown(set()))
    assert (evidence.kind, evidence.verified, evidence.exact) == (EvidenceKind.RECORD, False, False)


COUNTED = SqlEvidence(
    id="q1",
    sql="SELECT city, count(*) AS n FROM tickets_2 GROUP BY city",
    columns=("city", "n"),
    rows=(("Praha", 12034), ("Brno", 8120), *((f"Město {n}", n) for n in range(30))),
    n_rows=32,
    datasets=("tickets_2",),
    lineage=Lineage.EXACT,
)


def computed(**changes: Any) -> ShownData:
    data = ShownData()
    data.queries["q1"] = replace(COUNTED, **changes)
    return data


def test_a_figure_of_a_query_is_proven_with_its_statement_and_first_rows() -> None:
    (evidence,) = evidence_of("Praha has 12,034 [q1].", computed())
    assert (evidence.kind, evidence.verified, evidence.exact) == (EvidenceKind.SQL, True, True)
    assert evidence.sql == COUNTED.sql
    (query,) = evidence.queries
    assert (query.id, query.n_rows, len(query.rows), query.rows[0]) == ("q1", 32, 20, ("Praha", 12034))


@pytest.mark.parametrize(
    ("lineage", "agreement", "sentence", "is_verified", "note"),
    [
        (Lineage.BY_LABEL, 0.94, "Praha has 12,034 [q1].", True, None),
        (Lineage.LOWER_BOUND, None, "Praha has at least 12,034 [q1].", True, None),
        (Lineage.LOWER_BOUND, None, "Praha jich má alespoň 12 034 [q1].", True, None),
        (Lineage.LOWER_BOUND, None, "Praha has 12,034 [q1].", False, "lower bound as exact"),
    ],
)
def test_only_complete_data_gives_exact_figures(
    lineage: Lineage, agreement: float | None, sentence: str, is_verified: bool, note: str | None
) -> None:
    (evidence,) = evidence_of(sentence, computed(lineage=lineage, agreement=agreement))
    assert (evidence.kind, evidence.exact, evidence.verified) == (EvidenceKind.SQL, False, is_verified)
    assert (evidence.queries[0].lineage, evidence.queries[0].agreement) == (lineage, agreement)
    assert note is None or note in str(evidence.note)


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        ("Praha has 12,043 [q1].", "12,043 does not appear in the cited data"),
        ("Praha has 12,034 [q2].", "q2 is not the result of a query over the data"),
        ("Praha has 12,034 [q1, tickets_1#1].", "does not exist or was not shown"),
    ],
)
def test_a_figure_that_its_query_does_not_bear_out_is_not_verified(sentence: str, note: str) -> None:
    (evidence,) = evidence_of(sentence, computed())
    assert (evidence.kind, evidence.verified) == (EvidenceKind.SQL, False)
    assert note in str(evidence.note)


def test_a_query_that_read_no_table_or_chose_its_figure_itself_proves_nothing() -> None:
    (no_table,) = evidence_of("There are 12034 [q1].", computed(datasets=()))
    literal = ColumnLineage(literals=frozenset({Decimal(12034)}))
    result = {"sql": "SELECT 12034 AS n FROM tickets_2", "columns": ("n",), "rows": ((12034,),), "n_rows": 1}
    (constant,) = evidence_of("There are 12034 [q1].", computed(**result, sources=(literal,), filters=()))
    assert not no_table.verified
    assert not constant.verified


def test_a_figure_from_nowhere_makes_an_inference_of_a_statement_and_is_named() -> None:
    (evidence,) = evidence_of("It broke 47 times [tickets_1#1].", shown({1}))
    assert (evidence.kind, evidence.verified, evidence.unproven) == (EvidenceKind.INFERENCE, False, ("47",))
    assert evidence.note == "unsupported: 47 does not appear in the data"
    assert evidence.records[0].id == "501"


def test_figures_of_headings_and_lead_ins_are_looked_at_too() -> None:
    entries = evidence_of("# 77 complaints\n\nThere were 88 calls:\n\n- It broke [tickets_1#1]", shown({1}))
    assert [(entry.statement, entry.unproven) for entry in entries] == [
        ("It broke [tickets_1#1]", ()),
        ("77 complaints", ("77",)),
        ("There were 88 calls:", ("88",)),
    ]


def test_a_total_at_least_may_be_told_as_such() -> None:
    data = shown(set())
    data.datasets["tickets_1"].records_read = 1261
    (evidence,) = evidence_of("There are at least 1261 [tickets_1].", data)
    assert (evidence.verified, evidence.exact) == (True, False)


def test_rows_of_a_query_are_noted() -> None:
    report = CallReport(tool="t", source="s", arguments={}, status="success")
    envelope = ResultEnvelope(status=EnvelopeStatus.SUCCESS, data={"ref": "q1"}, next_action_hint="")
    outcome = CallOutcome(envelope=envelope, report=report, coverage=Coverage(), dataset=None, sql=COUNTED)
    data = ShownData().with_outcomes([outcome])
    assert data.queries == {"q1": COUNTED}


def test_records_as_they_are_and_records_behind_findings_count_as_shown(tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("tickets")
    dataset.add_page(0, [{"id": n} for n in range(9)], position="all")
    report = CallReport(tool="t", source="s", arguments={}, status="success")
    envelope = ResultEnvelope(
        status=EnvelopeStatus.SUCCESS, data={"tickets_1#2": {}, "other_1#5": {}}, next_action_hint=""
    )
    found = Finding(id="f1", statement="s", records=(7, 8), quote="said so", is_quote_verified=True)
    doubtful = Finding(id="f2", statement="s", records=(9,), quote="never said", is_quote_verified=False)
    exact = Coverage(records_total=9, total_is=TotalIs.EXACT)
    direct = CallOutcome(envelope=envelope, report=report, coverage=exact, dataset=dataset)
    reduced = CallOutcome(
        envelope=envelope.model_copy(update={"data": [{"statement": "s"}]}),
        report=report,
        coverage=Coverage(),
        dataset=dataset,
        findings=(found, doubtful),
    )
    before = ShownData().with_outcomes([direct])
    data = before.with_outcomes([reduced])

    assert before.datasets["tickets_1"].rows == {2}

    assert data.datasets["tickets_1"].rows == {2, 7, 8, 9}
    assert data.datasets["tickets_1"].exact_total == 9
    assert data.datasets["tickets_1"].quotes == {7: "said so", 8: "said so"}


@pytest.mark.parametrize(
    ("record", "noun", "own_id"),
    [
        ({"id": 7, "ticket_id": 8}, "tickets", "7"),
        ({"ticket_id": 8, "customer_id": 4}, "tickets", "8"),
        ({"ticketId": 8, "customerId": 4}, "tickets", "8"),
        ({"_id": "64f", "name": "x"}, "things", "64f"),
        ({"key": "RUN-17", "customer_id": 4}, "issues", "RUN-17"),
        ({"flight_id": "OK123", "delay": 3}, "records", "OK123"),
        ({"a_id": 1, "b_id": 2}, "records", None),
        ({"id": None, "name": "x"}, "records", None),
        ({"id": {"$oid": 1}}, "records", None),
        ({"id": True, "uuid": "u"}, "records", "u"),
        ({}, "records", None),
    ],
)
def test_a_record_is_known_by_its_own_id(record: dict[str, Any], noun: str, own_id: str | None) -> None:
    assert record_id(record, noun) == own_id


def test_only_code_may_issue_a_certificate() -> None:
    answer = (
        "It broke [tickets_1#1].\n\n261/261 tickets fetched · 9 pages · 14 findings, 14 verified · run 7f3a\n"
        "no data was used · $0\n**5 / 5 records fetched**\n"
    )
    assert strip_certificates(answer) == "It broke [tickets_1#1]."


@pytest.mark.parametrize(
    "answer", ["He fetched 3/4 of the boxes.", "Opened · closed · waiting", "The run 7f3a was long.", "a\n\n- b\n"]
)
def test_what_only_resembles_a_certificate_stays(answer: str) -> None:
    assert strip_certificates(answer) == answer.strip()
