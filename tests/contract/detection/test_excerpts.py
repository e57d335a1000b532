"""Recall and precision in documents that no rule was written for, through the source that users have."""

import asyncio
from pathlib import Path

import pytest

from adapters.base import PaginationStyle, ToolSpec
from tests.contract.detection.corpus import PRECISION, RECALL
from tests.contract.detection.excerpts import FILE, excerpts, judged, tools

HALVES = ("open", "held out")
DETAILS = 0.95


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ToolSpec]:
    folder: Path = tmp_path_factory.mktemp("excerpts")
    return asyncio.run(tools(folder))


@pytest.mark.parametrize("half", HALVES)
def test_paged_operations_of_documents_nobody_prepared_for_are_found(half: str, found: dict[str, ToolSpec]) -> None:
    result = judged(half, found)
    recall = len(result.right) / (len(result.right) + len(result.missed))
    precision = len(result.right) / (len(result.right) + len(result.invented))
    assert recall >= RECALL, result.missed
    assert precision >= PRECISION, result.invented


@pytest.mark.parametrize("half", HALVES)
def test_they_are_paged_by_the_right_arguments_from_the_right_first_page(half: str, found: dict[str, ToolSpec]) -> None:
    result = judged(half, found)
    assert 1 - len(result.wrong) / len(result.right) >= DETAILS, result.wrong


def test_each_excerpt_has_its_reason_and_each_label_a_known_convention() -> None:
    every = excerpts()
    paged = [one.paged for one in every if one.paged is not None]
    assert len(every) >= 450
    assert len(paged) >= 180
    assert all(one.reason for one in every)
    assert {name for label in paged for name in label["conventions"]} <= set(PaginationStyle)
    assert FILE.stat().st_size < 400_000
