"""The analytics engine: a table of facts, Parquet parts of it, and DuckDB to aggregate them."""
