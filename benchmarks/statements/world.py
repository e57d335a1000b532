"""The data behind the statements: two datasets of which some rows were shown, and query results. All is invented."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from runax_cli.agent.evidence.shown import ShownData, ShownDataset
from runax_cli.agent.evidence.verify import check_statements
from runax_cli.core.results import Evidence, Lineage
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.lineage import ColumnLineage

QUESTION = (
    "What did customer 4 report between 1 February and 31 March 2024, what did he pay, and which 3 cities have the "
    "most tickets? Today is 2026-11-21."
)

TICKETS: Sequence[dict[str, Any]] = (
    {
        "id": 50117,
        "customer_id": 4,
        "created_at": "2024-02-01T14:30:22Z",
        "status": "open",
        "subject": "Výpadek internetu v Praze 6",
        "text": "Internet nejde od 1. 2. 2024, router TP-Link AC1750 bliká. Ztráta paketů 12,5 %. Volejte 777 123 456.",
        "minutes_down": 95,
    },
    {
        "id": 50118,
        "customer_id": 4,
        "created_at": "2024-02-14T08:05:00Z",
        "status": "closed",
        "subject": "Vyúčtování za leden",
        "text": "Na faktuře 20240100004 je 1190,50 Kč, ale tarif stojí 890 Kč. Žádám o vrácení 300,50 Kč.",
        "minutes_down": None,
    },
    {
        "id": 50121,
        "customer_id": 4,
        "created_at": "2024-03-05T19:41:10Z",
        "status": "closed",
        "subject": "Slow line",
        "text": "My plan is 300 Mbit/s and I get 41.7 Mbit/s on Wi-Fi 6 since 3 March. "
        "A technician came twice in 10 days.",
        "minutes_down": 0,
    },
    {
        "id": 50140,
        "customer_id": 9,
        "created_at": "2024-03-21T10:00:00Z",
        "status": "open",
        "subject": "Moving house",
        "text": "We are moving to Brno, Kobližná 19, on 2 April and want to keep the number.",
        "minutes_down": None,
    },
    {
        "id": 50166,
        "customer_id": 4,
        "created_at": "2024-03-29T23:59:00Z",
        "status": "new",
        "subject": "Kdy přijde technik",
        "text": "Technik měl přijít mezi 8:00 a 12:00, nikdo nepřišel. Čekal jsem 4 hodiny a stálo mě to 2 400 Kč.",
        "minutes_down": 240,
    },
    {
        "id": 50170,
        "customer_id": 11,
        "created_at": "2024-03-30T07:15:00Z",
        "status": "new",
        "subject": "Nová zásuvka",
        "text": "Prosím o montáž zásuvky v garáži, stačí příští týden.",
        "minutes_down": None,
    },
)
TICKET_ROWS_SHOWN = frozenset({1, 2, 3, 4, 5})

PAYMENTS: Sequence[dict[str, Any]] = (
    {
        "id": 7001,
        "customer_id": 4,
        "due_on": "2024-02-15",
        "paid_on": "2024-02-19",
        "amount": 1190.5,
        "currency": "CZK",
    },
    {"id": 7002, "customer_id": 4, "due_on": "2024-03-15", "paid_on": None, "amount": 890, "currency": "CZK"},
    {"id": 7003, "customer_id": 4, "due_on": "2024-04-15", "paid_on": "2024-04-15", "amount": "12 034,00", "lines": 3},
    {
        "id": 7004,
        "customer_id": 9,
        "due_on": "2024-03-15",
        "paid_on": "2024-03-01",
        "amount": 649.99,
        "currency": "CZK",
    },
)
PAYMENT_ROWS_SHOWN = frozenset({1, 2, 3})

QUERIES: Sequence[SqlEvidence] = (
    SqlEvidence(
        id="q1",
        sql="SELECT city, count(*) AS n FROM tickets_2 GROUP BY city ORDER BY n DESC LIMIT 3",
        columns=("city", "n"),
        rows=(("Praha", 12034), ("Brno", 8120), ("Ostrava", 977)),
        n_rows=3,
        datasets=("tickets_2",),
        lineage=Lineage.EXACT,
    ),
    SqlEvidence(
        id="q2",
        sql="SELECT sum(amount) AS total, avg(amount) AS mean, max(due_on) AS last FROM payments_2 WHERE amount > 500",
        columns=("total", "mean", "last"),
        rows=((Decimal("1234567.89"), 1187.0843, date(2024, 3, 15)),),
        n_rows=1,
        datasets=("payments_2",),
        lineage=Lineage.EXACT,
    ),
    SqlEvidence(
        id="q3",
        sql="SELECT count(*) FILTER (status = 'open') * 1.0 / count(*) AS share, median(hours) FROM tickets_2",
        columns=("share", "median_hours"),
        rows=((0.43333333, 36.5),),
        n_rows=1,
        datasets=("tickets_2",),
        lineage=Lineage.EXACT,
    ),
    SqlEvidence(
        id="q4",
        sql="SELECT label, count(*) AS n FROM tickets_2 JOIN labels_1 USING (row) GROUP BY label",
        columns=("label", "n"),
        rows=(("angry", 317), ("calm", 1022), ("unclear", 58)),
        n_rows=3,
        datasets=("tickets_2", "labels_1"),
        lineage=Lineage.BY_LABEL,
        agreement=0.94,
    ),
    SqlEvidence(
        id="q5",
        sql="SELECT count(*) AS n FROM events_1 WHERE severity = 'critical'",
        columns=("n",),
        rows=((4381,),),
        n_rows=1,
        datasets=("events_1",),
        lineage=Lineage.LOWER_BOUND,
    ),
    SqlEvidence(
        id="q6",
        sql="SELECT device, avg(duration_s) AS mean_s, min(ts) AS first_ts FROM events_1 GROUP BY device",
        columns=("device", "mean_s", "first_ts"),
        rows=(
            ("ups-krumlov-01", 5400.0, datetime(2024, 2, 29, 6, 45, tzinfo=UTC)),
            ("olt-brno-03", 127.25, datetime(2024, 2, 3, 22, 10, tzinfo=UTC)),
        ),
        n_rows=2,
        datasets=("events_1",),
        lineage=Lineage.EXACT,
    ),
    SqlEvidence(
        id="q7",
        sql="SELECT name FROM customers_1 WHERE id NOT IN (SELECT customer_id FROM tickets_2)",
        columns=("name",),
        rows=(),
        n_rows=0,
        datasets=("customers_1", "tickets_2"),
        lineage=Lineage.EXACT,
    ),
    SqlEvidence(
        id="q8",
        sql="SELECT 4711 AS n FROM tickets_2 LIMIT 1",
        columns=("n",),
        rows=((4711,),),
        n_rows=1,
        datasets=("tickets_2",),
        lineage=Lineage.EXACT,
        sources=(ColumnLineage(literals=frozenset({Decimal(4711)})),),
        filters=(),
    ),
    SqlEvidence(
        id="q9", sql="SELECT 4712", columns=("n",), rows=((4712,),), n_rows=1, datasets=(), lineage=Lineage.EXACT
    ),
)


@dataclass(frozen=True, slots=True)
class InMemoryRecords:
    """Records in memory, by row from 1."""

    name: str
    rows: Sequence[dict[str, Any]]

    def record(self, row: int) -> dict[str, Any]:
        """One record; KeyError if there is no such row."""
        if not 1 <= row <= len(self.rows):
            raise KeyError(row)
        return self.rows[row - 1]

    def records(self) -> Iterator[dict[str, Any]]:
        """All records."""
        return iter(self.rows)


def shown_data() -> ShownData:
    """What the model was shown."""
    data = ShownData()
    data.datasets["tickets_1"] = ShownDataset(
        InMemoryRecords("tickets_1", TICKETS), set(TICKET_ROWS_SHOWN), {1: "router TP-Link AC1750 bliká"}, 261, 261
    )
    data.datasets["payments_1"] = ShownDataset(
        InMemoryRecords("payments_1", PAYMENTS), set(PAYMENT_ROWS_SHOWN), {}, 48, 48
    )
    data.datasets["events_1"] = ShownDataset(InMemoryRecords("events_1", ()), set(), {}, None, 1_500_000)
    data.queries = {query.id: query for query in QUERIES}
    data.uncited_values = [261, 48, {"customer_id": 4, "since": "2024-02-01"}]
    return data


def evidence_of(answer: str, shown: ShownData, *, question: str = "", asked: str = "") -> tuple[Evidence, ...]:
    """The evidence of each statement of an answer."""
    return tuple(one.evidence for one in check_statements(answer, shown, question=question, asked=asked))
