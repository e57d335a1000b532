"""Budget shares: no worker is starved, together they never exceed the whole, and unused parts go to the others."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.core.budget import Amount, Budget, BudgetShares, Limits, Reservation
from runax_cli.core.errors import BudgetExhausted

moves = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=5),
        st.sampled_from(["reserve", "settle", "close"]),
        st.integers(min_value=0, max_value=400),
    ),
    max_size=60,
)


def budget(**limits: float) -> Budget:
    return Budget(Limits(**limits), owner="turn")


@given(st.integers(min_value=1, max_value=6), moves)
def test_shares_never_exceed_the_whole_and_each_keeps_its_guaranteed_part(n: int, played: list[tuple]) -> None:
    whole = budget(steps=12, tokens=1000)
    shares = BudgetShares(whole, among=n)
    own = [shares.open(owner=f"part {i}") for i in range(n)]
    reserved: list[list[Reservation]] = [[] for _ in own]
    closed: set[int] = set()
    for who, what, amount in played:
        i = who % n
        if i in closed:
            continue
        if what == "reserve":
            with suppress(BudgetExhausted):
                reserved[i].append(own[i].reserve(Amount(tokens=amount)))
        elif what == "settle" and reserved[i]:
            one = reserved[i].pop()
            one.settle(Amount(tokens=min(amount, one.amount.tokens)))
        elif what == "close":
            for one in reserved[i]:
                one.settle(one.amount)
            shares.close(own[i])
            closed.add(i)
        used = whole.spent.tokens + whole.reserved.tokens
        assert used <= 1000
        for j in set(range(n)) - closed:
            mine = own[j].spent.tokens + own[j].reserved.tokens
            rest = own[j].remaining("tokens")
            assert rest is not None
            assert mine + rest >= 1000 // (2 * n)


def test_the_half_that_is_not_guaranteed_goes_to_whoever_asks_first() -> None:
    shares = BudgetShares(budget(steps=12), among=3)
    first, second = shares.open(owner="first"), shares.open(owner="second")
    assert first.remaining("steps") == 8
    first.reserve(Amount(steps=8))
    assert (first.remaining("steps"), second.remaining("steps")) == (0, 2)


def test_the_unused_part_of_a_closed_share_goes_to_the_others() -> None:
    shares = BudgetShares(budget(steps=12), among=2)
    first, second = shares.open(owner="first"), shares.open(owner="second")
    first.reserve(Amount(steps=1)).settle(Amount(steps=1))
    assert second.remaining("steps") == 9
    shares.close(first)
    assert second.remaining("steps") == 11


def test_a_share_that_is_not_open_yet_keeps_its_guaranteed_part() -> None:
    shares = BudgetShares(budget(calls=8), among=4)
    assert shares.open(owner="first").remaining("calls") == 5


def test_an_unlimited_resource_is_unlimited_in_every_share() -> None:
    share = BudgetShares(budget(), among=3).open(owner="first")
    assert share.remaining("usd") is None
    share.reserve(Amount(usd=1000.0))


def test_an_exceeded_share_names_its_owner() -> None:
    share = BudgetShares(budget(steps=4), among=2).open(owner="sub-question 1")
    with pytest.raises(BudgetExhausted, match="'steps' of the sub-question 1 is limited to 3; 0 is spent"):
        share.reserve(Amount(steps=4))


def test_only_as_many_shares_can_be_open_as_were_made() -> None:
    shares = BudgetShares(budget(), among=1)
    first = shares.open(owner="first")
    with pytest.raises(ValueError, match="not in list"):
        shares.open(owner="second")
    shares.close(first)
    shares.reopen()
    assert shares.open(owner="again").owner == "again"
