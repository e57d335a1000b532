"""What servers print in place of data: read where it is data, told where a part of it is missing or failed."""

import base64
import json
from collections.abc import Callable

import pytest

from adapters.base import Json, JsonObject
from adapters.mcp.content.results import is_put_off, read_result, told_failure
from adapters.mcp.content.text_data import read_text

N = 7
ROWS: list[Json] = [{"id": 1000 + n, "name": f"n, {n}", "price": n / 4} for n in range(N)]
LINES = [json.dumps(row) for row in ROWS]
FLAT = [{"id": 1000 + n, "name": f"n{n}"} for n in range(N)]


def printed(row: str) -> str:
    return "\n".join(row.format(**one) for one in FLAT)


def texts(*parts: str, **more: Json) -> JsonObject:
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


@pytest.mark.parametrize(
    "text",
    [
        "300 results\n" + "\n".join(LINES),
        "\n".join(LINES) + "\nTotal: 7",
        "\n".join(f"{n}. {line}" for n, line in enumerate(LINES, 1)),
        "\n".join(f"- {line}" for line in LINES),
        ",\n".join(LINES),
        "\n".join(map(repr, ROWS)),
        "".join(LINES),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        "\n---\n".join(json.dumps(row, indent=2) for row in ROWS),
        "".join(f"data: {line}\n\n" for line in LINES),
        "".join(f"\x1e{line}\n" for line in LINES),
        json.dumps(ROWS[:3]) + json.dumps(ROWS[3:]),
        json.dumps(ROWS[:3]) + "\n" + json.dumps(ROWS[3:]),
        "```jsonl\n" + "\n".join(LINES) + "\n```",
        "```json" + json.dumps(ROWS) + "```",
        "```json\r\n" + json.dumps(ROWS) + "\r\n```\r\n",
        "\u00a0\u200b" + json.dumps(ROWS),
    ],
)
def test_values_one_behind_another_are_the_records(text: str) -> None:
    content = read_text(text)
    assert content.value == ROWS
    assert not content.flaw


@pytest.mark.parametrize("items", ['\n{"items": [1, 2]}', '{"items": [1, 2]}', "\n[1, 2]"])
def test_figures_before_a_list_stand_beside_it(items: str) -> None:
    assert read_text('{"total": 7}' + items).value == {"total": 7, "items": [1, 2]}


def test_a_broken_value_behind_good_ones_is_told_and_costs_only_itself() -> None:
    content = read_text("\n".join(LINES) + '\n{"id": 5, "na')
    assert content.value == ROWS
    assert "value 8" in content.flaw


def test_lines_with_rare_line_ends_inside_of_texts_stay_lines() -> None:
    rows = [{"t": "a\u2028b\x85c"}, {"t": "d"}]
    assert read_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows)).value == rows


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n" + printed("{id},{name}"),
        "id\tname\r\n" + printed("{id}\t{name}\r"),
        "id;name\n" + printed("{id};{name}") + "\n",
        "```csv\nid,name\n" + printed("{id},{name}") + "\n```",
        "Found 7 rows:\n\nid,name\n" + printed("{id},{name}"),
        "| id | name |\n|:---|---:|\n" + printed("| {id} | {name} |"),
        "## Tickets\n\n| id | name |\n|---|---|\n" + printed("| {id} | {name} |") + "\n\nBye.",
        "id | name\n---|---\n" + printed("{id} | {name}"),
        " id | name\n----+-----\n" + printed(" {id} | {name}") + "\n(7 rows)",
        "+--+--+\n| id | name |\n+--+--+\n" + printed("| {id} | {name} |") + "\n+--+--+",
        "┌──┬──┐\n│ id │ name │\n├──┼──┤\n" + printed("│ {id} │ {name} │") + "\n└──┴──┘",
    ],
)
def test_a_table_is_its_rows(text: str) -> None:
    assert read_text(text).value == FLAT


