"""Reads run; calls that change data need approval."""

from collections.abc import Callable

import pytest

from adapters.base import ApprovalMode, Effect, RequestPreview, ToolSpec
from adapters.errors import InvalidRequest
from runax_cli.guard.approval import AlwaysAllow, AlwaysDeny, ApprovalRequest, WritePolicy

MakeTool = Callable[..., ToolSpec]
WRITES = [Effect.WRITE, Effect.DESTRUCTIVE]


class Recording:
    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> bool:
        self.requests.append(request)
        return True


async def test_a_read_needs_no_approval(make_tool: MakeTool) -> None:
    approver = Recording()
    assert await WritePolicy(allow_writes=False, approver=approver).permits(make_tool(), {})
    assert approver.requests == []


@pytest.mark.parametrize("effect", WRITES)
async def test_a_write_needs_the_approver(make_tool: MakeTool, effect: Effect) -> None:
    assert not await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(make_tool(effect=effect), {})
    assert await WritePolicy(allow_writes=False, approver=AlwaysAllow()).permits(make_tool(effect=effect), {})


@pytest.mark.parametrize("effect", WRITES)
async def test_allowed_writes_run_without_the_approver(make_tool: MakeTool, effect: Effect) -> None:
    assert await WritePolicy(allow_writes=True, approver=AlwaysDeny()).permits(make_tool(effect=effect), {})


async def test_the_approver_sees_the_tool_and_its_arguments(make_tool: MakeTool) -> None:
    approver, tool = Recording(), make_tool(effect=Effect.WRITE)
    await WritePolicy(allow_writes=False, approver=approver).permits(tool, {"customer_id": 4})
    assert approver.requests == [ApprovalRequest(tool, {"customer_id": 4})]


async def test_a_rule_can_allow_a_tool(make_tool: MakeTool) -> None:
    tool = make_tool(effect=Effect.WRITE, approval=ApprovalMode.ALLOW)
    assert await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(tool, {})


async def test_a_rule_that_denies_takes_precedence(make_tool: MakeTool) -> None:
    tool = make_tool(effect=Effect.WRITE, approval=ApprovalMode.DENY)
    assert not await WritePolicy(allow_writes=True, approver=AlwaysAllow()).permits(tool, {})
    assert await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(
        make_tool(approval=ApprovalMode.DENY), {}
    )


async def test_the_approver_sees_the_request(make_tool: MakeTool) -> None:
    approver, request = Recording(), RequestPreview("POST", "https://shop.test/orders", {"customer": 4})

    async def preview(_name: str, _arguments: object) -> RequestPreview:
        return request

    policy = WritePolicy(allow_writes=False, approver=approver, preview=preview)
    await policy.permits(make_tool(effect=Effect.WRITE), {"customer": 4})
    assert [one.request for one in approver.requests] == [request]


async def test_an_invalid_call_is_approved_without_a_request(make_tool: MakeTool) -> None:
    async def preview(_name: str, _arguments: object) -> RequestPreview:
        raise InvalidRequest("no", source="shop", violations=("x",))

    approver = Recording()
    assert await WritePolicy(allow_writes=False, approver=approver, preview=preview).permits(
        make_tool(effect=Effect.WRITE), {}
    )
    assert [one.request for one in approver.requests] == [None]
