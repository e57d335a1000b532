"""The run journal: runs, their work and their spend in one SQLite file that survives a crash.

An entry (step, page, reduction, label) is keyed by a hash of its content. It is written twice: `start_entry`, with the
reserved tokens, before its request is sent, and `finish_entry`, with its result, afterwards. An entry that was started
and not finished may have been billed.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runax_cli.core.errors import StoreError, UsageError
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.models.base import Role, Usage
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK

SCHEMA_VERSION = 1
BUSY_TIMEOUT_S = 10.0
MASK = "***"
_MIN_SECRET_CHARS = 4
_IN_MEMORY = ":memory:"
_END_OF_TIME = "9999"
"""Sorts after every ISO timestamp."""
_SCHEMA = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, question TEXT NOT NULL, settings TEXT NOT NULL,
    started_at TEXT NOT NULL, finished_at TEXT, status TEXT, exit_code INTEGER, result TEXT
) STRICT;
CREATE INDEX runs_by_start ON runs (started_at);
CREATE TABLE units (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, run_id TEXT NOT NULL, reserved_tokens INTEGER NOT NULL,
    started_at TEXT NOT NULL, done_at TEXT, payload BLOB, checksum BLOB
) STRICT;
CREATE INDEX units_by_run ON units (run_id);
CREATE TABLE spend (
    run_id TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cost_usd REAL, at TEXT NOT NULL
) STRICT;
CREATE INDEX spend_by_run ON spend (run_id);
"""
_KEYS_PER_QUERY = 500
_CLOCK_SKEW = timedelta(minutes=1)
_IS_VALID = "payload IS NOT NULL AND ((run_id=? AND done_at>=started_at) OR done_at BETWEEN ? AND ?)"
"""Valid results: those that the run stored since it last started them, and those of other runs in a time range."""
_STORE = (
    "INSERT INTO units (key, kind, run_id, reserved_tokens, started_at, done_at, payload, checksum) "
    "VALUES (?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET run_id=excluded.run_id, "
    "done_at=max(excluded.done_at, started_at), payload=excluded.payload, checksum=excluded.checksum"
)


