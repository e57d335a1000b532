"""Merging findings by code loses no row."""

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.outcome import Finding
from runax_cli.executor.reduce.reducer import apply_merge_reply, deduplicate

findings = st.lists(
    st.builds(
        Finding,
        id=st.just(""),
        statement=st.sampled_from(["An outage.", "an  OUTAGE.", "A refund.", "A call."]),
        records=st.lists(st.integers(1, 50), min_size=1, max_size=5).map(lambda rows: tuple(sorted(set(rows)))),
        quote=st.sampled_from([None, "quoted"]),
        is_quote_verified=st.sampled_from([None, True, False]),
    ),
    max_size=20,
)


def rows(found: object) -> set[int]:
    return {row for finding in found for row in finding.records}  # type: ignore[attr-defined]


@given(findings)
def test_deduplication_keeps_every_row_and_numbers_the_findings(raw: list[Finding]) -> None:
    kept = deduplicate(raw)
    assert rows(kept) == rows(raw)
    assert [finding.id for finding in kept] == [f"f{n}" for n in range(1, len(kept) + 1)]
    folded = [" ".join(finding.statement.casefold().split()) for finding in kept]
    assert len(folded) == len(set(folded))


@given(findings)
def test_a_verified_quote_is_preferred(raw: list[Finding]) -> None:
    for kept in deduplicate(raw):
        same = [f for f in raw if f.statement.casefold().split() == kept.statement.casefold().split()]
        assert any(f.is_quote_verified for f in same) == bool(kept.is_quote_verified)


@given(findings, st.lists(st.lists(st.integers(0, 25), max_size=6), max_size=6))
def test_a_merge_reply_keeps_every_row_whatever_it_cites(raw: list[Finding], cites: list[list[int]]) -> None:
    before = deduplicate(raw)
    reply = [(f"Statement {n}.", [f"f{ref}" for ref in refs]) for n, refs in enumerate(cites)]
    after = apply_merge_reply(reply, before)
    if after is None:
        assert not {f"f{ref}" for refs in cites for ref in refs} & {f.id for f in before}
    else:
        assert rows(after) == rows(before)
