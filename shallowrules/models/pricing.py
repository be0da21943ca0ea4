"""The cost of rules on a table, measured as in a fit: before and after an edit, and compared with a fresh tree."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from shallowrules.errors import ShallowRulesWarning, counted
from shallowrules.fitting.given_rules import Measuring
from shallowrules.fitting.growing import grow
from shallowrules.models.estimator import ExplainableKMeans
from shallowrules.models.fits import fitted, prepare_fit
from shallowrules.models.reporting import log_of, progress_of
from shallowrules.rules import Changes, RuleSet, changes_between
from shallowrules.rules.figures import normalized_cost, show_figure
from shallowrules.rules.words.editing import EDITED, edit, notes_of_edits

__all__ = ["RefitGain", "RuleEdit", "edit_rules", "measure_refit"]

MIN_REFIT_GAIN = 0.05
"""Share of the cost by which a fresh tree has to be cheaper than today's rules to be worthwhile."""


@dataclass(frozen=True, eq=False)
class RuleEdit:
    """Rules that a person has changed, and the effect.

    Attributes
    ----------
    before, after : RuleSet
        Both measured on the table.
    changes : Changes
        The changes to the rules, and which rows changed their cluster; ``print`` shows them in words.
    same_table : bool
        Whether the table is, as far as figures tell, the one that the rules were made from.
    """

    before: RuleSet
    after: RuleSet
    changes: Changes
    same_table: bool

    def __str__(self) -> str:
        one, other = self.before.statistics, self.after.statistics
        before, now = (show_figure(statistics.normalized_cost, ".4g") for statistics in (one, other))
        return "\n".join(
            [
                str(self.changes),
                f"the cost {_change(other.normalized_cost, one.normalized_cost)}: {before} times that "
                f"of the clustering without rules before, {now} times now",
                f"conditions per row {one.waes:.3g} before, {other.waes:.3g} now",
            ]
        )


def edit_rules(
    rules: RuleSet,
    model: ExplainableKMeans,
    X: Any,
    *,
    text: str | None = None,
    replacements: Iterable[str] = (),
    merge: Iterable[Sequence[int]] = (),
    rename: Iterable[str] = (),
    sample_weight: ArrayLike | None = None,
    measure: Any = None,
) -> RuleEdit:
    """Change rules by hand, and measure the effect on a table.

    Parameters
    ----------
    rules : RuleSet
    model : ExplainableKMeans
        With the parameters that the rules were made with; it need not be fitted and is not changed. The model clusters
        the table again, so its `random_state` has to be a number. A warning says if that gives a different clustering
        than that of the rules.
    X : array-like, dataframe or Table of shape (n_samples, n_features)
        As for ``fit``.
    text : str, optional
        All rules as ``print(rules)`` shows them, changed. Lines may be removed, added and reordered.
    replacements : iterable of str
        Each as ``"proline: 750 -> 700"`` or ``"city: 'Ulm' -> 'Bonn'"``: in every rule that has the value. Where the
        rules test one value of the column, ``"proline: 700"`` is enough.
    merge : iterable of sequence of int
        Clusters to merge into one, which keeps the lowest number, and its name and note if it has some.
    rename : iterable of str
        Each as ``"0=High spenders"``, or ``"old name=new name"``.
    sample_weight, measure : array-like of shape (n_samples,), optional
        As for ``fit``.

    Returns
    -------
    RuleEdit
        Its rules keep the names and notes that people gave, and a note describes the edit.

    Raises
    ------
    OptionError
        If a replacement cannot be read, or an option has the wrong type.
    DataError
        If a text cannot be read; if rules overlap, leave a gap or hold for no row; if a value or cluster does not
        exist.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> wines = load_wine(as_frame=True).data
    >>> from shallowrules import ExplainableKMeans
    >>> model = ExplainableKMeans(3, scale="minmax", random_state=0).fit(wines)
    >>> print(model.rules_[0])
    od280/od315_of_diluted_wines > 2.13 and proline <= 750
    >>> found = edit_rules(model.rules_, model, wines, replacements=["proline: 750 -> 700"])
    >>> print(found.after[1])
    od280/od315_of_diluted_wines > 2.13 and proline <= 700
    """
    edited = edit(rules, text=text, replacements=replacements, merge=merge, rename=rename)
    measuring = Measuring(prepare_fit(model, X, None, sample_weight, measure), rules)
    table = measuring.data.encoding.table
    before = measuring.measure(rules.nodes)
    if not measuring.is_same_clustering:
        _warn_of_another_clustering(rules, before)
    notes = notes_of_edits(rules)
    after = measuring.measure(edited.nodes, merged=edited.merged).with_names(edited.names, edited.notes)
    changes = changes_between(rules, after, labels=(rules.assign(table), after.assign(table)), same_numbers=True)
    if changes and edited.words:
        cost = _change(after.statistics.normalized_cost, before.statistics.normalized_cost)
        what = f"{changes.n_moved:,} of {counted(changes.rows or 0, 'row')} changed cluster, the cost {cost}"
        notes.append(f"{EDITED}{'; '.join(edited.words)} ({what})")
    statistics = replace(
        after.statistics,
        notes=(*after.statistics.notes, *notes),
        other_columns=rules.statistics.other_columns,
    )
    after = replace(after, statistics=statistics, settings=rules.settings)
    return RuleEdit(before, after, replace(changes, new=after), measuring.is_same_clustering)


