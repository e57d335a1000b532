"""Questions about the data, and what a correct answer must show; expectations are computed from the data."""

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
    """An immutable value that is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionKind(StrEnum):
    """What a question tests."""

    LOOKUP = "lookup"
    TOTAL = "total"
    NEEDLE = "needle"
    LISTING = "listing"
    EMPTY = "empty"
    TWO_HOP = "two_hop"
    LARGE = "large"
    FIGURE = "figure"


class Expectation(Value):
    """What a correct answer must show.

    `must_contain` and `must_not_contain` are texts of the answer. The record counts are those of the last call of
    `tool`. `strategy` is set only if the size is unambiguous for an effective context of 32,768 tokens. `min_figures`
    is the number of statements based on SQL over complete data.
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
    kind: QuestionKind
    question: str
    expect: Expectation


class QuestionSet(Value):
    """All questions, and the seed of the data they are about."""

    version: int = 1
    seed: int = DEFAULT_SEED
    questions: tuple[Question, ...]


def load() -> QuestionSet:
    """The questions as shipped."""
    text = (files("mockdata") / FILE).read_text(encoding="utf-8")
    return QuestionSet.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))


def as_yaml(questions: QuestionSet) -> str:
    """The questions as the file contains them."""
    content = questions.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)


def compute(tables: Mapping[str, Table], *, seed: int = DEFAULT_SEED) -> QuestionSet:
    """All questions, with expectations computed from the records."""
    asked = tuple(question for part in _BUILDERS for question in part(tables))
    return QuestionSet(seed=seed, questions=asked)


def _lookup_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    people, requests = tables["customers"], tables["tickets"]
    balaz = people.record(BALAZ)
    other = people.record(17)
    ticket = requests.record(1200)
    return (
        _question(
            "email-of-balaz",
            QuestionKind.LOOKUP,
            'What is the email of the customer named "Baláž"?',
            _expect_one("list_customers", str(balaz["email"])),
        ),
        _question(
            "email-without-diacritics",
            QuestionKind.LOOKUP,
            "Find the customer named balaz and tell me the email.",
            _expect_one("list_customers", str(balaz["email"])),
        ),
        _question(
            "customer-by-id",
            QuestionKind.LOOKUP,
            "What is the email of customer 17?",
            _expect_one("get_customer", str(other["email"])),
        ),
        _question(
            "ticket-by-id",
            QuestionKind.LOOKUP,
            "What is the subject of ticket 1200?",
            _expect_one("get_ticket", str(ticket["subject"])),
        ),
    )


def _total_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    open_ones = len(tables["tickets"].find({"customer_id": BALAZ, "status": "open"}))
    return (
        _question(
            "count-tickets",
            QuestionKind.TOTAL,
            "How many tickets does customer 4 have?",
            _expect_count("list_tickets", 261),
        ),
        _question(
            "count-open-tickets",
            QuestionKind.TOTAL,
            "How many tickets with status open does customer 4 have?",
            _expect_count("list_tickets", open_ones),
        ),
    )


