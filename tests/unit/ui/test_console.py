import io
import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runax_cli.ui.console import ColorChoice, Environment, SafeStream, one_line, strip_control

ESC = "\x1b"
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
noisy = st.text(
    st.one_of(st.characters(), st.sampled_from(ESC + "\x9b\x9d\x9c\x07\r\n\t\x00\x7f[]m;?0\\P" + BIDI + "\ud800"))
)


@given(noisy)
@example(f"{ESC}{ESC}[31m[31m")
@example(f"{ESC}]0;title\x07text")
def test_control_characters_are_removed(text: str) -> None:
    left = strip_control(text)
    assert not [c for c in left if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not set(left) & set(BIDI)


@given(noisy)
def test_stripping_twice_changes_nothing(text: str) -> None:
    once = strip_control(text)
    assert strip_control(once) == once


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"])))
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert strip_control(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{ESC}[31;1mred{ESC}[0m", "red"),
        (f"a{ESC}]8;;http://evil{ESC}\\b", "ab"),
        (f"a{ESC}]0;you are root\x07b", "ab"),
        ("\x9b2Jgone", "gone"),
        ("one\rtwo\r\nthree", "one\ntwo\nthree"),
        ("abc\u202efdp.exe", "abcfdp.exe"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("half \ud83d", "half \ufffd"),
        (f"{ESC}Pq#0payload{ESC}\\x", "x"),
    ],
)
def test_escape_sequences_are_removed_with_their_content(text: str, left: str) -> None:
    assert strip_control(text) == left


def test_unterminated_sequence_hides_no_text() -> None:
    assert strip_control(f"{ESC}]0;the invoice is overdue") == "0;the invoice is overdue"


@given(noisy, st.integers(1, 30))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit=limit)
    assert len(line) <= limit
    assert "\n" not in line


@pytest.mark.parametrize(
    ("color", "variables", "is_terminal", "expected"),
    [
        (ColorChoice.AUTO, {}, True, True),
        (ColorChoice.AUTO, {}, False, False),
        (ColorChoice.AUTO, {"NO_COLOR": "1"}, True, False),
        (ColorChoice.AUTO, {"NO_COLOR": ""}, True, True),
        (ColorChoice.AUTO, {"FORCE_COLOR": "1"}, False, True),
        (ColorChoice.AUTO, {"FORCE_COLOR": "0"}, False, False),
        (ColorChoice.AUTO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        (ColorChoice.AUTO, {"TERM": "dumb"}, True, False),
        (ColorChoice.ALWAYS, {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        (ColorChoice.NEVER, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_color_follows_option_then_environment_then_terminal(world, color, variables, is_terminal, expected) -> None:
    env = world.environment(is_stderr_terminal=is_terminal, color=color, **variables)
    assert env.has_color("stderr") is expected


def test_dumb_terminal_has_no_live_view_and_no_rendering(world) -> None:
    env = world.environment(is_stdout_terminal=True, is_stderr_terminal=True, TERM="dumb")
    assert not env.can_draw
    assert not env.can_render


def test_closed_standard_streams_are_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", None)
    env = Environment.of_process()
    with env.stdin, env.stdout, env.stderr:
        assert env.stdin.read() == ""
        assert env.stdout.write("x") == 1
        assert not env.can_draw


def test_state_folder_ignores_a_relative_xdg_path(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Environment.of_process().state_folder == tmp_path / "runax"
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert Environment.of_process().state_folder.parts[-3:] == (".local", "state", "runax")


def test_writing_to_a_broken_pipe_does_not_raise() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    outlet = SafeStream(stream)
    outlet.line("nobody reads this")
    outlet.line("nor this")
    assert outlet.is_broken
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_writing_to_a_closed_stream_does_not_raise() -> None:
    stream = io.StringIO()
    stream.close()
    outlet = SafeStream(stream)
    outlet.line("x")
    assert outlet.is_broken


def test_unencodable_characters_become_question_marks() -> None:
    raw = io.BytesIO()
    outlet = SafeStream(io.TextIOWrapper(raw, encoding="ascii"))
    outlet.line("Baláž")
    assert raw.getvalue() == b"Bal??\n"
    assert not outlet.is_unicode
