"""Descriptions are cut by rule: where a sentence ends, else where a word ends, and never inside a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.guard.visible_tool import shorten, shorten_schema

texts = st.text(st.sampled_from("ab .,!?()žé日本。…\n\t"), max_size=120)


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("short", 10, "short"),
        ("two\n  lines", 20, "two lines"),
        ("One sentence. And another one.", 20, "One sentence."),
        ("See. A long sentence that goes on", 20, "See. A long…"),
        ("alpha, beta, gamma", 13, "alpha, beta…"),
        ("supercalifragilistic", 10, "…"),
        ("日本語の説明文です", 5, "日本語の…"),
        ("anything", 0, ""),
    ],
)
def test_a_text_is_cut_at_an_end(text: str, most: int, kept: str) -> None:
    assert shorten(text, most) == kept


@given(texts, st.integers(0, 60))
def test_it_is_never_longer_and_never_ends_inside_a_word(text: str, most: int) -> None:
    kept, line = shorten(text, most), " ".join(text.split())
    assert len(kept) <= most
    if kept == line:
        return
    stem = kept.removesuffix("…") if not line.startswith(kept) else kept
    assert line.startswith(stem)
    following = line[len(stem) : len(stem) + 1]
    assert not stem or following in " ,;:(-" or ord(stem[-1]) >= 0x2E80 or stem[-1] in ".!?…"


@given(texts)
def test_what_fits_is_kept_whole(text: str) -> None:
    assert shorten(text, len(text)) == " ".join(text.split())


def test_descriptions_at_any_depth_are_cut_and_nothing_else_is() -> None:
    long = "word " * 100
    schema = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "enum": [long], "default": long},
            "list": {"type": "array", "items": {"description": long}},
            "either": {"anyOf": [{"description": long}, {"description": "short"}]},
        },
    }
    cut = shorten_schema(schema, 20)
    properties = cut["properties"]
    assert properties["description"] == schema["properties"]["description"]  # type: ignore[index]
    assert properties["list"]["items"]["description"] == "word word word word…"
    assert [one["description"] for one in properties["either"]["anyOf"]] == ["word word word word…", "short"]


def test_titles_that_say_nothing_are_left_out() -> None:
    schema = {
        "title": "list_notesArguments",
        "properties": {
            "start_index": {"title": "Start Index", "type": "integer"},
            "title": {"title": "Heading", "type": "string"},
            "q": {"title": "Query", "description": "words"},
            "by": {"anyOf": [{"title": "An id", "type": "integer"}, {"type": "string"}]},
        },
    }
    assert shorten_schema(schema) == {
        "properties": {
            "start_index": {"type": "integer"},
            "title": {"title": "Heading", "type": "string"},
            "q": {"description": "words"},
            "by": {"anyOf": [{"title": "An id", "type": "integer"}, {"type": "string"}]},
        }
    }
