"""Parsing of text that is almost JSON."""

import pytest

from adapters.base import Json
from adapters.mcp.content.lenient_json import LenientParseError, parse_lenient
from adapters.mcp.content.text_data import parse_text


def test_unlimited_nesting_raises_an_error() -> None:
    with pytest.raises(LenientParseError):
        parse_lenient("[" * 100_000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[{'s': <Status.OPEN: 'open'>, 'x': <NA>}]", [{"s": "open", "x": None}]),
        ("[np.int64(5), np.float64(1.5), array([1., nan])]", [5, 1.5, [1.0, None]]),
        ("[OrderedDict([('id', 5)]), defaultdict(<class 'list'>, {'r': [1]})]", [{"id": 5}, {"r": [1]}]),
        ('[{"big": ' + "9" * 6000 + "}]", [{"big": "9" * 6000}]),
        ('[{"e": "\\ud83d", "f": "\\ud83d\\ude00"}]', [{"e": "\ufffd", "f": "😀"}]),
    ],
)
def test_reprs_of_library_types_are_parsed(text: str, value: Json) -> None:
    assert parse_text(text).value == value
