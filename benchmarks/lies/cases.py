"""Loads the cases: for each domain its records and a list of answers."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "domains"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMade:
    """A call of the model: a collection, its filters by equality, and how many records arrived (None: all)."""

    noun: str
    arguments: Mapping[str, Any]
    fetched: int | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer with what it rests on; `is_lie` says whether something in it is false, `kind` what."""

    domain: str
    id: str
    language: str
    question: str
    calls: tuple[CallMade, ...]
    sql: tuple[str, ...]
    shown: Mapping[str, Sequence[int]]
    answer: str
    is_lie: bool
    kind: str
    wrong: str
    truth: str


def domains() -> list[str]:
    """The names of all domains."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def records(domain: str) -> dict[str, list[dict[str, Any]]]:
    """The records of a domain by collection."""
    packed = (FOLDER / f"{domain}.records.json.gz").read_bytes()
    found: dict[str, list[dict[str, Any]]] = json.loads(gzip.decompress(packed))
    return found


def cases(domain: str) -> Iterator[Case]:
    """The cases of a domain."""
    for entry in json.loads((FOLDER / f"{domain}.json").read_text(encoding="utf-8")):
        calls = tuple(CallMade(**call) for call in entry.pop("calls"))
        yield Case(domain=domain, calls=calls, sql=tuple(entry.pop("sql")), **entry)
