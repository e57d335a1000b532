"""The fingerprint of a call: equal for calls that ask for the same thing, however their arguments are written.

Knows canonical JSON and SHA-256. Knows nothing of what is done about equal calls.
"""

import hashlib
import json
import unicodedata
from typing import Any

from runax_cli.guard.virtual import SplitArguments


def fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool, its arguments and what the call is for; case and white space of the focus do not count."""
    focus = " ".join(unicodedata.normalize("NFC", arguments.focus or "").casefold().split())
    return _digest([tool, _canonical(arguments.api), focus, arguments.need, arguments.at_most])


def data_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool and the data it asks for alone, whatever the call is for."""
    return _digest([tool, _canonical(arguments.api), arguments.at_most])


def _canonical(value: Any) -> Any:
    """Integral floats as integers and text in one normal form; order of members is left to the serialiser."""
    match value:
        case dict():
            return {unicodedata.normalize("NFC", str(name)): _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case str():
            return unicodedata.normalize("NFC", value)
        case _:
            return value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