@pytest.mark.parametrize(
    "text",
    [
        "Dear Anna, thank you\nfor the letter, and\nfor the cake, too",
        "id,name\n1,a\n2",
        "id,name\n1,a\n2,b\n3,c,d\n4,e",
        "a | b",
        "The sum of a | b\n---\nis c | d | e",
        "Costs\n12,5\n13,5\n14,5",
    ],
)
def test_prose_with_commas_and_bars_is_no_table(text: str) -> None:
    assert read_text(text).value == text


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("[FILE] a b.txt\n[DIR] c\n[FILE] d", ["[FILE] a b.txt", "[DIR] c", "[FILE] d"]),
        ("/srv/a 1\n/srv/b\n/srv/c\n\nTotal: 3 files", ["/srv/a 1", "/srv/b", "/srv/c"]),
        ("ID: 1\nName: a\n\nID: 2\nName: b: c", [{"ID": 1, "Name": "a"}, {"ID": 2, "Name": "b: c"}]),
        ("Found 2\n\n- **ID**: 1\n- **Name:** a\n---\n- **ID**: x\n", None),
        ("ID: 1\nName: 5\n---\nID: 2\nName:", [{"ID": 1, "Name": 5}, {"ID": 2, "Name": None}]),
        ("Showing 1-1 of 9\n\nID: 1\nName: a", [{"ID": 1, "Name": "a"}]),
        ("Showing 10-9 of 9\n\n", []),
        ("| name |\n|---|\n| a |", [{"name": "a"}]),
        ("| id | name |\n|---|---|", []),
        ("id,name\n1,a", [{"id": 1, "name": "a"}]),
    ],
)
def test_a_listing_is_the_things_that_it_lists(text: str, records: Json) -> None:
    payload = read_result(texts(text)).payload
    if records is None:
        assert isinstance(payload, dict)
        assert payload["items"] == [{"ID": "1", "Name": "a"}, {"ID": "x"}]
        return
    assert (payload["items"] if isinstance(payload, dict) else payload) == records


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return 1\n\nx: int\ny: str",
        "Note: this is a letter.\nYours: Anna",
        "Dear: Anna\nThanks.\n\nBest: Bob\nBye.",
        "first\nsecond\nthird",
        "/etc/hosts\nis a file",
        "ID: 1\nName: a\n\nID: 2\nName: b\n\nID: 3\nNam",
        "ID: 1\nName: a",
        "Showing 1-9 of 9",
    ],
)
def test_lines_of_several_forms_are_a_text(text: str) -> None:
    assert read_result(texts(text)).payload == text


def test_a_cell_keeps_leading_zeros_and_a_column_of_numbers_is_numbers() -> None:
    table = "code,price,note\n007,1.50,\n008,2,x\n009,,"
    assert read_text(table).value == [
        {"code": "007", "price": 1.5, "note": ""},
        {"code": "008", "price": 2, "note": "x"},
        {"code": "009", "price": None, "note": ""},
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS) + "\n...",
        json.dumps(ROWS) + "\n\n(200 more rows not shown)",
        "\n".join(LINES) + "\n... 200 more",
        "Results limited to 7 rows.\n" + json.dumps(ROWS),
        json.dumps(ROWS) + "\nOutput too large; the full result is at file x://full",
        "id,name\n1,a\n2,b\n... (200 more rows)",
    ],
)
def test_words_that_speak_of_more_stand_beside_the_records(text: str) -> None:
    payload = read_result(texts(text)).payload
    assert isinstance(payload, dict)
    assert payload["has_more"] is True


@pytest.mark.parametrize("words", ["Results limited to 50 rows.", "There are no more rows.", "Done in 12 ms."])
def test_words_that_speak_of_no_more_leave_the_list_whole(words: str) -> None:
    payload = read_result(texts(f"{words}\n{json.dumps(ROWS)}")).payload
    assert isinstance(payload, dict)
    assert payload.keys() == {"message", "items"}


