"""The child side of `worker`: reads requests on stdin, runs one SELECT at a time, writes results to stdout.

Started as `python -m runax_cli.executor.sql.worker_main FOLDER MEMORY_LIMIT TIME_LIMIT_S ADDRESS_SPACE RESULT_BYTES`.
Frames are a length of 8 bytes (big-endian) and a pickled value; see `frames`.
"""

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import IO

from runax_cli.executor.sql.engine import QueryFailed, QueryResult, SqlEngine, too_large_message
from runax_cli.executor.sql.frames import Definition, Failed, Request, read_frame, write_frame

_CODE_FAILED = 3
_PARENT_CHECK_S = 1.0


def main(arguments: list[str]) -> int:
    """Serve until stdin ends. `arguments` are those of the module docstring; byte limits are integers, 0 is none."""
    folder, memory_limit, time_limit_s, address_space, result_bytes = arguments
    requests, replies = sys.stdin.buffer, _private_stdout()
    _limit_address_space(int(address_space))
    # Stored results are readable by the user only.
    os.umask(0o077)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    engine = SqlEngine(Path(folder), time_limit_s=float(time_limit_s), memory_limit=memory_limit)
    while (request := read_frame(requests)) is not None:
        if isinstance(request, Definition):
            engine.define(request.tables)
            write_frame(replies, "defined")
        elif isinstance(request, Request):
            _answer(engine, request, replies, result_bytes=int(result_bytes))
        else:
            return _CODE_FAILED
    return 0


def _answer(engine: SqlEngine, request: Request, replies: IO[bytes], *, result_bytes: int) -> None:
    try:
        reply: QueryResult | Failed = engine.select(request.sql, max_rows=request.max_rows, store=request.store)
    except QueryFailed as error:
        reply = Failed(str(error))
    except MemoryError:
        reply = Failed("the statement needs more memory than a query may use. Filter or group earlier.")
    while not write_frame(replies, reply, max_bytes=result_bytes):
        # Of a stored result, fewer rows are enough: all of them are in the file.
        if isinstance(reply, QueryResult) and reply.is_stored and reply.rows:
            reply = replace(reply, rows=reply.rows[: len(reply.rows) // 2])
        else:
            reply = Failed(too_large_message(result_bytes))


def _private_stdout() -> IO[bytes]:
    """The pipe to the parent; whatever a library prints goes to stderr instead."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies


def _end_with_parent(parent: int) -> None:
    """A parent that is killed closes stdin, which a statement that runs does not read."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(_CODE_FAILED)


def _limit_address_space(n_bytes: int) -> None:
    """DuckDB's memory limit does not cover every allocation of its functions; the kernel's limit does."""
    if not n_bytes or sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
