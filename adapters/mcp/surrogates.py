"""Texts that hold half of a character, as programs write them that cut text between the halves of one.

Knows surrogates. Knows no JSON and no wire. Such a text can be written nowhere as UTF-8, so it is mended where it comes
in.
"""

from adapters.base import Json

_FIRST, _LAST = "\ud800", "\udfff"


def sound(value: Json) -> Json:
    """The value with sound texts and names."""
    match value:
        case str():
            return sound_text(value)
        case list():
            return [sound(item) for item in value]
        case dict():
            return {sound_text(name): sound(item) for name, item in value.items()}
        case _:
            return value


def sound_text(text: str) -> str:
    """Halves of surrogate pairs joined; one without its other half becomes a replacement character."""
    if text.isascii() or not any(_FIRST <= char <= _LAST for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
