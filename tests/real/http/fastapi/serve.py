"""A FastAPI app with the pages of fastapi-pagination. Arguments: folder, number."""

import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi_pagination import LimitOffsetPage, Page, add_pagination, paginate
from fastapi_pagination.cursor import CursorPage
from fastapi_pagination.ext.sqlalchemy import paginate as paginate_query
from fastapi_pagination.links import LimitOffsetPage as LinkedLimitOffsetPage
from fastapi_pagination.links import Page as LinkedPage
from lifeline import end_with_parent, ready
from pydantic import BaseModel, ConfigDict
from sqlalchemy import create_engine, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    """The tables."""


class Row(Base):
    """A thing as stored."""

    __tablename__ = "things"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Thing(BaseModel):
    """A thing."""

    model_config = ConfigDict(from_attributes=True)
    id: int
    name: str


def app_over(folder: Path, number: int) -> FastAPI:
    """The app, with one page type per route."""
    engine = create_engine(f"sqlite:///{folder / 'things.sqlite3'}")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.execute(insert(Row), [{"id": n, "name": f"thing {n}"} for n in range(1, number + 1)])
        session.commit()
    things = [Thing(id=n, name=f"thing {n}") for n in range(1, number + 1)]
    app = FastAPI(title="Things")

    @app.get("/numbered", operation_id="list_numbered", response_model=Page[Thing])
    def numbered() -> object:
        return paginate(things)

    @app.get("/counted", operation_id="list_counted", response_model=LimitOffsetPage[Thing])
    def counted() -> object:
        return paginate(things)

    @app.get("/linked", operation_id="list_linked", response_model=LinkedPage[Thing])
    def linked() -> object:
        return paginate(things)

    @app.get("/linked_offset", operation_id="list_linked_offset", response_model=LinkedLimitOffsetPage[Thing])
    def linked_offset() -> object:
        return paginate(things)

    @app.get("/pointed", operation_id="list_pointed", response_model=CursorPage[Thing])
    def pointed() -> object:
        with Session(engine) as session:
            return paginate_query(session, select(Row).order_by(Row.id))

    add_pagination(app)
    return app


def main() -> None:
    app = app_over(Path(sys.argv[1]), int(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0))
    ready(listener.getsockname()[1])  # the socket listens: what comes before uvicorn is up waits in its queue
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    end_with_parent()
    main()