def _warn_of_another_clustering(rules: RuleSet, before: RuleSet) -> None:
    """Warn that rules are measured differently than when they were made."""
    said, found = rules.statistics, before.statistics
    cost, here = (show_figure(statistics.normalized_cost, ".4g") for statistics in (said, found))
    warnings.warn(
        f"according to their own figures, the rules cost {cost} times as much as the clustering without "
        f"rules, on {counted(said.rows, 'row')}; measured here they cost {here} times that, "
        f"on {counted(found.rows, 'row')}: the table, or the parameters that cluster it, are not those that the rules "
        "were made with. Before and after the edit are measured here, and clusters matched by the rows that they share",
        ShallowRulesWarning,
        stacklevel=3,
    )


@dataclass(frozen=True)
class RefitGain:
    """The cost of rules on a table, and of a fresh tree for it.

    Attributes
    ----------
    now, fresh : float
        k-means cost, as a multiple of that of a fresh clustering without rules.
    conditions, fresh_conditions : float
        Per row.
    merged : bool
        Whether clusters of the fresh tree were merged, as somebody merged those of the rules.
    """

    now: float
    fresh: float
    conditions: float
    fresh_conditions: float
    merged: bool = False

    @property
    def pays(self) -> bool:
        """Whether the fresh tree is cheaper by as much as `MIN_REFIT_GAIN`."""
        return self.fresh <= (1 - MIN_REFIT_GAIN) * self.now

    def __str__(self) -> str:
        verdict = "pays" if self.pays else f"is not worthwhile: it gains less than {MIN_REFIT_GAIN:.0%}"
        now, fresh = show_figure(self.now, ".4g"), show_figure(self.fresh, ".4g")
        change = show_figure(normalized_cost(self.fresh, self.now) - 1, "+.2%")
        merged = ", its clusters merged as theirs are," if self.merged else ""
        return (
            f"refitting {verdict}. These rules cost {now} times what a fresh clustering of these rows does "
            f"without rules, a fresh tree{merged} {fresh} ({change}); conditions per "
            f"row {self.conditions:.3g} and {self.fresh_conditions:.3g}"
        )


def measure_refit(
    rules: RuleSet, model: ExplainableKMeans, X: Any, sample_weight: ArrayLike | None = None
) -> RefitGain:
    """Refit a table, and compare rules with the result, its clusters merged where theirs were merged.

    Parameters
    ----------
    rules : RuleSet
    model : ExplainableKMeans
        With the parameters that the rules were made with; it is fitted.
    X, sample_weight
        As for ``fit``.

    Raises
    ------
    DataError
        If the table cannot be fitted, or lacks a column that the rules test.
    """
    data = prepare_fit(model, X, None, sample_weight)
    measuring = Measuring(data, rules)
    now, conditions = measuring.price()
    [trees] = grow(data, [model.tradeoff], progress_of(model), log_of(model), model.on_best)
    fresh = fitted(model, data, trees[-1]).rules_
    merged = bool(notes_of_edits(rules)) and len(rules.clusters) < len(fresh.clusters)
    if merged:
        known = {cluster.index for cluster in fresh.clusters}
        groups = [[each for each in group if each in known] for group in measuring.together()]
        edited = edit(fresh, merge=[group for group in groups if len(group) > 1])
        fresh = Measuring(data, fresh).measure(edited.nodes, merged=edited.merged)
    return RefitGain(now, fresh.statistics.normalized_cost, conditions, fresh.statistics.waes, merged)


def _change(now: float, before: float) -> str:
    """Return the relative change of a figure in words."""
    said = show_figure(abs(normalized_cost(now, before) - 1), ".2%")
    return "hardly changes" if said == "0.00%" else f"{'rises' if now > before else 'falls'} by {said}"
