"""Replies of reducers are checked: schema, references and quotes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight
from runax_cli.executor.reduce.replies import check_reply, parse_merge_reply

TEXTS = (
    '{"id":7,"text":"The line \\"dropped\\"\\n twice in Plzeň"}',
    '{"id":8,"text":"Invoice 12 was wrong"}',
    '{"id":9,"tags":["a","b"],"n":12.5}',
)


def unit(row: int, text: str, *, part: int = 0) -> ChunkUnit:
    return ChunkUnit(
        row=row, page=0, text=text, weight=TextWeight(), record_chars=len(text), part=part, parts=2 if part else 0
    )


CHUNK = Chunk(index=1, units=tuple(unit(11 + at, text) for at, text in enumerate(TEXTS)))


def reply(*findings: Any, nothing: bool | None = None) -> str:
    return json.dumps({"findings": findings, "nothing_relevant": not findings if nothing is None else nothing})


def finding(refs: Any, quote: Any = None, statement: Any = "So it is.") -> dict[str, Any]:
    return {"statement": statement, "records": refs, "quote": quote}


def test_references_become_sorted_unique_rows() -> None:
    checked = check_reply(reply(finding([3, 1, 3])), CHUNK)
    assert [found.records for found in checked.findings] == [(11, 13)]
    assert (checked.errors, checked.is_usable) == ((), True)


@given(st.lists(st.integers(-5, 10**20), max_size=5))
def test_an_invented_reference_never_becomes_a_row(refs: list[int]) -> None:
    checked = check_reply(reply(finding(refs)), CHUNK)
    assert {row for found in checked.findings for row in found.records} <= {11, 12, 13}
    are_all_real = bool(refs) and all(1 <= ref <= 3 for ref in refs)
    assert checked.is_usable == are_all_real
    assert bool(checked.errors) != are_all_real


@pytest.mark.parametrize(
    "quote",
    [
        'The line "dropped"',
        'dropped"\n\n   twice in',
        "twice in Plzeň",
        '"text":"The line',
    ],
)
def test_a_quote_is_found_despite_white_space_and_escapes(quote: str) -> None:
    (found,) = check_reply(reply(finding([1], quote)), CHUNK).findings
    assert found.is_quote_verified is True


@pytest.mark.parametrize("quote", ["The line dropped", "twice in Plzen", "Invoice 12 was wrong", "TWICE IN PLZEŇ"])
def test_an_altered_quote_is_an_error_and_keeps_the_finding(quote: str) -> None:
    checked = check_reply(reply(finding([1], quote)), CHUNK)
    (found,) = checked.findings
    assert found.is_quote_verified is False
    assert quote[:20] in checked.errors[0]
    assert checked.is_usable


def test_a_quote_may_be_in_any_of_the_cited_records() -> None:
    (found,) = check_reply(reply(finding([1, 2], "Invoice 12")), CHUNK).findings
    assert found.is_quote_verified is True


@pytest.mark.parametrize("quote", [None, "", "   "])
def test_a_missing_quote_is_not_verified(quote: str | None) -> None:
    (found,) = check_reply(reply(finding([1], quote)), CHUNK).findings
    assert (found.quote, found.is_quote_verified) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I think so.",
        "[]",
        "{}",
        '{"findings": []}',
        '{"findings": [1], "nothing_relevant": false}',
        reply(finding("1")),
        reply(finding([1.5])),
        reply(finding([True])),
        reply(finding([1], statement=3)),
        reply({**finding([1]), "more": 1}),
        '{"findings": [], "nothing_relevant": true} and more',
    ],
)
def test_a_reply_that_does_not_fit_the_schema_is_unusable(text: str) -> None:
    checked = check_reply(text, CHUNK)
    assert not checked.is_usable
    assert checked.errors
    assert checked.findings == ()


def test_no_findings_without_nothing_relevant_is_an_error() -> None:
    assert check_reply(reply(nothing=True), CHUNK).errors == ()
    assert check_reply(reply(nothing=False), CHUNK).errors


def test_an_empty_statement_is_dropped_and_a_long_one_is_cut() -> None:
    checked = check_reply(reply(finding([1], statement="  "), finding([2], statement="x" * 9000)), CHUNK)
    assert [len(found.statement) for found in checked.findings] == [2000]


def test_parts_of_a_record_share_its_row() -> None:
    chunk = Chunk(index=1, units=(unit(5, '{"text":"a long', part=1), unit(5, ' story"}', part=2)))
    (found,) = check_reply(reply(finding([1, 2], "a long")), chunk).findings
    assert found.records == (5,)
    assert found.is_quote_verified is True


@given(st.text(max_size=200))
def test_any_text_can_be_checked(text: str) -> None:
    check_reply(text, CHUNK)
    parse_merge_reply(text)


def test_a_merge_reply_is_statements_with_sources() -> None:
    text = json.dumps({"findings": [{"statement": "All.", "sources": ["f1", "f2"]}]})
    assert parse_merge_reply(text) == [("All.", ["f1", "f2"])]
    assert parse_merge_reply("nonsense") is None
