"""Questions about the data, and what a right answer to each must show; computed from the data, never written by hand.

Knows the shape of `questions.yaml` and how each expectation follows from the records. Knows nothing of who answers.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from mockdata import customers
from mockdata.needles import needle
from mockdata.tables import DEFAULT_SEED, Filters, Numbers, Table

FILE = "questions.yaml"
UNKNOWN_CUSTOMER = 9999
BALAZ = customers.BALAZ


class Value(BaseModel):
    """A stored value."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kind(StrEnum):
    """What a question tries."""

    LOOKUP = "lookup"
    TOTAL = "total"
    NEEDLE = "needle"
    LISTING = "listing"
    EMPTY = "empty"
    TWO_HOP = "two_hop"
    LARGE = "large"
    FIGURE = "figure"


class Expectation(Value):
    """What holds of a right answer.

    `must_contain` and `must_not_contain` are texts of the answer. The figures are those of the last call of `tool`;
    `strategy` is named only where the size leaves no doubt for an effective context of 32,768 tokens. `min_figures` is
    the number of statements that rest on SQL over complete data.
    """

    must_contain: tuple[str, ...]
    must_not_contain: tuple[str, ...] = ()
    tool: str
    records_read: int
    records_total: int
    is_complete: bool = True
    strategy: str | None = None
    min_citations: int = 0
    min_figures: int = 0


class Question(Value):
    """One question with its expectation."""

    id: str
    kind: Kind
    question: str
    expect: Expectation


class QuestionSet(Value):
    """All questions, and the seed of the data they are about."""

    version: int = 1
    seed: int = DEFAULT_SEED
    questions: tuple[Question, ...]


def load() -> QuestionSet:
    """The questions as they are shipped."""
    text = (files("mockdata") / FILE).read_text(encoding="utf-8")
    return QuestionSet.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))


def as_yaml(questions: QuestionSet) -> str:
    """The questions as the file holds them."""
    content = questions.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)


def compute(tables: Mapping[str, Table], *, seed: int = DEFAULT_SEED) -> QuestionSet:
    """Every question with what follows from the records."""
    asked = tuple(question for part in _PARTS for question in part(tables))
    return QuestionSet(seed=seed, questions=asked)


