"""The dialects whose engines the tests run, as data. A new one is an entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shallowrules.exporters.sql.dialect import (
    STANDARD_TEXTS,
    Caution,
    Dialect,
    Limits,
    Names,
    Nan,
    Numbers,
    Texts,
    fold_ascii,
    fold_nothing,
)
from shallowrules.exporters.sql.expressions import (
    INFINITY,
    TRY_DOUBLE,
    TRY_EXACT,
    by_wildcards,
    grouped_by_wildcards,
    infinities,
    to_the_end,
)
from shallowrules.rules import DOUBLE_EXACT, GRAMMAR

__all__ = ["EXECUTED"]

# SQLite casts the number with which a text begins, so other text has to be excluded. It writes infinity only
# as 9e999. Its cast may be off by one unit in the last place, mostly beyond 1e-280; its JSON reader is not.
# JSON has no plus in front, and no number that begins or ends with a point, or with a zero before other digits.
_SQLITE_INFINITIES = infinities("9e999")
_SQLITE_DOUBLE = (
    "CASE WHEN JSON_VALID(LTRIM({text}, '+')) THEN CAST(JSON_EXTRACT(LTRIM({text}, '+'), '$') AS REAL) "
    "ELSE CAST({text} AS REAL) END"
)
_SQLITE_REAL = "CASE WHEN TYPEOF({value}) = 'integer' THEN CAST({value} AS REAL) ELSE {value} END"

# DuckDB converts a whole number of 128 bits to a double in two steps that each round; converting its text gives the
# nearest one.
_DUCKDB_DOUBLE = (
    "CASE WHEN TYPEOF({value}) SIMILAR TO 'U?HUGEINT|DECIMAL.*' THEN TRY_CAST(CAST({value} AS VARCHAR) AS DOUBLE) "
    "ELSE TRY_CAST({value} AS DOUBLE) END"
)

# PostgreSQL refuses text out of range for a double; here it becomes 0 or infinite, as in the nearest double.
_POSTGRES_DOUBLE = (
    "CASE WHEN ABS({text}::NUMERIC) < 2.4703282292062328e-324 THEN 0 "
    "WHEN ABS({text}::NUMERIC) < 1.797693134862315808e308 THEN {text}::FLOAT8 "
    "WHEN {text}::NUMERIC > 0 THEN 'Infinity'::FLOAT8 ELSE '-Infinity'::FLOAT8 END"
)
_POSTGRES_INFINITIES = f"WHEN {{text}} ~ '^({GRAMMAR.infinity})$' THEN {{text}}::FLOAT8"

# MariaDB's CAST, and any sum with a text, fails for 1e400 in strict mode; its JSON reader does not, and gives
# the largest double there is.
_MYSQL_INFINITIES = (
    f"WHEN {{text}} REGEXP '{to_the_end(GRAMMAR.infinity)}' "
    "THEN CASE WHEN {text} LIKE '-%' THEN -1.7976931348623157e308 ELSE 1.7976931348623157e308 END"
)

# ClickHouse converts a Decimal, or a whole number of 128 bits or more, to a double in steps that each round: -999 as
# Decimal(38, 20) is not -999e0. Converting the text gives the nearest double; adding 0 first turns a Float32 into a
# double.
_CLICKHOUSE_DOUBLE = "toFloat64OrNull(toString({value} + 0))"

_NUMERIC = ("integer", "float")

EXECUTED: Mapping[str, Dialect] = {
    # NaN is stored as NULL, but a column of numbers may hold text, which sorts above every number.
    "sqlite": Dialect(
        name="sqlite",
        nan=Nan(sorts="highest", infinity="9e999", finite=None, infinite=None, is_nan=None),
        names=Names(fold=fold_ascii, unquoted=fold_nothing, longest=None, backticks=True),
        texts=replace(
            STANDARD_TEXTS,
            column="{column} COLLATE BINARY",
            trimmed="TRIM(CAST({value} AS TEXT))",
            code="CHAR({code})",
            holds_nul=True,
        ),
        numbers=Numbers(
            double="{digits}",
            negative="{number}",
            is_text="TYPEOF({value}) = 'text'",
            # A pattern ends at the character 0.
            is_number="LENGTH({text}) <= {longest} AND INSTR({text}, CHAR(0)) = 0 AND " + by_wildcards("GLOB", "*"),
            is_code="CAST(CAST({text} AS INTEGER) AS TEXT) = {text}",
            grouped=grouped_by_wildcards("GLOB", "*"),
            to_double=_SQLITE_DOUBLE,
            infinities=_SQLITE_INFINITIES,
            from_number=_SQLITE_REAL,
            either="CAST({text} AS NUMERIC)",
            whole="CAST({text} AS NUMERIC) - {bound}",
            is_float="TYPEOF({value}) = 'real'",
            exact="{value}",
            truth=None,
            beside_doubles=(_SQLITE_REAL, DOUBLE_EXACT),
            beside_integers="exactly",
            beyond_int64=False,
            beside_singles="digits",
            # A literal has no affinity, so that a column of TEXT would be compared with its digits.
            beside_texts="CAST({number} AS NUMERIC)",
        ),
        cautions=(
            Caution(
                types=_NUMERIC,
                above=0,
                below=1e-280,
                always=True,
                text="SQLite may misread a number below 1e-280 by one unit in the last place.",
            ),
        ),
    ),
    # Text is not cast to text: DuckDB's CSV reader treats a column of yes and no as BOOLEAN, which it compares with
    # 'yes'. The statistics in a Parquet file leave NaN out. If they say that all values are at most 5, DuckDB (1.5 and
    # 2.0) treats "x <= 5", "x <= infinity", "NOT isnan(x)" and "x <> NaN" as true without reading the rows, and 2.0
    # also "x + 0e0 <= infinity" and "NOT isnan(x + 0e0)". It does evaluate isfinite and isinf, which take every type of
    # number. As text, NaN is 'nan' or '-nan', which is six times slower to ask for; "NOT (isfinite(x) OR isinf(x))" is
    # false without reading the rows where all others of a row group are equal.
    "duckdb": Dialect(
        name="duckdb",
        nan=Nan(
            sorts="highest",
            infinity=INFINITY,
            finite="ISFINITE({value})",
            infinite="ISINF({value})",
            is_nan="CAST({value} AS VARCHAR) IN ('nan', '-nan')",
        ),
        names=Names(fold=fold_ascii, unquoted=fold_nothing, longest=None),
        # Two collations cannot be combined, so a column declared with one is cast and given the other. A BOOLEAN, as
        # which DuckDB may read a file's words, or a number would then no longer equal 'yes' or '7'.
        texts=replace(
            STANDARD_TEXTS,
            listed="{literals} COLLATE C",
            cast="CAST({column} AS VARCHAR) COLLATE C",
            typed=r"(?i)\d|^\W*(yes|no|y|n|t|f|true|false|inf|infinity|nan|epoch|null)\W*$",
            trimmed="TRIM(CAST({value} AS VARCHAR) COLLATE C, ' ')",
            code="CHR({code})",
            holds_nul=True,
        ),
        numbers=Numbers(
            double="{scientific}",
            negative="CAST({number} AS HUGEINT)",  # a UHUGEINT from 2^63 on cannot be compared with an INTEGER below 0
            is_text="TYPEOF({value}) NOT SIMILAR TO 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*'",
            is_number="LENGTH({text}) <= {longest} AND REGEXP_FULL_MATCH({text}, '{pattern}')",
            is_code=None,
            grouped=None,
            to_double=TRY_DOUBLE,
            infinities=None,
            from_number=_DUCKDB_DOUBLE,
            either=None,
            whole="TRY_CAST({text} AS HUGEINT) - {bound}",
            is_float="TYPEOF({value}) IN ('FLOAT', 'DOUBLE')",
            exact=TRY_EXACT,
            truth=("TYPEOF({value}) LIKE 'DECIMAL%'", "{value}"),
            beside_doubles=(_DUCKDB_DOUBLE, DOUBLE_EXACT),
            beside_integers="as singles",
            beyond_int64=True,
            beside_singles="scientific",
            beside_texts=None,
        ),
        limits=Limits(nested=0),  # here it takes twice as long as the flat CASE, and five times as long as `ordered`
    ),
    "postgres": Dialect(
        name="postgres",
        nan=Nan(
            sorts="highest",
            infinity="'Infinity'::FLOAT8",
            finite=None,
            infinite=None,
            is_nan="{value} = 'NaN'::FLOAT8",
        ),
        names=Names(fold=fold_nothing, unquoted=str.lower, longest=63, unit="bytes"),
        texts=replace(
            STANDARD_TEXTS,
            column='{column}::TEXT COLLATE "C"',
            trimmed='TRIM({value}::TEXT COLLATE "C")',
            coded="\\\r",  # a backslash has a different meaning if standard_conforming_strings is off
            code="CHR({code})",
        ),
        numbers=Numbers(
            double="{digits}::FLOAT8",
            negative="{number}",
            is_text="PG_TYPEOF({value})::TEXT NOT IN "
            "('smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision')",
            is_number="LENGTH({text}) <= {longest} AND {text} ~ '^({pattern})$'",
            is_code=None,
            grouped=None,
            to_double=_POSTGRES_DOUBLE,
            infinities=_POSTGRES_INFINITIES,
            from_number="CASE WHEN PG_TYPEOF({value}) = 'real'::REGTYPE THEN {text}::FLOAT4 ELSE {text}::FLOAT8 END",
            either=None,
            whole="{text}::NUMERIC - {bound}",
            is_float="PG_TYPEOF({value})::TEXT IN ('real', 'double precision')",
            exact="SIGN({text}::NUMERIC - {bound})",
            truth=("PG_TYPEOF({value}) = 'numeric'::REGTYPE", "{text}::NUMERIC"),
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=True,
            beside_singles="digits",
            beside_texts=None,
        ),
        cautions=(
            Caution(
                types=_NUMERIC,
                converted=True,
                text="Where extra_float_digits is below 1, a REAL or DOUBLE PRECISION column is read rounded: set it "
                "to 1.",
            ),
        ),
    ),
    # The meaning of a backslash depends on sql_mode, and the client drops carriage returns: both are written by code
    # point. Without _utf8mb4, a literal is read in the character set of the connection.
    "mysql": Dialect(
        name="mysql",
        nan=Nan(sorts="none", infinity=None, finite=None, infinite=None, is_nan=None),
        names=Names(
            fold=str.casefold,
            unquoted=fold_nothing,
            longest=64,
            refused=r"[\U00010000-\U0010ffff]|[ \t\n\v\f\r]\Z",
            refused_aliases=r"\A[\x00-\x20\x7f]",
        ),
        texts=Texts(
            column="CAST(CONVERT({column} USING utf8mb4) AS BINARY)",
            literal="CAST({literal} AS BINARY)",
            trimmed="TRIM(CONVERT({value} USING utf8mb4))",
            truth=None,
            coded="\\\0\r\x1a",
            code="CHAR({code} USING utf8mb4)",
            holds_nul=True,
            listed="{literals}",
            cast=None,
            typed="",
            not_in="{text} NOT IN ({literals})",
            joined="CONCAT({parts})",
            link=", ",
            prefix="_utf8mb4 ",
            plain_literals=True,
            empty=True,
            exactly=None,
        ),
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text="COERCIBILITY(COALESCE({value}, 0)) < 5",
            is_number=f"CHAR_LENGTH({{text}}) <= {{longest}} AND {{text}} REGEXP '{to_the_end('{pattern}')}'",
            is_code=None,
            grouped=None,
            to_double="JSON_EXTRACT(CONCAT('[\"', {text}, '\"]'), '$[0]') + 0e0",
            infinities=_MYSQL_INFINITIES,
            from_number="{value} + 0e0",
            either=None,
            whole="CAST({text} AS DECIMAL(65, 0)) - {bound}",
            is_float=None,
            exact="{value} + 0.0 - {steps}",
            truth=("COERCIBILITY(COALESCE({value}, 0)) = 5", "{value} + 0"),
            beside_doubles=("({value} + 0e0)", DOUBLE_EXACT),
            beside_integers="as doubles",
            beyond_int64=True,
            beside_singles="digits",
            beside_texts=None,
        ),
        cautions=(
            Caution(
                types=_NUMERIC,
                converted=False,
                below=100,
                text="With a number from 0 to 99, a YEAR column is compared as a two-digit year: make it a number, "
                "column + 0, in a view.",
            ),
        ),
    ),
    # An Enum cannot be compared with a text that it does not have, and a FixedString has no padding once it is cast.
    "clickhouse": Dialect(
        name="clickhouse",
        nan=Nan(sorts="compares false", infinity=None, finite=None, infinite=None, is_nan="isNaN(toFloat64({value}))"),
        names=Names(fold=fold_nothing, unquoted=fold_nothing, longest=None),
        texts=replace(
            STANDARD_TEXTS,
            column="CAST({column} AS Nullable(String))",
            trimmed="TRIM(CAST({value} AS Nullable(String)))",
            coded="",
            holds_nul=True,
            not_in="({value} IS NOT NULL AND {text} NOT IN ({literals}))",  # transform_null_in makes NULL a value
        ),
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text="NOT match(toTypeName({value}), '^([A-Za-z]+[(])?(U?Int|Float|Decimal|BFloat)')",
            is_number="LENGTH({text}) <= {longest} AND match({text}, '^({pattern})$')",
            is_code=None,
            grouped=None,
            to_double="toFloat64OrNull({text})",
            infinities=None,
            from_number="if(toTypeName({value}) LIKE '%Float32%', toFloat64(toFloat32OrNull({text})), "
            "toFloat64OrNull({text}))",
            either=None,
            whole="toFloat64(toInt128OrNull({text}) - {bound})",
            is_float="toTypeName({value}) LIKE '%Float%'",
            exact="ifNull(toFloat64(toDecimal256OrNull({text}, 20) - {bound}), toFloat64OrNull({text}) - {bound})",
            truth=None,
            beside_doubles=(_CLICKHOUSE_DOUBLE, 0),
            beside_integers="exactly or not at all",
            beyond_int64=True,
            beside_singles="digits",
            beside_texts=None,
        ),
        # max_query_size is 262,144 bytes and max_ast_elements 50,000, of 3 bytes and more each: "`a` > 1 AND " has 4.
        # A SETTINGS clause comes too late: the query is cut before it is read.
        limits=Limits(
            unset=150_000,
            setting="SET max_query_size = {size}, max_ast_elements = {size}, max_expanded_ast_elements = {size}",
        ),
        cautions=(
            Caution(
                types=("integer",),
                converted=False,
                above=1,
                text="A Decimal column with 23 or more digits after the point gets wrong clusters or an error beside "
                "whole numbers: cast it to Float64.",
            ),
        ),
    ),
    # A collation, or CHAR(n), changes the result of "=" for a column, and CAST(… AS STRING) removes the collation. The
    # meaning of a backslash in a literal depends on a setting, so neither it nor a character that it would escape can
    # be there.
    "spark": Dialect(
        name="spark",
        nan=Nan(
            sorts="highest",
            infinity="DOUBLE('Infinity')",
            finite=None,
            infinite=None,
            is_nan="{value} = CAST('NaN' AS DOUBLE)",
        ),
        names=Names(fold=str.casefold, unquoted=fold_nothing, longest=None),
        texts=replace(
            STANDARD_TEXTS,
            column="CAST({column} AS STRING)",
            trimmed="TRIM(CAST({value} AS STRING))",
            coded="\0\r\\'",
            code="CHAR({code})",
            holds_nul=True,
            plain_literals=True,
        ),
        numbers=Numbers(
            double="{digits}D",
            negative="{number}",
            is_text="TYPEOF({value}) LIKE 'string%'",
            is_number=f"LENGTH({{text}}) <= {{longest}} AND {{text}} RLIKE '{to_the_end('{pattern}')}'",
            is_code=None,
            grouped=None,
            to_double=TRY_DOUBLE,
            infinities=None,
            from_number="TRY_CAST({value} AS DOUBLE)",
            either=None,
            whole="TRY_CAST({text} AS DECIMAL(38, 0)) - {bound}",
            is_float="TYPEOF({value}) IN ('float', 'double')",
            exact=TRY_EXACT,
            # TRY_CAST makes the query valid for a BOOLEAN, which cannot be compared with a number.
            truth=("TYPEOF({value}) LIKE 'decimal%'", "TRY_CAST({value} AS DECIMAL(38, 37))"),
            beside_doubles=None,
            beside_integers="as singles",
            beyond_int64=True,
            beside_singles="digits",
            beside_texts=None,
        ),
        # A CASE of 1,000 branches overflows the stack of Janino, which compiles Spark's generated code.
        limits=Limits(branches=100),
        cautions=(
            Caution(
                types=("text",),
                text="A CHAR(n) column is compared with its padding: declare it VARCHAR, or trim it in a view.",
            ),
        ),
    ),
}
