"""Records are deterministic, match their schemas, and read like support data."""

import base64
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from mockdata import tickets
from mockdata.generate import record
from mockdata.needles import NEEDLES
from mockdata.sentences import words
from mockdata.tables import DEFAULT_SEED, tables
from tests.unit.mockdata.conftest import AllRecords

RESOURCES = ("customers", "tickets", "payments", "messages", "events")
VOCABULARY = Path(__file__).parents[3] / "runax_cli/models/vocabulary/o200k_base.tiktoken.gz"
PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    lines = gzip.decompress(VOCABULARY.read_bytes()).splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    return tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def of_customer(n: int) -> list[dict[str, Any]]:
    table = tables()["tickets"]
    return [table.record(number) for number in table.find({"customer_id": n})]


@settings(deadline=None)
@given(resource=st.sampled_from(RESOURCES), n=st.integers(1, 500), seed=st.integers(0, 3))
def test_the_same_seed_and_number_give_the_same_record(resource: str, n: int, seed: int) -> None:
    assert tables(seed)[resource].record(n) == tables(seed)[resource].record(n)
    assert record(resource, n, seed)["id"] == n


def test_another_seed_gives_other_people() -> None:
    names = [[record("customers", n, seed)["name"] for n in range(5, 60)] for seed in (1, 2)]
    assert names[0] != names[1]


@pytest.mark.parametrize("resource", RESOURCES)
def test_records_fit_their_published_shape(resource: str) -> None:
    table = tables()[resource]
    for n in range(1, table.count + 1, max(1, table.count // 400)):
        made = table.record(n)
        read = table.schema.model_validate_json(orjson.dumps(made), strict=True)
        assert set(read.model_dump()) == set(made), f"{resource} {n}"


@pytest.mark.parametrize("resource", RESOURCES)
def test_all_slots_of_a_text_are_filled(resource: str) -> None:
    table = tables()[resource]
    for n in range(1, table.count + 1, max(1, table.count // 400)):
        assert not any(mark in text for text in _texts(table.record(n)) for mark in "{}")


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def test_only_customer_four_is_balaz() -> None:
    people = tables()["customers"]
    assert people.record(4)["name"].endswith(" Baláž")
    for spelling in ("Baláž", "balaz", "BALÁŽ"):
        assert list(people.find({"name": spelling})) == [4]


def test_customer_four_has_261_tickets_of_about_355000_tokens(encoding: tiktoken.Encoding) -> None:
    own = of_customer(4)
    tokens = sum(len(encoding.encode_ordinary(orjson.dumps(ticket).decode())) for ticket in own)
    assert len(own) == 261
    assert tokens == pytest.approx(355_000, rel=0.03)


def test_each_needle_is_in_exactly_one_record(all_records: AllRecords) -> None:
    for needle in NEEDLES:
        marker = orjson.dumps(needle.code)[1:-1]
        holding = [each for each in all_records(needle.resource) if marker in orjson.dumps(each)]
        assert len(holding) == 1, needle.key
        assert needle.text in " ".join(_texts(holding[0]))
        if needle.customer_id is not None:
            assert holding[0]["customer_id"] == needle.customer_id


def test_tickets_have_two_languages_nulls_and_nested_values() -> None:
    own = of_customer(4)
    languages = Counter(ticket["language"] for ticket in own)
    assert min(languages["cs"], languages["en"]) > 40
    assert any(ticket["assigned_to"] is None for ticket in own)
    assert any(ticket["resolution"] is None for ticket in own)
    assert all(len(ticket["messages"]) >= 4 for ticket in own)
    assert any("ž" in ticket["description"] for ticket in own)


def test_no_two_tickets_have_the_same_description() -> None:
    descriptions = Counter(ticket["description"] for ticket in of_customer(4))
    assert descriptions.most_common(1)[0][1] == 1


def test_a_ticket_does_not_say_the_same_sentence_twice() -> None:
    for ticket in of_customer(4):
        openings = [message["text"].split(". ")[0] for message in ticket["messages"]]
        assert len(set(openings)) == len(openings), ticket["id"]


def test_tickets_are_in_the_order_of_their_creation() -> None:
    frames = [tickets.facts_of(DEFAULT_SEED, n) for n in range(1, tickets.ownership(DEFAULT_SEED).total + 1)]
    assert [frame.created_at for frame in frames] == sorted(frame.created_at for frame in frames)


def test_a_ticket_is_updated_after_it_was_created() -> None:
    for ticket in of_customer(4):
        assert ticket["created_at"] <= min(message["at"] for message in ticket["messages"])
        assert ticket["updated_at"] == max(item["at"] for item in (*ticket["messages"], *ticket["notes"]))


def test_yaml_words_that_look_like_numbers_stay_strings() -> None:
    drawn = [value for name in ("errors", "models", "staff", "technicians", "sites", "tags") for value in words()[name]]
    assert all(isinstance(value, str) for value in drawn)
