"""Scripts of misbehaving models: a pure function of a seed."""

from benchmarks.faults.model_scripts import Misbehaviour, script_of

SHORT = 2 * len(Misbehaviour)


def test_a_seed_gives_the_same_script_and_the_same_replies() -> None:
    for seed in range(SHORT):
        one, other = script_of(seed), script_of(seed)
        assert one == other
        assert [one.reply_to(n, has_tools=True) for n in range(5)] == [
            other.reply_to(n, has_tools=True) for n in range(5)
        ]
