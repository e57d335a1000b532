"""Words and sentence templates, loaded from the YAML files in `texts/`, and the filling of their slots."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import yaml

Language: TypeAlias = Literal["cs", "en"]
_MONTHS = tuple("January February March April May June July August September October November December".split())


@dataclass(frozen=True, slots=True)
class Category:
    """Sentences about one kind of problem."""

    subjects: tuple[str, ...]
    open: tuple[str, ...]
    detail: tuple[str, ...]
    act: tuple[str, ...]
    outcome: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentenceBank:
    """All sentences of one language."""

    language: Language
    draws: dict[str, tuple[str, ...]]
    greetings: tuple[str, ...]
    farewells: tuple[str, ...]
    impact: tuple[str, ...]
    request: tuple[str, ...]
    replies: tuple[str, ...]
    agent_openings: tuple[str, ...]
    agent_returns: tuple[str, ...]
    agent_asks: tuple[str, ...]
    agent_closings: tuple[str, ...]
    notes: tuple[str, ...]
    satisfaction: tuple[str, ...]
    messages: tuple[str, ...]
    categories: dict[str, Category]


@cache
def words() -> dict[str, Any]:
    """Names, places and devices."""
    values: dict[str, Any] = _freeze(_load_yaml("words"))
    return values


@cache
def sentence_bank(language: Language) -> SentenceBank:
    """The sentences of one language."""
    raw = _freeze(_load_yaml(language))
    categories = {name: Category(**sentences) for name, sentences in raw.pop("categories").items()}
    return SentenceBank(language=language, categories=categories, **raw)


def _load_yaml(name: str) -> dict[str, Any]:
    text = (files("mockdata") / "texts" / f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)  # safe, and ten times as fast
    return content


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _freeze(item) for key, item in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def format_date(moment: datetime, language: Language) -> str:
    """A date as written in a letter."""
    if language == "cs":
        return f"{moment.day}. {moment.month}. {moment.year}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


class SlotFiller(dict[str, str]):
    """The slot values of one text by name; a missing one is drawn at random at every use."""

    def __init__(
        self, facts: dict[str, str], *, rng: random.Random, bank: SentenceBank, reference_time: datetime
    ) -> None:
        super().__init__(facts)
        self._chance, self._bank, self._reference_time = rng, bank, reference_time
        self._used: set[str] = set()

    def fill(self, sentence: str) -> str:
        """The sentence with its slots filled."""
        return sentence.format_map(self)

    def pin(self, *names: str) -> None:
        """Draw these slots now, so that they stay the same throughout the text."""
        self.update({name: self[name] for name in names})

    def one(self, sentences: tuple[str, ...]) -> str:
        """One of the sentences, filled and capitalized."""
        filled = self.fill(self._chance.choice(sentences))
        return filled[:1].upper() + filled[1:]

    def some(self, sentences: tuple[str, ...], count: int) -> list[str]:
        """Up to `count` sentences that this text has not used yet."""
        fresh = [sentence for sentence in sentences if sentence not in self._used]
        chosen = self._chance.sample(fresh, min(count, len(fresh)))
        self._used.update(chosen)
        return [self.one((sentence,)) for sentence in chosen]

    def __missing__(self, name: str) -> str:
        drawn = self._bank.draws.get(name)
        if drawn is not None:
            return self.fill(self._chance.choice(drawn))
        return _number(name, self._chance) or self._moment(name)

    def _moment(self, name: str) -> str:
        if name != "date":
            raise KeyError(name)
        return format_date(self._reference_time + timedelta(days=self._chance.randint(-12, 20)), self._bank.language)


def _number(name: str, rng: random.Random) -> str:
    """A random number for a slot, as text; "" if the slot takes none."""
    match name:
        case "time":
            return f"{rng.randint(7, 22)}:{rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)):02d}"
        case "loss":
            return f"{rng.uniform(0.4, 38):.1f}"
        case "signal":
            return f"-{rng.uniform(14, 33):.1f}"
        case _:
            low, high = _RANGES.get(name, (0, 0))
            return str(rng.randint(low, high)) if high else ""


_RANGES = {
    "days": (2, 14),
    "count": (3, 19),
    "minutes": (5, 95),
    "hours": (3, 48),
    "low": (1, 29),
    "ping": (60, 940),
    "load": (71, 99),
    "floor": (5, 9),
}
