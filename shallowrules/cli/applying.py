"""Labels in a user's database on the command line: showing the plan, asking for consent, reporting the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.escaping import printable
from shallowrules.cli.options.shared import NumberRange, listed_names, together
from shallowrules.cli.options.verbosity import is_quiet
from shallowrules.cli.output import progress, say, show_message
from shallowrules.cli.results import report
from shallowrules.errors import ShallowRulesError, counted

if TYPE_CHECKING:
    from shallowrules.labelling.databases import Plan
    from shallowrules.labelling.drift import Counts
    from shallowrules.measures.totals import Totals
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["ApplyOptions", "apply_labels", "apply_options"]


@dataclass(frozen=True)
class ApplyOptions:
    """The options of labels in a database."""

    apply: str | None
    into: str | None
    key: tuple[str, ...]
    yes: bool
    dry_run: bool
    replace: bool
    undo: bool
    batch: int | None
    lock_timeout: float

    @property
    def given(self) -> list[str]:
        """The options that were used, except --apply and those with a default."""
        values = {name: value for name, value in vars(self).items() if name not in ("apply", "lock_timeout")}
        return [f"--{name.replace('_', '-')}" for name, value in values.items() if value]


apply_options = together(
    click.option(
        "--apply",
        is_flag=False,
        flag_value="view",
        type=click.Choice(["view", "table", "update", "column", "labels"]),
        help="Create in the --database a view (the default; the table itself is not changed), a new table, a column "
        "of the table that is filled now (update), a column that the database computes (column), or a table of each "
        "row's --key and cluster, into which every run merges the changes (labels).",
    ),
    click.option(
        "--into",
        metavar="NAME",
        help="Name of the view or table.  [default: that of --table with _clusters, or _labels]",
    ),
    click.option(
        "--key",
        metavar="A,B,…",
        multiple=True,
        callback=listed_names,
        help="The columns that identify a row, for labels. May be repeated.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what --apply would run, and change nothing."),
    click.option("--yes", is_flag=True, help="Do not ask before changing --table."),
    click.option("--replace", is_flag=True, help="Replace an earlier application, and nothing else."),
    click.option("--undo", is_flag=True, help="Drop the objects that --apply created."),
    click.option(
        "--batch",
        type=click.IntRange(min=1),
        metavar="N",
        help="Update N rows in a transaction, by the primary key; an interrupted run continues when it is repeated.  "
        "[default: 100,000 for a table of more than a million rows with an index on its key]",
    ),
    click.option(
        "--lock-timeout",
        type=NumberRange(min=0, min_open=True, max=86_400),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="Wait this long for the lock of another transaction.",
    ),
)
"""The options of `ApplyOptions`."""


def apply_labels(
    rules: RuleSet,
    rows: DatabaseRows,
    options: ApplyOptions,
    columns: Mapping[str, str],
    measure: str | None = None,
    **values: Any,
) -> None:
    """Show the plan, ask for consent if the table is changed, and run the plan.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
    options : ApplyOptions
    columns : mapping from str to str
        What the database calls columns of the rules, or the measure, that have another name there.
    measure : str, optional
        A column that the database adds up by cluster, to be shown.
    **values
        Further fields of `Application`.
    """
    from shallowrules.cli.figures import clusters_of_rows
    from shallowrules.cli.summary import show_labels, show_new_values
    from shallowrules.labelling.databases import Application, plan_labels

    chosen = {name: getattr(options, name) for name in ("into", "key", "replace", "batch", "lock_timeout")}
    of_rules = {old: new for old, new in columns.items() if old != measure}
    application = Application(style=str(options.apply), columns=of_rules, **chosen, **values)
    with progress(f"looking at {rows}"):
        plan = plan_labels(rules, rows, application, undo=options.undo, counted=options.dry_run)
        totals = None if measure is None or options.undo else _total(plan, measure, columns)
    result = _describe(plan, totals, dry_run=options.dry_run)
    report(result)
    asks = application.writes_on_table and not options.yes and not plan.is_done
    _show(plan, err=not options.dry_run, quiet=is_quiet() and not asks)

    def show(counts: Counts) -> None:
        largest_first = sorted(counts, key=lambda index: (-counts[index], index is None, index or 0))
        clusters = clusters_of_rows(rules, {index: counts[index] for index in largest_first}, totals)
        result.update(rows=sum(counts.values()), clusters=clusters)
        show_labels(rules, clusters, totals)

    if plan.counts is not None:
        show(plan.counts)
    show_new_values(plan.unseen)
    if plan.changes is not None:
        need = counted(plan.changes, "row needs", "rows need") if plan.changes else "no rows need"
        say(f"{need} updating")
    if options.dry_run:
        return
    if asks:
        _ask(plan)
    written = _run(plan, show)
    result["applied"].update(done=True, written=None if plan.update is None else written)


def _total(plan: Plan, measure: str, columns: Mapping[str, str]) -> Totals:
    """Return the sums of a column by cluster, as the database adds them up."""
    from shallowrules.labelling.drift import open_counted
    from shallowrules.labelling.totals import total_labels

    with open_counted(plan.rows) as source:
        return total_labels(plan.rules, source, measure, columns)[1]


def _describe(plan: Plan, totals: Totals | None, *, dry_run: bool) -> dict[str, Any]:
    """Return the entries of ``--json`` before the plan is run."""
    from shallowrules.cli.figures import new_categories, total_of
    from shallowrules.sources.connecting import show_database

    return {
        "rows": None,
        "clusters": None,
        "total": total_of(totals),
        "columns": new_categories(plan.unseen),
        "applied": {
            "database": show_database(plan.rows.database),
            "target": plan.target,
            "statements": plan.statements,
            "undo": plan.undo,
            "dry_run": dry_run,
            "changes": plan.changes,
            "written": None,
            "done": False,
        },
        "files": [],
    }


def _run(plan: Plan, show: Callable[[Counts], None]) -> int:
    """Run a plan, say what it did, and return the rows that an update has written."""
    from shallowrules.labelling.databases import run_plan
    from shallowrules.sources.connecting import show_database

    n_rows = max(1, sum((plan.counts or {}).values()))
    with progress(f"{'dropping' if plan.undo else 'making'} {plan.target}") as show_share:
        written = run_plan(plan, lambda looked_at: show_share(min(1.0, looked_at / n_rows)), show)
    done = "dropped" if plan.undo else "created"
    if plan.update is not None:
        merges = plan.application.style == "labels"
        done = "merged labels into" if merges else f"wrote {counted(written, 'row')} of"
    say(printable(f"{done} {plan.target} in {show_database(plan.rows.database)}"))
    return written


def _show(plan: Plan, err: bool, quiet: bool) -> None:
    """Show the objects that will be created, the statements, and notes on them."""
    doing = "drop" if plan.undo else "create"
    if not quiet:
        click.echo(printable(f"will {doing} {plan.target}:\n"), err=True)
    for statement in plan.statements if not (err and quiet) else ():
        click.echo(printable(f"{statement};\n"), err=err)
    for note in plan.notes:
        show_message("note", note)


def _ask(plan: Plan) -> None:
    """Make sure that a table may be changed; ShallowRulesError where no one can answer, click.Abort for no."""
    doing = "drops" if plan.undo else "updates"
    if not _somebody_answers():
        raise ShallowRulesError(
            f"this {doing} {plan.target}, and there is no terminal to ask on; use --yes to allow it"
        )
    click.confirm(printable(f"This {doing} {plan.target}. Continue?"), abort=True, err=True)


def _somebody_answers() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
