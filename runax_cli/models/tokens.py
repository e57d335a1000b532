"""How many tokens a text or a request has: an estimate, and a bound that no request may exceed.

Knows the shipped vocabulary, and how an endpoint's reported usage corrects what is counted with it. Knows nothing of
budgets and prices, and never asks the network: the vocabulary is data of this package.
"""

import asyncio
import base64
import gzip
import hashlib
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from adapters.json_text import compact_json
from runax_cli.models.base import ByteCounter, ModelRequest, TokenCounter
from runax_cli.models.structured_output import schema_instruction

VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the unpacked vocabulary; the same value that tiktoken checks its download against."""

_SPECIAL_TOKENS = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)

_WINDOW_CHARS = 1 << 18
_OFF_LOOP_CHARS = 16_384

MESSAGE_OVERHEAD = 8
"""Tokens that a message, a tool or a tool call costs beside its text: the marks of the chat template."""

_HEADROOM = 1.05
_RATIO_FLOOR, _RATIO_CEILING = 0.3, 4.0
_SMALLEST_SAMPLE = 100
_REFUSED_EXCESS = 1.25
"""By how much a refused request is taken to exceed what was allowed: the next one is shorter by a fifth at least."""
_RECENT = 16


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]:
        """Tokens of a text in which special tokens are ordinary characters."""


class _Vocabulary:
    """The one encoding of the process, built at first use (0.2 to 1.2 s, 70 MB) by whichever thread comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoding: _Encoding | None = None

    @property
    def is_built(self) -> bool:
        return self._encoding is not None

    def encoding(self) -> _Encoding:
        with self._lock:
            if self._encoding is None:
                self._encoding = _build()
            return self._encoding


