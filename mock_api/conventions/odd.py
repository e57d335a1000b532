"""Services that page in a way of their own: unusual names, unusual answers, and lies that no convention shares.

Each is one function from a request to an answer, over the same records, beside the parameters that its document has.
Where the document would say what an answer holds, it says nothing. Knows Starlette, and no client.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mock_api.arguments import JsonObject

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
MOMENT: JsonObject = {"type": "string", "format": "date-time"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its arguments, how many records there are, and where the service stands."""

    given: Mapping[str, str]
    n: int
    url: str

    def number(self, name: str, otherwise: int) -> int:
        """An argument that is a whole number."""
        return int(self.given.get(name) or otherwise)

    def size(self, name: str, cap: int = 50) -> int:
        """A size, cut at the cap without a word."""
        return min(self.number(name, 20), cap)

    def rows(self, start: int, size: int) -> list[JsonObject]:
        """Records from `start` on."""
        return [record(number) for number in range(max(0, start), min(start + size, self.n))]


Answer = Callable[[Asked], Response]


@dataclass(frozen=True, slots=True)
class Odd:
    """One service. `is_readable`: all its records can be had by who understands it."""

    name: str
    parameters: Mapping[str, JsonObject]
    answer: Answer
    is_readable: bool = True


def record(number: int) -> JsonObject:
    """Record `number`, from 0; the newest first."""
    return {
        "id": number + 1,
        "label": f"part {number}",
        "at": f"2026-{12 - number // 28:02}-{28 - number % 28:02}T12:00:00Z",
    }


def _json(payload: object, status: int = 200) -> Response:
    return JSONResponse(payload, status_code=status)


