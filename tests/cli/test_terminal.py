"""A question asked on a real terminal: wide, narrow, without colors, dumb."""

import re
from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]
PARROT = "What do the tickets of customer 31 say about a parrot?"
STORK = "What is the number of the permit for the stork nest in the tickets of customer 4?"
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|38|48|9[0-7])[;m]")


@pytest.mark.parametrize("columns", [20, 40, 120])
def test_the_answer_arrives_at_any_width(columns: int, terminal: Open, mock: Any) -> None:
    with mock() as url:
        done = terminal("query", PARROT, "-m", "rules", "--base-url", url, columns=columns).end()
    assert done.code == 0
    assert "PARROT-5150" in re.sub(r"\s|\x1b\[[0-9;?]*[A-Za-z]", "", done.out)


def test_a_terminal_gets_colours(terminal: Open, mock: Any) -> None:
    with mock() as url:
        done = terminal("query", PARROT, "-m", "rules", "--base-url", url).end()
    assert COLOUR.search(done.out)


@pytest.mark.parametrize(
    ("options", "variables"), [([], {"NO_COLOR": "1"}), (["--color", "never"], {}), ([], {"TERM": "dumb"})]
)
def test_no_colours_where_they_are_not_wanted(
    options: list[str], variables: dict[str, str], terminal: Open, mock: Any
) -> None:
    with mock() as url:
        done = terminal("query", PARROT, "-m", "rules", "--base-url", url, *options, variables=variables).end()
    assert done.code == 0
    assert not COLOUR.search(done.out)


def test_ctrl_c_shows_what_there_is_and_is_code_130(terminal: Open, mock: Any) -> None:
    with mock("--faults", "latency=1") as url:
        screen = terminal("query", STORK, "-m", "rules", "--base-url", url)
        screen.wait_for("[META]")
        screen.interrupt()
        done = screen.end()
    assert done.code == 130
    assert "Traceback" not in done.out


@pytest.mark.parametrize("command", [["tools", "list", "-q"], ["runs", "list"]])
def test_a_list_keeps_within_a_narrow_terminal(command: list[str], terminal: Open, runax: Any, mock: Any) -> None:
    with mock() as url:
        if command[0] == "runs":
            runax("query", PARROT, "-m", "rules", "--base-url", url, "-q")
        options = ["--base-url", url] if command[0] == "tools" else []
        done = terminal(*command, *options, columns=40, variables={"COLUMNS": "40"}).end()
    assert done.code == 0
    assert done.out.strip()
    assert max(len(line.rstrip()) for line in COLOUR.sub("", done.out).splitlines()) <= 40
