"""From a table and the options of a command to a fitted model: shared by `run`, `fit` and `path`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shallowrules.cli.advice import AdvisedError, RefusedTable, amended, show_doubts
from shallowrules.cli.escaping import join_words
from shallowrules.cli.modules import loading_modules, without_pandas
from shallowrules.cli.naming import EarlierRules, NamedRules, with_names
from shallowrules.cli.options.fitting import FitOptions, MethodOptions
from shallowrules.cli.options.memory import memory_for_parts
from shallowrules.cli.options.reading import Tables, show_tables
from shallowrules.cli.options.settings import settings_of
from shallowrules.cli.options.shared import typed_arguments
from shallowrules.cli.output import progress, show_message
from shallowrules.errors import DataError, OptionError, OptionName, counted
from shallowrules.files import Reading
from shallowrules.fitting.options import refuse_in_parts

if TYPE_CHECKING:
    from shallowrules.cli.preparation import LoadedTable
    from shallowrules.models.estimator import ExplainableKMeans
    from shallowrules.models.sliding import TableFit
    from shallowrules.partitions import Part
    from shallowrules.rules import ClusterNames, RuleSet
    from shallowrules.rules.words.changes import PairCounts
    from shallowrules.sources import DatabaseRows

__all__ = ["PageExtras", "describe_work", "fit_rules", "fit_with_slider", "prepare_model", "with_table"]


@dataclass(frozen=True)
class PageExtras:
    """What the page of a run shows besides its rules: a slider over other trees, some rows as points."""

    slider: bool = False
    sample_rows: int = 0


def fit_rules(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    growing: MethodOptions,
    reading: Reading,
    *,
    memory: int | None,
    names: ClusterNames | NamedRules | None,
) -> RuleSet:
    """Return the rules of a table, which is read, clustered and explained; its clusters are named."""
    return fit_with_slider(rows, chosen, growing, reading, memory=memory, names=names, page=PageExtras())[0]


def fit_with_slider(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    growing: MethodOptions,
    reading: Reading,
    *,
    memory: int | None,
    names: ClusterNames | NamedRules | None,
    page: PageExtras,
    check: Callable[[Sequence[str]], None] | None = None,
) -> tuple[RuleSet, dict[str, Any]]:
    """Read a table, check its column names, cluster it, grow the tree, name the clusters; in parts, if need be.

    Returns
    -------
    RuleSet
    dict from str to object
        Further facts that the page shows, where it can, by the names of `Fact`.
    """
    memory = memory_for_parts(rows, memory)
    if memory is not None:
        refuse_in_parts({**vars(growing), "categories": chosen.categories})
        if page.sample_rows:
            raise OptionError(
                OptionName("sample_rows"), " needs the table in memory: leave it out, or allow more memory"
            )
    with _prepared_model(rows, chosen, reading, growing.parameters(), check, memory) as (loaded, model):
        if isinstance(names, NamedRules):
            names.check_columns(loaded.columns, loaded.other_columns)
        if isinstance(names, EarlierRules):
            model.earlier, model.rescale, model.min_gain = names.rules, names.rescale, names.min_gain
        fit = _fit(model, loaded, chosen, growing, memory)
        model = model if fit is None else fit.model
        for note in model.rules_.statistics.notes:
            show_message("note", note)
        show_doubts(model.rules_, model.category_weight_)
        facts = {} if fit is None else _page_facts(fit, loaded, chosen, page)
        counts = None
        if model.rules_.flow is not None:
            counts = model.rules_.flow.counts
        elif isinstance(names, NamedRules):
            counts = loaded.rows.map_reduce(_count_pairs, (names.rules, model.rules_)).values
    fitted = chosen.as_fitted(loaded.scale, model.category_weight_), growing.as_fitted()
    settings = settings_of(rows, *fitted, reading)
    rules = replace(with_table(model.rules_, loaded, chosen), settings=settings)
    return with_names(rules, names, counts), facts


def _fit(
    model: ExplainableKMeans, loaded: LoadedTable, chosen: FitOptions, growing: MethodOptions, memory: int | None
) -> TableFit | None:
    """Fit the model; return the fit of a table in memory, None for a table in parts."""
    from shallowrules.models.sliding import fit_table

    with progress(f"{describe_work(loaded, chosen)} and growing the tree") as show:
        model.on_progress, model.on_best, model.prices_more_rules = show, show.tell_best, True
        if loaded.in_parts:
            model.fit_partitions(
                loaded.rows,
                labels=loaded.label_column,
                sample_weight=loaded.weight_column,
                measure=loaded.measure_column,
                memory=memory,
            )
            return None
        return fit_table(
            model,
            loaded.table,
            max_cost=growing.max_cost,
            max_conditions=growing.max_conditions,
            sample_weight=loaded.weight,
            measure=loaded.measure,
        )


def _page_facts(fit: TableFit, loaded: LoadedTable, chosen: FitOptions, page: PageExtras) -> dict[str, Any]:
    """Return the facts that the page shows besides its rules, by the names of `Fact`."""
    facts: dict[str, Any] = {}
    if page.slider:
        with progress("growing the trees of the slider") as show:
            fit.model.on_progress = show
            path = fit.slider(partial(with_table, loaded=loaded, chosen=chosen))
        facts |= {} if path is None else {"trees": path}
    if page.sample_rows:
        from shallowrules.exporters.html.scatter import Points
        from shallowrules.models.sliding import sample_points

        facts["points"] = Points(sample_points(fit, page.sample_rows))
    return facts


def _count_pairs(part: Part, rules: tuple[RuleSet, RuleSet]) -> PairCounts:
    """Return the rows of a part by their clusters in two sets of rules."""
    from shallowrules.rules.words.changes import PairCounts, count_pairs

    old, new = (each.assign(part) for each in rules)
    return PairCounts(count_pairs(old, new))


def with_table(rules: RuleSet, loaded: LoadedTable, chosen: FitOptions) -> RuleSet:
    """Return rules with facts about their table: notes on it, and its other columns."""
    rules = rules if chosen.histograms else rules.without_histograms()
    statistics = rules.statistics
    notes = (*statistics.notes, *(note.fact for note in (*loaded.notes, *loaded.warnings)))
    return replace(rules, statistics=replace(statistics, notes=notes, other_columns=loaded.other_columns))


def prepare_model(
    rows: Tables | DatabaseRows, chosen: FitOptions, reading: Reading, parameters: dict[str, Any]
) -> tuple[LoadedTable, ExplainableKMeans]:
    """Read a table into memory and show notes on it; return it with the model to fit."""
    with _prepared_model(rows, chosen, reading, parameters) as found:
        return found


@contextmanager
def _prepared_model(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    reading: Reading,
    parameters: dict[str, Any],
    check: Callable[[Sequence[str]], None] | None = None,
    memory: int | None = None,
) -> Iterator[tuple[LoadedTable, ExplainableKMeans]]:
    """Read a table, check its column names and show notes on it; yield it and the model to fit.

    With `memory`, the table is in parts, until the end of the context.
    """
    with loading_modules(), without_pandas():
        from shallowrules.cli.preparation import prepared
        from shallowrules.models.estimator import ExplainableKMeans

    with ExitStack() as sources:
        with progress(f"reading {show_tables(rows)}"):
            try:
                loaded = sources.enter_context(prepared(rows, chosen, reading, memory))
            except RefusedTable as refused:
                for kind, message in refused.said:
                    show_message(kind, message)
                raise _with_way_out(refused, rows, chosen, reading, memory) from refused
        if check is not None:
            check([*loaded.columns, *loaded.other_columns])
        for message in loaded.notes:
            show_message("note", message)
        for message in loaded.warnings:
            show_message("warning", message)
        given: dict[str, Any] = {} if chosen.clusters is None else {"n_clusters": chosen.clusters}
        if chosen.labels is not None and not loaded.in_parts:
            given["clusterer"] = loaded.labels
        model = ExplainableKMeans(
            **given,
            cluster_columns=loaded.cluster_columns,
            explain_columns=loaded.explain_columns,
            scale=loaded.scale,
            category_weight=chosen.category_weight,
            two_values=chosen.two_values,
            impute=chosen.impute,
            missing=chosen.missing,
            noise=chosen.noise,
            random_state=chosen.seed,
            **parameters,
        )
        yield loaded, model


def _with_way_out(
    refused: RefusedTable, rows: Tables | DatabaseRows, chosen: FitOptions, reading: Reading, memory: int | None
) -> DataError:
    """Return the reason why a table is refused, with a command that works if there is one."""
    from shallowrules.cli.remedies import working_remedy
    from shallowrules.sources.connecting import hide_typed_passwords

    found = working_remedy(rows, chosen, reading, refused, memory)
    typed = typed_arguments()
    if found is None or typed is None:
        return refused
    remedy, losses = found
    words = amended(typed, remedy, chosen.columns, chosen.exclude)
    command = join_words(["shallowrules", *(hide_typed_passwords(word, [word]) for word in words)])
    message = "\n".join(filter(None, (str(refused), losses)))
    return AdvisedError(message, findings=refused.findings, commands=[command])


def describe_work(loaded: LoadedTable, chosen: FitOptions) -> str:
    """Return the words of the progress line for the current step."""
    return f"{'taking labels of' if chosen.clusters is None else 'clustering'} {counted(loaded.n_rows, 'row')}"
