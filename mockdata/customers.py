"""Customers: names, addresses, tariffs and devices."""

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
    """The facts of a customer that other records need."""

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
    rng = seeded_random(seed, "person", n)
    is_woman = rng.random() < 0.5
    man, woman = rng.choice(words()["surnames"])
    first = rng.choice(words()["women" if is_woman else "men"])
    name = f"{first} {woman if is_woman else man}"
    if n == BALAZ:
        is_woman, name = False, "Tomáš Baláž"
    return Person(
        id=n,
        name=name,
        is_woman=is_woman,
        language="cs" if n == BALAZ or rng.random() < 0.8 else "en",
        phone=phone(rng),
        street=street(rng),
        city=rng.choice(words()["cities"])[0],
        tariff=rng.choice(words()["tariffs"]),
        model=rng.choice(words()["models"]),
        serial=serial(rng),
    )


def phone(rng: Random) -> str:
    """A Czech mobile number."""
    return f"+420 {rng.randint(601, 779)} {rng.randint(0, 999):03d} {rng.randint(0, 999):03d}"


def street(rng: Random) -> str:
    """A street with a house number."""
    return f"{rng.choice(words()['streets'])} {rng.randint(1, 240)}"


def serial(rng: Random) -> str:
    """A serial number of a device."""
    return f"SN{rng.randint(10, 99)}{rng.choice('ABCDEFGHKM')}{rng.randint(100000, 999999)}"


def record(seed: int, n: int) -> dict[str, Any]:
    """Customer `n` as the API returns it."""
    customer, rng = person(seed, n), seeded_random(seed, "customer", n)
    registered = _START + timedelta(hours=rng.randint(0, 95_000))
    code, name, down, up, fee = customer.tariff
    return {
        "id": n,
        "name": customer.name,
        "email": f"{fold_case(customer.name).replace(' ', '.').replace(chr(39), '')}.{n}@example.com",
        "phone": customer.phone if n == BALAZ or rng.random() < 0.9 else None,
        "language": customer.language,
        "status": "active" if n == BALAZ else rng.choices(STATUSES, weights=(88, 7, 5))[0],
        "registered_at": registered.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "address": _address(customer, rng),
        "tariff": {"code": code, "name": name, "download_mbps": down, "upload_mbps": up, "monthly_fee_czk": fee},
        "devices": _devices(customer, rng),
        "company": _company(customer, rng),
        "tags": sorted(rng.sample(words()["tags"], rng.randint(0, 3))),
        "note": rng.choice((None, None, None, *_NOTES)),
    }


def _address(customer: Person, rng: Random) -> dict[str, Any]:
    city, postal_code, lat, lon = next(row for row in words()["cities"] if row[0] == customer.city)
    place = {"lat": round(lat + rng.uniform(-0.04, 0.04), 5), "lon": round(lon + rng.uniform(-0.04, 0.04), 5)}
    return {
        "street": customer.street,
        "city": city,
        "postal_code": postal_code,
        "country": "CZ",
        "floor": rng.choice((None, 1, 2, 3, 4, 7)),
        "location": place if rng.random() < 0.8 else None,
    }


def _devices(customer: Person, rng: Random) -> list[dict[str, Any]]:
    router = {"kind": "router", "model": customer.model, "serial": customer.serial, "is_rented": rng.random() < 0.6}
    box = {"kind": "set-top box", "model": "Arris VIP5305", "serial": serial(rng), "is_rented": True}
    return [router, box] if rng.random() < 0.4 else [router]


def _company(customer: Person, rng: Random) -> dict[str, str] | None:
    if rng.random() > 0.12:
        return None
    return {
        "name": f"{customer.name.split()[-1]} a syn, s.r.o.",
        "registration_number": f"{rng.randint(10**7, 10**8 - 1)}",
    }


_NOTES = (
    "Volat až po 16. hodině.",
    "Prefers e-mail, never picks up the phone.",
    "Zvonek nefunguje, ťukat na okno.",
    "Has two contracts, mind which one is meant.",
)
