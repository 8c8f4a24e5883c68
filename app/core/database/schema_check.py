"""Comparison of the actual tables with those that this version expects."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Table as Definition
from sqlalchemy import inspect

from app.core.database.session import Reader, Table, connection_of


def differences(database: Reader) -> list[str]:
    """Return what is missing or in the way, one phrase each; tables of others are ignored."""
    inspector = inspect(connection_of(database))
    columns = {table: details for (_, table), details in inspector.get_multi_columns().items()}
    indexes = {table: details for (_, table), details in inspector.get_multi_indexes().items()}
    problems: list[str] = []
    for table in Table.metadata.sorted_tables:
        if table.name not in columns:
            problems.append(f"the table {table.name} is missing")
            continue
        actual = {column["name"]: column for column in columns[table.name]}
        problems += _of_columns(table, actual)
        index_names = {index["name"] for index in indexes.get(table.name, ())}
        problems += [
            f"the index {index.name} of {table.name} is missing"
            for index in sorted(table.indexes, key=lambda index: str(index.name))
            if index.name not in index_names
        ]
    return problems


def _of_columns(table: Definition, actual: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for column in table.columns:
        if column.name not in actual:
            yield f"{table.name} has no column {column.name}"
        elif actual[column.name]["nullable"] != column.nullable:
            may = "may" if actual[column.name]["nullable"] else "may not"
            yield f"the column {column.name} of {table.name} {may} be empty"
    for name, definition in actual.items():
        needs_value = not definition["nullable"] and definition["default"] is None
        if name not in table.columns and needs_value:
            yield f"{table.name} has a column {name} that this version does not fill"
