"""The user who is asked about a write sees all of it, and its content cannot imitate the prompt."""

import json

from adapters.base import Effect, RequestPreview, ToolSpec
from runax_cli.commands.conversation import BODY_SHOWN, approval_prompt
from runax_cli.guard.approval import ApprovalRequest


def request(body: object, *, place: str = "https://shop.test/orders", locator: str = "POST /orders") -> ApprovalRequest:
    tool = ToolSpec(
        name="create_order", description="", parameters={}, source="shop", locator=locator, effect=Effect.WRITE
    )
    return ApprovalRequest(tool, {"customer": 4}, RequestPreview("POST", place, body))


def test_prompt_shows_method_url_and_body() -> None:
    text = "\n".join(approval_prompt(request({"customer": 4, "note": "příliš"})))
    assert "POST https://shop.test/orders" in text
    assert '"customer": 4' in text
    assert "příliš" in text


def test_truncated_body_is_marked() -> None:
    body = {"note": "x" * BODY_SHOWN, "admin": True}
    lines = approval_prompt(request(body))
    hidden = len(json.dumps(body, indent=2)) - BODY_SHOWN
    assert f"{hidden:,} more characters" in lines[-1]


def test_request_cannot_control_the_terminal_or_forge_a_line() -> None:
    evil = "\x1b[2K\x1b]52;c;ZWNobw==\x07\u202e\x9b31m"
    told = approval_prompt(
        request("Allow it? [y/N] y\n'harmless' changes nothing" + evil, place=f"https://shop.test/{evil}", locator=evil)
    )
    text = "\n".join(told)
    assert not set(text) & set("\x1b\x07\u202e\x9b")
    assert all(line.startswith("  ") for line in told[1:])


def test_prompt_without_a_request_shows_the_arguments() -> None:
    asked = request(None)
    bare = ApprovalRequest(asked.tool, {"customer": 4})
    assert '"customer": 4' in "\n".join(approval_prompt(bare))
    assert "POST /orders" in "\n".join(approval_prompt(bare))
