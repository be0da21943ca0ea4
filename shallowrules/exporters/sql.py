"""Rules as SQL: one predicate per cluster, a flat CASE expression, or a whole query.

A column without a value meets no condition, so such a row gets no cluster: conditions are
compared directly and never negated, and CASE has no ELSE.

Templates see, besides `shallowrules.exporters.context`: ``dialect``, ``table`` (the parts of its
name), ``cluster_column``, ``qualify_star``, and ``predicate`` (SQL text) of every cluster and rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from sqlglot.expressions import Literal as TextLiteral
from sqlglot.expressions import to_identifier

from shallowrules.errors import ExportError, OptionError, OptionName, check_choice
from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import bounds, describe
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.rendering import one_line, render
from shallowrules.rules import (
    Between,
    ConditionVisitor,
    NoneOf,
    Number,
    OneOf,
    Rule,
    RuleColumn,
    RuleSet,
    Value,
)

__all__ = ["ALIASES", "DIALECTS", "STYLES", "Dialect", "SqlExporter", "SqlOptions"]

Style = Literal["where", "case", "select"]
STYLES: tuple[str, ...] = get_args(Style)

EVERY_ROW = "1 = 1"
NO_ROW = "1 = 0"

# Engines bound the depth of an expression (SQLite at 1000), and a chain of ANDs or ORs is as deep as
# it is long.
LONGEST_CHAIN = 100

COLUMNS, CLUSTER_COLUMN = OptionName("columns"), OptionName("cluster_column")

RENAME = ("use another name (for a column, the option ", COLUMNS, " maps the old one to it)")


def _ascii_lower(name: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in name)


def _exact(name: str) -> str:
    return name


_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_INTEGER = "^[+-]?[0-9]{{1,18}}$"


def _to_the_end(pattern: str) -> str:
    """Return a pattern for engines where ``$`` is also before a line break at the end, without a backslash."""
    return f"(?s){pattern.removesuffix('$')}(?!.)"


# SQLite writes a number with 15 digits, so numbers stay what they are. It casts the number that a text begins
# with, so what is none has to be kept out: other characters, and signs, points and exponents where they cannot be.
_SQLITE_NUMBER = (
    "CASE WHEN typeof({value}) <> 'text' THEN {value} "
    "WHEN {text} GLOB '*[0-9]*' AND NOT ({text} GLOB '*[^0-9.eE+-]*' OR {text} GLOB '*[^eE][+-]*' "
    "OR {text} GLOB '*[.eE]*.*' OR {text} GLOB '*[eE]*[eE]*' OR {text} GLOB '[eE]*' OR {text} GLOB '[+.-][eE]*' "
    "OR {text} GLOB '*[eE+-]') THEN CAST({text} AS {type}) END"
)


@dataclass(frozen=True)
class Dialect:
    """The facts about one SQL dialect that rules depend on.

    Attributes
    ----------
    name : str
        As sqlglot spells it; empty for sqlglot's own, which is ANSI.
    double : str
        A literal of type double, made of ``{digits}``, or of ``{scientific}``, which always has
        an exponent.
    infinity : str or None
        Where what is no number sorts above every number (NaN; in SQLite, which lets a numeric column
        hold text, any text): infinity as a double, to hold a value below it.
    finite : str or None
        Where the engine may decide a comparison with a bound before it sees the values, from bounds of the column
        that leave NaN out: what is true of a finite ``{value}`` and else not, and is not decided so.
    longest_name : int or None
        Longest name that is not cut or refused, in ``name_unit``.
    name_unit : {"characters", "bytes"}
    refused_names : str or None
        A pattern; a name in which it is found cannot be had.
    fold : callable
        What the engine makes of a quoted name before it compares it with another.
    qualify_star : bool
        Whether ``*`` beside other expressions has to be written ``t.*``.
    alias : str
        Between a table and its alias.
    backticks : bool
        Quote by backticks, whatever sqlglot does.
    text, literal : str
        What makes ``{column}`` and ``{literal}`` comparable character by character: without regard to the
        collation of the column, which may take 'A' for 'a', 'é' for 'e', or ignore blanks at the end.
    any_text : str
        What makes of the text ``{value}`` of a column one that may stand beside any literal.
    coded : str
        Characters that a literal cannot hold, or not the same under every setting of the engine.
    code : str or None
        An expression for one of them, of its number ``{code}``; None where no text can hold it.
    joined, link : str
        What makes one text of literals and such expressions, ``{parts}``, and what stands between them.
    prefix : str
        What a text literal begins with.
    plain_literals : bool
        Text literals as in ANSI SQL, whatever sqlglot does.
    as_text : str
        What makes text of any ``{value}``, of a number so that it can be read again.
    to_double, to_integer : str
        What makes a number of ``{text}``, and NULL of a text that is none; ``{value}`` is what the text was made of.
    checks_text : bool
        Whether these look at the text themselves, so that words in it need no care.
    not_nan : str
        What makes NULL of ``{value}`` where it is NaN.
    true, false : str
    empty_text : bool
        Whether there is an empty text that is not NULL.
    """

    name: str
    double: str = "{scientific}"
    infinity: str | None = None
    finite: str | None = None
    longest_name: int | None = None
    name_unit: str = "characters"
    refused_names: str | None = None
    fold: Callable[[str], str] = _exact
    qualify_star: bool = False
    alias: str = " AS "
    backticks: bool = False
    text: str = "{column}"
    literal: str = "{literal}"
    any_text: str = "{value}"
    coded: str = "\0"
    code: str | None = None
    joined: str = "({parts})"
    link: str = " || "
    prefix: str = ""
    plain_literals: bool = False
    as_text: str = "CAST({value} AS VARCHAR)"
    to_double: str = "TRY_CAST({text} AS DOUBLE)"
    to_integer: str = "TRY_CAST({text} AS BIGINT)"
    checks_text: bool = False
    not_nan: str = "{value}"
    true: str = "TRUE"
    false: str = "FALSE"
    empty_text: bool = True

    def identifier(self, name: str) -> str:
        """Return a name, always quoted; ExportError if the dialect cannot hold it."""
        shown = repr(name)
        if not name:
            raise ExportError("SQL has no empty names: ", *RENAME)
        if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
            raise ExportError(f"SQL cannot hold the name {shown}: ", *RENAME)
        if self.refused_names is not None and re.search(self.refused_names, name):
            raise ExportError(f"{self.name} cannot hold the name {shown}: ", *RENAME)
        length = len(name.encode()) if self.name_unit == "bytes" else len(name)
        if self.longest_name is not None and length > self.longest_name:
            raise ExportError(
                f"the name {shown} has {length} {self.name_unit}, {self.name} allows {self.longest_name}: ",
                *RENAME,
            )
        if self.backticks:
            return "`" + name.replace("`", "``") + "`"
        return to_identifier(name, quoted=True).sql(dialect=self.name)

    def string(self, text: str) -> str:
        """Return a text literal; ExportError if the dialect cannot hold it."""
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise ExportError(f"SQL cannot hold the text {text!r}: it has half a surrogate pair")
        if not text and not self.empty_text:
            raise ExportError(f"dialect {self.name!r} takes an empty text for NULL, and a rule asks for it")
        if not any(c in self.coded for c in text):
            return self._literal(text)
        if self.code is None:
            raise ExportError(f"dialect {self.name or 'ansi'!r} cannot hold the character 0, which {text!r} has")
        pieces = filter(None, re.split(f"([{re.escape(self.coded)}])", text))
        parts = [self.code.format(code=ord(p)) if p in self.coded else self._literal(p) for p in pieces]
        return self.joined.format(parts=self.link.join(parts))

    def _literal(self, text: str) -> str:
        return self.prefix + TextLiteral.string(text).sql(dialect="" if self.plain_literals else self.name)

    def category(self, value: Value) -> str:
        """Return a category as it is compared with a column."""
        if isinstance(value, bool):
            return self.true if value else self.false
        return self.literal.format(literal=self.string(value))

    def number(self, value: int | float) -> str:
        """Return an integer literal for an int, and the shortest exact double literal for a float."""
        if isinstance(value, int):
            return str(value)
        digits = repr(value).replace("e+", "e")
        return self.double.format(digits=digits, scientific=digits if "e" in digits else f"{digits}e0")

    def comment(self, text: str) -> str:
        """Return text for a comment, on one line and without a comment's end."""
        return one_line(text).replace("*/", "* /")


