"""An answer that is the message of a failure, though its status is one of success.

Knows the members by which services say so. An object with facts of its own is data, whatever its `status` is: a job
that failed is a record. Knows no transport and no text: what prose says is in `prose`.
"""

from collections.abc import Sequence

from adapters.base import Json
from adapters.paging import names
from adapters.paging.beside import ENVELOPE
from adapters.paging.names import plain
from adapters.paging.prose import says_nothing

_FAILURES = names.words("error errors error_message error_code error_description fault exception err errmsg")
_CLAIMS = names.words("success ok successful succeeded is_success is_ok")
_STATES = names.words("status state result outcome stat response_status")
_FAILED = frozenset("error errors fail failed failure ko nok exception fault".split())
_TOLD = names.words(
    "message messages msg detail details title description reason instance trace trace_id request_id correlation_id "
    "help documentation documentation_url error_id data exception_type stacktrace hint more_info info path"
)
_MESSAGES = names.words("message msg detail title description reason")
_FINE = frozenset({"ok", "okay", "success", "done"})
_SHOWN = 120


def failure_in(payload: Json) -> str:
    """What an answer without records says of its failure, in few words; "" where it says none."""
    if not isinstance(payload, dict):
        return ""
    if not any(_is_sign(name, value) for name, value in payload.items()) and not _is_only_words(payload):
        return ""
    if any(_is_fact(name, value) for name, value in payload.items()):
        return ""
    return f"the answer says that it failed: {_words(payload)}"


def failure_at_end(records: Sequence[Json]) -> str:
    """What the last of several records says of a failure that cut the list off; "" where it is a record as others."""
    last, first = (records[-1], records[0]) if len(records) > 1 else (None, None)
    if not isinstance(last, dict) or not isinstance(first, dict) or last.keys() & first.keys():
        return ""
    return failure_in(last)


def _is_sign(name: str, value: Json) -> bool:
    own = plain(name)
    if own in _FAILURES:
        return bool(value)
    if own in _CLAIMS:
        return value is False or (isinstance(value, str) and value.lower() == "false")
    return own in _STATES and isinstance(value, str) and value.lower() in _FAILED


def _is_only_words(payload: dict[str, Json]) -> bool:
    """Whether an answer is a message and nothing else, neither a list nor a figure, and not one of an empty list."""
    filled = {plain(name): value for name, value in payload.items() if value not in (None, "")}
    texts = [value for name, value in filled.items() if name in _MESSAGES and isinstance(value, str)]
    is_told = bool(texts) and filled.keys() <= _MESSAGES | _TOLD | {"code", "type", "timestamp"}
    is_list = any(isinstance(value, list) for value in payload.values())
    return is_told and not is_list and not any(says_nothing(text) or text.lower() in _FINE for text in texts)


def _is_fact(name: str, value: Json) -> bool:
    """Whether a member is neither about the failure nor about the list, and has something in it."""
    own = plain(name)
    is_about = own in _FAILURES | _CLAIMS | _STATES | _TOLD | ENVELOPE
    return not is_about and value not in (None, "", [], {}, 0, False)


def _words(payload: dict[str, Json]) -> str:
    texts = [f"{name}: {value}" for name, value in payload.items() if value and not isinstance(value, bool)]
    return "; ".join(texts)[:_SHOWN]
