"""A Litestar app with its own pages. Arguments: folder, number."""

import socket
import sys
from dataclasses import dataclass

import uvicorn
from lifeline import end_with_parent, ready
from litestar import Litestar, get
from litestar.pagination import ClassicPagination, CursorPagination, OffsetPagination

MOST = 50


@dataclass
class Thing:
    """A thing."""

    id: int
    name: str


def app_over(number: int) -> Litestar:
    """The app, with one page type per route; the page size has an undocumented cap."""
    things = [Thing(id=n, name=f"thing {n}") for n in range(1, number + 1)]

    @get("/classic", operation_id="list_classic", sync_to_thread=False)
    def classic(page_size: int = 20, current_page: int = 1) -> ClassicPagination[Thing]:
        size = min(page_size, MOST)
        begin, pages = (current_page - 1) * size, -(-number // size)
        page = things[begin : begin + size]
        return ClassicPagination(items=page, page_size=size, current_page=current_page, total_pages=pages)

    @get("/offset", operation_id="list_offset", sync_to_thread=False)
    def by_offset(limit: int = 20, offset: int = 0) -> OffsetPagination[Thing]:
        size = min(limit, MOST)
        return OffsetPagination(items=things[offset : offset + size], limit=size, offset=offset, total=number)

    @get("/cursor", operation_id="list_cursor", sync_to_thread=False)
    def by_cursor(results_per_page: int, cursor: int | None = None) -> CursorPagination[int, Thing]:
        page = [thing for thing in things if thing.id > (cursor or 0)][:results_per_page]
        last = page[-1].id if page else None
        return CursorPagination(items=page, results_per_page=results_per_page, cursor=last)

    return Litestar([classic, by_offset, by_cursor])


def main() -> None:
    app = app_over(int(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0))
    ready(listener.getsockname()[1])  # the socket listens: what comes before uvicorn is up waits in its queue
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    end_with_parent()
    main()
