"""A list longer than any model reads is delivered whole: `--save`, and `runax runs export --save`."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from runax_cli.core.results import RunResult, StoredResult
from tests.fakes.scripted_endpoint import ScriptedEndpoint, serve

Run = Callable[..., Any]
QUESTION = "Which pairs of a positive and a negative review are there?"
POSITIVE, NEGATIVE = range(1, 69), range(69, 129)
PAIRS = [(one, other) for one in POSITIVE for other in NEGATIVE]
SQL = (
    "SELECT p.id AS positive, n.id AS negative, p.row AS positive_row FROM reviews_1 p JOIN reviews_1 n "
    "ON p.sentiment = 'positive' AND n.sentiment = 'negative' ORDER BY 1, 2"
)
SCRIPT = (
    ("list_reviews", {"focus": "sentiment", "need": "compute"}),
    ("query_dataset", {"sql": SQL}),
    ("query_dataset", {"sql": "SELECT count(*) AS n FROM reviews_1 WHERE sentiment = 'negative'"}),
    "There are 60 negative reviews [q2]. Review 1 is positive [reviews_1#1]. There are 4,080 pairs [q1].",
)


@pytest.fixture
def api(mock: Any, tmp_path: Path) -> Iterator[str]:
    """An API with 68 positive and 60 negative reviews: the words say which, and the ids are the row numbers."""
    reviews = [
        {"id": n, "sentiment": "positive" if n in POSITIVE else "negative", "text": f"Review {n}: " + "words " * 30}
        for n in (*POSITIVE, *NEGATIVE)
    ]
    path = tmp_path / "reviews.json"
    path.write_text(json.dumps(reviews))
    with mock(str(path)) as url:
        yield url


@pytest.fixture
def model() -> Iterator[ScriptedEndpoint]:
    with serve(ScriptedEndpoint(SCRIPT)) as endpoint:
        yield endpoint


def ask(runax: Run, api: str, model: ScriptedEndpoint, *options: str) -> Any:
    return runax("query", QUESTION, "--base-url", api, *options, variables={**model.variables, "REVIEW": "never"})


def pairs_in(path: Path) -> list[tuple[int, int]]:
    """The pairs in a file, read with another program than the one that wrote it where that is possible."""
    text = path.read_text(encoding="utf-8") if path.suffix != ".parquet" else ""
    match path.suffix:
        case ".csv":
            return [(int(row["positive"]), int(row["negative"])) for row in csv.DictReader(text.splitlines())]
        case ".ndjson":
            return [(row["positive"], row["negative"]) for row in map(json.loads, text.splitlines())]
        case _:
            with duckdb.connect() as connection:
                return connection.execute(f"SELECT positive, negative FROM read_parquet('{path}')").fetchall()


def test_a_list_of_4080_pairs_is_delivered_whole_in_every_format(
    runax: Run, api: str, model: ScriptedEndpoint, tmp_path: Path
) -> None:
    assert len(PAIRS) == 4080
    files = [tmp_path / f"pairs.{suffix}" for suffix in ("csv", "ndjson", "parquet")]
    targets = ["--save", str(files[0]), "--save", f"q1={files[1]}", "--save", f"q1={files[2]}"]
    done = ask(runax, api, model, *targets, "-o", "json")
    assert done.code == 0, done.err
    assert [pairs_in(file) for file in files] == [PAIRS] * 3
    assert f"Saved 4,080 rows of q1 to '{files[0]}'" in done.err

    result = RunResult.model_validate_json(done.out)
    stored = [kept for call in result.calls for kept in call.stored]
    assert [(kept.name, kept.kind, kept.n_rows) for kept in stored] == [("q1", "sql", 4080), ("q2", "sql", 1)]
    paths = [Path(str(kept.path)) for kept in stored]
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600, 0o600]
    cited = [query for entry in result.evidence for query in entry.queries]
    assert [(query.id, query.stored) for query in cited] == [("q2", str(paths[1])), ("q1", str(paths[0]))]
    assert all(entry.verified for entry in result.evidence)
    assert model.shown()[1]["data"]["shown"] < 4080


def test_a_past_run_delivers_its_results_until_they_are_pruned(
    runax: Run, api: str, model: ScriptedEndpoint, tmp_path: Path
) -> None:
    asked = ask(runax, api, model)
    assert asked.code == 0, asked.err
    (hint,) = [line for line in asked.err.splitlines() if line.startswith("[q1] 4,080 rows")]
    run_id = hint.split("runs export ")[1].split()[0]

    done = runax("runs", "export", run_id, "--save", "out.csv", "--save", "q2=n.ndjson", "-o", "json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["results"]
    assert [(row["result"], row["rows"], row["format"]) for row in rows] == [("q1", 4080, "csv"), ("q2", 1, "ndjson")]
    assert pairs_in(Path("out.csv")) == PAIRS
    assert Path("n.ndjson").read_text() == '{"n":60}\n'

    unknown = runax("runs", "export", run_id, "--save", "q7=other.csv")
    assert (unknown.code, "Stored results: q1, q2" in unknown.err) == (2, True)
    again = runax("runs", "export", run_id, "--save", "out.csv")
    assert (again.code, "'out.csv' already exists" in again.err) == (2, True)

    assert runax("runs", "prune", "--all").code == 0
    gone = runax("runs", "export", run_id, "--save", "q1=late.csv")
    assert gone.code == 2
    assert "removed" in gone.err
    assert "runax query" in gone.err
    assert not Path("late.csv").exists()


def test_a_resumed_run_has_its_results(runax: Run, api: str, model: ScriptedEndpoint, tmp_path: Path) -> None:
    model.is_broken_after = 2
    broken = ask(runax, api, model, "-o", "json", "--save", "never.csv")
    run_id = json.loads(broken.out)["run_id"]
    assert broken.code == 5
    assert not Path("never.csv").exists()
    assert len(broken.out.splitlines()) == 1

    model.is_broken_after = None
    resumed = runax("runs", "resume", run_id, "-o", "json", variables={**model.variables, "REVIEW": "never"})
    assert resumed.code == 0, resumed.err
    done = runax("runs", "export", run_id, "--save", "out.csv")
    assert done.code == 0, done.err
    assert pairs_in(Path("out.csv")) == PAIRS


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("pairs.xlsx", ".parquet, .ndjson, .csv"),
        ("pairs", "suffix"),
        ("taken.csv", "'taken.csv' already exists"),
        ("nowhere/pairs.csv", "'nowhere'"),
        ("pairs=x.csv", "'pairs' is not the name of a result"),
        ("q0=x.csv", "'q0' is not the name of a result"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(
    runax: Run, api: str, model: ScriptedEndpoint, target: str, why: str
) -> None:
    Path("taken.csv").write_text("mine")
    done = ask(runax, api, model, "--save", target)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert model.requests == []
    assert Path("taken.csv").read_text() == "mine"


def test_an_answer_that_cites_no_result_is_printed_and_the_stored_ones_are_named(runax: Run, api: str) -> None:
    script = (*SCRIPT[:2], "Review 1 is positive [reviews_1#1].")
    with serve(ScriptedEndpoint(script)) as model:
        done = ask(runax, api, model, "--save", "pairs.csv")
    assert done.out.startswith("Review 1 is positive")
    assert done.code == 2
    assert "cites no SQL result. Stored results: q1" in done.err
    assert not Path("pairs.csv").exists()


def test_no_credential_reaches_a_stored_result(runax: Run, api: str, tmp_path: Path) -> None:
    key = "sk-scripted-key-0123456789"
    sql = f"SELECT id, '{key}' AS note FROM reviews_1 WHERE sentiment IN ('positive', 'negative')"
    query = ("query_dataset", {"sql": sql})
    with serve(ScriptedEndpoint((SCRIPT[0], query, "There are 128 reviews [q1]."))) as model:
        done = ask(runax, api, model, "--save", "notes.csv", "-o", "json")
    assert done.code == 0, done.err
    (stored,) = [StoredResult.model_validate(kept) for call in json.loads(done.out)["calls"] for kept in call["stored"]]
    with duckdb.connect() as connection:
        notes = connection.execute(f"SELECT DISTINCT note FROM read_parquet('{stored.path}')").fetchall()
    assert notes == [("***",)]
    assert key not in Path("notes.csv").read_text()
