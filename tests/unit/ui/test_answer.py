import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from runax_cli.core.results import RunResult, RunStatus, SkippedCall, SweepReport
from runax_cli.ui.answer import BlockStream, notes_of, rendered, split_blocks

ANSWER = """# Title

A paragraph
on two lines.

- one
- two

  inside two

```sql
SELECT 1;

SELECT 2;
```

| a | b |
|---|---|
| 1 | 2 |

The end."""
snippets = st.lists(
    st.sampled_from(
        ["# T\n", "text ", "\n", "\n\n", "- item\n", "```\n", "> q\n", "| a |\n|---|\n", "\u2028", "1. x\n"]
    )
)


@given(snippets.map("".join) | st.text())
def test_blocks_and_rest_form_the_whole_text(text: str) -> None:
    split = split_blocks(text)
    assert "".join(split.finished) + split.rest == text


@given(st.data())
def test_stream_returns_the_same_text_for_any_split(data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ANSWER)), max_size=30)))
    borders = [0, *cuts, len(ANSWER)]
    stream, blocks = BlockStream(), []
    for start, end in itertools.pairwise(borders):
        blocks += stream.feed(ANSWER[start:end])
    blocks += stream.end()
    assert "".join(blocks) == ANSWER


def test_each_block_is_returned_when_it_is_finished() -> None:
    stream = BlockStream()
    blocks = [block.strip() for char in ANSWER for block in stream.feed(char)] + [b.strip() for b in stream.end()]
    assert [block.splitlines()[0] for block in blocks] == [
        "# Title",
        "A paragraph",
        "- one",
        "```sql",
        "| a | b |",
        "The end.",
    ]


def test_empty_line_does_not_end_a_code_block() -> None:
    stream = BlockStream()
    assert stream.feed("```\na\n\nb\n") == ()
    assert stream.feed("```\n\n") == ()
    assert stream.feed("n") == ("```\na\n\nb\n```\n\n",)


def shown(text: str) -> str:
    out = io.StringIO()
    Console(file=out, width=60, force_terminal=True, color_system=None).print(rendered(text))
    return out.getvalue()


@pytest.mark.parametrize(
    "text", ["see <router> now", "<script>x</script>", "cited [tickets_1#17]", "a [/x] b", "a < b > c"]
)
def test_text_that_looks_like_markup_is_kept(text: str) -> None:
    assert text in shown(text)


def test_link_shows_its_url() -> None:
    text = shown("[your bank](http://evil.example)")
    assert "http://evil.example" in text
    assert "\x1b]8" not in text


def test_the_notes_say_what_was_read_about_an_entity_and_why_the_rest_was_not() -> None:
    skipped = (SkippedCall(tool="delete_user", why="it changes data and needs approval"),)
    sweep = SweepReport(name="Baláž", kind="user", id="4", visited=("get_user", "list_orders"), skipped=skipped)
    result = RunResult(
        run_id="r", session_id="s", status=RunStatus.COMPLETE, exit_code=0, question="q", answer="a", sweeps=(sweep,)
    )
    assert list(notes_of(result, certificate=lambda _result: "certificate", has_evidence=False)) == [
        "Read about 'Baláž' (user 4): get_user, list_orders",
        "Not read about 'Baláž':",
        "  - delete_user: it changes data and needs approval",
        "certificate",
    ]
