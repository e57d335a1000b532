"""English: words and word endings of tool search."""

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been being but by can could data did do does each every for from get
    give had has have having he her here him his how i if in into is it its just let list many me more most much my no
    not of on one only or our out over please record records see she should show so some such tell than that the their
    them then there these they this those through to too under up us via want was we were what when where which while
    who whom whose why will with within would you your return returns retrieve fetch find lists gets api endpoint use
    used using given specified
    """.split()
)
WRITE_VERBS = frozenset(
    "create add delete remove update set edit change assign close open merge cancel replace post put patch".split()
)
ABBREVIATIONS = {
    "admin": "administrator",
    "app": "application",
    "auth": "authentication",
    "config": "configuration",
    "db": "database",
    "dir": "directory",
    "doc": "document",
    "env": "environment",
    "img": "image",
    "info": "information",
    "msg": "message",
    "org": "organization",
    "param": "parameter",
    "pic": "picture",
    "ref": "reference",
    "repo": "repository",
    "spec": "specification",
    "sub": "subscription",
    "temp": "temperature",
    "vuln": "vulnerability",
}
ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("ed", ""),
    ("s", ""),
    ("er", ""),
)
"""Endings and their replacements in a stem, in the order in which they are tried."""
_MIN_STEM = {"er": 5, "xes": 2}


def stem(word: str) -> str:
    """Return the stem of a word in lower case; an abbreviation is expanded first."""
    full = ABBREVIATIONS.get(word) or ABBREVIATIONS.get(word.removesuffix("s"))
    if full is not None:
        return stem(full)
    if len(word) <= 3:
        return word
    for ending, replacement in ENDINGS:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= _MIN_STEM.get(ending, 3):
            base = word[: -len(ending)]
            return stem(base + replacement) if ending == "s" else base + replacement
    return word
