"""The wording of an answer: records, totals, markers and headers where the convention has them.

Pure functions of values. Knows URLs. Knows no server.
"""

from collections.abc import Mapping
from typing import Any, assert_never
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mock_api.arguments import JsonObject
from mock_api.conventions.lying import told_total
from mock_api.conventions.page import Ask, Found, Told, found, kind_of, spelling_of, token_of
from mock_api.conventions.spelling import Addressing, End, Flag, Marker, Spelling, Wrap
from mock_api.conventions.style import FIRST_ID, ID_STEP, Collection, Lie


def answer(collection: Collection, ask: Ask) -> Told:
    """The answer to a request. Raises Refused."""
    spelling = spelling_of(collection)
    if spelling.figures_flag and _is_set(spelling.figures_flag, ask):
        total = told_total(collection, len(collection.ids(kind_of(ask, collection))))
        return Told(200, _figures(spelling, total), {})
    page = found(collection, ask)
    body = _body(collection, spelling, ask, page)
    status = 206 if spelling.addressing is Addressing.RANGE and len(page.ids) < page.n_records else 200
    return Told(status, body, _headers(collection, spelling, ask, page), tuple(page.ids))


def count(collection: Collection, ask: Ask) -> Told:
    """The answer of the counting operation. Raises Refused."""
    total = told_total(collection, len(collection.ids(kind_of(ask, collection))))
    return Told(200, {spelling_of(collection).count_path or "count": total}, {})