def test_how_many_there_are_is_read_from_a_sentence() -> None:
    for words in ("Here are the first 7 of 300 tickets:", "7 of 300 tickets shown", "Showing 1-7 of 300"):
        payload = read_result(texts(f"{words}\n{json.dumps(ROWS)}")).payload
        assert isinstance(payload, dict)
        assert payload["total"] == 300


def test_rows_left_out_of_a_printed_frame_are_told() -> None:
    assert "left out" in read_text("     id\n0    1\n..  ..\n99  99\n\n[100 rows x 1 columns]").flaw


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[{'s': <Status.OPEN: 'open'>, 'x': <NA>}]", [{"s": "open", "x": None}]),
        ("[np.int64(5), np.float64(1.5), array([1., nan])]", [5, 1.5, [1.0, None]]),
        ("[OrderedDict([('id', 5)]), defaultdict(<class 'list'>, {'r': [1]})]", [{"id": 5}, {"r": [1]}]),
        ('[{"big": ' + "9" * 6000 + "}]", [{"big": "9" * 6000}]),
        ('[{"e": "\\ud83d", "f": "\\ud83d\\ude00"}]', [{"e": "\ufffd", "f": "😀"}]),
    ],
)
def test_values_that_only_some_programs_print_are_read(text: str, value: Json) -> None:
    assert read_text(text).value == value


@pytest.mark.parametrize(
    "structured", [{"count": 7}, {"status": "ok"}, {"rows": ROWS[:2]}, {"rows": []}, ROWS[0], json.dumps(ROWS)]
)
def test_structured_content_with_fewer_records_than_the_text_gives_way_to_it(structured: Json) -> None:
    payload = read_result(texts(json.dumps(ROWS), structuredContent=structured)).payload
    assert (payload["items"] if isinstance(payload, dict) else payload) == ROWS


def test_structured_content_with_more_records_than_the_text_is_taken() -> None:
    assert read_result(texts(json.dumps(ROWS[:2]), structuredContent={"rows": ROWS})).payload == {"rows": ROWS}


@pytest.mark.parametrize(
    "words", ["There are more results.", "next cursor: abc123", "7 of 300 shown", "Limited to 7 rows"]
)
def test_words_beside_structured_content_tell_of_more(words: str) -> None:
    payload = read_result(texts(words, structuredContent={"rows": ROWS})).payload
    assert isinstance(payload, dict)
    assert payload["rows"] == ROWS
    assert payload.get("has_more") or payload.get("next_cursor") == "abc123" or payload.get("total") == 300


def test_words_that_repeat_structured_content_add_nothing_to_it() -> None:
    raw = texts("Temperature: 5\nWind: 3", structuredContent={"temperature": 5, "wind": 3})
    assert read_result(raw).payload == {"temperature": 5, "wind": 3}


def test_marks_under_a_name_with_an_owner_are_read_and_those_of_the_protocol_are_not() -> None:
    meta: JsonObject = {"example.com/nextCursor": "abc", "io.modelcontextprotocol/total": 1}
    payload = read_result(texts(json.dumps(ROWS), _meta=meta)).payload
    assert isinstance(payload, dict)
    assert payload["_meta"] == {"nextCursor": "abc"}


def test_text_that_came_as_bytes_is_text_and_an_image_is_not() -> None:
    def blob(kind: str) -> JsonObject:
        coded = base64.b64encode(json.dumps(ROWS).encode()).decode()
        return {"content": [{"type": "resource", "resource": {"uri": "x://1", "mimeType": kind, "blob": coded}}]}

    assert read_result(blob("application/json")).payload == ROWS
    assert "n_bytes" in str(read_result(blob("image/png")).payload)


def test_what_a_framework_notes_for_itself_stands_beside_nothing() -> None:
    note: JsonObject = {"framework": {"wrap_result": True}}
    assert read_result(texts("No rows found.", structuredContent={"result": "No rows found."}, _meta=note)).payload == (
        "No rows found."
    )
    paging: JsonObject = {"paging": {"nextCursor": "a"}}
    assert read_result(texts("No rows found.", _meta=paging)).payload == {"_meta": paging, "items": []}


