"""Plans of network faults: a pure function of a seed."""

from benchmarks.faults.network import QUESTIONS
from benchmarks.faults.network_plans import DataFault, NetworkFault, plan_of

SHORT = 26


def test_a_seed_gives_the_same_plan_and_faults() -> None:
    for seed in range(SHORT):
        one, other = (plan_of(seed, questions=len(QUESTIONS)) for _ in range(2))
        assert one == other
        for server in one.rates:
            assert [one.fault(server, n) for n in range(50)] == [other.fault(server, n) for n in range(50)]


def test_undetectable_faults_are_excluded() -> None:
    plans = [plan_of(seed, questions=1) for seed in range(500)]
    hidden = {DataFault.SHORT_PAGE, DataFault.EMPTY_PAGE, DataFault.WRONG_TOTAL, DataFault.LOW_TOTAL}
    assert all(plan.has_total for plan in plans if hidden & set(plan.kinds))
    assert {kind for plan in plans for kind in plan.kinds} == {*NetworkFault, *DataFault}
