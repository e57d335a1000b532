"""The generated files are current, and the expectations hold for the records."""

from collections import Counter
from pathlib import Path

import orjson
import pytest

from mockdata import generate, questions
from mockdata.questions import Question, QuestionKind
from mockdata.tables import Table, tables
from runax_cli.executor.strategy import COUNTED_BY_EYE
from tests.unit.mockdata.conftest import AllRecords

TABLES = tables()
ASKED = questions.load().questions
DIRECT_TOKENS = 32_768 // 4
CHUNK_TOKENS = 32_768
# Bytes of a token lie between these for all of the data; a strategy must be the same at both ends.
FEWEST_BYTES, MOST_BYTES = 1.9, 3.6


def test_the_generated_files_are_current() -> None:
    assert generate.stale_files() == []


def test_a_changed_file_is_detected_and_rewritten(tmp_path: Path) -> None:
    generate.write(tmp_path)
    assert generate.stale_files(tmp_path) == []
    (tmp_path / "questions.yaml").write_text("questions: []")
    assert generate.stale_files(tmp_path) == ["questions.yaml"]


def test_every_kind_of_question_is_asked_and_ids_are_unique() -> None:
    assert len(ASKED) >= 12
    assert {question.kind for question in ASKED} == set(QuestionKind)
    assert Counter(question.id for question in ASKED).most_common(1)[0][1] == 1


def _table_of(question: Question) -> Table:
    return TABLES[question.expect.tool.removeprefix("list_")]


def _bytes_read(question: Question) -> int:
    """The size of the data that the question's call reads, from its figures: the records times their mean size."""
    if question.expect.tool.startswith("get_"):
        return 4_000
    table = _table_of(question)
    numbers = range(1, min(table.count, 300) + 1)
    mean = sum(len(orjson.dumps(table.record(n))) for n in numbers) / len(numbers)
    return round(mean * question.expect.records_read)


@pytest.mark.parametrize("question", ASKED, ids=lambda question: question.id)
def test_the_expected_strategy_is_unambiguous(question: Question) -> None:
    size = _bytes_read(question)
    least, most = size / MOST_BYTES, size / FEWEST_BYTES
    match question.expect.strategy:
        case "empty":
            assert size == 0
        case "direct_pass":
            assert most < DIRECT_TOKENS
        case "paginated_reduction":
            assert least > 0.85 * CHUNK_TOKENS
        case "table":
            assert question.expect.records_read > COUNTED_BY_EYE
        case None:
            assert question.expect.records_read > 0
        case other:
            pytest.fail(other)


@pytest.mark.parametrize(
    "question", [each for each in ASKED if each.kind is QuestionKind.EMPTY], ids=lambda each: each.id
)
def test_an_empty_result_expects_no_records(question: Question) -> None:
    assert (question.expect.records_read, question.expect.records_total) == (0, 0)
    assert question.expect.must_not_contain


def test_required_texts_are_in_the_records_of_the_call(all_records: AllRecords) -> None:
    for question in ASKED:
        if question.expect.tool.startswith("list_") and question.expect.min_citations:
            everything = orjson.dumps(all_records(_table_of(question).name))
            for text in question.expect.must_contain:
                assert text.encode() in everything, question.id


def test_counted_totals_are_those_of_the_records(all_records: AllRecords) -> None:
    expected = {each.id: each.expect for each in ASKED}
    own = [ticket for ticket in all_records("tickets") if ticket["customer_id"] == 4]
    still_open = [ticket for ticket in own if ticket["status"] == "open"]
    assert expected["count-tickets"].records_total == len(own) == 261
    assert expected["count-open-tickets"].must_contain == (str(len(still_open)),)
