"""A plain agent, for comparison: pages one after another, each reduced in prose, and the model merges the reductions.

The first pages of every call are really fetched and reduced over HTTP; the cost of the rest is computed from them. Its
answers are not judged: only tokens and time are compared. The list of tools is left out on both sides.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import httpx2

from benchmarks.bench.claims import Claim, Section
from benchmarks.bench.judged import Asked
from benchmarks.bench.sections import Tell
from benchmarks.bench.stage import Setting, Stage, stage_of
from benchmarks.questions import EXACT, Fetch, Question
from mock_api.pagination import MAX_LIMIT
from runax_cli.commands.demo import TOKEN
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import Emitter, Event
from runax_cli.models.base import Message, Model, ModelRequest, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.tokens import O200kCounter

PAGES_MADE = 4
"""Number of pages of a call that are really reduced; the rest are computed."""
PAGE_SHARE = 0.75
"""Maximum share of the effective context for a page and its prompt, since the counter may be off."""
LARGE, FEWER_PERCENT = 250_000, 98.0
_SAMPLED = 20
_SYSTEM = "You read one page of an API's response. Write down in a short paragraph what matters to the question."
_MERGE = "You are given what was written about each page. Answer the question from it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The average cost of the pages of one call, measured on `n_pages`. `effective` bounds any one request."""

    records_a_page: int
    page_tokens: float
    prose_tokens: float
    page_seconds: float
    effective: int

    def cost(self, n_records: int) -> tuple[int, int, float]:
        """Requests, tokens and seconds for that many records, merging included."""
        pages = ceil(n_records / self.records_a_page)
        requests, tokens, size = pages, pages * (self.page_tokens + self.prose_tokens), pages * self.prose_tokens
        while True:
            nodes = max(1, ceil(size / (self.effective * PAGE_SHARE)))
            requests, tokens = requests + nodes, tokens + size + nodes * self.prose_tokens
            size = nodes * self.prose_tokens
            if nodes == 1:
                return requests, round(tokens), requests * self.page_seconds


class _Deaf:
    def emit(self, event: Event) -> None:
        """Drop the event."""


async def compared(setting: Setting, answered: Sequence[Asked], tell: Tell) -> tuple[Section, Mapping[str, Measured]]:
    """Compare the answered questions with the plain agent; also return the cost of a page of each resource."""
    by_id = {question.id: question for question in EXACT}
    costs: dict[str, tuple[Measured, int]] = {}
    rows = []
    async with stage_of(setting) as stage:
        await _calibrated(stage, answered, by_id)
        for asked in answered:
            question = by_id[asked.id]
            for fetch in question.fetches:
                if _key(fetch) not in costs:
                    costs[_key(fetch)] = await _measured(stage, fetch, question.text)
                    tell(f"plain agent, {_key(fetch)}: {costs[_key(fetch)][0].cost(costs[_key(fetch)][1])[1]:,} tokens")
            rows.append(_row(asked, question, costs))
    columns = ("id", "records", "plain_requests", "plain_tokens", "tokens", "fewer_percent", "plain_seconds", "seconds")
    rows.sort(key=lambda row: row["plain_tokens"])
    note = (
        f"the plain agent reads the first {PAGES_MADE} pages of each call, the cost of the rest is extrapolated; "
        "the list of the sources' tools is excluded on both sides"
    )
    measured = {key.partition(" ")[0]: cost for key, (cost, _) in reversed(costs.items())}
    return Section(name="plain", columns=columns, rows=rows, claims=(_claim(rows),), notes=(note,)), measured


def _claim(rows: Sequence[Mapping[str, Any]]) -> Claim:
    large = [row["fewer_percent"] for row in rows if row["plain_tokens"] > LARGE and row["right"]]
    if not large:
        return Claim(f"no question costs the plain agent over {LARGE:,} tokens", None)
    told = f"at least {min(large):.2f} % fewer tokens in {len(large)} questions over {LARGE:,}"
    text = f"{told} (target {FEWER_PERCENT:g} %)"
    return Claim(text, min(large) >= FEWER_PERCENT)


