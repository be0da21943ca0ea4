"""Summaries of rules, exporters and comparisons for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from shallowrules.cli.options.verbosity import is_quiet
from shallowrules.cli.output import show_message, written_line
from shallowrules.cli.terminal import Terminal
from shallowrules.errors import counted
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import describe_separation, describe_total, describe_totals, format_number
from shallowrules.rules.figures import percent, show_figure
from shallowrules.tables.labels import NO_CLUSTER

if TYPE_CHECKING:
    from shallowrules.exporters import InstalledExporter
    from shallowrules.labelling.drift import ColumnShift, Shift
    from shallowrules.measures.totals import Totals
    from shallowrules.models.choosing import ClusterCounts
    from shallowrules.models.tradeoff import TradeoffPath
    from shallowrules.rules import RuleSet
    from shallowrules.verification import Comparison, Difference, NotRun

__all__ = [
    "show_cluster_counts",
    "show_comparisons",
    "show_exporters",
    "show_flow",
    "show_labels",
    "show_lines",
    "show_new_values",
    "show_path",
    "show_rules",
    "show_shifts",
]

WIDTH_IN_A_FILE = 120

MAX_FLOW_COLUMNS = 12
"""With more clusters the table of rows that change cluster is a list of the largest moves."""

MOVES_SHOWN = 20


def show_rules(rules: RuleSet, written: Sequence[str] = (), *, stderr: bool = False) -> None:
    """Print the clusters, largest first, with the rules of each, then cost and length of the whole.

    The product is elsewhere, in files or on stdout, so a quiet command prints none of this.
    """
    console = _console(stderr, quiet=is_quiet())
    statistics = rules.statistics
    totals = describe_totals(rules)
    figures = ["rows", "share", *([one_line(statistics.measure)] if statistics.measure is not None else [])]
    figures += ["precision", "recall"] if statistics.labelled else []
    table = _table("cluster", *figures, "rule")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for cluster in rules.by_size:
        texts = [one_line(str(rule)) for rule in rules.rules_of(cluster.index)]
        quality = [f"{cluster.precision:.1%}", f"{cluster.recall:.1%}"] if statistics.labelled else []
        table.add_row(
            Text(one_line(cluster.title)),
            f"{cluster.rows:,}",
            f"{cluster.share:.1%}",
            *([totals[cluster.index]] if totals else []),
            *quality,
            Text("\nor ".join(texts)),
        )
    console.print(table)
    extra = show_figure(statistics.normalized_cost - 1, "+z.1%")
    if statistics.labelled:
        agreeing = "weight gets its given label" if statistics.weighted else "rows get their given label"
    else:
        agreeing = f"{'weight is' if statistics.weighted else 'rows are'} in the same cluster as without rules"
    length = f"{statistics.waes:.2f} conditions explain a row on average"
    if (questions := f"{statistics.wad:.2f}") != f"{statistics.waes:.2f}":
        length += f"; {questions} questions find its cluster"
    console.print(
        Text(
            f"k-means cost   {show_figure(statistics.normalized_cost, '.3f')} times that of the "
            f"{'given clusters' if statistics.labelled else 'clustering without rules'} ({extra})\n"
            f"agreement      {statistics.agreement:.1%} of the {agreeing}\n"
            f"rule length    {length}"
        )
    )
    if separation := describe_separation(rules):
        console.print(Text(f"differ by      {separation} of the variance between clusters"))
    if statistics.measure is not None and statistics.total is not None:
        unmeasured = sum(cluster.unmeasured for cluster in rules.clusters)
        _show_total(console, statistics.measure, statistics.total, unmeasured)
    if statistics.left_out:
        console.print(Text(f"left out       {counted(statistics.left_out, 'row')} in no cluster (noise, or no label)"))
    if written:
        console.print(Text(written_line(*written)))


def show_flow(rules: RuleSet) -> None:
    """Print to stderr which rows were in which cluster by earlier rules, if there were any."""
    if rules.flow is None:
        return
    flow, console = rules.flow, _console(True)
    said = f"{flow.moved:,} of {counted(flow.rows, 'row')} change cluster ({flow.share:.1%})"
    labels = {cluster.index: str(cluster.label) for cluster in rules.clusters} | {NO_CLUSTER: "none"}
    if len(rules.clusters) > MAX_FLOW_COLUMNS:
        table = _table("before", "now", "rows")
        rows = [[flow.title(old), labels.get(new, str(new)), f"{n:,}"] for old, new, n in flow.moves]
        said += "" if len(rows) <= MOVES_SHOWN else f"; the largest {MOVES_SHOWN} of {len(rows):,} moves are shown"
        rows = rows[:MOVES_SHOWN]
    else:
        heads, lines = flow.table()
        table = _table("before \\ now", *(labels.get(head, str(head)) for head in heads))
        rows = [[title, *(f"{n:,}" if n else "" for n in cells)] for title, cells in lines]
    for column in table.columns[1:]:
        column.justify = "right"
    for title, *cells in rows:
        table.add_row(Text(one_line(title)), *cells)
    if rows:
        console.print(table)
    console.print(Text(said))


def show_path(path: TradeoffPath, *, stderr: bool = False) -> None:
    """Print the trees worth considering, cheapest first, by trade-off, cost and length."""
    table = _table("tradeoff", "cost", "extra", "conditions per row", "questions per row", "rules", "refine")
    for column in table.columns:
        column.justify = "right"
    for point in path:
        table.add_row(
            f"{point.tradeoff:g}",
            show_figure(point.cost, ".3f"),
            show_figure(point.cost - 1, "+z.1%"),
            f"{point.conditions:.2f}",
            f"{point.questions:.2f}",
            f"{point.n_leaves:,}",
            point.refine,
        )
    console = _console(stderr)
    console.print(table)
    if path.price_remark:
        console.print(Text(f"cost below 1   {path.price_remark}"))


def show_cluster_counts(found: ClusterCounts, way_beyond: str) -> None:
    """Print the results of each number of clusters, and the recommended one; `way_beyond` extends the range tried."""
    figures = ("explained", "silhouette", "stability", "price", "conditions per row", "rules", "smallest cluster")
    table = _table("k", *figures)
    for column in table.columns:
        column.justify = "right"
    best = found.recommended
    for count in found:
        table.add_row(
            f"{count.k}",
            f"{count.explained:.1%}",
            show_figure(count.silhouette, ".3f"),
            f"{count.stability:.3f}",
            show_figure(count.price, ".3f"),
            f"{count.conditions:.2f}",
            f"{count.n_rules:,}",
            f"{count.smallest:.1%}",
            style="bold" if count is best else None,
        )
    console = _console(False)
    if found.unconvincing:
        console.print(Text(found.unconvincing))
    console.print(table)
    console.print(Text(f"{'least bad ' if found.unconvincing else 'take      '}     {found.reason}{way_beyond}"))
    if found.price_remark:
        console.print(Text(f"price below 1  {found.price_remark}"))


def show_labels(
    rules: RuleSet,
    clusters: Sequence[Mapping[str, Any]],
    totals: Totals | None,
    written: str | None = None,
) -> None:
    """Print to stderr how many rows of a table got each cluster or none (`clusters_of_rows`), and sums of a column."""
    console = _console(True)
    table = _table("cluster", "rows", "share", *([] if totals is None else [one_line(totals.name)]))
    for column in table.columns[1:]:
        column.justify = "right"
    titles: dict[int | None, str] = {cluster.label: cluster.title for cluster in rules.clusters}
    for found in clusters:
        title = titles.get(found["cluster"], "without a cluster")
        sums = [] if totals is None else [describe_total(found["total"], found["total_share"])]
        share = "" if found["share"] is None else f"{found['share']:.1%}"
        table.add_row(Text(one_line(title)), f"{found['rows']:,}", share, *sums)
    console.print(table)
    if totals is not None:
        _show_total(console, totals.name, totals.whole, sum(totals.missing.values()))
    if written is not None:
        console.print(Text(written_line(written)))


def _show_total(console: Terminal, name: str, total: float, unmeasured: int) -> None:
    """Print the sum of a column over all rows."""
    without = f"; {counted(unmeasured, 'row')} without a value" if unmeasured else ""
    console.print(Text(f"total          {format_number(total)} is the sum of {one_line(name)}{without}"))


def show_new_values(shifts: Iterable[ColumnShift]) -> None:
    """Print the values of tested columns that did not occur in training."""
    for shift in shifts:
        for sentence in shift.sentences():
            show_message("note", one_line(sentence))


def show_shifts(shifts: Iterable[Shift], totals: Totals | None) -> None:
    """Print each cluster's share of the rows beside that in training, and its share of the total of a column."""
    of_totals = [] if totals is None else [one_line(totals.name), "in training"]
    table = _table("cluster", "rows", "share", "in training", "shift", *of_totals)
    for column in table.columns[1:]:
        column.justify = "right"
    for shift in shifts:
        figures: tuple[str, ...] = (
            f"{shift.rows:,}",
            f"{shift.share:.1%}",
            f"{shift.trained:.1%}",
            f"{100 * shift.size:+z.1f} points",
        )
        if shift.total is not None:
            trained = "–" if shift.total_trained is None else percent(shift.total_trained)
            figures = (*figures, describe_total(shift.total, shift.total_share), trained)
        table.add_row(Text(one_line(shift.title)), *figures)
    console = _console(False)
    console.print(table)
    if totals is not None:
        _show_total(console, totals.name, totals.whole, sum(totals.missing.values()))


