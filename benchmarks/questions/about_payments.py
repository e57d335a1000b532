"""Questions about invoices and their payments: money, due dates, refunds."""

from collections import Counter
from datetime import date

from benchmarks.questions.plain import count, mean, median, percent, top
from benchmarks.questions.question import Fetch, Kind, Record, Records, asked

PAYMENTS = Fetch("payments")


def is_czk(payment: Record) -> bool:
    return bool(payment["currency"] == "CZK")


def days_late(payment: Record) -> int:
    return (date.fromisoformat(payment["paid_on"]) - date.fromisoformat(payment["due_on"])).days


@asked(
    "What is the total amount of overdue invoices issued in CZK?",
    PAYMENTS,
    sql="SELECT sum(amount) FROM {0} WHERE status = 'overdue' AND currency = 'CZK'",
    kind=Kind.SUM,
)
def payments_overdue_sum(payments: Records) -> float:
    return float(sum(p["amount"] for p in payments if p["status"] == "overdue" and is_czk(p)))


@asked(
    "For invoices in CZK with the status paid, what amount came in by each payment method?",
    PAYMENTS,
    sql="SELECT method, sum(amount) FROM {0} WHERE status = 'paid' AND currency = 'CZK' GROUP BY method",
    kind=Kind.GROUP,
)
def payments_by_method(payments: Records) -> list[tuple[str, float]]:
    sums: Counter[str] = Counter()
    for payment in payments:
        if payment["status"] == "paid" and is_czk(payment):
            sums[payment["method"]] += payment["amount"]
    return list(sums.items())


@asked(
    "Kolik faktur bylo zaplaceno až po datu splatnosti?",
    PAYMENTS,
    sql="SELECT count(*) FROM {0} WHERE paid_on > due_on",
    kind=Kind.DATES,
    language="cs",
)
def payments_paid_late(payments: Records) -> int:
    return count(p["paid_on"] and p["paid_on"] > p["due_on"] for p in payments)


@asked(
    "Of the invoices paid after their due date, by how many days on average were they late? Two decimals.",
    PAYMENTS,
    sql="SELECT round(avg(date_diff('day', due_on, paid_on)), 2) FROM {0} WHERE paid_on > due_on",
    kind=Kind.AVERAGE,
)
def payments_average_delay(payments: Records) -> float:
    return mean(days_late(p) for p in payments if p["paid_on"] and days_late(p) > 0)


@asked(
    "How much was refunded altogether, counting refunds of CZK invoices only?",
    PAYMENTS,
    sql="SELECT sum(refund.amount) FROM {0} WHERE currency = 'CZK'",
    kind=Kind.NESTED,
)
def payments_refunded(payments: Records) -> float:
    return float(sum(p["refund"]["amount"] for p in payments if p["refund"] and is_czk(p)))


@asked(
    "In which month were invoices with the highest total amount issued (CZK only)? Give the month as YYYY-MM "
    "and the amount.",
    PAYMENTS,
    sql="SELECT strftime(issued_on, '%Y-%m') AS month, sum(amount) AS total FROM {0} WHERE currency = 'CZK' "
    "GROUP BY 1 ORDER BY total DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def payments_best_month(payments: Records) -> list[tuple[str, float]]:
    sums: Counter[str] = Counter()
    for payment in filter(is_czk, payments):
        sums[payment["issued_on"][:7]] += payment["amount"]
    return top(sums, 1)


@asked(
    "How many invoices have a line for an extra service (line code extra)?",
    PAYMENTS,
    sql="SELECT count(*) FROM {0} WHERE len(list_filter(lines, lambda l: l.code = 'extra')) > 0",
    kind=Kind.NESTED,
)
def payments_with_extra(payments: Records) -> int:
    return count(any(line["code"] == "extra" for line in p["lines"]) for p in payments)


@asked(
    "What did extra services (invoice lines with the code extra) bring in total on invoices in CZK?",
    PAYMENTS,
    sql="SELECT sum(l.amount) FROM (SELECT unnest(lines) AS l FROM {0} WHERE currency = 'CZK') WHERE l.code = 'extra'",
    kind=Kind.NESTED,
)
def payments_extra_sum(payments: Records) -> float:
    lines = [line for p in payments if is_czk(p) for line in p["lines"]]
    return float(sum(line["amount"] for line in lines if line["code"] == "extra"))


@asked(
    "What percentage of the invoices issued in October 2026 has the status paid? Two decimals.",
    PAYMENTS,
    sql="SELECT round(100.0 * count(*) FILTER (status = 'paid') / count(*), 2) FROM {0} "
    "WHERE issued_on BETWEEN '2026-10-01' AND '2026-10-31'",
    kind=Kind.SHARE,
)
def payments_paid_share_in_october(payments: Records) -> float:
    return percent(p["status"] == "paid" for p in payments if p["issued_on"].startswith("2026-10"))


@asked(
    "What is the median amount of an invoice in CZK?",
    PAYMENTS,
    sql="SELECT median(amount) FROM {0} WHERE currency = 'CZK'",
    kind=Kind.MEDIAN,
)
def payments_median_amount(payments: Records) -> float:
    return median(p["amount"] for p in payments if is_czk(p))


@asked(
    "Kolik různých zákazníků má alespoň jednu fakturu po splatnosti (stav overdue)?",
    PAYMENTS,
    sql="SELECT count(DISTINCT customer_id) FROM {0} WHERE status = 'overdue'",
    kind=Kind.DISTINCT,
    language="cs",
)
def payments_customers_overdue(payments: Records) -> int:
    return len({p["customer_id"] for p in payments if p["status"] == "overdue"})


@asked(
    "How many invoices have a number that starts with 202603?",
    PAYMENTS,
    sql="SELECT count(*) FROM {0} WHERE invoice_number LIKE '202603%'",
    kind=Kind.TEXT,
)
def payments_numbered_202603(payments: Records) -> int:
    return count(p["invoice_number"].startswith("202603") for p in payments)


@asked(
    "U kolika plateb je v poznámce zmíněn splátkový kalendář?",
    PAYMENTS,
    sql="SELECT count(*) FROM {0} WHERE note ILIKE '%splátkový kalendář%'",
    kind=Kind.TEXT,
    language="cs",
)
def payments_with_instalments(payments: Records) -> int:
    return count("splátkový kalendář" in (p["note"] or "") for p in payments)


@asked(
    "What do the overdue invoices of customer 4 add up to, in CZK?",
    Fetch("payments", {"customer_id": 4}),
    sql="SELECT sum(amount) FROM {0} WHERE status = 'overdue' AND currency = 'CZK'",
    kind=Kind.SUM,
)
def payments_overdue_of_customer_4(payments: Records) -> float:
    return float(sum(p["amount"] for p in payments if p["status"] == "overdue" and is_czk(p)))
