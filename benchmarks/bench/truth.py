"""The labeler of the oracle model: the true label of every text, wrong with a given probability.

Draws depend on the text and on how often it was read, and not on the order of requests: a run can be repeated. The
first label of each text is kept.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.questions import LabelQuestion, World
from benchmarks.questions.check import true_labels
from runax_cli.core.untrusted_text import escape_for_prompt

_LINE = re.compile(r"^\[(\d+)\] (.*)$")
_GARBAGE = "Here are the labels that you asked for:"


@dataclass(slots=True, kw_only=True)
class Truth:
    """True labels by instruction and fenced text.

    `p` is the probability that a reading is right. `invalid` is the share of requests whose reply is not JSON, and of
    those whose reply lacks the label of one text.
    """

    labels: Mapping[str, Mapping[str, str]]
    allowed: Mapping[str, tuple[str, ...]]
    p: float = 1.0
    invalid: float = 0.0
    seed: int = 1
    given: dict[tuple[str, str], str] = field(default_factory=dict)
    _readings: Counter[tuple[str, str]] = field(default_factory=Counter)
    _requests: Counter[str] = field(default_factory=Counter)

    def afresh(self) -> "Truth":
        """A copy that has read nothing yet."""
        return Truth(labels=self.labels, allowed=self.allowed, p=self.p, invalid=self.invalid, seed=self.seed)

    def reply(self, request: str) -> str:
        """Return the reply to a labeler's request."""
        instruction = _between(request, "INSTRUCTION:\n", "\n\nFIELDS:")
        lines = [
            found for line in _between(request, "<texts>\n", "\n</texts>").split("\n") if (found := _LINE.match(line))
        ]
        self._requests[request] += 1
        dice = self._drawn("request", request, self._requests[request])
        if dice < self.invalid:
            return _GARBAGE
        lost = len(lines) // 2 if dice > 1 - self.invalid else None
        entries = [
            {"ref": int(line[1]), "label": self._label(instruction, line[2])}
            for at, line in enumerate(lines)
            if at != lost
        ]
        return json.dumps({"labels": entries}, ensure_ascii=False, separators=(",", ":"))

    def _label(self, instruction: str, text: str) -> str:
        key = (instruction, text)
        self._readings[key] += 1
        label = self._read(instruction, text, self._readings[key])
        return self.given.setdefault(key, label) if self._readings[key] == 1 else label

    def _read(self, instruction: str, text: str, reading: int) -> str:
        right = self.labels[instruction][text]
        dice = self._drawn(instruction, text, reading)
        if dice < self.p:
            return right
        others = [label for label in self.allowed[instruction] if label != right]
        return others[min(len(others) - 1, int((dice - self.p) / (1 - self.p) * len(others)))]

    def _drawn(self, *what: object) -> float:
        """A number from 0 to 1, the same for the same arguments."""
        said = "\x1f".join(map(str, (self.seed, *what)))
        return int.from_bytes(hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:7]) / 2**56


def truth_of(
    questions: Iterable[LabelQuestion], world: World, *, p: float = 1.0, invalid: float = 0.0, seed: int = 1
) -> Truth:
    """What the labeler knows about the texts of these questions."""
    labels: dict[str, dict[str, str]] = {}
    allowed: dict[str, tuple[str, ...]] = {}
    for question in questions:
        instruction = escape_for_prompt(question.instruction)
        known = labels.setdefault(instruction, {})
        known |= {shown(text): label for text, label in true_labels(question, world).items()}
        allowed[instruction] = question.labels
    return Truth(labels=labels, allowed=allowed, p=p, invalid=invalid, seed=seed)


def shown(text: str) -> str:
    """A text as in a request for labels: on one line, and fenced."""
    is_plain = "\n" not in text and "\r" not in text and not text.startswith('"')
    return escape_for_prompt(text if is_plain else json.dumps(text, ensure_ascii=False))


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]
