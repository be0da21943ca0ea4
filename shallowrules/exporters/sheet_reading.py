"""A sheet read back: the rules that somebody changed in it, as ``print(rules)`` shows rules."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from shallowrules.errors import DataError
from shallowrules.exporters.rendering import escape_markdown
from shallowrules.exporters.wording import bound_words_of, describe_missing
from shallowrules.rules import Between, Condition, RuleSet, Value, format_value
from shallowrules.rules.conditions import printable
from shallowrules.rules.words.written import ConditionReader

__all__ = ["is_sheet", "text_of_sheet"]

HEADING = "## Cluster "
RULE = "A row is here if "
ALL = "Every row is here."


def is_sheet(text: str) -> bool:
    """Return whether a text is a sheet, and not rules as they are printed."""
    lines = text.splitlines()
    return any(line.startswith(HEADING) for line in lines) and any(line.startswith((RULE, ALL)) for line in lines)


def text_of_sheet(sheet: str, rules: RuleSet) -> str:
    """Return the rules of a sheet as ``print(rules)`` shows them.

    Only the headings of clusters and the sentences with their rules are read: the list of contents, the
    tables and the figures follow from them.

    Parameters
    ----------
    sheet : str
        The output of the exporter "markdown" for `rules`, changed.
    rules : RuleSet

    Raises
    ------
    DataError
        Naming the line that cannot be read.
    """
    titles = {f"{HEADING}{escape_markdown(cluster.title)}": cluster.title for cluster in rules.clusters}
    title: str | None = None
    found = []
    for number, given in enumerate(sheet.splitlines(), start=1):
        line = given.strip()
        if line.startswith(HEADING):
            title = titles.get(line) or _new_title(line)
            if title is None:
                raise DataError(
                    f"line {number}: {line!r} is not the heading of a cluster, such as '## Cluster 3 (Name)'"
                )
        elif title is not None and line == ALL:
            found.append(f"cluster {printable(title)}: every row")
        elif title is not None and line.startswith(RULE):
            try:
                conditions = SheetReader(line.removeprefix(RULE).removesuffix("."), rules.columns).read()
            except DataError as error:
                raise DataError(f"line {number}: {error}") from error
            found.append(f"cluster {printable(title)}: {' and '.join(printable(str(each)) for each in conditions)}")
    return "\n".join(found)


def _new_title(line: str) -> str | None:
    """Return the title of a named or numbered cluster; None where there is no number."""
    title = html.unescape(re.sub(r"\\(.)", r"\1", line.removeprefix(HEADING)))
    return title if re.fullmatch(r"-?[0-9]+( \(.+\))?", title) else None


class SheetReader(ConditionReader):
    """Reads conditions as a sheet words them."""

    number = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
    joint = ", and "
    closing = ""

    def show(self, value: Value) -> str:
        """Return a category as the sheet writes it."""
        return escape_markdown(format_value(value))

    def conditions_at(self, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield the conditions that the text may have at a place, and the place after each."""
        self.fail(place, "the name of a column, as **income** is")
        for feature, column in enumerate(self.columns):
            said = f"**{escape_markdown(column.name)}**{describe_missing(column, escape_markdown)} is "
            if not self.text.startswith(said, place):
                continue
            begin = place + len(said)
            if column.is_numeric:
                above, at_most = bound_words_of(column)
                wanted = "a time" if column.is_time else "a number"
                self.fail(begin, f"{'0, 1, ' if column.is_flag else ''}{above} or {at_most} with {wanted}")
                for upper, end in self.number_at(column, self.behind(begin, f"{at_most} ")):
                    yield Between(feature, column, upper=upper), end
                for lower, end in self.number_at(column, self.behind(begin, f"{above} ")):
                    yield Between(feature, column, lower=lower), end
                    for upper, behind in self.number_at(column, self.behind(end, f" and {at_most} ")):
                        yield Between(feature, column, lower, upper), behind
                for bound, end in self.number_at(column, begin) if column.is_flag else ():
                    if bound in (0, 1):
                        yield (Between(feature, column, lower=0) if bound else Between(feature, column, upper=0)), end
                continue
            example = "true" if column.type == "boolean" else self.show(column.values[0])
            self.fail(
                begin,
                f"a value that the column has, such as {example}, or values after 'not', 'one of' or 'none of'",
            )
            yield from self.asking_at({"": True, "not ": False}, feature, column, begin, several=False)
            yield from self.asking_at({"one of ": True, "none of ": False}, feature, column, begin, several=True)