# Oracle and Snowflake fold unquoted names to upper case and keep quoted ones; BigQuery's backslash
# escapes are sqlglot's business. Redshift and others are missing for want of a known order of NaN.
# SQLite's reader may be one unit in the last place off for numbers beyond 1e-280 and 1e280.
DIALECTS: Mapping[str, Dialect] = {
    "ansi": Dialect(
        "",
        qualify_star=True,
        to_double="CAST({text} AS DOUBLE PRECISION)",
        to_integer="CAST({text} AS BIGINT)",
    ),
    "sqlite": Dialect(
        "sqlite",
        double="{digits}",
        infinity="9e999",
        fold=_ascii_lower,
        backticks=True,
        text="{column} COLLATE BINARY",
        code="char({code})",
        as_text="CAST({value} AS TEXT)",
        to_double=_SQLITE_NUMBER.replace("{type}", "REAL"),
        to_integer=_SQLITE_NUMBER.replace("{type}", "INTEGER"),
        checks_text=True,
    ),
    # Not cast to text: DuckDB's reader of CSV takes a column of yes and no for BOOLEAN, which it compares with 'yes'.
    # The statistics in a Parquet file leave NaN out. If they say that all values are at most 5, DuckDB (1.5 and 2.0)
    # takes "x <= 5", "x <= infinity", "NOT isnan(x)" and "x <> NaN" for true without a look at the rows.
    "duckdb": Dialect(
        "duckdb",
        infinity="CAST('Infinity' AS DOUBLE PRECISION)",
        finite="{value} - {value} = 0",
        fold=_ascii_lower,
        code="chr({code})",
        not_nan="CASE WHEN {value} - {value} = 0 OR abs({value}) = CAST('Infinity' AS DOUBLE PRECISION) "
        "THEN {value} END",
    ),
    "postgres": Dialect(
        "postgres",
        double="{digits}::float8",
        infinity="CAST('Infinity' AS DOUBLE PRECISION)",
        longest_name=63,
        name_unit="bytes",
        text='CAST({column} AS TEXT) COLLATE "C"',
        as_text="CAST({value} AS TEXT)",
        to_double=f"CAST(CASE WHEN {{text}} ~ '{_NUMBER}' THEN {{text}} END AS DOUBLE PRECISION)",
        to_integer=f"CAST(CASE WHEN {{text}} ~ '{_INTEGER}' THEN {{text}} END AS BIGINT)",
        checks_text=True,
        not_nan="NULLIF({value}, CAST('NaN' AS DOUBLE PRECISION))",
    ),
    # What a backslash means depends on sql_mode, and the client drops carriage returns: both are spelt by their number.
    # Without _utf8mb4, a literal is read in the character set of the connection.
    "mysql": Dialect(
        "mysql",
        longest_name=64,
        refused_names=r"[\U00010000-\U0010ffff]|[ \t\n\v\f\r]\Z",
        fold=str.casefold,
        text="CAST(CONVERT({column} USING utf8mb4) AS BINARY)",
        literal="CAST({literal} AS BINARY)",
        any_text="CONVERT({value} USING utf8mb4)",
        prefix="_utf8mb4",
        coded="\\\0\r\x1a",
        code="CHAR({code} USING utf8mb4)",
        joined="CONCAT({parts})",
        link=", ",
        plain_literals=True,
        as_text="CAST({value} AS CHAR)",
        to_double=f"CASE WHEN {{text}} REGEXP '{_to_the_end(_NUMBER)}' THEN CAST({{text}} AS DOUBLE) END",
        to_integer=f"CASE WHEN {{text}} REGEXP '{_to_the_end(_INTEGER)}' THEN CAST({{text}} AS SIGNED) END",
        checks_text=True,
    ),
    "snowflake": Dialect(
        "snowflake",
        double="CAST('{digits}' AS DOUBLE)",
        infinity="CAST('inf' AS DOUBLE)",
        longest_name=255,
        coded="",
        to_integer="TRY_CAST({text} AS NUMBER(38, 0))",
        not_nan="NULLIF({value}, CAST('NaN' AS DOUBLE))",
    ),
    "bigquery": Dialect(
        "bigquery",
        longest_name=300,
        fold=str.casefold,
        coded="",
        as_text="CAST({value} AS STRING)",
        to_double="SAFE_CAST({text} AS FLOAT64)",
        to_integer="SAFE_CAST({text} AS INT64)",
        not_nan="IF(IS_NAN({value}), NULL, {value})",
    ),
    "spark": Dialect(
        "spark",
        double="{digits}D",
        infinity="CAST('Infinity' AS DOUBLE)",
        fold=str.casefold,
        coded="",
        as_text="CAST({value} AS STRING)",
        not_nan="NULLIF({value}, CAST('NaN' AS DOUBLE))",
    ),
    "trino": Dialect("trino", fold=str.casefold, code="chr({code})", not_nan="IF(is_nan({value}), NULL, {value})"),
    "clickhouse": Dialect(
        "clickhouse",
        coded="",
        as_text="CAST({value} AS Nullable(String))",
        to_double="toFloat64OrNull({text})",
        to_integer="toInt64OrNull({text})",
        not_nan="if(isNaN({value}), NULL, {value})",
    ),
    "oracle": Dialect(
        "oracle",
        double="{digits}d",
        infinity="BINARY_DOUBLE_INFINITY",
        longest_name=128,
        name_unit="bytes",
        qualify_star=True,
        alias=" ",
        code="CHR({code})",
        true="1",
        false="0",
        empty_text=False,
        as_text="CAST({value} AS VARCHAR2(4000))",
        to_double="CAST({text} AS BINARY_DOUBLE DEFAULT NULL ON CONVERSION ERROR)",
        to_integer="CAST({text} AS NUMBER DEFAULT NULL ON CONVERSION ERROR)",
        not_nan="NANVL({value}, NULL)",
    ),
    "tsql": Dialect(
        "tsql",
        longest_name=128,
        fold=str.casefold,
        text="CAST(CAST({column} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
        literal="CAST({literal} AS VARBINARY(MAX))",
        prefix="N",
        code="NCHAR({code})",
        link=" + ",
        true="1",
        false="0",
        as_text="CONVERT(NVARCHAR(4000), {value}, 3)",
        to_double="TRY_CAST({text} AS FLOAT)",
    ),
}

