"""Security schemes and requirements of a document, and the configured credentials that satisfy them."""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapters.base import Json, SkippedTool
from adapters.openapi.document import swagger2 as swagger
from adapters.openapi.document.document import BrokenReference, DocumentNode, DocumentNotLoaded, OpenApiDocument
from adapters.openapi.operation.model import ParameterLocation, find_operations
from adapters.openapi.settings import ANY_SCHEME, OAuthClient, OpenApiSettings

CredentialPlace = tuple[ParameterLocation, str]

_PLACE_SETTING = re.compile(r"(header|query|cookie)\s+(\S(?:.*\S)?)", re.IGNORECASE)
_CREDENTIAL_LOCATIONS = frozenset({ParameterLocation.HEADER.value, ParameterLocation.QUERY.value})
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_CERTAIN_NAME = re.compile(
    r"(?:.* )?(?:api ?key|(?:app|application|subscription|developer) key|(?:access|auth|api) ?token)"
)
_LIKELY_NAME = re.compile(r"(?:.* )?(?:key|token|appid)")
_OTHER_TOKEN = re.compile(r"\b(?:page|next|continuation|sync|cursor|idempotency|idempotent|csrf|xsrf)\b")
_ACCESS_WORDS = re.compile(r"\bapi\b|\bauth|\bcredential|\bsecret|\baccount\b|\baccess\b", re.IGNORECASE)
_MIN_OPERATION_SHARE = 0.5
"""Share of operations: a parameter that fewer have is a filter, not a credential."""


def parse_credential_place(name: str) -> CredentialPlace | None:
    """Parse a key of `auth` such as `header X-Api-Key`; None if it is the name of a scheme."""
    match = _PLACE_SETTING.fullmatch(name.strip())
    return (ParameterLocation(match[1].lower()), match[2]) if match else None


def find_credential_parameter(document: OpenApiDocument) -> CredentialPlace | None:
    """Return the parameter that takes the credential in a document without schemes; None unless exactly one fits."""
    found: Counter[CredentialPlace] = Counter()
    operations = 0
    for parameters in _parameters_by_operation(document):
        operations += 1
        found.update({place for one in parameters if (place := _as_credential_place(one)) is not None})
    common = [place for place, count in found.items() if count >= operations * _MIN_OPERATION_SHARE]
    return common[0] if len({(location, name.lower()) for location, name in common}) == 1 else None


def _parameters_by_operation(document: OpenApiDocument) -> Iterator[list[DocumentNode]]:
    """Yield the parameters of each operation, including those of its path; those in other files are ignored."""
    for path, item in document.root.child("paths").members():
        try:
            for entry in find_operations(document, item, path, []):
                nodes = [*entry.item.child("parameters").children(), *entry.operation.child("parameters").children()]
                yield [document.resolve(node) for node in nodes]
        except (BrokenReference, DocumentNotLoaded):
            continue


def _as_credential_place(parameter: DocumentNode) -> CredentialPlace | None:
    location, name = parameter.fields.get("in"), parameter.fields.get("name")
    if location not in _CREDENTIAL_LOCATIONS or not isinstance(name, str):
        return None
    words = _WORD_BREAK.sub(" ", name).strip().lower()
    description = str(parameter.fields.get("description") or "")
    is_credential_like = location == ParameterLocation.HEADER or _ACCESS_WORDS.search(description)
    is_credential = _CERTAIN_NAME.fullmatch(words) or (_LIKELY_NAME.fullmatch(words) and is_credential_like)
    return (ParameterLocation(location), name) if is_credential and not _OTHER_TOKEN.search(words) else None


