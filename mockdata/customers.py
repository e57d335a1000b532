"""Customers: who they are, where they live, what they pay for.

Knows people. Knows nothing of their tickets or payments.
"""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from mockdata.seeded_random import seeded_random
from mockdata.sentences import Language, words

COUNT = 500
BALAZ = 4
STATUSES = ("active", "suspended", "closed")
_START = datetime(2014, 1, 1, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Person:
    """What other records need to know of a customer."""

    id: int
    name: str
    is_woman: bool
    language: Language
    phone: str
    street: str
    city: str
    tariff: tuple[Any, ...]
    model: str
    serial: str


def fold_case(text: str) -> str:
    """The text without diacritics and case, for comparison."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).casefold()


@lru_cache(maxsize=4096)
def person(seed: int, n: int) -> Person:
    """Customer `n` as a person."""
    chance = seeded_random(seed, "person", n)
    is_woman = chance.random() < 0.5
    man, woman = chance.choice(words()["surnames"])
    first = chance.choice(words()["women" if is_woman else "men"])
    name = f"{first} {woman if is_woman else man}"
    if n == BALAZ:
        is_woman, name = False, "Tomáš Baláž"
    return Person(
        id=n,
        name=name,
        is_woman=is_woman,
        language="cs" if n == BALAZ or chance.random() < 0.8 else "en",
        phone=phone(chance),
        street=street(chance),
        city=chance.choice(words()["cities"])[0],
        tariff=chance.choice(words()["tariffs"]),
        model=chance.choice(words()["models"]),
        serial=serial(chance),
    )


def phone(chance: Random) -> str:
    """A Czech mobile number."""
    return f"+420 {chance.randint(601, 779)} {chance.randint(0, 999):03d} {chance.randint(0, 999):03d}"


def street(chance: Random) -> str:
    """A street with a house number."""
    return f"{chance.choice(words()['streets'])} {chance.randint(1, 240)}"


def serial(chance: Random) -> str:
    """A serial number of a device."""
    return f"SN{chance.randint(10, 99)}{chance.choice('ABCDEFGHKM')}{chance.randint(100000, 999999)}"


def record(seed: int, n: int) -> dict[str, Any]:
    """Customer `n` as the API serves it."""
    who, chance = person(seed, n), seeded_random(seed, "customer", n)
    registered = _START + timedelta(hours=chance.randint(0, 95_000))
    code, name, down, up, fee = who.tariff
    return {
        "id": n,
        "name": who.name,
        "email": f"{fold_case(who.name).replace(' ', '.').replace(chr(39), '')}.{n}@example.com",
        "phone": who.phone if n == BALAZ or chance.random() < 0.9 else None,
        "language": who.language,
        "status": "active" if n == BALAZ else chance.choices(STATUSES, weights=(88, 7, 5))[0],
        "registered_at": registered.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "address": _address(who, chance),
        "tariff": {"code": code, "name": name, "download_mbps": down, "upload_mbps": up, "monthly_fee_czk": fee},
        "devices": _devices(who, chance),
        "company": _company(who, chance),
        "tags": sorted(chance.sample(words()["tags"], chance.randint(0, 3))),
        "note": chance.choice((None, None, None, *_NOTES)),
    }


def _address(who: Person, chance: Random) -> dict[str, Any]:
    city, postal_code, lat, lon = next(row for row in words()["cities"] if row[0] == who.city)
    place = {"lat": round(lat + chance.uniform(-0.04, 0.04), 5), "lon": round(lon + chance.uniform(-0.04, 0.04), 5)}
    return {
        "street": who.street,
        "city": city,
        "postal_code": postal_code,
        "country": "CZ",
        "floor": chance.choice((None, 1, 2, 3, 4, 7)),
        "location": place if chance.random() < 0.8 else None,
    }


def _devices(who: Person, chance: Random) -> list[dict[str, Any]]:
    router = {"kind": "router", "model": who.model, "serial": who.serial, "is_rented": chance.random() < 0.6}
    box = {"kind": "set-top box", "model": "Arris VIP5305", "serial": serial(chance), "is_rented": True}
    return [router, box] if chance.random() < 0.4 else [router]


def _company(who: Person, chance: Random) -> dict[str, str] | None:
    if chance.random() > 0.12:
        return None
    return {
        "name": f"{who.name.split()[-1]} a syn, s.r.o.",
        "registration_number": f"{chance.randint(10**7, 10**8 - 1)}",
    }


_NOTES = (
    "Volat až po 16. hodině.",
    "Prefers e-mail, never picks up the phone.",
    "Zvonek nefunguje, ťukat na okno.",
    "Has two contracts, mind which one is meant.",
)
