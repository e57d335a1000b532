"""A resumed run reuses its own stored work, for the same account and server only."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle
from adapters.clock import SystemClock
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.snapshot import ReusePolicy
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.runtime.runtime import REDUCER_PROMPTS
from runax_cli.runtime.sources import source_fingerprints
from runax_cli.settings.loader import load
from tests.contract.executor.conftest import BY_OFFSET, Bench, ticket

MakeBench = Callable[..., Bench]
DAY_S = 86_400.0
BY_CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor")


def under(bench: Bench, identity: str, *, folder: Path, run_id: str = "run1", max_age_s: float = DAY_S) -> Bench:
    """The same source and journal in a later process, with another identity of the source."""
    executor = Executor(
        bench.api,
        DatasetStore(folder),
        bench.journal,
        counter=bench.counter,
        effective_tokens=bench.effective,
        prompts=REDUCER_PROMPTS,
        clock=SystemClock(),
        reuse=ReusePolicy({"crm": identity}, max_age_s=max_age_s),
    )
    bench.api.requests.clear()
    return replace(bench, executor=executor, run_id=run_id)


@pytest.mark.parametrize("max_age_s", [DAY_S, 0.0])
async def test_a_resumed_run_requests_nothing_again(make: MakeBench, tmp_path: Path, max_age_s: float) -> None:
    bench = make(200)
    await under(bench, "anna", folder=tmp_path / "a", max_age_s=max_age_s).read_all()
    again = under(bench, "anna", folder=tmp_path / "b", max_age_s=max_age_s)
    outcome = await again.read_all()
    assert again.ids(outcome) == [1000 + number for number in range(200)]
    assert again.api.requests == []


@pytest.mark.parametrize("max_age_s", [DAY_S, 0.0])
@pytest.mark.parametrize("pagination", [BY_OFFSET, BY_CURSOR], ids=["small probe", "probe returns a page"])
async def test_another_account_gets_no_stored_page_of_the_first(
    make: MakeBench, tmp_path: Path, pagination: Pagination, max_age_s: float
) -> None:
    bench = make(200, pagination=pagination)
    await under(bench, "anna", folder=tmp_path / "a", max_age_s=max_age_s).read_all()
    bench.api.records = [ticket(number + 5000) for number in range(200)]
    other = under(bench, "boris", folder=tmp_path / "b", max_age_s=max_age_s)

    outcome = await other.read_all()

    assert other.ids(outcome) == [6000 + number for number in range(200)]


async def test_another_run_notices_a_changed_first_record_with_the_same_total(make: MakeBench, tmp_path: Path) -> None:
    bench = make(200)
    await under(bench, "anna", folder=tmp_path / "a").read_all()
    bench.api.records = [ticket(number + 1) for number in range(200)]
    later = under(bench, "anna", folder=tmp_path / "b", run_id="run2")

    outcome = await later.read_all()

    assert later.ids(outcome) == [1001 + number for number in range(200)]


def test_an_identity_depends_on_token_server_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "api.json").write_text('{"servers": [{"url": "https://one.test"}]}')
    settings = tmp_path / "runax.yaml"
    settings.write_text(
        "sources:\n  crm: {kind: openapi, document: api.json, auth: CRM_TOKEN}\n"
        "  files: {kind: mcp, command: serve-files .}\n"
    )
    monkeypatch.setenv("CRM_TOKEN", "token-of-anna")
    monkeypatch.chdir(tmp_path)

    def identities() -> dict[str, str]:
        return source_fingerprints(load(config=settings))

    seen: list[dict[str, Any]] = [identities()]
    assert identities() == seen[0]
    monkeypatch.setenv("CRM_TOKEN", "token-of-boris")
    seen.append(identities())
    (tmp_path / "api.json").write_text('{"servers": [{"url": "https://two.test"}]}')
    seen.append(identities())
    assert len({found["crm"] for found in seen}) == 3
    assert len({found["files"] for found in seen}) == 1
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert identities()["files"] != seen[0]["files"]