def record_of(collection: Collection, number: int) -> JsonObject:
    """The record with an id, as it is before it is wrapped."""
    position = (number - FIRST_ID) // ID_STEP
    note = f"Thing {number} of {collection.total}. " * (collection.record_chars // 20 + 1)
    kind = "odd" if position % 2 else "even"
    return {"id": number, "kind": kind, "tags": ["a", "b"], "note": note[: collection.record_chars].rstrip()}


def record_id(record: Mapping[str, Any]) -> int:
    """The id of a record, wrapped or not."""
    inner = record.get("_source") or record.get("node") or record
    return int(inner["id"])


def put(body: JsonObject, path: str, value: Any) -> None:
    """Set a member by its path, making the objects on the way."""
    *outer, last = path.split("/")
    for segment in outer:
        body = body.setdefault(segment, {})
    body[last] = value


def _is_set(flag: Flag, ask: Ask) -> bool:
    name, value = flag
    return str(ask.arguments.get(name)).lower() == str(value).lower()


def _figures(spelling: Spelling, total: int) -> JsonObject:
    body: JsonObject = {}
    put(body, spelling.total or "total", total)
    return body


def _body(collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> JsonObject | list[Any]:
    records = [
        _wrapped(spelling, record_of(collection, number), following=page.start + index + 1)
        for index, number in enumerate(page.ids)
    ]
    if not spelling.records:
        return records
    body: JsonObject = dict(spelling.constants)
    _put_figures(body, collection, spelling, ask, page)
    put(body, spelling.records, records)
    if spelling.next and spelling.marker is not Marker.URL_HEADER:
        _put_marker(body, collection, spelling, ask, page)
    if spelling.more:
        has_more = page.following is not None
        put(body, spelling.more, has_more is not spelling.is_more_inverted)
    return body


def _wrapped(spelling: Spelling, record: JsonObject, *, following: int) -> JsonObject:
    number = record["id"]
    match spelling.wrap:
        case Wrap.PLAIN:
            return record
        case Wrap.HIT:
            sort = {"sort": [number]} if spelling.addressing is Addressing.SORT_VALUES else {}
            return {"_index": "things", "_id": str(number), "_source": record, **sort}
        case Wrap.EDGE:
            return {"cursor": token_of(following), "node": record}
        case Wrap.RESOURCE:
            rest = {name: value for name, value in record.items() if name != "id"}
            return {"type": "things", "id": str(number), "attributes": rest}
        case _:
            assert_never(spelling.wrap)


def _put_figures(body: JsonObject, collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> None:
    total = told_total(collection, page.n_records)
    is_told = collection.says_total and (spelling.total_flag is None or _is_set(spelling.total_flag, ask))
    if spelling.total and is_told and spelling.figures_flag is None:
        put(body, spelling.total, total)
        if spelling.total_relation:
            put(body, spelling.total_relation, "gte" if collection.lie is Lie.ESTIMATED_TOTAL else "eq")
    if spelling.pages and is_told:
        put(body, spelling.pages, -(-total // page.size))
    if spelling.number:
        put(body, spelling.number, page.start // page.size + spelling.first)
    if spelling.start:
        put(body, spelling.start, page.start + spelling.first)
    left = page.n_records - page.start - len(page.ids)
    if spelling.remaining and collection.says_total and left > 0:
        put(body, spelling.remaining, left)


def _put_marker(body: JsonObject, collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> None:
    path = spelling.next or ""
    if spelling.marker is Marker.LINKS_LIST:
        following = [] if page.following is None else [_link_object("next", _url(collection, spelling, ask, page))]
        put(body, path, [_link_object("self", ask.url), *following])
        return
    if page.following is not None:
        is_token = spelling.marker is Marker.TOKEN
        put(body, path, token_of(page.following) if is_token else _url(collection, spelling, ask, page))
    elif spelling.end is not End.ABSENT:
        put(body, path, "" if spelling.end is End.EMPTY else None)


def _link_object(rel: str, href: str) -> JsonObject:
    return {"rel": rel, "type": "application/json", "href": href}


def _url(collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> str:
    """The URL of the next page."""
    following = page.following or 0
    position = str(following + spelling.first)
    if spelling.addressing is Addressing.PAGE:
        position = str(following // page.size + spelling.first)
    elif spelling.addressing is Addressing.TOKEN:
        position = token_of(following)
    own = {spelling.position or "": position, **({spelling.size: str(page.size)} if spelling.size else {})}
    url = with_query(ask.url, own, is_rest_dropped=collection.lie is Lie.DROPPED_ARGUMENTS)
    parts = urlsplit(url)
    if collection.lie is Lie.FOREIGN_NEXT:
        foreign = urlsplit(collection.foreign)
        return urlunsplit(parts._replace(scheme=foreign.scheme, netloc=foreign.netloc))
    if spelling.marker is Marker.RELATIVE_URL:
        return urlunsplit(parts._replace(scheme="", netloc=""))
    return url


def with_query(url: str, changed: Mapping[str, str], *, is_rest_dropped: bool = False) -> str:
    """The URL with these arguments; all others are kept, or dropped."""
    parts = urlsplit(url)
    kept = [] if is_rest_dropped else [each for each in parse_qsl(parts.query) if each[0] not in changed]
    return urlunsplit(parts._replace(query=urlencode([*kept, *changed.items()])))


def _headers(collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> dict[str, str]:
    headers: dict[str, str] = {}
    if spelling.total_header and collection.says_total:
        headers[spelling.total_header] = str(told_total(collection, page.n_records))
    if spelling.marker is Marker.URL_HEADER and page.following is not None:
        headers[spelling.next or "Next-Page"] = _url(collection, spelling, ask, page)
    if spelling.marker is Marker.LINK_HEADER and (links := _links(collection, spelling, ask, page)):
        headers["Link"] = links
    if spelling.addressing is Addressing.RANGE:
        headers["Range-Unit"] = "items"
        headers["Content-Range"] = _content_range(collection, ask, page)
    return headers


def _links(collection: Collection, spelling: Spelling, ask: Ask, page: Found) -> str:
    is_false = collection.lie is Lie.RESULTS_FALSE_LINK
    links = []
    if page.following is not None or is_false:
        url = _url(collection, spelling, ask, page)
        results = f'; results="{"false" if page.following is None else "true"}"' if is_false else ""
        links.append(f'<{url}>; rel="next"{results}')
    if spelling.addressing is Addressing.PAGE and collection.says_total and page.n_records:
        last = (page.n_records - 1) // page.size + spelling.first
        own = {spelling.position or "": str(last), spelling.size or "": str(page.size)}
        links.append(f'<{with_query(ask.url, own)}>; rel="last"')
    return ", ".join(links)


def _content_range(collection: Collection, ask: Ask, page: Found) -> str:
    is_exact = "count=exact" in ask.headers.get("prefer", "") and collection.says_total
    total = str(told_total(collection, page.n_records)) if is_exact else "*"
    return f"{page.start}-{page.start + len(page.ids) - 1}/{total}" if page.ids else f"*/{total}"
