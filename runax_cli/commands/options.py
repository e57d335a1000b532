"""The options of the commands, in groups; each command takes the groups that it uses.

Imports nothing heavy: `runax --help` reads this module.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import typer

from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.settings.limits import (
    LIMIT_SETTINGS,
    LIMITS_BY_NAME,
    TENANT,
    TENANT_HELP,
    TIMEOUT,
    LimitScope,
    LimitSetting,
)
from runax_cli.ui.help import ALIASES, print_full_help

Output: TypeAlias = Literal["text", "json", "jsonl"]
Color: TypeAlias = Literal["auto", "always", "never"]
Review: TypeAlias = Literal["auto", "always", "never"]
_IS_ADDITIVE = "is_additive"
"""Marks a list that adds to what was given before the command's name, instead of replacing it."""
_Options = TypeVar("_Options", bound="OptionGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroup:
    """A group of options. An option that is not given is None, False or empty."""

    def over(self: _Options, root: _Options) -> _Options:
        """These options, completed by those given before the command's name."""
        return type(self)(**{item.name: _combined(item, self, root) for item in fields(self)})


def _combined(item: "Field[Any]", mine: OptionGroup, root: OptionGroup) -> Any:
    own, theirs = getattr(mine, item.name), getattr(root, item.name)
    if item.metadata.get(_IS_ADDITIVE):
        return [*theirs, *own]
    return own or theirs if _is_unset(own) else own


def _is_unset(value: Any) -> bool:
    return value is None or value is False or value == []


def _option(*names: str, text: str, panel: str, metavar: str = "", is_rare: bool = False) -> Any:
    """A common option; `--help` leaves out the rare ones, `--help-all` lists them."""
    return typer.Option(*names, help=text, rich_help_panel=panel, metavar=metavar, show_default=False, hidden=is_rare)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(OptionGroup):
    """Which sources and settings files are used."""

    openapi: Annotated[
        str | None, _option("--openapi", text="OpenAPI document: a path or URL.", panel="Source", metavar="DOC")
    ] = None
    base_url: Annotated[
        str | None, _option("--base-url", text="Base URL of the API.", panel="Source", metavar="URL")
    ] = None
    mcp: Annotated[
        str | None,
        _option("--mcp", text="MCP server: its URL or start command.", panel="Source", metavar="URL|COMMAND"),
    ] = None
    config: Annotated[
        Path | None,
        _option(
            "--config",
            text="Settings file: runax.yaml or an mcpServers file.",
            panel="Source",
            metavar="FILE",
            is_rare=True,
        ),
    ] = None
    tools: Annotated[
        list[str],
        _option(
            "--tools",
            text="Use only tools whose names match; repeatable.",
            panel="Source",
            metavar="GLOB",
            is_rare=True,
        ),
    ] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(OptionGroup):
    """Which model answers, whether its answers are reviewed, and whether the evidence is shown."""

    model: Annotated[
        str | None,
        _option(
            "--model", "-m", text="Model name; 'rules' is the offline rules model.", panel="Answer", metavar="NAME"
        ),
    ] = None
    review: Annotated[
        Review | None,
        _option(
            "--review",
            text="When a model reviews answers against their evidence.",
            panel="Answer",
            metavar="auto|always|never",
            is_rare=True,
        ),
    ] = None
    evidence: Annotated[bool, _option("--evidence", text="Show the evidence of every statement.", panel="Answer")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(OptionGroup):
    """What tool calls may do, and for how long."""

    allow_writes: Annotated[
        bool, _option("--allow-writes", text="Let tools change data without approval.", panel="Calls")
    ] = False
    no_cache: Annotated[bool, _option("--no-cache", text="Ignore all caches.", panel="Calls", is_rare=True)] = False
    timeout: Annotated[
        float | None, _option("--timeout", text=LIMIT_SETTINGS[TIMEOUT].help, panel="Calls", metavar="SECONDS")
    ] = None


def _limit_options() -> type[OptionGroup]:
    """The option `--limit`, and one option per limit: rare ones for a turn, aliases for the other scopes."""
    limit = Annotated[
        list[str],
        _option(
            "--limit",
            text="Set a limit, such as usd=0.50; repeatable.",
            panel="Limits",
            metavar="NAME=VALUE",
        ),
    ]
    tenant = Annotated[str | None, _option("--tenant", text=TENANT_HELP, panel="Limits", metavar="NAME", is_rare=True)]
    # `--timeout` is among the options of calls, which commands without a model take as well.
    own = [(each.field, _limit_type(each)) for each in LIMIT_SETTINGS.values() if each.field != TIMEOUT]
    return make_dataclass(
        "LimitOptions",
        [
            ("limit", limit, field(default_factory=list, metadata={_IS_ADDITIVE: True})),
            *((name, kind, field(default=None)) for name, kind in (*own, (TENANT, tenant))),
        ],
        bases=(OptionGroup,),
        namespace={"__doc__": "How much a turn, a session, a day and a tenant may use."},
        frozen=True,
        slots=True,
        kw_only=True,
    )


def _limit_type(limit: LimitSetting) -> Any:
    panel = "Limits" if limit.scope is LimitScope.TURN else ALIASES
    option = _option(limit.option, text=limit.help, panel=panel, metavar=limit.metavar, is_rare=True)
    return Annotated[(int if limit.is_whole else float) | None, option]


LimitOptions = _limit_options()


def parse_limits(texts: Iterable[str]) -> dict[str, str]:
    """The values of `--limit NAME=VALUE` by the field of the setting. Raises UsageError."""
    return dict(map(_parse_limit, texts))


def _parse_limit(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise UsageError(f"'--limit {text}' must be NAME=VALUE, for example '--limit day.tokens=100000'.")
    if name not in LIMITS_BY_NAME:
        nearest = get_close_matches(name, LIMITS_BY_NAME, n=1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known limits: {', '.join(LIMITS_BY_NAME)}."
        raise UsageError(f"'--limit {text}': unknown limit '{name}'; {hint}")
    return LIMITS_BY_NAME[name].field, value


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(OptionGroup):
    """How the result and the log are shown."""

    output: Annotated[
        Output | None,
        _option("--output", "-o", text="Output format of the result.", panel="Output", metavar="text|json|jsonl"),
    ] = None
    quiet: Annotated[
        bool, _option("--quiet", "-q", text="Show only the result and errors.", panel="Output", is_rare=True)
    ] = False
    verbose: Annotated[
        bool, _option("--verbose", "-v", text="Show request and response bodies in the log.", panel="Output")
    ] = False
    color: Annotated[
        Color | None,
        _option("--color", text="When to use colors.", panel="Output", metavar="auto|always|never", is_rare=True),
    ] = None
    debug: Annotated[bool, _option("--debug", text="Show the traceback of an error.", panel="Output", is_rare=True)] = (
        False
    )

    @property
    def form(self) -> Output:
        """The output format; text by default."""
        return self.output or "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class MockOptions(OptionGroup):
    """What `runax mock` serves, where, and which faults it injects."""

    files: Annotated[
        list[Path], typer.Argument(help="JSON, NDJSON or CSV files to serve instead of the mock data.", metavar="FILE…")
    ] = field(default_factory=list)
    host: Annotated[str, typer.Option("--host", help="Address to listen on.", metavar="HOST")] = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", help="Port; 0 picks a free one.", metavar="PORT", min=0, max=65535)] = (
        9001
    )
    token: Annotated[
        str | None, typer.Option("--token", help="Bearer token that clients must send.", metavar="TOKEN")
    ] = None
    is_mcp: Annotated[bool, typer.Option("--mcp", metavar="", help="Serve the data as an MCP server.")] = False
    is_stdio: Annotated[
        bool, typer.Option("--stdio", metavar="", help="With --mcp: serve over standard input and output.")
    ] = False
    is_llm: Annotated[bool, typer.Option("--llm", metavar="", help="Serve the rules model as a model endpoint.")] = (
        False
    )
    has_conventions: Annotated[
        bool,
        typer.Option(
            "--conventions", metavar="", help="Also serve every pagination style: a route /by/NAME and a tool each."
        ),
    ] = False
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the data and the faults.", metavar="N")] = None
    events: Annotated[int | None, typer.Option("--events", help="Number of monitoring events.", metavar="N", min=0)] = (
        None
    )
    styles: Annotated[
        list[str],
        typer.Option(
            "--style",
            help="Pagination style of a resource: offset, page, cursor, link, next_url or single; repeatable.",
            metavar="RESOURCE=STYLE",
        ),
    ] = field(default_factory=list)
    faults: Annotated[
        str,
        typer.Option("--faults", help="Faults to inject, such as 'rate_limited=0.1,latency=0.05'.", metavar="FAULTS"),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(OptionGroup):
    """What `runax bench` asks, over how much data, and how the oracle model behaves."""

    sections: Annotated[
        list[str],
        typer.Option(
            "--section",
            help="Run only this section (exact, repaired, plain, scale, compound, labels, noise, forecast).",
            metavar="NAME",
        ),
    ] = field(default_factory=list)
    only: Annotated[
        list[str], typer.Option("--only", help="Ask only questions whose ids match; repeatable.", metavar="GLOB")
    ] = field(default_factory=list)
    events: Annotated[
        int,
        typer.Option(
            "--events",
            help="Maximum number of monitoring events in the section scale.",
            metavar="N",
            min=1,
            max=1_000_000,
        ),
    ] = 1_000_000
    p: Annotated[
        float,
        typer.Option("--p", help="Probability of a correct label in the section noise.", metavar="P", min=0, max=1),
    ] = 0.9
    seed: Annotated[int, typer.Option("--seed", help="Seed of the wrong labels and unusable replies.", metavar="N")] = 1
    latency: Annotated[
        float, typer.Option("--latency", help="Latency of the oracle model, in seconds.", metavar="SECONDS", min=0)
    ] = 0.0
    is_plain: Annotated[
        bool, typer.Option("--plain", metavar="", help="Compare with a plain agent that pages by itself.")
    ] = False
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results as JSON.", metavar="FILE")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The option groups of a command, each completed by the options given before its name."""

    source: SourceOptions = field(default_factory=SourceOptions)
    answer: AnswerOptions = field(default_factory=AnswerOptions)
    limits: OptionGroup = field(default_factory=LimitOptions)
    call: CallOptions = field(default_factory=CallOptions)
    output: OutputOptions = field(default_factory=OutputOptions)

    def flags(self) -> dict[str, Any]:
        """The settings given on the command line, by field; None if not given. Raises UsageError."""
        source = self.source
        own = {item.name: getattr(self.limits, item.name) for item in fields(self.limits)}
        limits = parse_limits(own.pop("limit", ()))
        return own | {
            "openapi_spec": source.openapi,
            "base_api_url": source.base_url,
            "mcp_url": source.mcp,
            "llm_name": self.answer.model,
            "review": self.answer.review,
            "cache_max_age_hours": 0.0 if self.call.no_cache else None,
            TIMEOUT: self.call.timeout,
            **limits,
        }


GROUPS: dict[str, type[OptionGroup]] = {
    "source": SourceOptions,
    "answer": AnswerOptions,
    "limits": LimitOptions,
    "call": CallOptions,
    "output": OutputOptions,
}
_CONTEXT = "context"
_HELP_ALL = "help_all"
Command: TypeAlias = Callable[..., ExitCode]


def with_options(*groups: str) -> Callable[[Command], Command]:
    """Give a command the options of `groups`, passed to it as the argument `common`.

    Options given before the command's name apply too; those after it take precedence. A parameter of the command
    whose type is an option group is flattened in the same way.
    """
    chosen = {name: GROUPS[name] for name in groups}

    def decorate(function: Command) -> Command:
        parameters_of = inspect.signature(function).parameters
        own = [p for p in parameters_of.values() if p.name not in ("common", _CONTEXT) and not _is_group(p)]
        own_groups = {p.name: p.annotation for p in parameters_of.values() if _is_group(p)}
        shared = [_parameter(item) for group in (*own_groups.values(), *chosen.values()) for item in fields(group)]

        def command(**values: Any) -> ExitCode:
            context = values[_CONTEXT] if _CONTEXT in parameters_of else values.pop(_CONTEXT)
            del values[_HELP_ALL]
            given = {name: group(**_pop_fields(values, group)) for name, group in chosen.items()}
            mine = {name: group(**_pop_fields(values, group)) for name, group in own_groups.items()}
            return function(**values, **mine, common=_with_root_options(given, context))

        context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        help_all = inspect.Parameter(_HELP_ALL, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_HelpAll)
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (context, *own, *shared, help_all)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


_HelpAll: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Show this message with all options.",
        metavar="",
        callback=print_full_help,
        is_eager=True,
        show_default=False,
    ),
]


def _is_group(parameter: inspect.Parameter) -> bool:
    return inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, OptionGroup)


def _parameter(item: "Field[Any]") -> inspect.Parameter:
    default = item.default if item.default is not MISSING else []
    return inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=item.type)


def _pop_fields(values: dict[str, Any], group: type[Any]) -> dict[str, Any]:
    return {item.name: values.pop(item.name) for item in fields(group)}


def _with_root_options(given: dict[str, Any], context: typer.Context) -> CommonOptions:
    root = context.find_root().obj
    if not isinstance(root, CommonOptions):
        return CommonOptions(**given)
    return CommonOptions(
        **{name: given[name].over(getattr(root, name)) if name in given else getattr(root, name) for name in GROUPS}
    )
