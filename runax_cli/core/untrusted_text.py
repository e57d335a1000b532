"""Foreign text made fit for a terminal: nothing in it steers the terminal, turns the reading order or hides.

Pure, and cheap to import: an error that ends the process passes through here too. Knows characters and sequences.
"""

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS: title, links
    r"|\x1b[ -/]*[0-~]"  # the rest, and beginnings of sequences that never end
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def strip_control(text: str) -> str:
    r"""`text` without anything that steers a terminal or turns the reading order.

    Takes out escape sequences (with the text inside them), C0 and C1 characters but `\n` and `\t`, all that turns the
    reading order (marks, overrides, isolates), and tags, which are text that nobody sees. `\r` becomes a line end, a
    lone surrogate U+FFFD. A sequence that never ends loses its beginning only, so that nothing can be hidden behind it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _TAGS.sub("", _CONTROL.sub("", _SEQUENCE.sub("", lines))))


def one_line(text: str, *, limit: int | None = None) -> str:
    """`text` disarmed, with its white space folded, and cut at `limit` characters with an ellipsis."""
    # What is far beyond the limit need not be cleaned first.
    folded = " ".join(strip_control(text if limit is None else text[: limit * 20]).split())
    return folded if limit is None or len(folded) <= limit else folded[: max(limit - 1, 0)] + "…"


_CLOSING = re.compile(r"<(\s*)/(?=\s*(?:records|findings|texts|parts|known|summary|conversation)\b)", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"<(?=[|\uFF5C][^<>|\uFF5C\s]{1,40}[|\uFF5C]>)"
    r"|<(?=(?:start_of_turn|end_of_turn|bos|eos|/?s)>)"
    r"|\[(?=/?INST\])"
    r"|<(?=</?SYS>>)"
)


def fenced(text: str) -> str:
    """`text` that can neither close the fence nor speak as a chat template; JSON stays valid JSON."""
    return without_template_marks(_CLOSING.sub(r"<\1\\/", text) if "<" in text else text)


def without_template_marks(text: str) -> str:
    """`text` in which tokens such as `<|im_start|>` and `[INST]` are broken by a space after their first character."""
    if "<" not in text and "[" not in text:
        return text
    return _TEMPLATE.sub(lambda found: found.group() + " ", text)
