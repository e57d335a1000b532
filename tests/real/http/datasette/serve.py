"""Datasette over one table. Arguments: folder, number."""

import socket
import sqlite3
import sys
from pathlib import Path

import uvicorn
from datasette.app import Datasette
from lifeline import end_with_parent, ready


def main() -> None:
    path, number = Path(sys.argv[1]) / "shop.db", int(sys.argv[2])
    with sqlite3.connect(path) as database:
        database.execute("create table things (id integer primary key, name text, is_odd integer)")
        rows = ((n, f"thing {n}, which lies on the shelf by the door", n % 2) for n in range(1, number + 1))
        database.executemany("insert into things values (?, ?, ?)", rows)
    listener = socket.create_server(("127.0.0.1", 0))
    ready(listener.getsockname()[1])
    uvicorn.Server(uvicorn.Config(Datasette([str(path)]).app(), log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    end_with_parent()
    main()
