"""Rules as SQL: one predicate per cluster, a flat CASE expression, or a whole query.

CASE has no ELSE unless one is requested, so a row without a value gets no cluster.

Templates see, besides `shallowrules.exporters.context`: ``dialect``, ``table`` (the parts of its name),
``cluster_column``, ``name_column`` (that of the cluster's name, or none), ``precision_column`` (that of the precision
of the row's rule, or none), ``output_columns`` (names; none for all), ``qualify_star``, ``alias`` (the text between a
table and its alias), ``no_table`` (the end of a SELECT of constants), ``header`` (the lines of the comment that the
text begins with), ``predicate`` (SQL text) and ``label`` (SQL text, what its rows get) of every cluster and rule,
``named`` (SQL text, what they get beside it, or none) of every cluster, ``named_cases`` (the same as ``cases`` for
these, where the number does not determine them, or none), ``precision_cases`` (the same for the precision of a row's
rule, or none), and ``cases``: its ``parts``, the CASE expressions of which the first that is not NULL counts, with
their ``branches`` (``predicate`` and ``label``) and ``otherwise`` (SQL text, or none), and ``marker``, a label that
will become NULL (or none). In the style ``check`` they see ``check``: ``labels``, ``counts``, ``total``, ``training``,
``findings`` and ``shares``, names that the table does not have, and ``columns``, the tested columns of text, with
``finding`` and, as SQL text, ``value`` and the ``predicate`` of a value that no training row had. In ``drift`` they see
``names``, the names of its parts. In both, ``measure`` is SQL text, the number to add up, or none, and ``total_share``
of every cluster its share of the total in training (SQL text), where ``knows_total``. For clusters that are kept in the
database there are ``into`` (the parts of the name of the view, table or function), ``statement`` (the statement with
places for the others, a field of `shallowrules.exporters.sql.writing.Writing`, or for a function one of `FUNCTIONS`),
``changed`` (a field of `Writing`), ``margin`` (the blanks before text that is put into a statement), ``cluster_type``
(the type of the cluster), ``cast`` (how it is cast to that, or none), ``arguments`` (SQL text, of a function) and
``compared`` (the expressions that make ``column`` and ``value`` comparable).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from shallowrules.errors import ExportError, OptionError, OptionName
from shallowrules.exporters.base import ClusterAs
from shallowrules.exporters.context import check_length, describe
from shallowrules.exporters.rendering import render
from shallowrules.exporters.sql.cases import flat_cases, nested_case, ordered_cases
from shallowrules.exporters.sql.column_names import (
    called_alike,
    find_output_columns,
    name_columns,
    names_in_table,
    refuse_lookalikes,
)
from shallowrules.exporters.sql.declared import ANY_NUMBERS, Held, held_by, usually_held, without_collation
from shallowrules.exporters.sql.dialect import JINJA_END, JINJA_MARK, Dialect
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.sql.functions import FUNCTIONS, argument_types
from shallowrules.exporters.sql.header import header_lines
from shallowrules.exporters.sql.labels import cluster_type, comparable, label_literals, otherwise_literal, unused_label
from shallowrules.exporters.sql.options import (
    CLUSTER_COLUMN,
    COUNTING,
    IN_STATEMENTS,
    INDENTS,
    MEASURE,
    QUERIES,
    QUOTES,
    WITH_CLUSTER_COLUMN,
    SqlOptions,
)
from shallowrules.exporters.sql.predicates import Predicates
from shallowrules.exporters.sql.reading import NumberColumn
from shallowrules.exporters.sql.writing import WRITING, Writing
from shallowrules.rules import RuleColumn, RuleSet

__all__ = [
    "SqlExporter",
    "cluster_predicates",
    "fastest_case",
    "lacks_value",
    "neither_predicate",
    "plain_sql",
    "precision_case",
    "refuse_measure",
    "signature",
    "target_of",
    "unknown_predicate",
]


class SqlExporter:
    """Writes rules as SQL; options: `SqlOptions`."""

    name = "sql"
    file_extension = ".sql"
    media_type = "application/sql"
    options = SqlOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the rules in one style and dialect.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If the dialect cannot hold a name, or treats two as the same.
        """
        settings = SqlOptions(**options)
        text = _write(rules, settings)
        return text if settings.template is not None else _raw(text)

    def check_columns(self, names: Sequence[str], **options: Any) -> None:
        """Refuse options that cannot be used with any rules over columns of these names."""
        name_columns(names, SqlOptions(**options))


