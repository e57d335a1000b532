"""Settings of an MCP server."""

from typing import Any

import pytest

from adapters.errors import DocumentError
from adapters.mcp.connection.errors import secret_mask_of
from adapters.mcp.settings import McpSettings


def test_secrets_are_not_in_the_repr() -> None:
    settings = McpSettings(name="s", url="http://h", token="s3cr3t", headers={"X": "hidden"}, env={"K": "alsohidden"})
    assert "s3cr3t" not in repr(settings)
    assert "hidden" not in repr(settings)
    assert secret_mask_of(settings).text("token s3cr3t") == "token ***"


@pytest.mark.parametrize("target", [{}, {"command": ()}, {"url": "http://h", "command": ("x",)}])
def test_exactly_one_of_url_and_command_is_required(target: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="either a url or a command"):
        McpSettings(name="s", **target)
