"""The labels of the rows of a file, by exported SQL in an embedded DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.exporters import export
from shallowrules.exporters.sql import neither_predicate, precision_case, unknown_predicate
from shallowrules.files import Reading
from shallowrules.labelling.drift import VALUES_SHOWN, ColumnShift
from shallowrules.labelling.tested_columns import find_columns, reading_for
from shallowrules.labelling.told import read_as_told
from shallowrules.labelling.totals import total_query
from shallowrules.labelling.writing import (
    Labelled,
    Output,
    Progress,
    bound_memory,
    check_format,
    labelled_query,
    refuse_taken,
    write,
)
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources import Source, Where, open_source
from shallowrules.sources.base import check_names, named
from shallowrules.sources.combined import CombinedSource
from shallowrules.sources.engine import PLACE, DuckDBSource, Field, absent_name, quote_name, quote_text, text_literals
from shallowrules.sources.number_formats import plain_number
from shallowrules.sources.text_dates import duration_cast, kind_of_dates, time_cast, time_type, written_cast
from shallowrules.sources.text_findings import MISSING_WORDS
from shallowrules.tables.conversion import DOUBLE_EXACT, GRAMMAR
from shallowrules.tables.dates import format_words
from shallowrules.tables.names import named_alike

__all__ = ["label_file"]

NUMERIC = ("integer", "float")

NOT_A_NUMBER = "not a number"
"""A text that stands for any text that is neither a number nor means "no value"."""

TOLD: Mapping[str, Sequence[str]] = {
    "csv": ("delimiter", "decimal", "thousands", "format", "null", "keep_text", "encoding"),
    "json": ("format", "null", "encoding"),
    "parquet": ("format",),
    "workbook": ("decimal", "thousands", "format", "null", "keep_text"),
}
"""By the kind of a file, the options of `Reading` that apply to it; a source refuses the others that do not itself."""


def label_file(
    rules: RuleSet,
    where: Where,
    output: Output,
    reading: Reading,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    measure: str | None = None,
) -> Labelled:
    """Write every row of a file with one more column, its cluster.

    The cluster is its given label where the rules have names, else its number; NULL where no rule matches. If the
    output wants it, the precision of the row's rule is beside it.
    A column keeps the file's text if the kind of file stays the same, and otherwise has the type that it is read as.

    A CSV file is read three times: by a query that finds every field sound and counts the numbers of the tested
    columns, on which the CASE expression depends; by one that counts the rows of each cluster; and by COPY, which
    writes the rows and counts none. Text in tested columns, and another kind of file to write, take further queries.

    Parameters
    ----------
    rules : RuleSet
    where : str or sequence of str
        CSV, Parquet or JSON files.
    output : Output
    reading : Reading
        What the rules' own conversions decide is read as `read_as_told` says.
    columns : mapping from str to str, optional
        What the file calls columns of the rules that have another name there.
    progress : callable, optional
        Called now and then with the share of the work that is done.
    measure : str, optional
        A column of numbers to add up by cluster, as the rules call it.

    Raises
    ------
    DataError
        If the file is not a table, or lacks a tested column or has it as another type; if the precision of a rule is
        wanted and not known.
    ExportError
        If the file has a column of the new one's name.
    OptionError
        If options of the reading mean nothing for the kind of file.
    ShallowRulesError
        If the result cannot be written.
    """
    _, kind, _ = check_format(output.path)
    if output.with_precision:
        rules.rule_precisions()  # refused before the work
    rules = read_as_told(rules, reading, columns)
    with open_source(where, reading_for(rules, reading, columns)) as source:
        parts = _parts(source)
        _refuse_meaningless(reading, parts[0])
        names = parts[0].names
        repeated = named_alike(names) is not None
        if repeated and (kind != "csv" or output.csv_safe or len(parts) > 1):
            check_names(names)
        database = parts[0].database
        bound_memory(database)
        taken = [*output.new_columns, *(name for file in parts for name in file.names)]
        number, precision = (absent_name(name, taken) for name in ("cluster number", "precision of the rule"))
        files = []
        for part in parts:
            with named(str(part.provenance)) if len(parts) > 1 else nullcontext():
                files.append(_Labelling(rules, part, output, (number, precision), columns or {}))
        queries = (f"({file.query()})" for file in files)
        labelled = f"({' UNION ALL BY NAME '.join(queries)}) AS labelled"
        totals = None
        if measure is not None:
            measured = " UNION ALL ".join(file.measured((columns or {}).get(measure, measure)) for file in files)
            totals = total_query(database, measured, measure, rules)
        delimiter = getattr(parts[0], "delimiter", ",").replace("\t", ",")
        header = [*names, *output.new_columns] if repeated else None
        counts = write(database, labelled, number, output, delimiter, progress, header)
        return Labelled(counts, _unseen(files, sum(counts.values())), totals)


def _refuse_meaningless(reading: Reading, source: DuckDBSource) -> None:
    """Raise OptionError for options that mean nothing for a kind of file: the rules would be applied without them."""
    kind, default = source.provenance.kind, vars(Reading())
    for name, value in vars(reading).items():
        if name in TOLD["csv"] and name not in TOLD[kind] and value and tuple(value) != tuple(default[name] or ()):
            shown = {"json": "JSON", "parquet": "Parquet", "workbook": "workbook"}[kind]
            raise OptionError(OptionName(name), f" means nothing to a {shown} file, whose values have types; omit it")


def _unseen(files: Sequence[_Labelling], n_rows: int) -> tuple[ColumnShift, ...]:
    """Return the columns of text with categories that training did not have, and the rows of these."""
    database = files[0].source.database
    shifts = []
    for column in (column for column in files[0].tested if column.type == "text"):
        found = " UNION ALL ".join(file.unknown(column) for file in files)
        counted = f"SELECT value, count(*) AS n FROM ({found}) GROUP BY value"
        query = f"SELECT value, sum(n) OVER () FROM ({counted}) ORDER BY n DESC, value LIMIT {VALUES_SHOWN}"
        if rows := database.execute(query).fetchall():
            examples = tuple(value for value, _ in rows)
            shifts.append(ColumnShift(column, n_rows, unseen=int(rows[0][1]), examples=examples))
    return tuple(shifts)


def _parts(source: Source) -> list[DuckDBSource]:
    """Return the files of a source, each in the same database."""
    parts = source.parts if isinstance(source, CombinedSource) else (source,)
    return [part for part in parts if isinstance(part, DuckDBSource)]


class _Labelling:
    """How the rows of a file are labelled; `inner` has the names of the columns of the number and the precision."""

    def __init__(
        self,
        rules: RuleSet,
        source: DuckDBSource,
        output: Output,
        inner: tuple[str, str],
        columns: Mapping[str, str],
    ) -> None:
        refuse_taken(output.new_columns, source.names)
        self.rules, self.source, self.output = rules, source, output
        _, self.kind, _ = check_format(output.path)
        self.number, self.precision = inner
        self.tested = [rules.columns[feature] for feature in rules.tested_columns]
        self.positions = find_columns(self.tested, source.names, columns, None)
        check_names(source.names, {source.names[j] for j in self.positions})
        source.stream_text(self.positions)
        # For text, also words that others read as missing: the rules decide whether these are values.
        as_text = [
            source.names[j]
            for c, j in zip(self.tested, self.positions, strict=True)
            if c.converts_text or not set(c.values).isdisjoint(MISSING_WORDS)
        ]
        empty = source.is_empty
        self.fields: dict[str, Field] = {}
        fields = source.fields(self.positions, as_text)
        for column, j, found in zip(self.tested, self.positions, fields, strict=True):
            # Without a value there is no type.
            nothing = Field(column.type, f"CAST(NULL AS {_declared(column)})")
            field = nothing if empty else _as_compared(column, source, j, found)
            if column.from_text and field.type == "text":
                if not column.conversion.is_for_sql:
                    field = _without_format(column, field)
                _refuse_stray(column, source, field, given=found)
            self.fields[column.name] = field

    def query(self) -> str:
        """Return the query that gives the columns to write, and the number of each row's cluster."""
        source, names = self.source, self.source.names
        everything = list(range(len(names)))
        if _as_they_stand(source, self.kind):
            values = [source.original(j) for j in everything]
        else:
            values = [field.expression for field in source.fields(everything, findings=[])]
        given = [absent_name(f"column {j}", names) for j in everything] if named_alike(names) else names
        written = [f"{value} AS {quote_name(name)}" for value, name in zip(values, given, strict=True)]
        rules, inner, relation = self._read()
        written.append(f"{_case(rules, inner)} AS {quote_name(self.number)}")
        if self.output.with_precision:
            precision = precision_case(rules, dialect="duckdb", columns=inner)
            written.append(f"{precision} AS {quote_name(self.precision)}")
        numbered = f"(SELECT {', '.join(written)} FROM {relation} AS read) AS numbered"
        return labelled_query(self.rules, self.output, numbered, self.number, self.precision)

    def _read(self) -> tuple[RuleSet, dict[str, str], str]:
        """Return the rules as SQL compares them, the names of their columns, and the relation that has these."""
        # Distinct from the columns of the file, whose names may be anything.
        names = self.source.names
        inner = {column.name: absent_name(f"tested column {i}", names) for i, column in enumerate(self.tested)}
        read = ["*", *(f"{field.expression} AS {quote_name(inner[name])}" for name, field in self.fields.items())]
        clusters = tuple(replace(cluster, noise=False) for cluster in self.rules.clusters)
        plain = replace(self.rules, columns=tuple(map(_plain, self.rules.columns)), clusters=clusters)
        return plain, inner, f"(SELECT {', '.join(read)} FROM {self.source.relation})"

    def measured(self, name: str) -> str:
        """Return the query for the number of each row's cluster and its number to add up, in a column of the file."""
        [position] = self.source.positions([name])
        check_names(self.source.names, {self.source.names[position]})
        [field] = self.source.fields([position])
        if field.type not in NUMERIC and not self.source.is_empty:
            raise DataError(f"the measure {name!r} cannot be added up: it was read as {field.type}")
        rules, inner, relation = self._read()
        return f"SELECT {_case(rules, inner)} AS cluster, {field.expression} AS measure FROM {relation} AS read"

    def unknown(self, column: RuleColumn) -> str:
        """Return the query that gives the texts in a tested column which no training row had."""
        field = self.fields[column.name]
        text = _number_text(field.expression) if field.type in NUMERIC else field.expression
        unknown = unknown_predicate(replace(column, codes=False), "value", "duckdb")
        return f"SELECT value FROM (SELECT {text} AS value FROM {self.source.relation}) WHERE {unknown}"


