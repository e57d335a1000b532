"""The common options, in groups; a command takes the groups that mean something to it.

Knows names, types and help texts. Imports nothing heavy: `runax --help` reads this module.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import typer

from runax_cli.core.exit_codes import ExitCode
from runax_cli.settings.settings import LIMIT_SETTINGS, TENANT, TENANT_TEXT, TIMEOUT, LimitScope

SHARED_PANEL = "Limits of session and day"
Output: TypeAlias = Literal["text", "json", "jsonl"]
Color: TypeAlias = Literal["auto", "always", "never"]
_Options = TypeVar("_Options", bound="OptionGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroup:
    """A group of options. What the command line does not give is None, False or empty."""

    def over(self: _Options, root: _Options) -> _Options:
        """These options, completed by those that were given before the command's name."""
        mine = {item.name: getattr(self, item.name) for item in fields(self)}
        theirs = {item.name: getattr(root, item.name) for item in fields(root)}
        return type(self)(
            **{name: value or theirs[name] if _is_unset(value) else value for name, value in mine.items()}
        )


def _is_unset(value: Any) -> bool:
    return value is None or value is False or value == []


def _option(*names: str, text: str, panel: str, metavar: str = "") -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, metavar=metavar, show_default=False)


def _limit(name: str) -> Any:
    """The flag of a limit."""
    setting = LIMIT_SETTINGS[name]
    panel = "Limits" if setting.scope is LimitScope.TURN else SHARED_PANEL
    return _option(setting.flag, text=setting.text, panel=panel, metavar=setting.metavar)


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
        _option(
            "--mcp", text="MCP server: its URL, or the command that starts it.", panel="Source", metavar="URL|COMMAND"
        ),
    ] = None
    config: Annotated[
        Path | None,
        _option("--config", text="Settings file (runax.yaml or an mcpServers file).", panel="Source", metavar="FILE"),
    ] = None
    tools: Annotated[
        list[str], _option("--tools", text="Only tools whose names match; repeatable.", panel="Source", metavar="GLOB")
    ] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(OptionGroup):
    """Which model answers, and how much of its proof is shown."""

    model: Annotated[
        str | None,
        _option("--model", "-m", text="Model; 'rules' is the offline rules model.", panel="Answer", metavar="NAME"),
    ] = None
    evidence: Annotated[bool, _option("--evidence", text="Show what every statement rests on.", panel="Answer")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(OptionGroup):
    """What calls may do, and for how long."""

    allow_writes: Annotated[
        bool, _option("--allow-writes", text="Let tools change data without asking.", panel="Limits")
    ] = False
    no_cache: Annotated[
        bool, _option("--no-cache", text="Fetch, read and label anew, whatever is stored.", panel="Limits")
    ] = False
    timeout: Annotated[float | None, _limit(TIMEOUT)] = None


def _limit_options() -> "type[OptionGroup]":
    """A flag for every limit of the table, but for the one that calls without a model have too."""
    given = [
        (setting.field, Annotated[(int if setting.is_whole else float) | None, _limit(setting.field)])
        for setting in LIMIT_SETTINGS.values()
        if setting.field != TIMEOUT
    ]
    tenant = (TENANT, Annotated[str | None, _option("--tenant", text=TENANT_TEXT, panel=SHARED_PANEL, metavar="NAME")])
    fields_of = [(name, kind, field(default=None)) for name, kind in (*given, tenant)]
    return make_dataclass(
        "LimitOptions",
        fields_of,
        bases=(OptionGroup,),
        namespace={"__doc__": "How much may be used: by a turn, a session, a day and a tenant."},
        frozen=True,
        slots=True,
        kw_only=True,
    )


LimitOptions = _limit_options()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(OptionGroup):
    """How the result and the way to it are shown."""

    output: Annotated[
        Output | None,
        _option("--output", "-o", text="Form of standard output.", panel="Output", metavar="text|json|jsonl"),
    ] = None
    quiet: Annotated[bool, _option("--quiet", "-q", text="Only the result and errors.", panel="Output")] = False
    verbose: Annotated[bool, _option("--verbose", "-v", text="Show bodies in the log.", panel="Output")] = False
    color: Annotated[
        Color | None, _option("--color", text="When to use colours.", panel="Output", metavar="auto|always|never")
    ] = None
    debug: Annotated[bool, _option("--debug", text="Show the traceback of an error.", panel="Output")] = False

    @property
    def form(self) -> Output:
        """The form of standard output: text unless another was asked for."""
        return self.output or "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class MockOptions(OptionGroup):
    """What `runax mock` serves, where, and what goes wrong on purpose."""

    files: Annotated[
        list[Path], typer.Argument(help="JSON, NDJSON or CSV files to serve instead.", metavar="FILE…")
    ] = field(default_factory=list)
    host: Annotated[str, typer.Option("--host", help="Address to listen on.", metavar="HOST")] = "127.0.0.1"
    port: Annotated[
        int, typer.Option("--port", help="Port; 0 takes any free one.", metavar="PORT", min=0, max=65535)
    ] = 9001
    token: Annotated[str | None, typer.Option("--token", help="Bearer token that requests need.", metavar="TOKEN")] = (
        None
    )
    is_mcp: Annotated[bool, typer.Option("--mcp", metavar="", help="Serve the data as an MCP server.")] = False
    is_stdio: Annotated[
        bool, typer.Option("--stdio", metavar="", help="With --mcp: speak over standard input and output.")
    ] = False
    is_llm: Annotated[
        bool, typer.Option("--llm", metavar="", help="Serve a model endpoint with the rules model behind it.")
    ] = False
    has_conventions: Annotated[
        bool,
        typer.Option(
            "--conventions", metavar="", help="Serve every convention of pagination too: a route /by/NAME, a tool each."
        ),
    ] = False
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of data and faults.", metavar="N")] = None
    events: Annotated[
        int | None, typer.Option("--events", help="How many monitoring events there are.", metavar="N", min=0)
    ] = None
    styles: Annotated[
        list[str],
        typer.Option(
            "--style",
            help="Pagination of a resource: offset, page, cursor, link, next_url or single; repeatable.",
            metavar="RESOURCE=STYLE",
        ),
    ] = field(default_factory=list)
    faults: Annotated[
        str, typer.Option("--faults", help="What goes wrong, as in 'rate_limited=0.1,latency=0.05'.", metavar="FAULTS")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(OptionGroup):
    """What `runax bench` asks, over how much, and how the model that knows behaves."""

    sections: Annotated[
        list[str],
        typer.Option(
            "--section",
            help="Only this section: exact, repaired, plain, scale, compound, labels, noise or forecast; repeatable.",
            metavar="NAME",
        ),
    ] = field(default_factory=list)
    only: Annotated[
        list[str], typer.Option("--only", help="Only questions whose ids match; repeatable.", metavar="GLOB")
    ] = field(default_factory=list)
    events: Annotated[
        int,
        typer.Option(
            "--events", help="Most monitoring events in the section scale.", metavar="N", min=1, max=1_000_000
        ),
    ] = 1_000_000
    p: Annotated[
        float, typer.Option("--p", help="Probability of a right label in the section noise.", metavar="P", min=0, max=1)
    ] = 0.9
    seed: Annotated[int, typer.Option("--seed", help="Seed of wrong labels and useless replies.", metavar="N")] = 1
    latency: Annotated[
        float, typer.Option("--latency", help="Seconds that the model that knows waits.", metavar="SECONDS", min=0)
    ] = 0.0
    is_plain: Annotated[
        bool, typer.Option("--plain", metavar="", help="Compare with the plain way: page by page, in prose.")
    ] = False
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures as JSON.", metavar="FILE")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The groups that a command took, each completed by the options of the root."""

    source: SourceOptions = field(default_factory=SourceOptions)
    answer: AnswerOptions = field(default_factory=AnswerOptions)
    limits: OptionGroup = field(default_factory=LimitOptions)
    call: CallOptions = field(default_factory=CallOptions)
    output: OutputOptions = field(default_factory=OutputOptions)

    def flags(self) -> dict[str, Any]:
        """What the command line gives, by the field of the settings that it overrides."""
        source, limits = self.source, {item.name: getattr(self.limits, item.name) for item in fields(self.limits)}
        return limits | {
            "openapi_spec": source.openapi,
            "base_api_url": source.base_url,
            "mcp_url": source.mcp,
            "llm_name": self.answer.model,
            "cache_max_age_hours": 0.0 if self.call.no_cache else None,
            TIMEOUT: self.call.timeout,
        }


GROUPS: dict[str, type[OptionGroup]] = {
    "source": SourceOptions,
    "answer": AnswerOptions,
    "limits": LimitOptions,
    "call": CallOptions,
    "output": OutputOptions,
}
_CONTEXT = "context"
Command: TypeAlias = Callable[..., ExitCode]


def with_options(*groups: str) -> Callable[[Command], Command]:
    """Give a command the options of `groups` besides its own, and hand them over as its argument `common`.

    OptionGroup that stand before the command's name (on the root) hold too; those after it win. A parameter of the
    command that is a group itself is made flat in the same way.
    """
    chosen = {name: GROUPS[name] for name in groups}

    def decorate(function: Command) -> Command:
        parameters_of = inspect.signature(function).parameters
        own = [p for p in parameters_of.values() if p.name not in ("common", _CONTEXT) and not _is_group(p)]
        own_groups = {p.name: p.annotation for p in parameters_of.values() if _is_group(p)}
        shared = [_parameter(item) for group in (*own_groups.values(), *chosen.values()) for item in fields(group)]

        def command(**values: Any) -> ExitCode:
            context = values[_CONTEXT] if _CONTEXT in parameters_of else values.pop(_CONTEXT)
            given = {name: group(**_taken(values, group)) for name, group in chosen.items()}
            mine = {name: group(**_taken(values, group)) for name, group in own_groups.items()}
            return function(**values, **mine, common=_completed(given, context))

        context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (context, *own, *shared)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _is_group(parameter: inspect.Parameter) -> bool:
    return inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, OptionGroup)


def _parameter(item: "Field[Any]") -> inspect.Parameter:
    default = item.default if item.default is not MISSING else []
    return inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=item.type)


def _taken(values: dict[str, Any], group: type[Any]) -> dict[str, Any]:
    return {item.name: values.pop(item.name) for item in fields(group)}


def _completed(given: dict[str, Any], context: typer.Context) -> CommonOptions:
    root = context.find_root().obj
    if not isinstance(root, CommonOptions):
        return CommonOptions(**given)
    return CommonOptions(
        **{name: given[name].over(getattr(root, name)) if name in given else getattr(root, name) for name in GROUPS}
    )
