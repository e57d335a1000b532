"""Questions about messages between the provider and its customers: channels, delivery, texts."""

from collections import Counter

from benchmarks.questions.plain import at, count, median, percent, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

MESSAGES = Fetch("messages")


@asked(
    "How many SMS messages did customers send us (direction inbound)?",
    MESSAGES,
    sql="SELECT count(*) FROM {0} WHERE channel = 'sms' AND direction = 'inbound'",
    kind=Kind.COUNT,
)
def messages_inbound_sms(messages: Records) -> int:
    return count(m["channel"] == "sms" and m["direction"] == "inbound" for m in messages)


@asked(
    "What percentage of the outbound messages has been read? Two decimals.",
    MESSAGES,
    sql="SELECT round(100.0 * count(read_at) / count(*), 2) FROM {0} WHERE direction = 'outbound'",
    kind=Kind.SHARE,
)
def messages_share_read(messages: Records) -> float:
    return percent(m["read_at"] is not None for m in messages if m["direction"] == "outbound")


@asked(
    "For each channel, how many messages failed to be delivered?",
    MESSAGES,
    sql="SELECT channel, count(*) FROM {0} WHERE delivery.status = 'failed' GROUP BY channel",
    kind=Kind.GROUP,
)
def messages_failed_by_channel(messages: Records) -> list[tuple[str, int]]:
    return list(Counter(m["channel"] for m in messages if (m["delivery"] or {}).get("status") == "failed").items())


@asked(
    "What is the median time between sending and reading of messages that were read, in minutes?",
    MESSAGES,
    sql="SELECT median(date_diff('minute', sent_at, read_at)) FROM {0}",
    kind=Kind.MEDIAN,
)
def messages_median_minutes_to_read(messages: Records) -> float:
    return median((at(m["read_at"]) - at(m["sent_at"])).total_seconds() / 60 for m in messages if m["read_at"])


@asked(
    "Kolik zpráv obsahuje slovo začínající na „faktur“, bez ohledu na velikost písmen?",
    MESSAGES,
    sql=r"SELECT count(*) FROM {0} WHERE regexp_matches(text, '(^|[^\p{{L}}])faktur', 'i')",
    kind=Kind.TEXT,
    language="cs",
)
def messages_about_invoices(messages: Records) -> int:
    words = (m["text"].lower().replace("„", " ").split() for m in messages)
    return count(any(word.lstrip("(,.-\"'").startswith("faktur") for word in said) for said in words)


@asked(
    "How many delivery attempts did outbound messages take in total?",
    MESSAGES,
    sql="SELECT sum(delivery.attempts) FROM {0}",
    kind=Kind.NESTED,
)
def messages_attempts(messages: Records) -> int:
    return sum(m["delivery"]["attempts"] for m in messages if m["delivery"])


@asked(
    "In which month of 2024 (UTC) were the most messages sent, and how many? Give the month as YYYY-MM.",
    MESSAGES,
    sql="SELECT strftime(sent_at, '%Y-%m') AS month, count(*) AS n FROM {0} WHERE year(sent_at) = 2024 "
    "GROUP BY 1 ORDER BY n DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def messages_busiest_month_2024(messages: Records) -> list[tuple[str, float]]:
    return top(Counter(m["sent_at"][:7] for m in messages if m["sent_at"].startswith("2024")), 1)


@asked(
    "How many different tickets do messages refer to?",
    MESSAGES,
    sql="SELECT count(DISTINCT ticket_id) FROM {0}",
    kind=Kind.DISTINCT,
)
def messages_tickets_referred_to(messages: Records) -> int:
    return len({m["ticket_id"] for m in messages} - {None})
