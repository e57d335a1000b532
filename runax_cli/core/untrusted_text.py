"""Sanitizes text from sources and models, for the terminal and for prompts.

Cheap to import: the handler of fatal errors uses it too.
"""

import re

from adapters.text import truncate

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colors, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS: title, links
    r"|\x1b[ -/]*[0-~]"  # all others, and the start of a sequence that never ends
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def strip_control(text: str) -> str:
    r"""Remove escape sequences, control characters and bidirectional controls.

    Removes escape sequences with the text inside them, C0 and C1 characters except `\n` and `\t`, bidirectional marks,
    overrides and isolates, and tag characters, which are invisible. `\r` becomes `\n`, a lone surrogate U+FFFD. Of an
    unterminated sequence only the start is removed, so that it cannot hide the text after it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _TAGS.sub("", _CONTROL.sub("", _SEQUENCE.sub("", lines))))


def one_line(text: str, *, limit: int | None = None) -> str:
    """Sanitize `text` (see `strip_control`) to a single line, truncated to `limit` characters with an ellipsis."""
    # Text far beyond the limit need not be sanitized first.
    folded = " ".join(strip_control(text if limit is None else text[: limit * 20]).split())
    return folded if limit is None else truncate(folded, limit)


FENCES = (
    "records",
    "findings",
    "texts",
    "parts",
    "known",
    "summary",
    "conversation",
    "skipped",
    "evidence",
    "statements",
)
"""The tags between which prompts enclose untrusted text."""

_CLOSING = re.compile(rf"<(\s*)/(?=\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"<(?=[|\uFF5C][^<>|\uFF5C\s]{1,40}[|\uFF5C]>)"
    r"|<(?=(?:start_of_turn|end_of_turn|bos|eos|/?s)>)"
    r"|\[(?=/?INST\])"
    r"|<(?=</?SYS>>)"
)


def escape_for_prompt(text: str) -> str:
    """Escape closing tags such as `</records>` and chat template tokens; valid JSON stays valid."""
    return without_template_marks(_CLOSING.sub(r"<\1\\/", text) if "<" in text else text)


def without_template_marks(text: str) -> str:
    """Break chat template tokens such as `<|im_start|>` and `[INST]` by a space after their first character."""
    if "<" not in text and "[" not in text:
        return text
    return _TEMPLATE.sub(lambda found: found.group() + " ", text)
