"""Files as resources: typed columns, equality filters, and constant memory."""

import csv
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mock_api.app import create_app
from mock_api.files import InvalidDataFile, open_files
from mock_api.resources import Resource
from mock_api.serving import serve

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data"
REAL_FILES = sorted([*SHARED.glob("*.csv"), *SHARED.glob("*.json")])
RECORDS = [
    {"id": 1, "name": "Žofie", "score": 1.5, "is_new": True, "tags": ["a"], "note": None},
    {"id": 2, "name": "Adam", "score": 2, "is_new": False, "tags": [], "note": None},
    {"id": 3, "name": "Žofie", "score": 2, "is_new": False, "tags": [], "note": None},
]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def records_of(given: Resource, filters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [json.loads(record) for record in given.read(given.select(filters or {}))]


def test_json_wrapped_json_and_ndjson_have_the_same_records(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "list.json", json.dumps(RECORDS, indent=2)),
        write(tmp_path / "wrapped.json", json.dumps({"meta": {"n": 3}, "data": RECORDS})),
        write(tmp_path / "lines.ndjson", "\n\n".join(map(json.dumps, RECORDS)) + "\n\n"),
        write(tmp_path / "lines2.jsonl", "\r\n".join(map(json.dumps, RECORDS))),
    ]
    with open_files(paths) as resources:
        assert [each.name for each in resources] == ["list", "wrapped", "lines", "lines2"]
        for each in resources:
            assert records_of(each) == RECORDS


def test_scalar_columns_become_typed_filters(tmp_path: Path) -> None:
    with open_files([write(tmp_path / "people.json", json.dumps(RECORDS))]) as (people,):
        assert {each.name: each.kind for each in people.filters} == {
            "id": "integer", "name": "string", "score": "number", "is_new": "boolean",
        }  # fmt: skip
        assert [record["id"] for record in records_of(people, {"name": "Žofie", "score": 2})] == [3]
        assert [record["id"] for record in records_of(people, {"is_new": False})] == [2, 3]
        assert records_of(people, {"id": 9}) == []


def test_names_are_made_valid_for_paths_and_arguments(tmp_path: Path) -> None:
    content = json.dumps([{"Cena (Kč)": 1, "limit": 2, "cena kc": 3, "class": 4, "---": 5}])
    paths = [
        write(tmp_path / "Údaje o cenách.2026.json", content),
        write(tmp_path / "udaje-o-cenach-2026.json", content),
    ]
    with open_files(paths) as (first, second):
        assert (first.name, second.name) == ("udaje_o_cenach_2026", "udaje_o_cenach_2026_2")
        assert [each.name for each in first.filters] == ["cena_kc", "limit_equals", "cena_kc_equals", "class", "column"]
        assert records_of(first, {"cena_kc_equals": 3})
        assert records_of(first, {"cena_kc": 3}) == []
        create_app([first, second]).openapi()


def test_few_repeated_strings_become_an_enum(tmp_path: Path) -> None:
    rows = [{"level": "error" if n % 3 else "notice", "text": f"line {n}"} for n in range(30)]
    with open_files([write(tmp_path / "log.json", json.dumps(rows))]) as (log,):
        assert {each.name: each.values for each in log.filters} == {"level": ("error", "notice"), "text": ()}


def test_csv_columns_are_numeric_if_every_cell_is(tmp_path: Path) -> None:
    text = 'code,n,price,mixed,zip,gap\n007,1,1.50,1,"01 234",\n008,-2,2,n/a,"02 345",x\n009,,1e3,3,"03 456",\n'
    with open_files([write(tmp_path / "t.csv", text)]) as (table,):
        assert records_of(table) == [
            {"code": "007", "n": 1, "price": 1.5, "mixed": "1", "zip": "01 234", "gap": None},
            {"code": "008", "n": -2, "price": 2.0, "mixed": "n/a", "zip": "02 345", "gap": "x"},
            {"code": "009", "n": None, "price": 1000.0, "mixed": "3", "zip": "03 456", "gap": None},
        ]
        assert {each.name: each.kind for each in table.filters}["n"] == "integer"


