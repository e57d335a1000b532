"""The next move of the oracle model in a conversation: call, label, query, or answer with the computed figures.

It reads only what any model is sent: the question, earlier calls and their results, the offered tools.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.bench.script import Labelling, Script, Scripts, Step, folded
from benchmarks.questions import Fetch
from mock_api.llm_server import WireMessage, WireRequest, WireToolCall

QUERY, LABEL = "query_dataset", "label_dataset"
_LISTED = re.compile(r"(\w+) \([\d,]+ of (\w+) (\{.*?\})\)")
_VIRTUAL = ("focus", "need", "at_most")


@dataclass(frozen=True, slots=True)
class Made:
    """A finished call and its result."""

    name: str
    arguments: dict[str, Any]
    result: dict[str, Any]

    @property
    def is_answered(self) -> bool:
        """Whether the result can be used."""
        return self.result.get("status") in {"success", "partial", "empty", "duplicate_call_blocked"}


@dataclass(frozen=True, slots=True)
class Move:
    """What the model does: calls, or a text."""

    text: str = ""
    calls: tuple[WireToolCall, ...] = ()


def move_of(request: WireRequest, scripts: Scripts) -> Move:
    """The next move. To a question without a script, the answer says so."""
    at, script = _asked(request.messages, scripts)
    if script is None:
        return Move("OK" if "single word OK" in request.messages[-1].content else "I do not know this question.")
    made = tuple(_made(request.messages[at:]))
    datasets = dict(_datasets(request, made))
    moves = [_step(step, script, made, datasets, request) for step in script.steps]
    calls = tuple(call for move in moves for call in move.calls)
    if calls and request.tools:
        return Move(calls=tuple({(call.name, call.arguments): call for call in calls}.values()))
    return Move("\n\n".join(move.text for move in moves if move.text) or "This could not be computed.")


def _asked(messages: Sequence[WireMessage], scripts: Scripts) -> tuple[int, Script | None]:
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            script = scripts.get(folded(messages[at].content.partition("\n\n")[0]))
            if script is not None:
                return at, script
    return 0, None


def _made(messages: Sequence[WireMessage]) -> Iterator[Made]:
    results = {message.tool_call_id: message.content for message in messages if message.role == "tool"}
    for call in (call for message in messages for call in message.tool_calls):
        if call.id in results:
            yield Made(call.name, _object(call.arguments), _object(results[call.id]))


def _datasets(request: WireRequest, made: Sequence[Made]) -> Iterator[tuple[str, str]]:
    """Names of datasets by the call they came from: as listed by the query tool, and as named by results."""
    for tool in (tool for tool in request.tools if tool.name == QUERY):
        for name, called, arguments in _LISTED.findall(tool.description):
            yield _key(called, _object(arguments)), name
    for call in made:
        if call.is_answered and call.result.get("dataset") and call.name not in (QUERY, LABEL):
            yield _key(call.name, _bare(call.arguments)), str(call.result["dataset"])


def _step(step: Step, script: Script, made: Sequence[Made], datasets: dict[str, str], request: WireRequest) -> Move:
    missing = [fetch for fetch in step.fetches if _key(fetch.tool, fetch.arguments) not in datasets]
    if missing:
        if any(
            call.name == fetch.tool and _bare(call.arguments) == dict(fetch.arguments)
            for call in made
            for fetch in missing
        ):
            return Move("The data of this question could not be read.")
        return Move(calls=tuple(_fetching(fetch, script.text, request) for fetch in missing))
    tables = [datasets[_key(fetch.tool, fetch.arguments)] for fetch in step.fetches]
    labels = None
    if step.labelling is not None:
        labelled = _labelled(step.labelling, tables[0], made)
        if labelled is None:
            return Move(calls=(_labelling(step.labelling, tables[0]),))
        labels = str((labelled.result.get("data") or {}).get("table"))
    return _querying(step, tables, labels, made)


def _querying(step: Step, tables: Sequence[str], labels: str | None, made: Sequence[Made]) -> Move:
    asked = {str(call.arguments.get("sql")): call for call in made if call.name == QUERY}
    wrong, right = step.misspelt(tables), step.statement(tables, labels)
    if right in asked:
        return Move(answer_of(asked[right].result))
    sql = wrong if wrong is not None and wrong not in asked else right
    return Move(calls=(_call(QUERY, {"sql": sql}),))


def _fetching(fetch: Fetch, focus: str, request: WireRequest) -> WireToolCall:
    tool = next((tool for tool in request.tools if tool.name == fetch.tool), None)
    offered = {} if tool is None else tool.parameters.get("properties", {})
    virtual = {"focus": focus, "need": "compute"}
    return _call(fetch.tool, dict(fetch.arguments) | {name: said for name, said in virtual.items() if name in offered})


def _labelled(labelling: Labelling, table: str, made: Sequence[Made]) -> Made | None:
    wanted = {"dataset": table, "columns": [labelling.column], "instruction": labelling.instruction}
    calls = [call for call in made if call.name == LABEL and call.is_answered]
    return next((call for call in calls if {name: call.arguments.get(name) for name in wanted} == wanted), None)


def _labelling(labelling: Labelling, table: str) -> WireToolCall:
    given = {"dataset": table, "columns": [labelling.column], "instruction": labelling.instruction}
    return _call(LABEL, given | {"labels": list(labelling.labels)})


def answer_of(result: dict[str, Any]) -> str:
    """The rows of a result as sentences that cite it."""
    data = result.get("data")
    if not isinstance(data, dict) or "ref" not in data:
        return f"The query failed: {(result.get('error') or {}).get('message', result.get('status'))}"
    rows = list(csv.reader(io.StringIO(str(data["result"]))))[1:]
    cite = f"[{data['ref']}]"
    if len(rows) == 1:
        return f"{', '.join(rows[0])} {cite}."
    return "\n".join(f"- {', '.join(row)} {cite}" for row in rows)


def _call(name: str, arguments: dict[str, Any]) -> WireToolCall:
    return WireToolCall(name, json.dumps(arguments, ensure_ascii=False))


def _bare(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _VIRTUAL}


def _key(tool: str, arguments: Any) -> str:
    return f"{tool} {json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)}"


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
