"""Names of response members about pagination: tables of plain names, and words inside names.

Names are compared after `plain`, so `per_page`, `perPage`, `per-page` and `page[per]` differ by letters only. To
support another name, add it to a table. Sources: counts over 2,638 public OpenAPI documents, botocore's paginators, and
the documentation of the services named. Responses are read in several languages.
"""

import re
from functools import lru_cache
from unicodedata import normalize

from adapters.base import Json

_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_MARK = re.compile(r"[\u0300-\u036f]")
_LETTERS = str.maketrans({"\u00df": "ss", "\u00f8": "o", "\u00d8": "O", "\u0142": "l", "\u0141": "L", "\u0111": "d"})


@lru_cache(maxsize=8192)
def plain(name: str) -> str:
    """The letters and digits of a name, in lower case and without accents."""
    return _NOT_PLAIN.sub("", unaccented(name).lower())


def unaccented(name: str) -> str:
    """A name in plain Latin letters: `página` is `pagina`."""
    return name if name.isascii() else _MARK.sub("", normalize("NFKD", name.translate(_LETTERS)))


def words(text: str) -> frozenset[str]:
    """A table of plain names, written with spaces between them."""
    return frozenset(plain(word) for word in text.split())


UNAMBIGUOUS_SIZES = words("limit page_size per_page max_results results_per_page items_per_page max_items page_limit")
SIZES = UNAMBIGUOUS_SIZES | words(
    "count size rows top take max maximum max_count max_records max_size num num_results number_of_results "
    "number_of_items nb n hits_per_page records_per_page page_count items results entries_per_page batch_size max_keys "
    "page[size] page[limit] perPage psize ps rpp n_per_page"
)
RECORD_LISTS = words(
    "data items results records value values entries rows elements objects list content contents hits docs documents "
    "resources features members collection result response payload nodes edges children matches"
)
NEVER_RECORD_LISTS = words("links _links errors warnings")
RARELY_RECORD_LISTS = words(
    "schemas included link facets aggregations aggs sort sorts order fields columns headers notices suggestions "
    "filters breadcrumbs scopes debug summary totals aggregates statistics stats legend"
)
CONTAINERS = words(
    "meta metadata _meta pagination paging paginator page page_info pageinfo response_metadata cursor cursors links "
    "_links list_info page_metadata paging_info summary header result_info search_metadata query_info range"
)
SIDE_VALUES = words(
    "status success ok code message took timed_out version request_id api_version time timestamp kind etag self_link "
    "type context object url href first last prev previous self duration elapsed generated_at"
)

TOTALS = words(
    "total total_count total_items total_results total_records total_elements total_size total_hits total_rows "
    "total_number total_entries total_matches total_objects total_documents totals number_matched num_found nb_hits "
    "record_count records_total row_count item_count items_count count_total total_available total_found hit_count "
    "result_count results_count full_count filtered_table_rows_count odata.count records_filtered number_of_results "
    "total_number_of_results total_number_of_records estimated_total grand_total_count matches_count "
    "result_size_estimate complete_list_size"
)
LINK_LISTS = words("links _links link")
WEAK_TOTALS = words("count size length num matches available found hits n results")
TOTAL_PAGES = words("total_pages pages page_count last_page num_pages number_of_pages pages_total total_page_count")
PAGE_POSITIONS = words("page current_page page_number number page_no page_num page_index")
OFFSET_POSITIONS = words("offset start start_at start_index skip from first_result")
TOKENS = words("tokens_estimation token_estimation tokens_estimate tokens_est estimated_tokens total_tokens_est")
DATA_PATHS = words("data_path records_path items_path path_to_data")
TOTAL_HEADERS = tuple(
    (
        "x-total-count total-records x-total x-total-records x-wp-total total-count x-pagination-total-count "
        "x-pagination-total x-result-count pagination-count opc-total-items"
    ).split()
)

