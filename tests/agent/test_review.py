"""A review by a model on a loopback endpoint: what it catches, what it costs, and what happens if it fails."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.catalog import ToolCatalog
from adapters.memory_source import MemorySource
from mock_api.llm_server import WireCompletion, WireRefused, WireRequest, WireToolCall, create_llm_app
from mock_api.serving import serve
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import Fault, ReviewVerdict, RunResult, RunStatus
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import Journal, MemoryJournal
from runax_cli.models.base import Role
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.models.rules import RulesModel
from runax_cli.settings.settings import ReviewMode

TICKETS = [{"id": 501, "text": "The router was not replaced; the technician never came."}]
QUESTION = "What happened to the router of ticket 501?"
MISREAD = "The router of ticket 501 was replaced [tickets_1#1]."
TRUE = "The technician never came [tickets_1#1]."


def verdict(kind: str, claim: str, *words: str, statement: int = 1) -> dict[str, Any]:
    return {"statement": statement, "verdict": kind, "claim": claim, "words": list(words)}


def verdicts(*entries: Mapping[str, Any]) -> str:
    return json.dumps({"verdicts": entries})


CONTRADICTED = verdicts(verdict("contradicted", "was replaced", "was not replaced"))
SUPPORTED = verdicts(verdict("supported", "", "the technician never came"))
Reply = str | WireRefused


@dataclass
class Script:
    """A model endpoint: the agent lists tickets and gives `answer`; the reviewer gives `reviews` in order."""

    answer: str
    reviews: Sequence[Reply] = ()
    answer_tokens: int = 20
    hold_review: asyncio.Event | None = None
    requests: list[WireRequest] = field(default_factory=list)

    async def reply(self, request: WireRequest) -> WireCompletion:
        self.requests.append(request)
        if request.role == Role.REVIEWER:
            if self.hold_review is not None:
                await self.hold_review.wait()
            text = self.reviews[len(self.of(Role.REVIEWER)) - 1]
            if isinstance(text, WireRefused):
                raise text
            return WireCompletion(text=text, input_tokens=900, output_tokens=60)
        if any(message.role == "tool" for message in request.messages):
            return WireCompletion(text=self.answer, input_tokens=300, output_tokens=self.answer_tokens)
        call = WireToolCall("get_tickets", '{"customer_id": 4}', "c1")
        return WireCompletion(tool_calls=(call,), input_tokens=200, output_tokens=10)

    def of(self, role: Role) -> list[WireRequest]:
        """The requests of a role."""
        return [request for request in self.requests if request.role == role]


@dataclass
class Reviewed:
    """A session whose models are on loopback."""

    session: Session
    sink: CollectingSink

    def warnings(self) -> list[str]:
        """The texts of all warnings about the review."""
        bodies = [event.body for event in self.sink.events]
        return [body.text for body in bodies if body.type == "warned" and body.code == "not_reviewed"]


@pytest.fixture
def opened(stage: Any, tmp_path: Path) -> Callable[..., Any]:
    """Opens a session over a script."""
    from tests.agent.conftest import StandIn

    @asynccontextmanager
    async def open_(
        script: Script,
        *,
        review: ReviewMode = "auto",
        journal: Journal | None = None,
        limits: TurnLimits | None = None,
        **role: Any,
    ) -> AsyncIterator[Reviewed]:
        async with serve(create_llm_app(script.reply, model="mock"), port=0) as url:
            config = RoleConfig(name="mock", base_url=f"{url}/v1", api_key="k", api="chat", **role)
            registry = ModelRegistry({Role.AGENT: config}, concurrency=4, rules=RulesModel)
            sink = CollectingSink()
            specs = {"get_tickets": (stage.tool("get_tickets"), _unused)}
            session = Session(
                registry=registry,
                executor=StandIn(
                    DatasetStore(tmp_path / url.rpartition(":")[2]), {"get_tickets": lambda _call: TICKETS}
                ),
                catalog=await ToolCatalog.load([MemorySource("crm", specs)]),
                journal=journal or MemoryJournal(),
                sink=sink,
                limits=limits or TurnLimits(),
                review=review,
            )
            try:
                yield Reviewed(session, sink)
            finally:
                await registry.aclose()

    return open_


def _unused(_arguments: Mapping[str, Any], _page: Any) -> Any:
    raise AssertionError("the stand-in does not ask the source")


async def asked(opened: Any, script: Script, **options: Any) -> tuple[RunResult, list[str]]:
    async with opened(script, **options) as reviewed:
        return await reviewed.session.ask(QUESTION), reviewed.warnings()


async def test_a_misread_text_is_caught_with_a_review_and_passes_without(opened: Any) -> None:
    script = Script(MISREAD, [CONTRADICTED])
    without, _ = await asked(opened, script, review="never")
    assert (without.status, without.exit_code, script.of(Role.REVIEWER)) == (RunStatus.COMPLETE, 0, [])
    result, warnings = await asked(opened, script)
    (evidence,) = result.evidence
    assert (result.status, result.exit_code) == (RunStatus.INCOMPLETE, 7)
    assert (evidence.verified, evidence.fault, evidence.review) == (
        False,
        Fault.CONTRADICTED,
        ReviewVerdict.CONTRADICTED,
    )
    assert evidence.note is not None
    assert evidence.note.startswith("the reviewer: ")
    assert warnings == []


async def test_a_supported_answer_stays_complete_and_the_review_is_metered_by_role(opened: Any) -> None:
    script = Script(TRUE, [SUPPORTED])
    result, warnings = await asked(opened, script)
    (evidence,) = result.evidence
    assert (result.exit_code, evidence.verified, evidence.review) == (0, True, ReviewVerdict.SUPPORTED)
    used = result.usage.by_role["reviewer"]
    assert (used.requests, used.input_tokens, used.output_tokens) == (1, 900, 60)
    assert warnings == []


async def test_the_request_has_the_question_the_evidence_and_the_statements_in_fences(opened: Any) -> None:
    script = Script(TRUE, [SUPPORTED])
    await asked(opened, script)
    (request,) = script.of(Role.REVIEWER)
    text = str(request.messages[-1].content)
    assert text.startswith(f"QUESTION:\n{QUESTION}\n\n<evidence>\n")
    for part in ("call get_tickets(customer_id=4): 1 records match", TICKETS[0]["text"], "The technician never came."):
        assert part in text


async def test_words_that_stand_nowhere_are_asked_for_once_more(opened: Any) -> None:
    invented = verdicts(verdict("contradicted", "was replaced", "the router is fine"))
    repaired = Script(MISREAD, [invented, CONTRADICTED])
    result, warnings = await asked(opened, repaired)
    assert (result.exit_code, len(repaired.of(Role.REVIEWER)), warnings) == (7, 2, [])
    never = Script(MISREAD, [invented, invented])
    result, warnings = await asked(opened, never)
    assert (result.exit_code, result.evidence[0].review, len(never.of(Role.REVIEWER))) == (0, None, 2)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    "reviews",
    [
        ["no JSON", "no JSON"],
        [WireRefused("forbidden", status=403)],
        [verdicts()],
    ],
)
async def test_a_failed_review_warns_and_leaves_the_verdict_of_code(opened: Any, reviews: list[Reply]) -> None:
    result, warnings = await asked(opened, Script(TRUE, reviews))
    assert (result.status, result.exit_code) == (RunStatus.COMPLETE, 0)
    assert result.answer == TRUE
    assert (result.evidence[0].verified, result.evidence[0].review) == (True, None)
    assert len(warnings) == 1


async def test_an_exhausted_budget_leaves_the_verdict_of_code(opened: Any) -> None:
    script = Script(TRUE, [SUPPORTED], answer_tokens=99_000)
    result, warnings = await asked(opened, script, limits=TurnLimits(tokens=100_000))
    assert (result.exit_code, result.answer, script.of(Role.REVIEWER)) == (0, TRUE, [])
    assert any("tokens" in warning for warning in warnings)


async def test_a_timeout_during_the_review_keeps_the_answer(opened: Any) -> None:
    held = asyncio.Event()
    async with opened(Script(TRUE, [SUPPORTED], hold_review=held), limits=TurnLimits(timeout_s=5)) as reviewed:
        result = await reviewed.session.ask(QUESTION)
        held.set()
        assert (result.exit_code, result.answer) == (0, TRUE)
        assert "timed out after 5 s" in reviewed.warnings()[0]


async def test_auto_does_not_review_what_rests_on_no_text_and_always_does(opened: Any) -> None:
    answer = "There is 1 ticket [tickets_1]."
    script = Script(answer, [verdicts(verdict("supported", "", "1 records match"))])
    result, _ = await asked(opened, script)
    assert (result.exit_code, script.of(Role.REVIEWER)) == (0, [])
    result, _ = await asked(opened, script, review="always")
    assert (result.exit_code, result.evidence[0].review) == (0, ReviewVerdict.SUPPORTED)


async def test_a_resumed_run_does_not_pay_for_its_review_again(opened: Any) -> None:
    script, journal = Script(MISREAD, [CONTRADICTED]), MemoryJournal()
    async with opened(script, journal=journal) as reviewed:
        first = await reviewed.session.ask(QUESTION)
    n_requests = len(script.requests)
    async with opened(script, journal=journal) as reviewed:
        stored = journal.find_run(first.run_id)
        assert stored is not None
        again = await reviewed.session.resume(stored)
    assert (again.exit_code, again.evidence) == (7, first.evidence)
    assert len(script.requests) == n_requests


async def test_the_rules_model_reviews_nothing(opened: Any) -> None:
    script = Script(TRUE, [SUPPORTED])
    async with opened(script, review="always", is_rules=True) as reviewed:
        assert reviewed.session.review_mode == "never"
