"""Questions to a database some of whose tables and columns may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.providers.kit.words import Data

if TYPE_CHECKING:
    import sqlite3


def columns_of(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """The names of a table's columns; none where there is no such table."""
    return frozenset(name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def rows_of(database: sqlite3.Connection, table: str, where: str = "", *values: object) -> list[Data]:
    """The rows of a table as objects; none where the table, or the column that `where` begins with, is missing."""
    columns = columns_of(database, table)
    if not columns or (where and where.split()[0] not in columns):
        return []
    return objects_in(database, f"SELECT * FROM {table}{f' WHERE {where}' if where else ''}", *values)


def objects_in(database: sqlite3.Connection, query: str, *values: object) -> list[Data]:
    """The answers to a query as objects."""
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