ALIASES = {"postgresql": "postgres", "mssql": "tsql", "mariadb": "mysql"}


@dataclass(frozen=True)
class SqlOptions:
    """Options of the exporter ``"sql"``.

    Parameters
    ----------
    dialect : str
        The database's SQL, as sqlglot calls it (duckdb, sqlite, postgres, mysql, …), or an alias such as postgresql;
        an unknown one lists all.
    table : str, or sequence of its parts
        Table that ``select`` reads. Dots separate schema and table, and a part in double quotes may hold
        dots: ``"my.schema".table``.
    style : {"where", "case", "select"}
        One predicate per cluster; one CASE expression that gives the cluster's number; or a query
        of every column and the cluster.
    columns : mapping from str to str
        Name that the database has in place of that of the training table.
    cluster_column : str
        Name of the column that ``select`` adds.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    dialect: str = field(default="ansi", metadata=on_command_line(unprefixed=True))
    table: str | Sequence[str] = field(default="data", metadata=on_command_line(unprefixed=True, default_from="table"))
    style: Style = field(default="where", metadata=on_command_line(unprefixed=True))
    columns: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("column", unprefixed=True))
    cluster_column: str = field(default="cluster", metadata=on_command_line(unprefixed=True))
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_choice("style", self.style, STYLES, option="style")
        _find_dialect(self.dialect)
        _split_table(self.table)
        _check_columns(self.columns)
        check_text("cluster_column", self.cluster_column)


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
            If the dialect cannot hold a name, or takes two for one.
        """
        settings = SqlOptions(**options)
        dialect = _find_dialect(settings.dialect)
        names = _name_columns([column.name for column in rules.columns], settings)
        _refuse_lookalikes(names, rules.tested_columns, settings.dialect, dialect)

        comparisons = _Comparisons(names, dialect)

        def predicate(rule: Rule) -> str:
            parts = [part for condition in rule.conditions for part in comparisons(condition)]
            return _chain(parts, " AND ") or EVERY_ROW

        context = describe(rules, lambda rule: {"predicate": predicate(rule)})
        for cluster in context["clusters"]:
            parts = [rule["predicate"] for rule in cluster["rules"]]
            cluster["predicate"] = parts[0] if len(parts) == 1 else _any_of(parts)
        context.update(
            dialect=settings.dialect,
            table=_split_table(settings.table),
            cluster_column=settings.cluster_column,
            qualify_star=dialect.qualify_star,
            alias=dialect.alias,
            options={**vars(settings), "columns": dict(settings.columns), "template": None},
        )
        return render(dialect, f"sql_{settings.style}.sql.j2", context, settings.template)

    def check_columns(self, names: Sequence[str], **options: Any) -> None:
        """Refuse options that go with no rules over columns of these names."""
        _name_columns(names, SqlOptions(**options))


