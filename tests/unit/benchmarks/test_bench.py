"""The bench: which answers are right, the oracle model, the error of its labels, and the texts of claims."""

import json
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.bench.claims import all_right, at_most
from benchmarks.bench.judged import Gold, fault_of, golds_of
from benchmarks.bench.knowing import Knowing
from benchmarks.bench.meaning import RAREST, Chance, as_far_together, simulated
from benchmarks.bench.moves import answer_of, move_of
from benchmarks.bench.plain_way import Measured, fewer
from benchmarks.bench.script import folded, scripts_of, with_wrong_columns
from benchmarks.bench.truth import Truth, shown
from benchmarks.questions import COMPOUNDS, EXACT, World
from mock_api.llm_server import WireMessage, WireRequest, WireTool, WireToolCall
from runax_cli.commands.bench import exit_code
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import Evidence, EvidenceKind, RunResult, RunStatus, SqlResult, SubQuestionReport

FEW = World(event_count=1000, shared=Path("nowhere"))
ACTIVE = next(question for question in EXACT if question.id == "customers-active")
JOIN = next(question for question in EXACT if question.id == "tickets-from-brno")
SCRIPTS = scripts_of([*EXACT, *COMPOUNDS])
LIST = WireTool("list_customers", "Customers.", {"properties": {"status": {}, "focus": {}, "need": {}}})
INSTRUCTION = "Which colour?"
LABELS = ("red", "green", "blue")


def result(answer: str, *, rows: tuple[tuple[object, ...], ...] = ((443,),), exact: bool = True) -> RunResult:
    query = SqlResult(id="q1", sql="SELECT 1", columns=("n",), rows=rows, n_rows=len(rows))
    entry = Evidence(statement=answer, kind=EvidenceKind.SQL, exact=exact, verified=True, queries=(query,))
    return RunResult(
        run_id="r",
        session_id="s",
        status=RunStatus.COMPLETE,
        exit_code=0,
        question="?",
        answer=answer,
        evidence=(entry,),
    )


def test_an_answer_with_the_figure_and_its_rows_is_right() -> None:
    assert fault_of(golds_of(ACTIVE, FEW), result("443 [q1].")) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        result("442 [q1]."),
        result("443 [q1].", rows=((442,),)),
        result("443 [q1].", exact=False),
        result("443 [q1].").model_copy(update={"exit_code": 7}),
        result("443").model_copy(update={"evidence": ()}),
    ],
)
def test_a_wrong_figure_other_rows_no_proof_and_a_bad_end_are_wrong(wrong: RunResult) -> None:
    assert fault_of(golds_of(ACTIVE, FEW), wrong) != ""


def test_a_part_is_right_by_its_own_answer_only() -> None:
    golds = (Gold(443, is_ranked=False), Gold(443, is_ranked=False))
    parts = tuple(SubQuestionReport(question=q, answer=a) for q, a in (("a", "443 [q1]"), ("b", "nothing")))
    assert fault_of(golds, result("443").model_copy(update={"sub_questions": parts})).startswith("part 2")


def asked(*messages: WireMessage, tools: tuple[WireTool, ...] = (LIST,)) -> WireRequest:
    question = WireMessage("user", f"{ACTIVE.text}\n\nA good answer contains: a figure")
    return WireRequest(role="agent", model="m", messages=(WireMessage("system", "s"), question, *messages), tools=tools)


def said(call: WireToolCall, envelope: object) -> tuple[WireMessage, WireMessage]:
    called = replace(call, id=call.name)
    result = WireMessage("tool", json.dumps(envelope), tool_call_id=call.name)
    return WireMessage("assistant", "", (called,)), result


def test_the_knowing_model_calls_queries_and_answers_by_what_it_is_shown() -> None:
    (call,) = move_of(asked(), SCRIPTS).calls
    assert (call.name, json.loads(call.arguments)) == ("list_customers", {"focus": ACTIVE.text, "need": "compute"})
    fetched = said(call, {"status": "success", "dataset": "customers_7"})
    (query,) = move_of(asked(*fetched), SCRIPTS).calls
    assert json.loads(query.arguments)["sql"] == ACTIVE.statement("customers_7")
    found = said(query, {"status": "success", "data": {"ref": "q3", "rows": 1, "result": "n\n443"}})
    assert move_of(asked(*fetched, *found), SCRIPTS).text == "443 [q3]."


def test_a_dataset_that_the_tools_list_is_not_fetched_again() -> None:
    listed = WireTool("query_dataset", "Compute. Datasets: customers_2 (500 of list_customers {})", {})
    (call,) = move_of(asked(tools=(LIST, listed)), SCRIPTS).calls
    assert "customers_2" in json.loads(call.arguments)["sql"]


def test_data_that_could_not_be_read_is_not_asked_for_for_ever() -> None:
    (call,) = move_of(asked(), SCRIPTS).calls
    move = move_of(asked(*said(call, {"status": "error"})), SCRIPTS)
    assert (move.calls, move.text) == ((), "The data of this question could not be read.")


def test_a_wrong_column_is_tried_first_and_only_once() -> None:
    scripts = with_wrong_columns(SCRIPTS, [ACTIVE], FEW)
    step = scripts[folded(ACTIVE.text)].steps[0]
    wrong = step.misspelt(["customers_1"])
    assert wrong is not None
    assert wrong.replace("statusx", "status") == step.statement(["customers_1"]) != wrong


