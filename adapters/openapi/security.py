"""Who the request says it is: security schemes, requirements, and the credentials that meet them.

Knows secrets, and shows none. Knows no request: it gives headers, cookies and query pairs. Whether they may go to an
origin at all is decided where the request is built.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapters.base import Json, LeftOut
from adapters.openapi import swagger
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.operation import Location
from adapters.openapi.settings import ANY_SCHEME, Secret


class Kind(StrEnum):
    """How a credential is presented."""

    BEARER = "bearer"
    BASIC = "basic"
    API_KEY = "api_key"


@dataclass(frozen=True, slots=True)
class Scheme:
    """A security scheme that can be met: its name in the document, and where its credential stands."""

    name: str
    kind: Kind
    location: Location = Location.HEADER
    field: str = "Authorization"


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """One credential, as it is sent."""

    location: Location
    field: str
    value: str


_PLACES = {"header": Location.HEADER, "query": Location.QUERY, "cookie": Location.COOKIE}
_BEARER = Scheme("", Kind.BEARER)


class MissingScheme(Exception):
    """No alternative of a requirement can be met; `names` are the schemes that one of them needs."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class Security:
    """The schemes of one document and the credentials of one source."""

    def __init__(self, schemes: Mapping[str, Scheme], default: Json, credentials: Mapping[str, Secret]) -> None:
        self._schemes, self._default = schemes, default
        values = {name: secret.get_secret_value().strip() for name, secret in credentials.items()}
        self._values = {name: value for name, value in values.items() if value}

    def credentials_for(self, stated: Node | None) -> tuple[Credential, ...]:
        """What a request of an operation carries; `stated` is its own requirement, else the document's holds.

        Where the document requires nothing anywhere, a configured token goes along all the same. Raises MissingScheme.
        """
        requirement = self._default if stated is None else stated.value
        if requirement is None:
            return self._unasked()
        alternatives = [_names(alternative) for alternative in requirement] if isinstance(requirement, list) else []
        met = [names for names in alternatives if names and all(self._value(name) is not None for name in names)]
        if met:
            return tuple(self._credential(self._schemes[name]) for name in met[0])
        if not alternatives or () in alternatives:
            return ()
        raise MissingScheme(alternatives[0])

    def _unasked(self) -> tuple[Credential, ...]:
        usable = [scheme for scheme in self._schemes.values() if self._value(scheme.name) is not None]
        if usable:
            return (self._credential(usable[0]),)
        return (self._credential(_BEARER),) if ANY_SCHEME in self._values and not self._schemes else ()

    def _value(self, name: str) -> str | None:
        if name not in self._schemes:
            return None
        return self._values.get(name, self._values.get(ANY_SCHEME))

    def _credential(self, scheme: Scheme) -> Credential:
        value = self._values.get(scheme.name, self._values.get(ANY_SCHEME, ""))
        match scheme.kind:
            case Kind.BEARER:
                sent = value if value.lower().startswith("bearer ") else f"Bearer {value}"
            case Kind.BASIC:
                sent = f"Basic {_basic(value)}"
            case Kind.API_KEY:
                sent = value
        return Credential(scheme.location, scheme.field, sent)

    @property
    def provided(self) -> frozenset[tuple[Location, str]]:
        """Where credentials stand that are configured: parameters of these names are no arguments. Lower case."""
        met = [scheme for scheme in self._schemes.values() if self._value(scheme.name) is not None]
        return frozenset((scheme.location, scheme.field.lower()) for scheme in met)

    @property
    def secrets(self) -> frozenset[str]:
        """Everything that must be masked: the credentials and the forms in which they are sent."""
        parts = {part for value in self._values.values() for part in (value, *value.split(":", 1), _basic(value))}
        return frozenset(parts - {""})

    @property
    def secret_names(self) -> frozenset[str]:
        """Names of query parameters and fields that carry a credential."""
        return frozenset(scheme.field for scheme in self._schemes.values())


def _basic(value: str) -> str:
    """`user:password`; a token without a colon is the user of an empty password."""
    return base64.b64encode((value if ":" in value else f"{value}:").encode()).decode()


def _names(alternative: Json) -> tuple[str, ...]:
    return tuple(alternative) if isinstance(alternative, dict) else ()


def read_security(document: Document, credentials: Mapping[str, Secret], left_out: list[LeftOut]) -> Security:
    """The security of a document; schemes that cannot be met are left out by name."""
    root = document.root
    is_swagger = swagger.is_swagger(root)
    holder = root.child("securityDefinitions") if is_swagger else root.child("components").child("securitySchemes")
    schemes: dict[str, Scheme] = {}
    for name, node in holder.members():
        try:
            scheme = _scheme(name, document.resolve(node).fields, is_swagger=is_swagger)
        except BrokenReference as error:
            left_out.append(LeftOut(error.path, error.why))
            continue
        if scheme is None:
            left_out.append(
                LeftOut(document.path_of(node), f"the security scheme '{name}' is of a kind that is not known")
            )
        else:
            schemes[name] = scheme
    default = root.fields.get("security")
    return Security(schemes, default if isinstance(default, list) else None, credentials)


def _scheme(name: str, fields: Mapping[str, Json], *, is_swagger: bool) -> Scheme | None:
    stated = swagger.scheme(dict(fields)) if is_swagger else fields
    kind, scheme = str(stated.get("type", "")).lower(), str(stated.get("scheme", "")).lower()
    if kind in ("oauth2", "openidconnect") or (kind == "http" and scheme == "bearer"):
        return Scheme(name, Kind.BEARER)
    if kind == "http" and scheme == "basic":
        return Scheme(name, Kind.BASIC)
    place, field = _PLACES.get(str(stated.get("in"))), stated.get("name")
    if kind == "apikey" and place is not None and isinstance(field, str) and field.strip():
        return Scheme(name, Kind.API_KEY, place, field)
    return None


def headers_of(credentials: Iterable[Credential]) -> tuple[tuple[str, str], ...]:
    """The header credentials."""
    return tuple((one.field, one.value) for one in credentials if one.location is Location.HEADER)
