"""Languages: the words of each in one module, and the patterns of all of them together.

A new language is a module like `en` and an entry in `LOCALES`.
"""

import re
import unicodedata
from collections.abc import Callable

from runax_cli.agent.locales.cs import CS
from runax_cli.agent.locales.de import DE
from runax_cli.agent.locales.en import EN
from runax_cli.agent.locales.locale import Locale

LOCALES: tuple[Locale, ...] = (EN, CS, DE)
DEFAULT = EN
_MIN_COMMON_WORDS = 2


def any_of(words: Callable[[Locale], str]) -> str:
    """A fragment of a regular expression that matches these words in every language."""
    found = [fragment for locale in LOCALES if (fragment := words(locale))]
    return f"(?:{'|'.join(found)})"


def fold(text: str) -> str:
    """Lower case without diacritics, so that "Průměr" and "prumer" are the same word."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def detect(text: str) -> Locale:
    """The language of a text, by letters that only it has or by its most frequent words; else the default."""
    folded = fold(text)
    for locale in LOCALES:
        if locale.letters and re.search(f"[{locale.letters}]", text):
            return locale
        common = locale.question.common
        if common and len(re.findall(rf"\b(?:{common})\b", folded)) >= _MIN_COMMON_WORDS:
            return locale
    return DEFAULT