def _pages_abroad(asked: Asked) -> Response:
    size = asked.size("naStranku")
    start = (asked.number("strana", 1) - 1) * size
    return _json({"polozky": asked.rows(start, size), "pocetStranek": -(-asked.n // size)})


def _offset_abroad(asked: Asked) -> Response:
    start, size = asked.number("desde", 0), asked.size("cuantos")
    return _json({"datos": asked.rows(start, size), "hay_mas": start + size < asked.n})


def _number_as_cursor(asked: Asked) -> Response:
    start, size = asked.number("cursor", 0), asked.size("limit")
    return _json({"msgs": asked.rows(start, size), "cursor": start + size if start + size < asked.n else -1})


def _token_at_the_end(asked: Asked) -> Response:
    start, size = asked.number("continueFrom", 0), asked.size("maxEntries")
    told = {"isComplete": start + size >= asked.n, "continueFrom": f"{start + size:06}"}
    return _json({"jobs": asked.rows(start, size), **told})


def _length_as_total(asked: Asked) -> Response:
    came = asked.rows(asked.number("offset", 0), asked.size("limit"))
    return _json({"items": came, "total": len(came)})


def _pages_from_zero(asked: Asked) -> Response:
    size = asked.size("size")
    return _json(asked.rows(asked.number("page", 0) * size, size))


def _refuses_large_pages(asked: Asked) -> Response:
    size = asked.number("page_size", 20)
    if size > 35:
        return _json({"detail": [{"msg": "Input should be less than or equal to 35", "ctx": {"le": 35}}]}, 422)
    return _json(asked.rows((asked.number("page", 1) - 1) * size, size))


def _behind_a_proxy(asked: Asked) -> Response:
    start, size = asked.number("cursor", 0), asked.size("page_size")
    url = f"http://parts.internal:8080/v1/parts?cursor={start + size}&page_size={size}"
    return _json({"results": asked.rows(start, size), "next": url if start + size < asked.n else None})


def _wrong_scheme(asked: Asked) -> Response:
    start = asked.number("o", 0)
    url = f"{asked.url.replace('http://', 'https://')}?o={start + 20}"
    return _json({"items": asked.rows(start, 20), "next": url if start + 20 < asked.n else None})


def _always_names_a_next(asked: Asked) -> Response:
    page = asked.number("page", 1)
    return _json({"items": asked.rows((page - 1) * 20, 20), "next": f"{asked.url}?page={page + 1}"})


def _older_than(asked: Asked) -> Response:
    than = asked.given.get("older_than") or "9999"
    return _json({"entries": [row for row in asked.rows(0, asked.n) if str(row["at"]) < than][:20]})


def _cells(asked: Asked) -> Response:
    size = asked.size("per_page")
    rows = asked.rows((asked.number("page", 1) - 1) * size, size)
    lines = "".join(f'{row["id"]},"{row["label"]}, ""new"""\r\n' for row in rows)
    return PlainTextResponse(f"id,label\r\n{lines}", media_type="text/csv")


def _guarded(asked: Asked) -> Response:
    payload = {"items": asked.rows(asked.number("offset", 0), asked.size("limit")), "total": asked.n}
    return Response(f")]}}',\n{json.dumps(payload)}", media_type="application/json")


def _loads_more(asked: Asked) -> Response:
    start = asked.number("from", 0)
    more = [{"id": "loadMore", "url": f"{asked.url}?from={start + 20}"}]
    return _json({"cards": asked.rows(start, 20), "actions": more if start + 20 < asked.n else []})


def _counts_by_the_size_asked_for(asked: Asked) -> Response:
    size = asked.number("size", 20)
    return _json(asked.rows((asked.number("page", 1) - 1) * size, min(size, 50)))


def _figures_as_a_list(asked: Asked) -> Response:
    size, page = asked.size("size"), asked.number("page", 1)
    meta = [{"name": "total", "value": asked.n}, {"name": "page", "value": page}]
    return _json({"content": asked.rows((page - 1) * size, size), "meta": meta})


def _page_missing(asked: Asked) -> Response:
    size, page = asked.size("size", 20), asked.number("page", 1)
    return _json({"error": "gone"}, 404) if page == 2 else _json({"items": asked.rows((page - 1) * size, size)})


def _fails_politely(asked: Asked) -> Response:
    size, page = asked.size("size", 20), asked.number("page", 1)
    if page == 2:
        return _json({"status": "error", "message": "backend gone", "items": []})
    return _json({"items": asked.rows((page - 1) * size, size)})


def _lines_cut_off(asked: Asked) -> Response:
    size, page = asked.size("size", 20), asked.number("page", 1)
    rows: list[JsonObject] = [*asked.rows((page - 1) * size, size), *([{"error": "stream aborted"}] * (page == 2))]
    return Response("\n".join(map(json.dumps, rows)), media_type="application/x-ndjson")


def _refuses_everybody(asked: Asked) -> Response:
    return _json({"ok": asked.n < 0, "error": "invalid_auth"})


PAGE_AND_SIZE: Mapping[str, JsonObject] = {"page": WHOLE, "size": WHOLE}
ODD_SERVICES = (
    Odd("pages_abroad", {"strana": WHOLE, "naStranku": WHOLE}, _pages_abroad),
    Odd("offset_abroad", {"desde": WHOLE, "cuantos": WHOLE}, _offset_abroad),
    Odd("number_as_cursor", {"cursor": TEXT, "limit": WHOLE}, _number_as_cursor),
    Odd("token_at_the_end", {"continueFrom": TEXT, "maxEntries": WHOLE}, _token_at_the_end),
    Odd("length_as_total", {"offset": WHOLE, "limit": WHOLE}, _length_as_total),
    Odd("pages_from_zero", PAGE_AND_SIZE, _pages_from_zero),
    Odd("refuses_large_pages", {"page": WHOLE, "page_size": WHOLE}, _refuses_large_pages),
    Odd("behind_a_proxy", {"cursor": TEXT, "page_size": WHOLE}, _behind_a_proxy),
    Odd("wrong_scheme", {}, _wrong_scheme),
    Odd("always_names_a_next", {"page": WHOLE}, _always_names_a_next),
    Odd("older_than", {"older_than": MOMENT}, _older_than),
    Odd("cells", {"page": WHOLE, "per_page": WHOLE}, _cells),
    Odd("guarded", {"offset": WHOLE, "limit": WHOLE}, _guarded),
    Odd("loads_more", {}, _loads_more),
    Odd("counts_by_the_size_asked_for", PAGE_AND_SIZE, _counts_by_the_size_asked_for),
    Odd("figures_as_a_list", PAGE_AND_SIZE, _figures_as_a_list),
    Odd("page_missing", PAGE_AND_SIZE, _page_missing, is_readable=False),
    Odd("fails_politely", PAGE_AND_SIZE, _fails_politely, is_readable=False),
    Odd("lines_cut_off", PAGE_AND_SIZE, _lines_cut_off, is_readable=False),
    Odd("refuses_everybody", PAGE_AND_SIZE, _refuses_everybody, is_readable=False),
)


def create_odd_app(n: int, *, asked: list[str]) -> Starlette:
    """All odd services over `n` records, each on the path of its name; `asked` takes in the URLs of requests."""
    routes = [Route(f"/{odd.name}", _served(odd, n, asked)) for odd in ODD_SERVICES]
    return Starlette(routes=[*routes, Route("/openapi.json", lambda _: JSONResponse(_document()))])


def _served(odd: Odd, n: int, asked: list[str]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        asked.append(str(request.url))
        return odd.answer(Asked(dict(request.query_params), n, str(request.url.replace(query=""))))

    return answer


def _document() -> JsonObject:
    return {
        "openapi": "3.0.3",
        "info": {"title": "odd services", "version": "1"},
        "paths": {f"/{odd.name}": {"get": _operation(odd)} for odd in ODD_SERVICES},
    }


def _operation(odd: Odd) -> JsonObject:
    parameters = [{"name": name, "in": "query", "schema": dict(schema)} for name, schema in odd.parameters.items()]
    return {"operationId": odd.name, "parameters": parameters, "responses": {"200": {"description": "Some parts."}}}
