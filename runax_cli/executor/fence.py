"""The fence around records: data may look like our frame or like a chat template, and must not act like it.

Knows the marks that frames and chat templates are made of. Knows nothing of what the data means.
"""

import re

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
