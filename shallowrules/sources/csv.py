"""CSV: the shape of the file is decided here and nothing is guessed from a sample, except which way to try first.

The header, the one delimiter and the structure of every line are known before DuckDB reads the file with all of it
fixed. A column that looks numeric in a sample is read as numbers at once, and as text if that fails in any row; types
of the others are decided in SQL over all rows. So nothing is silently renamed, padded or retyped.
"""

from __future__ import annotations

import csv
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from shallowrules.errors import DataError, Finding, OptionName
from shallowrules.files import Reading
from shallowrules.sources.base import Provenance
from shallowrules.sources.csv_expressions import (
    as_number,
    as_truth,
    as_whole,
    checked_whole,
    count_numbers,
    count_truths_and_dates,
)
from shallowrules.sources.csv_sample import FieldLooks, is_padded, is_surely_text, sample_rows
from shallowrules.sources.engine import (
    DuckDBSource,
    Field,
    batched,
    file_literal,
    quote_text,
    reason,
    text_literals,
    typed_column,
)
from shallowrules.sources.number_formats import (
    Finder,
    count_points,
    formats_by_column,
    not_written,
    three_digits,
    two_readings,
)
from shallowrules.sources.structure import check_rows, check_single, open_text, read_header
from shallowrules.sources.text import scan
from shallowrules.sources.text_dates import text_field
from shallowrules.sources.text_findings import MISSING_WORDS, missing_words, nearly_numeric, note_dates
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.conversion import PLAIN, Conversion, has_digit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["CsvSource", "CsvText"]

NUMBERS = ("integer", "float")

COUNTED_COLUMNS = 20
"""Number of columns up to which types are counted side by side; beyond that, all fields are counted as one long column.

The time in which DuckDB plans a query grows with the square of its expressions: 100 columns of 6 counts took 0.3 s of
CPU for 40 rows.
"""

MAX_RETRIES = 3
"""Number of columns that may turn out to have a type other than in the sample before all are read as text."""


@dataclass(frozen=True)
class CsvText:
    """The text of a CSV file, or one that was made from a sheet.

    Parameters
    ----------
    file : str
        Where it is: UTF-8, from the header on.
    delimiter : str
    shown : str
        The name of the file that it comes from, for messages.
    header_line : int
        The line of that file at which it begins, for messages.
    kind : {"csv", "workbook"}
        The kind of that file.
    """

    file: str
    delimiter: str
    shown: str
    header_line: int = 1
    kind: str = "csv"