def _empty_questions(_tables: Mapping[str, Table]) -> tuple[Question, ...]:
    return (
        _question(
            "no-such-customer",
            QuestionKind.EMPTY,
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
        _question(
            "no-such-name",
            QuestionKind.EMPTY,
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


def _needle_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    parrots = len(tables["tickets"].find({"customer_id": 31}))
    mail = len(tables["messages"].find({"customer_id": 77}))
    return (
        _question(
            "stork",
            QuestionKind.NEEDLE,
            "What is the number of the permit for the stork nest in the tickets of customer 4?",
            _expect_needle("stork", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _question(
            "slivovice",
            QuestionKind.NEEDLE,
            'Which ticket of customer 4 mentions "slivovice"?',
            _expect_needle("slivovice", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _question(
            "parrot",
            QuestionKind.NEEDLE,
            "What do the tickets of customer 31 say about a parrot?",
            _expect_needle("parrot", "list_tickets", parrots),
        ),
        _question(
            "lighthouse",
            QuestionKind.NEEDLE,
            "Which messages of customer 77 mention the lighthouse museum?",
            _expect_needle("lighthouse", "list_messages", mail, strategy="direct_pass"),
        ),
    )


def _listing_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    device = "olt-brno-07"
    critical = tables["events"].find({"device": device, "severity": "critical"})
    overdue = tables["payments"].find({"customer_id": BALAZ, "status": "overdue"})
    krumlov = tables["customers"].find({"city": "Český Krumlov", "status": "active", "tariff": "gigabit"})
    return (
        _question(
            "critical-events",
            QuestionKind.LISTING,
            f'List the events with severity critical of the device "{device}".',
            _expect_list("list_events", _field_values(tables["events"], critical, "ts")),
        ),
        _question(
            "overdue-payments",
            QuestionKind.LISTING,
            "List the payments with status overdue of customer 4.",
            _expect_list("list_payments", _field_values(tables["payments"], overdue, "invoice_number")),
        ),
        _question(
            "customers-of-a-city",
            QuestionKind.LISTING,
            'List the customers with tariff gigabit and status active in the city "Český Krumlov".',
            _expect_list("list_customers", _field_values(tables["customers"], krumlov, "name")),
        ),
    )


def _two_hop_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    overdue = tables["payments"].find({"customer_id": BALAZ, "status": "overdue"})
    return (
        _question(
            "hop-to-tickets",
            QuestionKind.TWO_HOP,
            'How many tickets does the customer named "Baláž" have?',
            _expect_count("list_tickets", 261),
        ),
        _question(
            "hop-to-payments",
            QuestionKind.TWO_HOP,
            'Which payments with status overdue does the customer named "Baláž" have?',
            _expect_list("list_payments", _field_values(tables["payments"], overdue, "invoice_number")),
        ),
        _question(
            "hop-to-marten",
            QuestionKind.TWO_HOP,
            'What is the case code of the marten in the tickets of the customer named "Baláž"?',
            _expect_needle("marten", "list_tickets", 261, strategy="paginated_reduction"),
        ),
    )


def _large_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    critical = len(tables["events"].find({"severity": "critical"}))
    return (
        _question(
            "wedding",
            QuestionKind.LARGE,
            "Which voucher was granted in the tickets of customer 4 as compensation for the ruined live stream of the "
            "wedding?",
            _expect_needle("wedding", "list_tickets", 261, strategy="paginated_reduction"),
        ),
        _question(
            "hedgehog",
            QuestionKind.LARGE,
            "Which events with severity critical mention a hedgehog?",
            _expect_needle("hedgehog", "list_events", critical, strategy="paginated_reduction"),
        ),
        _question(
            "all-messages",
            QuestionKind.LARGE,
            "Which of all messages mentions the lighthouse museum?",
            _expect_needle("lighthouse", "list_messages", tables["messages"].count, strategy="paginated_reduction"),
        ),
    )


def _figure_questions(tables: Mapping[str, Table]) -> tuple[Question, ...]:
    overdue = _records(tables["payments"], {"customer_id": BALAZ, "status": "overdue"})
    amounts = [record["amount"] for record in _records(tables["payments"], {"status": "overdue"})]
    own = _records(tables["tickets"], {"customer_id": BALAZ})
    chats = sum(record["channel"] == "chat" for record in own)
    (category, count), *_ = Counter(record["category"] for record in own).most_common()
    critical = Counter(record["device"] for record in _records(tables["events"], {"severity": "critical"}))
    return (
        _question(
            "sum-of-overdue",
            QuestionKind.FIGURE,
            "What is the sum of the amount of the payments with status overdue of customer 4?",
            _expect_figure("list_payments", (f"{sum(r['amount'] for r in overdue):g}",), len(overdue), "direct_pass"),
        ),
        _question(
            "largest-overdue",
            QuestionKind.FIGURE,
            "What is the highest amount of all payments with status overdue?",
            _expect_figure("list_payments", (f"{max(amounts):g}",), len(amounts), "table"),
        ),
        _question(
            "tickets-by-chat",
            QuestionKind.FIGURE,
            "How many tickets of customer 4 have the channel chat?",
            _expect_figure("list_tickets", (str(chats),), 261, "table"),
        ),
        _question(
            "top-category",
            QuestionKind.FIGURE,
            "What is the most common category of the tickets of customer 4?",
            _expect_figure("list_tickets", (category, str(count)), 261, "table"),
        ),
        _question(
            "devices-of-critical-events",
            QuestionKind.FIGURE,
            "How many different devices have events with severity critical?",
            _expect_figure("list_events", (str(len(critical)),), critical.total(), "table"),
        ),
    )


def _records(table: Table, filters: Filters) -> list[dict[str, Any]]:
    return [table.record(number) for number in table.find(filters)]


def _expect_figure(tool: str, texts: tuple[str, ...], count: int, strategy: str) -> Expectation:
    return Expectation(
        must_contain=texts, tool=tool, records_read=count, records_total=count, strategy=strategy, min_figures=1
    )


def _question(key: str, kind: QuestionKind, question: str, expect: Expectation) -> Question:
    return Question(id=key, kind=kind, question=question, expect=expect)


def _expect_one(tool: str, text: str) -> Expectation:
    return Expectation(
        must_contain=(text,), tool=tool, records_read=1, records_total=1, strategy="direct_pass", min_citations=1
    )


def _expect_count(tool: str, count: int) -> Expectation:
    return Expectation(must_contain=(str(count),), tool=tool, records_read=count, records_total=count)


def _expect_needle(key: str, tool: str, count: int, *, strategy: str | None = None) -> Expectation:
    return Expectation(
        must_contain=(needle(key).code,),
        tool=tool,
        records_read=count,
        records_total=count,
        strategy=strategy,
        min_citations=1,
    )


def _expect_list(tool: str, texts: tuple[str, ...]) -> Expectation:
    count = len(texts)
    return Expectation(
        must_contain=texts,
        tool=tool,
        records_read=count,
        records_total=count,
        strategy="direct_pass",
        min_citations=count,
    )


def _field_values(table: Table, numbers: Numbers, field: str) -> tuple[str, ...]:
    return tuple(str(table.record(n)[field]) for n in numbers)


_BUILDERS: tuple[Callable[[Mapping[str, Table]], tuple[Question, ...]], ...] = (
    _lookup_questions,
    _total_questions,
    _empty_questions,
    _needle_questions,
    _listing_questions,
    _two_hop_questions,
    _large_questions,
    _figure_questions,
)
