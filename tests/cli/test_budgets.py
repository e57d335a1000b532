"""Limits of a turn, a day and a tenant, set by option and setting."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runax_cli.core.budget import Amount, Limits
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger

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


async def test_what_a_dead_process_reserved_stops_a_run_until_it_is_cleared(ask: Any, runax: Run) -> None:
    path = Path(os.environ["XDG_STATE_HOME"]) / "runax" / "ledger.sqlite"
    dead = SharedLedger(path, LedgerLimits(day=Limits(tokens=1_000_000)))
    await dead.reserve(Amount(tokens=1_000_000))
    dead.close()

    stopped, result = ask("--limit", "day.tokens=1000000")
    assert (stopped.code, result.status, result.usage.requests) == (6, RunStatus.LIMIT, 0)
    assert "runax runs usage --clear" in stopped.err

    (spent,) = json.loads(runax("runs", "usage", "-o", "json").out)["usage"]
    assert (spent["tokens"], spent["unsettled_tokens"]) == (0, 1_000_000)
    (cleared,) = json.loads(runax("runs", "usage", "--clear", "-o", "json").out)["usage"]
    assert cleared["unsettled_tokens"] == 0
    assert ask("--limit", "day.tokens=1000000")[0].code == 0


def test_usage_is_shown_without_creating_a_ledger(runax: Run) -> None:
    done = runax("runs", "usage")
    assert (done.code, done.out) == (0, "")
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "runax" / "ledger.sqlite").exists()


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
