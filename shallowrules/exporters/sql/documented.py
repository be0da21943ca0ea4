"""The dialects whose engines cannot be run here, as data: docs/dialects.md lists the assumptions, with sources.

Oracle and Snowflake fold unquoted names to upper case and keep quoted ones; BigQuery's backslash escapes are sqlglot's
business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shallowrules.exporters.sql.dialect import (
    STANDARD_TEXTS,
    Caution,
    Dialect,
    Names,
    Nan,
    Numbers,
    fold_ascii,
    fold_nothing,
)
from shallowrules.exporters.sql.executed import EXECUTED
from shallowrules.exporters.sql.expressions import (
    INFINITY,
    TRY_DOUBLE,
    TRY_EXACT,
    by_wildcards,
    grouped_by_wildcards,
    infinities,
    to_the_end,
)

__all__ = ["DOCUMENTED"]

# A text is read with the decimal separator of the session, which this gives.
_ORACLE_POINT = "SUBSTR(TO_CHAR(0.5, 'FM0D0'), 2, 1)"

# Prefixes that BigQuery's column names may not have, in any case, and characters that they may not contain.
_BIGQUERY_REFUSED = (
    r"(?i)^(_TABLE_|_FILE_|_PARTITION|_ROW_TIMESTAMP|__ROOT__|_COLIDENTIFIER)"
    r"|[!\"$()*,./;?@\[\\\]^`{}~\x00-\x1f\x7f]"
)

# For engines that cast a NUMERIC of two decimals to the text 1.00.
_TRUTH_WITH_DECIMALS = Caution(
    types=("boolean",),
    text="A truth value in a column of decimals, 1.00, is neither true nor false: cast the column to whole numbers.",
)

DOCUMENTED: Mapping[str, Dialect] = {
    # ANSI SQL does not mention NaN, and has no name for infinity to exclude it by.
    "ansi": Dialect(
        name="",
        nan=Nan(sorts="unknown", infinity=None, finite=None, infinite=None, is_nan=None),
        names=Names(fold=fold_nothing, unquoted=str.upper, longest=None, qualify_star=True),
        texts=STANDARD_TEXTS,
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text=None,
            is_number=None,
            is_code="CAST(CAST({text} AS BIGINT) AS VARCHAR(20)) = {text}",
            grouped=None,
            to_double="CAST({text} AS DOUBLE PRECISION)",
            infinities=None,
            from_number="CAST({text} AS DOUBLE PRECISION)",
            either=None,
            whole="CAST({text} AS DECIMAL(38, 0)) - {bound}",
            is_float=None,
            exact="CAST({text} AS DECIMAL(38, 18)) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="scientific",
            beside_texts=None,
        ),
        cautions=(
            Caution(
                types=("float",),
                always=True,
                text="NaN may get a cluster, since ANSI SQL does not define how it compares. If a column has "
                "NaN, choose the database's dialect.",
            ),
        ),
    ),
    "snowflake": Dialect(
        name="snowflake",
        nan=Nan(
            sorts="highest",
            infinity="CAST('inf' AS DOUBLE)",
            finite=None,
            infinite=None,
            is_nan="{value} = CAST('NaN' AS DOUBLE)",
        ),
        names=Names(fold=fold_nothing, unquoted=str.upper, longest=255),
        texts=replace(STANDARD_TEXTS, column="COLLATE({column}, 'utf8')", coded="", holds_nul=True),
        numbers=Numbers(
            double="CAST('{digits}' AS DOUBLE)",
            negative="{number}",
            is_text="TYPEOF(TO_VARIANT({value})) = 'VARCHAR'",
            is_number="LENGTH({text}) <= {longest} AND REGEXP_LIKE({text}, '{pattern}')",
            is_code=None,
            grouped=None,
            to_double=TRY_DOUBLE,
            infinities=infinities("CAST('inf' AS DOUBLE)"),
            from_number="AS_DOUBLE(TO_VARIANT({value}))",
            either=None,
            whole="TRY_CAST({text} AS NUMBER(38, 0)) - {bound}",
            is_float="TYPEOF(TO_VARIANT({value})) = 'DOUBLE'",
            exact="TRY_CAST({text} AS NUMBER(38, 15)) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="digits",
            beside_texts=None,
        ),
        cautions=(_TRUTH_WITH_DECIMALS,),
    ),
    "bigquery": Dialect(
        name="bigquery",
        nan=Nan(sorts="compares false", infinity=None, finite=None, infinite=None, is_nan="IS_NAN({value})"),
        names=Names(fold=str.casefold, unquoted=fold_nothing, longest=300, refused_columns=_BIGQUERY_REFUSED),
        texts=replace(
            STANDARD_TEXTS,
            column="COLLATE({column}, '')",
            trimmed="TRIM(CAST({value} AS STRING), ' ')",
            coded="",
            holds_nul=True,
        ),
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text="STARTS_WITH(FORMAT('%T', {value}), '\"')",
            is_number="LENGTH({text}) <= {longest} AND REGEXP_CONTAINS({text}, '^({pattern})$')",
            is_code=None,
            grouped=None,
            to_double="SAFE_CAST({text} AS FLOAT64)",
            infinities=None,
            from_number="SAFE_CAST({value} AS FLOAT64)",
            either=None,
            whole="SAFE_CAST({text} AS BIGNUMERIC) - {bound}",
            is_float=None,
            exact="SAFE_CAST({value} AS BIGNUMERIC) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="digits",
            beside_texts=None,
        ),
        cautions=(_TRUTH_WITH_DECIMALS,),
    ),
    # Trino itself compares NaN false, but hands a filter on to the database that has the table: PostgreSQL and Oracle
    # sort NaN above all numbers.
    "trino": Dialect(
        name="trino",
        nan=Nan(sorts="highest", infinity="INFINITY()", finite=None, infinite=None, is_nan="IS_NAN({value})"),
        names=Names(fold=str.casefold, unquoted=fold_nothing, longest=None),
        texts=replace(STANDARD_TEXTS, code="CHR({code})", holds_nul=True),
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text="REGEXP_LIKE(TYPEOF({value}), '^(var)?char')",
            is_number=f"LENGTH({{text}}) <= {{longest}} AND REGEXP_LIKE({{text}}, '{to_the_end('{pattern}')}')",
            is_code=None,
            grouped=None,
            to_double=TRY_DOUBLE,
            infinities=infinities("INFINITY()"),
            from_number="TRY_CAST({value} AS DOUBLE)",
            either=None,
            whole="TRY_CAST({text} AS DECIMAL(38, 0)) - {bound}",
            is_float="TYPEOF({value}) IN ('real', 'double')",
            exact=TRY_EXACT,
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="scientific",
            beside_texts=None,
        ),
        cautions=(_TRUTH_WITH_DECIMALS,),
    ),
    "oracle": Dialect(
        name="oracle",
        nan=Nan(
            sorts="highest",
            infinity="BINARY_DOUBLE_INFINITY",
            finite=None,
            infinite=None,
            is_nan="{value} = BINARY_DOUBLE_NAN",
        ),
        names=Names(
            fold=fold_nothing,
            unquoted=str.upper,
            longest=128,
            unit="bytes",
            refused='"',
            qualify_star=True,
            alias=" ",
            no_table=" FROM DUAL",
        ),
        texts=replace(
            STANDARD_TEXTS,
            column="{column} COLLATE BINARY",
            trimmed="TRIM(CAST({value} AS VARCHAR2(4000)))",
            code="CHR({code})",
            holds_nul=True,
            empty=False,
        ),
        numbers=Numbers(
            double="{digits}d",
            negative="{number}",
            is_text="REGEXP_LIKE(DUMP({value}), '^Typ=(1|96) ')",
            is_number="LENGTH({text}) <= {longest} AND REGEXP_LIKE({text}, '^({pattern})$')",
            is_code=None,
            grouped=None,
            to_double=f"TO_BINARY_DOUBLE(REPLACE({{text}}, '.', {_ORACLE_POINT}) DEFAULT NULL ON CONVERSION ERROR)",
            infinities=infinities("BINARY_DOUBLE_INFINITY"),
            from_number="TO_BINARY_DOUBLE({value} DEFAULT NULL ON CONVERSION ERROR)",
            either=None,
            whole="TO_NUMBER({text} DEFAULT NULL ON CONVERSION ERROR) - {bound}",
            is_float="REGEXP_LIKE(DUMP({value}), '^Typ=(100|101) ')",
            exact="TO_NUMBER({value} DEFAULT NULL ON CONVERSION ERROR) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="double",
            beside_texts=None,
        ),
        cautions=(_TRUTH_WITH_DECIMALS,),
    ),
    "tsql": Dialect(
        name="tsql",
        nan=Nan(sorts="none", infinity=None, finite=None, infinite=None, is_nan=None),
        names=Names(fold=str.casefold, unquoted=fold_nothing, longest=128),
        texts=replace(
            STANDARD_TEXTS,
            column="CAST(CAST({column} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
            literal="CAST({literal} AS VARBINARY(MAX))",
            trimmed="TRIM(CONVERT(NVARCHAR(4000), {value}, 3))",
            prefix="N",
            code="NCHAR({code})",
            holds_nul=True,
            link=" + ",
        ),
        numbers=Numbers(
            double="{scientific}",
            negative="{number}",
            is_text=None,
            is_number=f"LEN({{text}}) <= {{longest}} AND {by_wildcards('LIKE', '%')}",
            is_code="CONVERT(NVARCHAR(20), TRY_CAST({text} AS BIGINT)) = {text}",
            grouped=grouped_by_wildcards("LIKE", "%"),
            to_double="TRY_CAST({text} AS FLOAT)",
            infinities=infinities("1.7976931348623157e308"),
            from_number="TRY_CAST({text} AS FLOAT)",
            either=None,
            whole="TRY_CAST({text} AS DECIMAL(38, 0)) - {bound}",
            is_float=None,
            exact="TRY_CAST({text} AS DECIMAL(38, 18)) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="scientific",
            beside_texts=None,
        ),
        cautions=(_TRUTH_WITH_DECIMALS,),
    ),
    # An engine whose texts are equal whatever blanks they end with, and which pads a CHAR that it casts to bytes. A
    # cast without a length truncates. The order of NaN is not documented, and no function gives the type of a value.
    "redshift": Dialect(
        name="redshift",
        nan=Nan(
            sorts="not between",
            infinity=INFINITY,
            finite=None,
            infinite=None,
            is_nan="({value} = CAST('NaN' AS DOUBLE PRECISION) OR {value} + 0 <> {value})",
        ),
        names=Names(
            fold=fold_ascii,
            unquoted=str.lower,
            longest=127,
            unit="bytes",
            refused=r"[\x00-\x1f\x7f]",
            refused_columns=r"(?i)^(oid|tableoid|xmin|cmin|xmax|cmax|ctid)$",
        ),
        texts=replace(
            STANDARD_TEXTS,
            column="CAST(CAST({column} AS VARCHAR(65535)) AS VARBYTE)",
            literal="CAST({literal} AS VARBYTE)",
            trimmed="TRIM(CAST({value} AS VARCHAR(65535)))",
            truth="TRIM(REPLACE(JSON_SERIALIZE(CAST({value} AS SUPER)), '\"', ''))",
            coded="\r\\",
            code="CHR({code})",
            plain_literals=True,
        ),
        numbers=Numbers(
            double="CAST('{digits}' AS DOUBLE PRECISION)",
            negative="{number}",
            is_text=None,
            is_number="LEN({text}) <= {longest} AND STRPOS({text}, CHR(10)) = 0 AND {text} ~ '^({pattern})$'",
            is_code=None,
            grouped=None,
            to_double="TRY_CAST({text} AS DOUBLE PRECISION)",
            infinities=infinities(INFINITY),
            from_number="TRY_CAST({value} AS DOUBLE PRECISION)",
            either=None,
            whole="TRY_CAST({text} AS DECIMAL(38, 0)) - {bound}",
            is_float=None,
            exact="TRY_CAST({text} AS DECIMAL(38, 18)) - {bound}",
            truth=None,
            beside_doubles=None,
            beside_integers="as doubles",
            beyond_int64=False,
            beside_singles="digits",
            beside_texts=None,
        ),
        cautions=(
            Caution(
                types=("integer", "float"),
                converted=True,
                text="A REAL or DOUBLE PRECISION column is read by its text, which may be rounded: cast it to DECIMAL "
                "in a view.",
            ),
            _TRUTH_WITH_DECIMALS,
        ),
    ),
    # The language is Spark's. A collation is overridden by an explicit one.
    "databricks": replace(
        EXECUTED["spark"],
        name="databricks",
        names=Names(fold=str.casefold, unquoted=fold_nothing, longest=255),
        texts=replace(EXECUTED["spark"].texts, column="CAST({column} AS STRING) COLLATE UTF8_BINARY"),
    ),
}