def _check_columns(columns: object) -> None:
    if not isinstance(columns, Mapping) or not all(isinstance(new, str) for new in columns.values()):
        raise OptionError(COLUMNS, " must map the old name of a column to its new one")


def _find_dialect(name: str) -> Dialect:
    spelt = check_text("dialect", name).lower()
    return DIALECTS[check_choice("SQL dialect", ALIASES.get(spelt, spelt), DIALECTS, option="dialect")]


def _name_columns(old_names: Sequence[str], settings: SqlOptions) -> list[str]:
    """Return the name of every column in the database."""
    unknown = [old for old in settings.columns if old not in old_names]
    if unknown:
        raise OptionError(
            COLUMNS,
            f" renames {', '.join(map(repr, unknown))}, which the rules do not have; "
            f"their columns are: {', '.join(map(repr, old_names))}",
        )
    names = [settings.columns.get(old, old) for old in old_names]
    if settings.style == "select":
        for name in names:
            if name.casefold() == settings.cluster_column.casefold():
                raise ExportError(
                    f"the table already has a column {name!r}: name the new one otherwise by ", CLUSTER_COLUMN
                )
    return names


def _refuse_lookalikes(names: Sequence[str], tested: Sequence[int], spelt: str, dialect: Dialect) -> None:
    """Refuse tested columns whose names the dialect takes for that of another."""
    holders: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        holders.setdefault(dialect.fold(name), []).append(index)
    for index in tested:
        same = holders[dialect.fold(names[index])]
        if len(same) > 1:
            raise ExportError(
                f"dialect {spelt!r} takes the columns {' and '.join(repr(names[i]) for i in same)} "
                "for one: rename one in the database and say so by ",
                COLUMNS,
            )


