"""Rules as SQL: the facts about each dialect, predicates in it, and the exporter that arranges them."""

from shallowrules.exporters.sql.ddl import declared_types
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.dialects import ALIASES, DIALECTS, dialect_of_database
from shallowrules.exporters.sql.exporter import (
    SqlExporter,
    cluster_predicates,
    fastest_case,
    lacks_value,
    neither_predicate,
    plain_sql,
    precision_case,
    refuse_measure,
    unknown_predicate,
)
from shallowrules.exporters.sql.labels import cluster_type
from shallowrules.exporters.sql.migration import write_migration
from shallowrules.exporters.sql.options import LABELLING_STYLES, STYLES, SqlOptions
from shallowrules.exporters.sql.times import range_of_times

__all__ = [
    "ALIASES",
    "DIALECTS",
    "LABELLING_STYLES",
    "STYLES",
    "Dialect",
    "SqlExporter",
    "SqlOptions",
    "cluster_predicates",
    "cluster_type",
    "declared_types",
    "dialect_of_database",
    "fastest_case",
    "lacks_value",
    "neither_predicate",
    "plain_sql",
    "precision_case",
    "range_of_times",
    "refuse_measure",
    "unknown_predicate",
    "write_migration",
]
