"""Choosing the number of clusters: the cost of each, how clear and stable its clusters are, and the cost of rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from shallowrules.clustering.clusterers import fit_clusterer
from shallowrules.displays.pyplot import import_pyplot
from shallowrules.errors import OptionError
from shallowrules.fitting.growing import grow, seed_of
from shallowrules.fitting.preparing import is_whole
from shallowrules.fitting.whole import TableData
from shallowrules.measures.metrics import partition_cost
from shallowrules.models.estimator import ExplainableKMeans
from shallowrules.models.fits import fitted, prepare_fit
from shallowrules.models.reporting import log_of, progress_of
from shallowrules.models.silhouettes import SILHOUETTE_ROWS, draw_rows
from shallowrules.rules import RuleSet
from shallowrules.rules.figures import describe_cheaper, is_cheaper, show_figure
from shallowrules.tables.frames import make_frame

__all__ = ["ClusterCount", "ClusterCounts", "compare_cluster_counts"]

STABILITY_ROWS = 20_000
"""Rows of the sample that is clustered from several seeds."""

SEEDS = 5
"""Clusterings of that sample that are compared with one another."""

MAX_COUNTS = 1000
"""Maximum number of fits, one for each number of clusters that is compared."""

STABLE, CHEAP, SMALL = 0.8, 0.1, 0.02
"""Requirements for recommending a number of clusters, where one meets them: at least this agreement over seeds, at most
this extra cost of rules, and at least this share of the weight in its smallest cluster."""


@dataclass(frozen=True)
class ClusterCount:
    """The results for a number of clusters.

    Attributes
    ----------
    k : int
        Clusters that were asked for.
    cost : float
        k-means cost of the clustering without rules (the paper's Eq. 1), in squared units of the clustered space.
    explained : float
        Share of the squared deviations of all rows from their mean that lies between the clusters, from 0 to 1.
    silhouette : float
        Mean silhouette of a sample of rows in the clustering without rules, from -1 to 1; NaN where the sample has a
        single cluster.
    stability : float
        Mean adjusted Rand index of every two clusterings of a sample from different seeds, 1 where all are equal.
    price : float
        Normalized cost of the rules; below 1 where they found cheaper clusters than k-means.
    conditions : float
        Conditions that explain a row on average (WAES).
    n_rules : int
    smallest : float
        Share of the weight in the smallest cluster of the rules.
    """

    k: int
    cost: float
    explained: float
    silhouette: float
    stability: float
    price: float
    conditions: float
    n_rules: int
    smallest: float

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """Where it falls short of `STABLE`, `CHEAP` and `SMALL`, in words that are the same for every number."""
        return tuple(general for general, _ in self._drawbacks())

    @property
    def doubts(self) -> tuple[str, ...]:
        """The reasons against it, with its figures."""
        return tuple(own for _, own in self._drawbacks())

    def _drawbacks(self) -> Iterator[tuple[str, str]]:
        """Yield each drawback twice: in words that are the same for every number, and with its figures."""
        if self.stability < STABLE:
            own = f"they differ from seed to seed (agreement {self.stability:.2f})"
            yield "clusters differ from seed to seed", own
        if self.price > 1 + CHEAP:
            own = f"their rules cost {show_figure(self.price - 1, '.1%')} more than the clustering"
            yield f"rules cost over {CHEAP:.0%} more than the clustering", own
        if self.smallest < SMALL:
            yield f"a cluster has below {SMALL:.0%} of the rows", f"the smallest has {self.smallest:.1%} of the rows"


class ClusterCounts(Sequence[ClusterCount]):
    """Several numbers of clusters, side by side; `compare_cluster_counts` makes it, and ``print`` shows a table.

    Attributes
    ----------
    counts : tuple of ClusterCount
        By ascending k.
    models : tuple of ExplainableKMeans
        The fitted model of each.
    """

    def __init__(self, counts: Iterable[ClusterCount], models: Iterable[ExplainableKMeans]) -> None:
        self.counts, self.models = tuple(counts), tuple(models)

    def __getitem__(self, place: Any) -> Any:
        return self.counts[place]

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[ClusterCount]:
        return iter(self.counts)

    @property
    def recommended(self) -> ClusterCount:
        """The number with the clearest clusters, among those without a drawback if there are any.

        Clear means a large silhouette; of equally clear numbers, it is the smallest.
        """
        among = [count for count in self.counts if not count.doubts] or list(self.counts)
        return max(among, key=lambda count: -math.inf if math.isnan(count.silhouette) else count.silhouette)

    @property
    def model(self) -> ExplainableKMeans:
        """The fitted model of the recommended number."""
        return self.models[self.counts.index(self.recommended)]

    @property
    def end(self) -> str:
        """The end of the tried numbers where the recommended one is: "only", "largest", "smallest", or empty for none.

        Two is not an end: there are no fewer clusters.
        """
        k = self.recommended.k
        if len(self.counts) == 1:
            return "only"
        return "largest" if k == self.counts[-1].k else "smallest" if 2 < k == self.counts[0].k else ""

    @property
    def unconvincing(self) -> str:
        """Why no number that was tried is convincing, a sentence; empty where one is."""
        if any(not count.doubts for count in self.counts):
            return ""
        short: dict[str, list[int]] = {}
        for count in self.counts:
            for said in count.shortcomings:
                short.setdefault(said, []).append(count.k)
        reasons = [f"{said} at {self._listed(numbers)}" for said, numbers in short.items()]
        return f"No number of clusters tried is convincing: {'; '.join(reasons)}."

    @property
    def price_remark(self) -> str:
        """Why rules can cost less than k-means, where some do, in a sentence; empty otherwise."""
        cheaper = [count.k for count in self.counts if is_cheaper(count.price)]
        return f"{describe_cheaper()} ({self._listed(cheaper)})" if cheaper else ""

    def _listed(self, numbers: Sequence[int]) -> str:
        """Return numbers of clusters in words."""
        if 2 < len(numbers) == len(self.counts):
            return "every k"
        return f"k = {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}" if len(numbers) > 1 else f"k = {numbers[0]}"

    @property
    def reason(self) -> str:
        """Why that number is recommended, its drawbacks, and whether it ends the range, in a sentence."""
        best = self.recommended
        n_sound = sum(not count.doubts for count in self.counts)
        silhouette = f"(silhouette {show_figure(best.silhouette, '.2f')})"
        clear = f"the clearest clusters {silhouette}"
        if best.doubts:
            why = f"{clear}, but {', and '.join(best.doubts)}"
        else:
            sound = "whose clusters are stable, not tiny and cheap to explain"
            if n_sound < len(self.counts):
                several = f"{clear} of the {n_sound} numbers {sound}"
                clear = several if n_sound > 1 else f"the only number {sound} {silhouette}"
            why = (
                f"{clear}; they are alike from seed to seed ({best.stability:.2f}), and rules cost "
                f"{_extra(best.price)} with {best.conditions:.1f} conditions per row"
            )
        ends = {"largest": ": larger ones may be clearer", "smallest": ": smaller ones may be clearer", "only": ""}
        end = f"; {best.k} is the {self.end} number tried{ends[self.end]}" if self.end else ""
        return f"{best.k} clusters: {why}{end}"

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the figures as columns.

        Returns
        -------
        dict from str to ndarray, shape (n_counts,)
            A column per attribute of `ClusterCount`.
        """
        return {
            name: np.array([getattr(count, name) for count in self.counts])
            for name in ClusterCount.__dataclass_fields__
        }

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return `table` as a frame: ``k`` and ``n_rules`` are Int64, the others Float64; NaN stays NaN.

        The parameter, the frame and the errors are those of `RuleSet.to_frame`.
        """
        return make_frame({name: values.tolist() for name, values in self.table().items()}, backend)

    def __repr__(self) -> str:
        return f"ClusterCounts({', '.join(str(count.k) for count in self.counts)}; recommended: {self.recommended.k})"

    def __str__(self) -> str:
        lines = ["  k  explained  silhouette  stability   price  conditions  rules  smallest"]
        lines += [
            f"{c.k:3d}  {c.explained:9.1%}  {show_figure(c.silhouette, '.3f'):>10}  {c.stability:9.3f}  "
            f"{show_figure(c.price, '.3f'):>6}  {c.conditions:10.2f}  {c.n_rules:5d}  {c.smallest:8.1%}"
            for c in self.counts
        ]
        remark = self.price_remark and f"price below 1: {self.price_remark}"
        return "\n".join(filter(None, [self.unconvincing, *lines, self.reason, remark]))

    def _repr_html_(self) -> str:
        from shallowrules.models.cards import show_counts  # when a notebook asks: it imports exporters

        remark = self.price_remark and f"Price below 1: {self.price_remark}."
        remarks = [f"{self.reason}.", self.unconvincing, remark]
        return show_counts(self.table(), self.counts.index(self.recommended), remarks)

    def plot(self, axes: Any = None) -> Any:
        """Plot each figure against k, with the limit for a recommendation; needs the extra ``plot``.

        Parameters
        ----------
        axes : sequence of six matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        sequence of six matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If `axes` are not six.
        MissingExtraError
            If matplotlib is not installed.
        """
        is_new = axes is None
        if is_new:
            figure, grid = import_pyplot().subplots(2, 3, figsize=(10, 5.6), layout="constrained")
            figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
            axes = grid.ravel()
        figures = self.table()
        panels: tuple[tuple[str, NDArray[Any], float | None], ...] = (
            ("silhouette", figures["silhouette"], None),
            ("stability from seed to seed", figures["stability"], STABLE),
            ("smallest cluster, % of rows", 100 * figures["smallest"], 100 * SMALL),
            ("extra cost of rules, %", 100 * (figures["price"] - 1), 100 * CHEAP),
            ("conditions per row", figures["conditions"], None),
            ("explained, % of variance", 100 * figures["explained"], None),
        )
        if np.ndim(axes) != 1 or len(axes) != len(panels):
            raise OptionError(f"axes must be a sequence of {len(panels)} Axes, such as plt.subplots(2, 3)[1].ravel()")
        for ax, (quantity, values, limit) in zip(axes, panels, strict=True):
            best = ax.axvline(self.recommended.k, color="0.7", linewidth=1, zorder=0)
            if limit is not None:
                limits = ax.axhline(limit, color="0.4", linewidth=1, linestyle="--", zorder=0)
            ax.plot(figures["k"], values, "o-")
            ax.set_xlabel("number of clusters")
            ax.set_ylabel(quantity)
            ax.xaxis.get_major_locator().set_params(integer=True)
        if is_new:
            said = "least bad" if self.unconvincing else "recommended"
            keys = [f"{said}: {self.recommended.k} clusters", "limit for a recommendation"]
            figure.legend([best, limits], keys, loc="outside upper center", ncols=2, frameon=False)
        return axes


def compare_cluster_counts(
    model: ExplainableKMeans,
    X: Any,
    counts: Iterable[int] = range(2, 13),
    *,
    sample_weight: ArrayLike | None = None,
    on_count: Callable[[int], None] | None = None,
) -> ClusterCounts:
    """Return the results of several numbers of clusters, and the recommended one.

    Each number is fitted as the model fits it, so that its figures are those of that fit. Stability and silhouette are
    those of samples, which weigh rows by how often they are drawn.

    Parameters
    ----------
    model : ExplainableKMeans
        Says how to cluster and grow; its `n_clusters` is not used, and it is not changed.
    X : array-like, dataframe or Table of shape (n_samples, n_features)
    counts : iterable of int
        Numbers to try, 2 or more each, at most 1000.
    sample_weight : array-like of shape (n_samples,), optional
    on_count : callable, optional
        Called with each number before it is fitted.

    Returns
    -------
    ClusterCounts

    Raises
    ------
    OptionError
        If a number is below 2 or not whole, if there is none or more than 1,000, or if the model has a clusterer, which
        has its own.
    DataError
        If the table cannot be used as it is, or has fewer rows than clusters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> flowers = load_iris(as_frame=True).data
    >>> compare_cluster_counts(ExplainableKMeans(random_state=0), flowers, range(2, 6)).recommended.k
    2
    """
    given = list(islice(counts, MAX_COUNTS + 1))
    if not given or not all(is_whole(k) and k >= 2 for k in given):
        raise OptionError(f"counts must be whole numbers of clusters, each 2 or more, not {given[:5]}")
    if len(given) > MAX_COUNTS:
        raise OptionError(f"counts has more than {MAX_COUNTS:,} numbers of clusters: each is a fit, so compare fewer")
    wanted = sorted({int(k) for k in given})
    if model.clusterer is not None:
        raise OptionError("clusterer has its own number of clusters; omit it to compare several")
    total: float | None = None  # of all k: the clustered space is the same
    found: list[ClusterCount] = []
    models: list[ExplainableKMeans] = []
    for k in wanted:
        if on_count is not None:
            on_count(k)
        own = clone(model).set_params(n_clusters=k)
        own.on_progress, own.on_best = model.on_progress, model.on_best
        own.prices_more_rules = model.prices_more_rules
        data = prepare_fit(own, X, None, sample_weight)
        try:
            [trees] = grow(data, [own.tradeoff], progress_of(own), log_of(own), own.on_best)
        except OptionError as error:  # of a cut to keep, which some clusterings cannot start with
            raise OptionError(*error.parts, f" (k = {k})", option=error.option) from error
        fitted(own, data, trees[-1])
        if total is None:
            clustered = data.encoding.X_cluster
            total = partition_cost(
                clustered, np.zeros(len(clustered), np.int32), data.fit_weight, data.parameters.n_threads
            )
        found.append(_count(k, data, own.rules_, total, seed_of(model.random_state)))
        models.append(own)
    return ClusterCounts(found, models)


def _extra(price: float) -> str:
    """Return how much more, or less, rules cost than the clustering."""
    share = show_figure(abs(price - 1), ".1%")
    return "no more" if share == "0.0%" else f"{share} {'more' if price > 1 else 'less'}"


def _count(k: int, data: TableData, rules: RuleSet, total: float, seed: int) -> ClusterCount:
    """Return the figures of one fit; `total` is the cost of a single cluster."""
    X, weight = data.encoding.X_cluster, data.fit_weight
    statistics = rules.statistics
    return ClusterCount(
        k,
        statistics.reference_cost,
        1.0 - statistics.reference_cost / total if total > 0 else 1.0,
        _silhouette(X, data.reference.labels, weight, seed),
        _stability(X, weight, k, seed),
        statistics.normalized_cost,
        statistics.waes,
        len(rules),
        min(cluster.share for cluster in rules.clusters),
    )


def _silhouette(X: NDArray[Any], labels: NDArray[np.int32], weight: NDArray[np.float64] | None, seed: int) -> float:
    rows = draw_rows(len(X), weight, SILHOUETTE_ROWS, seed)
    n_clusters = len(np.unique(labels[rows]))
    if not 2 <= n_clusters < len(rows):
        return math.nan
    return float(silhouette_score(X[rows], labels[rows]))


def _stability(X: NDArray[Any], weight: NDArray[np.float64] | None, k: int, seed: int) -> float:
    rows = np.ascontiguousarray(X[draw_rows(len(X), weight, STABILITY_ROWS, seed)])
    labels = [fit_clusterer(KMeans(k, n_init=1, random_state=seed + i), rows).labels_ for i in range(SEEDS)]
    return float(np.mean([adjusted_rand_score(one, other) for one, other in combinations(labels, 2)]))
