"""The older part of a conversation is replaced by a summary, and references and ids are kept by code."""

import json

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.loop.context import KEPT_MESSAGES, TurnContext, split_point, summary_threshold
from runax_cli.agent.loop.summarizer import (
    SUMMARY_MARK,
    SUMMARY_TOKENS,
    Summarizer,
    collect_references,
    summary_request,
)
from runax_cli.core.errors import ModelRefused
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.memory.conversation import History, WorkingMemory
from runax_cli.models.base import ByteCounter, Message, ModelReply, Role, ScriptedModel, ToolCall
from runax_cli.models.tokens import CalibratedCounter, measure

EFFECTIVE = 4000


def counter() -> CalibratedCounter:
    return CalibratedCounter(ByteCounter(), ratio=1.0)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for step in range(draw(st.integers(0, 8))):
        n = draw(st.integers(0, 3))
        calls = tuple(ToolCall(f"c{step}_{i}", "get", "{}") for i in range(n))
        messages.append(Message("assistant", "" if calls else "said", tool_calls=calls))
        messages += [Message("tool", "result", tool_call_id=call.id) for call in calls]
        if not calls:
            messages.append(Message("user", "go on"))
    return messages


@given(conversations())
def test_a_call_is_never_parted_from_its_results_and_the_last_four_stay(messages: list[Message]) -> None:
    cut = split_point(messages)
    older, recent = messages[:cut], messages[cut:]
    assert len(recent) >= min(KEPT_MESSAGES, len(messages))
    called = {call.id for message in recent for call in message.tool_calls}
    assert all(m.tool_call_id in called for m in recent if m.role == "tool")
    asked = {call.id for message in older for call in message.tool_calls}
    assert asked == {m.tool_call_id for m in older if m.role == "tool"}


def test_references_datasets_and_identifiers_are_collected_by_code() -> None:
    envelope = json.dumps({"dataset": "orders_2", "data": {"orders_2#7": {"id": 41, "mail": "a.b@example.org"}}})
    said = "Both are open [tickets_1#17, payments_1#3], in all 12 [q4]. See INV-2024-881."
    kept = collect_references([Message("tool", envelope, tool_call_id="c"), Message("assistant", said)])
    assert {"orders_2", "tickets_1#17", "payments_1#3", "q4"} <= set(kept.references)
    assert {"a.b@example.org", "INV-2024-881", '"id": 41'} <= set(kept.identifiers)


@given(st.lists(st.text(max_size=3000), max_size=12), st.integers(2500, 20_000))
def test_the_request_for_a_summary_stays_within_the_effective_context(texts: list[str], effective: int) -> None:
    used = counter()
    older = [Message("user", text) for text in texts]
    request = summary_request(older, "Which?", used, effective_tokens=effective, run_id="r")
    assert measure(request, used).bound(used) + SUMMARY_TOKENS <= effective


def test_the_threshold_is_seven_tenths_and_never_more_than_forty_thousand() -> None:
    assert summary_threshold(10_000) == 7000
    assert summary_threshold(1_000_000) == 40_000


def context(history: History) -> TurnContext:
    return TurnContext(
        system="You answer.",
        question="What is open?",
        history=history,
        tools=(),
        counter=counter(),
        effective_tokens=EFFECTIVE,
        run_id="r",
        can_summarize=True,
    )


def long_turn() -> WorkingMemory:
    working = WorkingMemory()
    for step in range(5):
        call = ToolCall(f"c{step}", "get_tickets", "{}")
        working.add(Message("assistant", "", tool_calls=(call,)))
        data = {"dataset": f"tickets_{step}", "data": {f"tickets_{step}#1": {"id": step, "text": "x" * 560}}}
        working.add_result(call.id, json.dumps(data), pointer="{}")
    return working


def summarizer(model: ScriptedModel, sink: CollectingSink) -> Summarizer:
    emitter = Emitter.for_run(sink, run_id="r", session_id="s")
    return Summarizer(model, counter(), question="What is open?", effective_tokens=9000, emitter=emitter, run_id="r")


async def test_a_long_conversation_is_shortened_to_one_block_with_what_must_not_be_lost() -> None:
    model = ScriptedModel([ModelReply(text="Tickets were looked up.", model="cheap")])
    sink, working, about = CollectingSink(), long_turn(), context(History())
    dropped = await summarizer(model, sink).summarize_if_long(about, working)
    sized = await about.fit_request(working)
    messages = sized.request.messages
    assert model.requests[0].role is Role.SUMMARIZER
    assert dropped == ("c0", "c1", "c2")
    assert [m.content for m in messages].count("What is open?") == 1
    blocks = [m for m in messages if m.content.startswith(SUMMARY_MARK)]
    assert len(blocks) == 1
    assert "Tickets were looked up." in blocks[0].content
    assert all(f"tickets_{n}" in blocks[0].content for n in range(3))
    assert messages[-4:] == working.messages[-4:]
    changed = next(event.body for event in sink.events if event.body.type == "tokens.changed")
    assert changed.before > changed.after
    assert sized.used_tokens < summary_threshold(EFFECTIVE)
    assert not sized.folded


async def test_a_second_summary_takes_the_place_of_the_first() -> None:
    model = ScriptedModel([ModelReply(text="First.", model="cheap"), ModelReply(text="Second.", model="cheap")])
    sink, working, about = CollectingSink(), long_turn(), context(History())
    shortens = summarizer(model, sink)
    await shortens.summarize_if_long(about, working)
    for step in range(5, 9):
        call = ToolCall(f"c{step}", "get_tickets", "{}")
        working.add(Message("assistant", "", tool_calls=(call,)))
        working.add_result(call.id, json.dumps({"dataset": f"tickets_{step}", "text": "y" * 700}), pointer="{}")
    await shortens.summarize_if_long(about, working)
    request = (await about.fit_request(working)).request
    blocks = [m.content for m in request.messages if m.content.startswith(SUMMARY_MARK)]
    assert len(blocks) == 1
    assert "Second." in blocks[0]
    assert "tickets_0" in blocks[0]


async def test_a_short_conversation_stays_as_it_is() -> None:
    model = ScriptedModel([])
    assert await summarizer(model, CollectingSink()).summarize_if_long(context(History()), WorkingMemory()) == ()
    assert not model.requests


async def test_a_summary_that_cannot_be_had_is_told_and_not_asked_for_again() -> None:
    refused = ModelRefused("no", model="cheap", retryable=False)
    model, sink, working, about = ScriptedModel([refused]), CollectingSink(), long_turn(), context(History())
    shortens = summarizer(model, sink)
    n_messages = len(working.messages)
    assert await shortens.summarize_if_long(about, working) == ()
    assert await shortens.summarize_if_long(about, working) == ()
    assert len(working.messages) == n_messages
    assert [event.body.code for event in sink.events if event.body.type == "warned"] == ["not_summarized"]
