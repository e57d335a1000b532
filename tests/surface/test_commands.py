"""The command line as a surface: the commands, their parameters, and the cost of their help."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from runax_cli.cli import app

HEAVY = (
    "openai",
    "mcp",
    "openapi_core",
    "duckdb",
    "fastapi",
    "starlette",
    "tiktoken",
    "httpx2",
    "pydantic_settings",
    "uvicorn",
    "rich",
    "asyncio",
)
COMMON = {
    "--openapi", "--base-url", "--mcp", "--config", "--model", "-m", "--output", "-o", "-q", "-v", "--tools",
    "--allow-writes", "--max-steps", "--max-calls", "--max-tokens", "--max-usd", "--timeout", "--evidence", "--color",
    "--debug", "--limit", "--help-all",
}  # fmt: skip


def commands(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(f"{path}{name} ", command)
        else:
            yield f"{path}{name}", command


ROOT = typer.main.get_command(app)
COMMANDS = dict(commands("", ROOT))


def test_the_commands_are_those_of_the_design() -> None:
    assert set(COMMANDS) == {
        "query", "chat", "plan", "tools list", "tools show", "tools call", "runs list", "runs show", "runs export",
        "runs resume", "runs schema", "runs usage", "runs prune",
        "mock", "demo", "smoke", "bench", "config show", "config check", "config init", "doctor",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["query", "chat", "plan"])
def test_a_question_takes_every_common_option(name: str) -> None:
    taken = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert taken >= COMMON


def test_the_root_takes_every_common_option() -> None:
    assert {option for parameter in ROOT.params for option in parameter.opts} >= COMMON


def wrapped(function: Any, seen: set[int]) -> Iterator[Any]:
    """A function and all functions that it wraps, at any depth."""
    if id(function) in seen or not inspect.isfunction(function):
        return
    seen.add(id(function))
    yield function
    for cell in function.__closure__ or ():
        yield from wrapped(cell.cell_contents, seen)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_is_a_coroutine(name: str) -> None:
    functions = list(wrapped(COMMANDS[name].callback, set()))
    assert any(function.__module__ == "runax_cli.cli" for function in functions)
    assert [function for function in functions if inspect.iscoroutinefunction(function)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert [p.name for p in command.params if not getattr(p, "help", None)] == []


@pytest.mark.parametrize("arguments", [["--help"], ["query", "--help"], ["tools", "--help"], ["--version"]])
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    script = (
        "import sys; from runax_cli import cli; code = cli.run(sys.argv[1:]);"
        f"sys.exit(code or ' '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
