"""The command line: the commands with their arguments and help, and the entry point of the process.

Each command imports its module from `commands` when it runs, so that `--help` stays fast.
"""

import sys
from collections.abc import Coroutine
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from runax_cli import __version__
from runax_cli.commands.options import BenchOptions, CommonOptions, MockOptions, with_options
from runax_cli.core.exit_codes import ExitCode
from runax_cli.process import exit_guard, prepare_process
from runax_cli.ui.help import CommandPanel, HelpCommand, HelpGroup

_ROOT_EXAMPLES = """\
runax demo
runax query "Which tickets of customer 4 mention an outage?"
runax tools call list_tickets customer_id=4 -o jsonl"""
_QUERY_EXAMPLES = """\
runax query --base-url https://api.example.com "How many orders are open?"
runax query --mcp "npx -y some-mcp-server" --limit usd=0.50 "Who is on call?"
runax query --save late.csv "Which orders were shipped too late?"
cat users.txt | runax query -o json "Which of these users have open tickets?"
"""


def _print_help(context: typer.Context) -> ExitCode:
    """Print help to stderr, since it was not asked for: a command is missing."""
    with redirect_stdout(sys.stderr):
        typer.echo(context.get_help())
    return ExitCode.USAGE


def _group_callback(context: typer.Context) -> ExitCode:
    return ExitCode.COMPLETE if context.invoked_subcommand else _print_help(context)


def _group(name: str, *, help_text: str) -> typer.Typer:
    """A group of commands that prints its help if no command is given."""
    return typer.Typer(
        name=name,
        cls=HelpGroup,
        callback=_group_callback,
        invoke_without_command=True,
        help=help_text,
        rich_markup_mode=None,
    )


app = typer.Typer(
    name="runax",
    cls=HelpGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tools_app = _group("tools", help_text="List, show and call the tools of the sources.")
runs_app = _group("runs", help_text="List, show, resume, export and prune past runs.")
config_app = _group("config", help_text="Show and check the settings; write example files.")


def main() -> None:
    """Run the command line of this process and exit with its exit code."""
    prepare_process()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; an error is printed as one line on stderr."""
    with exit_guard(is_debug="--debug" in arguments) as state:
        # Not standalone: Typer raises its errors instead of printing them.
        state.code = app(arguments, prog_name="runax", standalone_mode=False) or ExitCode.COMPLETE
    return int(state.code)


def _wait(command: Coroutine[Any, Any, ExitCode]) -> ExitCode:
    """Run a command's coroutine to its end, which Typer would not await."""
    import asyncio

    return asyncio.run(command)


def _print_version(is_requested: bool) -> None:  # noqa: FBT001  Typer passes the flag's value
    if is_requested:
        typer.echo(f"runax {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=_ROOT_EXAMPLES)
@with_options("source", "answer", "limits", "call", "output")
def root(
    context: typer.Context,
    *,
    common: CommonOptions,
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> ExitCode:
    """Ask questions about APIs larger than a model's context window, and get answers with a certificate.

    Without a command, runax starts a chat on a terminal, or answers the question it reads from a pipe.
    """
    del version  # printed by the callback
    context.obj = common
    if context.invoked_subcommand is not None:
        return ExitCode.COMPLETE
    from runax_cli.commands import ask

    return _wait(ask.run_without_command(common, print_help=lambda: _print_help(context)))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.ASK, epilog=_QUERY_EXAMPLES)
@with_options("source", "answer", "limits", "call", "output")
def query(
    question: Annotated[
        str | None, typer.Argument(help="The question; '-' reads it from standard input.", metavar="QUESTION")
    ] = None,
    *,
    save: Annotated[
        list[str] | None,
        typer.Option(
            "--save",
            help="Write a whole SQL result to a .csv, .ndjson or .parquet file: the last one that the answer cites, "
            "or the one named, such as q2; repeatable.",
            metavar="[NAME=]FILE",
        ),
    ] = None,
    common: CommonOptions,
) -> ExitCode:
    """Ask one question. Text from a pipe is put before the argument."""
    from runax_cli.commands import ask

    return _wait(ask.run_query(question, common, save=save or ()))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.ASK)
@with_options("source", "answer", "limits", "call", "output")
def chat(*, common: CommonOptions) -> ExitCode:
    """Start a chat, with history, completion and slash commands."""
    from runax_cli.commands import ask

    return _wait(ask.run_chat(common))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.ASK)
