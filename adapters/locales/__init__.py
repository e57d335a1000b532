"""Words of natural languages that tool search uses: one module per language.

Tools are described in English. Another language is a module with a `GLOSSARY` of stems and English words, added to
`_GLOSSARIES`.
"""

from adapters.locales import cs, de

_GLOSSARIES = (cs.GLOSSARY, de.GLOSSARY)


def translate(word: str) -> tuple[str, ...]:
    """Return the English words for a word in lower case and without diacritics; () if it is unknown.

    The longest stem that the word begins with decides.
    """
    return next((found for glossary in _GLOSSARIES if (found := _look_up(word, glossary))), ())


def _look_up(word: str, glossary: dict[str, str]) -> tuple[str, ...]:
    matching = [stem for length in range(len(word), 0, -1) if (stem := word[:length]) in glossary]
    return tuple(glossary[matching[0]].split()) if matching else ()
