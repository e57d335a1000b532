"""Pagination declared by vendor extensions."""

import pytest

from adapters.base import JsonObject, PaginationStyle
from adapters.pagination import declared_pagination

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("extension", "convention", "position", "size"),
    [
        ({"x-pagination": {"limitParam": "n", "pageOffsetParam": "o"}}, PaginationStyle.OFFSET, "o", "n"),
        ({"x-pagination": {"limitParam": "n", "pageParam": "p"}}, PaginationStyle.PAGE, "p", "n"),
        (
            {"x-pagination": {"limitParam": "n", "cursorParam": "c", "cursorPath": "m.c"}},
            PaginationStyle.CURSOR,
            "c",
            "n",
        ),
        (
            {"x-pagination": {"limitParam": "body.pg.n", "cursorParam": "body.pg.c"}},
            PaginationStyle.CURSOR,
            "pg/c",
            "pg/n",
        ),
    ],
)
def test_an_extension_names_the_parameters(
    extension: JsonObject, convention: PaginationStyle, position: str, size: str | None
) -> None:
    known = {"o": WHOLE, "p": WHOLE, "c": TEXT, "n": WHOLE, "pg": {"type": "object"}, "pg/c": TEXT, "pg/n": WHOLE}
    found = declared_pagination(extension, known)
    assert found is not None
    assert (found.convention, found.position, found.size) == (convention, position, size)
    assert found.is_declared


def test_an_extension_keeps_the_bounds_of_the_schema() -> None:
    known = {"o": WHOLE, "n": {"type": "integer", "minimum": 1, "maximum": 250, "default": 20}}
    found = declared_pagination({"x-pagination": {"limitParam": "n", "pageOffsetParam": "o"}}, known)
    assert found is not None
    assert (found.min_size, found.max_size, found.default_size) == (1, 250, 20)


def test_x_ms_pageable_names_the_next_link() -> None:
    found = declared_pagination({"x-ms-pageable": {"nextLinkName": "weiter"}}, {"$top": WHOLE})
    assert found is not None
    assert (found.convention, found.position, found.next_path) == (PaginationStyle.NEXT_URL, None, "weiter")


@pytest.mark.parametrize(
    "extensions",
    [
        {},
        {"x-ms-pageable": {"nextLinkName": None}},
        {"x-pagination": {"limitParam": "n", "pageOffsetParam": "unknown"}},
        {"x-pagination": None},
    ],
)
def test_extensions_that_cannot_be_used_are_ignored(extensions: JsonObject) -> None:
    assert declared_pagination(extensions, {"n": WHOLE}) is None
