"""Descriptions lose only what the tool says elsewhere."""

import pytest

from runax_cli.guard.redundant_text import as_line, join_repeated, without_name


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("List tickets. Newest first.", "Newest first."),
        ("List tickets", ""),
        ("List open tickets.", "List open tickets."),
    ],
)
def test_only_a_sentence_that_is_the_name_is_dropped(text: str, left: str) -> None:
    assert without_name(text, "list_tickets") == left


def test_a_sentence_that_differs_in_the_name_only_is_said_once() -> None:
    own = {name: {"description": f"Only records whose '{name}' is this."} for name in ("origin", "airTime", "day_no")}
    short, text = join_repeated(own)
    assert short == {name: {} for name in own}
    assert text == "Each argument: Only records whose … is this."


def test_a_description_with_a_meaning_of_its_own_is_kept() -> None:
    own = {
        "status": {"description": "Without this status."},
        "state": {"description": "Only with this state."},
        "city": {"description": "City"},
    }
    short, text = join_repeated(own)
    assert (short["status"], short["state"], short["city"], text) == (own["status"], own["state"], {}, "")


def test_a_line_names_values_formats_and_required_arguments() -> None:
    properties = {
        "id": {"type": "integer"},
        "status": {"type": "string", "enum": ["open", "closed"]},
        "since": {"type": "string", "format": "date"},
        "ids": {"type": "array", "items": {"type": "integer"}},
    }
    line = as_line({"properties": properties, "required": ["id"]})
    assert line == 'id* integer, status open|closed, since date, ids {"type":"array","items":{"type":"integer"}}'