def plain_sql(rules: RuleSet, **options: Any) -> str:
    """Return the text that `SqlExporter` gives, as an engine takes it: a Jinja file may read something into it."""
    return _write(rules, SqlOptions(**options))


def cluster_predicates(rules: RuleSet, **options: Any) -> dict[int, str]:
    """Return the predicate of each cluster, largest first: SQL as the style ``where`` writes it.

    Parameters
    ----------
    rules : RuleSet
    **options
        Of `SqlOptions`: dialect and columns.
    """
    _, predicates = _prepare(rules, SqlOptions(**options))
    return {cluster.index: predicates.of_cluster(rules.rules_of(cluster.index)) for cluster in rules.by_size}


def lacks_value(rules: RuleSet, **options: Any) -> str:
    """Return the predicate for the rows without a value in a column that the rules test; empty where there are none.

    Parameters
    ----------
    rules : RuleSet
    **options
        Of `SqlOptions`: dialect and columns.
    """
    _, predicates = _prepare(rules, SqlOptions(**options))
    found = [predicates.without_value(feature, rules.columns[feature]) for feature in rules.tested_columns]
    return " OR ".join(f"({predicate})" for predicate in found if predicate)


def fastest_case(rules: RuleSet, **options: Any) -> str:
    """Return SQL for the number of each row's cluster, for fast evaluation by an engine, not for people to read.

    Parameters
    ----------
    rules : RuleSet
    **options
        Of `SqlOptions`: dialect, columns and otherwise.
    """
    settings = SqlOptions(style="ordered", **options)
    dialect, predicates = _prepare(rules, settings)
    if max(rule.depth for rule in rules) > dialect.limits.nested:
        flat = "ordered" if dialect.limits.nested else "case"
        return SqlExporter().export(rules, style=flat, **options).rstrip()
    labels = label_literals(rules.clusters, "number", dialect)
    without = otherwise_literal(rules.clusters, settings, dialect) or "NULL"
    return nested_case(rules, predicates, labels, without)


def precision_case(rules: RuleSet, **options: Any) -> str:
    """Return SQL for the precision of each row's rule, for an engine that takes any number of branches in a CASE.

    Parameters
    ----------
    rules : RuleSet
    **options
        Of `SqlOptions`: dialect and columns.

    Raises
    ------
    DataError
        If the precision of a rule is not known.
    """
    _, predicates = _prepare(rules, SqlOptions(style="case", **options))
    branches = ("WHEN {predicate} THEN {label}".format(**each) for each in _precision_branches(rules, predicates))
    return f"CASE {' '.join(branches)} END"


def _write(rules: RuleSet, settings: SqlOptions) -> str:
    """Return the rules in one style and dialect."""
    dialect, predicates = _prepare(rules, settings)
    writing = WRITING[dialect.name or "ansi"]
    header = header_lines(rules, predicates, settings, _without_cluster(settings))
    if settings.style == "ordered":
        header.append("A branch relies on those before it: keep their order.")
    context = {
        **_describe_statement(rules, settings, predicates, writing),
        **_describe_clusters(rules, settings, predicates),
        **_describe_query(rules, settings, predicates, writing),
        "header": header,
        "options": _plain_options(settings),
    }
    template = f"sql_{'case' if settings.style == 'ordered' else settings.style}.sql.j2"
    text = render(dialect, template, context, settings.template)
    statement = context["statement"]
    if "$$" in statement and text.count("$$") > statement.count("$$"):
        raise ExportError(f"a name or text of the rules has $$, which ends a function of {dialect.name}: write a view")
    caveat = dialect.limits.caveat(text)
    if caveat:
        header.append(caveat)
        text = render(dialect, template, context, settings.template)
    return text


