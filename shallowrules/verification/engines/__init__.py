"""Database engines that run the emitted SQL on this machine: one private database each, gone when it is closed."""

from __future__ import annotations

from collections.abc import Mapping

from shallowrules.verification.engines.base import Cell, Engine, Row
from shallowrules.verification.engines.clickhouse import ClickHouse
from shallowrules.verification.engines.duckdb import DuckDB
from shallowrules.verification.engines.mariadb import MariaDB
from shallowrules.verification.engines.postgres import Postgres
from shallowrules.verification.engines.spark import Spark
from shallowrules.verification.engines.sqlite import SQLite

__all__ = ["ENGINES", "Cell", "Engine", "Row"]

ENGINES: Mapping[str, type[Engine]] = {
    engine.dialect: engine for engine in (DuckDB, SQLite, Postgres, MariaDB, ClickHouse, Spark)
}
"""The engines by the dialect that each speaks."""
