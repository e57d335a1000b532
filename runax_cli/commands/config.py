"""`runax config`: show the settings and their origins, check them, write example files."""

from pathlib import Path

from adapters.errors import SourceError
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, Row, environment_of
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import config_folder, state_folder
from runax_cli.runtime.sources import mcp_settings, openapi_settings
from runax_cli.settings.file_schema import McpSourceSettings, OpenApiSourceSettings, variables_of
from runax_cli.settings.loader import PROJECT_FILE, USER_FILE, Configuration, load
from runax_cli.settings.settings import FIELDS, default_of, help_of, name_of
from runax_cli.telemetry.redaction import Redactor

YAML_EXAMPLE = """\
# Settings of this project. All settings of '.env' are allowed here by their lower-case names, except secrets:
# `auth` and `key_variable` name a variable of the environment or of '.env'.
#
# limits: {max_steps: 12, max_usd: 0.50}
# tools: ["get_*"]                     # only these tools
# sources:
#   support:
#     kind: openapi
#     document: http://127.0.0.1:9001/openapi.json
#     auth: SUPPORT_TOKEN              # or one entry per security scheme of the document:
#     # auth: {api_key: SUPPORT_KEY, my_oauth: {client_id: CLIENT_ID, client_secret: CLIENT_SECRET, scope: read}}
#     # auth: {header X-Api-Key: SUPPORT_KEY}   if the document has no scheme; `query` and `cookie` work too
#     operations:
#       search_tickets: {read: true, page_size: 100, description: "Full-text search in tickets, newest first."}
#   files: {kind: mcp, command: "npx -y @modelcontextprotocol/server-filesystem ."}
# models:
#   reducer: {name: a-cheaper-model, base_url: http://127.0.0.1:11434/v1, key_variable: OLLAMA_KEY}
# prices:                              # of models missing in the price list, in US dollars per million tokens
#   a-cheaper-model: {input: 0.10, output: 0.40}
# profiles:
#   careful: {llm_name: a-better-model, limits: {max_usd: 5}}
"""


def configuration_of(common: CommonOptions) -> Configuration:
    """The configuration from options, environment and files. Raises ConfigurationError."""
    return load(common.flags(), config=common.source.config, tools=tuple(common.source.tools))


def show(common: CommonOptions, *, has_origin: bool) -> ExitCode:
    """Print every effective setting; the text format shows origins only with `has_origin`."""
    configuration = configuration_of(common)
    columns = ("name", "value", "origin") if has_origin else ("name", "value")
    printer = Printer(environment_of(common), common.output.form)
    rows = [*_setting_rows(configuration), *_source_rows(configuration)]
    redactor = Redactor(configuration.secrets())
    printer.rows("settings", [_masked(row, redactor) for row in rows], columns=columns)
    _print_warnings(configuration, printer)
    return ExitCode.COMPLETE


def _masked(row: Row, redactor: Redactor) -> Row:
    """The row with secrets masked: URLs and commands may contain keys."""
    return {**row, "value": redactor.text(row["value"])}


def _print_warnings(configuration: Configuration, printer: Printer) -> None:
    for warning in configuration.warnings:
        printer.note(warning)


def _setting_rows(configuration: Configuration) -> list[Row]:
    settings, origins = configuration.settings, configuration.origins
    return [{"name": name_of(name), "value": settings.shown(name), "origin": origins[name]} for name in FIELDS]


def _source_rows(configuration: Configuration) -> list[Row]:
    return [
        {"name": f"source {name}", "value": _address(source.model_dump()), "origin": source.kind}
        for name, source in configuration.sources().items()
    ]


def _address(source: Row) -> str:
    command = " ".join(source.get("command") or ())
    return str(source.get("document") or source.get("base_url") or source.get("url") or command)


def check(common: CommonOptions) -> ExitCode:
    """Print that the settings are valid, or raise ConfigurationError for the first invalid one."""
    configuration = configuration_of(common)
    sources = configuration.sources()
    skipped = [error for name, part in sources.items() if (error := _source_error(name, part, configuration))]
    missing = [name for name, is_set in _required(configuration, n_skipped=len(skipped)).items() if not is_set]
    printer = Printer(environment_of(common), common.output.form)
    text = "Configuration is valid." + (f" Set before asking a question: {', '.join(missing)}." if missing else "")
    printer.one({"is_valid": True, "missing": missing, "left_out": skipped}, text=text)
    for error in skipped:
        printer.note(f"skipped source: {error}")
    _print_warnings(configuration, printer)
    return ExitCode.COMPLETE


def _source_error(
    name: str, part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration
) -> str | None:
    """Why a source is skipped while others are used. Raises ConfigurationError for errors that stop every command."""
    for variable in variables_of(part.auth):
        configuration.credential(variable, owner=f"source {name}")
    try:
        if isinstance(part, OpenApiSourceSettings):
            openapi_settings(name, part, configuration)
        else:
            mcp_settings(name, part, configuration)
    except SourceError as error:
        return f"{name}: {error}"
    return None


def _required(configuration: Configuration, *, n_skipped: int) -> dict[str, bool]:
    """The settings that a question needs, and whether each is set."""
    return {
        "LLM_NAME": configuration.settings.llm_name is not None,
        "a source (OPENAPI_SPEC, BASE_API_URL, MCP_URL or runax.yaml)": len(configuration.sources()) > n_skipped,
    }


def init(common: CommonOptions) -> ExitCode:
    """Write `.env` and `runax.yaml` to the working directory, keeping existing files."""
    printer = Printer(environment_of(common), common.output.form)
    written = [
        _write_new(Path(".env"), env_example(), mode=0o600),
        _write_new(Path(PROJECT_FILE), YAML_EXAMPLE, mode=0o644),
    ]
    rows = [{"file": path, "state": "written" if is_new else "there already"} for path, is_new in written]
    printer.rows("files", rows, columns=("file", "state"))
    printer.note(f"User settings: {config_folder() / USER_FILE}. Stored runs: {state_folder()}.")
    return ExitCode.COMPLETE


def _write_new(path: Path, text: str, *, mode: int) -> tuple[str, bool]:
    try:
        with path.open("x", encoding="utf-8") as file:
            path.chmod(mode)
            file.write(text)
    except FileExistsError:
        return str(path), False
    return str(path), True


def env_example() -> str:
    """A `.env` file with every setting commented out, with its help text and default."""
    head = (
        "# Settings of runax. Environment variables take precedence over this file; `runax config show --origin`\n"
        "# shows the origin of each value.\n"
    )
    blocks = [f"# {help_of(name)}\n# {name_of(name)}={default_of(name)}\n" for name in FIELDS]
    return "\n".join([head, *blocks])
