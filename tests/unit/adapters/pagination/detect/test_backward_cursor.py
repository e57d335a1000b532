"""The cursor of the previous page."""

from adapters.base import JsonObject
from adapters.pagination import ResponseSchema, detect


def test_the_backward_twin_of_a_cursor_is_hidden_with_it_and_a_filter_is_not() -> None:
    words = "Cursor indicating which id {} which to start retrieving rows for. The cursor value is an internal integer."
    number: JsonObject = {"type": "number"}
    told = ResponseSchema(
        {"meta.rows": "array", "meta.cursor": "object", "meta.cursor.after": "number", "meta.cursor.before": "number"}
    )
    cursors = {name: number | {"description": words.format(name)} for name in ("after", "before")}
    opened = {"page_size": number} | cursors
    filtered = opened | {"before": number | {"description": "Only those created before this id."}}
    assert {"after", "before"} <= set(detect(opened, response=told).hidden)
    assert "before" not in detect(filtered, response=told).hidden
