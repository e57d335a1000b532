"""Labels by words: the allowed value whose words a text has most of.

Knows a labeller's message. Understands nothing: a label says what its own words say.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runax_cli.models.rules.lexicon import content_stems, stems
from runax_cli.models.rules.reading import fenced, parsed

_FIELD = re.compile(r"^(\w+): (.+)$")
_OTHERS = ("other", "none", "unknown")


def labelled(message: str) -> dict[str, Any]:
    """The labels of all texts of a message."""
    instruction = message.partition("INSTRUCTION:\n")[2].partition("\n\nFIELDS:\n")[0]
    fields = _fields(message.partition("\n\nFIELDS:\n")[2].partition("\n\n<texts>")[0])
    texts = [(ref, parsed(text) if text.startswith('"') else text) for ref, text in fenced(message, "texts")]
    return {"labels": [{"ref": int(ref)} | _values(str(text), fields, instruction) for ref, text in texts]}


def _fields(lines: str) -> Mapping[str, Sequence[str]]:
    """The values of each field; one value alone is a type."""
    matched = filter(None, map(_FIELD.match, lines.splitlines()))
    return {field[1]: field[2].split(" | ") for field in matched}


def _values(text: str, fields: Mapping[str, Sequence[str]], instruction: str) -> dict[str, Any]:
    own = stems(text)
    return {name: _value(own, values, instruction) for name, values in fields.items()}


def _value(own: Sequence[str], values: Sequence[str], instruction: str) -> Any:
    match values:
        case ["boolean"]:
            return any(word in own for word in content_stems(instruction))
        case ["integer"] | ["number"]:
            return 0
        case ["string"]:
            return next(iter(own), "")
        case _:
            counts = {value: sum(own.count(word) for word in stems(value)) for value in values}
            best = max(counts, key=lambda value: counts[value])
            return best if counts[best] else next((value for value in values if value in _OTHERS), values[-1])
