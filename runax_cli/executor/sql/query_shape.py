"""What a SELECT computes and in which order, read from DuckDB's own serialized statement.

The checks of an answer need to know whether "lowest" is sorted ascending, whether a figure counts rows or distinct
values, and which columns conditions select by. Pure: values in, values out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Ast = Mapping[str, Any]

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_DISTINCT_FROM": "<>",
    "COMPARE_NOT_DISTINCT_FROM": "=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_BETWEEN": "between",
    "COMPARE_IN": "in",
    "COMPARE_NOT_IN": "not in",
}
_MATCHES = frozenset(
    "~~ !~~ ~~* !~~* ~~~ contains starts_with prefix suffix ends_with regexp_matches regexp_full_match list_contains "
    "array_contains list_has".split()
)
"""Functions that compare a text or a list with a constant."""
_AGGREGATES = frozenset(
    "count count_star sum avg mean median min max arg_min arg_max min_by max_by mode stddev quantile quantile_cont "
    "quantile_disc approx_count_distinct count_if countif".split()
)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of a result: its name, the aggregate that computes it ("" if none), and the columns it is made from.

    `is_distinct`: the aggregate looks at distinct values only.
    """

    name: str
    aggregate: str = ""
    of: tuple[str, ...] = ()
    is_distinct: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a column with constants; `operator` is in SQL, or the name of a function."""

    column: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """One term of ORDER BY: the columns it sorts by (output names or table columns), and its direction."""

    columns: tuple[str, ...]
    is_descending: bool


@dataclass(frozen=True, slots=True)
class QueryShape:
    """The structure of one SELECT. All names are in lower case.

    `order` and `limit` are those that decide which rows are returned first; `used_columns` are all columns that the
    statement names anywhere; `constants` are all literals of the statement.
    """

    outputs: tuple[OutputColumn, ...] = ()
    order: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    group_by: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    used_columns: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    is_distinct: bool = False


def query_shape(statement: Ast) -> QueryShape | None:
    """The shape of one serialized statement (`json_serialize_sql`); None if it could not be serialized."""
    nodes = [entry["node"] for entry in statement.get("statements", ())]
    if statement.get("error") or len(nodes) != 1:
        return None
    node = nodes[0]
    aliases, inner = _aliases(node), _inner_aggregates(node)
    ordered = next((part for part in _select_nodes(node) if _modifier(part, "ORDER_MODIFIER")), node)
    return QueryShape(
        outputs=tuple(_output(entry, aliases, inner) for entry in node.get("select_list") or ()),
        order=tuple(_order(ordered)),
        limit=_limit(ordered) if ordered is not node else _limit(node),
        group_by=tuple(dict.fromkeys(_group_by(node))),
        conditions=tuple(dict.fromkeys(_conditions(node, aliases))),
        used_columns=frozenset(name for one in _columns(node) for name in (one, *aliases.get(one, ()))),
        constants=frozenset(_constants(node)),
        is_distinct=_modifier(node, "DISTINCT_MODIFIER") is not None,
    )


def _select_nodes(node: Any) -> Iterator[Ast]:
    """All SELECT nodes, the outermost first."""
    for one in _walk(node):
        if one.get("type") in ("SELECT_NODE", "SET_OPERATION_NODE"):
            yield one


def _aliases(node: Ast) -> dict[str, tuple[str, ...]]:
    """The columns behind each alias of any SELECT of the statement."""
    found: dict[str, tuple[str, ...]] = {}
    for select in _select_nodes(node):
        for entry in select.get("select_list") or ():
            if alias := str(entry.get("alias") or "").casefold():
                found[alias] = tuple(dict.fromkeys((*found.get(alias, ()), *_columns(entry))))
    return found


def _output(entry: Ast, aliases: Mapping[str, Sequence[str]], inner: Mapping[str, Sequence[Ast]]) -> OutputColumn:
    """An output column; one that names a column of a CTE or subquery has the aggregate of that column."""
    aggregate = next(_aggregates(entry), None)
    columns = [name for one in _columns(entry) for name in (one, *aliases.get(one, ()))]
    if aggregate is None:
        aggregate = next((one for name in _columns(entry) for one in inner.get(name, ())), None)
    return OutputColumn(
        name=str(entry.get("alias") or next(iter(columns), "")).casefold(),
        aggregate="" if aggregate is None else _function(aggregate),
        of=tuple(dict.fromkeys(columns)),
        is_distinct=bool(aggregate and aggregate.get("distinct")),
    )


def _aggregates(node: Any) -> Iterator[Ast]:
    return (one for one in _walk(node) if one.get("class") in ("FUNCTION", "WINDOW") and _function(one) in _AGGREGATES)


def _inner_aggregates(node: Ast) -> dict[str, list[Ast]]:
    """The aggregates behind each alias of an inner SELECT."""
    found: dict[str, list[Ast]] = {}
    for select in _select_nodes(node):
        for entry in select.get("select_list") or () if select is not node else ():
            if alias := str(entry.get("alias") or "").casefold():
                found.setdefault(alias, []).extend(_aggregates(entry))
    return found


def _order(node: Ast) -> Iterator[OrderTerm]:
    names = [
        (str(entry.get("alias") or "").casefold(), tuple(_columns(entry))) for entry in node.get("select_list") or ()
    ]
    for term in (_modifier(node, "ORDER_MODIFIER") or {}).get("orders") or ():
        columns = tuple(_columns(term.get("expression")))
        position = _integer(term.get("expression"))
        if not columns and position is not None and 0 < position <= len(names):
            alias, of = names[position - 1]
            columns = (alias, *of) if alias else of
        yield OrderTerm(columns, is_descending=term.get("type") == "DESCENDING")


def _limit(node: Ast) -> int | None:
    return _integer((_modifier(node, "LIMIT_MODIFIER") or {}).get("limit"))


def _modifier(node: Ast, kind: str) -> Ast | None:
    return next((one for one in node.get("modifiers") or () if one.get("type") == kind), None)


def _group_by(node: Ast) -> Iterator[str]:
    for select in _select_nodes(node):
        outputs = select.get("select_list") or ()
        for one in select.get("group_expressions") or ():
            position = _integer(one)
            yield from _columns(outputs[position - 1] if position and 0 < position <= len(outputs) else one)
        if select.get("aggregate_handling") == "FORCE_AGGREGATES":
            yield from (name for entry in outputs if not any(_aggregates(entry)) for name in _columns(entry))


def _conditions(node: Any, aliases: Mapping[str, Sequence[str]]) -> Iterator[Condition]:
    for one in _walk(node):
        kind = str(one.get("type", ""))
        operator = _COMPARISONS.get(kind)
        if operator is None and one.get("class") == "FUNCTION" and _function(one) in _MATCHES:
            operator = _function(one)
        if operator is None:
            continue
        parts = list(_children(one))
        columns = [name for part in parts for column in _columns(part) for name in (column, *aliases.get(column, ()))]
        values = tuple(value for part in parts for value in _constants(part))
        for column in dict.fromkeys(columns):
            if values:
                yield Condition(column, operator, values)


def _columns(node: Any) -> Iterator[str]:
    for one in _walk(node):
        if one.get("class") == "COLUMN_REF":
            yield str((one.get("column_names") or [""])[-1]).casefold()


def _constants(node: Any) -> Iterator[str]:
    for one in _walk(node):
        if one.get("class") == "CONSTANT" and (text := (one.get("literal") or {}).get("text")) is not None:
            yield str(text)


def _integer(node: Any) -> int | None:
    text = str(((node or {}).get("literal") or {}).get("text", "")) if isinstance(node, Mapping) else ""
    return int(text) if text.isdigit() else None


def _function(node: Ast) -> str:
    return str(node.get("function_name", "")).casefold()


def _children(node: Ast) -> Iterator[Any]:
    for value in node.values():
        yield from value if isinstance(value, list) else (value,)


def _walk(node: Any) -> Iterator[Ast]:
    """All objects of a serialized statement, from the outside in."""
    pending: list[Any] = [node]
    while pending:
        one = pending.pop(0)
        if isinstance(one, Mapping):
            yield one
            pending = [*_nested(one.values()), *pending]
        elif isinstance(one, list):
            pending = [*one, *pending]


def _nested(values: Iterable[Any]) -> Iterator[Any]:
    return (value for value in values if isinstance(value, list | Mapping))
