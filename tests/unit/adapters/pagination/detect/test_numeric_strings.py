"""Numbers of pagination that a document declares as strings."""

import pytest

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect, page_address, with_declared_types

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
LIST = ResponseSchema({}, is_list=True)


def text(words: str, **schema: object) -> JsonObject:
    return {"type": "string", "description": words, **schema}


def roles(found: Pagination) -> tuple[PaginationStyle, str | None, str | None]:
    return found.convention, found.position, found.size


@pytest.mark.parametrize(
    ("convention", "parameters"),
    [
        (PaginationStyle.OFFSET, {"offset": TEXT, "limit": TEXT}),
        (PaginationStyle.OFFSET, {"skip": TEXT, "limit": TEXT}),
        (PaginationStyle.PAGE, {"page": TEXT, "per_page": TEXT}),
        (PaginationStyle.PAGE, {"page": text("Which page to return"), "size": text("Results per page")}),
        (
            PaginationStyle.OFFSET,
            {"first": text("First result to return, zero-based"), "count": text("Number of results")},
        ),
        (PaginationStyle.PAGE, {"pageNumber": TEXT, "pageSize": {"type": "string", "enum": ["10", "25", "100"]}}),
    ],
)
def test_numbers_declared_as_text_can_page(convention: PaginationStyle, parameters: dict[str, JsonObject]) -> None:
    position, size = parameters
    found = detect(parameters)
    assert roles(found) == (convention, position, size)
    assert set(found.numeric_strings) == {position, size}


def test_a_number_declared_as_text_is_sent_as_digits() -> None:
    found = detect({"offset": TEXT, "limit": TEXT})
    assert with_declared_types(page_address(found, page_index=2, size=50).arguments, found) == {
        "offset": "100",
        "limit": "50",
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"page": text("Title of the page"), "limit": WHOLE},
        {"offset": text("Offset token that the previous response returned"), "limit": WHOLE},
        {"size": text("Size of the shirt"), "colour": TEXT},
        {"page-size": text("Size of the paper, such as A4"), "margin": WHOLE},
        {"start": text("Start date"), "limit": WHOLE},
    ],
)
def test_text_that_is_no_number_stays_text(parameters: dict[str, JsonObject]) -> None:
    found = detect(parameters, response=LIST)
    assert found.convention not in (PaginationStyle.OFFSET, PaginationStyle.PAGE)
    assert found.numeric_strings == ()
