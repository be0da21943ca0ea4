"""From a table and the options of a command to a fitted model: what `run`, `fit` and `path` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shallowrules.cli.advice import RefusedTable, amended
from shallowrules.cli.doubts import show_doubts
from shallowrules.cli.escaping import join_words
from shallowrules.cli.modules import loading_modules
from shallowrules.cli.naming import NamedRules, with_names
from shallowrules.cli.options.fitting import FitOptions, MethodOptions
from shallowrules.cli.options.reading import Tables, show_tables
from shallowrules.cli.options.settings import settings_of
from shallowrules.cli.options.shared import typed_arguments
from shallowrules.cli.output import progress, show_message
from shallowrules.cli.parts import fit_rules_in_parts, memory_for_parts
from shallowrules.errors import DataError, counted
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.cli.preparation import LoadedTable
    from shallowrules.models.estimator import ExplainableKMeans
    from shallowrules.rules import ClusterNames, RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["describe_work", "fit_rules", "prepare_model", "with_table"]


def fit_rules(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    growing: MethodOptions,
    reading: Reading,
    check: Callable[[Sequence[str]], None] | None = None,
    memory: int | None = None,
    names: ClusterNames | NamedRules | None = None,
) -> RuleSet:
    """Read a table, check its column names, cluster it, grow the tree, name the clusters; in parts, if need be."""
    memory = memory_for_parts(rows, memory)
    if memory is not None:
        return fit_rules_in_parts(rows, chosen, growing, reading, memory, check, names)
    loaded, model = prepare_model(rows, chosen, reading, growing.parameters(), check)
    if isinstance(names, NamedRules):
        names.check_columns(loaded.table.names, loaded.other_columns)
    from shallowrules.models.tradeoff import fit_to_goal
    from shallowrules.rules.words.changes import count_pairs

    with progress(f"{describe_work(loaded, chosen)} and growing the tree") as show:
        model.on_progress, model.on_best = show, show.tell_best
        if growing.has_goal:
            model = fit_to_goal(
                model,
                loaded.table,
                max_cost=growing.max_cost,
                max_conditions=growing.max_conditions,
                sample_weight=loaded.weight,
            )
        else:
            model.fit(loaded.table, sample_weight=loaded.weight)
    for note in model.rules_.statistics.notes:
        show_message("note", note)
    show_doubts(model.rules_, chosen.category_weight)
    counts = None
    if isinstance(names, NamedRules):
        counts = count_pairs(names.rules.assign(loaded.table), model.rules_.assign(loaded.table))
    rules = replace(with_table(model.rules_, loaded, chosen), settings=settings_of(rows, chosen, growing, reading))
    return with_names(rules, names, counts)


def with_table(rules: RuleSet, loaded: LoadedTable, chosen: FitOptions) -> RuleSet:
    """Return rules with what is known of their table: notes on it, and its other columns."""
    rules = rules if chosen.histograms else rules.without_histograms()
    statistics = rules.statistics
    notes = (*statistics.notes, *loaded.notes, *loaded.warnings)
    return replace(rules, statistics=replace(statistics, notes=notes, other_columns=loaded.other_columns))


def prepare_model(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    reading: Reading,
    parameters: dict[str, Any],
    check: Callable[[Sequence[str]], None] | None = None,
) -> tuple[LoadedTable, ExplainableKMeans]:
    """Read a table, check its column names, say what is to be known of it; with it, the model to fit."""
    with loading_modules():
        from shallowrules.cli.preparation import prepare, working_remedy
        from shallowrules.models.estimator import ExplainableKMeans
        from shallowrules.sources.connecting import hide_typed_passwords

    with progress(f"reading {show_tables(rows)}"):
        try:
            loaded = prepare(rows, chosen, reading)
        except RefusedTable as refused:
            remedy = working_remedy(rows, chosen, reading, refused)
            typed = typed_arguments()
            if remedy is None or typed is None:
                raise
            words = amended(typed, remedy, chosen.columns, chosen.exclude)
            command = join_words(["shallowrules", *(hide_typed_passwords(word, [word]) for word in words)])
            raise DataError(f"{refused}\nThis works: {command}", findings=refused.findings) from refused
    if check is not None:
        check([*loaded.table.names, *loaded.other_columns])
    for message in loaded.notes:
        show_message("note", message)
    for message in loaded.warnings:
        show_message("warning", message)
    given = {"clusterer": loaded.labels} if chosen.clusters is None else {"n_clusters": chosen.clusters}
    model = ExplainableKMeans(
        **given,
        cluster_columns=loaded.cluster_columns,
        explain_columns=loaded.explain_columns,
        scale=chosen.scale,
        category_weight=chosen.category_weight,
        impute=chosen.impute,
        random_state=chosen.seed,
        **parameters,
    )
    return loaded, model


def describe_work(loaded: LoadedTable, chosen: FitOptions) -> str:
    """Return what is being done with the rows, for the progress line."""
    return f"{'taking labels of' if chosen.clusters is None else 'clustering'} {counted(loaded.table.n_rows, 'row')}"
