"""`runax config`: show the settings and their origins, check them, write files to begin with.

Knows settings. Opens no connection.
"""

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
# Settings of this project. Any setting of '.env' may stand here too, by its lower-case name, secrets excepted:
# `auth` and `key_variable` name a variable of the environment or of '.env'.
#
# limits: {max_steps: 12, max_usd: 0.50}
# tools: ["get_*"]                     # only these tools
# sources:
#   support:
#     kind: openapi
#     document: http://127.0.0.1:9001/openapi.json
#     auth: SUPPORT_TOKEN              # or, by the document's security schemes:
#     # auth: {api_key: SUPPORT_KEY, my_oauth: {client_id: CLIENT_ID, client_secret: CLIENT_SECRET, scope: read}}
#     # auth: {header X-Api-Key: SUPPORT_KEY}   where the document names no scheme; so do query and cookie
#     operations:
#       search_tickets: {read: true, page_size: 100}
#   files: {kind: mcp, command: "npx -y @modelcontextprotocol/server-filesystem ."}
# models:
#   reducer: {name: a-cheaper-model, base_url: http://127.0.0.1:11434/v1, key_variable: OLLAMA_KEY}
# prices:                              # of models that no price list has, in US dollars a million tokens
#   a-cheaper-model: {input: 0.10, output: 0.40}
# profiles:
#   careful: {llm_name: a-better-model, limits: {max_usd: 5}}
"""


def configuration_of(common: CommonOptions) -> Configuration:
    """The configuration that the options, the environment and the files make. Raises ConfigurationError."""
    return load(common.flags(), config=common.source.config, tools=tuple(common.source.tools))


def show(common: CommonOptions, *, has_origin: bool) -> ExitCode:
    """Print every setting in force; in the text form its origin only where asked for."""
    configuration = configuration_of(common)
    columns = ("name", "value", "origin") if has_origin else ("name", "value")
    printer = Printer(environment_of(common), common.output.form)
    rows = [*_setting_rows(configuration), *_source_rows(configuration)]
    redactor = Redactor(configuration.secrets())
    printer.rows("settings", [_masked(row, redactor) for row in rows], columns=columns)
    _note_remarks(configuration, printer)
    return ExitCode.COMPLETE


def _masked(row: Row, redactor: Redactor) -> Row:
    """Addresses and commands may hold keys as well."""
    return {**row, "value": redactor.text(row["value"])}


def _note_remarks(configuration: Configuration, printer: Printer) -> None:
    for remark in configuration.remarks:
        printer.note(remark)


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
    """Say that the settings can be used, or raise ConfigurationError with the first that cannot."""
    configuration = configuration_of(common)
    left_out = [flaw for name, part in configuration.sources().items() if (flaw := _flaw(name, part, configuration))]
    missing = [name for name, is_there in _needs(configuration, n_left_out=len(left_out)).items() if not is_there]
    printer = Printer(environment_of(common), common.output.form)
    words = f"The settings fit. Not set, and needed for a question: {', '.join(missing) or 'nothing'}."
    printer.one({"is_valid": True, "missing": missing, "left_out": left_out}, text=words)
    for flaw in left_out:
        printer.note(f"left out: {flaw}")
    _note_remarks(configuration, printer)
    return ExitCode.COMPLETE


def _flaw(name: str, part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration) -> str | None:
    """Why a server is left out, which harms no other. Raises ConfigurationError for what no command gets past."""
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


def _needs(configuration: Configuration, *, n_left_out: int) -> dict[str, bool]:
    return {
        "LLM_NAME": configuration.settings.llm_name is not None,
        "a source (OPENAPI_SPEC, BASE_API_URL, MCP_URL or runax.yaml)": len(configuration.sources()) > n_left_out,
    }


def init(common: CommonOptions) -> ExitCode:
    """Write `.env` and `runax.yaml` into the working directory where they are not there yet."""
    printer = Printer(environment_of(common), common.output.form)
    written = [
        _written(Path(".env"), env_example(), mode=0o600),
        _written(Path(PROJECT_FILE), YAML_EXAMPLE, mode=0o644),
    ]
    rows = [{"file": path, "state": "written" if is_new else "there already"} for path, is_new in written]
    printer.rows("files", rows, columns=("file", "state"))
    printer.note(f"The user's own file is {config_folder() / USER_FILE}; runs are kept in {state_folder()}.")
    return ExitCode.COMPLETE


def _written(path: Path, text: str, *, mode: int) -> tuple[str, bool]:
    try:
        with path.open("x", encoding="utf-8") as file:
            path.chmod(mode)
            file.write(text)
    except FileExistsError:
        return str(path), False
    return str(path), True


def env_example() -> str:
    """Every setting in comments: what it means, its default."""
    head = "# Settings of runax. The environment wins over this file: see `runax config show --origin`.\n"
    blocks = [f"# {help_of(name)}\n# {name_of(name)}={default_of(name)}\n" for name in FIELDS]
    return "\n".join([head, *blocks])
