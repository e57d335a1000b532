"""Questions of meaning: counts, rankings and joins by the meaning of texts, with known true labels.

The raw data have columns with the truth; the data are served without them.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from benchmarks.questions.about_customers import CUSTOMERS
from benchmarks.questions.about_events import EVENTS
from benchmarks.questions.about_logs import APACHE, SSH
from benchmarks.questions.about_messages import MESSAGES
from benchmarks.questions.about_payments import PAYMENTS
from benchmarks.questions.about_tickets import OF_CUSTOMER_4, TICKETS
from benchmarks.questions.plain import count, percent, tally, top
from benchmarks.questions.question import LabelQuestion, Record, Records

CATEGORIES = ("outage", "slow_speed", "invoice", "router", "relocation", "technician", "tv", "contract")
LANGUAGES = ("cs", "en")
SEVERITIES = ("info", "warning", "error", "critical")
SSH_EVENTS: Mapping[str, str] = {
    **dict.fromkeys(("E9", "E10", "E8", "E14"), "failed_password"),
    **dict.fromkeys(("E19", "E20", "E15", "E16", "E17"), "authentication_failure"),
    **dict.fromkeys(("E12", "E13", "E21"), "unknown_user"),
    **dict.fromkeys(("E24", "E25", "E26", "E7", "E6", "E2", "E4", "E5"), "disconnect"),
    "E27": "possible_break_in",
}
SSH_LABELS = ("failed_password", "authentication_failure", "unknown_user", "disconnect", "possible_break_in", "other")
APACHE_EVENTS: Mapping[str, str] = {
    "E1": "child_found",
    "E2": "started_ok",
    "E3": "error_state",
    "E4": "access_forbidden",
    "E5": "child_missing",
    "E6": "error_state",
}
APACHE_LABELS = ("child_found", "started_ok", "error_state", "access_forbidden", "child_missing")

_BY_CATEGORY = (
    "What is the support ticket about? outage: no connection at all; slow_speed: slow internet; invoice: bills, "
    "payments and fees; router: the router or Wi-Fi at home; relocation: moving the service to another address; "
    "technician: a technician's visit or work; tv: television and set-top box; contract: the contract, its "
    "change, transfer or end."
)
_BY_LANGUAGE = "In which language is the text written? cs: Czech, en: English."
_BY_SEVERITY = (
    "How grave is what the monitoring message says? info: a routine reading or sign of life, all normal; warning: a "
    "threshold crossed, a value that varies, a link that flaps; error: a repeated error, a value out of range, a "
    "degraded port, CRC errors; critical: traffic lost, a port down, an alarm, something for people to act on at once."
)
_BY_SSH = (
    "What does the line of the SSH log report? failed_password: a failed password or failed 'none' attempt, also when "
    "repeated; authentication_failure: PAM authentication failures; unknown_user: an invalid or unknown user; "
    "disconnect: a connection closed or a disconnect; possible_break_in: a break-in warning; other: anything else."
)
_BY_APACHE = (
    "What does the line of the Apache log report? child_found: a child found in the scoreboard; started_ok: a "
    "successful start; error_state: an error state or failed start of a child; access_forbidden: a directory that was "
    "refused; child_missing: a child that cannot be found."
)


def category(record: Record) -> str:
    return str(record["category"])


def language(record: Record) -> str:
    return str(record["language"])


def severity(record: Record) -> str:
    return str(record["severity"])


def ssh_event(record: Record) -> str:
    return SSH_EVENTS.get(record["EventId"], "other")


def apache_event(record: Record) -> str:
    return APACHE_EVENTS[record["EventId"]]


def _same_category_pairs(tickets: Records) -> int:
    by_customer: dict[int, list[str]] = {}
    for ticket in tickets:
        by_customer.setdefault(ticket["customer_id"], []).append(category(ticket))
    return sum(a == b for kinds in by_customer.values() for a, b in combinations(kinds, 2))


def _top_city_of_slow_speed(tickets: Records, customers: Records) -> list[tuple[str, float]]:
    city = {c["id"]: c["address"]["city"] for c in customers}
    return top(Counter(city[t["customer_id"]] for t in tickets if category(t) == "slow_speed"), 1)


def _invoice_and_overdue(tickets: Records, payments: Records) -> int:
    overdue = {p["customer_id"] for p in payments if p["status"] == "overdue"}
    return len({t["customer_id"] for t in tickets if category(t) == "invoice"} & overdue)


def _device_kind_of_critical(events: Records) -> list[tuple[str, float]]:
    return top(Counter(e["kind"] for e in events if severity(e) == "critical"), 1)


def _failed_by_hour(lines: Records) -> list[tuple[int, int]]:
    return list(Counter(int(line["Time"][:2]) for line in lines if ssh_event(line) == "failed_password").items())


def _busiest_error_day(lines: Records) -> list[tuple[str, int]]:
    days = {"Dec 04": "2005-12-04", "Dec 05": "2005-12-05"}
    return tally(days[line["Time"][4:10]] for line in lines if apache_event(line) == "error_state")


LABELS = (
    LabelQuestion(
        id="subjects-about-invoices",
        text="Going by their subjects, how many tickets are about invoices, bills or payments?",
        fetches=(TICKETS,),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT count(*) FROM {labels} WHERE label = 'invoice'",
        gold=lambda tickets: count(category(t) == "invoice" for t in tickets),
    ),
    LabelQuestion(
        id="troubles-ranked",
        text="Rank what customers' tickets are about (outage, slow speed, invoice, router, relocation, technician, TV, "
        "contract) by the number of tickets, going by their subjects.",
        fetches=(TICKETS,),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT label, count(*) AS n FROM {labels} GROUP BY label ORDER BY n DESC",
        gold=lambda tickets: top(Counter(map(category, tickets)), len(CATEGORIES)),
        is_ranked=True,
    ),
    LabelQuestion(
        id="outages-of-customer-4",
        text="Kolik požadavků zákazníka 4 se podle popisu týká úplného výpadku připojení?",
        fetches=(OF_CUSTOMER_4,),
        column="description",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT count(*) FROM {labels} WHERE label = 'outage'",
        gold=lambda tickets: count(category(t) == "outage" for t in tickets),
        language="cs",
    ),
    LabelQuestion(
        id="router-tickets-done",
        text="What percentage of tickets with a subject about the router is closed (status closed)? Two decimals.",
        fetches=(TICKETS,),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT round(100.0 * count(*) FILTER (t.status = 'closed') / count(*), 2) FROM {0} t "
        "JOIN {labels} l ON l.row = t.row WHERE l.label = 'router'",
        gold=lambda tickets: percent(t["status"] == "closed" for t in tickets if category(t) == "router"),
    ),
    LabelQuestion(
        id="city-with-slow-internet",
        text="Which city do the most tickets with a subject about slow internet come from, and how many?",
        fetches=(TICKETS, CUSTOMERS),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT c.address.city, count(*) AS n FROM {0} t JOIN {labels} l ON l.row = t.row "
        "JOIN {1} c ON c.id = t.customer_id WHERE l.label = 'slow_speed' GROUP BY 1 ORDER BY n DESC LIMIT 1",
        gold=_top_city_of_slow_speed,
        is_ranked=True,
    ),
    LabelQuestion(
        id="pairs-of-the-same-trouble",
        text="How many pairs of tickets of the same customer are about the same trouble, going by the subjects?",
        fetches=(TICKETS,),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="WITH x AS (SELECT t.row, t.customer_id, l.label FROM {0} t JOIN {labels} l ON l.row = t.row) "
        "SELECT count(*) FROM x a JOIN x b ON a.customer_id = b.customer_id AND a.label = b.label AND a.row < b.row",
        gold=_same_category_pairs,
    ),
    LabelQuestion(
        id="invoice-complaints-and-overdue",
        text="How many customers have a ticket with a subject about invoices and also an overdue invoice?",
        fetches=(TICKETS, PAYMENTS),
        column="subject",
        instruction=_BY_CATEGORY,
        labels=CATEGORIES,
        truth=category,
        sql="SELECT count(*) FROM (SELECT t.customer_id FROM {0} t JOIN {labels} l ON l.row = t.row "
        "WHERE l.label = 'invoice' INTERSECT SELECT customer_id FROM {1} WHERE status = 'overdue')",
        gold=_invoice_and_overdue,
    ),
    LabelQuestion(
        id="descriptions-by-language",
        text="How many tickets of customer 4 are written in Czech and how many in English, going by the descriptions?",
        fetches=(OF_CUSTOMER_4,),
        column="description",
        instruction=_BY_LANGUAGE,
        labels=LANGUAGES,
        truth=language,
        sql="SELECT label, count(*) FROM {labels} GROUP BY label",
        gold=lambda tickets: tally(map(language, tickets)),
    ),
    LabelQuestion(
        id="critical-messages",
        text="Going by the messages of the monitoring events, how many events are critical?",
        fetches=(EVENTS,),
        column="message",
        instruction=_BY_SEVERITY,
        labels=SEVERITIES,
        truth=severity,
        sql="SELECT count(*) FROM {labels} WHERE label = 'critical'",
        gold=lambda events: count(severity(e) == "critical" for e in events),
    ),
    LabelQuestion(
        id="kind-with-most-critical",
        text="Which kind of device has the most events whose message is critical, and how many?",
        fetches=(EVENTS,),
        column="message",
        instruction=_BY_SEVERITY,
        labels=SEVERITIES,
        truth=severity,
        sql="SELECT e.kind, count(*) AS n FROM {0} e JOIN {labels} l ON l.row = e.row WHERE l.label = 'critical' "
        "GROUP BY 1 ORDER BY n DESC LIMIT 1",
        gold=_device_kind_of_critical,
        is_ranked=True,
    ),
    LabelQuestion(
        id="ssh-by-event",
        text="How many lines of the SSH log are failed passwords, authentication failures, unknown users, disconnects, "
        "break-in warnings and other things?",
        fetches=(SSH,),
        column="Content",
        instruction=_BY_SSH,
        labels=SSH_LABELS,
        truth=ssh_event,
        sql="SELECT label, count(*) FROM {labels} GROUP BY label",
        gold=lambda lines: tally(map(ssh_event, lines)),
    ),
    LabelQuestion(
        id="ssh-failed-by-hour",
        text="How many lines of the SSH log report a failed password in each hour of the day?",
        fetches=(SSH,),
        column="Content",
        instruction=_BY_SSH,
        labels=SSH_LABELS,
        truth=ssh_event,
        sql="""SELECT hour(s."Time"), count(*) FROM {0} s JOIN {labels} l ON l.row = s.row """
        """WHERE l.label = 'failed_password' GROUP BY 1""",
        gold=_failed_by_hour,
    ),
    LabelQuestion(
        id="apache-forbidden",
        text="Kolik řádků logu Apache hlásí odmítnutý přístup k adresáři?",
        fetches=(APACHE,),
        column="Content",
        instruction=_BY_APACHE,
        labels=APACHE_LABELS,
        truth=apache_event,
        sql="SELECT count(*) FROM {labels} WHERE label = 'access_forbidden'",
        gold=lambda lines: count(apache_event(line) == "access_forbidden" for line in lines),
        language="cs",
    ),
    LabelQuestion(
        id="apache-errors-by-day",
        text="On each day of the Apache log, how many lines report an error state or a failed start of a child?",
        fetches=(APACHE,),
        column="Content",
        instruction=_BY_APACHE,
        labels=APACHE_LABELS,
        truth=apache_event,
        sql="""SELECT CAST(a."Time_date" AS DATE), count(*) FROM {0} a JOIN {labels} l ON l.row = a.row """
        """WHERE l.label = 'error_state' GROUP BY 1""",
        gold=_busiest_error_day,
    ),
    LabelQuestion(
        id="czech-messages-by-channel",
        text="For each channel, how many messages are written in Czech, going by their text?",
        fetches=(MESSAGES,),
        column="text",
        instruction=_BY_LANGUAGE,
        labels=LANGUAGES,
        truth=language,
        sql="SELECT m.channel, count(*) FROM {0} m JOIN {labels} l ON l.row = m.row WHERE l.label = 'cs' GROUP BY 1",
        gold=lambda messages: tally(m["channel"] for m in messages if language(m) == "cs"),
    ),
)
