"""Which columns of a SELECT's result come from data: read off DuckDB's own serialized statement.

A value that a model wrote into the statement is no evidence. `SELECT 987`, `max(987)`, a CTE of VALUES and
`120.0 / 300 * 100` depend on no table; `coalesce(x, 987)` may hand the literal on; `count(*) + 541` mixes a count with
a number of the model's own. Pure: values in, values out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any, TypeAlias

Ast = Mapping[str, Any]

_SCALES = frozenset(map(Decimal, ("0", "1", "-1", "2", "7", "10", "12", "24", "30", "52", "60", "100", "365", "1000")))
_LARGE_SCALES = frozenset(map(Decimal, ("1024", "1440", "3600", "86400", "1000000", "1048576", "1000000000")))
_ARITHMETIC = frozenset("+ - * / // % ** ^ add subtract multiply divide mod pow list_sum".split())
_COUNTS = frozenset({"count", "count_star", "sum", "row_number", "rank", "dense_rank", "ntile", "list", "array_agg"})
"""Functions whose value depends on the number of rows, even over a constant."""
_PARAMETRIC = re.compile(
    r"^(?:round|ceil|floor|trunc|substr\w*|left|right|lpad|rpad|split_part|string_split|regexp_\w+|date_\w+|datediff|"
    r"datepart|strftime|strptime|extract|quantile\w*|percentile\w*|to_\w+|lag|lead|nth_value|ntile|array_extract|"
    r"list_extract|list_element|concat\w*|\|\||~~\*?|!~~\*?|like_escape|replace|format|printf)$"
)
"""Functions whose numeric literals steer them and do not become part of a number."""
_PICKING = frozenset({"min", "max", "any_value", "first", "last", "arbitrary", "mode"})
_PICKING_BY = frozenset({"arg_min", "arg_max", "min_by", "max_by", "argmin", "argmax"})
"""Aggregates that return one of the values of their first argument."""
_ROW = "row"


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Where one column of a result comes from.

    `is_data`: its values depend on the rows of some table. `literals` are numbers of the statement that a value may
    simply repeat; `operands` are numbers that arithmetic mixes in, unit factors such as 60 or 100 left out. `row_of` is
    the dataset whose row numbers the values are, "" if they are anything else.
    """

    is_data: bool = False
    literals: frozenset[Decimal] = frozenset()
    operands: frozenset[Decimal] = frozenset()
    row_of: str = ""

    def __or__(self, other: "ColumnLineage") -> "ColumnLineage":
        """Of a value that both go into."""
        return ColumnLineage(
            self.is_data or other.is_data, self.literals | other.literals, self.operands | other.operands
        )


_Column: TypeAlias = tuple[str, str, ColumnLineage]
"""The name of a table, the name of one of its columns, and the lineage of that."""
_NONE = ColumnLineage()
_DATA = ColumnLineage(is_data=True)


