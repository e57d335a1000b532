"""Recall and precision of the detection in third-party documents, over labels that no detector made.

The labels of `labels.yaml` were written by reading each operation, before detection was run on it. Documents and
services are halved by the order of their names: the first half was visible while the rules were written, the second was
examined when they were done. Each half has to reach the target separately.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml

from adapters.base import PaginationStyle
from adapters.pagination import declared_pagination, detect
from tests.contract.detection import documents, services
from tests.contract.detection.corpus import PRECISION, RECALL, Case, Score, score

HERE = Path(__file__).parent
LABELS: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "labels.yaml").read_text(encoding="utf-8"))
FILES = sorted(LABELS)
HALVES = {"open": FILES[0::2], "held out": FILES[1::2]}
DATADOG = "datadog_v1.yaml"
ANNOTATION = "x-pagination"


def labelled(files: Iterable[str]) -> Iterator[Case]:
    for file in files:
        root = documents.document(file)
        for label in LABELS[file]:
            method, path = label["operation"].split(" ", 1)
            yield Case(
                name=f"{file} {label['operation']}",
                parameters=documents.parameters(root, method, path),
                response=documents.response(root, method, path),
                description=str(documents.operation(root, method, path).get("description") or ""),
                is_paged="conventions" in label,
                conventions=tuple(label.get("conventions", ())),
                positions=tuple(label.get("positions", ())),
                size=label.get("size"),
            )


def datadog() -> Iterator[Case]:
    """Every operation, without its annotation."""
    root = documents.document(DATADOG)
    truth = {one["operation"]: one for one in yaml.safe_load((HERE / "datadog.yaml").read_text(encoding="utf-8"))}
    for method, path in documents.operations(root):
        label = truth.pop(f"{method} {path}", None)
        yield Case(
            name=f"{method} {path}",
            parameters=documents.parameters(root, method, path),
            response=documents.response(root, method, path),
            description=str(documents.operation(root, method, path).get("description") or ""),
            is_paged=label is not None,
            positions=(label["position"],) if label else (),
            size=label["size"] if label else None,
        )
    assert not truth, "labels of operations that the document does not have"


def reached(total: Score, corpus: str) -> None:
    print(total.line(corpus))  # noqa: T201 - the figures are what the test is for
    assert total.recall >= RECALL, f"missed: {total.missed}"
    assert total.precision >= PRECISION, f"taken for paged: {total.invented}"


def share_right(total: Score) -> float:
    return 1 - len(total.wrong) / max(1, total.right)


@pytest.mark.parametrize("half", HALVES)
def test_paged_operations_of_real_documents_are_found(half: str) -> None:
    total = score(labelled(HALVES[half]))
    reached(total, f"labeled operations, {half}")
    assert share_right(total) >= RECALL, total.wrong


def test_there_are_enough_labels_and_each_has_its_reason() -> None:
    every = [label for labels in LABELS.values() for label in labels]
    paged = [label for label in every if "conventions" in label]
    assert len(every) >= 300
    assert len(paged) >= 100
    assert all(label["reason"] for label in every)
    assert {one for label in paged for one in label["conventions"]} <= set(PaginationStyle)


def test_labelled_operations_exist_in_their_documents() -> None:
    for file, labels in LABELS.items():
        known = {f"{method} {path}" for method, path in documents.operations(documents.document(file))}
        assert {label["operation"] for label in labels} <= known, file


def test_paged_operations_are_found_with_their_annotations_hidden() -> None:
    total = score(datadog())
    reached(total, "Datadog, annotations hidden")
    assert share_right(total) >= PRECISION, total.wrong


def test_annotations_say_what_detection_finds_without_them() -> None:
    root = documents.document(DATADOG)
    count = 0
    for method, path in documents.operations(root):
        own = documents.operation(root, method, path)
        said = declared_pagination({ANNOTATION: own.get(ANNOTATION)}, documents.parameters(root, method, path))
        assert (said is not None) == (ANNOTATION in own), f"{method} {path}"
        if said is not None:
            found = detect(documents.parameters(root, method, path), response=documents.response(root, method, path))
            assert (said.convention, said.position, said.size) == (found.convention, found.position, found.size)
            assert said.is_declared
            count += 1
    assert count == 6


def half_of_services(*, is_open: bool) -> dict[str, Any]:
    return {name: pair for name, pair in services.services().items() if (crc32(name.encode()) % 2 == 0) is is_open}


@pytest.mark.parametrize("half", HALVES)
def test_paginators_of_botocore_are_found(half: str) -> None:
    total = score(services.cases(half_of_services(is_open=half == "open")))
    reached(total, f"botocore, {half}")
    assert total.right > 1000
    assert share_right(total) >= RECALL, total.wrong[:40]


def test_detection_that_sees_names_only_is_worse() -> None:
    """The measure can fail: without words and responses, it does."""
    files: Sequence[str] = FILES
    bare = [
        Case(
            name=case.name,
            parameters={name: {"type": "string"} for name in case.parameters},
            is_paged=case.is_paged,
            conventions=case.conventions,
        )
        for case in labelled(files)
    ]
    assert score(bare).recall < RECALL
