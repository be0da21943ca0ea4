"""The sheets of a workbook that people read: rules in words, means and shares, and differences between clusters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from shallowrules.exporters.wording import (
    COLUMNS_SHOWN,
    ConditionWords,
    describe_figures,
    describe_profile,
    format_number,
)
from shallowrules.exporters.xlsx.book import MAX_TEXT, Book
from shallowrules.rules import RuleSet
from shallowrules.rules.columns import plain_text

__all__ = ["write_clusters", "write_differences", "write_rules"]

CATEGORIES_SHOWN = 12
"""Of a column, the most frequent ones; the others are added up."""

MIN_DIGITS = 4
"""Significant digits of the largest mean of a column."""

WIDTH_OF_CLUSTER = 18


def write_rules(book: Book, sheet: Any, rules: RuleSet) -> None:
    """Write the main figures, and each rule in words."""
    figures = describe_figures(rules)
    book.write(sheet, 0, 0, "Rules of the clusters", book.title)
    lines = [
        figures["table"],
        figures["clusters"],
        figures["price"],
        f"{figures['waes']} conditions explain a row on average.",
    ]
    for row, line in enumerate(lines, start=1):
        book.write(sheet, row, 0, line, book.unwrapped)
    head = len(lines) + 2
    book.head(sheet, head, ("Cluster", "Name", "Rule", "Rows", "Share"), figures=3)
    words = ConditionWords()
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    for row, rule in enumerate(rules, start=head + 1):
        book.write(sheet, row, 0, rule.label, book.numbers)
        book.write(sheet, row, 1, names[rule.cluster])
        said = ", and ".join(f"{c.column.name} is {words(c)}" for c in rule.conditions)
        book.write(sheet, row, 2, said[: MAX_TEXT - 1] or "all rows")
        book.write(sheet, row, 3, rule.rows, book.counts)
        book.write(sheet, row, 4, rule.share, book.shares)
    book.lay_out(sheet, (9, 40, 80, 10, 9), rows=head + 1 + len(rules), head=range(head, head + 1))


@dataclass(frozen=True)
class _Line:
    """A column of the table, or a category of one, and its figure in the table and in each cluster."""

    column: str
    category: str
    figures: Sequence[float | str]
    form: Any


def write_clusters(book: Book, sheet: Any, rules: RuleSet) -> None:
    """Write the size of each cluster and its mean of each column, or the share of each category, beside the table's."""
    clusters = rules.by_size
    heads = ("Column", "Category", "Table", *(f"Cluster {cluster.label}" for cluster in clusters))
    book.head(sheet, 0, heads, figures=2)
    book.head(sheet, 1, ("", "", "", *(cluster.name for cluster in clusters)), figures=2)
    lines = [*_sizes(book, rules), *(line for i in range(len(rules.columns)) for line in _lines(book, rules, i))]
    for row, line in enumerate(lines, start=2):
        book.show(sheet, row, 0, line.column)
        book.show(sheet, row, 1, line.category)
        for column, figure in enumerate(line.figures, start=2):
            book.show(sheet, row, column, figure, line.form)
    widths = (26, 20, *[WIDTH_OF_CLUSTER] * (1 + len(clusters)))
    book.lay_out(sheet, widths, rows=2 + len(lines), head=range(2), fixed=3)


def _sizes(book: Book, rules: RuleSet) -> Iterator[_Line]:
    """Yield the rows and the share of each cluster, and its part of the total, if a column was added up."""
    s, clusters = rules.statistics, rules.by_size
    yield _Line("rows", "", [s.rows - s.left_out, *(cluster.rows for cluster in clusters)], book.counts)
    yield _Line("share", "", [1.0, *(cluster.share for cluster in clusters)], book.shares)
    if s.measure is not None and s.total is not None:
        totals = [s.total, *(cluster.total or 0.0 for cluster in clusters)]
        yield _Line(f"total of {s.measure}", "", totals, _digits(book, totals))
        shares = [s.share_of_total(cluster) for cluster in clusters]
        if None not in shares:
            yield _Line(f"share of {s.measure}", "", [1.0, *cast(list[float], shares)], book.shares)


def _lines(book: Book, rules: RuleSet, index: int) -> Iterator[_Line]:
    """Yield the means of a column of numbers (of 0 and 1 the shares of 1), or the shares of its categories."""
    column, clusters = rules.columns[index], rules.by_size
    if column.is_numeric:
        means = [cast(float, column.mean), *(cast(float, cluster.means[index]) for cluster in clusters)]
        if column.is_time:
            yield _Line(column.name, "", [format_number(mean, column) for mean in means], book.texts)
        else:
            yield _Line(column.name, "", means, book.shares if column.is_flag else _digits(book, means))
        return
    shares = [list(column.shares), *(list(cluster.shares[index]) for cluster in clusters)]
    most = len(column.values) if len(column.values) <= CATEGORIES_SHOWN + 1 else CATEGORIES_SHOWN
    for place in range(most):
        name = "" if place else column.name
        yield _Line(name, plain_text(column.values[place]), [each[place] for each in shares], book.shares)
    if most < len(column.values):
        rest = f"{len(column.values) - most:,} others"
        yield _Line("", rest, [math.fsum(each[most:]) for each in shares], book.shares)


def _digits(book: Book, values: Sequence[float]) -> Any:
    """Return the format of numbers of which the largest has `MIN_DIGITS` digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest and not 1e-4 <= largest < 1e15:
        return book.form(num_format="0.000E+00")
    places = max(0, MIN_DIGITS - 1 - math.floor(math.log10(largest))) if largest else 0
    return book.form(num_format="#,##0" + ("." + "0" * places if places else ""))


def write_differences(book: Book, sheet: Any, rules: RuleSet) -> None:
    """Write a line for each of the columns in which a cluster differs most from all other rows."""
    book.head(sheet, 0, ("Cluster", "Name", "Column", "Mean or share here", "In the table", "Compared with all others"))
    row = 1
    for cluster in rules.by_size:
        profile = describe_profile(rules, cluster, str)[:COLUMNS_SHOWN]
        for line in [each for each in profile if each["mark"]] or profile:
            texts = cluster.name, line["column"], line["here"], line["table"], line["mark"]
            book.show(sheet, row, 0, cluster.label, book.numbers)
            for column, text in enumerate(texts, start=1):
                book.show(sheet, row, column, text)
            row += 1
    book.lay_out(sheet, (9, 40, 26, 30, 30, 44), rows=row, head=range(1))