def _build() -> _Encoding:
    import tiktoken

    packed = files("runax_cli.models").joinpath("vocabulary", "o200k_base.tiktoken.gz").read_bytes()
    raw = gzip.decompress(packed)
    if (found := hashlib.sha256(raw).hexdigest()) != VOCABULARY_SHA256:
        raise RuntimeError(f"the vocabulary 'o200k_base' is damaged: SHA-256 {found}. Install runax again.")
    pairs = (line.split() for line in raw.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(
        "o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=dict(_SPECIAL_TOKENS)
    )


_VOCABULARY = _Vocabulary()


class O200kCounter:
    """Counts with `o200k_base`. A text up to 262,144 characters counts exactly as tiktoken counts it."""

    name = "o200k_base"

    @property
    def is_ready(self) -> bool:
        """The vocabulary is in memory; otherwise the next count builds it, which blocks for up to a second."""
        return _VOCABULARY.is_built

    def warm(self) -> None:
        """Build the vocabulary now. Callable from any thread."""
        _VOCABULARY.encoding()

    def count(self, text: str) -> int:
        """Tokens in `text`, whatever it contains: names of special tokens are characters like any other."""
        encoding = _VOCABULARY.encoding()
        return sum(len(encoding.encode_ordinary(piece)) for piece in _windows(text))


def _windows(text: str) -> Iterator[str]:
    """Pieces of bounded size.

    A list of token ids takes 36 bytes a token; and a run of a million white-space characters overflows the backtracking
    of tiktoken's regular expression, which raises a BaseException. Nothing of a quarter of that does.
    """
    return (text[start : start + _WINDOW_CHARS] for start in range(0, len(text), _WINDOW_CHARS))


class CalibratedCounter:
    """A counter corrected by what an endpoint reports; shared by all roles that use one model at one endpoint.

    The correction is the largest of the recent ratios reported/counted: a bound that holds for most requests is no
    bound. Small requests are dominated by what a chat template adds, so only observations of at least a quarter of
    the largest recent one take part. A bound never goes below what was counted, because endpoints that leave cached
    tokens out of their usage, or estimate it, cannot be told from those with a better tokenizer.

    Read from any thread; observed from one, the event loop's.
    """

    def __init__(self, inner: TokenCounter, *, ratio: float | None = None) -> None:
        """`ratio` is given where it is known beforehand: 1.0 for a model that counts with `inner` itself."""
        self._inner = inner
        self._known_ratio = ratio
        self._bytes = ByteCounter()
        # Replaced as a whole and never changed in place: threads that pack records read it while replies are observed.
        self._samples: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """What the log calls it, with the correction in use."""
        if self.ratio is None:
            return f"{self._inner.name}, bytes as the bound until calibrated"
        return f"{self._inner.name}, calibrated \N{MULTIPLICATION SIGN}{self.ratio:.2f}"

    @property
    def is_calibrated(self) -> bool:
        """At least one usable report was seen, or the ratio was known beforehand."""
        return self.ratio is not None

    @property
    def is_ready(self) -> bool:
        """Counting does not have to build a vocabulary first."""
        return not isinstance(self._inner, O200kCounter) or self._inner.is_ready

    @property
    def ratio(self) -> float | None:
        """Reported tokens a counted one; None before the first report."""
        samples = self._samples
        if not samples:
            return self._known_ratio
        largest = max(counted for counted, _ in samples)
        return max(reported / counted for counted, reported in samples if counted * 4 >= largest)

    def observe(self, counted: int, reported: int) -> None:
        """Take note of a request that was counted (uncorrected) and reported. Reports out of all reason are ignored."""
        if counted < _SMALLEST_SAMPLE:
            return
        if _RATIO_FLOOR <= reported / counted <= _RATIO_CEILING:
            self._samples = (*self._samples, (counted, reported))[-_RECENT:]

    def refused(self, counted: int, effective_tokens: int) -> None:
        """Take note of a request that the endpoint refused as too long: it counts well more than what is allowed."""
        self.observe(counted, round(effective_tokens * _REFUSED_EXCESS))

    def counted(self, text: str) -> int:
        """Tokens by the inner counter, uncorrected: what `observe` wants."""
        return self._inner.count(text)

    def count(self, text: str) -> int:
        """The best estimate of the endpoint's own count."""
        return self.estimate_of(self.counted(text))

    def bound(self, text: str) -> int:
        """What the endpoint's own count will not exceed."""
        n_bytes = self._bytes.count(text)
        return n_bytes if self.ratio is None else self.bound_of_counted(self.counted(text), n_bytes)

    def estimate_of(self, counted: int) -> int:
        """`counted` tokens, corrected."""
        return counted if self.ratio is None else round(counted * self.ratio)

    def bound_of_counted(self, counted: int, n_bytes: int) -> int:
        """The bound for a text of `counted` tokens and `n_bytes`: bytes, and less where calibration allows it."""
        if self.ratio is None:
            return n_bytes
        return min(n_bytes, math.ceil(counted * max(1.0, self.ratio) * _HEADROOM))


async def count_off_loop(counter: CalibratedCounter, text: str) -> int:
    """`counter.count(text)`; in a thread where it would hold up the event loop (tiktoken lets go of the GIL)."""
    if counter.is_ready and len(text) <= _OFF_LOOP_CHARS:
        return counter.count(text)
    return await asyncio.to_thread(counter.count, text)


async def bound_off_loop(counter: CalibratedCounter, text: str) -> int:
    """`counter.bound(text)`; in a thread where it would hold up the event loop."""
    if counter.is_ready and len(text) <= _OFF_LOOP_CHARS:
        return counter.bound(text)
    return await asyncio.to_thread(counter.bound, text)


@dataclass(frozen=True, slots=True)
class RequestSize:
    """What a request measures, uncorrected, so that it can be judged again after a further calibration."""

    counted: int
    n_bytes: int

    def estimate(self, counter: CalibratedCounter) -> int:
        """Tokens that the endpoint will probably report."""
        return counter.estimate_of(self.counted)

    def bound(self, counter: CalibratedCounter) -> int:
        """Tokens that the endpoint's own count will not exceed."""
        return counter.bound_of_counted(self.counted, self.n_bytes)


def request_text(request: ModelRequest) -> str:
    """Everything of a request that costs tokens, as one text: messages, tool calls, tools, output schema.

    The schema counts with the words that go with it where an endpoint takes no schema, so that a request that is
    written anew for such an endpoint stays under its bound.
    """
    return "\n".join(_text_parts(request))


def _text_parts(request: ModelRequest) -> Iterator[str]:
    for message in request.messages:
        yield message.role
        yield message.content
        yield message.tool_call_id or ""
        for call in message.tool_calls:
            yield f"{call.id} {call.name} {call.arguments}"
    for tool in request.tools:
        yield f"{tool.name} {tool.description}"
        yield compact_json(tool.parameters)
    if request.output is not None:
        yield f"{request.output.name} {schema_instruction(request.output)}"


def measure(request: ModelRequest, counter: CalibratedCounter) -> RequestSize:
    """Count a request once."""
    text = request_text(request)
    marks = sum(1 + len(message.tool_calls) for message in request.messages) + len(request.tools) + 1
    overhead = MESSAGE_OVERHEAD * marks
    return RequestSize(counter.counted(text) + overhead, len(text.encode("utf-8", "surrogatepass")) + overhead)


async def measure_off_loop(request: ModelRequest, counter: CalibratedCounter) -> RequestSize:
    """`measure`; in a thread where it would hold up the event loop."""
    n_chars = sum(len(message.content) for message in request.messages)
    if counter.is_ready and n_chars <= _OFF_LOOP_CHARS:
        return measure(request, counter)
    return await asyncio.to_thread(measure, request, counter)
