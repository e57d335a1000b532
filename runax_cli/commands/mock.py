"""`runax mock`: serve mock data or files as an API, an MCP server or a model endpoint."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.types import ASGIApp

from adapters.json_text import compact_json
from mock_api.app import create_app, default_resources
from mock_api.conventions import Collection, all_conventions
from mock_api.faults import InvalidFaults, parse_faults
from mock_api.files import InvalidDataFile, open_files
from mock_api.llm_server import WireCompletion, WireMessage, WireRequest, WireToolCall, create_llm_app
from mock_api.mcp_server import create_mcp_app, serve_stdio
from mock_api.resources import Resource
from mock_api.serving import serve
from runax_cli.commands.options import CommonOptions, MockOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.models.base import Message, ModelReply, ModelRequest, OutputSchema, Role, ToolCall, ToolSchema
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import O200kCounter, request_text

_MODEL = RulesModel()
_COUNTER = O200kCounter()


async def answer(wire: WireRequest) -> WireCompletion:
    """The reply of the rules model, with token counts as an endpoint would report them."""
    return await asyncio.to_thread(_answer, wire)


def _answer(wire: WireRequest) -> WireCompletion:
    request = _request(wire)
    reply = _MODEL.reply(request)
    return WireCompletion(
        text=reply.text,
        tool_calls=tuple(WireToolCall(call.name, call.arguments, call.id) for call in reply.tool_calls),
        input_tokens=_COUNTER.count(request_text(request)),
        output_tokens=_COUNTER.count(_reply_text(reply)),
    )


def _reply_text(reply: ModelReply) -> str:
    return reply.text + "".join(compact_json([call.name, call.arguments]) for call in reply.tool_calls)


def _request(wire: WireRequest) -> ModelRequest:
    known = {role.value: role for role in Role}
    schema = wire.output_schema
    return ModelRequest(
        role=known.get(wire.role, Role.AGENT),
        messages=tuple(map(_message, wire.messages)),
        tools=tuple(ToolSchema(tool.name, tool.description, tool.parameters) for tool in wire.tools),
        output=None if schema is None else OutputSchema(schema.name, schema.schema),
        run_id=wire.run,
    )


def _message(wire: WireMessage) -> Message:
    calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in wire.tool_calls)
    match wire.role:
        case "assistant":
            return Message("assistant", wire.content, tool_calls=calls)
        case "tool":
            return Message("tool", wire.content, tool_call_id=wire.tool_call_id)
        case "user":
            return Message("user", wire.content)
        case _:
            return Message("system", wire.content)


LLM_MODEL = "mock"


async def run(options: MockOptions, common: CommonOptions) -> ExitCode:
    """Serve until interrupted. Raises UsageError for options that cannot be served."""
    if options.is_mcp and options.is_llm:
        raise UsageError("'--mcp' and '--llm' cannot be used together. Start two servers, with different --port.")
    with _resources(options) as resources:
        if options.is_stdio:
            await serve_stdio(resources, collections=_collections(options))
            return ExitCode.COMPLETE
        app = _app(options, resources)
        await _serve(app, options, Printer(environment_of(common), "text"), is_quiet=common.output.quiet)
    return ExitCode.COMPLETE


async def _serve(app: ASGIApp, options: MockOptions, printer: Printer, *, is_quiet: bool) -> None:
    try:
        async with serve(app, host=options.host, port=options.port) as base_url:
            for line in [] if is_quiet else _introduction(options, base_url):
                printer.note(line)
            await asyncio.Event().wait()
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {options.port}: {error.strerror}. Use '--port 0' for a free port."
        ) from error


@contextmanager
def _resources(options: MockOptions) -> Iterator[Sequence[Resource]]:
    if not options.files:
        chosen = {"seed": options.seed, "event_count": options.events}
        yield default_resources(**{name: value for name, value in chosen.items() if value is not None})
        return
    try:
        with open_files(options.files) as resources:
            yield resources
    except InvalidDataFile as error:
        raise UsageError(f"{error}. Use JSON (a list of objects), NDJSON or CSV.") from error
    except FileNotFoundError as error:
        raise UsageError(f"the file '{error.filename}' does not exist.") from error


def _app(options: MockOptions, resources: Sequence[Resource]) -> ASGIApp:
    if options.is_llm:
        return create_llm_app(answer, model=LLM_MODEL, token=options.token)
    if options.is_mcp:
        return create_mcp_app(resources, token=options.token, host=options.host, collections=_collections(options))
    try:
        return create_app(
            resources,
            styles=dict(map(_style, options.styles)),
            token=options.token,
            faults=parse_faults(options.faults, seed=options.seed or 0),
            collections=_collections(options),
        )
    except InvalidFaults as error:
        raise UsageError(f"'--faults {options.faults}': {error}.") from error
    except ValueError as error:
        raise UsageError(f"'--style': {error}.") from error


def _collections(options: MockOptions) -> Sequence[Collection]:
    return all_conventions() if options.has_conventions else ()


def _style(text: str) -> tuple[str, str]:
    resource, _, style = text.partition("=")
    if not style:
        raise UsageError(f"'--style {text}' must be RESOURCE=STYLE, for example '--style tickets=cursor'.")
    return resource, style


def _introduction(options: MockOptions, base_url: str) -> list[str]:
    token = f" BASE_API_TOKEN={options.token}" if options.token else ""
    if options.is_llm:
        key = f" LLM_API_KEY={options.token}" if options.token else ""
        settings = f"LLM_API_BASE_URL={base_url}/v1 LLM_NAME={LLM_MODEL}{key}"
        return [f"mock: the rules model is served at {base_url}/v1; it only matches words", settings]
    if options.is_mcp:
        token = f" MCP_TOKEN={options.token}" if options.token else ""
        return [f"mock: MCP server at {base_url}/mcp", f"MCP_URL={base_url}/mcp{token}"]
    return [
        f"mock: API at {base_url}, OpenAPI document at {base_url}/openapi.json",
        f"BASE_API_URL={base_url}{token}",
    ]
