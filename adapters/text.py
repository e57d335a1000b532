"""Text helpers that packages share: folding for comparison and truncation for display."""

import unicodedata


def strip_diacritics(text: str) -> str:
    """`text` decomposed (NFKD), without combining characters: "Průměr" becomes "Prumer"."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def fold(text: str) -> str:
    """`text` for comparison, without case and diacritics: "Průměr" and "prumer" fold to the same text."""
    return strip_diacritics(text).casefold()


def truncate(text: str, max_chars: int) -> str:
    """`text` cut to `max_chars` characters; a cut text ends with an ellipsis, which counts."""
    return text if len(text) <= max_chars else text[: max(max_chars - 1, 0)] + "…"
