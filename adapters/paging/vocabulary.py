"""Words inside the names of a response's members: what a member is about when no table has its name.

Knows words, in the languages that APIs are named in, and what rules them out. Knows no values. A name that is in one
of the tables of `names` never comes here: words are the second look, and a guess.
"""

import re
from functools import lru_cache

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UMLAUTS = str.maketrans("áäčďéěëíïľňóöřšťúůüýžåøæñç", "aacdeeeiilnoorstuuuyzaoanc")

_TOTAL = (
    "total totals totaal totale totaux gesamt gesamtanzahl insgesamt celkem celkovy overall matched matching matches "
    "found available gefunden trouves encontrados nalezeno razem wszystkich toplam totalt cardinality population "
    "everything"
)
_COUNT = "count counts anzahl pocet antal cantidad quantity howmany liczba aantal hits tally"
_NO_TOTAL = (
    "time ms millis sec secs second seconds minute minutes hour hours day days duration took elapsed bytes byte kb mb "
    "tokens token cost costs price amount sum score weight limit per max min maximum minimum offset start begin index "
    "from to returned fetched shown displayed this current retrieved remaining left error errors failed failure "
    "failures warning warnings request requests retry retries rate ratelimit version year shards unread quota usage "
    "used age length attempt attempts attempted skipped timeout next prev previous first last in on position rank"
)
_PAGE = "page pages pagina paginas seite seiten strana stranky stran sivu sivut sida sidor blad strona strony batches"
_MANY_PAGES = "pages paginas seiten stranky sivut sidor strony batches"
_PAGES_COUNT = "total count num n number of last max final totaal gesamt celkem amount anzahl pocet"
_NEXT = (
    "next following continue continuation continues resume resumption subsequent weiter naechste nachste folgende "
    "suivant suivante siguiente siguientes dalsi proximo proxima prossima prossimo nasta neste nastepny "
    "volgende seuraava"
)
_CURSOR = "cursor bookmark marker token after more forward older scroll checkpoint watermark continuationtoken"
_BACK = (
    "prev previous before back backward backwards first self last newer current zurueck zuruck precedent anterior "
    "predchozi poprzedni vorige start beginning initial this access auth refresh csrf session api id ids request trace"
)
_MORE = "more next further additional truncated incomplete continues weitere dalsi mas autres fler"
_LAST = "last end final complete completed done finished exhausted eof letzte posledni ultima derniere"
_REMAINING = "remaining left outstanding verbleibend zbyva restant restantes"
_ESTIMATE = "estimate estimated estimation estimates approximate approximately approx approximated rough guess"
_NOT_REMAINING = "rate ratelimit quota requests calls credits time seconds ms tokens pages"
_ANY_RECORDS = (
    "records record rows row items item results result entries entry elements element objects object documents "
    "document docs doc hits hit matches match matched matching found available all list listed overall set collection "
    "data resources resource values response query search filter filtered full grand exact"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOTAL, COUNT, NO_TOTAL = _words(_TOTAL), _words(_COUNT), _words(_NO_TOTAL)
PAGE, MANY_PAGES, PAGES_COUNT = _words(_PAGE), _words(_MANY_PAGES), _words(_PAGES_COUNT)
NEXT, CURSOR, BACK = _words(_NEXT), _words(_CURSOR), _words(_BACK)
MORE, LAST, REMAINING, ESTIMATE = _words(_MORE), _words(_LAST), _words(_REMAINING), _words(_ESTIMATE)
NOT_REMAINING = _words(_NOT_REMAINING)
ANY_RECORDS = _words(_ANY_RECORDS)
VAGUE = _words("page pages the of for to a my is has result results item items record records list data value")


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """The words of a name, lower case, without accents: `nextPageToken` is next, page, token."""
    return frozenset(piece.lower() for piece in _PIECE.findall(name.translate(_UMLAUTS)))


def says_total(name: str) -> bool:
    """Whether a name speaks of how many there are in all."""
    words = words_of(name)
    return bool(words & TOTAL) and not words & (NO_TOTAL | PAGE)


def says_count(name: str) -> bool:
    """Whether a name speaks of a number of something, which may be what is on the page."""
    words = words_of(name)
    return bool(words & COUNT) and not words & (NO_TOTAL | PAGE)


def is_of_records(name: str, nouns: frozenset[str]) -> bool:
    """Whether a number of this name counts records and nothing else: `nouns` are what the records may be called."""
    rest = words_of(name) - TOTAL - COUNT - VAGUE - ANY_RECORDS - ESTIMATE
    return {singular(word) for word in rest} <= nouns


def nouns_of(*texts: str) -> frozenset[str]:
    """The words of names and paths, in the singular."""
    return frozenset(singular(word) for text in texts for word in words_of(text))


def singular(word: str) -> str:
    """A word without the usual endings of a plural; both forms of a word come out equal, and need be no word."""
    for ending, stem in (("ies", "y"), ("ses", "s"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + stem
    return word


def says_pages(name: str) -> bool:
    """Whether a name speaks of the number of pages."""
    words = words_of(name)
    return bool(words & MANY_PAGES) and bool(words & PAGES_COUNT or len(words) == 1) and "per" not in words


def says_estimate(name: str) -> bool:
    """Whether a name admits that its number is no count."""
    return bool(words_of(name) & ESTIMATE)


def says_remaining(name: str) -> bool:
    """Whether a name speaks of records that are still to come."""
    words = words_of(name)
    return bool(words & REMAINING) and not words & NOT_REMAINING


def says_next(name: str) -> bool:
    """Whether a name speaks of what comes next."""
    words = words_of(name)
    return bool(words & NEXT) and not words & (BACK - {"start", "id", "ids", "this"})


def says_cursor(name: str) -> bool:
    """Whether a name speaks of a place to go on from, though it may be the place where this page began."""
    words = words_of(name)
    return bool(words & CURSOR) and not words & BACK


def says_more(name: str) -> bool:
    """Whether a flag of this name says that more follow."""
    words = words_of(name)
    return bool(words & MORE) and not words & (BACK - {"this"})


def says_last(name: str) -> bool:
    """Whether a flag of this name says that nothing follows."""
    words = words_of(name)
    return bool(words & LAST) and not words & (NEXT | MORE)


def is_alike(name: str, other: str) -> bool:
    """Whether two names share a word that means something, as `resume_key` and `resumeAt` do."""
    mine, yours = words_of(name) - VAGUE, words_of(other) - VAGUE
    return bool(mine & yours) or _bare(name) == _bare(other)


def _bare(name: str) -> str:
    return "".join(_PIECE.findall(name)).lower()
