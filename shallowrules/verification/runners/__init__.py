"""Running the output of exporters: a module for each, and the tables that name them.

An exporter of shallowrules is in one of three tables: `RUNNERS` for output that labels rows by itself, `SQL_RUNNERS`
for output that a database runs, `NOT_RUN` for output that is not run, with the reason. How a plugin's output is run is
not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shallowrules.exporters import InstalledExporter
from shallowrules.verification.runners.base import Runner, SqlRunner
from shallowrules.verification.runners.dbt import run_dbt
from shallowrules.verification.runners.frames import run_pandas, run_polars
from shallowrules.verification.runners.languages import TOOLCHAINS, run_language
from shallowrules.verification.runners.onnx import run_onnx
from shallowrules.verification.runners.page import run_page
from shallowrules.verification.runners.pmml import run_pmml
from shallowrules.verification.runners.python import run_python
from shallowrules.verification.runners.sql import run_sql
from shallowrules.verification.runners.xlsx import run_workbook

__all__ = ["NOT_RUN", "RUNNERS", "SQL_RUNNERS", "cannot_be_run"]

RUNNERS: Mapping[str, Runner] = {
    "python": run_python,
    "pandas": run_pandas,
    "polars": run_polars,
    "pmml": run_pmml,
    "onnx": run_onnx,
    "html": run_page,
    "xlsx": run_workbook,
    **{name: partial(run_language, name) for name in TOOLCHAINS},
}

SQL_RUNNERS: Mapping[str, SqlRunner] = {"sql": run_sql, "dbt": run_dbt}

READ = "read by people, with no labels to compare"
NOT_RUN: Mapping[str, str] = {"markdown": READ, "mermaid": READ, "svg": READ}


def cannot_be_run(exporter: InstalledExporter) -> str | None:
    """Return why an exporter's output cannot be run anywhere, None where it can."""
    if exporter.distribution != "shallowrules":
        return f"it comes from {exporter.distribution}, and verify does not know how to run it"
    if exporter.name in RUNNERS or exporter.name in SQL_RUNNERS:
        return None
    return NOT_RUN.get(exporter.name, "verify does not know how to run it")
