"""Rules as a model of a dbt project, with its properties, its source, its documentation, and tests of its rows.

The model labels the rows of another model or of a source. Templates write SQL as an engine takes it; anything that
Jinja would interpret in a name or a text becomes an expression of Jinja that gives it, so that dbt sees every name as
it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from shallowrules.exporters.context import describe
from shallowrules.exporters.dbt.jinja import OPENING, call, escape
from shallowrules.exporters.dbt.options import DbtOptions
from shallowrules.exporters.dbt.properties import number_type, properties_of, source_of
from shallowrules.exporters.markdown import MarkdownExporter
from shallowrules.exporters.rendering import render
from shallowrules.exporters.sql import Dialect, lacks_value, plain_sql
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.rules import RuleSet
from shallowrules.sources.qualified_names import split_table

__all__ = ["DbtExporter"]

ROWS, LABELLED = "rows_to_label", "labelled_rows"
"""Names of the parts of queries."""


class DbtExporter:
    """Writes rules as files of a dbt project; options: `DbtOptions`."""

    name = "dbt"
    file_extension = ""
    media_type = "application/sql"
    options = DbtOptions

    def export(self, rules: RuleSet, **options: Any) -> dict[str, str]:
        """Return the model, its properties with unit tests, its source, its documentation, and two tests of its rows.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If the dialect cannot hold a name, or treats two as the same.
        """
        settings = DbtOptions(**options)
        dialect = find_dialect(settings.dialect)
        sql: dict[str, Any] = {
            "dialect": settings.dialect,
            "columns": settings.columns,
            "types": settings.table_types,
            "guards": "usual" if settings.table_types else "full",
        }
        context = describe(rules, lambda rule: {})
        labels = {cluster.index: cluster.label for cluster in rules.clusters}
        for cluster in context["clusters"]:
            cluster["label"] = str(labels[cluster["index"]])
        context.update(
            labelled=LABELLED,
            cluster_column=settings.cluster_column,
            max_shift=settings.max_shift,
            no_table=dialect.names.no_table,
            alias=dialect.names.alias,
            lacks_value=lacks_value(rules, **sql),
            unlabelled=next(number for number in count(-1, -1) if number not in labels.values()),
        )
        model = "{{ " + call("ref", [settings.name]) + " }}"

        def test(template: str) -> str:
            """Return a test of the rows of the model."""
            query = escape(render(dialect, template, context))
            return f"WITH {LABELLED} AS (\n  SELECT *\n  FROM {model}\n){query}"

        sheet = OPENING.sub("&#123;", MarkdownExporter().export(rules, title=settings.name, signature=False))
        files = {
            f"models/{settings.name}.sql": _model(rules, settings, dialect, sql),
            f"models/{settings.name}.yml": properties_of(rules, settings, dialect),
            f"models/{settings.name}.md": f"{{% docs {settings.name} %}}\n{sheet}{{% enddocs %}}\n",
            f"tests/{settings.name}_complete.sql": test("dbt_complete.sql.j2"),
            f"tests/{settings.name}_shares.sql": test("dbt_shares.sql.j2"),
        }
        if settings.sources and len(split_table(settings.table)) > 1:
            files[f"models/{settings.name}_sources.yml"] = source_of(rules, settings)
        return files


def _model(rules: RuleSet, settings: DbtOptions, dialect: Dialect, sql: Mapping[str, Any]) -> str:
    """Return the model; under a contract it names its columns, and the cluster has the type that the contract says."""
    given = list(settings.table_types) if settings.has_contract else []
    cluster = dialect.column(settings.cluster_column)
    labelled = plain_sql(
        rules, style="select", table=[ROWS], output_columns=given, cluster_column=settings.cluster_column, **sql
    )
    # The table comes last: there the name needs no quotes.
    before, _, after = labelled.rpartition(dialect.identifier(ROWS))
    labelled = escape(f"{before}{ROWS}{after}")
    config: dict[str, Any] = {"materialized": settings.materialized}
    if settings.key:
        config |= {"unique_key": [dialect.column(name) for name in settings.key], "on_schema_change": "fail"}
    arguments = ", ".join(f"{name}={value!r}" for name, value in config.items())
    text = f"{{{{ config({arguments}) }}}}\nWITH {ROWS} AS (\n{_rows(settings, dialect)})"
    if not given:
        return f"{text}\n\n{labelled}"
    columns = "".join(f"  {escape(dialect.column(name))},\n" for name in given)
    cast = "{}::{}" if "::" in (WRITING[dialect.name or "ansi"].cast or "") else "CAST({} AS {})"  # one style of casts
    typed = f"{cast.format(cluster, number_type(rules, dialect))} AS {cluster}"
    if "\\n" not in json.dumps([rules.to_dict(), dict(settings.columns), given]):  # no name or text has a line break
        labelled = re.sub("^", "  ", labelled, flags=re.MULTILINE).rstrip(" ")
    return f"{text},\n\n{LABELLED} AS (\n{labelled})\n\nSELECT\n{columns}  {typed}\nFROM {LABELLED}\n"


def _rows(settings: DbtOptions, dialect: Dialect) -> str:
    """Return the query of the rows to label: in an incremental run, those that are new or updated."""
    if not settings.key:
        return f"  SELECT *\n  FROM {{{{ {settings.read} }}}}\n"
    alias = dialect.names.alias
    labelled = f"FROM {{{{ this }}}}{alias}labelled"
    same = " AND ".join(f"labelled.{name} = candidate.{name}" for name in map(dialect.column, settings.key))
    lines = [
        "  SELECT candidate.*",
        f"  FROM {{{{ {settings.read} }}}}{alias}candidate",
        "  {% if is_incremental() %}",
        "    WHERE",
        f"      NOT EXISTS (SELECT 1 {labelled} WHERE {same})",
    ]
    if settings.updated_at is not None:
        updated = dialect.column(settings.updated_at)
        lines.append(f"      OR candidate.{updated} >= (SELECT MAX(labelled.{updated}) {labelled})")
    return "\n".join([*lines, "  {% endif %}", ""])