def _lookups(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    people, requests = tables["customers"], tables["tickets"]
    balaz = people.record(BALAZ)
    other = people.record(17)
    ticket = requests.record(1200)
    return (
        _ask(
            "email-of-balaz",
            Kind.LOOKUP,
            'What is the email of the customer named "Baláž"?',
            _one("list_customers", str(balaz["email"])),
        ),
        _ask(
            "email-without-diacritics",
            Kind.LOOKUP,
            "Find the customer named balaz and tell me the email.",
            _one("list_customers", str(balaz["email"])),
        ),
        _ask(
            "customer-by-id",
            Kind.LOOKUP,
            "What is the email of customer 17?",
            _one("get_customer", str(other["email"])),
        ),
        _ask(
            "ticket-by-id",
            Kind.LOOKUP,
            "What is the subject of ticket 1200?",
            _one("get_ticket", str(ticket["subject"])),
        ),
    )


def _totals(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    open_ones = len(tables["tickets"].find({"customer_id": BALAZ, "status": "open"}))
    return (
        _ask(
            "count-tickets",
            Kind.TOTAL,
            "How many tickets does customer 4 have?",
            _counted("list_tickets", 261),
        ),
        _ask(
            "count-open-tickets",
            Kind.TOTAL,
            "How many tickets with status open does customer 4 have?",
            _counted("list_tickets", open_ones),
        ),
    )


def _empties(_tables: Mapping[str, Table]) -> tuple[Question, ...]:
    return (
        _ask(
            "no-such-customer",
            Kind.EMPTY,
            f"How many tickets does customer {UNKNOWN_CUSTOMER} have?",
            Expectation(
                must_contain=(),
                must_not_contain=("261",),
                tool="list_tickets",
                records_read=0,
                records_total=0,
                strategy="empty",
            ),
        ),
        _ask(
            "no-such-name",
            Kind.EMPTY,
            'Is there a customer named "Xaverius Nobody"?',
            Expectation(
                must_contain=(),
                must_not_contain=("@example.com",),
                tool="list_customers",
                records_read=0,
                records_total=0,
                strategy="empty",
            ),
        ),
    )


def _needles(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    parrots = len(tables["tickets"].find({"customer_id": 31}))
    mail = len(tables["messages"].find({"customer_id": 77}))
    return (
        _ask(
            "stork",
            Kind.NEEDLE,
            "What is the number of the permit for the stork nest in the tickets of customer 4?",
            _found("stork", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _ask(
            "slivovice",
            Kind.NEEDLE,
            'Which ticket of customer 4 mentions "slivovice"?',
            _found("slivovice", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _ask(
            "parrot",
            Kind.NEEDLE,
            "What do the tickets of customer 31 say about a parrot?",
            _found("parrot", "list_tickets", parrots),
        ),
        _ask(
            "lighthouse",
            Kind.NEEDLE,
            "Which messages of customer 77 mention the lighthouse museum?",
            _found("lighthouse", "list_messages", mail, strategy="direct_pass"),
        ),
    )


def _listings(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    device = "olt-brno-07"
    grave = tables["events"].find({"device": device, "severity": "critical"})
    overdue = tables["payments"].find({"customer_id": BALAZ, "status": "overdue"})
    krumlov = tables["customers"].find({"city": "Český Krumlov", "status": "active", "tariff": "gigabit"})
    return (
        _ask(
            "critical-events",
            Kind.LISTING,
            f'List the events with severity critical of the device "{device}".',
            _listed("list_events", _texts(tables["events"], grave, "ts")),
        ),
        _ask(
            "overdue-payments",
            Kind.LISTING,
            "List the payments with status overdue of customer 4.",
            _listed("list_payments", _texts(tables["payments"], overdue, "invoice_number")),
        ),
        _ask(
            "customers-of-a-city",
            Kind.LISTING,
            'List the customers with tariff gigabit and status active in the city "Český Krumlov".',
            _listed("list_customers", _texts(tables["customers"], krumlov, "name")),
        ),
    )


def _hops(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    overdue = tables["payments"].find({"customer_id": BALAZ, "status": "overdue"})
    return (
        _ask(
            "hop-to-tickets",
            Kind.TWO_HOP,
            'How many tickets does the customer named "Baláž" have?',
            _counted("list_tickets", 261),
        ),
        _ask(
            "hop-to-payments",
            Kind.TWO_HOP,
            'Which payments with status overdue does the customer named "Baláž" have?',
            _listed("list_payments", _texts(tables["payments"], overdue, "invoice_number")),
        ),
        _ask(
            "hop-to-marten",
            Kind.TWO_HOP,
            'What is the case code of the marten in the tickets of the customer named "Baláž"?',
            _found("marten", "list_tickets", 261, strategy="paginated_reduction"),
        ),
    )


def _large(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    grave = len(tables["events"].find({"severity": "critical"}))
    return (
        _ask(
            "wedding",
            Kind.LARGE,
            "Which voucher was granted in the tickets of customer 4 as compensation for the ruined live stream of the "
            "wedding?",
            _found("wedding", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _ask(
            "hedgehog",
            Kind.LARGE,
            "Which events with severity critical mention a hedgehog?",
            _found("hedgehog", "list_events", grave, strategy="paginated_reduction"),
        ),
        _ask(
            "all-messages",
            Kind.LARGE,
            "Which of all messages mentions the lighthouse museum?",
            _found("lighthouse", "list_messages", tables["messages"].count, strategy="paginated_reduction"),
        ),
    )


def _figures(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    overdue = _records(tables["payments"], {"customer_id": BALAZ, "status": "overdue"})
    amounts = [record["amount"] for record in _records(tables["payments"], {"status": "overdue"})]
    own = _records(tables["tickets"], {"customer_id": BALAZ})
    chats = sum(record["channel"] == "chat" for record in own)
    (category, count), *_ = Counter(record["category"] for record in own).most_common()
    grave = Counter(record["device"] for record in _records(tables["events"], {"severity": "critical"}))
    return (
        _ask(
            "sum-of-overdue",
            Kind.FIGURE,
            "What is the sum of the amount of the payments with status overdue of customer 4?",
            _computed("list_payments", (f"{sum(r['amount'] for r in overdue):g}",), len(overdue), "direct_pass"),
        ),
        _ask(
            "largest-overdue",
            Kind.FIGURE,
            "What is the highest amount of all payments with status overdue?",
            _computed("list_payments", (f"{max(amounts):g}",), len(amounts), "table"),
        ),
        _ask(
            "tickets-by-chat",
            Kind.FIGURE,
            "How many tickets of customer 4 have the channel chat?",
            _computed("list_tickets", (str(chats),), 261, "table"),
        ),
        _ask(
            "top-category",
            Kind.FIGURE,
            "What is the most common category of the tickets of customer 4?",
            _computed("list_tickets", (category, str(count)), 261, "table"),
        ),
        _ask(
            "devices-of-critical-events",
            Kind.FIGURE,
            "How many different devices have events with severity critical?",
            _computed("list_events", (str(len(grave)),), grave.total(), "table"),
        ),
    )


def _records(table: Table, filters: Filters) -> list[dict[str, Any]]:
    return [table.record(number) for number in table.find(filters)]


def _computed(tool: str, texts: tuple[str, ...], count: int, strategy: str) -> Expectation:
    return Expectation(
        must_contain=texts, tool=tool, records_read=count, records_total=count, strategy=strategy, min_figures=1
    )


def _ask(key: str, kind: Kind, question: str, expect: Expectation) -> Question:
    return Question(id=key, kind=kind, question=question, expect=expect)


def _one(tool: str, text: str) -> Expectation:
    return Expectation(
        must_contain=(text,), tool=tool, records_read=1, records_total=1, strategy="direct_pass", min_citations=1
    )


def _counted(tool: str, count: int) -> Expectation:
    return Expectation(must_contain=(str(count),), tool=tool, records_read=count, records_total=count)


def _found(key: str, tool: str, count: int, *, strategy: str | None = None) -> Expectation:
    return Expectation(
        must_contain=(needle(key).code,),
        tool=tool,
        records_read=count,
        records_total=count,
        strategy=strategy,
        min_citations=1,
    )


def _listed(tool: str, texts: tuple[str, ...]) -> Expectation:
    count = len(texts)
    return Expectation(
        must_contain=texts,
        tool=tool,
        records_read=count,
        records_total=count,
        strategy="direct_pass",
        min_citations=count,
    )


def _texts(table: Table, numbers: Numbers, field: str) -> tuple[str, ...]:
    return tuple(str(table.record(n)[field]) for n in numbers)


_PARTS: tuple[Callable[[Mapping[str, Table]], tuple[Question, ...]], ...] = (
    _lookups,
    _totals,
    _empties,
    _needles,
    _listings,
    _hops,
    _large,
    _figures,
)
