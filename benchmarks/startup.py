"""Compares the time of `runax --help` with that of a bare Typer app with as many commands and options.

Both run as processes, alternately and repeatedly, so that the load of the machine affects both. Prints one JSON object
and exits with 1 if the ratio is above the limit.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIMIT = 1.3
_ROUNDS = 15
_KINDS = {"bool": "bool", "int": "int | None", "float": "float | None", "Path": "Path | None", "list": "list[str]"}


def bare_app() -> str:
    """A Typer app with the same tree: as many commands, each with as many options of the same kinds, and no bodies."""
    import typer.main

    from runax_cli.cli import app

    root = typer.main.get_command(app)
    lines = ["from pathlib import Path", "from typing import Annotated", "import typer"]
    lines += ["app = typer.Typer(pretty_exceptions_enable=False)"]
    lines += list(_group("app", root))
    lines += ["if __name__ == '__main__':", "    app()"]
    return "\n".join(lines)


def _group(name: str, group: Any) -> Iterator[str]:
    yield f"@{name}.callback(invoke_without_command=True)"
    yield from _function(f"{name}_root", group)
    for inner, command in group.commands.items():
        if hasattr(command, "commands"):
            yield f"{inner}_app = typer.Typer()"
            yield from _group(f"{inner}_app", command)
            yield f"{name}.add_typer({inner}_app, name={inner!r}, help={command.help!r})"
        else:
            yield f"@{name}.command({inner!r})"
            yield from _function(f"{name}_{inner}", command)


def _function(name: str, command: Any) -> Iterator[str]:
    yield f"def {name}("
    parameters = [parameter for parameter in command.params if not _is_builtin(parameter)]
    yield "    *," if parameters else ""
    for number, parameter in enumerate(parameters):
        kind = _kind(parameter)
        maker = "Argument" if parameter.param_type_name == "argument" else "Option"
        names = "" if maker == "Argument" else ", ".join(map(repr, parameter.opts)) + ", "
        panel = getattr(parameter, "rich_help_panel", None)
        default = "False" if kind == "bool" else "()" if kind.startswith("list") else "None"
        yield (
            f"    p{number}: Annotated[{kind}, typer.{maker}({names}help={parameter.help!r}, "
            f"rich_help_panel={panel!r}, show_default=False)] = {default},"
        )
    yield ") -> None:"
    yield f"    {command.help!r}"


def _is_builtin(parameter: Any) -> bool:
    return bool({"--help", "--install-completion", "--show-completion"} & set(getattr(parameter, "opts", ())))


def _kind(parameter: Any) -> str:
    text = str(parameter.type_descriptor.annotation)
    return next((kind for word, kind in _KINDS.items() if word in text), "str | None")


def seconds(command: list[str]) -> float:
    """Wall time of one process, whose output is a pipe."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(bare_app(), encoding="utf-8")
        commands = {
            "runax": [sys.executable, "-m", "runax_cli", "--help"],
            "bare": [sys.executable, str(bare), "--help"],
        }
        for command in commands.values():
            seconds(command)
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                taken[name].append(seconds(command))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    ratio = medians["runax"] / medians["bare"]
    print(json.dumps({"rounds": rounds, "median_s": medians, "ratio": round(ratio, 3), "limit": LIMIT}))
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