def _describe_clusters(rules: RuleSet, settings: SqlOptions, predicates: Predicates) -> dict[str, Any]:
    """Return the template's data on the clusters and their rules, and the CASE expressions that tell them apart."""
    dialect, is_count = predicates.dialect, settings.style in COUNTING
    cluster_as: ClusterAs = "name" if settings.cluster_as == "name" and not is_count else "number"
    # Where rows are counted, -1 stands for those without a cluster.
    clusters = [replace(cluster, noise=False) for cluster in rules.clusters] if is_count else rules.clusters
    labels = label_literals(clusters, cluster_as, dialect)
    names = label_literals(rules.clusters, "name", dialect) if settings.name_column else {}
    otherwise = None if is_count else otherwise_literal(rules.clusters, settings, dialect)
    context = describe(rules, lambda rule: {"predicate": predicates.of_rule(rule), "label": labels.get(rule.cluster)})
    trained = {} if settings.measure is None else rules.trained_totals(settings.measure)
    for cluster in context["clusters"]:
        cluster["predicate"] = predicates.of_any([rule["predicate"] for rule in cluster["rules"]])
        cluster["label"] = labels[cluster["index"]]
        cluster["named"] = names.get(cluster["index"])
        cluster["total_share"] = None if not trained else f"{trained[cluster['index']]:.6f}"
    if settings.style == "ordered":
        unused = unused_label(rules.clusters, cluster_as, dialect)
        cases = ordered_cases(rules, labels, predicates, otherwise, unused)
    else:
        cases = flat_cases(context["rules"], otherwise, dialect)
    return {
        **context,
        "cases": cases,
        "knows_total": bool(trained),
        "compared": comparable(cluster_as, dialect),
        **_cases_beside(rules, settings, predicates, names),
    }


def _cases_beside(
    rules: RuleSet, settings: SqlOptions, predicates: Predicates, names: Mapping[int, str]
) -> dict[str, Any]:
    """Return the CASE expressions of the columns beside the cluster's: its name, and the precision of a row's rule."""
    dialect = predicates.dialect
    if predicates.indent is not None and _cast(settings, WRITING[dialect.name or "ansi"]) is not None:
        predicates = predicates.indented(predicates.indent - 2)  # the cast is around the cluster alone
    named_cases = precision_cases = None
    if settings.name_column and not settings.knows_columns:
        named = [{"predicate": predicates.of_rule(rule), "label": names[rule.cluster]} for rule in rules]
        named_cases = flat_cases(named, None, dialect)
    if settings.with_precision:
        precision_cases = flat_cases(_precision_branches(rules, predicates), None, dialect)
    return {"named_cases": named_cases, "precision_cases": precision_cases}


def _describe_query(rules: RuleSet, settings: SqlOptions, predicates: Predicates, writing: Writing) -> dict[str, Any]:
    """Return the template's data on the table that is read, and the columns that a query gives."""
    dialect, table = predicates.dialect, settings.table_parts
    of_style: dict[str, Any] = {}
    if settings.style == "check":
        of_style["check"] = _describe_check(rules, predicates, table)
    if settings.style == "drift":
        stems = ("labelled", "counts", "total", "training", "found", "shares")
        of_style["names"] = _names_of_parts(stems, table, "drift")
    return {
        **of_style,
        "dialect": settings.dialect,
        "table": table,
        "cluster_column": settings.cluster_column,
        "name_column": settings.name_column,
        "precision_column": settings.precision_column,
        "measure": None if settings.measure is None else predicates.number(len(predicates.names) - 1),
        "cast": _cast(settings, writing),
        "output_columns": find_output_columns(settings, dialect),
        "qualify_star": dialect.names.qualify_star,
        "alias": dialect.names.alias,
        "no_table": dialect.names.no_table,
    }


def _describe_statement(
    rules: RuleSet, settings: SqlOptions, predicates: Predicates, writing: Writing
) -> dict[str, Any]:
    """Return the template's data on the statement that keeps clusters in the database."""
    statement = _statement(settings, predicates.dialect, writing)
    arguments = ""
    if settings.style == "function":
        told = (f"{name} {kind}".rstrip() for name, kind in _arguments(rules, settings, predicates))
        arguments = f"({', '.join(told)})"
    return {
        "into": target_of(settings, predicates.dialect),
        "statement": statement,
        "margin": _margin(statement),
        "arguments": arguments,
        "changed": writing.changed,
        "cluster_type": cluster_type(rules, settings, writing),
    }