@dataclass(frozen=True, slots=True)
class _Relation:
    """Rows that an expression may read: columns in order, by the name of the table that offers them.

    `is_open`: it may have columns that are not known by name. `rows` is the lineage of the number of rows. `merged` has
    the tables and columns that USING leaves out of `*`; they can still be named.
    """

    columns: tuple[_Column, ...] = ()
    rows: ColumnLineage = _NONE
    is_open: bool = False
    merged: frozenset[tuple[str, str]] = frozenset()

    def of(self, names: Sequence[str]) -> ColumnLineage | None:
        """The lineage of `column`, `table.column` or `column.member`; None if there is no such column."""
        wanted = [name.casefold() for name in names]
        for table, column, lineage in self.columns:
            if wanted[:2] == [table, column] or wanted[0] == column:
                is_member = len(wanted) > 1 and wanted[:2] != [table, column]
                return replace(lineage, row_of="") if is_member else lineage
        own = [lineage for table, _, lineage in self.columns if wanted[0] == table]
        if own:
            return _joined(own)
        return replace(self.rows, literals=frozenset()) if self.is_open else None


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean at one place: tables with their columns, CTEs, the relation in FROM, aliases of the SELECT."""

    tables: Mapping[str, _Relation]
    ctes: Mapping[str, _Relation] = field(default_factory=dict)
    relation: _Relation = _Relation()
    aliases: Mapping[str, ColumnLineage] = field(default_factory=dict)
    outer: "_Scope | None" = None

    def column(self, names: Sequence[str]) -> ColumnLineage:
        """The lineage of a reference; an unknown name is a member of what is in FROM."""
        found = self.relation.of(names)
        if found is None and len(names) == 1:
            found = self.aliases.get(names[0].casefold())
        if found is None and self.outer is not None:
            found = self.outer.column(names)
        return _NONE if found is None else found


def column_lineage(
    statement: Ast, tables: Mapping[str, Sequence[str]], rows_of: Mapping[str, str] | None = None
) -> tuple[ColumnLineage, ...]:
    """The lineage of each column of the result of one serialized statement (`json_serialize_sql`).

    `tables` has the columns of each table, `rows_of` the dataset that the column `row` of a table counts. Empty if the
    statement could not be serialized: then nothing is known.
    """
    nodes = [entry["node"] for entry in statement.get("statements", ())]
    if statement.get("error") or len(nodes) != 1:
        return ()
    datasets = rows_of or {}
    known = {name.casefold(): _table(columns, datasets.get(name, "")) for name, columns in tables.items()}
    return tuple(lineage for _, _, lineage in _node(nodes[0], _Scope(known)).columns)


def _table(columns: Sequence[str], dataset: str) -> _Relation:
    """A table; its first column `row` has the row numbers of `dataset`."""
    names = [column.casefold() for column in columns]
    at = names.index(_ROW) if dataset and _ROW in names else None
    lineages = (replace(_DATA, row_of=dataset) if number == at else _DATA for number in range(len(names)))
    return _Relation(
        tuple(("", name, lineage) for name, lineage in zip(names, lineages, strict=True)), _DATA, is_open=True
    )


def _node(node: Ast, scope: _Scope) -> _Relation:
    scope = _with_ctes(node, scope)
    match node.get("type"):
        case "SELECT_NODE":
            made = _select(node, scope)
        case "SET_OPERATION_NODE":
            made = _union([_node(child, scope) for child in node.get("children", ())])
        case "RECURSIVE_CTE_NODE":
            made = _recursive(node, scope)
        case _:
            made = _Relation()
    return _limited(node, made)


def _with_ctes(node: Ast, scope: _Scope) -> _Scope:
    for entry in (node.get("cte_map") or {}).get("map", ()):
        query = entry["value"]["query_node"] if "query_node" in entry["value"] else entry["value"]["query"]["node"]
        made = _renamed(_node(query, scope), entry["key"], entry["value"].get("aliases") or ())
        scope = replace(scope, ctes={**scope.ctes, entry["key"].casefold(): made})
    return scope


def _recursive(node: Ast, scope: _Scope) -> _Relation:
    """The first part tells what the name means in the second."""
    first = _node(node["left"], scope)
    name = str(node.get("cte_name", "")).casefold()
    second = _node(node["right"], replace(scope, ctes={**scope.ctes, name: _renamed(first, name, ())}))
    return _union([first, second])


def _select(node: Ast, scope: _Scope) -> _Relation:
    relation = _from(node.get("from_table") or {}, scope)
    scope = replace(scope, relation=relation, aliases={}, outer=scope if scope.relation.columns else scope.outer)
    columns: list[tuple[str, str, ColumnLineage]] = []
    for expression in node.get("select_list", ()):
        if expression.get("class") == "STAR":
            columns += _star(expression, scope)
            continue
        lineage = _expression(expression, scope)
        name = str(expression.get("alias") or _name(expression)).casefold()
        columns.append(("", name, lineage))
        scope = replace(scope, aliases={**scope.aliases, name: lineage})
    return _Relation(tuple(columns), _row_count(node, relation))


def _row_count(node: Ast, relation: _Relation) -> ColumnLineage:
    """Without GROUP BY a condition on data makes even a constant row depend on data; a literal stays a literal."""
    return relation.rows if node.get("from_table", {}).get("type") != "EMPTY" else _NONE


def _star(star: Ast, scope: _Scope) -> Iterator[tuple[str, str, ColumnLineage]]:
    wanted = str(star.get("relation_name") or "").casefold()
    left_out = {str(name).casefold() for name in star.get("exclude_list") or () if isinstance(name, str)}
    replaced = {str(e["key"]).casefold(): _expression(e["value"], scope) for e in star.get("replace_list") or ()}
    relation = scope.relation
    for table, column, lineage in relation.columns:
        is_offered = wanted == table if wanted else (table, column) not in relation.merged
        if column not in left_out and is_offered:
            yield "", column, replaced.get(column, lineage)


def _from(table: Ast, scope: _Scope) -> _Relation:
    match table.get("type"):
        case "BASE_TABLE":
            return _renamed(_base(table, scope), _alias(table), table.get("column_name_alias") or ())
        case "SUBQUERY":
            return _renamed(
                _node(table["subquery"]["node"], scope), _alias(table), table.get("column_name_alias") or ()
            )
        case "JOIN":
            left, right = _from(table["left"], scope), _from(table["right"], scope)
            # A lateral join reads what stands to its left.
            if right.rows == _NONE and table["right"].get("type") in ("TABLE_FUNCTION", "SUBQUERY"):
                right = _from(table["right"], replace(scope, relation=left))
            return _joined_relation(left, right, table.get("using_columns") or ())
        case "TABLE_FUNCTION":
            return _table_function(table, scope)
        case "EXPRESSION_LIST":
            rows = [[_expression(value, scope) for value in row] for row in table.get("values", ())]
            columns = tuple(("", f"col{at}", _joined(column)) for at, column in enumerate(zip(*rows, strict=False)))
            return _Relation(columns, _literal(len(rows)))
        case _:
            return _Relation()


def _joined_relation(left: _Relation, right: _Relation, using: Sequence[str]) -> _Relation:
    """Both sides of a join. A merged `row` counts a dataset only if it does so on both sides."""
    names = frozenset(str(name).casefold() for name in using)
    columns = left.columns + right.columns
    counted = {lineage.row_of for _, column, lineage in columns if column == _ROW}
    if _ROW in names and len(counted) > 1:
        columns = tuple((table, column, replace(lineage, row_of="")) for table, column, lineage in columns)
    merged = frozenset((table, column) for table, column, _ in right.columns if column in names)
    rows, is_open = left.rows | right.rows, left.is_open or right.is_open
    return _Relation(columns, rows, is_open, left.merged | right.merged | merged)


def _base(table: Ast, scope: _Scope) -> _Relation:
    name = str(table.get("table_name", "")).casefold()
    if name in scope.ctes:
        return scope.ctes[name]
    return scope.tables.get(name, _Relation())


def _table_function(table: Ast, scope: _Scope) -> _Relation:
    """`unnest(column)` is data, `range(987)` is not; its literals may come back as a number of rows."""
    lineage = _joined(_expression(entry, scope) for entry in _arguments(table.get("function") or {}))
    names = table.get("column_name_alias") or [str((table.get("function") or {}).get("function_name", ""))]
    made = _Relation(tuple(("", str(name).casefold(), lineage) for name in names), lineage, is_open=True)
    return _renamed(made, _alias(table), ())


def _renamed(relation: _Relation, table: str, columns: Sequence[str]) -> _Relation:
    names = [*columns, *(column for _, column, _ in relation.columns[len(columns) :])]
    renamed = (
        (table.casefold(), str(name).casefold(), lineage)
        for name, (_, _, lineage) in zip(names, relation.columns, strict=False)
    )
    return replace(relation, columns=tuple(renamed))


def _union(parts: Sequence[_Relation]) -> _Relation:
    """A column of a union is data if it is in any part; the literals of a constant part stay literals."""
    if not parts:
        return _Relation()
    columns = tuple(
        (first[0], first[1], _alternatives([first[2], *(entry[2] for entry in others)]))
        for first, *others in zip(*(part.columns for part in parts), strict=False)
    )
    return _Relation(columns, _joined(part.rows for part in parts), any(part.is_open for part in parts))


def _limited(node: Ast, relation: _Relation) -> _Relation:
    """`LIMIT 987` can make the number of rows 987."""
    limits = [m["limit"] for m in node.get("modifiers") or () if m.get("type") == "LIMIT_MODIFIER" and m.get("limit")]
    literals = frozenset(number for limit in limits for number in _numbers(limit))
    return replace(relation, rows=replace(relation.rows, literals=relation.rows.literals | literals))


def _expression(node: Any, scope: _Scope) -> ColumnLineage:
    if not isinstance(node, Mapping):
        return _NONE
    match node.get("class"):
        case "CONSTANT":
            return ColumnLineage(literals=frozenset(_numbers(node)))
        case "COLUMN_REF":
            return scope.column(node.get("column_names") or [""])
        case "FUNCTION" | "WINDOW":
            return _function(node, scope)
        case "CASE":
            return _case(node, scope)
        case "SUBQUERY":
            return _scalar(node, scope)
        case "COMPARISON" | "CONJUNCTION" | "BETWEEN":
            return ColumnLineage(is_data=_joined(_parts(node, scope)).is_data)
        case "CAST":
            return _expression(node.get("child"), scope)
        case "OPERATOR":
            return _operator(node, scope)
        case _:
            return _joined(_parts(node, scope))


def _operator(node: Ast, scope: _Scope) -> ColumnLineage:
    match node.get("type"):
        case "OPERATOR_COALESCE":
            return _alternatives([_expression(child, scope) for child in node.get("children", ())])
        case "ARRAY_EXTRACT" | "ARRAY_SLICE" | "STRUCT_EXTRACT":
            return replace(_expression(node["children"][0], scope), row_of="")
        case _:
            # Also the value of a lambda may become an item of the result: `list_transform(xs, x -> 987)`.
            return _joined(_parts(node, scope))


def _function(node: Ast, scope: _Scope) -> ColumnLineage:
    name, given = str(node.get("function_name", "")).casefold(), [_expression(e, scope) for e in _arguments(node)]
    together = _joined(given)
    if name in _COUNTS:
        counted = scope.relation.rows
        if node.get("class") == "FUNCTION" and together.is_data:
            counted = replace(counted, is_data=True)
        operands = together.literals if name == "sum" else frozenset()
        return replace(counted, operands=counted.operands | together.operands | _own(operands))
    if name in _ARITHMETIC:
        return ColumnLineage(together.is_data, frozenset(), together.operands | _own(together.literals))
    if _PARAMETRIC.match(name):
        return replace(together, literals=given[0].literals if given else frozenset())
    if name == "if" and len(given) > 1:
        return _chosen(given[0].is_data, given[1:])
    is_picking = (name in _PICKING and len(given) == 1) or (name in _PICKING_BY and len(given) == 2)
    return replace(together, row_of=given[0].row_of) if is_picking else together


def _case(node: Ast, scope: _Scope) -> ColumnLineage:
    checks = node.get("case_checks") or ()
    decides = any(_expression(check.get("when_expr"), scope).is_data for check in checks)
    values = [_expression(check.get("then_expr"), scope) for check in checks]
    return _chosen(decides, [*values, _expression(node.get("else_expr"), scope)])


def _chosen(is_by_data: bool, values: Sequence[ColumnLineage]) -> ColumnLineage:  # noqa: FBT001  first of a pair
    together = _joined(values)
    return replace(together, is_data=together.is_data or is_by_data)


def _scalar(node: Ast, scope: _Scope) -> ColumnLineage:
    relation = _node(node["subquery"]["node"], scope)
    if node.get("subquery_type") != "SCALAR":
        return ColumnLineage(is_data=relation.rows.is_data)
    return relation.columns[0][2] if relation.columns else _NONE


def _alternatives(values: Sequence[ColumnLineage]) -> ColumnLineage:
    """One of several values: each may come through as it is."""
    counted = {value.row_of for value in values}
    row_of = counted.pop() if len(counted) == 1 else ""
    return replace(_joined(values), is_data=any(value.is_data for value in values), row_of=row_of)


def _joined(values: Iterable[ColumnLineage]) -> ColumnLineage:
    return reduce(ColumnLineage.__or__, values, _NONE)


def _parts(node: Ast, scope: _Scope) -> Iterator[ColumnLineage]:
    for value in node.values():
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, Mapping) and "class" in child:
                yield _expression(child, scope)


def _arguments(node: Ast) -> list[Any]:
    given = [*(node.get("arguments") or ()), *(node.get("children") or ())]
    return [entry.get("expression", entry) if isinstance(entry, Mapping) else entry for entry in given]


def _own(numbers: frozenset[Decimal]) -> frozenset[Decimal]:
    """Numbers that are no factor between units."""
    return frozenset(number for number in numbers if number not in _SCALES and number not in _LARGE_SCALES)


def _literal(number: int) -> ColumnLineage:
    return ColumnLineage(literals=frozenset({Decimal(number)}))


def _numbers(node: Ast) -> Iterator[Decimal]:
    """The number that a constant is, also one in quotes: `CAST('987' AS INTEGER)`."""
    text = str((node.get("literal") or {}).get("text", ""))
    try:
        number = Decimal(text)
    except InvalidOperation:
        return
    if number.is_finite():
        yield number


def _alias(table: Ast) -> str:
    return str(table.get("alias") or table.get("table_name") or "")


def _name(expression: Ast) -> str:
    names = expression.get("column_names") or [""]
    return str(names[-1])


def filter_values(statement: Ast) -> tuple[str, ...]:
    """The literals of all conditions of a serialized statement, and its limits: what the rows were chosen by."""
    return tuple(dict.fromkeys(_filter_values(statement)))


_CONDITIONS = frozenset({"where_clause", "having", "qualify", "condition", "filter", "when_expr", "limit", "offset"})


def _filter_values(node: Any, *, is_condition: bool = False) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from _filter_values(child, is_condition=is_condition)
    elif isinstance(node, Mapping):
        if is_condition and node.get("class") == "CONSTANT" and (text := (node.get("literal") or {}).get("text")):
            yield str(text)
        for name, child in node.items():
            yield from _filter_values(child, is_condition=is_condition or name in _CONDITIONS)
