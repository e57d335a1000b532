"""An answer is streamed as its statements pass their checks; words that turn out to precede calls are not."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.citations import non_statements, parse_statements
from runax_cli.agent.evidence.verify import strip_certificates
from runax_cli.agent.loop.answer_stream import AnswerStream
from runax_cli.agent.result.annotation import annotate
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import Evidence, EvidenceKind, Fault


def check(answer: str) -> list[CheckedStatement]:
    """Statements and headings with "wrong" fail; statements with "five" get a citation."""
    entries = (*parse_statements(answer), *(one for one in non_statements(answer) if "wrong" in one.text))
    return [
        CheckedStatement(
            one,
            Evidence(
                statement=one.text,
                kind=EvidenceKind.INFERENCE,
                fault=Fault.UNSUPPORTED if "wrong" in one.text else None,
            ),
            added="q1" if "five" in one.text else "",
        )
        for one in entries
    ]


class Listener:
    """A stream with what it emits, and an event for each emission."""

    def __init__(self, **options: Any) -> None:
        self.heard: list[str] = []
        self.has_heard = asyncio.Event()
        self.checked: list[str] = []
        emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
        self.stream = AnswerStream(emitter, check=self._check, on_text=self._hear, **options)

    def _hear(self, text: str) -> None:
        self.heard.append(text)
        self.has_heard.set()

    def _check(self, answer: str) -> list[CheckedStatement]:
        self.checked.append(answer)
        return check(answer)

    @property
    def text(self) -> str:
        return "".join(self.heard)

    async def play(self, *pieces: str, is_emitting: bool = False) -> None:
        """Receive pieces; with `is_emitting`, the reply ends after the first emission."""
        async with self.stream.reply() as on_text:
            for piece in pieces:
                on_text(piece)
            if is_emitting:
                async with asyncio.timeout(60):
                    await self.has_heard.wait()


async def test_a_paragraph_is_emitted_once_it_is_complete_and_checked() -> None:
    listener = Listener()
    await listener.play("It ", "broke.", "\n", "\nThen", " it was", is_emitting=True)
    assert listener.text == "It broke."


async def test_the_rest_follows_at_the_end_and_nothing_twice() -> None:
    listener = Listener()
    await listener.play("It broke.\n\nThen it was mended.", is_emitting=True)
    await listener.stream.finish("It broke.\n\nThen it was mended.")
    assert listener.heard == ["It broke.", "\n\nThen it was mended."]


async def test_everything_from_the_first_failing_statement_on_waits_for_the_end() -> None:
    answer = "It broke. That is wrong. It is true.\n\nA paragraph.\n\nAnother one."
    listener = Listener()
    await listener.play(answer, is_emitting=True)
    assert listener.heard == ["It broke. "]
    await listener.stream.finish(answer)
    assert listener.text == annotate(answer, check(answer)).text
    assert "That is wrong. [unsupported] It is true." in listener.text


async def test_a_list_waits_for_its_source_line() -> None:
    listener = Listener()
    answer = "Here they are:\n\n- one item\n- five items\n\nSource [q1]"
    await listener.play(answer, "\n\n", "The end", is_emitting=True)
    assert listener.checked[0] == answer
    assert listener.heard == [answer.replace("five items", "five items [q1]")]


async def test_a_list_without_what_follows_it_is_not_emitted() -> None:
    listener = Listener()
    await listener.play("First.\n\n- one item\n- five items\n\nSource", is_emitting=True)
    assert listener.heard == ["First."]


async def test_a_reply_that_may_be_rejected_is_held_back() -> None:
    listener = Listener(may_stream=lambda _text: False)
    await listener.play("It broke.\n\nThen it was mended.")
    assert listener.heard == []


@pytest.mark.parametrize("pieces", [["Let me look."], ["Let me ", "look.\n"]])
async def test_words_before_calls_are_dropped(pieces: Sequence[str]) -> None:
    listener = Listener()
    await listener.play(*pieces)
    listener.stream.discard()
    await listener.play("The answer.")
    await listener.stream.finish("The answer.")
    assert listener.heard == ["The answer."]


async def test_what_was_received_is_known_even_while_it_is_held() -> None:
    listener = Listener()
    await listener.play("Half an ans")
    assert (listener.stream.text, listener.heard) == ("Half an ans", [])


async def test_a_certificate_of_the_model_is_never_emitted() -> None:
    reply = "Nothing to see.\n\n261/261 tickets fetched · 9 pages · run 7f3a\n\nThat is all."
    listener = Listener()
    await listener.play(reply)
    await listener.stream.finish(strip_certificates(reply))
    assert "261" not in listener.text
    assert listener.text == strip_certificates(reply)


async def test_an_answer_that_replaced_the_streamed_text_is_emitted_whole() -> None:
    listener = Listener()
    await listener.play("It broke.\n\nThen", is_emitting=True)
    await listener.stream.finish("Something else.")
    assert listener.heard == ["It broke.", "\n\n", "Something else."]


async def test_a_silent_stream_only_collects() -> None:
    listener = Listener(is_silent=True)
    await listener.play("It broke.\n\nThen it was mended.")
    await listener.stream.finish("It broke.\n\nThen it was mended.")
    assert (listener.heard, listener.checked) == ([], [])
    assert listener.stream.text == "It broke.\n\nThen it was mended."


PIECES = st.lists(
    st.sampled_from(["It broke. ", "That is wrong. ", "It has five. ", "\n", "\n\n", "- an item", "Look:", "# Head"]),
    max_size=14,
)


@given(pieces=PIECES, streams_at=st.integers(0, 14))
def test_the_streamed_text_is_the_annotated_answer_however_far_it_got(pieces: list[str], streams_at: int) -> None:
    async def run() -> None:
        listener = Listener()
        async with listener.stream.reply() as on_text:
            for at, piece in enumerate(pieces):
                on_text(piece)
                if at == streams_at:
                    for _ in range(20):
                        await asyncio.sleep(0)
        answer = strip_certificates("".join(pieces))
        await listener.stream.finish(answer)
        final = annotate(answer, check(answer), streamed=listener.stream.streamed)
        assert listener.text == final.text == annotate(answer, check(answer)).text

    asyncio.run(run())
