"""SSRF protection: documents and responses cannot lead to other addresses, origins or paths."""

import ipaddress
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from adapters.base import PageAddress
from adapters.errors import ConnectionFailed, DocumentError, ForeignOrigin, SourceError
from adapters.http import url_safety as addresses
from adapters.http.transport import new_client
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from tests.contract.openapi.conftest import LoopbackServer, answer

METADATA = "http://169.254.169.254/latest"
TOKEN = "token-of-the-source"


def document(server: str, **changes: Any) -> dict[str, Any]:
    listed = {"operationId": "listThings", "responses": {"200": {"description": "Things."}}}
    search = {**listed, "operationId": "searchThings"}
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": server}],
        "paths": {"/things": {"get": listed}, "/search": {"post": search}},
        **changes,
    }


def settings_of(place: str | Path, **changes: Any) -> OpenApiSettings:
    return OpenApiSettings(name="api", document=str(place), credentials={"*": SecretStr(TOKEN)}, **changes)


@pytest.fixture
def loopback_is_off_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback replaces a metadata address: a test cannot serve any other one."""
    monkeypatch.setattr(
        addresses, "_METADATA_NETWORKS", (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
    )


@pytest.mark.usefixtures("loopback_is_off_limits")
async def test_a_host_resolving_to_a_blocked_address_is_refused_before_sending(server: LoopbackServer) -> None:
    async with new_client() as client:
        with pytest.raises(addresses.BlockedAddress, match=r"'localhost' resolves to 127\.0\.0\.1"):
            await client.get(f"http://localhost:{server.port}/things", headers={"authorization": TOKEN})
    assert server.received == []


@pytest.mark.usefixtures("loopback_is_off_limits")
async def test_configuring_a_host_name_does_not_allow_its_blocked_address(server: LoopbackServer) -> None:
    url = f"http://localhost:{server.port}"
    with pytest.raises(ConnectionFailed, match="nothing was sent"):
        await OpenApiSource.open(settings_of(f"{url}/openapi.json", base_url=url))
    assert server.received == []


@pytest.mark.usefixtures("loopback_is_off_limits")
async def test_a_configured_blocked_address_is_allowed(server: LoopbackServer) -> None:
    async with new_client((server.url,)) as client:
        assert (await client.get(f"{server.url}/things")).status_code == 200


async def test_a_server_in_a_local_document_does_not_allow_a_blocked_address(tmp_path: Path) -> None:
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(document(METADATA)))
    source = await OpenApiSource.open(settings_of(place))
    try:
        with pytest.raises(ConnectionFailed, match="link-local or cloud metadata address"):
            await source.call("listThings", {})
    finally:
        await source.aclose()


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "metadata.google.internal"],
)
async def test_metadata_hosts_are_refused_without_a_dns_lookup(host: str) -> None:
    async with new_client() as client:
        with pytest.raises(addresses.BlockedAddress):
            await client.get(f"http://{host}/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed(
    server: LoopbackServer, other_server: LoopbackServer, tmp_path: Path, status: int
) -> None:
    server.routes["/things"] = answer([], status=status, headers={"location": f"{other_server.url}/x"})
    source = await opened(server, tmp_path)
    try:
        with pytest.raises(ForeignOrigin):
            await source.call("listThings", {})
    finally:
        await source.aclose()
    assert other_server.received == []


FOREIGN = ("{url}/x", "//{host}/x", "\\\\{host}\\x", "http://api@{host}/x", " {url}/x")


@pytest.mark.parametrize("text", FOREIGN)
async def test_a_next_page_on_another_origin_is_not_requested(
    server: LoopbackServer, other_server: LoopbackServer, tmp_path: Path, text: str
) -> None:
    host = other_server.url.removeprefix("http://")
    source = await opened(server, tmp_path)
    try:
        # Some of them are odd paths of the source's own server, which may be asked for.
        with suppress(SourceError):
            await source.call("listThings", {}, PageAddress(url=text.format(url=other_server.url, host=host)))
    finally:
        await source.aclose()
    assert other_server.received == []


async def test_a_next_page_cannot_change_the_path_of_a_post(server: LoopbackServer, tmp_path: Path) -> None:
    source = await opened(server, tmp_path, read_operations=frozenset({"searchThings"}))
    try:
        with pytest.raises(ForeignOrigin, match="another path"):
            await source.call("searchThings", {}, PageAddress(url="/things/7/delete"))
        await source.call("searchThings", {}, PageAddress(url="/search?cursor=2"))
    finally:
        await source.aclose()
    assert [(seen.method, seen.target) for seen in server.received] == [("POST", "/search?cursor=2")]


async def test_operations_with_references_to_other_hosts_are_skipped(
    server: LoopbackServer, other_server: LoopbackServer
) -> None:
    evil = {"$ref": f"{other_server.url}/paths.json#/x"}
    server.routes["/openapi.json"] = answer(document(server.url, paths={"/evil": evil, "/meta": {"$ref": METADATA}}))
    source = await OpenApiSource.open(settings_of(f"{server.url}/openapi.json", base_url=server.url))
    try:
        tools = await source.list_tools()
    finally:
        await source.aclose()
    assert tools.tools == ()
    assert len(tools.skipped) == 2
    assert other_server.received == []


async def test_a_server_of_another_origin_than_its_document_must_be_configured(
    server: LoopbackServer, other_server: LoopbackServer
) -> None:
    server.routes["/openapi.json"] = answer(document(other_server.url))
    source = await OpenApiSource.open(settings_of(f"{server.url}/openapi.json"))
    try:
        with pytest.raises(DocumentError, match="BASE_API_URL"):
            await source.call("listThings", {})
    finally:
        await source.aclose()
    assert other_server.received == []


async def opened(server: LoopbackServer, folder: Path, **changes: Any) -> OpenApiSource:
    place = folder / "openapi.json"
    place.write_text(json.dumps(document(server.url)))
    return await OpenApiSource.open(settings_of(place, base_url=server.url, max_attempts=1, **changes))


async def test_a_proxy_from_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    async with new_client() as client:
        response = await client.get("http://service.test/things")
    assert response.status_code == httpx2.codes.OK
    assert server.received[0].target == "http://service.test/things"
