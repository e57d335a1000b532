"""Counting: identical to tiktoken, never above the bound, and safe on any text."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.models import tokens
from runax_cli.models.base import Message, ModelRequest, OutputSchema, Role, ToolCall, ToolSchema
from runax_cli.models.tokens import CalibratedCounter, O200kCounter, measure, request_text

TEXTS = st.text(max_size=300)


@pytest.fixture(scope="module", autouse=True)
def counter() -> O200kCounter:
    """Warmed up, so that no property test includes the time to build the vocabulary."""
    counter = O200kCounter()
    counter.warm()
    return counter


def _request(**changes: object) -> ModelRequest:
    return ModelRequest(**({"role": Role.AGENT, "messages": (Message("user", "hello"),)} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello world", 2), ("Příliš žluťoučký kůň", 12), ("tiktoken is great!", 6)],
)
def test_known_texts_have_their_known_counts(counter: O200kCounter, text: str, expected: int) -> None:
    assert counter.count(text) == expected


@given(TEXTS)
def test_a_text_never_has_more_tokens_than_bytes(text: str) -> None:
    assert O200kCounter().count(text) <= len(text.encode())


@given(TEXTS, TEXTS)
def test_a_concatenation_is_bound_by_the_bytes_of_both_parts(left: str, right: str) -> None:
    assert O200kCounter().count(left + right) <= len(left.encode()) + len(right.encode())


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>"])
def test_names_of_special_tokens_in_data_are_counted_as_characters(counter: O200kCounter, special: str) -> None:
    assert counter.count(special) > 1


@pytest.mark.parametrize("white", [" ", "\t", "\u00a0", " \n"])
def test_a_million_whitespace_characters_are_counted(counter: O200kCounter, white: str) -> None:
    assert 0 < counter.count("x" + white * 1_000_000 + "x") <= 2 + 2 * 1_000_000


def test_counting_a_long_text_in_windows_hardly_changes_the_count(counter: O200kCounter) -> None:
    text = "Ticket 17 of customer Baláž is open. " * 20_000
    exact = len(tokens._VOCABULARY.encoding().encode_ordinary(text))
    assert counter.count(text) == pytest.approx(exact, abs=2 * len(text) // 262_144)


def test_a_lone_surrogate_is_counted(counter: O200kCounter) -> None:
    assert counter.count("a\ud800b") > 0


def test_a_damaged_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "VOCABULARY_SHA256", "0" * 64)
    with pytest.raises(RuntimeError, match="'o200k_base' is damaged"):
        tokens._build()


def test_the_encoding_is_the_one_that_tiktoken_defines(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_args, **_kwargs: {})
    official = openai_public.o200k_base()
    assert official["pat_str"] == tokens._PATTERN
    assert official["special_tokens"] == tokens._SPECIAL_TOKENS
    assert isinstance(tokens._VOCABULARY.encoding(), tiktoken.Encoding)


def test_before_calibration_bytes_are_the_bound() -> None:
    counter = CalibratedCounter(O200kCounter())
    assert counter.bound("Baláž " * 10) == len("Baláž ".encode()) * 10
    assert counter.count("hello world") == 2
    assert counter.name == "o200k_base, bytes as the bound until calibrated"


def test_after_calibration_the_bound_is_the_corrected_count_with_headroom() -> None:
    counter = CalibratedCounter(O200kCounter())
    counter.observe(1000, 1200)
    text = "hello world " * 500
    assert counter.bound(text) == pytest.approx(counter.counted(text) * 1.2 * 1.05, abs=1)
    assert counter.count(text) == pytest.approx(counter.counted(text) * 1.2, abs=1)
    assert counter.name == "o200k_base, calibrated \N{MULTIPLICATION SIGN}1.20"


@pytest.mark.parametrize(
    ("counted", "reported"), [(1000, 0), (1000, -5), (1000, 10), (1000, 50_000), (0, 100), (10, 40)]
)
def test_an_implausible_report_is_ignored(counted: int, reported: int) -> None:
    counter = CalibratedCounter(O200kCounter())
    counter.observe(counted, reported)
    assert not counter.is_calibrated


def test_the_largest_recent_ratio_counts() -> None:
    counter = CalibratedCounter(O200kCounter())
    for reported in (1000, 1300, 1100):
        counter.observe(1000, reported)
    assert counter.ratio == pytest.approx(1.3)


def test_a_small_request_is_ignored_after_a_large_one() -> None:
    counter = CalibratedCounter(O200kCounter())
    counter.observe(150, 500)
    counter.observe(10_000, 10_400)
    assert counter.ratio == pytest.approx(1.04)


def test_an_old_ratio_is_forgotten() -> None:
    counter = CalibratedCounter(O200kCounter())
    counter.observe(1000, 2000)
    for _ in range(16):
        counter.observe(1000, 1100)
    assert counter.ratio == pytest.approx(1.1)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(-10, 10**7)), max_size=40), TEXTS)
def test_the_bound_is_always_between_the_count_and_the_bytes(reports: list[tuple[int, int]], text: str) -> None:
    counter = CalibratedCounter(O200kCounter())
    for counted, reported in reports:
        counter.observe(counted, reported)
    assert counter.counted(text) <= counter.bound(text) <= len(text.encode())


def test_a_known_ratio_needs_no_report() -> None:
    counter = CalibratedCounter(O200kCounter(), ratio=1.0)
    assert counter.bound("hello world " * 100) == pytest.approx(counter.counted("hello world " * 100) * 1.05, abs=1)


def test_everything_that_costs_tokens_is_in_the_text_of_a_request() -> None:
    call = ToolCall("call_1", "get_tickets", '{"customer_id": 4}')
    request = _request(
        messages=(
            Message("system", "Be brief."),
            Message("assistant", "looking", tool_calls=(call,)),
            Message("tool", "the result", tool_call_id="call_1"),
        ),
        tools=(ToolSchema("get_tickets", "All tickets.", {"properties": {"severity": {}}}),),
        output=OutputSchema("findings", {"properties": {"nothing_relevant": {}}}),
    )
    text = request_text(request)
    for part in ("Be brief.", "looking", "get_tickets", "customer_id", "the result", "All tickets.", "severity"):
        assert part in text
    assert "nothing_relevant" in text


def test_the_bound_of_a_request_includes_its_tools_and_its_schema() -> None:
    counter = CalibratedCounter(O200kCounter(), ratio=1.0)
    tools = (ToolSchema("get_tickets", "All tickets of one customer.", {"type": "object"}),)
    schema = OutputSchema("findings", {"type": "object", "properties": {"statement": {"type": "string"}}})
    plain = measure(_request(), counter).bound(counter)
    assert measure(_request(tools=tools), counter).bound(counter) > plain
    assert measure(_request(output=schema), counter).bound(counter) > plain


def test_a_measured_request_uses_later_calibration() -> None:
    counter = CalibratedCounter(O200kCounter())
    size = measure(_request(), counter)
    assert size.bound(counter) == size.n_bytes
    counter.observe(1000, 1500)
    assert size.estimate(counter) == round(size.counted * 1.5)
    assert size.bound(counter) == min(size.n_bytes, -(-size.counted * 1.5 * 1.05 // 1))


@pytest.mark.usefixtures("switch_threads_often")
def test_other_threads_never_see_a_partial_calibration() -> None:
    counter = CalibratedCounter(O200kCounter())
    with ThreadPoolExecutor(max_workers=1) as pool:
        packing = pool.submit(lambda: {counter.bound_of_counted(1000, 10**6) for _ in range(100_000)})
        while not packing.done():
            counter.observe(1000, 1500)
        assert packing.result() <= {10**6, 1575}


async def test_a_large_text_is_counted_without_blocking_the_event_loop() -> None:
    counter = CalibratedCounter(O200kCounter())
    counter.count("warm")
    text = "ticket number 17 is open; " * 40_000
    turns = 0

    async def breathe() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(breathe())
    counted = await tokens.count_off_loop(counter, text)
    task.cancel()
    assert counted == counter.count(text)
    assert turns > 10
