"""Limits of a turn, a day and a tenant, set by option and setting."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runax_cli.core.results import RunResult, RunStatus

Run = Callable[..., Any]
QUESTION = "How many tickets does customer 4 have?"


@pytest.fixture
def ask(runax: Run, mock: Any) -> Any:
    """Asks the question over a mock API, with flags, and returns the result."""
    with mock() as url:

        def asked(*flags: str, **variables: str) -> tuple[Any, RunResult]:
            done = runax(
                "query", QUESTION, "-m", "rules", "--base-url", url, "-o", "json", "-q", *flags, variables=variables
            )
            return done, RunResult.model_validate_json(done.out)

        yield asked


def test_exhausted_limit_stops_only_its_tenant(ask: Any) -> None:
    first, result = ask("--tenant", "acme")
    assert first.code == 0, first.err
    used = result.usage.input_tokens + result.usage.output_tokens

    again, stopped = ask("--tenant", "acme", "--limit", f"tenant.tokens={used}")
    assert (again.code, stopped.status) == (6, RunStatus.LIMIT)
    assert "--max-tenant-tokens" in again.err
    assert stopped.usage.requests == 0

    assert ask("--tenant", "other", "--max-tenant-tokens", str(50 * used))[0].code == 0
    assert ask(MAX_DAY_TOKENS=str(used))[0].code == 6


def test_unreadable_ledger_stops_a_run_only_if_a_limit_depends_on_it(ask: Any) -> None:
    ledger = Path(os.environ["XDG_STATE_HOME"]) / "runax" / "ledger.sqlite"
    ledger.parent.mkdir(parents=True)
    ledger.write_bytes(b"no database at all " * 1000)

    done, result = ask("--max-day-usd", "100")
    assert (done.code, result.status, result.usage.requests, result.calls) == (6, RunStatus.LIMIT, 0, ())
    assert "ledger.sqlite" in done.err
    assert "Traceback" not in done.err

    free, _ = ask()
    assert free.code == 0


def test_requests_of_a_turn_are_limited(ask: Any) -> None:
    done, result = ask("--max-requests", "3")
    assert (done.code, result.status) == (6, RunStatus.LIMIT)
    assert sum(call.requests for call in result.calls) <= 3


def test_tenant_limit_needs_a_tenant(runax: Run) -> None:
    done = runax("query", QUESTION, "-m", "rules", "--base-url", "http://127.0.0.1:9", "--max-tenant-usd", "1")
    assert done.code == 3
    assert "--tenant" in done.err