class CsvSource(DuckDBSource):
    """A CSV file: everything is text, and a column is numeric if all of its values are.

    It is loaded on first use into the table `name`, whose column ``c0`` and so on is NULL for an empty field. Columns
    that look like numbers in a sample are loaded as numbers, unless their text is asked for.
    """

    names_may_repeat = True

    def __init__(
        self,
        database: DuckDBPyConnection,
        text: CsvText,
        told: Conversion,
        name: str,
        scratch: str,
        reading: Reading,
    ) -> None:
        self.file, self.delimiter, self._header_line = text.file, text.delimiter, text.header_line
        self.told = told
        kept = [word.strip(" ") for word in reading.keep_text]
        self._missing_words = [word for word in MISSING_WORDS if word not in kept]
        self._name = name
        names = read_header(self.file, self.delimiter, self._header_line)
        with open(self.file, "rb") as stream:
            self._scan = scan(stream, self.delimiter, single=len(names) == 1)
        self._regular = self._scan.regular and not self._scan.blank_lines
        if not self._regular:
            check_rows(self.file, self.delimiter, self._header_line)
        # The name that DuckDB gives; data frames write their index without one.
        names = [name or f"column{j}" for j, name in enumerate(names)]
        if len(names) == 1:
            check_single(names[0], self.file, self.delimiter, told.decimal if reading.delimiter else "")
        super().__init__(database, names, Provenance(text.kind, (text.shown,)))
        self.formats = self.checked(formats_by_column(reading.format, told))
        is_told = told.decimal != "." or reading.thousands is not None
        self._finder = Finder(self, told.decimal if is_told else None, reading.thousands)
        self._rewritten_to = os.path.join(scratch, f"rewritten-{name}")
        self._with_digits: set[int] = set()
        self._tried = self._sampled_types()
        self._loaded: dict[int, ColumnType] | None = None
        self._n_rows: int | None = None
        self._streams = False
        self._examined: tuple[int, ...] = ()
        self._numbers: dict[int, tuple[Any, ...]] = {}
        self._rewritten_rows: int | None = None

    @property
    def relation(self) -> str:
        """The table or expression that SQL selects the rows from."""
        self._load_once()
        return self._name

    def _load_once(self, types: dict[int, ColumnType] | None = None) -> dict[int, ColumnType]:
        """Return the columns that are numbers in the loaded table; by default, candidates come from a sample."""
        if self._loaded is None:
            numbers: dict[int, ColumnType] = {j: kind for j, kind in self._tried.items() if kind != "text"}
            self._load(numbers if types is None else types)
        return cast("dict[int, ColumnType]", self._loaded)

    def _count(self) -> int:
        if self._n_rows is None:
            self._load_once()  # which counts them
        return cast(int, self._n_rows)

    def read(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Column]:
        """Return columns by position, straight from the file, without a table, where their types are certain."""
        return self._read_straight(positions, as_text) or super().read(positions, as_text, findings)

    def _read_straight(self, positions: Sequence[int], as_text: Sequence[str]) -> list[Column] | None:
        """Return all columns if each is numbers or surely text; None if not, or if the file is not what it seemed."""
        import duckdb

        if self._loaded is not None or not self._regular or any(self.names[j] in as_text for j in positions):
            return None
        types = {j: self._tried[j] for j in positions if j in self._tried}
        if len(types) < len(self.names):
            return None
        try:
            arrays = self.database.execute(self._selection(types)).fetchnumpy()
        except duckdb.Error as error:  # loading the table finds the error
            self._tried = _without_wrong(self._tried, error)
            return None
        n_rows = len(arrays["c0"])
        if not n_rows or not self._fits(n_rows):
            return None
        self._n_rows = n_rows
        columns = [typed_column(self.names[j], kind, arrays[f"c{j}"]) for j, kind in types.items()]
        return columns if all(column.is_numeric or _is_text(column) for column in columns) else None

    def stream_text(self, examined: Sequence[int] = ()) -> None:
        """Read all columns as text, again in every query, so that no table holds the file.

        The first query reads every field, and counts the numbers of the columns `examined`.
        """
        self.database.execute(f"DROP TABLE IF EXISTS {self._name}")
        self._streams = True
        self._examined = tuple(examined) if len(examined) <= COUNTED_COLUMNS else ()
        self._load({})

    def original(self, j: int) -> str:
        """Return SQL for a column as it stands in the file."""
        return self.text(j)

    def text(self, j: int) -> str:
        """Return SQL for a column as the text that it is in the file."""
        if j in self._load_once({}):
            self._load({})
        return f"c{j}"

    def _fields(self, positions: Sequence[int], findings: list[Finding]) -> list[Field]:
        loaded = self._load_once()
        fields = {j: Field(loaded[j], f"c{j}") for j in positions if j in loaded}
        texts = [j for j in positions if j not in fields]
        conversions = {j: self.formats.get(self.names[j]) or self.told for j in texts}
        counted: dict[int, tuple[Any, ...]] = {}
        for conversion in set(conversions.values()):
            alike = [j for j in texts if conversions[j] == conversion]
            known = self._numbers.keys() >= set(alike)
            counts = partial(count_numbers, conversion)
            counted |= {j: self._numbers[j] for j in alike} if known else self._counted(alike, counts)
        others = self._counted(
            [j for j, (given, numbers, _) in counted.items() if numbers < given], count_truths_and_dates
        )
        kinds: dict[int, ColumnType] = {}
        plain: list[int] = []
        dated: dict[int, Field] = {}
        for j, (given, numbers, whole) in counted.items():
            if j not in others:
                kinds[j] = "integer" if given == whole > 0 else "float"
                continue
            truths, dates = others[j]
            if given == truths:
                kinds[j] = "boolean"
            else:
                found: list[Finding] = []
                if dates == given or self.names[j] in self.dates:
                    dated[j] = text_field(self, j, self._value(f"c{j}"), dates, given, PLAIN, findings)
                    kinds[j] = dated[j].type
                else:
                    kinds[j], conversions[j] = self._text_or_numbers(j, conversions[j], given, numbers, found)
                    note_dates(self, self.names[j], self._value(f"c{j}"), dates, given)
                findings += found
                # Numbers and texts with a digit may be treated as categories, among which null markers are noticeable
                # too.
                if kinds[j] == "text" and (not found or any(map(has_digit, found[0].values))):
                    plain.append(j)
        for j in positions:
            if self.names[j] in self.dates and kinds.get(j, fields[j].type if j in fields else "text") in NUMBERS:
                raise DataError(f"column {self.names[j]!r} holds numbers, not dates; omit ", OptionName("dates"))
        floats = {j: counted[j][0] for j in kinds if kinds[j] == "float" and conversions[j] == self.told}
        for finding in self._doubtful_points(floats, conversions):
            findings.append(finding)
            kinds[self.names.index(str(finding.column))] = "text"
        for batch in batched(plain):
            values = {self.names[j]: self._value(f"c{j}") for j in batch}
            findings += missing_words(self, values, self._missing_words)
        for batch in batched(texts):
            fields |= self._converted({j: kinds[j] for j in batch}, conversions, dated)
        return [fields[j] for j in positions]

    def _text_or_numbers(
        self, j: int, conversion: Conversion, given: int, numbers: int, findings: list[Finding]
    ) -> tuple[ColumnType, Conversion]:
        """Return whether a column is text, or numbers in a format that is found; add findings against either."""
        name, value = self.names[j], self._value(f"c{j}")
        number = as_number(value, conversion)
        if name not in self.formats and j in self._with_digits:
            found = self._finder.find(name, value, number, numbers, given)
            findings += found.findings
            self.column_notes[name] = found.notes
            if found.format is not None and found.numbers == given:
                conversion = Conversion.of(found.format, self.told.nulls)
                whole = self.row(f"count({as_whole(value, conversion)})")[0]
                return "integer" if whole == given else "float", conversion
            if found.format is not None and found.numbers > numbers:
                number, numbers = as_number(value, Conversion.of(found.format)), found.numbers
        if not findings:
            findings += nearly_numeric(self, name, value, f"{number} IS NULL", numbers, given)
        if not findings and conversion.format:
            findings.append(not_written(name, conversion.format, numbers, given))
        return "text", self.told

    def _doubtful_points(self, floats: Mapping[int, int], conversions: Mapping[int, Conversion]) -> Iterator[Finding]:
        """Yield a finding for each column of numbers, given by its number of values, whose points may group digits.

        Where all values have a point, and no column a decimal comma, it is the decimal separator, with a note.
        """
        asked = [j for j in floats if self._finder.decimal is None and self.names[j] not in self.formats]
        commas = any(conversion.decimal == "," for conversion in conversions.values())
        for j, (points, groups, others, example) in self._counted(asked, count_points).items():
            if not points or groups < points or others:
                continue
            name, bare = self.names[j], floats[j] - points
            if bare or commas:
                yield two_readings(name, ".", floats[j], bare, example)
            else:
                self.column_notes[name] = (three_digits(name, floats[j], example),)

    def _value(self, column: str) -> str:
        """Return SQL for the text of a field, NULL where it means "no value"."""
        if not self.told.nulls:
            return column
        return f"CASE WHEN trim({column}) NOT IN ({text_literals(self.told.nulls)}) THEN {column} END"

    def _counted(self, positions: Sequence[int], counts: Callable[[str], Sequence[str]]) -> dict[int, tuple[Any, ...]]:
        """Return the counts of values in each column, made by SQL; many columns take no more expressions than one."""
        if not positions:
            return {}
        if len(positions) <= COUNTED_COLUMNS:
            found = self.row(*(count for j in positions for count in counts(self._value(f"c{j}"))))
            width = len(found) // len(positions)
            return {j: found[width * i : width * (i + 1)] for i, j in enumerate(positions)}
        columns = ", ".join(f"c{j}" for j in positions)
        counted = counts(self._value("field"))
        long = f"(UNPIVOT {self.relation} ON {columns} INTO NAME name VALUE field)"
        rows = self.database.execute(f"SELECT name, {', '.join(counted)} FROM {long} GROUP BY name").fetchall()
        return dict.fromkeys(positions, (0,) * len(counted)) | {int(row[0][1:]): row[1:] for row in rows}

    def _converted(
        self, kinds: dict[int, ColumnType], conversions: Mapping[int, Conversion], dated: Mapping[int, Field]
    ) -> dict[int, Field]:
        """Return how to fetch columns of text in their types, and the part of the given conversion that each needs.

        `dated` are the columns of dates.
        """
        expressions: dict[int, str] = {}
        for j, kind in kinds.items():
            value = self._value(f"c{j}")
            numeric = kind in NUMBERS
            expression = value
            if numeric:
                expression = (as_whole if kind == "integer" else as_number)(value, conversions[j])
            elif kind == "boolean":
                expression = as_truth(value)
            elif j in dated:
                expression = dated[j].expression
            if numeric and (null_numbers := conversions[j].null_numbers):
                tokens = ", ".join(map(repr, null_numbers))
                expression = f"CASE WHEN {expression} NOT IN ({tokens}) THEN {expression} END"
            expressions[j] = expression
        if all(conversions[j] == PLAIN for j in kinds):
            return {j: dated.get(j, Field(kinds[j], expression)) for j, expression in expressions.items()}
        found = self.row(
            *(
                count
                for j, expression in expressions.items()
                for count in (
                    f"count({self._value(f'c{j}')}) - count({expression})",
                    f"count(*) FILTER (contains({self._value(f'c{j}')}, ','))",
                    f"list(DISTINCT trim(c{j})) FILTER ({self._value(f'c{j}')} IS NULL AND c{j} IS NOT NULL)",
                )
            )
        )
        fields = {}
        for i, (j, expression) in enumerate(expressions.items()):
            conversion = conversions[j]
            missing, commas, words = found[3 * i : 3 * i + 3]
            used = set(words or ())
            numbers = {token for token in self.told.nulls if conversion.number(token) is not None}
            nulls = tuple(token for token in self.told.nulls if token in used or (missing and token in numbers))
            numeric = kinds[j] in NUMBERS
            decimal = conversion.decimal if numeric and (commas or conversion.format) else "."
            format_ = conversion.format if numeric else ""
            told = PLAIN if kinds[j] == "boolean" else Conversion(decimal, nulls, format_)  # a truth value is not text
            if j in dated:
                told = replace(told, dates=dated[j].conversion.dates)
            fields[j] = Field(kinds[j], expression, told)
        return fields

    def _load(self, types: dict[int, ColumnType]) -> None:
        """Load the file, with columns in their presumed types and the others as text."""
        import duckdb

        if not self._regular and self.file != self._rewritten_to:
            self._rewrite()
        for _ in range(MAX_RETRIES):
            try:
                n_rows = self._create(types)
                break
            except duckdb.Error as error:
                left = _without_wrong(types, error)
                if left == types:
                    return self._complain(reason(error))
                types = left
        else:
            types = {}
            n_rows = self._create(types)
        self._loaded = types
        if not (self._fits(n_rows) if self._regular else n_rows == self._rewritten_rows):
            self._complain(f"DuckDB finds {n_rows:,} rows, which is not the number of lines")
        else:
            self._n_rows = n_rows

    def _fits(self, n_rows: int) -> bool:
        """Return whether a regular file has this number of rows."""
        # DuckDB ignores extra empty fields at the end of a line; a single column has no delimiters to count.
        width = len(self.names)
        return self._scan.delimiters == (width - 1) * (n_rows + 1) and (width > 1 or self._scan.lines == n_rows + 1)

    def _create(self, types: dict[int, ColumnType]) -> int:
        """Make the table, or the view, and return its number of rows."""
        kind = "VIEW" if self._streams else "TABLE"
        self.database.execute(f"CREATE OR REPLACE {kind} {self._name} AS {self._selection(types)}")
        # Errors in the fields of a view have to be found now, as for a table, so all fields are read.
        counted = ["*", *(f"c{j}" for j in range(len(self.names) if self._streams else 0))]
        numbers = [
            count_numbers(self.formats.get(self.names[j]) or self.told, self._value(f"c{j}")) for j in self._examined
        ]
        counts = (*(f"count({what})" for what in counted), *itertools.chain(*numbers))
        found = self.row(*counts, rows=self._name)
        first = len(counted)
        self._numbers = {j: found[first + 3 * i : first + 3 * i + 3] for i, j in enumerate(self._examined)}
        return cast(int, found[0])

    def _selection(self, types: dict[int, ColumnType]) -> str:
        """Return SQL for all rows of the file, with columns in their presumed types and the others as text."""
        whole = "BIGINT" if self._regular and self._scan.whole_numbers else "VARCHAR"
        as_loaded = {"float": "DOUBLE", "integer": whole}
        declared = {j: as_loaded.get(types.get(j, "text"), "VARCHAR") for j in range(len(self.names))}
        columns = ", ".join(f"'c{j}': '{kind}'" for j, kind in declared.items())
        checked = [j for j, kind in declared.items() if kind == "VARCHAR" and types.get(j) == "integer"]
        selected = ", ".join(checked_whole(j) if j in checked else f"c{j}" for j in declared)
        cast = "".join(f", TRY_CAST(c{j} AS BIGINT) AS whole{j}" for j in checked)
        return (
            f"SELECT {selected} FROM (SELECT *{cast} FROM read_csv({file_literal(self.file)}, auto_detect=false, "
            f"columns={{{columns}}}, delim={quote_text(self.delimiter)}, quote='\"', escape='\"', header=true, "
            "nullstr='', null_padding=false, compression='none', hive_partitioning=false))"
        )

    def _complain(self, engine: str) -> None:
        """Report the line that DuckDB stumbled over, or read the file with the `csv` module if that finds no fault."""
        if self._regular:
            check_rows(self.file, self.delimiter, self._header_line)
            self._regular = False
            self._load({})
            return
        raise DataError(f"cannot be read: {engine}; quote the fields in the file, or use Parquet")

    def _rewrite(self) -> None:
        """Write a copy with every field quoted, one line end, no blank lines, and no line break in the header.

        DuckDB mistakes such a break for the end of the header, and skips rows below it.
        """
        with open_text(self.file) as stream, open(self._rewritten_to, "w", encoding="utf-8", newline="") as copy:
            writer = csv.writer(copy, delimiter=self.delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
            rows = filter(None, csv.reader(stream, delimiter=self.delimiter, strict=True))
            next(rows)
            writer.writerow(f"c{j}" for j in range(len(self.names)))
            written = itertools.count()
            writer.writerows(row for row, _ in zip(rows, written, strict=False))
        self.file, self._rewritten_rows = self._rewritten_to, next(written)

    def zero_padded(self) -> set[str]:
        """Return columns whose whole numbers are written with leading zeros, as far as rows all over the file tell."""
        return {self.names[j] for row in self._sample() for j, field in enumerate(row) if is_padded(field)}

    def _sampled_types(self) -> dict[int, ColumnType]:
        """Return the columns that look like numbers in a sample or are surely text: only a hint at what to try first.

        Numbers whose points may group digits are not among them.
        """
        looks = FieldLooks.of(self._sample(), len(self.names))
        self._with_digits = looks.with_digits
        if self.told != PLAIN:
            return {}
        told = {j for j, name in enumerate(self.names) if name in self.formats}
        of_other_format = {j for j in told if self.formats[self.names[j]]}
        given = looks.given - of_other_format
        floats = not self._scan.odd_numbers and self._regular
        numbers = {
            j: kind
            for j, kind in looks.numbers.items()
            if j in given and (kind == "integer" or (floats and j in looks.with_fraction | told))
        }
        return numbers | dict.fromkeys(given - looks.doubtful, "text")

    def _sample(self) -> Iterator[list[str]]:
        """Yield rows from places all over the file, or only from its beginning where a line may end inside a field."""
        is_plain = self._regular and not self._scan.quoted
        return sample_rows(self.file, self.delimiter, len(self.names), everywhere=is_plain)


def _without_wrong(types: dict[int, ColumnType], error: Exception) -> dict[int, ColumnType]:
    """Return the types without that of the column in which DuckDB found something else."""
    wrong = re.search(r"shallowrules column (\d+)|column \"?c(\d+)\"?", str(error))
    return types if wrong is None else {j: kind for j, kind in types.items() if j != int(wrong[1] or wrong[2])}


def _is_text(column: Column) -> bool:
    """Return whether a column of text cannot have any other type, whatever its values."""
    distinct = set(column.values.tolist()) - {None}
    return bool(distinct) and all(map(is_surely_text, distinct))