def _precision_branches(rules: RuleSet, predicates: Predicates) -> list[dict[str, str]]:
    """Return the branches of a CASE expression that gives each row the precision of its rule."""
    found, number = rules.rule_precisions(), predicates.dialect.number
    return [{"predicate": predicates.of_rule(rule), "label": number(found[rule.leaf])} for rule in rules]


def _plain_options(settings: SqlOptions) -> dict[str, Any]:
    """Return the options as plain data, without files."""
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}
    return {**plain, "output_columns": list(settings.output_columns), "ddl": None, "template": None}


def _raw(text: str) -> str:
    """Return SQL that passes unchanged through a Jinja file (a dbt model), even if a name or text in it has a mark.

    The marks that make it raw are in SQL comments. A name with the mark ``{% endraw %}`` is an error there. A mark at
    the top makes sure of this: ``{% raw %}`` may occur in another name.
    """
    if JINJA_MARK.search(text) is None:
        return text
    if JINJA_END.search(text) is not None:
        return f"/* {{% endraw %}} */\n{text}"
    return f"/* {{% raw %}} */\n{text}/* {{% endraw %}} */\n"


def _without_cluster(settings: SqlOptions) -> str:
    """Return the result for a row that no rule matches."""
    if settings.style in COUNTING:
        return "A row that no rule matches is counted as a row without a cluster."
    if settings.style == "where":
        return "A row that no rule matches is in no cluster."
    return f"A row that no rule matches gets {'NULL' if settings.otherwise is None else settings.otherwise}."


def _names_of_parts(stems: Sequence[str], table: Sequence[str], style: str) -> dict[str, str]:
    """Return names for the parts of a query, by their purpose; the table that it reads has none of these names."""
    return {stem: f"{stem} of {style}" if table[-1].casefold() == stem else stem for stem in stems}


def _describe_check(rules: RuleSet, predicates: Predicates, table: Sequence[str]) -> dict[str, Any]:
    """Return the template's data for the style ``check``, besides the rules."""
    names = _names_of_parts(("labels", "counts", "total", "training", "findings", "shares"), table, "check")
    texts = [feature for feature in rules.tested_columns if rules.columns[feature].type == "text"]
    dialect = predicates.dialect
    return {
        **names,
        "columns": [
            {
                "finding": f"new value in {predicates.names[feature]}",
                "value": dialect.texts.trimmed.format(value=dialect.identifier(predicates.names[feature])),
                "predicate": predicates.unknown(feature, rules.columns[feature]),
            }
            for feature in texts
        ],
    }


def neither_predicate(column: RuleColumn, name: str, dialect: str) -> str:
    """Return the predicate for rows whose text in a column of numbers is neither a number nor a null marker.

    Parameters
    ----------
    column : RuleColumn
    name : str
        Its name in the database.
    dialect : str
    """
    return NumberColumn(column, name, find_dialect(dialect)).neither()


def unknown_predicate(column: RuleColumn, name: str, dialect: str) -> str:
    """Return the predicate for rows whose text no training row had; the parameters are those of `neither_predicate`.

    A row without a value has none.
    """
    return Predicates([name], find_dialect(dialect)).unknown(0, column)


def _prepare(rules: RuleSet, settings: SqlOptions) -> tuple[Dialect, Predicates]:
    """Return the dialect, and the maker of predicates in it."""
    check_length(rules)
    dialect = replace(find_dialect(settings.dialect), quotes=QUOTES[settings.identifiers])
    old_names = [*(column.name for column in rules.columns), *rules.statistics.other_columns]
    used = rules.tested_columns
    if settings.measure is not None:  # the last of all names
        refuse_measure(rules, settings.measure)
        old_names = [*(name for name in old_names if name != settings.measure), settings.measure]
        used = (*used, len(old_names) - 1)
    names = name_columns(old_names, settings)
    types = settings.table_types
    if types:
        names = names_in_table(names, used, types, dialect)
    if settings.style == "function" and not types:
        types = {names[feature]: declared for feature, declared in argument_types(rules, dialect).items()}
    refuse_lookalikes(names, used, settings.dialect, dialect)
    for new in settings.new_columns if settings.style in (*WITH_CLUSTER_COLUMN, "update") else []:
        dialect.column(new)
        if settings.style in QUERIES and not dialect.keeps_alias(new):
            raise ExportError(
                f"{dialect.name} drops the blanks before the name {new!r}; use a different one with ", CLUSTER_COLUMN
            )
    if settings.style == "update" and (name := called_alike(names[: len(rules.columns)], settings)) is not None:
        raise ExportError(
            f"the rules are about the column {name!r}, which an update would overwrite; name a different one with ",
            CLUSTER_COLUMN,
        )
    if settings.guards == "full":
        held: list[Held | None] = [None] * len(names)
    elif types:
        held = [held_by(dialect, types.get(name, "")) for name in names]
    else:
        held = [usually_held(dialect, column) for column in rules.columns]
        held += [ANY_NUMBERS] * (len(names) - len(held))
    return dialect, Predicates(names, dialect, held, indent=_indent(settings, dialect, WRITING[dialect.name or "ansi"]))


