"""Database engines that run the emitted SQL on this machine: one private database each, gone when it is closed."""

from __future__ import annotations

from collections.abc import Mapping

from shallowrules.engines.base import Cell, Engine, Row
from shallowrules.engines.clickhouse import ClickHouse
from shallowrules.engines.duckdb import DuckDB
from shallowrules.engines.mariadb import MariaDB
from shallowrules.engines.postgres import Postgres
from shallowrules.engines.spark import Spark
from shallowrules.engines.sqlite import SQLite

__all__ = ["ENGINES", "Cell", "Engine", "Row"]

ENGINES: Mapping[str, type[Engine]] = {
    engine.dialect: engine for engine in (DuckDB, SQLite, Postgres, MariaDB, ClickHouse, Spark)
}
"""The engines by the dialect that each speaks."""
