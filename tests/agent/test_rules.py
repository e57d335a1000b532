"""The offline rules model completes a turn: it looks a customer up, follows the id, and cites the shown records."""

from typing import Any

from adapters.base import ToolSpec
from runax_cli.core.results import EvidenceKind, RunStatus
from runax_cli.models.rules import RulesModel

CUSTOMERS = [{"id": 3, "surname": "Novák"}, {"id": 4, "surname": "Baláž"}]
TICKETS = [
    {"id": 501, "customer_id": 4, "subject": "No internet connection since Monday"},
    {"id": 502, "customer_id": 4, "subject": "Invoice was paid twice"},
    {"id": 503, "customer_id": 3, "subject": "Slow line"},
]


def customers(call: Any) -> list[dict[str, Any]]:
    wanted = call.arguments.get("surname")
    return [record for record in CUSTOMERS if wanted in (None, record["surname"])]


def tickets(call: Any) -> list[dict[str, Any]]:
    wanted = call.arguments.get("customer_id")
    return [record for record in TICKETS if wanted in (None, record["customer_id"])]


def lookup(stage: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"surname": {"type": "string"}}}
    return stage.tool("list_customers", parameters=schema, description="List customers, by surname.")


async def test_an_id_is_looked_up_and_followed_and_the_answer_is_proven(stage: Any) -> None:
    script = RulesModel().reply
    bench = await stage.start(script, {"list_customers": customers, "list_tickets": tickets}, specs=[lookup(stage)])

    result = await bench.session.ask("Which tickets of customer Baláž mention an invoice?")

    assert result.status is RunStatus.COMPLETE, result
    assert [(call.tool, call.arguments) for call in result.calls] == [
        ("list_customers", {"surname": "Baláž"}),
        ("list_tickets", {"customer_id": 4}),
    ]
    cited = [entry for entry in result.evidence if entry.kind is EvidenceKind.RECORD]
    assert "502" in {ref.id for entry in cited for ref in entry.records}
    assert all(entry.verified for entry in cited)
