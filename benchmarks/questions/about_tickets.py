"""Questions about support tickets: conversations, notes and satisfaction nested in each."""

from collections import Counter, defaultdict

from benchmarks.questions.plain import at, count, mean, median, percent, tally, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

TICKETS = Fetch("tickets")
OF_CUSTOMER_4 = Fetch("tickets", {"customer_id": 4})


@asked(
    "How many urgent tickets are still open (status open)?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE status = 'open' AND priority = 'urgent'",
    kind=Kind.COUNT,
)
def tickets_urgent_and_open(tickets: Records) -> int:
    return count(t["status"] == "open" and t["priority"] == "urgent" for t in tickets)


@asked(
    "How many tickets are there in each status?",
    TICKETS,
    sql="SELECT status, count(*) FROM {0} GROUP BY status",
    kind=Kind.GROUP,
)
def tickets_by_status(tickets: Records) -> list[tuple[str, int]]:
    return tally(t["status"] for t in tickets)


@asked(
    "Kterým třem pracovníkům je přiděleno nejvíc požadavků a kolik jich každý má?",
    TICKETS,
    sql="SELECT assigned_to.name, count(*) AS n FROM {0} WHERE assigned_to IS NOT NULL "
    "GROUP BY 1 ORDER BY n DESC LIMIT 3",
    kind=Kind.TOP,
    language="cs",
    is_ranked=True,
)
def tickets_busiest_staff(tickets: Records) -> list[tuple[str, float]]:
    return top(Counter(t["assigned_to"]["name"] for t in tickets if t["assigned_to"]), 3)


@asked(
    "How many messages does a ticket's conversation have on average? Two decimals.",
    TICKETS,
    sql="SELECT round(avg(len(messages)), 2) FROM {0}",
    kind=Kind.AVERAGE,
)
def tickets_average_messages(tickets: Records) -> float:
    return mean(len(t["messages"]) for t in tickets)


@asked(
    "Over all tickets, how many of the messages in the conversations were written by the customer?",
    TICKETS,
    sql="SELECT count(*) FROM (SELECT unnest(messages) AS m FROM {0}) WHERE m.author.role = 'customer'",
    kind=Kind.NESTED,
)
def tickets_messages_by_customers(tickets: Records) -> int:
    return count(m["author"]["role"] == "customer" for t in tickets for m in t["messages"])


@asked(
    "What is the total size in bytes of all PDF files (name ends in .pdf) attached to messages of tickets?",
    TICKETS,
    sql="SELECT sum(a.bytes) FROM (SELECT unnest(m.attachments) AS a FROM (SELECT unnest(messages) AS m FROM {0})) "
    "WHERE a.name LIKE '%.pdf'",
    kind=Kind.NESTED,
)
def tickets_bytes_of_pdfs(tickets: Records) -> int:
    files = [a for t in tickets for m in t["messages"] for a in m["attachments"]]
    return sum(a["bytes"] for a in files if a["name"].endswith(".pdf"))


@asked(
    "What is the average satisfaction score for each ticket category, to two decimals? Only rated tickets count.",
    TICKETS,
    sql="SELECT category, round(avg(satisfaction.score), 2) FROM {0} WHERE satisfaction IS NOT NULL GROUP BY 1",
    kind=Kind.GROUP,
)
def tickets_satisfaction_by_category(tickets: Records) -> list[tuple[str, float]]:
    scores: dict[str, list[int]] = defaultdict(list)
    for ticket in tickets:
        if ticket["satisfaction"]:
            scores[ticket["category"]].append(ticket["satisfaction"]["score"])
    return [(category, mean(given)) for category, given in scores.items()]


@asked(
    "How many tickets were created from 1 January to 31 March 2025, both days included (UTC)?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE created_at >= '2025-01-01' AND created_at < '2025-04-01'",
    kind=Kind.DATES,
)
def tickets_in_first_quarter_2025(tickets: Records) -> int:
    return count("2025-01-01" <= t["created_at"][:10] <= "2025-03-31" for t in tickets)


@asked(
    "Kolik procent požadavků je psáno česky (jazyk cs)? Na dvě desetinná místa.",
    TICKETS,
    sql="SELECT round(100.0 * count(*) FILTER (language = 'cs') / count(*), 2) FROM {0}",
    kind=Kind.SHARE,
    language="cs",
)
def tickets_share_in_czech(tickets: Records) -> float:
    return percent(t["language"] == "cs" for t in tickets)


