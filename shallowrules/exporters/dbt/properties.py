"""The properties of a dbt model and its source, as YAML."""

from __future__ import annotations

from shallowrules.errors import counted
from shallowrules.exporters.dbt.jinja import YAML
from shallowrules.exporters.dbt.options import DbtOptions
from shallowrules.exporters.dbt.unit_tests import rows_of_unit_test
from shallowrules.exporters.rendering import render
from shallowrules.exporters.sql.declared import without_collation
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources.qualified_names import split_table

__all__ = ["number_type", "properties_of", "source_of"]


def number_type(rules: RuleSet, dialect: Dialect) -> str:
    """Return the smallest type that holds the number of each cluster."""
    return WRITING[dialect.name or "ansi"].type_of(cluster.label for cluster in rules.clusters)


def properties_of(rules: RuleSet, settings: DbtOptions, dialect: Dialect) -> str:
    """Return the properties of the model, as YAML: its columns, their tests, and unit tests."""
    names = list(settings.table_types) if settings.has_contract else list(settings.key)
    types = {**settings.table_types, settings.cluster_column: number_type(rules, dialect)}
    context = {
        "model": settings.name,
        "sha256": rules.sha256,
        "contract": settings.has_contract,
        "columns": [
            {"name": name, "type": without_collation(types[name]) if settings.has_contract else ""}
            for name in [*names, settings.cluster_column]
        ],
        "cluster_column": settings.cluster_column,
        "clusters": [cluster.label for cluster in rules.clusters],
        "key": list(settings.key),
        "read": settings.read,
        "rows": rows_of_unit_test(rules, settings, dialect),
    }
    return render(YAML, "dbt_model.yml.j2", context)


def source_of(rules: RuleSet, settings: DbtOptions) -> str:
    """Return the source and its table with the tested columns, as YAML."""
    source, table = split_table(settings.table)
    names = settings.names_of(rules)
    tested = [
        {
            "name": names[feature],
            "type": without_collation(settings.table_types.get(names[feature], "")),
            "description": f"{_range(rules.columns[feature])} in training.",
        }
        for feature in rules.tested_columns
    ]
    return render(YAML, "dbt_sources.yml.j2", {"source": source, "table": table, "tested": tested})


def _range(column: RuleColumn) -> str:
    """Return the description of a column's values."""
    if column.minimum is None or column.maximum is None:
        return counted(len(column.values), "category", "categories")
    return f"{column.show(column.minimum)} to {column.show(column.maximum)}"
