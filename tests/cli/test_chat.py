"""The prompt on a real terminal."""

from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]
PARROT = "What do the tickets of customer 31 say about a parrot?"
STORK = "What is the number of the permit for the stork nest in the tickets of customer 4?"


def test_a_question_is_answered_and_quit_leaves_with_0(terminal: Open, mock: Any) -> None:
    with mock() as url:
        screen = terminal("chat", "-m", "rules", "--base-url", url)
        screen.wait_for("runax>")
        screen.type(f"{PARROT}\r")
        screen.wait_for("PARROT-5150")
        screen.wait_for("6/6 tickets (")
        screen.wait_for("runax>")
        screen.type("/quit\r")
        assert screen.end().code == 0


def test_the_bare_command_on_a_terminal_is_the_prompt(terminal: Open, mock: Any) -> None:
    with mock() as url:
        screen = terminal("-m", "rules", "--base-url", url)
        screen.wait_for("runax>")
        screen.type("/help\r")
        screen.wait_for("/usage")
        screen.wait_for("runax>")
        screen.type("\x04")
        assert screen.end().code == 0


def test_ctrl_c_cancels_the_turn_and_the_prompt_stays(terminal: Open, mock: Any) -> None:
    with mock("--faults", "latency=1") as url:
        screen = terminal("chat", "-m", "rules", "--base-url", url)
        screen.wait_for("runax>")
        screen.type(f"{STORK}\r")
        screen.wait_for("[META]")
        screen.interrupt()
        screen.wait_for("Cancelled")
        screen.wait_for("runax>")
        screen.type("/quit\r")
        assert screen.end().code == 0


def test_ctrl_c_at_an_empty_prompt_only_hints(terminal: Open, mock: Any) -> None:
    with mock() as url:
        screen = terminal("chat", "-m", "rules", "--base-url", url)
        screen.wait_for("runax>")
        screen.type("\x03")
        screen.wait_for("Nothing is running")
        screen.wait_for("runax>")
        screen.type("/quit\r")
        assert screen.end().code == 0