def test_every_row_of_an_answer_cites_its_query() -> None:
    text = answer_of({"data": {"ref": "q2", "result": 'name,n\n"Baláž, Tomáš",4\nŠmíd,3'}})
    assert text.splitlines() == ["- Baláž, Tomáš, 4 [q2]", "- Šmíd, 3 [q2]"]


async def test_the_planner_takes_a_compound_apart_and_leaves_a_single_question_whole() -> None:
    knowing = Knowing(scripts=SCRIPTS, truth=Truth(labels={}, allowed={}))
    for question, parts in ((COMPOUNDS[0].text, [p.text for p in COMPOUNDS[0].parts]), (JOIN.text, [JOIN.text])):
        user = WireMessage("user", f"QUESTION:\n{question}")
        reply = await knowing.answer(WireRequest(role="planner", model="m", messages=(user,)))
        assert [part["question"] for part in json.loads(reply.text)["parts"]] == parts
        assert reply.input_tokens


def labelled(truth: Truth, n: int) -> list[str]:
    texts = "\n".join(f"[{i}] {shown(f'text {i}')}" for i in range(1, n + 1))
    request = f"INSTRUCTION:\n{INSTRUCTION}\n\nFIELDS:\nlabel: x\n\n<texts>\n{texts}\n</texts>"
    return [entry["label"] for entry in json.loads(truth.reply(request))["labels"]]


def truth(p: float, *, seed: int = 1) -> Truth:
    known = {shown(f"text {i}"): "red" for i in range(1, 1001)}
    return Truth(labels={INSTRUCTION: known}, allowed={INSTRUCTION: LABELS}, p=p, seed=seed)


def test_labels_are_wrong_as_often_as_they_should_be_and_the_same_for_the_same_seed() -> None:
    counts = Counter(labelled(truth(0.9), 1000))
    assert 870 < counts["red"] < 930
    assert counts["green"] > 20 < counts["blue"]
    assert labelled(truth(0.9), 1000) == labelled(truth(0.9), 1000) != labelled(truth(0.9, seed=2), 1000)
    assert set(labelled(truth(1.0), 1000)) == {"red"}


def test_a_second_reading_is_drawn_anew_and_what_was_said_first_is_kept() -> None:
    twice = truth(0.5)
    first, second = labelled(twice, 200), labelled(twice, 200)
    assert first != second
    assert [twice.given[(INSTRUCTION, f"text {i}")] for i in range(1, 201)] == first


def test_the_plain_way_grows_with_the_records_and_merges_in_a_tree() -> None:
    page = Measured(records_a_page=100, page_tokens=20_000, prose_tokens=200, page_seconds=0.5, effective=32_768)
    assert page.cost(100) == (2, 20_600, 1.0)
    requests, tokens, _ = page.cost(1_000_000)
    assert (requests, tokens > 10_000 * 20_200) == (10_000 + 82 + 1, True)
    assert fewer(5_000, 250_000) == 98.0


def test_a_claim_tells_its_figures_and_whether_it_holds() -> None:
    assert (all_right("exact", [True, False]).text, all_right("exact", [True, False]).holds) == ("exact: 1 of 2", False)
    assert all_right("exact", []).holds is None
    assert at_most("a question", [4000, 5001], 5000).mark == "MISSED"
    assert at_most("a question", [4000, 5000], 5000).mark == "reached"


def test_the_exit_code_is_that_of_the_claims() -> None:
    assert exit_code([True, None]) is ExitCode.COMPLETE
    assert exit_code([True, False]) is ExitCode.SMOKE_FAILED
    assert exit_code([None]) is exit_code([]) is ExitCode.SMOKE_INCONCLUSIVE


WEIGHTS = {f"text {i}": 2 for i in range(500)}
RIGHT = {f"text {i}": LABELS[i % 2] for i in range(500)}


def chance(answered: dict[str, int] | None) -> Chance:
    drawn = simulated(WEIGHTS, RIGHT, LABELS, p=0.9, seed=1)
    true, given = {"red": 500, "green": 500, "blue": 0}, {"red": 478, "green": 474, "blue": 48}
    return Chance(task="t", true=true, given=given, answered=answered, simulated=drawn)


def test_simulated_counts_are_around_what_chance_leads_to() -> None:
    drawn = simulated(WEIGHTS, RIGHT, LABELS, p=0.9, seed=1)
    assert abs(statistics.fmean(counts["red"] for counts in drawn) - (0.9 * 500 + 0.05 * 500)) < 3
    assert abs(statistics.fmean(counts["blue"] for counts in drawn) - 0.1 * 0.5 * 1000) < 3
    assert {sum(counts.values()) for counts in drawn} == {1000}


def test_counts_that_chance_explains_are_told_from_others() -> None:
    likely, unlikely = chance({"red": 478, "green": 474, "blue": 48}), chance({"red": 378, "green": 474, "blue": 148})
    assert likely.as_far > 0.2 > RAREST > unlikely.as_far == chance(None).as_far == 0
    assert as_far_together([likely, likely]) > RAREST > as_far_together([likely, unlikely])
    assert as_far_together([likely, chance(None)]) == 0
    assert (likely.is_as_given, unlikely.is_as_given, chance(None).is_as_given) == (True, False, False)
    assert (likely.error, unlikely.error) == (48, 148)
