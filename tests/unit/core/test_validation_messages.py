"""Validation errors in words: what is wrong with a value, and the path of its key."""

from typing import Any

import pytest
from pydantic import ValidationError

from runax_cli.core.validation_messages import describe_error, setting_path
from runax_cli.settings.file_schema import OAuthClientSettings, SettingsFile
from runax_cli.settings.settings import Settings


def first_error(structure: dict[str, Any]) -> Any:
    with pytest.raises(ValidationError) as caught:
        SettingsFile.model_validate(structure)
    return caught.value.errors()[0]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("max_steps", "many", "must be an integer"),
        ("max_steps", 0, "must be at least 1"),
        ("max_usd", "much", "must be a number"),
        ("timeout", 0, "must be greater than 0"),
        ("llm_context_utilization", 25, "must be at most 1"),
        ("llm_api", "soap", "must be 'auto', 'responses' or 'chat'"),
        ("base_api_url", "api.example.com", "must be a URL that starts with 'https://' or 'http://'"),
    ],
)
def test_an_invalid_setting_is_described(name: str, value: object, expected: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(**{name: value})
    assert describe_error(caught.value.errors()[0]) == expected


@pytest.mark.parametrize(
    ("entry", "place", "expected"),
    [
        (["a"], "sources", "must be a mapping"),
        ({"s": {"kind": "openap"}}, "sources.s", "'kind' must be 'openapi' or 'mcp'"),
        ({"s": {}}, "sources.s", "'kind' must be 'openapi' or 'mcp'"),
        (
            {"s": {"kind": "openapi", "documnet": "x"}},
            "sources.s.documnet",
            "unknown key; did you mean 'document'?",
        ),
        (
            {"s": {"kind": "openapi", "operations": {"o": {"page_size": "ten"}}}},
            "sources.s.operations.o.page_size",
            "must be an integer",
        ),
    ],
)
def test_an_invalid_entry_of_a_settings_file_is_described_with_its_path(
    entry: object, place: str, expected: str
) -> None:
    error = first_error({"sources": entry})
    assert setting_path(error["loc"]) == place
    assert describe_error(error, known_keys=["document", "base_url"]) == expected


def test_a_source_can_have_the_name_of_a_kind() -> None:
    error = first_error({"sources": {"mcp": {"kind": "mcp", "operations": {"o": {"read": "perhaps"}}}}})
    assert setting_path(error["loc"]) == "sources.mcp.operations.o.read"


def test_the_message_of_a_custom_validator_loses_only_its_prefix() -> None:
    error = {"type": "value_error", "msg": "Value error, 'xml' is not a format", "loc": ()}
    assert describe_error(error) == "'xml' is not a format"


@pytest.mark.parametrize(
    ("auth", "place", "expected"),
    [
        (
            {"oauth": {"client_id": "x", "client_secret": "y", "scop": "z"}},
            "sources.s.auth.oauth.scop",
            "unknown key; did you mean 'scope'?",
        ),
        ({"oauth": {"client_id": "x"}}, "sources.s.auth.oauth.client_secret", "is required"),
        ({"oauth": 3}, "sources.s.auth.oauth", "must be a string"),
        (3, "sources.s.auth", "must be a string"),
    ],
)
def test_an_error_inside_auth_names_the_key_that_is_wrong(auth: object, place: str, expected: str) -> None:
    error = first_error({"sources": {"s": {"kind": "openapi", "auth": auth}}})
    assert setting_path(error["loc"]) == place
    assert describe_error(error, known_keys=OAuthClientSettings.model_fields) == expected
