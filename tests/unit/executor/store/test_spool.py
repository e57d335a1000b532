"""The spool under load and on a failing disk: it holds whole pages or none."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runax_cli.core.errors import StoreError
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store import spool as module
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.executor.store.spool import Spool


def lines(page: int, n: int) -> list[bytes]:
    return [json.dumps({"page": page, "n": number, "pad": "x" * (number * 37 % 500)}).encode() for number in range(n)]


def test_pages_written_from_many_threads_are_complete(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda page: spool.write(page, lines(page, page % 9), position=str(page)), range(200)))
    assert spool.n_records == sum(page % 9 for page in range(200))
    for page in range(200):
        assert list(spool.lines(page)) == lines(page, page % 9)
    entries = [json.loads(line) for line in (tmp_path / "manifest.jsonl").read_text().splitlines()]
    assert sorted(entry["index"] for entry in entries) == list(range(200))
    assert spool.path.stat().st_size == spool.n_bytes == sum(entry["n_bytes"] for entry in entries)


def failing_after(monkeypatch: pytest.MonkeyPatch, n_bytes: int, *, into: str) -> None:
    """Let files named `into` take `n_bytes` more; every other one takes all."""
    left = n_bytes
    inner_open, inner_write = os.open, os.write
    opened: dict[int, str] = {}

    def noted(path: Any, *given_: Any) -> int:
        descriptor = inner_open(path, *given_)
        opened[descriptor] = str(path)
        return descriptor

    def limited(descriptor: int, body: Any) -> int:
        nonlocal left
        if not opened.get(descriptor, "").endswith(into):
            return inner_write(descriptor, body)
        if left == 0:
            raise OSError(28, "No space left on device")
        taken = inner_write(descriptor, bytes(body)[:left])
        left -= taken
        return taken

    monkeypatch.setattr(module.os, "open", noted)
    monkeypatch.setattr(module.os, "write", limited)


def taken(dataset: Dataset, records: list[Any]) -> bool:
    """Write page 1 and return whether the disk accepted it; otherwise the error names the page."""
    try:
        dataset.add_page(1, records, position="1")
    except StoreError as error:
        return "page 2 cannot be written" not in str(error)
    return True


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples: a `tmp_path` for each takes longer than the example."""
    return tmp_path_factory.mktemp("disk")


@settings(max_examples=30, deadline=None)
@given(room=st.integers(0, 1500), into=st.sampled_from(["pages.ndjson", "manifest.jsonl"]), n=st.integers(1, 9))
def test_a_write_that_stops_half_way_leaves_whole_pages(shared_folder: Path, room: int, into: str, n: int) -> None:
    dataset = DatasetStore(shared_folder).create("items")
    records = [[{"page": page, "n": number} for number in range(n + page)] for page in range(3)]
    dataset.add_page(0, records[0], position="0")
    with pytest.MonkeyPatch.context() as patched:
        failing_after(patched, room, into=into)
        is_written = taken(dataset, records[1])
    assert dataset.spool.path.stat().st_size == dataset.spool.n_bytes, "no torn page takes room on a full disk"
    dataset.add_page(2, records[2][:1], position="2")
    wanted = [*records[0], *(records[1] if is_written else []), *records[2][:1]]
    assert list(dataset.records()) == wanted
    assert dataset.n_records == len(wanted)
    manifest = (dataset.folder / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in manifest] == ([0, 1, 2] if is_written else [0, 2])
    assert seal(dataset).records == len(wanted)


def test_bytes_after_the_last_page_are_not_sealed(tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("items")
    dataset.add_page(0, [{"n": 1}, {"n": 2}], position="0")
    with dataset.spool.path.open("ab") as file:
        file.write(b'{"n": 3}\n{"torn')
    assert seal(dataset).records == 2


def test_a_page_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("items")
    dataset.add_page(0, [{"n": 1}, {"n": 2}], position="0")
    dataset.add_page(1, [{"n": 3}], position="1")
    dataset.add_page(0, [{"n": 1}], position="0")
    assert dataset.n_records == 2
    assert list(dataset.records()) == [{"n": 1}, {"n": 3}]
    assert seal(dataset).records == 2


@pytest.mark.parametrize("lost", [b" " * 7, b"},{null"])
def test_a_damaged_spool_is_not_sealed(tmp_path: Path, lost: bytes) -> None:
    dataset = DatasetStore(tmp_path).create("items")
    dataset.add_page(0, [{"n": 1}, {"n": 2}], position="0")
    body = dataset.spool.path.read_bytes()
    dataset.spool.path.write_bytes(lost + body[len(lost) :])
    with pytest.raises(StoreError, match="cannot be sealed"):
        seal(dataset)
    assert not dataset.is_sealed
    assert not dataset.table_path.exists()
