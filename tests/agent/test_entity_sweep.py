"""Everything about an entity is read from a real API on loopback: found by name, then through every tool of its id."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from fastapi import FastAPI, Query
from fastapi import Path as InPath

from adapters.catalog import ToolCatalog
from adapters.openapi.adapter import OpenApiSource
from adapters.openapi.settings import OpenApiSettings
from mock_api.app import create_app
from mock_api.serving import serve
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import ReasonCode, RunResult, RunStatus
from runax_cli.executor.executor import Executor
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ModelReply, ModelRequest, Role, ScriptedModel, ToolCall, Usage
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.runtime.runtime import REDUCER_PROMPTS

USERS = [
    {"id": 3, "name": "Jana Nováková"},
    {"id": 4, "name": "Tomáš Baláž"},
    {"id": 5, "name": "Petr Novák"},
    {"id": 6, "name": "Ivan Novák"},
]
ORDERS = [{"id": 100 + n, "user_id": 3 + n % 3, "total": 10 * n} for n in range(1, 91)]
NOTES = [{"id": 900, "user_id": 4, "text": "Asked for a refund."}]
UserId: TypeAlias = Annotated[int, InPath(alias="id")]
QUESTION = "Zjisti vše o uživateli Baláž."
ANSWER = "Baláž je uživatel Tomáš Baláž [users_1#1]."


def shop(visited: list[str], *, needs_tenant: bool = False) -> FastAPI:
    """An API of users, their orders and notes. `visited` collects the paths of the requests.

    With `needs_tenant`, users are not searched by name but listed for a tenant.
    """
    app = FastAPI()

    def page(path: str, records: list[dict[str, Any]], offset: int, limit: int) -> dict[str, Any]:
        visited.append(path)
        return {"items": records[offset : offset + limit], "total": len(records)}

    def users(q: str = "", offset: int = 0, limit: Annotated[int, Query(le=50)] = 50) -> dict[str, Any]:
        return page("/users", [user for user in USERS if q.casefold() in user["name"].casefold()], offset, limit)

    def users_of(tenant: int, offset: int = 0, limit: Annotated[int, Query(le=50)] = 50) -> dict[str, Any]:
        return page(f"/users of {tenant}", USERS, offset, limit)

    app.get("/users", operation_id="list_users")(users_of if needs_tenant else users)

    @app.get("/users/{id}", operation_id="get_user")
    def user(own: UserId) -> dict[str, Any]:
        visited.append(f"/users/{own}")
        return next(user for user in USERS if user["id"] == own)

    @app.get("/orders", operation_id="list_orders")
    def orders(user_id: int, offset: int = 0, limit: Annotated[int, Query(le=10)] = 10) -> dict[str, Any]:
        return page("/orders", [order for order in ORDERS if order["user_id"] == user_id], offset, limit)

    @app.get("/users/{id}/notes", operation_id="list_notes")
    def notes(own: UserId, offset: int = 0, limit: Annotated[int, Query(le=50)] = 50) -> dict[str, Any]:
        return page("/notes", [note for note in NOTES if note["user_id"] == own], offset, limit)

    @app.get("/reports/{year}", operation_id="get_report")
    def report(year: int, user_id: int) -> dict[str, Any]:
        visited.append("/reports")
        return {"year": year, "user_id": user_id}

    @app.delete("/users/{id}", operation_id="delete_user")
    def delete(own: UserId) -> None:
        visited.append(f"DELETE /users/{own}")

    return app


class Answering:
    """A model that answers at once, with what `say` makes of the request. `requests` are those of the main model."""

    def __init__(self, say: Callable[[ModelRequest], ModelReply]) -> None:
        self.say = say
        self.requests: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> ModelReply:
        if request.role is Role.REDUCER:
            return says(json.dumps({"findings": [], "nothing_relevant": True}))
        self.requests.append(request)
        return self.say(request)


def says(text: str, *calls: ToolCall) -> ModelReply:
    return ModelReply(text=text, model="scripted", tool_calls=calls, usage=Usage(is_reported=False))


@asynccontextmanager
async def asking(
    folder: Path, model: Answering, *, limits: TurnLimits | None = None, needs_tenant: bool = False
) -> AsyncIterator[tuple[Session, CollectingSink, list[str]]]:
    """A session over the shop, its events, and the paths that were requested."""
    visited: list[str] = []
    async with asking_app(shop(visited, needs_tenant=needs_tenant), folder, model, limits=limits) as (session, sink):
        yield session, sink, visited


@asynccontextmanager
async def asking_app(
    app: FastAPI, folder: Path, model: Answering, *, limits: TurnLimits | None = None
) -> AsyncIterator[tuple[Session, CollectingSink]]:
    """A session over an app on loopback, and its events."""
    async with serve(app, port=0) as url:
        source = await OpenApiSource.open(OpenApiSettings(name="shop", document=f"{url}/openapi.json", base_url=url))
        registry = ModelRegistry(
            {Role.AGENT: RoleConfig(name="scripted", is_rules=True, max_context=64_000)},
            concurrency=4,
            rules=lambda: ScriptedModel(model),
        )
        catalog, journal, sink = await ToolCatalog.load([source]), MemoryJournal(), CollectingSink()
        executor = Executor(
            catalog,
            DatasetStore(folder / "datasets"),
            journal,
            counter=registry.counter(Role.REDUCER),
            effective_tokens=registry.config(Role.REDUCER).effective_tokens,
            prompts=REDUCER_PROMPTS,
            api_concurrency=4,
            reducer_concurrency=4,
        )
        session = Session(
            registry=registry,
            executor=executor,
            catalog=catalog,
            journal=journal,
            sink=sink,
            limits=limits or TurnLimits(),
        )
        try:
            yield session, sink
        finally:
            await catalog.aclose()


def made(result: RunResult) -> list[tuple[str, dict[str, Any], int]]:
    return [(call.tool, call.arguments, call.records_read) for call in result.calls]


async def test_everything_about_a_user_is_read_before_the_model_answers(tmp_path: Path) -> None:
    model = Answering(lambda _request: says(ANSWER))
    async with asking(tmp_path, model) as (session, sink, visited):
        result = await session.ask(QUESTION)

    assert made(result) == [
        ("list_users", {"q": "Baláž"}, 1),
        ("get_user", {"id": 4}, 1),
        ("list_notes", {"id": 4}, 1),
        ("list_orders", {"user_id": 4}, 30),
    ]
    (sweep,) = result.sweeps
    assert (sweep.name, sweep.kind, sweep.id) == ("Baláž", "user", "4")
    assert sweep.visited == ("get_user", "list_notes", "list_orders")
    assert {one.tool: one.why for one in sweep.skipped} == {
        "get_report": "it also needs 'year'",
        "delete_user": "it changes data and needs approval",
    }
    assert "DELETE /users/4" not in visited
    assert (result.status, result.exit_code) == (RunStatus.COMPLETE, 0), result
    assert result.coverage.is_complete
    (request,) = model.requests
    results = [json.loads(message.content) for message in request.messages if message.role == "tool"]
    assert [one["tool"] for one in results] == ["list_users", "get_user", "list_notes", "list_orders"]
    assert "delete_user: it changes data and needs approval" in request.messages[-1].content
    selected = [event.body.tool for event in sink.events if event.body.type == "tool.selected"]
    assert selected == [call.tool for call in result.calls]


async def test_a_name_that_the_search_does_not_find_is_found_in_the_list(tmp_path: Path) -> None:
    async with asking(tmp_path, Answering(lambda _request: says(ANSWER))) as (session, _, _visited):
        result = await session.ask("Find everything about user BALAZ")
    assert [(tool, arguments) for tool, arguments, _ in made(result)][:3] == [
        ("list_users", {"q": "BALAZ"}),
        ("list_users", {}),
        ("get_user", {"id": 4}),
    ]
    assert result.sweeps[0].id == "4"


async def test_an_id_is_read_directly(tmp_path: Path) -> None:
    async with asking(tmp_path, Answering(lambda _request: says(ANSWER))) as (session, _, _visited):
        result = await session.ask("What do we know about user 4?")
    assert [tool for tool, _, _ in made(result)] == ["get_user", "list_notes", "list_orders"]
    assert result.sweeps[0].visited == ("get_user", "list_notes", "list_orders")


async def test_a_name_of_several_users_calls_nothing_more_and_says_why(tmp_path: Path) -> None:
    model = Answering(lambda _request: says("Two users are named Novák [users_1#1, users_1#2]."))
    async with asking(tmp_path, model) as (session, _, _visited):
        result = await session.ask("Find everything about user Novák")
    assert [tool for tool, _, _ in made(result)] == ["list_users"]
    (sweep,) = result.sweeps
    assert (sweep.id, sweep.visited) == (None, ())
    assert {one.why for one in sweep.skipped} == {"the id is ambiguous: 2 records match (5, 6)"}


async def test_a_limit_of_calls_leaves_out_tools_and_the_result_is_not_complete(tmp_path: Path) -> None:
    model = Answering(lambda _request: says(ANSWER))
    async with asking(tmp_path, model, limits=TurnLimits(calls=3)) as (session, _, _visited):
        result = await session.ask(QUESTION)
    assert [tool for tool, _, _ in made(result)] == ["list_users", "get_user", "list_notes"]
    assert [(one.tool, one.why) for one in result.sweeps[0].skipped if one.is_limit] == [
        ("list_orders", "limit of 2 calls")
    ]
    assert (result.status, result.exit_code) == (RunStatus.LIMIT, 6)
    assert ReasonCode.BUDGET in {reason.code for reason in result.coverage.reasons}


async def test_a_user_whom_the_model_finds_is_followed_by_code(tmp_path: Path) -> None:
    def looks_up(request: ModelRequest) -> ModelReply:
        is_found = any(message.role == "tool" for message in request.messages)
        return says(ANSWER) if is_found else says("", ToolCall("c", "list_users", '{"tenant": 1}'))

    model = Answering(looks_up)
    async with asking(tmp_path, model, needs_tenant=True) as (session, _, _visited):
        result = await session.ask(QUESTION)
    assert [tool for tool, _, _ in made(result)] == ["list_users", "get_user", "list_notes", "list_orders"]
    assert result.sweeps[0].id == "4"
    assert len(model.requests) == 2


async def test_the_mock_api_is_read_whole_about_a_customer(tmp_path: Path) -> None:
    model = Answering(lambda _request: says("Zákazník 4 je Tomáš Baláž [customers_1#1]."))
    async with asking_app(create_app(), tmp_path, model) as (session, _):
        result = await session.ask(QUESTION)
    assert made(result) == [
        ("list_customers", {"name": "Baláž"}, 1),
        ("get_customer", {"customer_id": 4}, 1),
        ("list_messages", {"customer_id": 4}, 6),
        ("list_payments", {"customer_id": 4}, 12),
        ("list_tickets", {"customer_id": 4}, 261),
    ]
    assert result.sweeps[0].visited == ("get_customer", "list_messages", "list_payments", "list_tickets")
    assert result.coverage.is_complete


async def test_other_questions_are_left_to_the_model(tmp_path: Path) -> None:
    model = Answering(lambda _request: says("Nothing is known."))
    async with asking(tmp_path, model) as (session, _, visited):
        result = await session.ask("What do users of the shop say?")
    assert (result.calls, result.sweeps, visited) == ((), (), [])