def _row(asked: Asked, question: Question, costs: Mapping[str, tuple[Measured, int]]) -> dict[str, Any]:
    each = [(cost.cost(n), n) for cost, n in (costs[_key(fetch)] for fetch in question.fetches)]
    tokens = sum(cost[1] for cost, _ in each)
    return {
        "id": asked.id,
        "right": asked.is_right,
        "records": sum(n for _, n in each),
        "plain_requests": sum(cost[0] for cost, _ in each),
        "plain_tokens": tokens,
        "tokens": asked.own_tokens,
        "fewer_percent": fewer(asked.own_tokens, tokens),
        "plain_seconds": round(sum(cost[2] for cost, _ in each), 2),
        "seconds": round(asked.seconds, 2),
    }


def fewer(tokens: int, plain_tokens: int) -> float:
    """By how many percent `tokens` are fewer."""
    return round(100 * (1 - tokens / plain_tokens), 2) if plain_tokens else 0.0


def _key(fetch: Fetch) -> str:
    return f"{fetch.resource} {sorted(fetch.arguments.items())}"


async def _calibrated(stage: Stage, answered: Sequence[Asked], by_id: Mapping[str, Question]) -> None:
    """Ask one question first: before a model's counter is calibrated, a page may only have as many bytes as tokens."""
    if answered:
        await stage.anew().ask(by_id[answered[0].id])


async def _measured(stage: Stage, fetch: Fetch, question: str) -> tuple[Measured, int]:
    registry = stage.conversation.runtime.registry
    effective = registry.config(Role.REDUCER).effective_tokens
    emitter = Emitter.for_run(_Deaf(), run_id="plain", session_id="plain")
    model = registry.bind(Role.REDUCER, budget=Budget(Limits(), owner="plain"), emitter=emitter, meter=UsageMeter())
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=stage.api_url, headers=headers, timeout=30) as client:
        sample, total = await _page(client, fetch, 0, _SAMPLED)
        size = _size(sample, effective)
        made = [await _reduced(client, model, fetch, at, size, question) for at in range(0, total, size)[:PAGES_MADE]]
    n = max(1, len(made))
    measured = Measured(
        records_a_page=size,
        page_tokens=sum(cost[0] for cost in made) / n,
        prose_tokens=sum(cost[1] for cost in made) / n,
        page_seconds=sum(cost[2] for cost in made) / n,
        effective=effective,
    )
    return measured, total


def _size(sample: str, effective: int) -> int:
    """Records in a page, so that its text takes its share of the effective context and the API serves it."""
    a_record = max(1.0, O200kCounter().count(sample) / _SAMPLED)
    return max(1, min(MAX_LIMIT, int(effective * PAGE_SHARE / a_record)))


async def _page(client: httpx2.AsyncClient, fetch: Fetch, offset: int, limit: int) -> tuple[str, int]:
    """Return a page as received, and the total number of records."""
    response = await client.get(f"/{fetch.resource}", params={**fetch.arguments, "offset": offset, "limit": limit})
    response.raise_for_status()
    return response.text, int(response.json()["total"])


async def _reduced(
    client: httpx2.AsyncClient, model: Model, fetch: Fetch, offset: int, size: int, question: str
) -> tuple[int, int, float]:
    """Tokens in, tokens out and seconds of one page."""
    began = time.perf_counter()
    page, _ = await _page(client, fetch, offset, size)
    said = f"QUESTION:\n{question}\n\n{page}"
    request = ModelRequest(role=Role.REDUCER, messages=(Message("system", _SYSTEM), Message("user", said)))
    usage = (await model.complete(request)).usage
    return usage.input_tokens, usage.output_tokens, time.perf_counter() - began
