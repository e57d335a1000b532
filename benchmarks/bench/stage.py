"""The stage of a bench: the data behind the mock API, the model server, and a conversation with runax over both.

Everything except the model is real: HTTP on loopback, the OpenAPI document, the openai SDK, the session.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from benchmarks.bench.judged import Asked, fault_of, golds_of
from benchmarks.bench.knowing import Knowing
from benchmarks.bench.script import folded
from benchmarks.questions import Compound, LabelQuestion, Question, World
from mock_api.app import create_app
from mock_api.llm_server import create_llm_app
from mock_api.resources import Resource
from mock_api.serving import serve
from runax_cli.agent.planning.planner import MAX_LISTED_TOOLS, TOOL_CHARS
from runax_cli.agent.result.certificate import certificate_line
from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import SessionConversation, open_conversation, run_turn
from runax_cli.commands.demo import TOKEN, demo_configuration
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import environment_of
from runax_cli.core.results import RunResult
from runax_cli.guard.visible_tool import visible_tool
from runax_cli.models.base import ModelRequest, Role
from runax_cli.models.tokens import O200kCounter, request_text
from runax_cli.settings.loader import Configuration
from runax_cli.ui.view_factory import build_view

MODEL = "knowing"


@dataclass(frozen=True, slots=True)
class Stage:
    """A conversation over both servers.

    `tools_tokens` is what the list of the sources' tools costs in a request, by the role that receives it.
    """

    conversation: SessionConversation
    world: World
    api_url: str
    configuration: Configuration
    tools_tokens: Mapping[str, int]

    def anew(self) -> "Stage":
        """The same with a conversation that has no datasets and no history."""
        return replace(self, conversation=self.conversation.new_session())

    def tool_list_tokens(self, result: RunResult) -> int:
        """The tokens of the list of the sources' tools in a run."""
        roles = result.usage.by_role
        return sum(roles[role].requests * tokens for role, tokens in self.tools_tokens.items() if role in roles)

    async def ask(self, question: Question | Compound | LabelQuestion) -> Asked:
        """Ask, and compare the answer with gold."""
        began = time.perf_counter()
        result = await run_turn(self.conversation.ask(question.text), before_abort=lambda: None)
        seconds = time.perf_counter() - began
        usage = result.usage
        return Asked(
            id=question.id,
            kind=_kind_of(question),
            n_sources=1 if isinstance(question, Compound) else len(question.fetches),
            why=fault_of(golds_of(question, self.world), result),
            tokens=usage.input_tokens + usage.output_tokens,
            tool_list_tokens=self.tool_list_tokens(result),
            requests=usage.requests,
            seconds=seconds,
            result=result,
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """The setup of a stage: `common` names a model if it is not the oracle model."""

    common: CommonOptions
    world: World
    knowing: Knowing
    seed: int = 1

    @property
    def is_knowing(self) -> bool:
        """Whether the answers come from the oracle model."""
        return self.common.answer.model is None

    @property
    def model(self) -> str:
        """The model's name."""
        return self.common.answer.model or MODEL


@asynccontextmanager
async def stage_of(setting: Setting, *, is_hiding: bool = False) -> AsyncIterator[Stage]:
    """A stage over the data of `setting`; `is_hiding` removes the columns that would reveal labels."""
    with setting.world.resources(is_hiding=is_hiding) as resources:
        async with (
            serve(create_app([_ready(resource) for resource in resources], token=TOKEN), port=0) as api_url,
            stage_over(api_url, setting) as stage,
        ):
            yield stage


@asynccontextmanager
async def stage_over(api_url: str, setting: Setting) -> AsyncIterator[Stage]:
    """A stage over an API that is already served. Its state is discarded: nothing is left from an earlier run."""
    common = setting.common
    view = build_view("text", environment_of(common), certificate=certificate_line, quiet=True, verbose=False)
    with tempfile.TemporaryDirectory(prefix="runax-bench-") as folder:
        async with serve(create_llm_app(setting.knowing.answer, model=MODEL), port=0) as model_url:
            configuration = _configuration(setting, api_url, model_url, Path(folder))
            state = Path(folder) / "state"
            async with open_conversation(configuration, common, view, state=state) as conversation:
                tools = _tools_tokens(conversation)
                yield Stage(conversation, setting.world, api_url, configuration, tools)


def _ready(resource: Resource) -> Resource:
    """The resource with its records kept after generation: the bench requests the same ones repeatedly."""
    records: dict[int, bytes] = {}

    def read(positions: Sequence[int]) -> list[bytes]:
        missing = [at for at in positions if at not in records]
        records.update(zip(missing, resource.read(missing), strict=True))
        return [records[at] for at in positions]

    return replace(resource, read=read)


def _configuration(setting: Setting, api_url: str, model_url: str, folder: Path) -> Configuration:
    """The oracle model needs no settings; another model uses the current ones, but only the bench's data."""
    if setting.is_knowing:
        served = {"llm_name": MODEL, "llm_api_base_url": f"{model_url}/v1", "log_dir": folder / "logs"}
        return demo_configuration(api_url, **served)
    given = configuration_of(setting.common)
    ours = {"base_api_url": api_url, "base_api_token": SecretStr(TOKEN), "openapi_spec": None, "mcp_url": None}
    settings = given.settings.model_copy(update=ours | {"log_dir": folder / "logs"})
    structure = given.structure.model_copy(update={"sources": {}, "tools": ()})
    return replace(given, settings=settings, structure=structure, flags=frozenset())


def _tools_tokens(conversation: SessionConversation) -> dict[str, int]:
    """The main model receives the tools with their schemas, the planner their names and first sentences."""
    tools = tuple(visible_tool(spec).schema for spec in conversation.tools)
    whole = request_text(ModelRequest(role=Role.AGENT, messages=(), tools=tools))
    named = [
        f"- {tool.name}: {folded(tool.description).partition('. ')[0][:TOOL_CHARS]}"
        for tool in tools[:MAX_LISTED_TOOLS]
    ]
    counter = O200kCounter()
    return {"agent": counter.count(whole), "planner": counter.count("\n".join(named))}


def _kind_of(question: Question | Compound | LabelQuestion) -> str:
    match question:
        case Question():
            return question.kind.value
        case Compound():
            return f"{len(question.parts)} parts"
        case LabelQuestion():
            return "label"


def lacking(question: Question | Compound | LabelQuestion, world: World) -> str | None:
    """Why a question cannot be asked here; None if it can."""
    parts = question.parts if isinstance(question, Compound) else (question,)
    return next((why for part in parts if (why := world.lacks(part.fetches))), None)
