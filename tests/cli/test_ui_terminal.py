"""The views and the prompt in a separate process: on a pseudo-terminal, in a pipe, with closed streams."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEADLINE_S = 90.0
ANSWER = "# Two\\n\\nThere are **two** of them [/x].\\n\\nThat is all [tickets_1#17]."

STORY = f"""
import sys
from runax_cli.core import event_types as ev
from runax_cli.core.events import Emitter
from runax_cli.core.results import Coverage, Evidence, RecordRef, RunResult
from runax_cli.ui.console import Environment
from runax_cli.ui.view_factory import build_view

view = build_view(sys.argv[1], Environment.of_process(), certificate=lambda result: "2/2 tickets fetched · run 7f3a")
emitter = Emitter.for_run(view, run_id="7f3a", session_id="s")
emitter.emit(ev.RunStarted(question="How many?", model="m", reducer_model="r", effective_tokens=100, counter="c"))
call = emitter.child(call_id="c1")
call.emit(ev.ToolSelected(tool="get_tickets", arguments={{"customer_id": 4, "text": "x" * 90}}))
pages = int(sys.argv[2])
for page in range(1, pages + 1):
    call.emit(ev.PageFetched(index=page, of=pages, position=f"offset={{page}}", limit=1, items=1, retries=0))
call.emit(ev.Resumed(text="a line, with which the region is drawn anew"))
emitter.child(role="agent").emit(ev.AnswerDelta(text="{ANSWER}"))
record = RecordRef(dataset="tickets_1", row=17, id="9001")
result = RunResult(
    run_id="7f3a", session_id="s", status="complete", exit_code=0, question="q", answer="{ANSWER}",
    evidence=(Evidence(statement="two", kind="record", records=(record,), verified=True),),
)
emitter.emit(ev.RunFinished(result=result))
view.print_result(result)
"""

PROMPT = """
import asyncio
import sys
from adapters.base import ToolSpec
from runax_cli.core.results import RunResult
from runax_cli.ui.console import Environment
from runax_cli.ui.repl import Repl
from runax_cli.ui.view_factory import build_view

class Talk:
    models = {"agent": "gpt"}
    tools = (ToolSpec(name="get_tickets", description="", parameters={}, source="s", locator="GET /"),)
    last_result = None

    async def ask(self, question):
        if question == "wait":
            print("waiting now", file=sys.stderr, flush=True)
            await asyncio.Event().wait()
        while question == "resist":
            try:
                print("waiting now", file=sys.stderr, flush=True)
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                print("not yet", file=sys.stderr, flush=True)
                await asyncio.Event().wait()
        base = dict(session_id="s", status="complete", exit_code=0, question=question)
        return RunResult(run_id=question, answer=f"about {question}", **base)

env = Environment.of_process()
view = build_view("text", env, certificate=lambda result: f"certificate of {result.run_id}")
sys.exit(asyncio.run(Repl(Talk(), view, env=env).run()))
"""


class Screen:
    """What a terminal of `width` columns shows, scrollback included, after some output."""

    def __init__(self, width: int) -> None:
        self.width, self.rows, self.row, self.column = width, [""], 0, 0
        self.is_cursor_shown = True

    def feed(self, output: str) -> "Screen":
        for part in re.findall(r"\x1b\[[0-?]*[ -/]*[@-~]|[\s\S]", output):
            self._take(part)
        return self

    def _take(self, part: str) -> None:
        if part == "\n":
            self.row += 1
            self.rows += [""] * (self.row + 1 - len(self.rows))
        elif part == "\r":
            self.column = 0
        elif part.startswith("\x1b["):
            self._obey(part[2:-1], part[-1])
        else:
            self._put(part)

    def _obey(self, parameters: str, letter: str) -> None:
        match letter:
            case "A":
                self.row = max(0, self.row - int(parameters or 1))
            case "K":
                self.rows[self.row] = "" if parameters == "2" else self.rows[self.row][: self.column]
            case "h" | "l" if parameters == "?25":
                self.is_cursor_shown = letter == "h"
            case "m":
                return
            case _:
                raise AssertionError(f"the screen does not know {parameters!r}{letter}")

    def _put(self, character: str) -> None:
        if self.column == self.width:
            self.column = 0
            self._take("\n")
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows)


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, arguments: list[str], *, width: int, streams: dict[str, int], env: dict[str, str]) -> None:
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        on_terminal = {"stdin": slave, "stdout": slave, "stderr": slave}
        self.process = subprocess.Popen(
            arguments,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(slave),
            **(on_terminal | streams),
        )
        os.close(slave)
        self.output = ""
        self._seen = 0

    def expect(self, text: str) -> None:
        """Read until `text` is printed after what was expected before."""
        deadline = time.monotonic() + DEADLINE_S
        while (place := self.output.find(text, self._seen)) < 0:
            if time.monotonic() > deadline or not self._read():
                raise AssertionError(f"{text!r} never came; there was {self.output[self._seen :]!r}")
        self._seen = place + len(text)

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            continue
        return self.process.wait(DEADLINE_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.fd], [], [], DEADLINE_S)
        # Linux returns EIO if the other side of a pseudo-terminal is closed.
        with contextlib.suppress(OSError):
            if ready and (piece := os.read(self.fd, 65536)):
                self.output += piece.decode("utf-8", "replace")
                return True
        return False

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        os.close(self.fd)


def _take_terminal(slave: int) -> None:
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts a program on a pseudo-terminal."""
    open_terminals: list[Terminal] = []

    def run(
        program: str, *arguments: str, width: int = 80, streams: dict[str, int] | None = None, **env: str
    ) -> Terminal:
        command = [sys.executable, "-c", program, *arguments]
        terminal = Terminal(command, width=width, streams=streams or {}, env=environment(tmp_path, **env))
        open_terminals.append(terminal)
        return terminal

    yield run
    for terminal in open_terminals:
        terminal.close()