class CredentialKind(StrEnum):
    """How a credential is sent."""

    BEARER = "bearer"
    BASIC = "basic"
    API_KEY = "api_key"


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A supported security scheme: its name in the document, and where its credential is sent.

    `token_url` is the document's URL for the client credentials grant.
    """

    name: str
    kind: CredentialKind
    location: ParameterLocation = ParameterLocation.HEADER
    field: str = "Authorization"
    token_url: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """One credential as it is sent; `token` is the fetched token in it, if any."""

    location: ParameterLocation
    field: str
    value: str
    token: str | None = None


_HTTP_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
"""A legal name of a header or cookie."""
_LOCATIONS = {"header": ParameterLocation.HEADER, "query": ParameterLocation.QUERY, "cookie": ParameterLocation.COOKIE}
_BEARER = SecurityScheme(ANY_SCHEME, CredentialKind.BEARER)


class MissingScheme(Exception):
    """No alternative of a requirement has all its credentials; `names` are the schemes of the first one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class Security:
    """The security schemes of one document, and the credentials and OAuth clients of one source.

    `extra` are schemes that the document does not declare; they apply to every request.
    """

    def __init__(
        self,
        schemes: Mapping[str, SecurityScheme],
        default: Json,
        settings: OpenApiSettings,
        *,
        extra: tuple[SecurityScheme, ...] = (),
    ) -> None:
        self._schemes, self._default, self._extra = schemes, default, extra
        values = {name: secret.get_secret_value().strip() for name, secret in settings.credentials.items()}
        self._values = {name: value for name, value in values.items() if value}
        self._clients = settings.clients

    def select(self, requirement: DocumentNode | None) -> tuple[SecurityScheme, ...]:
        """Return the schemes to use for an operation; `requirement` is its own `security`, else the document's applies.

        If an operation accepts several auth schemes, the first alternative with all credentials configured is used. If
        the document requires nothing anywhere, all configured schemes are used. Raises MissingScheme.
        """
        try:
            return _without_conflicts((*self._extra, *self._required(requirement)))
        except MissingScheme:
            if self._extra:
                return self._extra
            raise

    def _required(self, requirement: DocumentNode | None) -> tuple[SecurityScheme, ...]:
        value = self._default if requirement is None else requirement.value
        if value is None:
            return self._configured_schemes()
        listed = value if isinstance(value, list) else []
        alternatives = [tuple(one) if isinstance(one, dict) else () for one in listed]
        satisfied = [names for names in alternatives if names and all(self._has_credential(name) for name in names)]
        if satisfied:
            return _without_conflicts(self._schemes[name] for name in satisfied[0])
        if not alternatives or () in alternatives:
            return ()
        raise MissingScheme(alternatives[0])

    def _configured_schemes(self) -> tuple[SecurityScheme, ...]:
        """Return the schemes that the settings name, else the first that the `"*"` credential fits."""
        named = [one for one in self._schemes.values() if one.name in self._values or self._is_client(one.name)]
        usable = named or [one for one in self._schemes.values() if self._has_credential(one.name)][:1]
        if usable or self._schemes or self._extra:
            return _without_conflicts(usable)
        return (_BEARER,) if ANY_SCHEME in self._values or ANY_SCHEME in self._clients else ()

    @property
    def has_no_credentials(self) -> bool:
        """Whether neither a credential nor an OAuth client is configured."""
        return not self._values and not self._clients

    def oauth_client(self, scheme: SecurityScheme) -> OAuthClient | None:
        """Return the OAuth client that fetches the tokens of a scheme; None if its credential is configured."""
        if scheme.kind is not CredentialKind.BEARER or scheme.name in self._values:
            return None
        own = self._clients.get(scheme.name)
        return own or (None if ANY_SCHEME in self._values else self._clients.get(ANY_SCHEME))

    def _is_client(self, name: str) -> bool:
        return name in self._clients and self._schemes[name].kind is CredentialKind.BEARER

    def _has_credential(self, name: str) -> bool:
        if name not in self._schemes:
            return False
        has_value = name in self._values or ANY_SCHEME in self._values
        return has_value or self.oauth_client(self._schemes[name]) is not None

    def credential(self, scheme: SecurityScheme, token: str | None = None) -> Credential:
        """Return the credential of a scheme as it is sent; `token` is the one that was fetched for it."""
        value = token or self._values.get(scheme.name, self._values.get(ANY_SCHEME, ""))
        match scheme.kind:
            case CredentialKind.BEARER:
                sent = value if value.lower().startswith("bearer ") else f"Bearer {value}"
            case CredentialKind.BASIC:
                sent = f"Basic {_basic_credentials(value)}"
            case CredentialKind.API_KEY:
                sent = value
        return Credential(scheme.location, scheme.field, sent, token)

    @property
    def credential_parameters(self) -> frozenset[tuple[ParameterLocation, str]]:
        """Locations and names (in lower case) of parameters that credentials fill; they are not arguments of tools."""
        usable = [*self._extra, *(scheme for scheme in self._schemes.values() if self._has_credential(scheme.name))]
        return frozenset((scheme.location, scheme.field.lower()) for scheme in usable)

    @property
    def secrets(self) -> frozenset[str]:
        """All values to mask: the credentials and their encoded forms."""
        parts = {
            part for value in self._values.values() for part in (value, *value.split(":", 1), _basic_credentials(value))
        }
        parts |= {client.client_secret.get_secret_value().strip() for client in self._clients.values()}
        return frozenset(parts - {""})

    @property
    def secret_names(self) -> frozenset[str]:
        """Names of the parameters and headers that carry a credential."""
        return frozenset(scheme.field for scheme in (*self._schemes.values(), *self._extra))