NEXT_URLS = words(
    "next_url next_link next_page_url next_page_link next_href next_uri next_page_uri odata.next_link next_results_url "
    "@next_link next_records_url"
)
NEXT_HEADERS = ("next-page", "x-next-url", "x-next-link", "x-next-page-url")
CURSOR_HEADERS = tuple(
    "x-next-cursor x-next-page-token x-next-token x-ms-continuation x-continuation-token opc-next-page".split()
)
NEXT_CURSORS = words(
    "next_cursor next_page_token next_token next_page_cursor continuation_token next_continuation_token continuation "
    "continue next_marker end_cursor next_key pagination_token last_evaluated_key next_start next_page_key "
    "next_page_start next_page_id next_bookmark _scroll_id scroll_id next_scroll_id next_search_after resumption_token"
)
NEXT_ANY = words("next next_page after next_records next_results")
WEAK_CURSORS = words("cursor marker page_token bookmark token")
MORE_FLAGS = words(
    "has_more has_next has_next_page more has_more_items more_items is_truncated has_more_results has_additional "
    "more_available has_more_pages is_more more_results has_more_data has_next_results"
)
LAST_FLAGS = words(
    "last is_last is_last_page last_page end end_of_list is_end complete is_complete done is_done finished is_finished "
    "exhausted no_more"
)
FIRST_FLAGS = words("first is_first is_first_page first_page")
PREVIOUS_FLAGS = words("has_previous has_previous_page has_prev has_prev_page")
PREVIOUS_POINTERS = words("previous prev previous_page prev_page previous_url prev_url previous_link prev_page_url")


_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UMLAUTS = str.maketrans("áäčďéěëíïľňóöřšťúůüýžåøæñç", "aacdeeeiilnoorstuuuyzaoanc")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOTAL = _words(
    "total totals totaal totale totaux gesamt gesamtanzahl insgesamt celkem celkovy overall matched matching matches "
    "found available gefunden trouves encontrados nalezeno razem wszystkich toplam totalt cardinality population "
    "everything"
)
COUNT = _words("count counts anzahl pocet antal cantidad quantity howmany liczba aantal hits tally")
NO_TOTAL = _words(
    "time ms millis sec secs second seconds minute minutes hour hours day days duration took elapsed bytes byte kb mb "
    "tokens token cost costs price amount sum score weight limit per max min maximum minimum offset start begin index "
    "from to returned fetched shown displayed this current retrieved remaining left error errors failed failure "
    "failures warning warnings request requests retry retries rate ratelimit version year shards unread quota usage "
    "used age length attempt attempts attempted skipped timeout next prev previous first last in on position rank"
)
PAGE = _words(
    "page pages pagina paginas seite seiten strana stranky stran sivu sivut sida sidor blad strona strony batches"
)
MANY_PAGES = _words("pages paginas seiten stranky sivut sidor strony batches")
PAGES_COUNT = _words("total count num n number of last max final totaal gesamt celkem amount anzahl pocet")
NEXT = _words(
    "next following continue continuation continues resume resumption subsequent weiter naechste nachste folgende "
    "suivant suivante siguiente siguientes dalsi proximo proxima prossima prossimo nasta neste nastepny "
    "volgende seuraava"
)
CURSOR = _words("cursor bookmark marker token after more forward older scroll checkpoint watermark continuationtoken")
BACK = _words(
    "prev previous before back backward backwards first self last newer current zurueck zuruck precedent anterior "
    "predchozi poprzedni vorige start beginning initial this access auth refresh csrf session api id ids request trace"
)
MORE = _words("more next further additional truncated incomplete continues weitere dalsi mas autres fler")
LAST = _words("last end final complete completed done finished exhausted eof letzte posledni ultima derniere")
REMAINING = _words("remaining left outstanding verbleibend zbyva restant restantes")
ESTIMATE = _words("estimate estimated estimation estimates approximate approximately approx approximated rough guess")
NOT_REMAINING = _words("rate ratelimit quota requests calls credits time seconds ms tokens pages")
ANY_RECORDS = _words(
    "records record rows row items item results result entries entry elements element objects object documents "
    "document docs doc hits hit matches match matched matching found available all list listed overall set collection "
    "data resources resource values response query search filter filtered full grand exact"
)
VAGUE = _words("page pages the of for to a my is has result results item items record records list data value")


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """The words of a name, lower case, without accents: `nextPageToken` is next, page, token."""
    return frozenset(piece.lower() for piece in _PIECE.findall(name.translate(_UMLAUTS)))


def is_total_name(name: str) -> bool:
    """Whether a name means the number of all records."""
    words = words_of(name)
    return bool(words & TOTAL) and not words & (NO_TOTAL | PAGE)