def _case(rules: RuleSet, columns: Mapping[str, str]) -> str:
    """Return SQL for the number of each row's cluster."""
    return f"{export(rules, 'sql', dialect='duckdb', style='case', columns=columns)}\n"


def _declared(column: RuleColumn) -> str:
    """Return the DuckDB type for the values that rules compare."""
    if column.is_time:
        return "INTERVAL" if column.type == "duration" else column.type.upper()
    return "DOUBLE" if column.is_numeric else "VARCHAR"


def _as_they_stand(source: DuckDBSource, kind: str) -> bool:
    """Whether columns are written as in the file: if the output is of the same kind, or if the file has types."""
    return source.provenance.kind in (kind, "parquet")


def _as_compared(column: RuleColumn, source: DuckDBSource, j: int, field: Field) -> Field:
    """Return how to fetch a column as the rules compare it; DataError if it holds values of a different type."""
    if column.codes:
        return _as_codes(column, source, field)
    if column.type == "text" and field.type in (*NUMERIC, "boolean") and source.provenance.kind in ("csv", "workbook"):
        return Field("text", source.original(j))  # categories that happen to be numbers or truth values here
    if column.holds_numbers and field.type in NUMERIC and _are_exact(source, field):
        return Field("text", _number_text(field.expression))
    if column.type == "boolean" and field.type in NUMERIC and _is_zero_one(source, field):
        return Field("boolean", f"({field.expression} = 1)")
    if column.is_time:
        return _as_time(column, source, j, field)
    if _kind(column.type) != _kind(field.type) and not (column.from_text and field.type == "text"):
        raise DataError(f"column {column.name!r} was read as {field.type}, but the rules test it as {column.type}")
    return field


