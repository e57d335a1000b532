"""The Typer app: every command's name, arguments and help, and the one place that ends the process.

Knows the command line. What a command does is in `commands/`, imported when it runs: `--help` stays fast.
"""

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from runax_cli import __version__
from runax_cli.commands.options import BenchOptions, CommonOptions, MockOptions, with_options
from runax_cli.core.exit_codes import ExitCode
from runax_cli.process import ended, prepare_process


def _explain(context: typer.Context) -> ExitCode:
    """Help where a command is missing: on stderr, since nobody asked for it."""
    with redirect_stdout(sys.stderr):
        typer.echo(context.get_help())
    return ExitCode.USAGE


def _group(context: typer.Context) -> ExitCode:
    return ExitCode.COMPLETE if context.invoked_subcommand else _explain(context)


_SETTINGS = {"pretty_exceptions_enable": False, "context_settings": {"help_option_names": ["-h", "--help"]}}
app = typer.Typer(name="runax", **_SETTINGS)  # type: ignore[arg-type]
tools_app = typer.Typer(
    name="tools", invoke_without_command=True, callback=_group, help="The tools of the sources: list, show, call."
)
runs_app = typer.Typer(
    name="runs",
    invoke_without_command=True,
    callback=_group,
    help="Past runs: list, show, resume, export, prune; the schema of results.",
)
config_app = typer.Typer(
    name="config", invoke_without_command=True, callback=_group, help="The settings: show, check, init."
)


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    prepare_process()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; every error becomes one line on stderr."""
    with ended(is_debug="--debug" in arguments) as ending:
        # Typer's own prints would go to stdout or wrap at 80 columns: errors come here as exceptions.
        ending.code = app(arguments, prog_name="runax", standalone_mode=False) or ExitCode.COMPLETE
    return int(ending.code)


def _wait(command: Coroutine[Any, Any, ExitCode]) -> ExitCode:
    """Run a command's coroutine to its end; Typer would leave a coroutine function unawaited."""
    return asyncio.run(command)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001  Typer calls it with the value of the flag
    if is_asked:
        typer.echo(f"runax {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
@with_options("source", "answer", "limits", "call", "output")
def root(
    context: typer.Context,
    *,
    common: CommonOptions,
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> ExitCode:
    """Ask questions of APIs larger than a model's context window, and get answers with a certificate.

    Without a command: a conversation on a terminal, or one question from a pipe.
    """
    del version  # its callback has printed it
    context.obj = common
    if context.invoked_subcommand is not None:
        return ExitCode.COMPLETE
    from runax_cli.commands import bare

    return _wait(bare.run(common, explain=lambda: _explain(context)))


@app.command()
@with_options("source", "answer", "limits", "call", "output")
def query(
    question: Annotated[
        str | None, typer.Argument(help="The question; '-' reads standard input.", metavar="QUESTION")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Ask one question. Text from a pipe comes first, then the argument."""
    from runax_cli.commands import query as command

    return _wait(command.run(question, common))


@app.command()
@with_options("source", "answer", "limits", "call", "output")
def chat(*, common: CommonOptions) -> ExitCode:
    """Ask one question after another: history, completion, slash commands."""
    from runax_cli.commands import chat as command

    return _wait(command.run(common))


@app.command()
@with_options("source", "answer", "limits", "call", "output")
def plan(
    question: Annotated[
        str | None, typer.Argument(help="The question; '-' reads standard input.", metavar="QUESTION")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Show what a question will take: parts, calls, pages, requests, tokens, price and time. Only lookups are run."""
    from runax_cli.commands import plan as command

    return _wait(command.run(question, common))


@tools_app.command("list")
@with_options("source", "output")
def list_tools(*, common: CommonOptions) -> ExitCode:
    """List the tools with their price in tokens and the parameters that the model does not see."""
    from runax_cli.commands import tools

    return _wait(tools.list_tools(common))


@tools_app.command("show")
@with_options("source", "output")
def show_tool(name: Annotated[str, typer.Argument(help="Name of the tool.")], *, common: CommonOptions) -> ExitCode:
    """Show one tool as the model sees it, and how it pages."""
    from runax_cli.commands import tools

    return _wait(tools.show_tool(name, common))


@tools_app.command("call")
@with_options("source", "call", "output")
def call_tool(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments; a value may be JSON.", metavar="KEY=VALUE…")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Read all of one tool without any model: a preview, one JSON object, or one record a line."""
    from runax_cli.commands import tools_call

    return _wait(tools_call.run(name, arguments or [], common))


@runs_app.command("list")
@with_options("output")
def list_runs(
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, from the newest.")] = 20,
    *,
    common: CommonOptions,
) -> ExitCode:
    """List past runs, the newest first."""
    from runax_cli.commands import runs

    return runs.list_runs(limit, common)


@runs_app.command("show")
@with_options("answer", "limits", "output")
def show_run(
    run: Annotated[str, typer.Argument(help="Beginning of the run's id.")], *, common: CommonOptions
) -> ExitCode:
    """Show one run again: answer, certificate, evidence."""
    from runax_cli.commands import runs

    return runs.show_run(run, common)


@runs_app.command("resume")
@with_options("source", "answer", "limits", "call", "output")
def resume_run(
    run: Annotated[str, typer.Argument(help="Beginning of the run's id.")], *, common: CommonOptions
) -> ExitCode:
    """Go on with a run that was cut off or stopped: what is stored is neither fetched nor paid for again."""
    from runax_cli.commands import runs_resume

    return _wait(runs_resume.run(run, common))


@runs_app.command("export")
@with_options("output")
def export_run(
    run: Annotated[str, typer.Argument(help="Beginning of the run's id.")],
    *,
    form: Annotated[
        Literal["parquet", "ndjson", "csv"],
        typer.Option("--format", help="Form of the files.", metavar="parquet|ndjson|csv"),
    ] = "parquet",
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.", metavar="DIR")] = Path(),
    common: CommonOptions,
) -> ExitCode:
    """Write the datasets of a past run as Parquet, NDJSON or CSV files."""
    from runax_cli.commands import runs_export
    from runax_cli.executor.sql.parquet import ExportFormat

    return runs_export.run(run, common, form=ExportFormat(form), out=out)


@runs_app.command("schema")
@with_options("output")
def show_schema(*, common: CommonOptions) -> ExitCode:
    """Print the JSON Schema of results (-o json) or events (-o jsonl)."""
    from runax_cli.commands import runs

    return runs.show_schema(common)


@runs_app.command("prune")
@with_options("source", "output")
def prune_runs(
    *,
    is_all: Annotated[bool, typer.Option("--all", metavar="", help="Remove every stored dataset.")] = False,
    common: CommonOptions,
) -> ExitCode:
    """Remove stored datasets that are too old or too many by the settings; runs stay listed."""
    from runax_cli.commands import runs

    return runs.prune(common, is_all=is_all)


@config_app.command("show")
@with_options("source", "answer", "limits", "call", "output")
def show_config(
    *,
    has_origin: Annotated[bool, typer.Option("--origin", metavar="", help="Say where each value came from.")] = False,
    common: CommonOptions,
) -> ExitCode:
    """Show the settings in force; secrets are masked."""
    from runax_cli.commands import config

    return config.show(common, has_origin=has_origin)


@config_app.command("check")
@with_options("source", "answer", "limits", "call", "output")
def check_config(*, common: CommonOptions) -> ExitCode:
    """Check the settings without any connection."""
    from runax_cli.commands import config

    return config.check(common)


@config_app.command("init")
@with_options("output")
def init_config(*, common: CommonOptions) -> ExitCode:
    """Write '.env' and 'runax.yaml' with every setting in comments; existing files stay as they are."""
    from runax_cli.commands import config

    return config.init(common)


@app.command()
@with_options("source", "answer", "limits", "output")
def doctor(*, common: CommonOptions) -> ExitCode:
    """Check that everything is reachable and usable; the model gets one tiny request."""
    from runax_cli.commands import doctor as command

    return _wait(command.run(common))


@app.command()
@with_options("output")
def mock(options: MockOptions, *, common: CommonOptions) -> ExitCode:
    """Serve made-up data, or files, as an API on port 9001; --mcp and --llm serve the other two."""
    from runax_cli.commands import mock as command

    return _wait(command.run(options, common))


@app.command()
@with_options("output")
def demo(*, common: CommonOptions) -> ExitCode:
    """See the main job at once: a question over a dataset ten times the context. No key, no network."""
    from runax_cli.commands import demo as command

    return _wait(command.run(common))


@app.command()
@with_options("output")
def smoke(
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the results as JSON.", metavar="FILE")] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", help="Write the results as JUnit XML.", metavar="FILE")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only questions whose ids match; repeatable.", metavar="GLOB")
    ] = None,
    *,
    common: CommonOptions,
) -> ExitCode:
    """Ask questions with known answers against the mock API and the rules model, over real HTTP."""
    from runax_cli.commands import smoke as command

    return _wait(command.run(common, json_file=json_file, junit_file=junit_file, only=only or ()))


@app.command()
@with_options("answer", "limits", "output")
def bench(options: BenchOptions, *, common: CommonOptions) -> ExitCode:
    """Ask the question bench from a checkout, by a model that knows the answers; --model takes a real one."""
    from runax_cli.commands import bench as command

    return _wait(command.run(options, common))


app.add_typer(tools_app)
app.add_typer(runs_app)
app.add_typer(config_app)
