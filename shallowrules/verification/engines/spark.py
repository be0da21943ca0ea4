"""Spark, on one core: the package pyspark, with the system's Java."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

from shallowrules.errors import EngineError
from shallowrules.verification.engines.base import Cell, Engine, Row, as_text, days_and_clock, missing_engine

__all__ = ["Spark"]

JAVA = "apt-get install default-jre-headless"
BRIEF_JAVA = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1")
"""Options for a short-lived Java: it compiles quickly, since thorough compilation took more than a third of the
time."""
STOP_SECONDS = 30
LOADED = "loaded_by_shallowrules"


def _import_pyspark() -> ModuleType:
    try:
        pyspark = import_module("pyspark")
    except ImportError:
        raise missing_engine(Spark.dialect, "pyspark", extra="engines") from None
    if shutil.which("java") is None:
        raise missing_engine(Spark.dialect, "Java", command=JAVA)
    return pyspark


class Spark(Engine):
    """The Spark of the package pyspark: a database of its own in a session of its own."""

    dialect = "spark"
    title = "Spark"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "BIGINT",
        "unsigned": "DECIMAL(20, 0)",
        "float": "DOUBLE",
        "float32": "FLOAT",
        "text": "STRING",
        "date": "DATE",
        "timestamp": "TIMESTAMP_NTZ",
        "timestamptz": "TIMESTAMP",
        "duration": "INTERVAL DAY TO SECOND",
        "boolean": "BOOLEAN",
    }
    settings: ClassVar[Mapping[str, str]] = {
        "SET spark.sql.parser.escapedStringLiterals = true": "RESET spark.sql.parser.escapedStringLiterals",
        "SET spark.sql.ansi.enabled = false": "RESET spark.sql.ansi.enabled",
    }

    def __init__(self, session: Any, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self.version = session.version

    @classmethod
    def check_installed(cls) -> None:
        """Import it, and look for Java."""
        _import_pyspark()

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Start Spark, or take a session of its own from one that runs in this process already."""
        pyspark = _import_pyspark()
        with tempfile.TemporaryDirectory(prefix="shallowrules-spark-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            if pyspark.SparkContext._active_spark_context is not None:
                yield from cls._in_session(pyspark.sql.SparkSession.builder.getOrCreate().newSession(), folder)
                return
            gateway = None
            try:
                session, gateway = _start(pyspark, folder)
                yield from cls._in_session(session, folder)
                session.stop()
            finally:
                if gateway is not None:
                    _stop(pyspark, gateway)

    @classmethod
    def _in_session(cls, session: Any, folder: Path) -> Iterator[Self]:
        engine = cls(session, folder)
        database = folder.name.replace("-", "_")
        engine.query(f"USE {database}", [f"CREATE DATABASE {database} LOCATION '{folder / 'tables'}'"])
        try:
            yield engine
        finally:
            engine.query(f"DROP DATABASE {database} CASCADE", ["USE default"])

    def quote(self, name: str) -> str:
        """Return a name as SQL."""
        return "`" + name.replace("`", "``") + "`"

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        path = self._folder / "rows.json"
        with path.open("w", encoding="ascii") as lines:
            for row in rows:
                texts = {f"c{j}": text for j, text in enumerate(map(_as_read, row)) if text is not None}
                lines.write(json.dumps(texts) + "\n")
        schema = ", ".join(f"c{j} STRING" for j in range(len(columns)))
        self._session.read.schema(schema).json(str(path)).createOrReplaceTempView(LOADED)
        selected = ", ".join(_cast(f"c{j}", kind) for j, (_, kind) in enumerate(columns))
        self.query(
            f"INSERT INTO {self.quote(table)} SELECT {selected} FROM {self.quote(LOADED)}",
            [f"{self._declare(table, columns)} USING parquet"],
        )

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement. A setting holds until the end of the engine."""
        from pyspark.errors import PySparkException

        for text in (*before, statement):
            try:
                found = self._session.sql(text).collect()
            except PySparkException as error:
                raise EngineError(self.title, text, str(error).strip()) from error
        return [tuple(map(as_text, row)) for row in found]


def _as_read(value: Cell) -> str | None:
    """Return a value as Spark reads it from text: a duration with a single sign."""
    return " ".join(days_and_clock(value)) if isinstance(value, timedelta) else as_text(value)


def _cast(column: str, kind: str) -> str:
    """Return the expression that converts text to a value of a column's type; a text is assigned as it is."""
    return column if kind.split("(")[0].split()[0] in ("STRING", "CHAR", "VARCHAR") else f"CAST({column} AS {kind})"


def _start(pyspark: ModuleType, folder: Path) -> tuple[Any, Any]:
    """Return a session of a Spark that listens on this machine only and writes to the folder, and its gateway."""
    from pyspark.java_gateway import launch_gateway

    (folder / "log4j2.properties").write_text("rootLogger.level = off\n")
    logs = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    settings = {
        "spark.master": "local[1]",
        "spark.app.name": "shallowrules",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join((logs, *BRIEF_JAVA)),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "1",
    }
    conf = pyspark.SparkConf(loadDefaults=False).setAll(settings.items())
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # Spark repeats every error at length
    gateway = None
    try:
        with (folder / "log").open("wb") as log, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pyspark, on other packages
            launch: Any = launch_gateway  # untyped
            gateway = launch(conf, popen_kwargs={"stdout": log, "stderr": log})
            context = pyspark.SparkContext(conf=conf, gateway=gateway)
            return pyspark.sql.SparkSession(context), gateway
    except Exception as error:
        if gateway is not None:
            _stop(pyspark, gateway)
        said = (folder / "log").read_text(errors="replace")
        raise EngineError("Spark", "", f"{error} {said}".strip()[-2000:]) from error


def _stop(pyspark: ModuleType, gateway: Any) -> None:
    """End the Java that a gateway leads to, so that another Spark can be started."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(STOP_SECONDS)
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
