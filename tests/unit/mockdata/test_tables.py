"""Filters select what a full scan would, and a million events take constant memory."""

import tracemalloc
from collections.abc import Mapping
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockdata.ownership import Ownership
from mockdata.tables import tables
from tests.unit.mockdata.conftest import AllRecords

TABLES = tables()


@given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=40).filter(any), seed=st.integers(0, 10**6))
def test_every_record_has_one_owner(counts: list[int], seed: int) -> None:
    layout = Ownership(counts, seed=seed)
    own = [layout.of(owner) for owner in range(1, len(counts) + 1)]
    assert [len(numbers) for numbers in own] == counts
    assert sorted(number for numbers in own for number in numbers) == list(range(1, layout.total + 1))
    for owner, numbers in enumerate(own, start=1):
        assert list(numbers) == sorted(numbers)
        assert {layout.owner(number) for number in numbers} <= {owner}


@pytest.mark.parametrize("owner", [-1, 0, 501, 10**9])
def test_an_owner_that_does_not_exist_has_no_records(owner: int) -> None:
    for name in ("tickets", "payments", "messages"):
        assert list(TABLES[name].find({"customer_id": owner})) == []


@pytest.mark.parametrize(
    ("resource", "filters"),
    [
        ("tickets", {"customer_id": 4}),
        ("tickets", {"customer_id": 4, "status": "open"}),
        ("tickets", {"priority": "urgent", "category": "tv"}),
        ("payments", {"customer_id": 500}),
        ("payments", {"status": "overdue", "customer_id": 4}),
        ("payments", {"method": "cash"}),
        ("messages", {"customer_id": 1, "channel": "sms"}),
        ("messages", {"direction": "inbound"}),
        ("events", {"device": "olt-brno-03"}),
        ("events", {"device": "ups-sumperk-01", "severity": "info"}),
        ("events", {"severity": "critical", "metric": "latency"}),
        ("customers", {"status": "closed"}),
        ("customers", {"tariff": "optik"}),
    ],
)
def test_a_filter_finds_what_a_full_scan_finds(
    all_records: AllRecords, resource: str, filters: dict[str, str | int]
) -> None:
    expected = [
        n
        for n, each in enumerate(all_records(resource), start=1)
        if all(_value(each, name) == value for name, value in filters.items())
    ]
    assert list(TABLES[resource].find(filters)) == expected
    assert expected


def _value(record: Mapping[str, object], name: str) -> object:
    tariff = record.get("tariff")
    return tariff["code"] if name == "tariff" and isinstance(tariff, dict) else record[name]


def test_names_and_cities_are_found_without_diacritics_and_case() -> None:
    table = TABLES["customers"]
    plain, exact = table.find({"city": "cesky krumlov"}), table.find({"city": "Český Krumlov"})
    assert list(plain) == list(exact)
    assert {table.record(n)["address"]["city"] for n in exact} == {"Český Krumlov"}
    assert all("Dvořák" in table.record(n)["name"] for n in table.find({"name": "dvorak"}))


def test_every_device_has_events() -> None:
    from mockdata.events import devices, of_device

    assert gcd(37, len(devices())) == 1
    assert sum(len(of_device(device, 1000)) for device in devices()) == 1000


def test_a_million_events_are_served_without_being_stored() -> None:
    tracemalloc.start()
    table = tables(event_count=1_000_000)["events"]
    found = table.find({})
    last = [table.record(n) for n in found[-200:]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1_000_000
    assert last[-1]["id"] == 1_000_000
    assert peak < 5_000_000


@pytest.mark.parametrize("count", [0, 1_000_001])
def test_an_invalid_event_count_is_an_error(count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        tables(event_count=count)
