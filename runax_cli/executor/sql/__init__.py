"""SQL over datasets: Parquet files, the DuckDB engine, tables and table cards."""
