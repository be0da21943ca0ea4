"""Shapes of tables as people have them: one small file each, written by the tests."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

__all__ = ["SHAPES", "Shape"]

ROWS = 24
"""Of a column whose texts are repeated."""


@dataclass(frozen=True)
class Shape:
    """A small file and the options that it is read with.

    Parameters
    ----------
    content : bytes
    options : tuple of str
        Of the command line.
    column : str
        The one to cluster by; empty for all.
    """

    content: bytes
    options: tuple[str, ...] = field(default=())
    column: str = "x"


def column(*texts: str, options: tuple[str, ...] = (), name: str = "x", delimiter: str = ";", n: int = ROWS) -> Shape:
    """Return a file with a column of texts, repeated, beside one of small whole numbers."""
    stream = io.StringIO()
    rows = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    rows.writerow([name, "other"])
    rows.writerows([texts[i % len(texts)], i % 5] for i in range(n))
    return Shape(stream.getvalue().encode(), options, name)


def table(text: str, *options: str, column: str = "x", encoding: str = "utf-8", ends: str = "\n", n: int = 12) -> Shape:
    """Return a file as it is written here, with rows of two groups in place of the line ``ROWS``."""
    rows = "".join(f"{'ab'[i % 2]};{i % 2 * 50 + i % 3};{i % 4}\n" for i in range(n))
    return Shape(text.replace("ROWS\n", rows).replace("\n", ends).encode(encoding), options, column)


def beside(*texts: str, name: str, options: tuple[str, ...] = ()) -> Shape:
    """Return a file with a column of texts beside one of two groups, with the options to cluster both."""
    rows = "".join(f"{i % 2 * 50 + i % 3};{text}\n" for i, text in enumerate(texts))
    return Shape(f"x;{name}\n{rows}".encode(), options, "")


GROUPED = ["312", "845", "620", "2{0}564", "3{0}120", "4{0}900"]


def grouped(mark: str) -> list[str]:
    """Return whole numbers whose digits a mark groups."""
    return [text.format(mark) for text in GROUPED]


NUMBERS = {
    "whole": column("312", "845", "2564"),
    "decimal point": column("1.5", "2.25", "31.75"),
    "decimal comma": column("1,5", "2,25", "31,75"),
    "decimal comma, told": column("1,5", "2,25", "31,75", options=("--decimal", ",")),
    "decimal comma between commas": column("1,5", "2,25", "31,75", delimiter=","),
    "points between digits": column(*grouped(".")),
    "points between digits, told": column(*grouped("."), options=("--thousands", ".")),
    "points between digits of a column": column(*grouped("."), options=("--format", "x=1.234,5")),
    "points between digits beside decimal commas": column(*grouped("."), options=("--decimal", ",")),
    "points that are decimal": column(*grouped("."), options=("--format", "x=12.5")),
    "commas between digits": column(*grouped(",")),
    "commas between digits, told": column(*grouped(","), options=("--thousands", ",")),
    "blanks between digits": column(*grouped(" ")),
    "no-break blanks between digits": column(*grouped("\u00a0")),
    "narrow blanks between digits": column(*grouped("\u202f")),
    "apostrophes between digits": column(*grouped("'")),
    "round apostrophes between digits": column(*grouped("\u2019")),
    "commas and a point": column("1,234.50", "88.25", "12,345.00"),
    "points and a comma": column("1.234,50", "88,25", "12.345,00"),
    "blanks and a comma": column("1 234,50", "88,25", "12 345,00"),
    "two commas in a number": column("1,234,567", "88,250", "3"),
    "Indian groups": column("12,34,567", "1,23,456", "88"),
    "three digits behind every point": column("1.234", "12.250", "7.125"),
    "three digits behind every comma": column("1,234", "12,250", "7,125"),
    "a dollar in front": column("$2,512.20", "$88.10", "$312.00"),
    "a euro behind": column("2,50 \u20ac", "1.250,00 \u20ac", "88,10 \u20ac"),
    "a code of a currency": column("EUR 5", "EUR 12,25", "EUR 88,5"),
    "two currencies": column("$5", "\u20ac7", "$88"),
    "percent": column("12.5%", "3%", "100%"),
    "percent behind a blank": column("12,5 %", "3 %", "100 %"),
    "plus": column("+5", "-3", "+88"),
    "U+2212": column("\u22123", "5", "\u221288"),
    "minus behind": column("3-", "5", "88-"),
    "parentheses": column("(1,250)", "88", "(3)"),
    "parentheses and a dollar": column("($3.50)", "$88.00", "$5.25"),
    "a dash for none": column("-", "5", "88", "7", "3"),
    "exponents": column("1e3", "2.5E-2", "88"),
    "zeros behind": column("3.0", "5.0", "88.0"),
    "beyond doubles": column("9007199254740993", "9007199254740995", "3"),
    "scale letters": column("19M", "1.2M", "850K"),
    "one scale letter": column("19M", "1.2M", "88M"),
    "a unit": column("12 kg", "7.5 kg", "88 kg"),
    "a unit, told": column("12 kg", "7.5 kg", "88 kg", options=("--format", "x=12.5 kg")),
    "hours and minutes": column("7:30", "12:45", "9:15"),
    "a number and text": column("3+", "2", "1", "0"),
    "ranges": column("10-20", "20-30", "30-40"),
    "infinity": column("1.5", "inf", "7", "3"),
    "in quotes": Shape(('"x","other"\n' + "".join(f'"{i % 2 * 50 + i % 3}","{i % 5}"\n' for i in range(24))).encode()),
    "blanks around": column(" 5", "7 ", " 88 "),
    "underscores": column("1_000", "5_000", "88_000"),
    "hexadecimal": column("0x1F", "0x20", "0xFF"),
}

MISSING = {
    "empty": column("5", "", "88", "7", "3"),
    "empty, rows left out": column("5", "", "88", "7", "3", options=("--drop-missing",)),
    "empty, filled": column("5", "", "88", "7", "3", options=("--impute", "median")),
    "empty in text": column("a", "", "b", "b", "a"),
    "empty in text, a category": column("a", "", "b", options=("--missing", "category")),
    "mostly empty text": column("Gd", *[""] * 9),
    "mostly empty numbers": column("5", "7", *[""] * 9),
    "NA": column("5", "NA", "88", "7", "3"),
    "NA in text": column("a", "NA", "b", "b"),
    "N/A in text": column("a", "N/A", "b", "b"),
    "NA in text, kept": column("a", "NA", "b", options=("--keep-text", "NA")),
    "NA in text, missing": column("a", "NA", "b", options=("--null", "NA", "--missing", "category")),
    "a word of many": column("5", "k.A.", "88", "k.A.", "k.A."),
    "PrivacySuppressed": column("0.5", "PrivacySuppressed", "0.75", "PrivacySuppressed", "0.25"),
    "question marks": column("5", "?", "88", "7"),
    "two dots": column("5", "..", "88", "7"),
    "two words": column("5", "k.A.", "88", "n.b.", "7"),
    "many words": column("5", "red", "88", "blue", "7", "green", "9", "black"),
    "a word with a digit": column("5", "top 9", "88", "7", "3", "2"),
    "-999": column("5", "-999", "88", "7", "3", "9"),
    "-999, told": column("5", "-999", "88", "7", "3", options=("--null", "-999", "--impute", "median")),
    "9999": column("5", "9999", "88", "7", "3", "9"),
    "99 of a scale": column("1", "2", "3", "4", "5", "99"),
    "-200 of a sensor": column("2.5", "-200", "3.5", "1.5", "2.75", "1.25"),
    "no value at all": column(""),
    "a dash in text": column("a", "-", "b", "b"),
    "a dot for SAS": column("5", ".", "88", "7"),
    "nan": column("5", "nan", "88", "7"),
    "null": column("5", "null", "88", "7"),
    "None in text": column("a", "None", "b", "b"),
}

CODES = {
    "postcodes": column("02134", "10115", "02139", name="zip"),
    "postcodes without zeros": column("12134", "10115", "80331", name="zip"),
    "postcodes as categories": column("12134", "10115", "80331", name="zip", options=("--categories", "zip")),
    "postcodes as numbers": column("12134", "10115", "80331", name="zip", options=("--numbers", "zip")),
    "regions as categories": column("3", "11", "7", options=("--categories", "x")),
    "regions with a zero behind": column("3.0", "11.0", "7.0", options=("--categories", "x")),
    "regions with a gap": column("3", "11", "", options=("--categories", "x", "--drop-missing")),
    "0 and 1": column("0", "1", "1"),
    "true and false": column("true", "false", "true"),
    "yes and no": column("yes", "no", "yes"),
    "T and F": column("T", "F", "T"),
    "text with digits": column("A1", "B2", "A1"),
    "capitals and not": column("Rom", "rom", "ROM"),
    "accents": column("Z\u00fcrich", "Gen\u00e8ve", "Zurich"),
    "composed and not": column("\u00e9", "e\u0301", "x"),
    "blanks behind text": column("a ", "b", "a"),
    "quotes in text": column('6" pipe', "o'Hara", "plain"),
    "IDs in each row": beside(*(f"K{i:04}" for i in range(60)), name="id"),
    "numbers of rows": beside(*map(str, range(60)), name="id"),
    "IDs that recur": beside(*(str(17000 + i * 7 % 80) for i in range(240)), name="CustomerID"),
    "IDs that recur, with gaps": beside(
        *(str(17000 + i * 7 % 80) if i % 9 else "" for i in range(240)), name="CustomerID"
    ),
    "numbers that look like IDs": beside(*(str(17000 + i * 7 % 80) for i in range(240)), name="number"),
    "labels of before": beside(*("0", "1", "2") * 20, name="cluster"),
    "labels of before, explained": beside(*("0", "1") * 30, name="cluster", options=("--labels", "cluster")),
    "one value": column("5"),
    "one text": column("a"),
}

DATES = {
    "ISO": column("2024-01-31", "2024-02-15", "2024-06-30"),
    "ISO with times": column("2024-01-31 08:30:00", "2024-02-15 12:00:00", "2024-06-30 23:59:59"),
    "ISO with T and Z": column("2024-01-31T08:30:00Z", "2024-02-15T12:00:00Z", "2024-06-30T23:59:59Z"),
    "day.month.year": column("31.01.2024", "15.02.2024", "30.06.2024"),
    "month/day/year": column("01/31/2024", "02/15/2024", "06/30/2024"),
    "two readings": column("01/02/2024", "03/04/2024", "05/06/2024"),
    "two readings, told": column("01/02/2024", "03/04/2024", "05/06/2024", options=("--dates", "x=%d/%m/%Y")),
    "names of months": column("31 Jan 2024", "15 Feb 2024", "30 Jun 2024"),
    "names of months in front": column("Jan 31, 2024", "Feb 15, 2024", "Jun 30, 2024"),
    "years of two digits": column("31.01.24", "15.02.24", "30.06.24"),
    "AM and PM": column("01/31/2024 8:30 AM", "02/15/2024 12:00 PM", "06/30/2024 11:59 PM"),
    "dates as numbers": column("20240131", "20240215", "20240630"),
    "epochs": column("1706659200", "1707955200", "1719705600"),
    "years": column("1999", "2005", "2024", name="year"),
    "times of day": column("08:30:00", "12:45:10", "23:59:59"),
    "dates and a word": column("2024-01-31", "open", "2024-06-30", "2024-02-15"),
    "epochs called times": beside(*(str(1706659200 + 864 * i * i) for i in range(60)), name="created_at"),
    "milliseconds": beside(*(str(1706659200000 + 864000 * i * i) for i in range(60)), name="t"),
    "months as numbers": beside(*(str(202401 + i % 12) for i in range(60)), name="month"),
    "no date": column("2024-01-31", "2024-02-30", "2024-06-30"),
    "quarters": column("2024-Q1", "2024-Q2", "2024-Q4"),
}

BODY = "city;x;y\nROWS\n"

EXTENTS = {
    "plain": table(BODY),
    "a title": table("Sales of 2023\n" + BODY),
    "titles and a blank line": table("Sales of 2023\nall in EUR\n\n" + BODY),
    "titles padded": table("Sales of 2023;;\n;;\n" + BODY),
    "units below the names": table("city;x;y\n;(EUR);[1]\nROWS\n"),
    "a total": table(BODY + "Total;600;45\n"),
    "a total in German": table(BODY + "Summe;600;45\n"),
    "a total and notes": table(BODY + "Total;600;45\n\nSource: office\n"),
    "comments": table("# made by hand\n" + BODY),
    "comments, told": table("// made by hand\n" + BODY, "--comment", "//"),
    "no names": table("ROWS\n", column="column2"),
    "no names, told": table("ROWS\n", "--header", "none", column="column2"),
    "a title and no names": table("Sales of 2023\nROWS\n", column="column2"),
    "rows to skip, told": table("a;b\nc;d\n" + BODY, "--skip", "2"),
    "a footer, told": table(BODY + "z;900;7\n", "--footer", "1"),
    "empty rows behind": table(BODY + ";;\n;;\n"),
    "a blank line within": table("city;x;y\nROWS\n\nROWS\n"),
    "a total within": table("city;x;y\nROWS\nTotal;300;20\nROWS\n"),
    "two rows of names": table("a;b;c\ncity;x;y\nROWS\n", column=""),
    "years in the names": table("country;1990;1991\nROWS\n", column="1990"),
    "names that recur": table("city;x;x\nROWS\n", column="city"),
    "an empty name": table(";x;y\nROWS\n"),
    "a name in quotes": table('"city";"x";"y"\nROWS\n'),
    "blanks around names": table("city ; x;y\nROWS\n"),
    "Latin-1": table("Stra\u00dfe;x;y\nROWS\n", encoding="latin-1"),
    "UTF-8 with a mark": table("\ufeff" + BODY),
    "UTF-16": table("\ufeff" + BODY, encoding="utf-16-le"),
    "ends of lines of Windows": table(BODY, ends="\r\n"),
    "sep=": table("sep=;\n" + BODY),
    "tabs": Shape(table(BODY).content.replace(b";", b"\t")),
    "pipes": Shape(table(BODY).content.replace(b";", b"|")),
    "commas": Shape(table(BODY).content.replace(b";", b",")),
    "blanks": Shape(
        ("city    x   y\n" + "".join(f"{'ab'[i % 2]:5} {i % 2 * 50 + i % 3:4} {i % 4:3}\n" for i in range(12))).encode()
    ),
    "a field too many": table(BODY + "z;1;2;3\n"),
    "a field too few": table(BODY + "z;1\n"),
    "a quote that stays open": table(BODY + '"z;1;2\n'),
    "names alone": Shape(b"city;x;y\n"),
    "nothing": Shape(b""),
    "one column": Shape(("x\n" + "".join(f"{i % 2 * 50 + i % 3}\n" for i in range(12))).encode()),
}

SHAPES = {
    f"{kind}: {name}": shape
    for kind, shapes in (
        ("numbers", NUMBERS),
        ("missing", MISSING),
        ("codes", CODES),
        ("dates", DATES),
        ("extents", EXTENTS),
    )
    for name, shape in shapes.items()
}
"""By kind and name."""
