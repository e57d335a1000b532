"""Questions that join the records of two tools."""

from collections import Counter, defaultdict

from benchmarks.questions.about_customers import CUSTOMERS
from benchmarks.questions.about_messages import MESSAGES
from benchmarks.questions.about_payments import PAYMENTS, days_late, is_czk
from benchmarks.questions.about_tickets import TICKETS
from benchmarks.questions.plain import count, percent, top
from benchmarks.questions.question import Fetch, Kind, Records, asked


@asked(
    "How many tickets did customers from Brno raise?",
    TICKETS,
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} t JOIN {1} c ON t.customer_id = c.id WHERE c.address.city = 'Brno'",
    kind=Kind.JOIN,
)
def tickets_from_brno(tickets: Records, customers: Records) -> int:
    there = {c["id"] for c in customers if c["address"]["city"] == "Brno"}
    return count(t["customer_id"] in there for t in tickets)


@asked(
    "Which two cities do the most tickets of the category outage come from, and how many from each?",
    TICKETS,
    CUSTOMERS,
    sql="SELECT c.address.city AS city, count(*) AS n FROM {0} t JOIN {1} c ON t.customer_id = c.id "
    "WHERE t.category = 'outage' GROUP BY 1 ORDER BY n DESC LIMIT 2",
    kind=Kind.JOIN,
    is_ranked=True,
)
def cities_with_most_outages(tickets: Records, customers: Records) -> list[tuple[str, float]]:
    city = {c["id"]: c["address"]["city"] for c in customers}
    return top(Counter(city[t["customer_id"]] for t in tickets if t["category"] == "outage"), 2)


@asked(
    "How much do customers of each tariff (by tariff code) owe on overdue invoices in CZK?",
    PAYMENTS,
    CUSTOMERS,
    sql="SELECT c.tariff.code, sum(p.amount) FROM {0} p JOIN {1} c ON p.customer_id = c.id "
    "WHERE p.status = 'overdue' AND p.currency = 'CZK' GROUP BY 1",
    kind=Kind.JOIN,
)
def overdue_by_tariff(payments: Records, customers: Records) -> list[tuple[str, float]]:
    tariff = {c["id"]: c["tariff"]["code"] for c in customers}
    sums: dict[str, float] = defaultdict(float)
    for payment in payments:
        if payment["status"] == "overdue" and is_czk(payment):
            sums[tariff[payment["customer_id"]]] += payment["amount"]
    return list(sums.items())


@asked(
    "Kolik zákazníků nikdy nezaložilo žádný požadavek (ticket)?",
    CUSTOMERS,
    TICKETS,
    sql="SELECT count(*) FROM {0} c WHERE NOT EXISTS (SELECT 1 FROM {1} t WHERE t.customer_id = c.id)",
    kind=Kind.JOIN,
    language="cs",
)
def customers_without_tickets(customers: Records, tickets: Records) -> int:
    return len({c["id"] for c in customers} - {t["customer_id"] for t in tickets})


@asked(
    "How many customers have at least one ticket with the status open and at least one overdue invoice?",
    TICKETS,
    PAYMENTS,
    sql="SELECT count(*) FROM (SELECT customer_id FROM {0} WHERE status = 'open' "
    "INTERSECT SELECT customer_id FROM {1} WHERE status = 'overdue')",
    kind=Kind.JOIN,
)
def customers_open_and_overdue(tickets: Records, payments: Records) -> int:
    open_ones = {t["customer_id"] for t in tickets if t["status"] == "open"}
    return len(open_ones & {p["customer_id"] for p in payments if p["status"] == "overdue"})


@asked(
    "How many messages refer to a ticket that is closed (status closed)?",
    MESSAGES,
    TICKETS,
    sql="SELECT count(*) FROM {0} m JOIN {1} t ON m.ticket_id = t.id WHERE t.status = 'closed'",
    kind=Kind.JOIN,
)
def messages_on_closed_tickets(messages: Records, tickets: Records) -> int:
    closed = {t["id"] for t in tickets if t["status"] == "closed"}
    return count(m["ticket_id"] in closed for m in messages)


@asked(
    "How many tickets are written in another language than the one their customer prefers?",
    TICKETS,
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} t JOIN {1} c ON c.id = t.customer_id WHERE t.language <> c.language",
    kind=Kind.JOIN,
)
def tickets_in_another_language(tickets: Records, customers: Records) -> int:
    prefers = {c["id"]: c["language"] for c in customers}
    return count(t["language"] != prefers[t["customer_id"]] for t in tickets)


@asked(
    "What percentage of the invoices that company customers have paid was paid after the due date? Two decimals.",
    PAYMENTS,
    CUSTOMERS,
    sql="SELECT round(100.0 * count(*) FILTER (p.paid_on > p.due_on) / count(*), 2) FROM {0} p "
    "JOIN {1} c ON c.id = p.customer_id WHERE c.company IS NOT NULL AND p.paid_on IS NOT NULL",
    kind=Kind.JOIN,
)
def companies_paying_late(payments: Records, customers: Records) -> float:
    companies = {c["id"] for c in customers if c["company"]}
    return percent(days_late(p) > 0 for p in payments if p["customer_id"] in companies and p["paid_on"])


@asked(
    "How many inbound messages came from suspended customers?",
    MESSAGES,
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} m JOIN {1} c ON c.id = m.customer_id "
    "WHERE m.direction = 'inbound' AND c.status = 'suspended'",
    kind=Kind.JOIN,
)
def messages_from_suspended(messages: Records, customers: Records) -> int:
    suspended = {c["id"] for c in customers if c["status"] == "suspended"}
    return count(m["direction"] == "inbound" and m["customer_id"] in suspended for m in messages)


@asked(
    "Kolik urgentních požadavků (priorita urgent) mají zákazníci s tarifem Firma Plus?",
    Fetch("tickets", {"priority": "urgent"}),
    Fetch("customers", {"tariff": "firma"}),
    sql="SELECT count(*) FROM {0} t JOIN {1} c ON t.customer_id = c.id",
    kind=Kind.JOIN,
    language="cs",
)
def urgent_tickets_of_firms(tickets: Records, customers: Records) -> int:
    firms = {c["id"] for c in customers}
    return count(t["customer_id"] in firms for t in tickets)
