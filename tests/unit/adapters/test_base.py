"""Values that all adapters share."""

from adapters.base import tool_name


def test_tool_names_are_legal_unique_and_short() -> None:
    assert tool_name("a b/c") == "a_b_c"
    assert tool_name("///") == "tool"
    taken = {"x"}
    for _ in range(3):
        taken.add(tool_name("x", taken=taken))
    assert len(taken) == 4
    assert len(tool_name("x" * 200)) == 64