def _basic_credentials(value: str) -> str:
    """Encode `user:password`; a value without a colon is a user with an empty password."""
    return base64.b64encode((value if ":" in value else f"{value}:").encode()).decode()


def _without_conflicts(schemes: Iterable[SecurityScheme]) -> tuple[SecurityScheme, ...]:
    """Drop schemes that would send a second credential in the same place."""
    return tuple({(one.location, one.field.lower()): one for one in reversed(tuple(schemes))}.values())[::-1]


def read_security(document: OpenApiDocument, settings: OpenApiSettings, skipped: list[SkippedTool]) -> Security:
    """Read the security schemes of a document. Unsupported ones, and credentials without a scheme, are skipped."""
    root = document.root
    is_swagger = swagger.is_swagger2(root)
    try:
        holder = document.at("securityDefinitions") if is_swagger else document.at("components", "securitySchemes")
    except BrokenReference as error:
        skipped.append(SkippedTool(error.path, error.reason))
        holder = root.with_value(None)
    schemes: dict[str, SecurityScheme] = {}
    for name, node in holder.members():
        try:
            scheme = _read_scheme(name, document.resolve(node).fields, is_swagger=is_swagger)
        except BrokenReference as error:
            skipped.append(SkippedTool(error.path, error.reason))
            continue
        if scheme is None:
            skipped.append(SkippedTool(document.display_path(node), f"unsupported security scheme '{name}'"))
        else:
            schemes[name] = scheme
    default = root.fields.get("security")
    extra = _extra_schemes(document, settings, schemes)
    usable_names = {*schemes, *(scheme.name for scheme in extra), ANY_SCHEME}
    for name in sorted(set(settings.credentials) - usable_names):
        reason = f"'auth' has a credential for '{name}', but the document has no such security scheme"
        skipped.append(
            SkippedTool(document.display_path(holder), f"{reason}; to send it in a header, write 'header {name}'")
        )
    for name in settings.clients:
        if name != ANY_SCHEME and (name not in schemes or schemes[name].kind is not CredentialKind.BEARER):
            reason = f"'auth' has an OAuth client for '{name}', but the document has no such scheme with bearer tokens"
            skipped.append(SkippedTool(document.display_path(holder), reason))
    return Security(schemes, default if isinstance(default, list) else None, settings, extra=extra)


def _extra_schemes(
    document: OpenApiDocument, settings: OpenApiSettings, schemes: Mapping[str, SecurityScheme]
) -> tuple[SecurityScheme, ...]:
    """Return the schemes for every request: places named in `auth`, else the credential parameter of the document."""
    places = [(name, parse_credential_place(name)) for name in settings.credentials if name not in schemes]
    named = tuple(SecurityScheme(name, CredentialKind.API_KEY, *place) for name, place in places if place is not None)
    if named or schemes or ANY_SCHEME not in settings.credentials:
        return named
    found = find_credential_parameter(document)
    return () if found is None else (SecurityScheme(ANY_SCHEME, CredentialKind.API_KEY, *found),)


def _read_scheme(name: str, fields: Mapping[str, Json], *, is_swagger: bool) -> SecurityScheme | None:
    scheme_fields = swagger.convert_security_scheme(dict(fields)) if is_swagger else fields
    kind, scheme = str(scheme_fields.get("type", "")).lower(), str(scheme_fields.get("scheme", "")).lower()
    if kind in ("oauth2", "openidconnect") or (kind == "http" and scheme == "bearer"):
        return SecurityScheme(name, CredentialKind.BEARER, token_url=_token_url(scheme_fields.get("flows")))
    if kind == "http" and scheme == "basic":
        return SecurityScheme(name, CredentialKind.BASIC)
    place, field = _LOCATIONS.get(str(scheme_fields.get("in")).lower()), str(scheme_fields.get("name") or "").strip()
    is_legal = place is ParameterLocation.QUERY or _HTTP_TOKEN.match(field) is not None
    if kind == "apikey" and place is not None and field and is_legal:
        return SecurityScheme(name, CredentialKind.API_KEY, place, field)
    return None


def _token_url(flows: Json) -> str | None:
    """Return the token URL of the client credentials flow."""
    flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
    url = flow.get("tokenUrl") if isinstance(flow, dict) else None
    return url if isinstance(url, str) and url.strip() else None


def credential_headers(credentials: Iterable[Credential]) -> tuple[tuple[str, str], ...]:
    """Return the credentials that are sent as headers."""
    return tuple((one.field, one.value) for one in credentials if one.location is ParameterLocation.HEADER)