class EntryKind(StrEnum):
    """The kind of an entry."""

    STEP = "step"
    PAGE = "page"
    REDUCTION = "reduction"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run in the journal. A run without `finished_at` is still running, or its process died."""

    run_id: str
    session_id: str
    question: str
    settings: Mapping[str, Any]
    started_at: datetime
    finished_at: datetime | None = None
    status: RunStatus | None = None
    exit_code: int | None = None
    result: RunResult | None = None


@dataclass(frozen=True, slots=True)
class UnfinishedEntry:
    """An entry that was started and has no result; its request may have been billed."""

    kind: EntryKind
    reserved_tokens: int


@dataclass(frozen=True, slots=True)
class RoleSpend:
    """The usage of one role in a run; `cost_usd` is None if a price is unknown."""

    role: Role
    usage: Usage
    requests: int
    cost_usd: float | None


class Journal:
    """One journal file. Every write is one transaction and on disk when the method returns. Thread-safe.

    Every method raises StoreError if the disk is full or read-only or the file is damaged.
    """

    def __init__(
        self, connection: sqlite3.Connection, *, path: str, secrets: Iterable[str] = (), is_isolated: bool = False
    ) -> None:
        self._connection = connection
        self._is_isolated = is_isolated
        self._secrets = _spellings(secrets)
        self._lock = threading.Lock()
        self.path = path

    @classmethod
    def open(cls, path: Path | str, *, secrets: Iterable[str] = (), is_isolated: bool = False) -> "Journal":
        """Open or create the file (mode 0600, its folder 0700); ":memory:" keeps it in memory.

        `secrets` are masked in everything that is written: a model or a source may echo one. With `is_isolated`, a run
        does not find results of other runs.
        """
        name = str(path)
        with _sqlite_errors_as_store_error(name):
            if name != _IN_MEMORY:
                _create_private(Path(name))
            connection = sqlite3.connect(
                name, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            try:
                _prepare(connection, path=name)
            except BaseException:
                connection.close()
                raise
        return cls(connection, path=name, secrets=secrets, is_isolated=is_isolated)

    def begin_run(
        self, run_id: str, session_id: str, *, question: str, settings: Mapping[str, Any], started_at: datetime
    ) -> None:
        """Record the start of a run. `settings` must not contain secrets."""
        settings_json = json.dumps(dict(settings), ensure_ascii=False)
        row = (run_id, session_id, self._masked(question), self._masked(settings_json), started_at.isoformat())
        self._write("INSERT INTO runs (run_id, session_id, question, settings, started_at) VALUES (?, ?, ?, ?, ?)", row)

    def finish_run(self, result: RunResult) -> None:
        """Record the result of a run."""
        row = (_now(), result.status.value, result.exit_code, self._masked(result.model_dump_json()), result.run_id)
        self._write("UPDATE runs SET finished_at=?, status=?, exit_code=?, result=? WHERE run_id=?", row)

    def reopen_run(self, run_id: str) -> None:
        """Record that a run continues that had ended or whose process had died."""
        self._write("UPDATE runs SET finished_at=NULL, status=NULL, exit_code=NULL WHERE run_id=?", (run_id,))

    def earlier_runs(self, run: StoredRun) -> tuple[StoredRun, ...]:
        """Runs of the same session that started before `run`, oldest first."""
        rows = self._read(
            "SELECT * FROM runs WHERE session_id=? AND started_at<? ORDER BY started_at, rowid",
            (run.session_id, run.started_at.isoformat()),
        )
        return tuple(_stored_run(row) for row in rows)

    def latest_runs(self, limit: int) -> tuple[StoredRun, ...]:
        """The latest runs, newest first, each with its result."""
        rows = self._read("SELECT * FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?", (limit,))
        return tuple(_stored_run(row) for row in rows)

    def find_run(self, id_prefix: str) -> StoredRun | None:
        """The run whose id starts with `id_prefix`. Raises UsageError if several do and none is equal to it."""
        rows = self._read("SELECT * FROM runs WHERE substr(run_id, 1, ?) = ?", (len(id_prefix), id_prefix))
        runs = [_stored_run(row) for row in rows]
        exact = [run for run in runs if run.run_id == id_prefix]
        if len(runs) > 1 and not exact:
            named = ", ".join(f"'{run.run_id}'" for run in runs[:5])
            raise UsageError(
                f"the run id '{id_prefix}' is ambiguous: it matches {len(runs)} runs ({named}). Give more characters."
            )
        return next(iter(exact or runs), None)

    def start_entry(self, key: str, kind: EntryKind, run_id: str, *, reserved_tokens: int = 0) -> None:
        """Record the start of an entry. An older result under the same key is kept until it is replaced."""
        self._write(
            "INSERT INTO units (key, kind, run_id, reserved_tokens, started_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET run_id=excluded.run_id, reserved_tokens=excluded.reserved_tokens, "
            "started_at=excluded.started_at",
            (key, kind.value, run_id, reserved_tokens, _now()),
        )

    def finish_entry(self, key: str, payload: bytes) -> None:
        """Store the result of a started entry. Raises ValueError if it was not started."""
        payload = self._masked_bytes(payload)
        row = (_now(), payload, hashlib.sha256(payload).digest(), key)
        if self._write("UPDATE units SET done_at=max(?, started_at), payload=?, checksum=? WHERE key=?", row) == 0:
            raise ValueError(f"the entry '{key}' was not started")

    def discard_entry(self, key: str, run_id: str) -> None:
        """Remove an entry that a run started and that failed; an older result is kept, without an owner."""
        self._write("DELETE FROM units WHERE key=? AND run_id=? AND payload IS NULL", (key, run_id))
        statement = "UPDATE units SET run_id='', started_at=done_at WHERE key=? AND run_id=? AND done_at<started_at"
        self._write(statement, (key, run_id))

    def was_started(self, key: str, run_id: str) -> bool:
        """Whether a run started this entry and has no result for it."""
        rows = self._read("SELECT 1 FROM units WHERE key=? AND run_id=? AND payload IS NULL", (key, run_id))
        return bool(rows)

    def unfinished_entries(self, run_id: str) -> tuple[UnfinishedEntry, ...]:
        """Entries of a run that were started and have no result."""
        statement = "SELECT kind, reserved_tokens FROM units WHERE run_id=? AND (payload IS NULL OR done_at<started_at)"
        return tuple(UnfinishedEntry(EntryKind(kind), tokens) for kind, tokens in self._read(statement, (run_id,)))

    def spend_by_role(self, run_id: str) -> tuple[RoleSpend, ...]:
        """The usage of a run so far, by role."""
        statement = (
            "SELECT role, sum(input_tokens), sum(output_tokens), count(*), "
            "CASE WHEN count(cost_usd)=count(*) THEN sum(cost_usd) END FROM spend WHERE run_id=? GROUP BY role"
        )
        rows = self._read(statement, (run_id,))
        return tuple(RoleSpend(Role(role), Usage(into, out), n, cost) for role, into, out, n, cost in rows)

    def update_entry(self, key: str, payload: bytes) -> None:
        """Replace the result of a finished entry and keep its age, for a pointer to data that moved."""
        payload = self._masked_bytes(payload)
        row = (payload, hashlib.sha256(payload).digest(), key)
        self._write("UPDATE units SET payload=?, checksum=? WHERE key=? AND payload IS NOT NULL", row)

    def get(self, key: str, *, run_id: str = "", max_age_s: float | None = None) -> bytes | None:
        """The result of an entry; None if it is missing, unfinished or damaged (wrong checksum).

        A result older than `max_age_s` seconds is valid only for the run that stored it, `run_id`. So is one from the
        future: its age is unknown, because the clock was set back since.
        """
        statement = f"SELECT payload, checksum FROM units WHERE key=? AND {_IS_VALID}"  # noqa: S608
        rows = self._read(statement, (key, run_id, *self._valid_range(max_age_s)))
        for payload, checksum in rows:
            if hashlib.sha256(payload).digest() == checksum:
                return bytes(payload)
        return None

    def get_all(self, keys: Sequence[str], *, run_id: str = "") -> dict[str, bytes]:
        """The results of many entries by key, without missing, unfinished and damaged ones."""
        between = self._valid_range(None)
        found: dict[str, bytes] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            some = tuple(keys[start : start + _KEYS_PER_QUERY])
            marks = ",".join("?" * len(some))
            statement = f"SELECT key, payload, checksum FROM units WHERE {_IS_VALID} AND key IN ({marks})"  # noqa: S608
            for key, payload, checksum in self._read(statement, (run_id, *between, *some)):
                if hashlib.sha256(payload).digest() == checksum:
                    found[key] = bytes(payload)
        return found

    def store_entries(self, kind: EntryKind, run_id: str, entries: Mapping[str, bytes]) -> None:
        """Store many finished entries in one transaction."""
        now = _now()
        masked = {key: self._masked_bytes(payload) for key, payload in entries.items()}
        rows = [
            (key, kind.value, run_id, now, now, payload, hashlib.sha256(payload).digest())
            for key, payload in masked.items()
        ]
        with self._lock, _sqlite_errors_as_store_error(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_STORE, rows)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def record_spend(self, run_id: str, role: Role, *, model: str, usage: Usage, cost_usd: float | None) -> None:
        """Record the usage of one model request; `cost_usd` is None if the price is unknown."""
        row = (run_id, role.value, model, usage.input_tokens, usage.output_tokens, cost_usd, _now())
        self._write("INSERT INTO spend VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file. A second call changes nothing."""
        with self._lock, _sqlite_errors_as_store_error(self.path):
            self._connection.close()

    def _valid_range(self, max_age_s: float | None) -> tuple[str, str]:
        """The time range in which results of other runs are valid."""
        if self._is_isolated:
            return _END_OF_TIME, _END_OF_TIME
        if max_age_s is None:
            return "", _END_OF_TIME
        now = datetime.now(UTC)
        return (now - timedelta(seconds=max_age_s)).isoformat(), (now + _CLOCK_SKEW).isoformat()

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return CREDENTIAL_MASK.text(text)

    def _masked_bytes(self, payload: bytes) -> bytes:
        for secret in self._secrets:
            payload = payload.replace(secret.encode(), MASK.encode())
        return payload

    def _write(self, statement: str, row: tuple[Any, ...]) -> int:
        with self._lock, _sqlite_errors_as_store_error(self.path):
            return self._connection.execute(statement, row).rowcount

    def _read(self, statement: str, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._lock, _sqlite_errors_as_store_error(self.path):
            return self._connection.execute(statement, row).fetchall()


class MemoryJournal(Journal):
    """A journal in memory, for tests and for runs that store nothing."""

    def __init__(self, path: str = _IN_MEMORY) -> None:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        _prepare(connection, path=path)
        super().__init__(connection, path=path)


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Each secret in plain and JSON spelling, longest first; short ones are left out, as they would mask words."""
    long = [secret for secret in secrets if len(secret) >= _MIN_SECRET_CHARS]
    spelled = {spelling for secret in long for spelling in (secret, json.dumps(secret)[1:-1])}
    return tuple(sorted(spelled, key=len, reverse=True))


def _stored_run(row: tuple[Any, ...]) -> StoredRun:
    run_id, session_id, question, settings, started_at, finished_at, status, exit_code, result = row
    return StoredRun(
        run_id=run_id,
        session_id=session_id,
        question=question,
        settings=json.loads(settings),
        started_at=datetime.fromisoformat(started_at),
        finished_at=datetime.fromisoformat(finished_at) if finished_at else None,
        status=RunStatus(status) if status else None,
        exit_code=exit_code,
        result=_readable_result(result),
    )


def _readable_result(text: str | None) -> RunResult | None:
    """The stored result, None if another version of runax wrote it in a format that this version cannot read."""
    if text is None:
        return None
    try:
        return RunResult.model_validate_json(text)
    except ValidationError:
        return None


def _create_private(path: Path) -> None:
    """Create the file with mode 0600 before SQLite opens it: the WAL file inherits its mode."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _prepare(connection: sqlite3.Connection, *, path: str) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection, path=path)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _migrate(connection: sqlite3.Connection, *, path: str) -> None:
    """Create the tables in an empty file; in a transaction, so that two processes do not both do it."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    elif version != SCHEMA_VERSION:
        raise StoreError(
            f"the journal '{path}' has schema version {version}, but this runax supports version {SCHEMA_VERSION}. Use "
            "the runax that wrote it, or move the file away to start a new one.",
            path=path,
        )


@contextmanager
def _sqlite_errors_as_store_error(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"cannot read or write the journal '{path}': {error}. Free disk space, make the folder writable, or move "
            "the file away to start a new one.",
            path=path,
        ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat()
