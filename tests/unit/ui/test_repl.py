import asyncio
import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from adapters.base import ToolSpec
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.ui.repl import CANCELLED, EMPTY_HINT, PromptStreams, Repl, WordsCompleter, open_history
from runax_cli.ui.view_factory import View, build_view

ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"


class Talk:
    """Answers every question with the question itself; `during` is called in between."""

    def __init__(self, result_of: Callable[..., RunResult]) -> None:
        self._result_of = result_of
        self.asked: list[str] = []
        self.last_result: RunResult | None = None
        self.during: Callable[[], None] = lambda: None
        self.is_endless = False
        self.tools = (ToolSpec(name="get_tickets", description="", parameters={}, source="s", locator="GET /"),)
        self.models = {"agent": "gpt"}

    async def ask(self, question: str) -> RunResult:
        self.asked.append(question)
        run_id = f"run{len(self.asked)}"
        self.during()
        try:
            if self.is_endless:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.last_result = self._result_of(run_id=run_id, status=RunStatus.INTERRUPTED, answer="")
            raise
        self.last_result = self._result_of(run_id=run_id, answer=f"about {question}")
        return self.last_result


@pytest.fixture
def talk(result_of) -> Talk:
    return Talk(result_of)


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as keys:
        yield keys


@pytest.fixture
def play(world, talk, keys) -> Callable[[str], "asyncio.Future[ExitCode]"]:
    """Types the lines and waits until the prompt is left."""

    async def run(typed: str) -> ExitCode:
        env = world.environment()
        view = build_view("text", env, certificate=lambda result: f"certificate of {result.run_id}")
        keys.send_text(typed)
        return await Repl(talk, view, env=env, streams=PromptStreams(keys, DummyOutput())).run()

    return run


async def test_a_question_is_asked_and_its_answer_printed(play, talk, world) -> None:
    assert await play(f"How many?{ENTER}{CTRL_D}") is ExitCode.COMPLETE
    assert talk.asked == ["How many?"]
    assert world.out.getvalue() == "about How many?\n"
    assert "certificate of run1" in world.err.getvalue()


async def test_an_empty_line_asks_nothing(play, talk) -> None:
    await play(f"{ENTER}  {ENTER}/quit{ENTER}")
    assert talk.asked == []


@pytest.mark.parametrize("new_line", [ALT_ENTER, f"\\{ENTER}"], ids=["alt-enter", "backslash"])
async def test_a_question_may_have_several_lines(play, talk, new_line) -> None:
    await play(f"one{new_line}two{ENTER}{CTRL_D}")
    assert talk.asked == ["one\ntwo"]


async def test_retry_asks_again_and_quit_leaves(play, talk) -> None:
    assert await play(f"How many?{ENTER}/retry{ENTER}/quit{ENTER}") is ExitCode.COMPLETE
    assert talk.asked == ["How many?", "How many?"]


async def test_json_goes_to_stdout_and_other_commands_to_stderr(play, world) -> None:
    await play(f"Hm?{ENTER}/json{ENTER}/model{ENTER}{CTRL_D}")
    assert '"run_id":"run1"' in world.out.getvalue()
    assert "agent: gpt" not in world.out.getvalue()
    assert "agent: gpt" in world.err.getvalue()


async def test_ctrl_c_at_an_empty_prompt_prints_a_hint_and_stays(play, talk, world) -> None:
    await play(f"{CTRL_C}Hm?{ENTER}{CTRL_D}")
    assert world.err.getvalue().startswith(EMPTY_HINT)
    assert talk.asked == ["Hm?"]


async def test_ctrl_c_over_a_half_written_line_throws_it_away(play, talk, world) -> None:
    await play(f"half{CTRL_C}Hm?{ENTER}{CTRL_D}")
    assert EMPTY_HINT not in world.err.getvalue()
    assert talk.asked == ["Hm?"]


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def test_ctrl_c_cancels_the_turn_and_keeps_the_prompt_and_the_result(play, talk, world) -> None:
    talk.is_endless, talk.during = True, press
    assert await play(f"Hm?{ENTER}/json{ENTER}{CTRL_D}") is ExitCode.COMPLETE
    assert CANCELLED in world.err.getvalue()
    assert '"status":"interrupted"' in world.out.getvalue()


async def test_a_second_ctrl_c_aborts(play, talk) -> None:
    async def stubborn(_question: str) -> RunResult:
        press()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            press()
            await asyncio.Event().wait()
        raise AssertionError

    talk.ask = stubborn
    assert await play(f"Hm?{ENTER}") is ExitCode.INTERRUPTED


def completions(text: str, *, is_tab: bool) -> list[str]:
    completer = WordsCompleter(["get_tickets", "get_customers", "Search"])
    event = CompleteEvent(completion_requested=is_tab, text_inserted=not is_tab)
    return [found.text for found in completer.get_completions(Document(text), event)]


@pytest.mark.parametrize(
    ("text", "is_tab", "expected"),
    [
        ("/t", False, ["/tools", "/trace"]),
        ("/usage x", False, []),
        ("what is /t", True, []),
        ("ask get_", True, ["get_customers", "get_tickets"]),
        ("ask get_", False, []),
        ("sea", True, ["Search"]),
        ("", True, []),
    ],
)
def test_commands_complete_as_they_are_typed_and_tools_on_tab(text, is_tab, expected) -> None:
    assert completions(text, is_tab=is_tab) == expected


@pytest.fixture
def view(world) -> View:
    return build_view("text", world.environment(), certificate=lambda _result: "")


async def test_history_lasts_and_is_private(play, world) -> None:
    await play(f"How many?{ENTER}{CTRL_D}")
    path = world.folder / "state" / "history"
    assert "+How many?" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_history_that_others_could_read_is_closed_to_them(tmp_path: Path, view) -> None:
    (tmp_path / "history").touch(mode=0o644)
    open_history(tmp_path, view)
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_a_history_that_cannot_be_written_is_kept_in_memory(tmp_path: Path, view, world) -> None:
    (tmp_path / "file").touch()
    history = open_history(tmp_path / "file" / "folder", view)
    history.append_string("How many?")
    assert history.get_strings() == ["How many?"]
    assert "kept in memory" in world.err.getvalue()


def test_a_link_in_the_place_of_the_history_is_not_followed(tmp_path: Path, view, world) -> None:
    (tmp_path / "history").symlink_to(tmp_path / "victim")
    open_history(tmp_path, view)
    assert not (tmp_path / "victim").exists()
    assert "kept in memory" in world.err.getvalue()
