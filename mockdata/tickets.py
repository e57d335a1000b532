"""Tickets: support requests with their conversation, notes and resolution, composed from sentence templates."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from mockdata import customers
from mockdata.customers import BALAZ, Person, person
from mockdata.needles import NEEDLES, Needle, min_record_count
from mockdata.ownership import Ownership
from mockdata.seeded_random import hash_bits, seeded_random
from mockdata.sentences import Language, SentenceBank, SlotFiller, sentence_bank, words

BALAZ_TICKETS = 261
CATEGORIES = ("outage", "slow_speed", "invoice", "router", "relocation", "technician", "tv", "contract")
STATUSES = ("open", "in_progress", "waiting_for_customer", "resolved", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
CHANNELS = ("phone", "email", "web", "chat", "branch")
FIRST_DAY = datetime(2022, 1, 3, 7, tzinfo=UTC)
LAST_DAY = datetime(2026, 10, 30, 18, tzinfo=UTC)
_DONE = frozenset({"resolved", "closed"})
_RECENT_SHARE = 0.12
_NEEDLE_TURN = 2
_MEN = frozenset({"Filip", "Daniel", "Adam", "Robert"})


@dataclass(frozen=True, slots=True)
class TicketFacts:
    """The facts of a ticket that are quick to compute; filters use them."""

    id: int
    customer_id: int
    created_at: datetime
    status: str
    priority: str
    category: str
    language: Language
    needle: Needle | None


@lru_cache(maxsize=8)
def ownership(seed: int) -> Ownership:
    """How tickets are distributed over customers."""
    return Ownership((_count(seed, n) for n in range(1, customers.COUNT + 1)), seed=seed)


def _count(seed: int, customer_id: int) -> int:
    if customer_id == BALAZ:
        return BALAZ_TICKETS
    return max(hash_bits(seed, customer_id) % 12, min_record_count("tickets", customer_id))


@lru_cache(maxsize=8)
def _needles(seed: int) -> dict[int, Needle]:
    hidden = (each for each in NEEDLES if each.resource == "tickets")
    return {ownership(seed).of(each.customer_id or 0)[each.ordinal - 1]: each for each in hidden}


@lru_cache(maxsize=8192)
def facts_of(seed: int, n: int) -> TicketFacts:
    """The quick facts of ticket `n`."""
    rng, total, found = seeded_random(seed, "frame", n), ownership(seed).total, _needles(seed).get(n)
    owner = ownership(seed).owner(n)
    language = "en" if person(seed, owner).language == "en" or rng.random() < 0.25 else "cs"
    weights = (34, 24, 16, 16, 10) if n > total * (1 - _RECENT_SHARE) else (1, 1, 1, 20, 77)
    step = (LAST_DAY - FIRST_DAY) / total
    return TicketFacts(
        id=n,
        customer_id=owner,
        created_at=FIRST_DAY + timedelta(minutes=int((step * (n - 1 + rng.random())).total_seconds() // 60)),
        status=rng.choices(STATUSES, weights=weights)[0],
        priority=rng.choices(PRIORITIES, weights=(22, 52, 20, 6))[0],
        category=found.category if found else rng.choice(CATEGORIES),
        language=found.language if found else "en" if language == "en" else "cs",
        needle=found,
    )


def record(seed: int, n: int) -> dict[str, Any]:
    """Ticket `n` as the API returns it."""
    facts, rng = facts_of(seed, n), seeded_random(seed, "ticket", n)
    who, bank = person(seed, facts.customer_id), sentence_bank(facts.language)
    slots = SlotFiller(_slot_values(facts, who, rng), rng=rng, bank=bank, reference_time=facts.created_at)
    slots.pin("room", "place", "who", "app", "light", "channel", "weather")
    messages = _conversation(facts, who, bank, slots, rng)
    notes = _notes(facts, bank, slots, rng)
    earlier = [other for other in ownership(seed).of(facts.customer_id) if other < n]
    updated = max([facts.created_at, *(item["at"] for item in (*messages, *notes))])
    return {
        "id": n,
        "customer_id": facts.customer_id,
        "created_at": _stamp(facts.created_at),
        "updated_at": _stamp(updated),
        "status": facts.status,
        "priority": facts.priority,
        "category": facts.category,
        "channel": rng.choice(CHANNELS),
        "language": facts.language,
        "subject": slots.one(bank.categories[facts.category].subjects),
        "description": _description(facts, bank, slots, rng),
        "tags": sorted({facts.category, *rng.sample(words()["tags"], rng.randint(0, 3))}),
        "device": _device(slots, rng),
        "assigned_to": _assignee(facts, slots, rng),
        "messages": [{**item, "at": _stamp(item["at"])} for item in messages],
        "notes": [{**item, "at": _stamp(item["at"])} for item in notes],
        "related_tickets": [rng.choice(earlier)] if earlier and rng.random() < 0.3 else [],
        "resolution": _resolution(facts, bank, slots, updated),
        "satisfaction": _satisfaction(facts, bank, slots, rng),
    }


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _slot_values(facts: TicketFacts, who: Person, rng: Random) -> dict[str, str]:
    """Values that stay the same throughout a ticket's text."""
    agent = rng.choice(words()["staff"])
    _, tariff, down, _, fee = who.tariff
    return {
        "name": who.name,
        "a": "a" if who.is_woman else "",
        "y": "á" if who.is_woman else "ý",
        "sam": "sama" if who.is_woman else "sám",
        "street": who.street,
        "city": who.city,
        "phone": who.phone,
        "model": who.model,
        "serial": who.serial,
        "tariff": tariff,
        "mbps": str(down),
        "fee": str(fee),
        "ticket": f"#{facts.id}",
        "firmware": f"v{rng.randint(1, 7)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}",
        "invoice": f"{facts.created_at.year}{rng.randint(10000, 99999)}",
        "amount": str(rng.randint(49, 2490)),
        "vs": str(rng.randint(10**8, 10**9 - 1)),
        "order": f"OBJ-{rng.randint(10000, 99999)}",
        "port": f"{rng.choice(words()['sites'])}/{rng.randint(1, 8)}/{rng.randint(1, 48)}",
        "error": rng.choice(words()["errors"]),
        "tech": rng.choice(words()["technicians"]),
        "agent": agent,
        "aa": "" if agent.split()[0] in _MEN else "a",
        "newcity": rng.choice(words()["cities"])[0],
        "newstreet": customers.street(rng),
    }


