"""The words of one language that runax recognizes in questions and answers.

Every string below is a fragment of a regular expression: alternatives separated by "|". `QuestionWords` are matched
against text in lower case without diacritics, everything else against the text as it is, ignoring case.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

TimeUnit: TypeAlias = Literal["week", "day", "hour", "minute", "second"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWords:
    """Words that show what a question asks for, and whether it asks for several things. Without diacritics."""

    figure: str
    """Asks for a computed figure: how many, average, total."""
    meaning: str
    """Asks for what records say: why, summarize, describe."""
    ranking: str
    """Asks for an order or a distribution: highest, per month."""
    asking: str
    """Words that a question or a request can begin with."""
    reporting: str
    """Requests that only say how to present the answer: tell, give."""
    filler: str
    """Words that may stand before the word that asks."""
    conjunction: str
    """Words that join two questions: and, or, then."""
    counting: str
    """Words that ask for a number: how many, how often."""
    selecting: str
    """Words that ask which one: which, who."""
    quantity_stem: str = ""
    """A word that all quantity words share. Twice in a question, it asks for two quantities."""
    preposition: str
    """Prepositions that may stand before a selecting word."""
    quantity: str
    """What may follow "and" to ask for a quantity of the same thing: how many, how long."""
    same_thing: str
    """Words that refer to the thing that was asked for: of them, each."""
    output_format: str
    """Requests about the form of the answer that begin a sentence: list them, round."""
    addition: str
    """Words that add one more part: as well as, in addition."""
    comparison: str
    """Words that compare: versus, difference between."""
    range_start: str
    """Words that begin a range: between, from."""
    range_middle: str
    """Words in the middle of a range: and, to."""
    name_conjunction: str
    """Words that join two names: and, or."""
    naming: str
    """Words between such a conjunction and one more name or number: of, for, customer."""
    possessive: str
    """Words that refer to the things asked for before, in front of one of their properties: their, its."""
    some_of_them: str
    """What follows a counting word if it counts some of the things asked for before: of them, are."""
    common: str
    """Frequent words that identify the language. "" if its questions are the default language."""
    predicate: str = ""
    """What follows "and" without asking anything: "events that come from R7 and are errors"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """How numbers are written in words, scaled and hedged."""

    names: tuple[str, ...]
    """Names of 0, 1, 2, ... with all their forms, separated by spaces."""
    pronouns: str
    """Those of the names that are also other words, separated by spaces: "both", "no"."""
    inverted_by: str = ""
    """What joins units and tens in the other order, as in "dvaadvacet" (2 and 20); "" if this is not done."""
    scales: Mapping[str, int]
    """Beginnings of scale words with their number of zeros: thousand 3."""
    scale_words: str
    """Scale words as they follow a number. Case matters."""
    scale_abbreviations: str
    """Abbreviated scale words, which may also be attached to the number. Case matters."""
    percent: str
    about: str
    over: str
    under: str
    lower_bound: str
    """Phrases that present a figure as a lower bound: at least, so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DateWords:
    """How dates and times are written."""

    months: tuple[str, ...]
    """The twelve months with all their forms, separated by spaces."""
    ambiguous_months: tuple[str, ...] = ()
    """Months that are also other words: "may"."""
    ordinal_suffix: str = ""
    """Suffixes of ordinal numbers: st, nd, rd, th."""
    range_word: str
    """Words between the two ends of a range of days."""
    before_year: str
    """Words between a month and its year."""
    after_day: str = ""
    """Words between a day and its month."""
    time_units: Mapping[str, TimeUnit]
    """Beginnings of words for units of time. A trailing space means the whole word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementWords:
    """Words that matter where the statements of an answer are split and checked."""

    list_conjunction: str
    """Joins the last two references of a list."""
    negation: str
    abbreviation: str
    """Abbreviations that end with a full stop, without it."""
    unit: str
    """Units of measure that may be attached to a number. Case matters."""
    numbered_part: str
    """Words before a number that names a part of a text or a version: step 2, Windows 11."""
    capitals: str
    """Capital letters, as members of a character class."""
    unanswered: str
    """Heading of a sub-question without an answer."""
    incomplete: str
    """Heading of a sub-question whose answer is incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EverythingWords:
    """Words of a request for everything about one entity. Without diacritics, like `QuestionWords`."""

    everything: str
    """Words for all data: everything, all information."""
    about: str
    """Words between these and the entity: about."""
    article: str
    """Words that may stand before the kind of the entity: the, our."""
    naming: str
    """Words between the kind and the name or id: named, with the id."""
    name_particle: str
    """Words of a name that are written in lower case: van, de."""
    name_ending: str
    """Endings that names get by declension: ovi, a. Longest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWords:
    """Words that claim an order, a share, an absence or a calculation."""

    highest: str
    """Superlatives for the largest value: highest, most, largest."""
    lowest: str
    """Superlatives for the smallest value: lowest, fewest."""
    not_superlative: str
    """Phrases with such a word that are no superlative: at least, most of."""
    ordinal: str
    """Words for a rank other than the first: second, next."""
    latest: str
    """Superlatives for the last point in time: latest, most recent."""
    earliest: str
    """Superlatives for the first point in time: earliest, oldest."""
    fractions: Mapping[str, tuple[int, int]]
    """Phrases for fractions with numerator and denominator: two thirds (2, 3)."""
    part_of: str
    """What joins a part and its whole: two of three."""
    times: str
    """What follows a number that multiplies: times, fold."""
    multiples: Mapping[str, int]
    """Words for multiples with their factor: twice 2."""
    majority: str
    """Phrases for more than half."""
    minority: str
    """Phrases for less than half."""
    absence: str
    """Phrases that say that there is nothing of a kind: there are no, none."""
    not_known: str
    """Phrases that say that the data does not answer something."""
    calculated: str
    """Words for a result of arithmetic over two or more values: difference, ratio, share, together."""
    contrast: str
    """Words after which a value is denied or compared: not, instead of, than."""
    greeting: str
    """Messages that ask for no data: hello, thanks."""
    about_runax: str
    """Questions about the program itself: what can you do, which tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Locale:
    """One language. `letters` are those that no other supported language has, "" if there are none."""

    code: str
    letters: str
    question: QuestionWords
    number: NumberWords
    date: DateWords
    statement: StatementWords
    claim: ClaimWords
    everything: EverythingWords