@with_options("source", "answer", "limits", "call", "output")
def plan(
    question: Annotated[
        str | None, typer.Argument(help="The question; '-' reads it from standard input.", metavar="QUESTION")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Forecast the calls, pages, tokens, price and time of a question.

    Only lookups that later probes depend on are executed.
    """
    from runax_cli.commands import plan as command

    return _wait(command.run_plan(question, common))


@tools_app.command("list", cls=HelpCommand)
@with_options("source", "output")
def list_tools(*, common: CommonOptions) -> ExitCode:
    """List the tools with their size in tokens and their hidden parameters."""
    from runax_cli.commands import tools

    return _wait(tools.list_tools(common))


@tools_app.command("show", cls=HelpCommand)
@with_options("source", "output")
def show_tool(name: Annotated[str, typer.Argument(help="Name of the tool.")], *, common: CommonOptions) -> ExitCode:
    """Show a tool as the model sees it, and its pagination."""
    from runax_cli.commands import tools

    return _wait(tools.show_tool(name, common))


@tools_app.command("call", cls=HelpCommand)
@with_options("source", "call", "output")
def call_tool(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the tool; a value may be JSON.", metavar="KEY=VALUE…")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Call a tool without a model and read all its records."""
    from runax_cli.commands import tools_call

    return _wait(tools_call.run_call(name, arguments or [], common))


@runs_app.command("list", cls=HelpCommand)
@with_options("output")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of runs to list.")] = 20,
    *,
    common: CommonOptions,
) -> ExitCode:
    """List past runs, newest first."""
    from runax_cli.commands import runs

    return runs.list_runs(limit, common)


@runs_app.command("show", cls=HelpCommand)
@with_options("answer", "limits", "output")
def show_run(
    run: Annotated[str, typer.Argument(help="Run id, or its first characters.")], *, common: CommonOptions
) -> ExitCode:
    """Show the answer, certificate and evidence of a past run."""
    from runax_cli.commands import runs

    return runs.show_run(run, common)


@runs_app.command("resume", cls=HelpCommand)
@with_options("source", "answer", "limits", "call", "output")
def resume_run(
    run: Annotated[str, typer.Argument(help="Run id, or its first characters.")], *, common: CommonOptions
) -> ExitCode:
    """Resume an interrupted or stopped run without fetching or paying for stored data again."""
    from runax_cli.commands import runs

    return _wait(runs.run_resume(run, common))


@runs_app.command("export", cls=HelpCommand)
@with_options("output")
def export_run(
    run: Annotated[str, typer.Argument(help="Run id, or its first characters.")],
    *,
    form: Annotated[
        Literal["parquet", "ndjson", "csv"],
        typer.Option("--format", help="File format.", metavar="parquet|ndjson|csv"),
    ] = "parquet",
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.", metavar="DIR")] = Path(),
    save: Annotated[
        list[str] | None,
        typer.Option(
            "--save",
            help="Write a SQL result or a table of labels instead of the datasets, to a .csv, .ndjson or .parquet "
            "file: the last one that the answer cites, or the one named, such as q2; repeatable.",
            metavar="[NAME=]FILE",
        ),
    ] = None,
    common: CommonOptions,
) -> ExitCode:
    """Export the datasets or stored results of a past run as Parquet, NDJSON or CSV files."""
    from runax_cli.commands import runs
    from runax_cli.executor.sql.export import ExportFormat

    return runs.run_export(run, common, form=ExportFormat(form), out=out, save=save or ())


@runs_app.command("schema", cls=HelpCommand)
@with_options("output")
def show_schema(*, common: CommonOptions) -> ExitCode:
    """Print the JSON Schema of results (-o json) or events (-o jsonl)."""
    from runax_cli.commands import runs

    return runs.show_schema(common)


@runs_app.command("prune", cls=HelpCommand)
@with_options("source", "output")
def prune_runs(
    *,
    is_all: Annotated[bool, typer.Option("--all", metavar="", help="Remove every stored dataset.")] = False,
    common: CommonOptions,
) -> ExitCode:
    """Remove stored datasets and results over the age or size limit of the settings; runs stay listed."""
    from runax_cli.commands import runs

    return runs.prune(common, is_all=is_all)


@runs_app.command("usage", cls=HelpCommand)
@with_options("output")
def show_usage(
    *,
    is_cleared: Annotated[
        bool,
        typer.Option(
            "--clear",
            metavar="",
            help="First remove what processes had reserved when they died; until then it counts toward the limits.",
        ),
    ] = False,
    common: CommonOptions,
) -> ExitCode:
    """Show the tokens, cost and requests per day (UTC) and tenant, across all processes."""
    from runax_cli.commands import runs

    return _wait(runs.show_usage(common, is_cleared=is_cleared))


@config_app.command("show", cls=HelpCommand)
@with_options("source", "answer", "limits", "call", "output")
def show_config(
    *,
    has_origin: Annotated[bool, typer.Option("--origin", metavar="", help="Show the origin of each value.")] = False,
    common: CommonOptions,
) -> ExitCode:
    """Show the effective settings; secrets are masked."""
    from runax_cli.commands import config

    return config.show(common, has_origin=has_origin)


@config_app.command("check", cls=HelpCommand)
@with_options("source", "answer", "limits", "call", "output")
def check_config(*, common: CommonOptions) -> ExitCode:
    """Check the settings without opening a connection."""
    from runax_cli.commands import config

    return config.check(common)


@config_app.command("init", cls=HelpCommand)
@with_options("output")
def init_config(*, common: CommonOptions) -> ExitCode:
    """Write '.env' and 'runax.yaml' with every setting commented out; existing files are kept."""
    from runax_cli.commands import config

    return config.init(common)


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.MANAGE)
@with_options("source", "answer", "limits", "output")
def doctor(*, common: CommonOptions) -> ExitCode:
    """Check that the sources and the models are reachable and usable.

    Sends each model one short request.
    """
    from runax_cli.commands import doctor as command

    return _wait(command.run(common))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.TRY)
