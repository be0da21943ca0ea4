"""The dialects, as data. A new one is an entry here; golden files and, where its engine runs, tests see to it.

Oracle and Snowflake fold unquoted names to upper case and keep quoted ones; BigQuery's backslash escapes are sqlglot's
business. Redshift and others are missing for want of a known order of NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shallowrules.errors import check_choice
from shallowrules.exporters.base import check_text
from shallowrules.exporters.sql.dialect import (
    STANDARD_TEXTS,
    Dialect,
    Names,
    Nan,
    Numbers,
    Texts,
    fold_ascii,
    fold_nothing,
)

__all__ = ["ALIASES", "DIALECTS", "find_dialect"]

ALIASES = {"postgresql": "postgres", "mssql": "tsql", "mariadb": "mysql"}

_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_INFINITE = "^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_INTEGER = "^[+-]?[0-9]{{1,18}}$"

# Numbers of which each is within the range of a double, which PostgreSQL and MariaDB's strict mode refuse to leave.
_IN_RANGE = (
    "^[+-]?(([0-9]{{1,200}}[.]?[0-9]{{0,90}}|[.][0-9]{{1,90}})([eE][+-]?[0-9]{{1,2}})?"
    "|[0-9]{{1,9}}[.]?[0-9]{{0,20}}[eE][+-]?[12][0-9]{{2}})$"
)


def _to_the_end(pattern: str) -> str:
    """Return a pattern for engines where ``$`` is also before a line break at the end, without a backslash."""
    return f"(?s){pattern.removesuffix('$')}(?!.)"


# SQLite writes a number with 15 digits, so numbers stay what they are. It casts the number that a text begins
# with, so a text that is no number has to be kept out: other characters, and signs, points and exponents where they
# cannot be. It knows infinity as 9e999 alone. SQLite's reader may be one unit in the last place off for numbers beyond
# 1e-280 and 1e280.
_SQLITE_NUMBER = (
    "CASE WHEN typeof({value}) <> 'text' THEN {value} "
    "WHEN {text} GLOB '*[0-9]*' AND NOT ({text} GLOB '*[^0-9.eE+-]*' OR {text} GLOB '*[^eE][+-]*' "
    "OR {text} GLOB '*[.eE]*.*' OR {text} GLOB '*[eE]*[eE]*' OR {text} GLOB '[eE]*' OR {text} GLOB '[+.-][eE]*' "
    "OR {text} GLOB '[+-].[eE]*' OR {text} GLOB '*[eE+-]') THEN CAST({text} AS {type}) "
    "WHEN lower({text}) IN ('inf', '+inf', 'infinity', '+infinity') THEN 9e999 "
    "WHEN lower({text}) IN ('-inf', '-infinity') THEN -9e999 END"
)


def _as_bigint(double: str, cast: str, is_number: str) -> str:
    """Return an expression for a double rounded up to an integer of 64 bits, or the last one towards infinity."""
    return (
        f"CASE WHEN {double} <= -9.223372036854775807e18 THEN -9223372036854775807 "
        f"WHEN {double} < 9.223372036854775807e18 THEN {cast} WHEN {double} {is_number} THEN 9223372036854775807 END"
    )


_INFINITY = "CAST('Infinity' AS DOUBLE PRECISION)"
_ANSI_DOUBLE = "CAST({text} AS DOUBLE PRECISION)"
_TRY_DOUBLE = "TRY_CAST({text} AS DOUBLE)"
# DuckDB's casts take +-1, 1_0, 0x10 and line breaks, too.
_DUCKDB_IS_NUMBER = "regexp_full_match({text}, '(?i)[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?')"
_DUCKDB_DOUBLE = f"CASE WHEN {_DUCKDB_IS_NUMBER} THEN {_TRY_DOUBLE} END"
_POSTGRES_IN_RANGE = f"CAST(CASE WHEN {{text}} ~ '{_IN_RANGE}|{_INFINITE}' THEN {{text}} END AS DOUBLE PRECISION)"
_MYSQL_IN_RANGE = f"CASE WHEN {{text}} REGEXP '{_to_the_end(_IN_RANGE)}' THEN CAST({{text}} AS DOUBLE) END"
_ORACLE_DOUBLE = "CAST({text} AS BINARY_DOUBLE DEFAULT NULL ON CONVERSION ERROR)"
_BIGQUERY_DOUBLE = "SAFE_CAST({text} AS FLOAT64)"
_CLICKHOUSE_DOUBLE = "toFloat64OrNull({text})"
_TSQL_DOUBLE = "TRY_CAST({text} AS FLOAT)"

DIALECTS: Mapping[str, Dialect] = {
    # ANSI SQL says nothing of NaN.
    "ansi": Dialect(
        name="",
        nan=Nan(sorts="compares false", infinity=None, finite=None, as_null=None),
        names=Names(fold=fold_nothing, longest=None, qualify_star=True),
        texts=STANDARD_TEXTS,
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS VARCHAR)",
            to_double=_ANSI_DOUBLE,
            to_integer="CAST({text} AS BIGINT)",
            integer_to_double=_ANSI_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    # NaN is stored as NULL, but a column of numbers may hold text, which sorts above every number.
    "sqlite": Dialect(
        name="sqlite",
        nan=Nan(sorts="highest", infinity="9e999", finite=None, as_null=None),
        names=Names(fold=fold_ascii, longest=None, backticks=True),
        texts=replace(STANDARD_TEXTS, column="{column} COLLATE BINARY", code="char({code})"),
        numbers=Numbers(
            double="{digits}",
            as_text="CAST({value} AS TEXT)",
            to_double=_SQLITE_NUMBER.replace("{type}", "REAL"),
            to_integer=_SQLITE_NUMBER.replace("{type}", "NUMERIC"),
            integer_to_double=_SQLITE_NUMBER.replace("{type}", "REAL"),
            checks_text=True,
        ),
        true="TRUE",
        false="FALSE",
    ),
    # Text is not cast to text: DuckDB's reader of CSV takes a column of yes and no for BOOLEAN, which it compares with
    # 'yes'. The statistics in a Parquet file leave NaN out. If they say that all values are at most 5, DuckDB (1.5 and
    # 2.0) takes "x <= 5", "x <= infinity", "NOT isnan(x)" and "x <> NaN" for true without a look at the rows.
    "duckdb": Dialect(
        name="duckdb",
        nan=Nan(
            sorts="highest",
            infinity=_INFINITY,
            finite="{value} - {value} = 0",
            as_null=f"CASE WHEN {{value}} - {{value}} = 0 OR abs({{value}}) = {_INFINITY} THEN {{value}} END",
        ),
        names=Names(fold=fold_ascii, longest=None),
        texts=replace(STANDARD_TEXTS, code="chr({code})"),
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS VARCHAR)",
            to_double=_DUCKDB_DOUBLE,
            to_integer="CASE WHEN regexp_full_match({text}, '[+-]?[0-9]+') THEN TRY_CAST({text} AS BIGINT) "
            f"WHEN {_DUCKDB_IS_NUMBER} "
            f"THEN {_as_bigint(_TRY_DOUBLE, f'CAST(ceil({_TRY_DOUBLE}) AS BIGINT)', f'<= {_INFINITY}')} END",
            integer_to_double=_DUCKDB_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "postgres": Dialect(
        name="postgres",
        nan=Nan(
            sorts="highest",
            infinity=_INFINITY,
            finite=None,
            as_null="NULLIF({value}, CAST('NaN' AS DOUBLE PRECISION))",
        ),
        names=Names(fold=fold_nothing, longest=63, unit="bytes"),
        texts=replace(STANDARD_TEXTS, column='CAST({column} AS TEXT) COLLATE "C"'),
        numbers=Numbers(
            double="{digits}::float8",
            as_text="CAST({value} AS TEXT)",
            to_double=f"CAST(CASE WHEN {{text}} ~ '{_NUMBER}|{_INFINITE}' THEN {{text}} END AS DOUBLE PRECISION)",
            to_integer=f"CASE WHEN {{text}} ~ '{_INTEGER}' THEN CAST({{text}} AS BIGINT) "
            "WHEN {text} !~ '^[+-]?[0-9]+$' "
            f"THEN {_as_bigint(_POSTGRES_IN_RANGE, f'CAST(ceil({_POSTGRES_IN_RANGE}) AS BIGINT)', '> 0')} END",
            integer_to_double=_POSTGRES_IN_RANGE,
            checks_text=True,
        ),
        true="TRUE",
        false="FALSE",
    ),
    # What a backslash means depends on sql_mode, and the client drops carriage returns: both are spelt by their number.
    # Without _utf8mb4, a literal is read in the character set of the connection.
    "mysql": Dialect(
        name="mysql",
        nan=Nan(sorts="none", infinity=None, finite=None, as_null=None),
        names=Names(fold=str.casefold, longest=64, refused=r"[\U00010000-\U0010ffff]|[ \t\n\v\f\r]\Z"),
        texts=Texts(
            column="CAST(CONVERT({column} USING utf8mb4) AS BINARY)",
            literal="CAST({literal} AS BINARY)",
            beside_literals="CONVERT({value} USING utf8mb4)",
            coded="\\\0\r\x1a",
            code="CHAR({code} USING utf8mb4)",
            joined="CONCAT({parts})",
            link=", ",
            prefix="_utf8mb4",
            plain_literals=True,
            empty=True,
        ),
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS CHAR)",
            to_double=f"CASE WHEN {{text}} REGEXP '{_to_the_end(_NUMBER)}' THEN CAST({{text}} AS DOUBLE) END",
            to_integer=f"CASE WHEN {{text}} REGEXP '{_to_the_end(_INTEGER)}' THEN CAST({{text}} AS SIGNED) "
            f"WHEN {{text}} NOT REGEXP '{_to_the_end('^[+-]?[0-9]+$')}' "
            f"THEN {_as_bigint(_MYSQL_IN_RANGE, f'CAST(CEIL({_MYSQL_IN_RANGE}) AS SIGNED)', '> 0')} END",
            integer_to_double=_MYSQL_IN_RANGE,
            checks_text=True,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "snowflake": Dialect(
        name="snowflake",
        nan=Nan(
            sorts="highest",
            infinity="CAST('inf' AS DOUBLE)",
            finite=None,
            as_null="NULLIF({value}, CAST('NaN' AS DOUBLE))",
        ),
        names=Names(fold=fold_nothing, longest=255),
        texts=replace(STANDARD_TEXTS, coded=""),
        numbers=Numbers(
            double="CAST('{digits}' AS DOUBLE)",
            as_text="CAST({value} AS VARCHAR)",
            to_double=_TRY_DOUBLE,
            to_integer="TRY_CAST({text} AS NUMBER(38, 0))",
            integer_to_double=_TRY_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "bigquery": Dialect(
        name="bigquery",
        nan=Nan(sorts="compares false", infinity=None, finite=None, as_null="IF(IS_NAN({value}), NULL, {value})"),
        names=Names(fold=str.casefold, longest=300),
        texts=replace(STANDARD_TEXTS, coded=""),
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS STRING)",
            to_double=_BIGQUERY_DOUBLE,
            to_integer="SAFE_CAST({text} AS INT64)",
            integer_to_double=_BIGQUERY_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "spark": Dialect(
        name="spark",
        nan=Nan(
            sorts="highest",
            infinity="CAST('Infinity' AS DOUBLE)",
            finite=None,
            as_null="NULLIF({value}, CAST('NaN' AS DOUBLE))",
        ),
        names=Names(fold=str.casefold, longest=None),
        texts=replace(STANDARD_TEXTS, coded=""),
        numbers=Numbers(
            double="{digits}D",
            as_text="CAST({value} AS STRING)",
            to_double=_TRY_DOUBLE,
            to_integer="TRY_CAST({text} AS BIGINT)",
            integer_to_double=_TRY_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "trino": Dialect(
        name="trino",
        nan=Nan(sorts="compares false", infinity=None, finite=None, as_null="IF(is_nan({value}), NULL, {value})"),
        names=Names(fold=str.casefold, longest=None),
        texts=replace(STANDARD_TEXTS, code="chr({code})"),
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS VARCHAR)",
            to_double=_TRY_DOUBLE,
            to_integer="TRY_CAST({text} AS BIGINT)",
            integer_to_double=_TRY_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "clickhouse": Dialect(
        name="clickhouse",
        nan=Nan(sorts="compares false", infinity=None, finite=None, as_null="if(isNaN({value}), NULL, {value})"),
        names=Names(fold=fold_nothing, longest=None),
        texts=replace(STANDARD_TEXTS, coded=""),
        numbers=Numbers(
            double="{scientific}",
            as_text="CAST({value} AS Nullable(String))",
            to_double=_CLICKHOUSE_DOUBLE,
            to_integer="toInt64OrNull({text})",
            integer_to_double=_CLICKHOUSE_DOUBLE,
            checks_text=False,
        ),
        true="TRUE",
        false="FALSE",
    ),
    "oracle": Dialect(
        name="oracle",
        nan=Nan(sorts="highest", infinity="BINARY_DOUBLE_INFINITY", finite=None, as_null="NANVL({value}, NULL)"),
        names=Names(fold=fold_nothing, longest=128, unit="bytes", qualify_star=True, alias=" "),
        texts=replace(STANDARD_TEXTS, code="CHR({code})", empty=False),
        numbers=Numbers(
            double="{digits}d",
            as_text="CAST({value} AS VARCHAR2(4000))",
            to_double=_ORACLE_DOUBLE,
            to_integer="CAST({text} AS NUMBER DEFAULT NULL ON CONVERSION ERROR)",
            integer_to_double=_ORACLE_DOUBLE,
            checks_text=False,
        ),
        true="1",
        false="0",
    ),
    "tsql": Dialect(
        name="tsql",
        nan=Nan(sorts="none", infinity=None, finite=None, as_null=None),
        names=Names(fold=str.casefold, longest=128),
        texts=replace(
            STANDARD_TEXTS,
            column="CAST(CAST({column} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
            literal="CAST({literal} AS VARBINARY(MAX))",
            prefix="N",
            code="NCHAR({code})",
            link=" + ",
        ),
        numbers=Numbers(
            double="{scientific}",
            as_text="CONVERT(NVARCHAR(4000), {value}, 3)",
            to_double=_TSQL_DOUBLE,
            to_integer="TRY_CAST({text} AS BIGINT)",
            integer_to_double=_TSQL_DOUBLE,
            checks_text=False,
        ),
        true="1",
        false="0",
    ),
}


def find_dialect(name: object) -> Dialect:
    """Return the dialect of a name or alias in any case; OptionError listing all if there is none."""
    spelt = check_text("dialect", name).lower()
    return DIALECTS[check_choice("SQL dialect", ALIASES.get(spelt, spelt), DIALECTS, option="dialect")]