def is_count_name(name: str) -> bool:
    """Whether a name means a count, which may be that of the page."""
    words = words_of(name)
    return bool(words & COUNT) and not words & (NO_TOTAL | PAGE)


def is_of_records(name: str, nouns: frozenset[str]) -> bool:
    """Whether a number of this name counts records; `nouns` are what the records may be called."""
    rest = words_of(name) - TOTAL - COUNT - VAGUE - ANY_RECORDS - ESTIMATE
    return {singular(word) for word in rest} <= nouns


def nouns_of(*texts: str) -> frozenset[str]:
    """The words of names and paths, in the singular."""
    return frozenset(singular(word) for text in texts for word in words_of(text))


def singular(word: str) -> str:
    """A word without the usual plural endings; both forms become equal, and need not be a word."""
    for ending, stem in (("ies", "y"), ("ses", "s"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + stem
    return word


def is_page_count_name(name: str) -> bool:
    """Whether a name means the number of pages."""
    words = words_of(name)
    return bool(words & MANY_PAGES) and bool(words & PAGES_COUNT or len(words) == 1) and "per" not in words


def is_estimate_name(name: str) -> bool:
    """Whether a name says that its number is an estimate."""
    return bool(words_of(name) & ESTIMATE)


def is_remaining_name(name: str) -> bool:
    """Whether a name means the number of remaining records."""
    words = words_of(name)
    return bool(words & REMAINING) and not words & NOT_REMAINING


def is_next_name(name: str) -> bool:
    """Whether a name means the next page."""
    words = words_of(name)
    return bool(words & NEXT) and not words & (BACK - {"start", "id", "ids", "this"})


def is_cursor_name(name: str) -> bool:
    """Whether a name means a cursor, though it may be the one of this page."""
    words = words_of(name)
    return bool(words & CURSOR) and not words & BACK


def is_has_more_name(name: str) -> bool:
    """Whether a flag of this name means that there is more."""
    words = words_of(name)
    return bool(words & MORE) and not words & (BACK - {"this"})


def is_last_page_name(name: str) -> bool:
    """Whether a flag of this name means that there is no more."""
    words = words_of(name)
    return bool(words & LAST) and not words & (NEXT | MORE)


def shares_word(name: str, other: str) -> bool:
    """Whether two names share a meaningful word, as `resume_key` and `resumeAt` do."""
    mine, yours = words_of(name) - VAGUE, words_of(other) - VAGUE
    return bool(mine & yours) or _bare(name) == _bare(other)


def _bare(name: str) -> str:
    return "".join(_PIECE.findall(name)).lower()


_LISTS_AND_OBJECTS = CONTAINERS | SIDE_VALUES | NEVER_RECORD_LISTS | RARELY_RECORD_LISTS
_NUMBERS = TOTALS | WEAK_TOTALS | TOTAL_PAGES | PAGE_POSITIONS | OFFSET_POSITIONS | SIZES | TOKENS
_POINTERS = NEXT_URLS | NEXT_CURSORS | NEXT_ANY | WEAK_CURSORS | PREVIOUS_POINTERS | DATA_PATHS
_FLAGS = MORE_FLAGS | LAST_FLAGS | FIRST_FLAGS | PREVIOUS_FLAGS
ENVELOPE = _LISTS_AND_OBJECTS | _NUMBERS | _POINTERS | _FLAGS


def is_list_metadata(name: str, value: Json) -> bool:
    """Whether a member is about the list and its pages, and not data of a record."""
    bare = without_prefix(name)
    if plain(name) in ENVELOPE or plain(bare) in ENVELOPE:
        return True
    if isinstance(value, bool):
        return is_has_more_name(bare) or is_last_page_name(bare)
    if isinstance(value, int):
        return is_total_name(bare) or is_count_name(bare) or is_page_count_name(bare)
    if value is None or isinstance(value, str):
        return is_next_name(bare) or is_cursor_name(bare)
    return False


def is_zero_total(name: str, value: Json) -> bool:
    """Whether a member says that there are no records at all."""
    if isinstance(value, bool) or value not in (0, "0"):
        return False
    bare = without_prefix(name)
    return plain(bare) in TOTALS or is_total_name(bare)


def without_prefix(name: str) -> str:
    """A name without the namespace before it: `hydra:member` is `member`."""
    return name.rpartition(":")[2] or name
