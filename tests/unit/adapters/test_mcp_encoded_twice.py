"""Results that a server encoded as JSON twice."""

import json

import pytest

from adapters.mcp.content.text_data import read_text

PAGE = {"rows": [{"id": 1}], "total": 261}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_data_is_found_however_often_it_was_encoded(times: int) -> None:
    text = ""
    value: object = PAGE
    for _ in range(times):
        text = value = json.dumps(value)
    assert read_text(text).value == PAGE


@pytest.mark.parametrize("text", ['"(said) nothing"', '"{cut', '"a" and {"b": 1} in a sentence, "c"'])
def test_quoted_words_stay_words(text: str) -> None:
    assert read_text(text).value == text or read_text(text).words
