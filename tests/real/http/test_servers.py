"""Third-party servers, opened as a user opens them: every record is read once, and the total is cheap."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from adapters.base import CallResult, PageAddress
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import probe

N = 1_050
RUNAX = str(Path(sys.executable).with_name("runax"))
DOCUMENTS = Path(__file__).parent / "documents"
TIMEOUT_S = 60
Server = Callable[..., str]


def by_id(record: Any) -> int:
    return int(record["id"])


def by_number(record: Any) -> int:
    return int(record["number"])


def by_first_column(record: Any) -> int:
    return int(record["value"][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One tool of one server. `document` is a path on the server, or a file if the server has no document."""

    server: str
    tool: str
    document: str
    base: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None
    identity: Callable[[Any], int] = by_id
    tells_total: bool = True

    def settings(self, url: str) -> OpenApiSettings:
        credentials = {"*": SecretStr(self.token)} if self.token else {}
        return OpenApiSettings(
            name="api", document=self.place(url), base_url=url + self.base, credentials=credentials, timeout_s=20.0
        )

    def place(self, url: str) -> str:
        return url + self.document if self.document.startswith("/") else str(DOCUMENTS / self.document)


DRF, LITESTAR = "/schema/?format=json", "/schema/openapi.json"
CASES = [
    Case(server="drf", tool="numbered_list", document=DRF),
    Case(server="drf", tool="counted_list", document=DRF),
    Case(server="drf", tool="pointed_list", document=DRF, tells_total=False),
    Case(server="fastapi", tool="list_numbered", document="/openapi.json"),
    Case(server="fastapi", tool="list_counted", document="/openapi.json"),
    Case(server="fastapi", tool="list_linked", document="/openapi.json"),
    Case(server="fastapi", tool="list_linked_offset", document="/openapi.json"),
    Case(server="fastapi", tool="list_pointed", document="/openapi.json"),
    Case(server="pygeoapi", tool="getPointsFeatures", document="/openapi?f=json"),
    Case(
        server="kinto",
        tool="get_records",
        document="/v1/__api__",
        base="/v1",
        arguments={"bucket_id": "shop", "collection_id": "things"},
        token="owner:secret",
        identity=by_number,
        tells_total=False,
    ),
    Case(
        server="datasette",
        tool="list_things",
        document="datasette.yaml",
        arguments={"_shape": "objects"},
    ),
    Case(
        server="datasette",
        tool="list_things",
        document="datasette.yaml",
        identity=by_first_column,
    ),
    Case(server="json-server", tool="list_things", document="json-server.yaml"),
    Case(server="litestar", tool="list_classic", document=LITESTAR),
    Case(server="litestar", tool="list_offset", document=LITESTAR),
    Case(server="litestar", tool="list_cursor", document=LITESTAR, tells_total=False),
    Case(server="loopback", tool="Things_find", document="/openapi.json", tells_total=False),
    Case(server="odata", tool="list_things", document="odata.yaml"),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.server}-{case.tool}")


def read(case: Case, url: str, monkeypatch: pytest.MonkeyPatch) -> "subprocess.CompletedProcess[str]":
    if case.token:
        monkeypatch.setenv("BASE_API_TOKEN", case.token)
    given = [f"{name}={value}" for name, value in case.arguments.items()]
    command = [RUNAX, "tools", "call", case.tool, *given, "--openapi", case.place(url), "--base-url", url + case.base]
    return subprocess.run(
        [*command, "-o", "jsonl"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@every_case
def test_every_record_is_read_once(case: Case, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    done = read(case, server(case.server, records=N), monkeypatch)
    assert done.returncode == 0, done.stderr[-3000:]
    ids = [case.identity(json.loads(line)) for line in done.stdout.splitlines()]
    assert sorted(ids) == list(range(1, N + 1))


@every_case
async def test_the_total_costs_at_most_two_requests_and_a_fiftieth_of_the_bytes(case: Case, server: Server) -> None:
    source = await OpenApiSource.open(case.settings(server(case.server, records=N)))
    answers: list[CallResult] = []
    try:
        tool = next(tool for tool in (await source.list_tools()).tools if tool.name == case.tool)

        async def send(page: PageAddress | None) -> CallResult:
            answers.append(await source.call(case.tool, case.arguments, page))
            return answers[-1]

        seen = await probe(tool, send)
    finally:
        await source.aclose()
    assert seen.requests == len(answers) <= 2
    if not case.tells_total:
        assert seen.certainty is not Certainty.EXACT or seen.total == N
        return
    assert (seen.total, seen.certainty) == (N, Certainty.EXACT)
    # The transfer is at least the records themselves; the envelope of a page of one must not outweigh them.
    assert sum(answer.n_bytes for answer in answers) < len(orjson.dumps(seen.sample[0])) * N / 50