@asked(
    "Which ticket took the longest from its creation to its last update? Give the ticket id.",
    TICKETS,
    sql="SELECT id FROM {0} ORDER BY updated_at - created_at DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def tickets_longest_running(tickets: Records) -> int:
    lengths = {t["id"]: (at(t["updated_at"]) - at(t["created_at"])).total_seconds() for t in tickets}
    return int(top(lengths, 1)[0][0])


@asked(
    "How many tickets carry both the tag fibre and the tag vip?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE list_contains(tags, 'fibre') AND list_contains(tags, 'vip')",
    kind=Kind.NESTED,
)
def tickets_fibre_and_vip(tickets: Records) -> int:
    return count({"fibre", "vip"} <= set(t["tags"]) for t in tickets)


@asked(
    "How many tickets did customer 4 open in each year (by creation date, UTC)?",
    OF_CUSTOMER_4,
    sql="SELECT year(created_at), count(*) FROM {0} GROUP BY 1",
    kind=Kind.GROUP,
)
def tickets_of_customer_4_by_year(tickets: Records) -> list[tuple[int, int]]:
    return list(Counter(int(t["created_at"][:4]) for t in tickets).items())


@asked(
    "For tickets of the category outage that have a resolution: "
    "what is the median time from creation to resolution, in minutes?",
    TICKETS,
    sql="SELECT median(date_diff('minute', created_at, resolution.resolved_at)) FROM {0} "
    "WHERE category = 'outage' AND resolution IS NOT NULL",
    kind=Kind.MEDIAN,
)
def tickets_median_minutes_of_outages(tickets: Records) -> float:
    done = [t for t in tickets if t["category"] == "outage" and t["resolution"]]
    return median((at(t["resolution"]["resolved_at"]) - at(t["created_at"])).total_seconds() / 60 for t in done)


@asked(
    "How many tickets have the word invoice in their subject, in upper or lower case?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE subject ILIKE '%invoice%'",
    kind=Kind.TEXT,
)
def tickets_with_invoice_in_subject(tickets: Records) -> int:
    return count("invoice" in t["subject"].lower() for t in tickets)


@asked(
    "How many different device models are mentioned in the device field of tickets of the category router?",
    TICKETS,
    sql="SELECT count(DISTINCT device.model) FROM {0} WHERE category = 'router'",
    kind=Kind.DISTINCT,
)
def tickets_models_of_routers(tickets: Records) -> int:
    return len({t["device"]["model"] for t in tickets if t["category"] == "router" and t["device"]})


@asked(
    "How many tickets are about a device whose firmware version begins with v7?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE device.firmware LIKE 'v7.%'",
    kind=Kind.TEXT,
)
def tickets_with_firmware_v7(tickets: Records) -> int:
    return count(t["device"] and t["device"]["firmware"].startswith("v7.") for t in tickets)


@asked(
    "Kolik požadavků vzniklo v sobotu nebo v neděli (UTC)?",
    TICKETS,
    sql="SELECT count(*) FROM {0} WHERE isodow(created_at) >= 6",
    kind=Kind.DATES,
    language="cs",
)
def tickets_at_weekends(tickets: Records) -> int:
    return count(at(t["created_at"]).weekday() >= 5 for t in tickets)


@asked(
    "Kolik interních poznámek k požadavkům napsala Marie Doubravová?",
    TICKETS,
    sql="SELECT count(*) FROM (SELECT unnest(notes) AS n FROM {0}) WHERE n.author = 'Marie Doubravová'",
    kind=Kind.NESTED,
    language="cs",
)
def tickets_notes_of_marie(tickets: Records) -> int:
    return count(n["author"] == "Marie Doubravová" for t in tickets for n in t["notes"])


@asked(
    "Which ticket category has the largest share of urgent tickets, and how large is it in per cent, to two decimals?",
    TICKETS,
    sql="SELECT category, round(100.0 * count(*) FILTER (priority = 'urgent') / count(*), 2) AS share FROM {0} "
    "GROUP BY 1 ORDER BY share DESC LIMIT 1",
    kind=Kind.SHARE,
    is_ranked=True,
)
def tickets_most_urgent_category(tickets: Records) -> list[tuple[str, float]]:
    listed = list(tickets)
    categories = {t["category"] for t in listed}
    urgent = {c: percent(t["priority"] == "urgent" for t in listed if t["category"] == c) for c in categories}
    return top(urgent, 1)