@pytest.mark.parametrize(
    "text", ["Showing 1-2 of 9\n\nID: 1\nName: a\n\nID: 2\nName: b", '[{"id": 1}, {"id"', "- a\n- b"]
)
def test_a_text_that_structured_content_repeats_is_read_as_if_it_stood_alone(text: str) -> None:
    alone = read_result(texts(text))
    assert read_result(texts(text, structuredContent={"result": text})) == alone
    assert read_result({"content": [], "structuredContent": {"result": text}}) == alone


def test_pages_in_several_parts_are_one_page() -> None:
    parts = [json.dumps({"items": ROWS[n : n + 3], "page": n // 3}) for n in range(0, N, 3)]
    assert read_result(texts(*parts)).payload == {"items": ROWS, "page": 2}
    customers = [json.dumps({"id": n, "orders": [{"id": 1}]}) for n in range(2)]
    assert [record["id"] for record in read_result(texts(*customers)).payload] == [0, 1]  # type: ignore[index, union-attr]


def test_a_result_inside_the_text_of_a_result_is_opened() -> None:
    assert read_result(texts(json.dumps(texts(json.dumps(ROWS))))).payload == ROWS
    assert told_failure(texts(json.dumps(texts("db locked", isError=True)))) == "db locked"


def _text(value: Json) -> JsonObject:
    return texts(value if isinstance(value, str) else json.dumps(value))


def _structured(value: Json) -> JsonObject:
    return texts("x", structuredContent=value if isinstance(value, dict) else {"result": value})


@pytest.mark.parametrize("given", [_text, _structured])
@pytest.mark.parametrize(
    "value",
    [
        {"success": False, "message": "db locked", "items": []},
        {"ok": False, "error": "db locked", "data": None},
        {"status": "error", "message": "db locked"},
        {"error": {"code": 500, "message": "db locked"}},
        {"errors": [{"message": "db locked"}], "data": None},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": -1, "message": "db locked"}},
        "Error executing query: db locked",
        "Failed to fetch tickets: db locked",
        {"detail": "Permission denied: db locked"},
    ],
)
def test_a_failure_given_as_data_is_a_failure(given: Callable[[Json], JsonObject], value: Json) -> None:
    assert "db locked" in told_failure(given(value))


@pytest.mark.parametrize("given", [_text, _structured])
@pytest.mark.parametrize(
    "value",
    [
        {"id": 7, "name": "nightly", "status": "failed", "error": "disk full"},
        {"errors": [{"message": "in line 5"}]},
        {"items": [], "total": 0},
        {"message": "Hello"},
        {"status": "ok", "error": None, "items": []},
        {"success": True, "error": "", "items": []},
        {"error": 0.02, "n": 5},
        "Errors are made by everyone.",
    ],
)
def test_a_record_that_speaks_of_failures_is_a_record(given: Callable[[Json], JsonObject], value: Json) -> None:
    assert told_failure(given(value)) == ""


def test_an_error_beside_data_spoils_the_claim_to_be_whole_and_not_the_data() -> None:
    read = read_result(_text({"errors": [{"message": "shard 3 failed"}], "data": {"tickets": ROWS}}))
    assert read.flaw == "shard 3 failed"
    assert "tickets" in str(read.payload)


def test_a_page_of_a_failing_server_is_a_failure_and_another_page_is_not() -> None:
    assert told_failure(_text("<html><head><title>502 Bad Gateway</title></head></html>"))
    assert not told_failure(_text("<html><head><title>Room 502</title></head></html>"))


def test_a_task_begun_in_place_of_an_answer_is_known() -> None:
    assert is_put_off({"resultType": "task", "taskId": "t"})
    assert is_put_off({"task": {"taskId": "t", "status": "working"}})
    assert not is_put_off(texts("done", task={"id": 1}))