def show_exporters(installed: Iterable[InstalledExporter]) -> None:
    """Print the installed exporters, and the distribution that provides each."""
    table = _table("exporter", "distribution", "class")
    for exporter in installed:
        table.add_row(
            *(
                Text(one_line(text))
                for text in (exporter.name, f"{exporter.distribution} {exporter.version}", exporter.value)
            )
        )
    _console(False).print(table)


def show_comparisons(comparisons: Sequence[Comparison], not_run: Sequence[NotRun]) -> None:
    """Print the result of every form of the rules, the forms not run, and the first wrong row of each form."""
    from shallowrules.verification.comparing import grouped_by_reason

    console = _console(False)
    table = _table("format", "rows compared", "disagreements")
    table.columns[1].justify = table.columns[2].justify = "right"
    for comparison in comparisons:
        style = "bold red" if comparison.disagreements else "green"
        table.add_row(comparison.form, f"{comparison.rows:,}", Text(f"{comparison.disagreements:,}", style))
    console.print(table)
    for names, reason in grouped_by_reason(not_run):
        console.print(Text(f"not run: {one_line(', '.join(names))}: {one_line(reason)}"))
    for comparison in comparisons:
        if comparison.first is not None:
            console.print(Text(f"{comparison.form}: {_describe(comparison.first)}"))


def show_lines(lines: Iterable[str]) -> None:
    """Print lines below the comparisons."""
    console = _console(False)
    for line in lines:
        console.print(Text(one_line(line)))


def _describe(difference: Difference) -> str:
    values = ", ".join(f"{one_line(name)} = {value!r}" for name, value in difference.values.items())
    by_tree, by_form = difference.places
    return f"{difference.origin} ({values}) is in {by_tree} by the tree and in {by_form} by this format"


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE, pad_edge=False)
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")  # which may be the name of a column: no markup
    return table


def _console(stderr: bool, quiet: bool = False) -> Terminal:
    """Return where to print; what goes to stderr is not the product, so a quiet command prints none of it."""
    console = Terminal(stderr=stderr, highlight=False, quiet=quiet or (stderr and is_quiet()))
    if not console.is_terminal:
        console.width = WIDTH_IN_A_FILE
    return console
