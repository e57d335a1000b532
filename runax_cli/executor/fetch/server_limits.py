"""Recognizes the limits of a server: refused requests, page caps, result windows and limiting arguments."""

from collections.abc import Iterator, Mapping

from adapters.base import Json, PaginationStyle
from adapters.errors import HttpStatusError, InvalidRequest, SourceError, ToolFailed
from runax_cli.executor.outcome import DecidedCall

OFFSET_STYLES = frozenset({PaginationStyle.OFFSET, PaginationStyle.RANGE})
"""Styles in which a page may start at any record, so that the missing records of a page can be requested alone."""

COMMON_PAGE_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000})
"""Page sizes at which servers cap: a page of one of them is complete and shows the server's cap."""

SILENT_WINDOW = 10_000
"""The result window of most search services; some answer positions behind it with an empty page."""

_REFUSALS = frozenset({400, 403, 413, 414, 422, 501})
_OUT_OF_RANGE = frozenset({404, 416})
"""Not Found, Range Not Satisfiable. A 400 is not an end: services use it for positions beyond their result window."""

_WINDOW_SIZES = frozenset(digit * 10**power for digit in (1, 2, 5) for power in (3, 4, 5, 6))
_WINDOW_STEP = 1000
_UNPAGED_CAPS = frozenset({50, 100, 200, 250, 500})
"""Where servers cap a list without pages. Smaller numbers are too often the real number of records."""

_MIN_CAPPED, _CAP_MULTIPLE = 5, 5
_PAGING_ARGUMENTS = frozenset(
    "paging pagination pager pageable paginator pagerequest pageoptions pagingoptions paginationoptions".split()
)


def is_refusal(error: SourceError) -> bool:
    """Return whether a source rejects a request itself, so that sending it again cannot help."""
    if isinstance(error, HttpStatusError):
        return error.status in _REFUSALS
    return isinstance(error, InvalidRequest | ToolFailed)


def is_out_of_range(error: Exception) -> bool:
    """Return whether a server rejects a position as lying behind the last record."""
    return isinstance(error, HttpStatusError) and error.status in _OUT_OF_RANGE


def refusal_text(error: SourceError) -> str:
    """Return what a source says about its refusal."""
    return error.body if isinstance(error, HttpStatusError) else str(error)


def is_window_size(n_records: int) -> bool:
    """Return whether this number of records may be a result window rather than all of the data."""
    return n_records in _WINDOW_SIZES


def is_round_size(n_records: int) -> bool:
    """Return whether this number of records in one response may be a cap of the server: a hint, not a proof."""
    return n_records in _UNPAGED_CAPS or is_window_size(n_records)


def window_boundary_in(start: int, size: int) -> int | None:
    """Return the multiple of 1000 inside a page of `size` records from `start`, where a result window may end."""
    boundary = (start + size) // _WINDOW_STEP * _WINDOW_STEP
    return boundary if start < boundary < start + size else None


def limiting_argument(call: DecidedCall, n_records: int) -> str | None:
    """Return the argument whose value or default equals the number of records received, or None.

    One record proves nothing: many defaults are 1, and so are many results. Integers without a default are ignored,
    because they may be identifiers.
    """
    found = _integer_arguments(call.tool.parameters, call.arguments)
    return next((name for name, number in found if number == n_records), None) if n_records > 1 else None


def opaque_paging_argument(call: DecidedCall, n_records: int) -> str | None:
    """Return an unused argument named after pagination, if the number of records looks like a server's cap.

    Its format is unknown (a JSON text, an object with unknown members), so no further page can be requested by it.
    """
    if n_records < _MIN_CAPPED or n_records % _CAP_MULTIPLE:
        return None
    declared = call.tool.parameters.get("properties", {})
    names = (name for name in declared if name not in call.arguments)
    return next((name for name in names if "".join(filter(str.isalnum, name.lower())) in _PAGING_ARGUMENTS), None)


def _integer_arguments(schema: Mapping[str, Json], given: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, declared in schema.get("properties", {}).items():
        if not isinstance(declared, Mapping):
            continue
        value = given.get(name)
        if declared.get("type") == "object":
            yield from _integer_arguments(declared, value if isinstance(value, Mapping) else {})
        elif declared.get("type") == "integer" and "default" in declared:
            yield name, given.get(name, declared["default"])
