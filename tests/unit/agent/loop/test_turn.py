"""The answer streams; words that turn out to precede calls do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.loop.turn import AnswerStream
from runax_cli.core.events import CollectingSink, Emitter


def listening() -> tuple[AnswerStream, list[str]]:
    heard: list[str] = []
    emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
    return AnswerStream(emitter, on_text=heard.append), heard


def test_the_first_paragraph_is_held_until_it_is_over_and_the_rest_flows() -> None:
    stream, heard = listening()
    stream.start_reply()
    for piece in ("It ", "broke.", "\n", "\nThen", " it was", " mended."):
        stream.write(piece)
    assert heard == ["It broke.\n\nThen", " it was", " mended."]


@pytest.mark.parametrize("pieces", [["Let me look."], ["Let me ", "look.\n"]])
def test_words_before_calls_are_dropped(pieces: list[str]) -> None:
    stream, heard = listening()
    stream.start_reply()
    for piece in pieces:
        stream.write(piece)
    stream.discard()
    stream.start_reply()
    stream.write("The answer.")
    stream.finish()
    assert heard == ["The answer."]


def test_what_was_heard_so_far_is_known_even_while_it_is_held() -> None:
    stream, heard = listening()
    stream.start_reply()
    stream.write("Half an ans")
    assert (stream.text, heard) == ("Half an ans", [])


@given(st.lists(st.text(alphabet="ab\n", max_size=4), max_size=12))
def test_a_finished_answer_arrives_whole_and_in_order(pieces: list[str]) -> None:
    stream, heard = listening()
    stream.start_reply()
    for piece in pieces:
        stream.write(piece)
    stream.finish()
    assert "".join(heard) == "".join(pieces)