def refuse_measure(rules: RuleSet, measure: str) -> None:
    """Raise OptionError for a measure that is a column of the rules."""
    if any(column.name == measure for column in rules.columns):
        raise OptionError(
            MEASURE,
            f" names {measure!r}, which is a column of the rules: name a different column, or fit the "
            "rules with this measure, which excludes the column from the clustering",
        )


def _statement(settings: SqlOptions, dialect: Dialect, writing: Writing) -> str:
    """Return the statement that a style puts a query or an expression into; empty for the others."""
    if settings.style == "function":
        return FUNCTIONS[dialect.name][0]
    if settings.style not in IN_STATEMENTS:
        return ""
    if settings.materialized:
        if writing.materialized is None:
            raise ExportError(f"dialect {settings.dialect!r} has no materialized views; make a table")
        return writing.materialized
    statement: str | None = getattr(writing, settings.style)
    if statement is None:
        raise ExportError(f"dialect {settings.dialect!r} has no style 'column': {writing.refused}")
    return statement


def signature(rules: RuleSet, settings: SqlOptions) -> str:
    """Return the types of a function's arguments in brackets, where the dialect needs them to drop it; else nothing."""
    if find_dialect(settings.dialect).name != "snowflake":
        return ""
    _, predicates = _prepare(rules, settings)
    return f"({', '.join(kind for _, kind in _arguments(rules, settings, predicates))})"


def _arguments(rules: RuleSet, settings: SqlOptions, predicates: Predicates) -> Iterator[tuple[str, str]]:
    """Yield the argument of a function for each tested column, and its type, empty where it has none."""
    types = argument_types(rules, predicates.dialect)
    for feature in rules.tested_columns:
        name = predicates.names[feature]
        kind = _of_argument(settings.table_types.get(name) or types[feature]) if types else ""
        yield predicates.dialect.column(name), kind


def target_of(settings: SqlOptions, dialect: Dialect) -> list[str]:
    """Return the parts of the new object's name; ExportError if the dialect has no such name for it."""
    if (settings.style, dialect.name) != ("function", "clickhouse") or len(settings.target) == 1:
        return settings.target
    if settings.into is not None:
        raise ExportError(
            "a function of ClickHouse is not in a database; give a name without one with ", OptionName("into")
        )
    return settings.target[-1:]


def _of_argument(declared: str) -> str:
    """Return the type of an argument for a column's declaration: without a collation, and never a serial type."""
    return re.sub(r"(?i)^(SMALL|BIG)?SERIAL$", lambda found: f"{found[1] or ''}INT", without_collation(declared))


def _margin(statement: str) -> str:
    """Return the blanks before a query or an expression in the statement that it is put into."""
    found = re.search(r"^( *).*\{(query|value)\}", statement, re.MULTILINE)
    return "" if found is None else found[1]


def _indent(settings: SqlOptions, dialect: Dialect, writing: Writing) -> int:
    """Return the blanks before a condition on a line of its own."""
    if settings.style == "where":
        return 2
    case = INDENTS.get(settings.style, 0) + len(_margin(_statement(settings, dialect, writing)))
    deeper = (settings.name_column is not None and settings.knows_columns) + (_cast(settings, writing) is not None)
    return case + 2 * deeper + 4


def _cast(settings: SqlOptions, writing: Writing) -> str | None:
    """Return how a query casts the cluster to the smallest type, where it is stored."""
    return writing.cast if settings.style == "table" and settings.cluster_as != "name" else None