def _description(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, rng: Random) -> str:
    about = bank.categories[facts.category]
    body = [
        f"{slots.fill(rng.choice(bank.greetings))} {slots.fill(rng.choice(about.open))}",
        *slots.some(about.detail, rng.randint(2, 4)),
        *slots.some(bank.impact, rng.randint(1, 3)),
        *slots.some(bank.request, rng.randint(1, 2)),
    ]
    return " ".join(body) + "\n\n" + slots.fill(rng.choice(bank.farewells))


def _conversation(
    facts: TicketFacts, who: Person, bank: SentenceBank, slots: SlotFiller, rng: Random
) -> list[dict[str, Any]]:
    """Agent and customer alternate; a needle is in one of the middle messages."""
    at, items = facts.created_at, []
    for turn in range(rng.randint(4, 9)):
        at += timedelta(minutes=rng.randint(7, 2600))
        is_agent = turn % 2 == 0
        sentences = (_agent_says if is_agent else _customer_says)(facts, bank, slots, rng, turn)
        if facts.needle and turn == _NEEDLE_TURN:
            sentences.insert(1, facts.needle.text)
        text = " ".join(sentences)
        author = {"role": "agent", "name": slots["agent"]} if is_agent else {"role": "customer", "name": who.name}
        items.append({"at": at, "author": author, "text": text, "attachments": _attachments(rng, turn)})
    return items


def _agent_says(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, rng: Random, turn: int) -> list[str]:
    opening = slots.one(bank.agent_openings) if turn == 0 else slots.some(bank.agent_returns, 1)[0]
    acts = slots.some(bank.categories[facts.category].act, rng.randint(1, 2))
    asks = slots.some(bank.agent_asks, rng.randint(1, 3))
    return [opening, *acts, *asks, slots.one(bank.agent_closings)]


def _customer_says(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, rng: Random, _turn: int) -> list[str]:
    details = slots.some(bank.categories[facts.category].detail, rng.randint(0, 2))
    return [*slots.some(bank.replies, rng.randint(2, 4)), *details]


def _attachments(rng: Random, turn: int) -> list[dict[str, Any]]:
    if rng.random() > 0.2:
        return []
    kind = rng.choice(("jpg", "pdf", "png", "txt"))
    return [{"name": f"příloha_{turn + 1}.{kind}", "bytes": rng.randint(9_000, 4_000_000)}]


def _notes(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, rng: Random) -> list[dict[str, Any]]:
    """Internal notes of the agents; often none."""
    at, items = facts.created_at, []
    for text in slots.some(bank.notes, rng.randint(0, 4)):
        at += timedelta(minutes=rng.randint(20, 1500))
        items.append({"at": at, "author": rng.choice(words()["staff"]), "text": text})
    return items


def _device(slots: SlotFiller, rng: Random) -> dict[str, str] | None:
    if rng.random() < 0.3:
        return None
    return {"model": slots["model"], "serial": slots["serial"], "firmware": slots["firmware"]}


def _assignee(facts: TicketFacts, slots: SlotFiller, rng: Random) -> dict[str, Any] | None:
    if facts.status == "open" and rng.random() < 0.7:
        return None
    staff = words()["staff"]
    return {"id": staff.index(slots["agent"]) + 1, "name": slots["agent"], "team": rng.choice(words()["teams"])}


def _resolution(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, at: datetime) -> dict[str, str] | None:
    if facts.status not in _DONE:
        return None
    return {"summary": slots.one(bank.categories[facts.category].outcome), "resolved_at": _stamp(at)}


def _satisfaction(facts: TicketFacts, bank: SentenceBank, slots: SlotFiller, rng: Random) -> dict[str, Any] | None:
    if facts.status not in _DONE or rng.random() < 0.55:
        return None
    comment = slots.one(bank.satisfaction) if rng.random() < 0.6 else None
    return {"score": rng.randint(1, 5), "comment": comment}
