"""Token counting of texts and requests: an estimate, and an upper bound.

Counts with the vocabulary `o200k_base`, which is shipped with the package (no network), corrected by the usage that an
endpoint reports.
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
"""Checksum of the unpacked vocabulary; the same value that tiktoken checks its download against."""

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
"""Tokens per message, tool and tool call in addition to its text: the special tokens of the chat template."""

_HEADROOM = 1.05
_RATIO_FLOOR, _RATIO_CEILING = 0.3, 4.0
_MIN_SAMPLE_TOKENS = 100
_REFUSED_RATIO = 1.25
"""The assumed size of a refused request relative to the limit: the next one is shorter by at least a fifth."""
_MAX_SAMPLES = 16


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]:
        """The tokens of a text; names of special tokens are ordinary text."""


class _Vocabulary:
    """The encoding of the process, built at first use (0.2 to 1.2 s, 70 MB) by the first thread that needs it."""

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
        raise RuntimeError(f"the vocabulary 'o200k_base' is damaged: SHA-256 is {found}. Reinstall runax.")
    pairs = (line.split() for line in raw.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(
        "o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=dict(_SPECIAL_TOKENS)
    )


_VOCABULARY = _Vocabulary()


class O200kCounter:
    """Counts with `o200k_base`. Up to 262,144 characters the count is exactly that of tiktoken."""

    name = "o200k_base"

    @property
    def is_ready(self) -> bool:
        """Whether the vocabulary is in memory; if not, the next count builds it, which blocks for up to a second."""
        return _VOCABULARY.is_built

    def warm(self) -> None:
        """Build the vocabulary now. Callable from any thread."""
        _VOCABULARY.encoding()

    def count(self, text: str) -> int:
        """The number of tokens in `text`; names of special tokens are ordinary text."""
        encoding = _VOCABULARY.encoding()
        return sum(len(encoding.encode_ordinary(piece)) for piece in _windows(text))


def _windows(text: str) -> Iterator[str]:
    """Pieces of bounded size, for two reasons.

    A list of token ids takes 36 bytes per token. A run of a million whitespace characters overflows the backtracking of
    tiktoken's regular expression, which raises a BaseException; a quarter of that does not.
    """
    return (text[start : start + _WINDOW_CHARS] for start in range(0, len(text), _WINDOW_CHARS))


class CalibratedCounter:
    """A counter calibrated by the usage that an endpoint reports; shared by all roles of one model at one endpoint.

    The correction is the largest of the recent ratios reported/counted, because a bound has to hold for every request.
    Small requests are dominated by the chat template, so only samples of at least a quarter of the largest recent one
    count. A bound is never below the plain count: an endpoint that leaves cached tokens out of its usage looks like one
    with a better tokenizer.

    Can be read from any thread; `observe` and `refused` are called from the event loop's thread only.
    """

    def __init__(self, inner: TokenCounter, *, ratio: float | None = None) -> None:
        """`ratio` is the initial ratio if it is known: 1.0 for a model that uses the vocabulary of `inner`."""
        self._inner = inner
        self._known_ratio = ratio
        self._bytes = ByteCounter()
        # Replaced, never changed in place: other threads read it while replies are observed.
        self._samples: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """The name in the log, with the correction in use."""
        if self.ratio is None:
            return f"{self._inner.name}, bytes as the bound until calibrated"
        return f"{self._inner.name}, calibrated \N{MULTIPLICATION SIGN}{self.ratio:.2f}"

    @property
    def is_calibrated(self) -> bool:
        """Whether the ratio is known, from a report or beforehand."""
        return self.ratio is not None

    @property
    def is_ready(self) -> bool:
        """Whether the vocabulary is in memory."""
        return not isinstance(self._inner, O200kCounter) or self._inner.is_ready

    @property
    def ratio(self) -> float | None:
        """Reported tokens per counted token; None before the first report."""
        samples = self._samples
        if not samples:
            return self._known_ratio
        largest = max(counted for counted, _ in samples)
        return max(reported / counted for counted, reported in samples if counted * 4 >= largest)

    def observe(self, counted: int, reported: int) -> None:
        """Record the uncorrected count and the reported usage of a request. Implausible reports are ignored."""
        if counted < _MIN_SAMPLE_TOKENS:
            return
        if _RATIO_FLOOR <= reported / counted <= _RATIO_CEILING:
            self._samples = (*self._samples, (counted, reported))[-_MAX_SAMPLES:]

    def refused(self, counted: int, effective_tokens: int) -> None:
        """Record a request that the endpoint refused as too long: its real size is well above the limit."""
        self.observe(counted, round(effective_tokens * _REFUSED_RATIO))

    def counted(self, text: str) -> int:
        """The uncorrected count, as `observe` takes it."""
        return self._inner.count(text)

    def count(self, text: str) -> int:
        """The best estimate of the endpoint's count."""
        return self.estimate_of(self.counted(text))

    def bound(self, text: str) -> int:
        """An upper bound of the endpoint's count."""
        n_bytes = self._bytes.count(text)
        return n_bytes if self.ratio is None else self.bound_of_counted(self.counted(text), n_bytes)

    def estimate_of(self, counted: int) -> int:
        """The estimate for an uncorrected count."""
        return counted if self.ratio is None else round(counted * self.ratio)

    def bound_of_counted(self, counted: int, n_bytes: int) -> int:
        """The bound for an uncorrected count and a length in bytes; less than bytes once calibrated."""
        if self.ratio is None:
            return n_bytes
        return min(n_bytes, math.ceil(counted * max(1.0, self.ratio) * _HEADROOM))


async def count_off_loop(counter: CalibratedCounter, text: str) -> int:
    """`counter.count(text)`, in a thread if it would block the event loop (tiktoken releases the GIL)."""
    if counter.is_ready and len(text) <= _OFF_LOOP_CHARS:
        return counter.count(text)
    return await asyncio.to_thread(counter.count, text)


async def bound_off_loop(counter: CalibratedCounter, text: str) -> int:
    """`counter.bound(text)`, in a thread if it would block the event loop."""
    if counter.is_ready and len(text) <= _OFF_LOOP_CHARS:
        return counter.bound(text)
    return await asyncio.to_thread(counter.bound, text)


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The uncorrected size of a request, which can be judged again after further calibration."""

    counted: int
    n_bytes: int

    def estimate(self, counter: CalibratedCounter) -> int:
        """The number of tokens that the endpoint will probably report."""
        return counter.estimate_of(self.counted)

    def bound(self, counter: CalibratedCounter) -> int:
        """An upper bound of the endpoint's count."""
        return counter.bound_of_counted(self.counted, self.n_bytes)


def request_text(request: ModelRequest) -> str:
    """All parts of a request that cost tokens as one text: messages, tool calls, tools, output schema.

    The schema includes the instruction for endpoints that take no schema, so that a request adapted to such an endpoint
    stays within its bound.
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
    """The size of a request."""
    text = request_text(request)
    n_parts = sum(1 + len(message.tool_calls) for message in request.messages) + len(request.tools) + 1
    overhead = MESSAGE_OVERHEAD * n_parts
    return RequestSize(counter.counted(text) + overhead, len(text.encode("utf-8", "surrogatepass")) + overhead)


async def measure_off_loop(request: ModelRequest, counter: CalibratedCounter) -> RequestSize:
    """`measure`, in a thread if it would block the event loop."""
    n_chars = sum(len(message.content) for message in request.messages)
    if counter.is_ready and n_chars <= _OFF_LOOP_CHARS:
        return measure(request, counter)
    return await asyncio.to_thread(measure, request, counter)