def environment(folder: Path, **changes: str) -> dict[str, str]:
    base = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }
    return base | changes


@pytest.mark.parametrize("width", [40, 100])
@pytest.mark.parametrize("pages", [9, 500])
def test_the_live_view_leaves_log_and_answer_in_the_scrollback_and_nothing_else(start, width: int, pages: int) -> None:
    terminal = start(STORY, "text", str(pages), width=width)
    assert terminal.end() == 0
    screen = Screen(width).feed(terminal.output)
    assert "▒" in terminal.output
    assert f"{pages}/{pages} pages" in terminal.output
    assert "▒" not in screen.text
    assert f"{pages}/{pages} pages" not in screen.text
    flowing = screen.text.replace("\n", "")
    assert flowing.count("LLM TOOL SELECTED: get_tickets") == 1
    assert flowing.count("x" * 90) == 1
    assert screen.text.count("There are two of them [/x].") == 1
    assert screen.text.count("That is all [tickets_1#17].") == 1
    assert screen.text.rstrip().endswith("[tickets_1#17] id 9001\n2/2 tickets fetched · run 7f3a")
    assert screen.is_cursor_shown


def test_an_answer_into_a_pipe_is_plain_while_the_terminal_shows_the_view(start, tmp_path: Path) -> None:
    with (tmp_path / "answer").open("wb") as out:
        terminal = start(STORY, "text", "9", streams={"stdout": out.fileno()})
        assert terminal.end() == 0
    assert (tmp_path / "answer").read_text() == ANSWER.replace("\\n", "\n") + "\n"
    assert "▒" in terminal.output
    assert "2/2 tickets fetched" in Screen(80).feed(terminal.output).text


def test_a_log_into_a_file_is_plain_while_the_terminal_shows_the_answer(start, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        terminal = start(STORY, "text", "9", width=40, streams={"stderr": log.fileno()})
        assert terminal.end() == 0
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if "[PAGE 9/9] offset=9" in line]
    assert all(line.startswith("[agent] ") for line in lines)
    assert "\x1b" not in "".join(lines)
    assert "2/2 tickets fetched · run 7f3a" in terminal.output


def test_no_color_draws_without_colours(start) -> None:
    terminal = start(STORY, "text", "9", NO_COLOR="1")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*[1-9][0-9;]*m", terminal.output)
    assert "▒" in terminal.output


def test_a_dumb_terminal_gets_lines_and_no_escapes(start) -> None:
    terminal = start(STORY, "text", "9", TERM="dumb")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.output
    assert "[PAGE 9/9] offset=9" in terminal.output
    assert "There are **two** of them" in terminal.output


def run(shell: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    script = folder / "story.py"
    script.write_text(STORY)
    command = shell.replace("STORY", f"{sys.executable} {script}")
    full = environment(folder, **env)
    return subprocess.run(
        ["bash", "-c", command], env=full, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_in_a_pipe_stdout_is_the_answer_to_the_byte(tmp_path: Path) -> None:
    done = run("STORY text 9", tmp_path)
    assert done.stdout == ANSWER.replace("\\n", "\n") + "\n"
    assert "\x1b" not in done.stderr


def test_json_lines_survive_a_reader_that_leaves(tmp_path: Path) -> None:
    done = run("set -o pipefail; STORY jsonl 2000 2>err | head -n 1", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["type"] == "run.started"
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert "Exception" not in (tmp_path / "err").read_text()


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_error(tmp_path: Path, closing: str) -> None:
    done = run(f"STORY text 9 {closing}", tmp_path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_an_ascii_stream_gets_valid_json(tmp_path: Path) -> None:
    done = run("STORY json 9", tmp_path, PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["answer"] == ANSWER.replace("\\n", "\n")
    assert done.stdout.isascii()


def test_tab_completes_a_tool_and_ctrl_d_leaves(start) -> None:
    terminal = start(PROMPT)
    terminal.expect("runax>")
    terminal.type("use get_t\t")
    terminal.expect("ickets")
    terminal.type("\r")
    terminal.expect("certificate of use get_tickets")
    terminal.expect("runax>")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_ctrl_c_cancels_the_turn_and_the_prompt_comes_back(start) -> None:
    terminal = start(PROMPT)
    terminal.expect("runax>")
    terminal.type("wait\r")
    terminal.expect("waiting now")
    terminal.type("\x03")
    terminal.expect("Cancelled.")
    terminal.expect("runax>")
    terminal.type("\x03")
    terminal.expect("Nothing is running.")
    terminal.type("again\r")
    terminal.expect("certificate of again")
    terminal.type("/quit\r")
    assert terminal.end() == 0


def test_a_second_ctrl_c_leaves_with_130(start) -> None:
    terminal = start(PROMPT)
    terminal.expect("runax>")
    terminal.type("resist\r")
    terminal.expect("waiting now")
    terminal.type("\x03")
    terminal.expect("not yet")
    terminal.type("\x03")
    assert terminal.end() == 128 + signal.SIGINT