def _as_codes(column: RuleColumn, source: DuckDBSource, field: Field) -> Field:
    """Return how to fetch a column of codes as numbers; DataError for a value that is neither a code nor missing."""
    if field.type in NUMERIC:
        return field
    if field.type != "text":
        raise DataError(f"column {column.name!r} was read as {field.type}, but the rules test it as codes")

    def is_code(text: str) -> str:
        return f"regexp_full_match({text}, {quote_text(GRAMMAR.code)}) AND length({text}) <= {GRAMMAR.longest}"

    read, words = "trim(read, ' ')", text_literals(["", *column.conversion.words])
    missing = f"{read} IN ({words}) OR regexp_full_match({read}, {quote_text(GRAMMAR.nan)})"
    stray = f"read IS NOT NULL AND NOT ({missing} OR {is_code(read)})"
    _refuse_stray(column, source, field, stray, "codes, which are whole numbers such as 3")
    text = f"trim({field.expression}, ' ')"
    return Field("float", f"CASE WHEN {is_code(text)} THEN CAST({text} AS DOUBLE) END")


def _as_time(column: RuleColumn, source: DuckDBSource, j: int, field: Field) -> Field:
    """Return how to fetch a column as times; DataError if it holds something else."""
    if field.type == column.type or {field.type, column.type} == {"date", "timestamp"}:
        return field
    text = field.expression if field.type == "text" else source.text(j)
    given = None if text is None else source.row(f"count({text})")[0]
    if text is not None and not given:
        return Field(column.type, f"CAST(NULL AS {_declared(column)})")
    if text is not None and field.type == "text":
        word = f"trim({text}) IN ({text_literals(column.nulls)})" if column.nulls else "false"
        value = f"CASE WHEN {word} THEN NULL ELSE {text} END"
        given = source.row(f"count({value})")[0]
        if column.type == "duration":
            span = duration_cast(value)
            if source.row(f"count({span})")[0] == given:
                return Field("duration", span)
        if column.dates:
            return _as_dates(column, source, value)
        kind = time_type(source, value, given)
        if kind is not None and (kind == column.type or {kind, column.type} == {"date", "timestamp"}):
            return Field(kind, time_cast(value, kind))
    raise DataError(
        f"column {column.name!r} was read as {field.type}, but the rules test it as {column.type}: write its values as "
        f"{column.show(int(cast(int, column.minimum)))}"
    )


