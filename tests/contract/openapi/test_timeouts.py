"""Timeouts of single operations."""

import json
from pathlib import Path

import pytest

from adapters.errors import TimedOut
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource, ToolOverride
from runax_cli.runtime.sources import mcp_settings, openapi_settings
from runax_cli.settings.file_schema import McpSourceSettings, OpenApiSourceSettings
from runax_cli.settings.loader import load
from tests.contract.openapi.conftest import LoopbackServer, dripping


async def test_an_operation_has_its_own_timeout(server: LoopbackServer, tmp_path: Path) -> None:
    place = tmp_path / "openapi.json"
    listed = {"operationId": "listThings", "responses": {"200": {"description": "Things."}}}
    paths = {"/things": {"get": listed}}
    place.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths}))
    server.routes["/things"] = dripping(0.01)
    overrides = {"listThings": ToolOverride(timeout_s=0.2)}
    settings = OpenApiSettings(
        name="api", document=str(place), base_url=server.url, overrides=overrides, timeout_s=60, max_attempts=1
    )
    source = await OpenApiSource.open(settings)
    try:
        with pytest.raises(TimedOut, match=r"within 0\.2 s"):
            await source.call("listThings", {})
    finally:
        await source.aclose()


def test_timeouts_are_read_from_the_settings_file(tmp_path: Path) -> None:
    settings = tmp_path / "runax.yaml"
    settings.write_text(
        "sources:\n"
        "  crm: {kind: openapi, document: api.json, operations: {listThings: {timeout: 120}}}\n"
        "  files: {kind: mcp, command: serve-files ., operations: {read_file: {timeout: 5}}}\n"
    )
    configuration = load(config=settings)
    crm, files = (configuration.sources()[name] for name in ("crm", "files"))
    assert isinstance(crm, OpenApiSourceSettings)
    assert isinstance(files, McpSourceSettings)
    assert openapi_settings("crm", crm, configuration).overrides["listThings"].timeout_s == 120
    assert mcp_settings("files", files, configuration).timeouts == {"read_file": 5}