class _Comparisons(ConditionVisitor[list[str]]):
    """Conditions as comparisons of which all have to hold; NULL where the column is."""

    def __init__(self, names: Sequence[str], dialect: Dialect) -> None:
        self.names = names
        self.dialect = dialect

    def between(self, condition: Between) -> list[str]:
        """Return a comparison for each bound, and one that NaN does not meet."""
        dialect = self.dialect
        column = _read(condition.column, self.names[condition.feature], dialect)
        lower, upper = bounds(condition)
        parts = []
        if lower is not None:
            parts.append(f"{column} > {dialect.number(lower)}")
        if upper is not None:
            parts.append(f"{column} <= {dialect.number(upper)}")
        if not _never_nan(condition.column, dialect):  # integer columns too: the database may hold them as doubles
            parts += _not_nan(column, lower, upper, dialect, decided=not condition.column.from_text)
        return parts

    def one_of(self, condition: OneOf) -> list[str]:
        """Return a comparison with the categories to be one of."""
        return [self._compare(condition, "=", "IN") if condition.values else NO_ROW]

    def none_of(self, condition: NoneOf) -> list[str]:
        """Return a comparison with the categories to be none of."""
        return [self._compare(condition, "<>", "NOT IN")]

    def _compare(self, condition: OneOf | NoneOf, with_one: str, with_several: str) -> str:
        column = _read(condition.column, self.names[condition.feature], self.dialect)
        if condition.column.type == "text":
            column = self.dialect.text.format(column=column)
        literals = [self.dialect.category(value) for value in condition.values]
        if len(literals) == 1:
            return f"{column} {with_one} {literals[0]}"
        return f"{column} {with_several} ({', '.join(literals)})"


