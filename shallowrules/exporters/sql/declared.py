"""The contents of columns by their declared types: they decide how plainly a condition can be written.

If nothing is known about a column, its conditions are long, and correct for every type in the conformance run. If
its type is known, there are no guards against values that it cannot hold. If the usual types are expected,
`Types.others` says what is not expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import RuleColumn

__all__ = ["TYPES", "Guards", "Held", "Types", "assumed_numbers", "held_by", "usually_held", "without_collation"]

Guards = Literal["usual", "full"]


@dataclass(frozen=True, kw_only=True)
class Held:
    """A column's possible values, as far as the text of a condition depends on them.

    Attributes
    ----------
    kind : {"numbers", "texts", "truths"}
    scale : int or None
        Numbers: decimals of at most this many digits after the point; None for others.
    floating : bool
        Numbers: floating ones alone.
    nan : bool
        Numbers: perhaps NaN, or anything else that an engine sorts among numbers although it is not one.
    filed : bool
        Numbers: perhaps in a file, whose statistics leave NaN out, and not in a table of the engine's own.
    singles : bool
        Numbers: perhaps floating ones of 32 bits.
    loose : bool
        Numbers: perhaps a text beside them, whatever the declaration says.
    undeclared : bool
        Numbers: perhaps in a column that is declared as text.
    bytewise : bool
        Texts: ``=`` compares them character by character.
    padded : bool
        Texts: whether the type may ignore trailing blanks.
    """

    kind: Literal["numbers", "texts", "truths"]
    scale: int | None = None
    floating: bool = False
    nan: bool = False
    filed: bool = False
    singles: bool = False
    loose: bool = False
    undeclared: bool = False
    bytewise: bool = False
    padded: bool = False


@dataclass(frozen=True, kw_only=True)
class Types:
    """The types of a dialect.

    Attributes
    ----------
    declared : tuple of (str, Held)
        By a pattern for the whole of a declaration, in capital letters; the first that matches. Declarations that
        match none are unknown. A group ``scale`` is how many digits a decimal has after the point.
    truths : tuple of str
        The predicates for a ``{value}`` of a boolean type: that it is true, and that it is false.
    bytewise : bool
        Whether ``=`` compares texts character by character in the engine's default collation.
    others : mapping from str to (str, str)
        By "numbers" and "texts": what a column of unknown type is assumed not to hold, because SQL would give it a
        different cluster than the tree; and the predicate by which the query finds columns that may hold it.
    query : str
        The query that finds ``{these}`` columns in a table whose ``{name}`` is given as a text.
    """

    declared: tuple[tuple[str, Held], ...]
    truths: tuple[str, str]
    bytewise: bool
    others: Mapping[str, tuple[str, str]]
    query: str


ANY_NUMBERS = Held(kind="numbers", nan=True, filed=True, singles=True, undeclared=True)


def held_by(dialect: Dialect, declaration: str) -> Held | None:
    """Return the kind of values in a column of a declared type; None where it is not known.

    Parameters
    ----------
    dialect : Dialect
    declaration : str
        The type, and after COLLATE the collation, if it is not the database's: ``VARCHAR(20) COLLATE NOCASE``.
    """
    shown = " ".join(declaration.upper().split())
    while wrapped := re.fullmatch(r"(?:NULLABLE|LOWCARDINALITY)\((.*)\)", shown):  # of ClickHouse
        shown = wrapped[1]
    for pattern, held in TYPES[dialect.name].declared:
        if (found := re.fullmatch(pattern, shown)) is not None:
            return replace(held, scale=int(found["scale"] or 0)) if "scale" in found.groupdict() else held
    return None


def without_collation(declaration: str) -> str:
    """Return a declared type without its collation."""
    return re.sub(r"(?i) COLLATE .*", "", declaration)


def usually_held(dialect: Dialect, column: RuleColumn) -> Held | None:
    """Return the kind of values in a rules column, whatever its usual type; None where it may be text or numbers."""
    if column.codes:
        return assumed_numbers(dialect)
    if column.type == "text":
        return Held(kind="texts", bytewise=TYPES[dialect.name].bytewise, padded=True)
    if column.type in ("integer", "float") and not column.from_text:
        return ANY_NUMBERS
    return None


def assumed_numbers(dialect: Dialect) -> Held | None:
    """Return the type of a column of codes if no function tells numbers from text: a NUMERIC 3 is then 3.00."""
    return ANY_NUMBERS if dialect.numbers.is_text is None else None


WHOLE, NUMBER, DOUBLE, SINGLE, TEXT, TRUTH = (
    Held(kind="numbers", scale=0),
    Held(kind="numbers"),
    Held(kind="numbers", floating=True, nan=True),
    Held(kind="numbers", floating=True, nan=True, singles=True),
    Held(kind="texts", bytewise=True),
    Held(kind="truths"),
)
COLLATED = replace(TEXT, bytewise=False)

_SCALE = r"( ?\( ?\d+ ?(, ?(?P<scale>\d+) ?)?\))"
_LENGTH = r"( ?\( ?(\d+|MAX) ?\))?"
_INTEGERS = "SMALLINT|INT|INTEGER|BIGINT"
_TRUTHS = ("{value}", "NOT {value}")
_EXACT = "values of more than 15 digits"

_SCHEMA = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = {name} AND ({these})"
_WIDE = "numeric_precision > 15 AND numeric_scale > 0"
_ORDERED = "collation_name IS NOT NULL"


_STANDARD = Types(
    declared=(
        (_INTEGERS, WHOLE),
        (f"(NUMERIC|DECIMAL|DEC){_SCALE}", NUMBER),
        ("DOUBLE|DOUBLE PRECISION|FLOAT|REAL", SINGLE),
        (f"(VARCHAR|CHARACTER VARYING){_LENGTH}", TEXT),
        ("BOOLEAN", TRUTH),
    ),
    truths=_TRUTHS,
    bytewise=True,
    others={
        "numbers": (f"NUMERIC {_EXACT}", _WIDE),
        "texts": ("a collation that treats different texts as equal", _ORDERED),
    },
    query=_SCHEMA,
)

_SPARK = Types(
    declared=(
        (f"TINYINT|BYTE|SHORT|LONG|{_INTEGERS}", WHOLE),
        (f"(DECIMAL|NUMERIC|DEC){_SCALE}", NUMBER),
        ("DOUBLE", DOUBLE),
        ("FLOAT|REAL", SINGLE),
        (f"STRING|VARCHAR{_LENGTH}", TEXT),
        ("BOOLEAN", TRUTH),
    ),
    truths=_TRUTHS,
    bytewise=True,
    others={"numbers": (f"DECIMAL {_EXACT}", ""), "texts": ("STRING with a collation, or CHAR(n)", "")},
    query="DESCRIBE TABLE IDENTIFIER({name})",
)

TYPES: Mapping[str, Types] = {
    "": _STANDARD,
    # A column may hold texts among numbers, whatever its declared type.
    "sqlite": Types(
        declared=(
            (f"TINYINT|MEDIUMINT|INT[248]|UBIGINT|({_INTEGERS})( UNSIGNED)?", replace(NUMBER, nan=True, loose=True)),
            (r"(REAL|DOUBLE|DOUBLE PRECISION|FLOAT|NUMERIC|DECIMAL)( ?\(.*\))?", replace(NUMBER, nan=True, loose=True)),
            (f"(TEXT|CLOB|N?VARCHAR|N?CHAR|CHARACTER){_LENGTH}( COLLATE BINARY)?", TEXT),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={"texts": ("a column of text with a collation", "sql LIKE '%COLLATE%'")},
        query="SELECT sql FROM sqlite_master WHERE name = {name} AND {these}",
    ),
    "duckdb": Types(
        declared=(
            (f"U?(TINYINT|{_INTEGERS})|INT[1248]|UINT(8|16|32)", WHOLE),
            (f"(DECIMAL|NUMERIC|DEC){_SCALE}", NUMBER),
            ("DOUBLE( PRECISION)?|FLOAT8", DOUBLE),
            ("FLOAT|REAL|FLOAT4", SINGLE),
            (f"(VARCHAR|TEXT|STRING|B?CHAR){_LENGTH}", TEXT),
            ("BOOLEAN|BOOL|LOGICAL", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={
            "numbers": (f"DECIMAL {_EXACT}", "sql LIKE '%DECIMAL%'"),
            "texts": ("VARCHAR with a collation, or under a default_collation", "sql LIKE '%COLLATE%'"),
        },
        query="SELECT sql FROM duckdb_tables() WHERE table_name = {name} AND ({these})",
    ),
    "postgres": Types(
        declared=(
            (f"INT[248]|(SMALL|BIG)?SERIAL|{_INTEGERS}", WHOLE),
            (f"(NUMERIC|DECIMAL){_SCALE}", replace(NUMBER, nan=True)),
            ("DOUBLE PRECISION|FLOAT8|FLOAT", DOUBLE),
            ("REAL|FLOAT4", SINGLE),
            (f'(TEXT|(VARCHAR|CHARACTER VARYING){_LENGTH})( COLLATE "?(C|POSIX|UCS_BASIC|DEFAULT)"?)?', TEXT),
            ("BOOLEAN|BOOL", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={
            "numbers": (f"NUMERIC {_EXACT}", "data_type = 'numeric' AND coalesce(numeric_precision, 99) > 15"),
            "texts": (
                "a nondeterministic collation",
                "collation_name IN (SELECT collname FROM pg_collation WHERE NOT collisdeterministic)",
            ),
        },
        query=_SCHEMA,
    ),
    "mysql": Types(
        declared=(
            # TINYINT(1) is what BOOLEAN becomes, and a number.
            (rf"(TINYINT|MEDIUMINT|{_INTEGERS})( ?\(\d+\))?( UNSIGNED)?( ZEROFILL)?|BOOL|BOOLEAN", WHOLE),
            (f"(DECIMAL|NUMERIC|DEC){_SCALE}?( UNSIGNED)?( ZEROFILL)?", NUMBER),
            (r"(DOUBLE( PRECISION)?|REAL)( ?\(\d+, ?\d+\))?( UNSIGNED)?", replace(DOUBLE, nan=False)),
            (r"FLOAT( ?\(\d+(, ?\d+)?\))?( UNSIGNED)?", replace(SINGLE, nan=False)),
            (rf"((TINY|MEDIUM|LONG)?TEXT|VARCHAR{_LENGTH})( CHARACTER SET \w+)? COLLATE \w+_(NOPAD|0900)_BIN", TEXT),
            (rf"((TINY|MEDIUM|LONG)?TEXT|VARCHAR{_LENGTH})( CHARACTER SET \w+)?( COLLATE \w+)?", COLLATED),
        ),
        truths=("{value} = 1", "{value} = 0"),
        bytewise=False,
        others={"numbers": (f"a YEAR, or DECIMAL {_EXACT}", f"data_type = 'year' OR {_WIDE}")},
        query=_SCHEMA,
    ),
    "clickhouse": Types(
        declared=(
            ("U?INT(8|16|32|64)", WHOLE),
            (f"DECIMAL{_SCALE}", NUMBER),
            ("FLOAT64", DOUBLE),
            ("FLOAT32", SINGLE),
            ("STRING", TEXT),
            ("BOOL", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={"numbers": ("a Decimal with more than 15 digits", "type LIKE '%Decimal%'")},
        query="SELECT name, type FROM system.columns WHERE table = {name} AND {these}",
    ),
    "spark": _SPARK,
    "databricks": _SPARK,
    "snowflake": Types(
        declared=(
            (f"TINYINT|BYTEINT|{_INTEGERS}", WHOLE),
            (f"(NUMBER|DECIMAL|NUMERIC){_SCALE}?", NUMBER),
            ("FLOAT|FLOAT[48]|DOUBLE|DOUBLE PRECISION|REAL", DOUBLE),
            (f"(VARCHAR|STRING|TEXT){_LENGTH}", TEXT),
            ("BOOLEAN", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={
            "numbers": (f"NUMBER {_EXACT}", _WIDE),
            "texts": ("a column or database with a collation", _ORDERED),
        },
        query=_SCHEMA,
    ),
    "bigquery": Types(
        declared=(
            ("INT64|INT|INTEGER|BIGINT|SMALLINT|TINYINT|BYTEINT", WHOLE),
            ("FLOAT64|FLOAT", DOUBLE),
            (f"(BIG)?(NUMERIC|DECIMAL){_SCALE}", NUMBER),
            (f"STRING{_LENGTH}", TEXT),
            ("BOOL|BOOLEAN", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={"texts": ("STRING with a collation", "collation_name <> 'NULL'")},
        query="SELECT column_name FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = {name} AND {these}",
    ),
    "trino": Types(
        declared=(
            (f"TINYINT|{_INTEGERS}", WHOLE),
            (f"DECIMAL{_SCALE}", NUMBER),
            ("DOUBLE", DOUBLE),
            ("REAL", SINGLE),
            (f"VARCHAR{_LENGTH}", TEXT),
            ("BOOLEAN", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=True,
        others={"numbers": (f"DECIMAL {_EXACT}", "data_type LIKE 'decimal%'")},
        query=_SCHEMA,
    ),
    "oracle": Types(
        declared=(
            (f"NUMBER{_SCALE}", NUMBER),
            ("BINARY_DOUBLE", DOUBLE),
            ("BINARY_FLOAT", SINGLE),
            (r"N?VARCHAR2 ?\( ?\d+( BYTE| CHAR)? ?\)", TEXT),
        ),
        truths=("{value} = TRUE", "{value} = FALSE"),
        bytewise=True,
        others={
            "numbers": (f"NUMBER {_EXACT}", "data_precision > 15"),
            "texts": ("a column or session whose collation is not BINARY", "collation <> 'USING_NLS_COMP'"),
        },
        query="SELECT column_name, data_type FROM user_tab_columns WHERE table_name = {name} AND ({these})",
    ),
    # Comparisons of texts there ignore blanks at the end.
    "tsql": Types(
        declared=(
            (f"TINYINT|{_INTEGERS}", WHOLE),
            (f"(DECIMAL|NUMERIC|DEC){_SCALE}", NUMBER),
            (r"REAL|FLOAT( ?\(\d+\))?", replace(SINGLE, nan=False)),
            (rf"N?VARCHAR{_LENGTH}( COLLATE \w+)?", COLLATED),
            ("BIT", TRUTH),
        ),
        truths=("{value} = 1", "{value} = 0"),
        bytewise=False,
        others={"numbers": (f"DECIMAL {_EXACT}", _WIDE)},
        query=_SCHEMA,
    ),
    "redshift": Types(
        declared=(
            (f"INT[248]|{_INTEGERS}", WHOLE),
            (f"(NUMERIC|DECIMAL){_SCALE}", NUMBER),
            ("DOUBLE PRECISION|FLOAT8|FLOAT", DOUBLE),
            ("REAL|FLOAT4", SINGLE),
            (f"(TEXT|VARCHAR|CHARACTER VARYING){_LENGTH}", COLLATED),
            ("BOOLEAN|BOOL", TRUTH),
        ),
        truths=_TRUTHS,
        bytewise=False,
        others={"numbers": (f"NUMERIC {_EXACT}", _WIDE)},
        query=_SCHEMA,
    ),
}
"""By the name that sqlglot has for a dialect; docs/dialects.md lists the documentation of those that are not
executed."""
