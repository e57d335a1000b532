"""Messages by SMS, e-mail and app between the provider and its customers, outside of tickets."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from mockdata import customers, tickets
from mockdata.customers import Person, person
from mockdata.needles import NEEDLES, Needle, min_record_count
from mockdata.ownership import Ownership
from mockdata.seeded_random import hash_bits, seeded_random
from mockdata.sentences import SlotFiller, sentence_bank, words

CHANNELS = ("sms", "email", "push", "letter")
DIRECTIONS = ("outbound", "inbound")
_SALT = 11


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The facts of a message that are quick to compute; filters use them."""

    id: int
    customer_id: int
    sent_at: datetime
    channel: str
    direction: str
    needle: Needle | None


@lru_cache(maxsize=8)
def ownership(seed: int) -> Ownership:
    """How messages are distributed over customers."""
    owners = range(1, customers.COUNT + 1)
    counts = (max(1 + hash_bits(seed + _SALT, n) % 11, min_record_count("messages", n)) for n in owners)
    return Ownership(counts, seed=seed + _SALT)


@lru_cache(maxsize=8)
def _needles(seed: int) -> dict[int, Needle]:
    hidden = (each for each in NEEDLES if each.resource == "messages")
    return {ownership(seed).of(each.customer_id or 0)[each.ordinal - 1]: each for each in hidden}


@lru_cache(maxsize=8192)
def facts_of(seed: int, n: int) -> MessageFacts:
    """The quick facts of message `n`."""
    rng, found = seeded_random(seed, "message frame", n), _needles(seed).get(n)
    span = (tickets.LAST_DAY - tickets.FIRST_DAY) / ownership(seed).total
    moment = tickets.FIRST_DAY + timedelta(minutes=int((span * (n - 1 + rng.random())).total_seconds() // 60))
    direction = "outbound" if found else rng.choices(DIRECTIONS, weights=(3, 1))[0]
    channel = rng.choices(CHANNELS, weights=(50, 35, 12, 3))[0]
    return MessageFacts(n, ownership(seed).owner(n), moment, channel, direction, found)


def record(seed: int, n: int) -> dict[str, Any]:
    """Message `n` as the API returns it."""
    facts, rng = facts_of(seed, n), seeded_random(seed, "message", n)
    who = person(seed, facts.customer_id)
    read = facts.sent_at + timedelta(minutes=rng.randint(1, 4000))
    own = tickets.ownership(seed).of(facts.customer_id)
    return {
        "id": n,
        "customer_id": facts.customer_id,
        "ticket_id": rng.choice(own) if own and rng.random() < 0.3 else None,
        "sent_at": facts.sent_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "read_at": read.strftime("%Y-%m-%dT%H:%M:%SZ") if rng.random() < 0.7 else None,
        "channel": facts.channel,
        "direction": facts.direction,
        "language": who.language,
        "text": _text(facts, who, rng),
        "delivery": _delivery(facts, rng),
        "attachments": [f"doklad_{n}.pdf"] if facts.channel == "email" and rng.random() < 0.3 else [],
    }


def _text(facts: MessageFacts, who: Person, rng: Random) -> str:
    bank = sentence_bank("en" if facts.needle else who.language)
    _, tariff, _, _, fee = who.tariff
    known = {
        "name": who.name,
        "a": "a" if who.is_woman else "",
        "street": who.street,
        "city": who.city,
        "phone": who.phone,
        "model": who.model,
        "tariff": tariff,
        "fee": str(fee),
        "ticket": f"#{rng.randint(1, 3000)}",
        "invoice": f"{facts.sent_at.year}{rng.randint(10000, 99999)}",
        "amount": str(rng.randint(49, 2490)),
        "vs": str(rng.randint(10**8, 10**9 - 1)),
        "order": f"OBJ-{rng.randint(10000, 99999)}",
        "tech": rng.choice(words()["technicians"]),
    }
    slots = SlotFiller(known, rng=rng, bank=bank, reference_time=facts.sent_at)
    templates = tuple(text for text in bank.messages if ("{name}" in text) == (facts.direction == "inbound"))
    sentence = slots.one(templates)
    return f"{sentence} {facts.needle.text}" if facts.needle else sentence


def _delivery(facts: MessageFacts, rng: Random) -> dict[str, Any] | None:
    if facts.direction == "inbound":
        return None
    has_failed = rng.random() < 0.06
    return {"status": "failed" if has_failed else "delivered", "attempts": rng.randint(2, 4) if has_failed else 1}
