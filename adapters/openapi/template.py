"""Paths as documents write them, taken apart: what is filled in, what is asked behind a `?`, what is never sent.

Pure. Knows the spellings of a variable: `{id}`, `/:id`, and those of RFC 6570 and of web frameworks (`{+name}`,
`{name=projects/*}`, `{file:path}`), the latter standing for several segments. Knows no parameter and no value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

_VARIABLE = re.compile(r"\{([^{}/]+|[^{}=/]+=[^{}]*)\}")
_EXPANDED = re.compile(r"\{[?&][^{}]*\}")
_COLON = re.compile(r"(?<=/):([A-Za-z_]\w*)(?=/|$)")
_SPELLED = re.compile(r"^([+/]?)([^=:*/]+)(\*{0,2}|=.*|:.*)$", re.DOTALL)
_SEVERAL = re.compile(r"[*/]|^:path$")
"""What stands behind a name where several segments may stand for it."""
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Template:
    """The template of one path.

    `path` has each variable as `{name}`. `open` are those variables that several segments may stand for. `asked` are
    the names in the query of the variables that stand there, `fixed` is the rest of that query. `unsent` are the
    variables behind a `#`.
    """

    path: str
    variables: tuple[str, ...]
    open: frozenset[str] = frozenset()
    asked: Mapping[str, str] = field(default_factory=lambda: _NONE)
    fixed: str = ""
    unsent: tuple[str, ...] = ()

    def spelled(self, name: str) -> str:
        """The variable that a parameter means: its own name, that name without decoration, or in another case."""
        known = {**dict.fromkeys(self.variables), **dict.fromkeys(self.asked)}
        if name in known:
            return name
        bare = bare_name(name)
        return next((one for one in known if one.lower() == bare.lower()), name)


def bare_name(text: str) -> str:
    """The name inside a variable, without what says how it is written."""
    found = _SPELLED.match(text.strip())
    return found[2].strip() if found else text


@lru_cache(maxsize=4096)
def template_of(path: str) -> Template:
    """A path taken apart."""
    sent, _, unsent = _EXPANDED.sub("", path).partition("#")
    sent, _, query = sent.partition("?")
    sent = _COLON.sub(r"{\1}", sent)
    spelled = _VARIABLE.findall(sent)
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    asked = {bare_name(found[1]): name for name, _, value in pairs if (found := _VARIABLE.fullmatch(value))}
    return Template(
        path=_VARIABLE.sub(lambda found: "{" + bare_name(found[1]) + "}", sent),
        variables=tuple(dict.fromkeys(bare_name(text) for text in spelled)),
        open=frozenset(bare_name(text) for text in spelled if _is_open(text)),
        asked=asked,
        fixed="&".join("".join(pair) for pair in pairs if not _VARIABLE.fullmatch(pair[2])),
        unsent=tuple(_VARIABLE.findall(unsent)),
    )


def _is_open(text: str) -> bool:
    found = _SPELLED.match(text.strip())
    return found is not None and (found[1] != "" or _SEVERAL.search(found[3]) is not None)