@with_options("output")
def mock(options: MockOptions, *, common: CommonOptions) -> ExitCode:
    """Serve mock data or your files as an API, MCP server or model endpoint."""
    from runax_cli.commands import mock as command

    return _wait(command.run(options, common))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.TRY)
@with_options("output")
def demo(*, common: CommonOptions) -> ExitCode:
    """Answer a sample question over mock data; needs no key and no network."""
    from runax_cli.commands import demo as command

    return _wait(command.run(common))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.TRY)
@with_options("output")
def smoke(
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the results as JSON.", metavar="FILE")] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", help="Write the results as JUnit XML.", metavar="FILE")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Ask only questions whose ids match; repeatable.", metavar="GLOB")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Ask questions with known answers against the mock API; for CI."""
    from runax_cli.commands import smoke as command

    return _wait(command.run(common, json_file=json_file, junit_file=junit_file, only=only or ()))


@app.command(cls=HelpCommand, rich_help_panel=CommandPanel.TRY)
@with_options("answer", "limits", "output")
def bench(options: BenchOptions, *, common: CommonOptions) -> ExitCode:
    """Run the benchmark from a source checkout.

    An oracle model answers the questions, or with --model a real one.
    """
    from runax_cli.commands import bench as command

    return _wait(command.run(options, common))


app.add_typer(tools_app, rich_help_panel=CommandPanel.INSPECT)
app.add_typer(runs_app, rich_help_panel=CommandPanel.INSPECT)
app.add_typer(config_app, rich_help_panel=CommandPanel.MANAGE)
