"""How APIs spell paging: the tables that detection and reading go by.

Knows spellings only, and no rule: a further spelling is a word in a table. Names are compared after `plain`, so
`per_page`, `perPage`, `per-page` and `page[per]` differ by letters only. Sources: the counts over 2,638 public OpenAPI
documents, botocore's paginators and the documentation of the services named.
"""

import re
from functools import lru_cache
from unicodedata import normalize

_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_MARK = re.compile(r"[\u0300-\u036f]")
_LETTERS = str.maketrans({"\u00df": "ss", "\u00f8": "o", "\u00d8": "O", "\u0142": "l", "\u0141": "L", "\u0111": "d"})


@lru_cache(maxsize=8192)
def plain(name: str) -> str:
    """The letters and digits of a name, in lower case and without accents."""
    return _NOT_PLAIN.sub("", unaccented(name).lower())


def unaccented(name: str) -> str:
    """A name in plain Latin letters: `página` is `pagina`, and no word that ends at its accent."""
    return name if name.isascii() else _MARK.sub("", normalize("NFKD", name.translate(_LETTERS)))


def words(text: str) -> frozenset[str]:
    """A table of plain names, written with spaces between them."""
    return frozenset(plain(word) for word in text.split())


SIZES_ALONE = words("limit page_size per_page max_results results_per_page items_per_page max_items page_limit")
SIZES = SIZES_ALONE | words(
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
TOTAL_HEADERS = (
    "x-total-count",
    "total-records",
    "x-total",
    "x-total-records",
    "x-wp-total",
    "total-count",
    "x-pagination-total-count",
    "x-pagination-total",
    "x-result-count",
    "pagination-count",
    "opc-total-items",
)

NEXT_URLS = words(
    "next_url next_link next_page_url next_page_link next_href next_uri next_page_uri odata.next_link next_results_url "
    "@next_link next_records_url"
)
NEXT_HEADERS = ("next-page", "x-next-url", "x-next-link", "x-next-page-url")
CURSOR_HEADERS = (
    "x-next-cursor",
    "x-next-page-token",
    "x-next-token",
    "x-ms-continuation",
    "x-continuation-token",
    "opc-next-page",
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
PREVIOUS_MARKS = words("previous prev previous_page prev_page previous_url prev_url previous_link prev_page_url")
