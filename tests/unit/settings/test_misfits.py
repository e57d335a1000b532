"""Faults of validation in the words of the user, who knows no input, type or pattern."""

from typing import Any

import pytest
from pydantic import ValidationError

from runax_cli.core.validation_messages import misfit, place_of
from runax_cli.settings.file_schema import SettingsFile
from runax_cli.settings.settings import Settings


def fault_in(structure: dict[str, Any]) -> Any:
    with pytest.raises(ValidationError) as caught:
        SettingsFile.model_validate(structure)
    return caught.value.errors()[0]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("max_steps", "many", "it is no whole number"),
        ("max_steps", 0, "it must be at least 1"),
        ("max_usd", "much", "it is no number"),
        ("timeout", 0, "it must be more than 0"),
        ("llm_context_utilization", 25, "it must be at most 1"),
        ("llm_api", "soap", "it must be 'auto', 'responses' or 'chat'"),
        ("base_api_url", "api.example.com", "it is no http address, which begins with 'https://' or 'http://'"),
    ],
)
def test_a_value_of_a_setting_is_told_in_words(name: str, value: object, expected: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(**{name: value})
    assert misfit(caught.value.errors()[0]) == expected


@pytest.mark.parametrize(
    ("entry", "place", "expected"),
    [
        (["a"], "sources", "it is no mapping of names to values"),
        ({"s": {"kind": "openap"}}, "sources.s", "its 'kind' must be 'openapi' or 'mcp'"),
        ({"s": {}}, "sources.s", "its 'kind' must be 'openapi' or 'mcp'"),
        (
            {"s": {"kind": "openapi", "documnet": "x"}},
            "sources.s.documnet",
            "there is no such entry; did you mean 'document'?",
        ),
        (
            {"s": {"kind": "openapi", "operations": {"o": {"page_size": "ten"}}}},
            "sources.s.operations.o.page_size",
            "it is no whole number",
        ),
    ],
)
def test_an_entry_of_a_settings_file_is_told_at_its_own_place(entry: object, place: str, expected: str) -> None:
    fault = fault_in({"sources": entry})
    assert place_of(fault["loc"]) == place
    assert misfit(fault, known=["document", "base_url"]) == expected


def test_a_source_may_be_called_like_a_kind() -> None:
    fault = fault_in({"sources": {"mcp": {"kind": "mcp", "operations": {"o": {"read": "perhaps"}}}}})
    assert place_of(fault["loc"]) == "sources.mcp.operations.o.read"


def test_words_of_our_own_lose_only_their_prefix() -> None:
    assert misfit({"type": "value_error", "msg": "Value error, 'xml' is no form", "loc": ()}) == "'xml' is no form"
