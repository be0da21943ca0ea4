"""Rules as a model of a dbt project, with its tests and its documentation.

The model labels the rows of another model or of a source. Templates write SQL as an engine takes it; what Jinja would
read into a name or a text becomes an expression of Jinja that gives it, so that dbt sees every name as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, get_args

from shallowrules.errors import OptionError, OptionName, check_choice
from shallowrules.exporters.context import describe
from shallowrules.exporters.markdown import MarkdownExporter
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.rendering import render
from shallowrules.exporters.sql import lacks_value, plain_sql
from shallowrules.exporters.sql.dialect import JINJA_MARK
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.rules import RuleSet
from shallowrules.sources.qualified_names import split_table

__all__ = ["DbtExporter", "DbtOptions"]

Materialized = Literal["view", "table"]

MODEL, CLUSTER_COLUMN, TABLE, MAX_SHIFT = map(OptionName, ("model", "cluster_column", "table", "max_shift"))

CHANGED = re.compile(rf"{JINJA_MARK.pattern}|\r")
"""What Jinja does not leave as it is: it takes every way to end a line for one."""

OPENING = re.compile(r"\{(?=[{%#])")
"""The first character of a mark; Markdown shows an entity in its place, and Jinja does not see one."""

ROWS = "rows to label"
LABELLED = "labelled rows"
"""Names of the parts of queries that stand for what dbt refers to."""


@dataclass(frozen=True)
class DbtOptions:
    """Options of the exporter ``"dbt"``.

    Parameters
    ----------
    dialect : str
        The warehouse's SQL; the names are those of the exporter sql.
    table : str, or sequence of its parts
        What the model reads: the name of another model, or a source and its table, ``shop.customers``.
    model : str, optional
        The model's name; by default that of the table with ``_clusters``.
    columns : mapping from str to str
        Name that the warehouse has in place of that of the training table.
    types : mapping from str to str
        Declared types of columns, by their names in the warehouse; conditions then have only the guards that these
        types need. If any type is given, every tested column needs one.
    cluster_column : str
        Name of the column that holds the cluster's number.
    materialized : {"view", "table"}
        What dbt makes of the model.
    max_shift : float
        How much the share of a cluster, or of rows without one, may differ from training until a test fails.
    """

    dialect: str = field(default="ansi", metadata=on_command_line(default_from="dialect"))
    table: str | Sequence[str] = field(default="data", metadata=on_command_line(default_from="table"))
    model: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("column"))
    types: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("type", default_from="types"))
    cluster_column: str = "cluster"
    materialized: Materialized = "view"
    max_shift: float = 0.05

    def __post_init__(self) -> None:
        find_dialect(self.dialect)
        if len(split_table(self.table)) > 2:
            raise OptionError(TABLE, " must be the name of a model, or of a source and its table: 'shop.customers'")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name):
            raise OptionError(MODEL, f" must be of ASCII letters, digits and _, not {self.name!r}")
        check_choice("materialized", self.materialized, get_args(Materialized), option="materialized")
        if (
            not isinstance(self.cluster_column, str)
            or not self.cluster_column
            or JINJA_MARK.search(self.cluster_column)
        ):
            raise OptionError(CLUSTER_COLUMN, " must be a name without marks of Jinja")
        if isinstance(self.max_shift, bool) or not 0 <= float(self.max_shift) <= 1:
            raise OptionError(MAX_SHIFT, f" must be a share from 0 to 1, not {self.max_shift!r}")

    @property
    def name(self) -> str:
        """The name of the model."""
        return f"{split_table(self.table)[-1]}_clusters" if self.model is None else str(self.model)


class DbtExporter:
    """Writes rules as files of a dbt project; options: `DbtOptions`."""

    name = "dbt"
    file_extension = ""
    media_type = "application/sql"
    options = DbtOptions

    def export(self, rules: RuleSet, **options: Any) -> dict[str, str]:
        """Return the model, what dbt is to know of it, its documentation, and two tests of its rows.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If the dialect cannot hold a name, or takes two for one.
        """
        settings = DbtOptions(**options)
        dialect = find_dialect(settings.dialect)
        sql: dict[str, Any] = {
            "dialect": settings.dialect,
            "columns": settings.columns,
            "types": settings.types,
            "guards": "usual" if settings.types else "full",
        }
        select = plain_sql(rules, style="select", table=[ROWS], cluster_column=settings.cluster_column, **sql)
        context = describe(rules, lambda rule: {})
        for cluster in context["clusters"]:
            cluster["label"] = str(cluster["index"])
        numbers = {cluster.index for cluster in rules.clusters}
        context.update(
            labelled=LABELLED,
            cluster_column=settings.cluster_column,
            max_shift=settings.max_shift,
            no_table=dialect.names.no_table,
            alias=dialect.names.alias,
            lacks_value=lacks_value(rules, **sql),
            unlabelled=next(number for number in count(-1, -1) if number not in numbers),
        )
        parts = split_table(settings.table)
        read, model = _call("source" if len(parts) > 1 else "ref", parts), _call("ref", [settings.name])

        def over(relation: str, name: str, query: str) -> str:
            """Return a query over rows that dbt refers to."""
            return f"WITH {dialect.identifier(name)} AS (\n  SELECT * FROM {relation}\n){_escape(query)}"

        config = f"{{{{ config(materialized='{settings.materialized}') }}}}\n"
        sheet = OPENING.sub("&#123;", MarkdownExporter().export(rules, title=settings.name))
        return {
            f"models/{settings.name}.sql": config + over(read, ROWS, "\n" + select),
            f"models/{settings.name}.yml": _schema(rules, settings),
            f"models/{settings.name}.md": f"{{% docs {settings.name} %}}\n{sheet}{{% enddocs %}}\n",
            f"tests/{settings.name}_complete.sql": over(
                model, LABELLED, render(dialect, "dbt_complete.sql.j2", context)
            ),
            f"tests/{settings.name}_shares.sql": over(model, LABELLED, render(dialect, "dbt_shares.sql.j2", context)),
        }


def _call(function: str, parts: Sequence[str]) -> str:
    """Return a call of a function of dbt; a text of JSON is one of Jinja."""
    return f"{{{{ {function}({', '.join(json.dumps(part, ensure_ascii=False) for part in parts)}) }}}}"


def _escape(text: str) -> str:
    """Return text that Jinja renders as it is: what it would read or change, as an expression that gives it."""
    return CHANGED.sub(lambda found: f"{{{{ {json.dumps(found[0])} }}}}", text)


def _schema(rules: RuleSet, settings: DbtOptions) -> str:
    """Return the properties of the model, as YAML."""
    numbers = ", ".join(str(cluster.index) for cluster in rules.clusters)
    column = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in settings.cluster_column)
    return f"""version: 2

models:
  - name: {settings.name}
    description: '{{{{ doc("{settings.name}") }}}}'
    columns:
      - name: "{column}"
        quote: true
        description: Number of the cluster; none where a value that the rules test is missing.
        data_tests:
          - accepted_values:
              values: [{numbers}]
              quote: false
"""