def _not_nan(value: str, lower: float | None, upper: float | None, dialect: Dialect, *, decided: bool) -> list[str]:
    """Return what holds of a value between bounds unless it is NaN; nothing where the bounds see to that.

    `decided` tells whether the engine may know bounds of the value.
    """
    if decided and dialect.finite is not None:
        finite = dialect.finite.format(value=value)
        if lower is not None and upper is not None:
            return [finite]
        return [f"({value} = {'-' if lower is None else ''}{dialect.infinity} OR {finite})"]
    if upper is None and dialect.infinity is not None:
        return [f"{value} <= {dialect.infinity}"]
    return []


def _read(column: RuleColumn, name: str, dialect: Dialect) -> str:
    """Return a column as the rules compare it: converted, and with its missing values imputed."""
    value = dialect.identifier(name)
    conversion = column.conversion
    if column.is_numeric:
        if column.from_text:
            value = _parse(column, value, dialect)
        for number in conversion.null_numbers:
            value = f"NULLIF({value}, {dialect.number(float(number) if column.type == 'float' else number)})"
    elif conversion.nulls:
        words = ", ".join(map(dialect.category, _writable(conversion.nulls, dialect)))
        if words:
            value = f"CASE WHEN {dialect.text.format(column=f'TRIM({value})')} NOT IN ({words}) THEN {value} END"
    if column.imputed is None:
        return value
    if column.type == "float":
        value = dialect.not_nan.format(value=value)
    elif column.type == "text":
        value = dialect.any_text.format(value=value)
    return f"COALESCE({value}, {_literal_of(column.imputed, column, dialect)})"


def _literal_of(value: Number | Value, column: RuleColumn, dialect: Dialect) -> str:
    if isinstance(value, str):
        return dialect.string(value)
    if isinstance(value, bool):
        return dialect.category(value)
    return dialect.number(float(value) if column.type == "float" else value)


def _parse(column: RuleColumn, value: str, dialect: Dialect) -> str:
    """Return the number in a column of text, which may also hold numbers already; NULL where it is none."""
    text = f"TRIM({dialect.as_text.format(value=value)})"
    if not dialect.checks_text:
        for word in _writable(column.conversion.words, dialect):
            text = f"NULLIF({text}, {dialect.string(word)})"
    if column.conversion.decimal != ".":
        text = f"REPLACE({text}, {dialect.string(column.conversion.decimal)}, {dialect.string('.')})"
    return (dialect.to_integer if column.type == "integer" else dialect.to_double).format(text=text, value=value)


def _writable(words: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the words that a dialect can tell from NULL: one that takes the empty text for NULL needs no care."""
    return [word for word in words if word or dialect.empty_text]


def _never_nan(column: RuleColumn, dialect: Dialect) -> bool:
    return column.imputed is not None and column.type == "float" and dialect.not_nan != Dialect.not_nan


def _any_of(predicates: Sequence[str]) -> str:
    alternatives = _chain([f"({predicate})" for predicate in predicates], "\n  OR ")
    return f"(\n  {alternatives}\n)"


def _chain(parts: Sequence[str], link: str) -> str:
    """Join parts by AND or OR, in nested groups where the chain would be too deep for an engine."""
    if len(parts) <= LONGEST_CHAIN:
        return link.join(parts)
    size = max(LONGEST_CHAIN, math.isqrt(len(parts)) + 1)
    groups = [parts[start : start + size] for start in range(0, len(parts), size)]
    return link.join(f"({link.join(group)})" for group in groups)


_TABLE_PART = r'(?:"(?:[^"]|"")+"|[^".][^.]*)'
_TABLE = re.compile(rf"{_TABLE_PART}(?:\.{_TABLE_PART})*")


def _split_table(table: Any) -> list[str]:
    """Return the parts of a table's name: schema and the like, then the table."""
    if isinstance(table, list | tuple):
        parts = list(table)
    elif isinstance(table, str) and _TABLE.fullmatch(table):
        found = re.findall(_TABLE_PART, table)
        parts = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in found]
    else:
        parts = []
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise OptionError(
            f"{table!r} is not a table name: dots separate its parts, a part with dots or quotes goes in "
            'double quotes, for example "my.schema".customers',
            option="table",
        )
    return parts
