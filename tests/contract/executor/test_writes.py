"""A call that changes data is sent once, despite apparent pagination, failures and resumed runs."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import ApprovalMode, Effect, Pagination, ToolSpec
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource, ToolOverride
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ScriptedModel
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS
from tests.contract.executor.conftest import QuarterCounter
from tests.contract.openapi.conftest import LoopbackServer, answer, listening, raw

ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "integer"},
        "offset": {"type": "integer"},
        "limit": {"type": "integer", "maximum": 50},
    },
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/orders": {
            "post": {
                "operationId": "createOrder",
                "requestBody": {"content": {"application/json": {"schema": ORDER}}},
                "responses": {"200": {"description": "Orders."}},
            }
        }
    },
}


@dataclass
class Shop:
    """A source with one write, and an executor over it; `again` is a later process of the same run."""

    server: LoopbackServer
    source: OpenApiSource
    executor: Executor
    again: Executor
    spec: ToolSpec

    async def order(self, *, executor: Executor | None = None) -> CallOutcome:
        emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
        scope = CallScope(emitter=emitter, budget=Budget(Limits(), owner="turn"), reducer=ScriptedModel([]))
        call = DecidedCall(call_id="c1", tool=self.spec, arguments={"customer": 4}, focus="f")
        return await (executor or self.executor).execute(call, scope, direct_limit=5000)

    @property
    def orders(self) -> int:
        return sum(seen.method == "POST" for seen in self.server.received)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(DOCUMENT))
    async with listening() as server:
        source = await OpenApiSource.open(OpenApiSettings(name="shop", document=str(place), base_url=server.url))
        journal, counter = MemoryJournal(), CalibratedCounter(QuarterCounter(), ratio=1.0)

        def executor(name: str) -> Executor:
            store = DatasetStore(tmp_path / name)
            return Executor(source, store, journal, counter=counter, effective_tokens=3000, prompts=REDUCER_PROMPTS)

        (spec,) = (await source.list_tools()).tools
        yield Shop(server, source, executor("first"), executor("second"), spec)
        await source.aclose()


def reset(_writer: Any) -> Any:
    return raw("")(_writer)


REPLIES: dict[str, Callable[[], Any]] = {
    "one object": lambda: answer({"id": 7}),
    "a list that looks cut": lambda: answer([{"id": n} for n in range(50)]),
    "a page that names a next one": lambda: answer({"items": [{"id": 1}], "total": 9, "next": "/orders?offset=1"}),
    "an empty list": lambda: answer([]),
    "a server error": lambda: answer({"error": "x"}, status=503),
    "too many requests": lambda: answer({}, status=429, headers={"retry-after": "0"}),
    "a cut connection": lambda: reset,
}


@pytest.mark.parametrize("reply", REPLIES)
async def test_a_write_is_sent_once_whatever_the_response_is(shop: Shop, reply: str) -> None:
    assert shop.spec.effect is Effect.WRITE
    shop.server.routes["/orders"] = REPLIES[reply]()
    await shop.order()
    assert shop.orders == 1


async def test_a_resumed_run_does_not_repeat_an_answered_write(shop: Shop) -> None:
    shop.server.routes["/orders"] = answer({"id": 7})
    first = await shop.order()
    again = await shop.order(executor=shop.again)
    assert shop.orders == 1
    assert (again.envelope.status, again.envelope.data) == (first.envelope.status, first.envelope.data)


async def test_a_resumed_run_does_not_repeat_a_write_of_unknown_outcome(shop: Shop) -> None:
    shop.server.routes["/orders"] = reset
    await shop.order()
    again = await shop.order(executor=shop.again)
    assert shop.orders == 1
    assert again.envelope.error is not None
    assert "its effect is unknown" in again.envelope.error.message


async def test_a_refused_write_may_be_sent_again(shop: Shop) -> None:
    shop.server.routes["/orders"] = answer({"error": "x"}, status=409)
    await shop.order()
    shop.server.routes["/orders"] = answer({"id": 7})
    again = await shop.order(executor=shop.again)
    assert shop.orders == 2
    assert again.envelope.error is None


async def test_an_approved_listing_by_post_is_read_to_its_end(shop: Shop) -> None:
    call = DecidedCall(call_id="c", tool=replace(shop.spec, name="search_orders"), arguments={}, focus="")
    assert call.is_repeatable
    for name in ("createOrder", "create_order", "send_orders", "update"):
        assert not replace(call, tool=replace(shop.spec, name=name)).is_repeatable
    assert not replace(call, tool=replace(call.tool, locator="PUT /orders")).is_repeatable
    assert not replace(call, tool=replace(call.tool, effect=Effect.DESTRUCTIVE)).is_repeatable
    assert not replace(call, tool=replace(call.tool, pagination=Pagination())).is_repeatable


async def test_the_preview_of_a_write_is_not_sent(shop: Shop) -> None:
    shown = await shop.source.preview_request(shop.spec.name, {"customer": 4})
    assert (shown.method, shown.target, shown.body) == ("POST", f"{shop.server.url}/orders", {"customer": 4})
    assert shop.server.received == []


@pytest.mark.parametrize("leave", ApprovalMode)
async def test_a_rule_of_the_settings_reaches_the_tool(tmp_path: Path, leave: ApprovalMode) -> None:
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(DOCUMENT))
    overrides = {"POST /orders": ToolOverride(approval=leave)}
    settings = OpenApiSettings(name="shop", document=str(place), base_url="http://shop.test", overrides=overrides)
    source = await OpenApiSource.open(settings)
    (spec,) = (await source.list_tools()).tools
    await source.aclose()
    assert spec.approval is leave
