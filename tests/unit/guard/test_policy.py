"""Reads run; what changes data needs the user's word."""

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


async def test_a_read_is_never_asked_about(make_tool: MakeTool) -> None:
    approver = Recording()
    assert await WritePolicy(allow_writes=False, approver=approver).permits(make_tool(), {})
    assert approver.requests == []


@pytest.mark.parametrize("effect", WRITES)
async def test_a_write_without_leave_is_denied_where_nobody_can_be_asked(make_tool: MakeTool, effect: Effect) -> None:
    assert not await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(make_tool(effect=effect), {})
    assert await WritePolicy(allow_writes=False, approver=AlwaysAllow()).permits(make_tool(effect=effect), {})


@pytest.mark.parametrize("effect", WRITES)
async def test_writes_that_the_user_allowed_run_unasked(make_tool: MakeTool, effect: Effect) -> None:
    assert await WritePolicy(allow_writes=True, approver=AlwaysDeny()).permits(make_tool(effect=effect), {})


async def test_the_approver_sees_the_tool_and_its_arguments(make_tool: MakeTool) -> None:
    approver, tool = Recording(), make_tool(effect=Effect.WRITE)
    await WritePolicy(allow_writes=False, approver=approver).permits(tool, {"customer_id": 4})
    assert approver.requests == [ApprovalRequest(tool, {"customer_id": 4})]


async def test_a_rule_allows_a_tool_without_asking(make_tool: MakeTool) -> None:
    tool = make_tool(effect=Effect.WRITE, approval=ApprovalMode.ALLOW)
    assert await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(tool, {})


async def test_a_rule_that_denies_goes_before_everything_else(make_tool: MakeTool) -> None:
    tool = make_tool(effect=Effect.WRITE, approval=ApprovalMode.DENY)
    assert not await WritePolicy(allow_writes=True, approver=AlwaysAllow()).permits(tool, {})
    assert await WritePolicy(allow_writes=False, approver=AlwaysDeny()).permits(
        make_tool(approval=ApprovalMode.DENY), {}
    )


async def test_the_approver_sees_what_would_be_sent(make_tool: MakeTool) -> None:
    approver, shown = Recording(), RequestPreview("POST", "https://shop.test/orders", {"customer": 4})

    async def shows(_name: str, _arguments: object) -> RequestPreview:
        return shown

    policy = WritePolicy(allow_writes=False, approver=approver, shows=shows)
    await policy.permits(make_tool(effect=Effect.WRITE), {"customer": 4})
    assert [asked.request for asked in approver.requests] == [shown]


async def test_a_call_that_makes_no_request_is_asked_about_all_the_same(make_tool: MakeTool) -> None:
    async def shows(_name: str, _arguments: object) -> RequestPreview:
        raise InvalidRequest("no", source="shop", violations=("x",))

    approver = Recording()
    assert await WritePolicy(allow_writes=False, approver=approver, shows=shows).permits(
        make_tool(effect=Effect.WRITE), {}
    )
    assert [asked.request for asked in approver.requests] == [None]
