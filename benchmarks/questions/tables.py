"""Records as the mock API serves them, made into tables of runax's engine in the same way as by a call."""

from collections.abc import Iterable, Sequence

import orjson

from benchmarks.questions.question import Fetch
from mock_api.resources import Resource
from runax_cli.executor.sql.engine import QueryableTable, SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import DatasetStore

_PAGE = 500


class Tables:
    """Tables of calls under one engine's folder; each call is fetched and sealed once."""

    def __init__(self, engine: SqlEngine, resources: Sequence[Resource]) -> None:
        self.engine, self._store = engine, DatasetStore(engine.folder)
        self._resources = {resource.name: resource for resource in resources}
        self._made: dict[str, QueryableTable] = {}

    def of(self, fetch: Fetch) -> QueryableTable:
        """The table of a call."""
        key = f"{fetch.resource} {sorted(fetch.arguments.items())}"
        if key not in self._made:
            resource = self._resources[fetch.resource]
            positions = resource.select(dict(fetch.arguments))
            pages = (resource.read(positions[at : at + _PAGE]) for at in range(0, len(positions), _PAGE))
            self._made[key] = self._sealed(fetch.resource, pages)
        return self._made[key]

    def of_labels(self, labels: Sequence[str]) -> QueryableTable:
        """A table with a column `label`, with one row for each row of another table, in the same order."""
        return self._sealed("labels", [[orjson.dumps({"label": label}) for label in labels]])

    def _sealed(self, noun: str, pages: Iterable[Sequence[bytes]]) -> QueryableTable:
        dataset = self._store.create(noun)
        for index, page in enumerate(pages):
            dataset.add_page(index, [orjson.loads(record) for record in page], position=str(index))
        seal(dataset)
        return self.engine.add_table(dataset.name, dataset.table_path)