def _plain(column: RuleColumn) -> RuleColumn:
    """Return a column whose text SQL can convert: without a format that SQL lacks, which `_without_format` removes."""
    conversion = column.conversion
    if conversion.is_for_sql or not column.from_text:
        return column
    nulls = (*conversion.words, *map(str, conversion.null_numbers), "")  # text may be a number in any case
    return replace(column, decimal=".", format="", nulls=tuple(dict.fromkeys(nulls)))


def _without_format(column: RuleColumn, field: Field) -> Field:
    """Return how to fetch the text of a column with its numbers as digits; other text becomes `NOT_A_NUMBER`."""
    conversion, text = column.conversion, f"trim({field.expression})"
    number = plain_number(field.expression, conversion.number_format)
    is_nan = f"regexp_full_match({text}, {quote_text(GRAMMAR.nan)})"
    kept = f"{text} IN ({text_literals(['', *conversion.words])}) OR {is_nan}"
    read = f"CASE WHEN {text} IS NULL OR {kept} THEN {text} ELSE coalesce({number}, {quote_text(NOT_A_NUMBER)}) END"
    return replace(field, expression=read)


def _as_dates(column: RuleColumn, source: DuckDBSource, value: str) -> Field:
    """Return how to fetch dates that are written in a format; DataError for a text that is not one of them."""
    date = written_cast(f"nullif(trim({value}), '')", column.dates)
    stray = f"{value} IS NOT NULL AND trim({value}) <> '' AND ({date}) IS NULL"
    kind = f"dates written as {format_words(column.dates)} ({column.dates})"
    row = source.row(f"min({PLACE})", f"arg_min({value}, {PLACE})", where=stray, rows=source.numbered)
    if row[0] is not None:
        raise DataError(
            f"column {column.name!r} holds {kind}, but row {row[0]} has {row[1]!r}: correct it, or leave it empty"
        )
    return Field(kind_of_dates(column.dates), date)


def _refuse_stray(
    column: RuleColumn,
    source: DuckDBSource,
    field: Field,
    stray: str = "",
    kind: str = "numbers",
    given: Field | None = None,
) -> None:
    """Raise DataError for a text, `read`, that is neither a value of its `kind` nor a null marker.

    The message shows `given`, if that is a different text.
    """
    shown = (given or field).expression
    values = f"(SELECT {PLACE}, {shown} AS given, {field.expression} AS read FROM {source.numbered})"
    stray = stray or neither_predicate(_plain(column), "read", "duckdb")
    found = source.database.execute(f"SELECT {PLACE}, given FROM {values} WHERE {stray} ORDER BY 1 LIMIT 1")
    if row := found.fetchone():
        place, value = row
        raise DataError(
            f"column {column.name!r} holds {kind}, but row {place} has {value!r}: correct it, or leave it empty"
        )


def _are_exact(source: DuckDBSource, field: Field) -> bool:
    """Return whether a double tells each number of a column from its neighbors."""
    number = f"CAST({field.expression} AS DOUBLE)"
    return not source.row(f"count(*) FILTER (abs({number}) > {DOUBLE_EXACT} AND NOT isnan({number}))")[0]


def _number_text(expression: str) -> str:
    """Return SQL for `shallowrules.tables.values.number_text` of these numbers, NULL for NaN."""
    number = f"CAST({expression} AS DOUBLE)"
    return (
        f"CASE WHEN isnan({number}) THEN NULL "
        f"WHEN {number} = trunc({number}) THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) "
        f"ELSE CAST({number} AS VARCHAR) END"
    )


def _is_zero_one(source: DuckDBSource, field: Field) -> bool:
    """Return whether a column of numbers holds truth values, as in a database that has no others."""
    return not source.row(f"count(*) FILTER ({field.expression} NOT IN (0, 1))")[0]


def _kind(column_type: str) -> str:
    return "number" if column_type in NUMERIC else column_type
