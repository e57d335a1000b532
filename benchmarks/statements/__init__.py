"""True and false statements about a few records and query results, for `benchmarks.statement_checks`."""