def test_csv_with_semicolons_a_byte_order_mark_short_rows_and_odd_headers(tmp_path: Path) -> None:
    text = '\ufeffjméno;;jméno\n"a\nb";1\n\nc;2;3\n'
    with open_files([write(tmp_path / "t.csv", text)]) as (table,):
        assert records_of(table) == [
            {"jméno": "a\nb", "column_2": 1, "jméno_3": None},
            {"jméno": "c", "column_2": 2, "jméno_3": 3},
        ]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=8))
def test_csv_text_round_trips(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("first", "second"), ("text", "text"), *rows])
    with open_files([path]) as (table,):
        read = records_of(table)[1:]
    assert [(each["first"] or "", each["second"] or "") for each in read] == rows


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "{", "not JSON.*a.ndjson"),
        ("a.json", '{"x": [], "y": []}', "lists: 'x', 'y'"),
        ("a.json", "3", "lists: none"),
        ("a.json", "[1]", "record 1 of 'a.json' is `1`"),
        ("a.ndjson", '{"a": 1}\n[2]\n', "record 2 of 'a.ndjson'"),
        ("a.ndjson", '{"a": 1}\n{"a": \n', "record 2 of 'a.ndjson' is not JSON"),
        ("a.csv", "x,y\n1,2,3\n", "line 2 of .* has 3 cells"),
        ("a.xlsx", "", "'.xlsx'"),
    ],
)
def test_an_invalid_file_is_an_error_with_its_position(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(InvalidDataFile, match=words), open_files([write(tmp_path / name, content)]):
        pytest.fail("it was opened")


def test_csv_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("město\nžďár\n".encode("cp1250"))
    with pytest.raises(InvalidDataFile, match="UTF-8"), open_files([tmp_path / "t.csv"]):
        pytest.fail("it was opened")


def test_an_empty_list_is_an_empty_resource(tmp_path: Path) -> None:
    with open_files([write(tmp_path / "none.json", "[]")]) as (none,):
        assert records_of(none) == []
        create_app([none]).openapi()


async def test_files_are_served_with_filters_and_metadata(tmp_path: Path) -> None:
    with open_files([write(tmp_path / "people.json", json.dumps(RECORDS))]) as resources:
        async with serve(create_app(resources), port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as client:
            page = (await client.get("/people", params={"name": "Žofie", "limit": 1})).json()
            meta = (await client.get("/people?is_new=false&meta_only=true")).json()
            document = (await client.get("/openapi.json")).json()
    assert page == {"people": [RECORDS[0]], "total": 2, "offset": 0, "limit": 1}
    assert (meta["data_path"], meta["total_items"]) == ("people", 2)
    assert document["paths"]["/people"]["get"]["operationId"] == "list_people"
    assert document["components"]["schemas"]["People"]["properties"]["score"] == {"type": ["integer", "number"]}


_PEAK = textwrap.dedent(
    """
    import json, resource, sys
    from pathlib import Path
    from mock_api.files import open_files
    path = Path(sys.argv[1])
    with path.open("w") as file:
        for n in range(int(sys.argv[2])):
            file.write(json.dumps({"id": n, "group": n % 7, "text": "x" * 400}) + "\\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_files([path]) as (big,):
        assert len(big.select({})) == int(sys.argv[2])
        assert len(big.select({"group": 3})) > 1
        big.read(range(200))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
)


def test_two_hundred_thousand_records_take_constant_memory(tmp_path: Path) -> None:
    """88 MB of records may add 12 MB: twelve bytes per record, selections, and the overhead of Python."""
    command = [sys.executable, "-c", _PEAK, str(tmp_path / "big.ndjson"), "200000"]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
    assert grown * 1024 < 12_000_000


@pytest.mark.skipif(not REAL_FILES, reason=f"there are no data files in {SHARED}")
async def test_real_files_are_served_completely() -> None:
    with open_files(REAL_FILES) as resources:
        counts = {each.name: len(each.select({})) for each in resources}
        async with serve(create_app(resources), port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as client:
            page = (await client.get("/flights_20k?origin=HNL&limit=200")).json()
    assert counts["flights_20k"] == 20_000
    assert counts["loghub_openssh"] == counts["loghub_apache"] == 2_000
    assert counts["birdstrikes"] == 10_000
    assert {record["origin"] for record in page["flights_20k"]} == {"HNL"}
