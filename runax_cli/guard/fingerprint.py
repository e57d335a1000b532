"""The fingerprint of a call: equal for calls that ask for the same thing, however their arguments are written.

Knows canonical JSON and SHA-256. Knows nothing of what is done about equal calls.
"""

import hashlib
import json
import re
import unicodedata
from typing import Any

from runax_cli.guard.virtual import SplitArguments

_WORD = re.compile(r"\w+")


def fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool, its arguments and what the call is for; case and white space of the focus do not count."""
    focus = " ".join(unicodedata.normalize("NFC", arguments.focus or "").casefold().split())
    return _digest([tool, _canonical(arguments.api), focus, arguments.need, arguments.at_most])


def near_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool and its arguments without case and order of words: equal for calls that ask for nearly the same."""
    return _digest([tool, _near(_canonical(arguments.api)), arguments.at_most])


def data_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool and the data it asks for alone, whatever the call is for."""
    return _digest([tool, _canonical(arguments.api), arguments.at_most])


def _canonical(value: Any) -> Any:
    """Integral floats as integers, text in one normal form without white space around it.

    The order of members is left to the serialiser.
    """
    match value:
        case dict():
            return {unicodedata.normalize("NFC", str(name)): _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case str():
            return unicodedata.normalize("NFC", value).strip()
        case _:
            return value


def _near(value: Any) -> Any:
    match value:
        case dict():
            return {name: _near(item) for name, item in value.items()}
        case list():
            return sorted((_near(item) for item in value), key=_digest)
        case str():
            return " ".join(sorted(_WORD.findall(unicodedata.normalize("NFKC", value).casefold())))
        case _:
            return value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
