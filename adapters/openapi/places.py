"""Where a credential stands that no security scheme of the document names: a place that the user says, or a parameter.

Knows how the settings write a place, and by which names documents call a credential that they list among the
parameters. Knows no value of a credential and no request.
"""

import re
from collections import Counter
from collections.abc import Iterator

from adapters.openapi.document import BrokenReference, Document, Node, NotLoaded
from adapters.openapi.operation import Location, entries

Place = tuple[Location, str]

_STATED = re.compile(r"(header|query|cookie)\s+(\S(?:.*\S)?)", re.IGNORECASE)
_HOLDERS = frozenset({Location.HEADER.value, Location.QUERY.value})
_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_SURE = re.compile(r"(?:.* )?(?:api ?key|(?:app|application|subscription|developer) key|(?:access|auth|api) ?token)")
_LIKELY = re.compile(r"(?:.* )?(?:key|token|appid)")
_OTHER = re.compile(r"\b(?:page|next|continuation|sync|cursor|idempotency|idempotent|csrf|xsrf)\b")
_ABOUT_ACCESS = re.compile(r"\bapi\b|\bauth|\bcredential|\bsecret|\baccount\b|\baccess\b", re.IGNORECASE)
_LEAST_SHARE = 0.5
"""Of the operations: a parameter that fewer have is a filter and not what lets a caller in."""


def stated_place(name: str) -> Place | None:
    """The place that a name in `auth` says, as in `header X-Api-Key`; None where it is the name of a scheme."""
    match = _STATED.fullmatch(name.strip())
    return (Location(match[1].lower()), match[2]) if match else None


def shown_place(document: Document) -> Place | None:
    """The parameter that holds the credential of a document without schemes; None where none or several could."""
    found: Counter[Place] = Counter()
    operations = 0
    for parameters in _operations(document):
        operations += 1
        found.update({place for one in parameters if (place := _credential_in(one)) is not None})
    common = [place for place, count in found.items() if count >= operations * _LEAST_SHARE]
    return common[0] if len({(location, name.lower()) for location, name in common}) == 1 else None


def _operations(document: Document) -> Iterator[list[Node]]:
    """The parameters of each operation, those of its path included; what another file holds is passed over."""
    for path, item in document.root.child("paths").members():
        try:
            for entry in entries(document, item, path, []):
                nodes = [*entry.item.child("parameters").children(), *entry.operation.child("parameters").children()]
                yield [document.resolve(node) for node in nodes]
        except (BrokenReference, NotLoaded):
            continue


def _credential_in(parameter: Node) -> Place | None:
    location, name = parameter.fields.get("in"), parameter.fields.get("name")
    if location not in _HOLDERS or not isinstance(name, str):
        return None
    words = _BREAKS.sub(" ", name).strip().lower()
    about = str(parameter.fields.get("description") or "")
    is_certain = location == Location.HEADER or _ABOUT_ACCESS.search(about)
    is_it = _SURE.fullmatch(words) or (_LIKELY.fullmatch(words) and is_certain)
    return (Location(location), name) if is_it and not _OTHER.search(words) else None
