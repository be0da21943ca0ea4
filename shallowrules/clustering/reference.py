"""The reference: the unrestricted clustering that the tree explains."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from shallowrules._kernel import Ranges, keeps_all_distances, nearest_centers
from shallowrules.clustering import forked  # noqa: F401 - a fork may come at any time once a clustering was made
from shallowrules.clustering.blas import single_threaded_blas
from shallowrules.clustering.starts import fit_kmeans
from shallowrules.encoding import Encoding
from shallowrules.encoding.fitted import is_fitted, unfitted
from shallowrules.errors import DataError, OptionError, OptionName, ShallowRulesWarning, counted
from shallowrules.measures.summation import group_means
from shallowrules.tables.labels import NO_CLUSTER, NOISE, is_label, next_free, whole_numbers

__all__ = [
    "UNLABELLED",
    "Labelling",
    "Reference",
    "centers_among",
    "classes_of_labels",
    "fit_clusterer",
    "into_space",
    "label_notes",
    "nearest_labels",
    "read_centers",
    "reference_clustering",
]

UNLABELLED = -1
"""The label of a row in no cluster: noise, or a row without a given label."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """Given labels as numbers.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_rows,)
        From 0 on, in the order of the given labels; `UNLABELLED` where a row has no label.
    names : tuple of str
        The given label of each number.
    numbers : tuple of int, or None
        The same where the given labels are whole numbers.
    noise : bool
        Whether the last label marks noise.
    """

    labels: NDArray[np.int32]
    names: tuple[str, ...]
    numbers: tuple[int, ...] | None = None
    noise: bool = False

    @classmethod
    def of(cls, values: NDArray[Any], absent: NDArray[np.bool_]) -> Labelling:
        """Return labels as numbers: numbers in their own order, others in that of their texts.

        Parameters
        ----------
        values : ndarray, shape (n_rows,)
            Numbers, or objects.
        absent : ndarray of bool, shape (n_rows,)
            Where there is no label.

        Raises
        ------
        DataError
            If no row has a label, or two different labels have the same text, such as 1 and "1".
        """
        if absent.all():
            raise DataError("no row has a label, so there is no clustering to explain")
        present = values[~absent]
        labels = np.full(len(values), UNLABELLED, dtype=np.int32)
        if present.dtype.kind == "O" and whole_numbers(present) is None:
            names, labels[~absent] = _by_text(present)
            return cls(labels, names)
        known, labels[~absent] = np.unique(present, return_inverse=True)
        # They may be floats, as beside missing values in a pandas column.
        numbers = whole_numbers(known.tolist())
        return cls(labels, tuple(map(str, known if numbers is None else numbers)), numbers)

    def with_noise(self) -> Labelling:
        """Return the labels with -1 as noise: the last one, of the next free number; as they are if none is -1."""
        if self.numbers is None or UNLABELLED not in self.numbers:
            return self
        at = self.numbers.index(UNLABELLED)
        order = [i for i in range(len(self.names)) if i != at]
        place = np.full(len(self.names) + 1, UNLABELLED, dtype=np.int32)  # the last entry, index -1, stays so
        place[[*order, at]] = np.arange(len(self.names))
        names, numbers = (self.names[i] for i in order), [self.numbers[i] for i in order]
        return Labelling(place[self.labels], (*names, NOISE), (*numbers, next_free(numbers)), noise=True)


def _by_text(values: NDArray[Any]) -> tuple[tuple[str, ...], list[int]]:
    """Return the texts of values, ascending, and the position among them of each value's."""
    texts = [str(value) for value in values]  # in a list: NumPy's own texts lose a NUL at their end
    first: dict[str, Any] = {}
    for text, value in zip(texts, values, strict=True):
        other = first.setdefault(text, value)
        if other is not value and other != value:
            kinds = sorted(type(label).__name__ for label in (other, value))
            raise DataError(
                f"two different labels are both called {text!r} (types {' and '.join(kinds)}): give labels of one type"
            )
    names = tuple(sorted(first))
    place = {name: i for i, name in enumerate(names)}
    return names, [place[text] for text in texts]


class HeldDistances:
    """Squared distances of rows to centers, held from finding the nearest center until a tree is grown.

    Parameters
    ----------
    distances : ndarray of float64, shape (k, n_rows)
    """

    def __init__(self, distances: NDArray[np.float64]) -> None:
        self._distances: NDArray[np.float64] | None = distances

    def take(self) -> NDArray[np.float64] | None:
        """Return the distances, and hold them no longer: growth reorders them. None from the second time on."""
        distances, self._distances = self._distances, None
        return distances


@dataclass(frozen=True, eq=False)
class Reference:
    """The unrestricted partition and its centers.

    Parameters
    ----------
    centers : ndarray of float64, shape (k, n_clustered)
        Reference centers in the space that was clustered; cluster i of the tree is center i.
    explain_centers : ndarray of float64, shape (k, n_explained)
        Where these centers lie in `X_explain`: the means of their rows.
    labels : ndarray of int32, shape (n_rows,)
        Assigned center of each row: the given label where there are labels, else the nearest center.
        `UNLABELLED` for rows that are not to be fitted on.
    names : tuple of str
        What a person calls each cluster: the given label, or the number.
    classes : tuple of int
        The label of each cluster wherever rows get one: the given label where it is a whole number, else its index.
    labelled : bool
        Whether the labels are the clustering's own, and not those of the nearest center.
    notes : tuple of str
        What a reader of the rules should know about the clustering.
    noise : bool
        Whether the last cluster is noise.
    distances : HeldDistances, optional
        Of all rows to all centers, where they are wanted and growth can take them over.
    """

    centers: NDArray[np.float64]
    explain_centers: NDArray[np.float64]
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    classes: tuple[int, ...]
    labelled: bool
    notes: tuple[str, ...] = ()
    noise: bool = False
    distances: HeldDistances | None = None


def reference_clustering(
    encoding: Encoding,
    clusterer: Any,
    n_clusters: int,
    random_state: Any,
    sample_weight: NDArray[np.float64] | None,
    *,
    names: Sequence[str] | None = None,
    source: Any = None,
    holds_distances: bool = False,
    explains_noise: bool = False,
    n_threads: int = 1,
) -> tuple[Reference, Encoding, Any]:
    """Cluster the table, or adopt an existing clustering.

    Parameters
    ----------
    encoding : Encoding
    clusterer : None, an estimator (fitted or not), a Labelling, or array-like of shape (k, n_columns)
        None is scikit-learn's ``KMeans(n_clusters, n_init=10)``; an array is the centers.
    n_clusters : int
        Used only if `clusterer` is None.
    random_state : int, RandomState instance or None
    sample_weight : ndarray of float64, shape (n_rows,), optional
    names : sequence of str, optional
        Names of the clustered columns, where they have some.
    source : array-like or dataframe, optional
        The clustered columns as the user has them: what a Pipeline is given.
    holds_distances : bool
        Whether a tree is grown next that can take over the distances to the centers.
    explains_noise : bool
        Whether rows that the clusterer calls noise are a cluster; else they are in none, with a warning.
    n_threads : int
        For what is done beside the clusterer's own work; no result depends on it.

    Returns
    -------
    reference : Reference
    encoding : Encoding
        With the space in which distances are taken; the transformers of a Pipeline change it.
    clusterer : the fitted clusterer, or None where centers or labels were given

    Raises
    ------
    OptionError
        If `clusterer` is of another kind, or was made for another number of columns.
    DataError
        If its labels are those of another number of rows, or its columns have other names.
    """
    if isinstance(clusterer, Labelling):
        reference = _from_labels(encoding, clusterer, sample_weight, n_threads)
        absent = int(np.count_nonzero(clusterer.labels == UNLABELLED))
        return replace(reference, notes=label_notes(clusterer.names, absent, len(clusterer.labels))), encoding, None
    if clusterer is None:
        clusterer = KMeans(n_clusters=n_clusters, n_init=10, random_state=random_state)
    if not hasattr(clusterer, "fit"):
        reference = _from_centers(
            encoding, clusterer, sample_weight, holds_distances=holds_distances, n_threads=n_threads
        )
        return reference, encoding, None
    transformers, _ = _split(clusterer)
    if transformers and encoding.encoder.scaler is not None:
        raise OptionError("scale cannot be combined with a Pipeline, which does its own scaling; leave scale=None")
    X = encoding.X_cluster if source is None or not transformers else source
    fitted, seen, notes = _fitted(clusterer, X, sample_weight, n_threads)
    if transformers:
        _check_names(fitted, names)
        encoding = encoding.in_space(into_space(fitted, encoding.X_cluster, X))
        names = None  # the transformers may name their columns otherwise
    reference = _take_over(
        encoding,
        _split(fitted)[1],
        sample_weight,
        seen,
        names,
        holds_distances=holds_distances,
        explains_noise=explains_noise,
        n_threads=n_threads,
    )
    return replace(reference, notes=(*notes, *reference.notes)), encoding, fitted


def into_space(clusterer: Any, X_cluster: NDArray[Any], source: Any = None) -> NDArray[Any]:
    """Return rows in the space that a fitted clusterer clusters: after the transformers of a Pipeline.

    Parameters
    ----------
    clusterer : fitted estimator or None
    X_cluster : ndarray of float, shape (n_rows, n_clustered)
        The rows as they are clustered where there is no transformer.
    source : array-like or dataframe of shape (n_rows, n_columns), optional
        What a Pipeline takes, if not `X_cluster`.

    Returns
    -------
    ndarray of float32 or float64, shape (n_rows, n_components)
        `X_cluster` itself where there is no transformer.
    """
    transformers, _ = _split(clusterer)
    if not transformers:
        return X_cluster
    X = X_cluster if source is None else source
    with _names_checked():
        for transformer in transformers:
            X = transformer.transform(X)
    matrix = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    matrix = np.ascontiguousarray(matrix, dtype=np.float32 if matrix.dtype == np.float32 else np.float64)
    if not np.isfinite(matrix).all():
        raise DataError("the Pipeline's transformers give missing or infinite values, which have no distances")
    return matrix


def centers_among(
    X: NDArray[Any],
    reference: Reference,
    X_cluster: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the reference centers in any columns of the rows: the means of the rows of each.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
    reference : Reference
    X_cluster : ndarray of float, shape (n_rows, n_clustered)
        In the space of the centers. A center without rows gets the mean of the rows nearest to it.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (k, n_columns)
    """
    return _means(X, reference.labels, reference.centers, X_cluster, sample_weight, n_threads)


def _means(
    X: NDArray[Any],
    labels: NDArray[np.int32],
    centers: NDArray[np.float64],
    X_cluster: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int,
    ranges: Ranges | None = None,
) -> NDArray[np.float64]:
    means = group_means(X, labels, len(centers), sample_weight, n_threads, ranges)
    empty = np.flatnonzero(np.isnan(means).any(axis=1))
    if len(empty):
        counted = labels >= 0
        if sample_weight is not None:
            counted &= sample_weight > 0
        for center in empty:
            distance = np.where(counted, _squared_distances(X_cluster, centers[center]), np.inf)
            nearest = np.where(distance == distance.min(), 0, UNLABELLED)
            means[center] = group_means(X, nearest, 1, sample_weight)[0]
    return means


MAX_TOGETHER = 1 << 18
"""Differences computed at once: this many fit a second-level cache."""


def nearest_labels(
    X: NDArray[Any],
    centers: NDArray[np.float64],
    n_threads: int,
    distances: NDArray[np.float64] | None = None,
) -> NDArray[np.int32]:
    """Return the nearest center of each row, the lowest index of equally near ones.

    The labels of a fitted KMeans are not used instead: it computes distances from a product of matrices, which
    rounds differently from one place in the table to another, and to know where that could decide takes the distance
    to the second nearest center, hence all of them. `distances` is filled with them, as by `nearest_centers`.
    """
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    labels, doubtful = nearest_centers(X, centers, distances=distances, n_threads=n_threads)
    rows = np.flatnonzero(doubtful)
    step = max(1, MAX_TOGETHER // max(1, centers.size))
    for first in range(0, len(rows), step):
        here = rows[first : first + step]
        labels[here] = _squared_distances(centers, np.ascontiguousarray(X[here], dtype=np.float64)[:, None]).argmin(
            axis=1
        )
    return labels


def _squared_distances(X: NDArray[Any], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of every row to a point, or to each of several, summed alike for every row."""
    with np.errstate(over="ignore"):  # refused when the tree is grown
        return np.asarray(((X - point) ** 2).sum(axis=-1))


# Estimators --------------------------------------------------------------------------------------


def has_transformers(clusterer: Any) -> bool:
    """Return whether a clusterer is a Pipeline with transformers in front."""
    return bool(_split(clusterer)[0])


def _split(clusterer: Any) -> tuple[list[Any], Any]:
    """Return the transformers in front of a clusterer, in order, and the clusterer itself."""
    transformers: list[Any] = []
    while True:
        if isinstance(clusterer, FrozenEstimator):
            clusterer = clusterer.estimator
        elif isinstance(clusterer, Pipeline):
            *before, (_, clusterer) = clusterer.steps
            transformers += [step for _, step in before if step not in (None, "passthrough")]
        else:
            return transformers, clusterer


def last_step(clusterer: Any) -> Any:
    """Return the clusterer behind the transformers of a Pipeline; return any other clusterer unchanged."""
    return _split(clusterer)[1]


@contextmanager
def _names_checked() -> Iterator[None]:
    """Silence scikit-learn's warning that a matrix has no names: `_check_names` compares them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def _check_names(fitted: Any, names: Sequence[str] | None) -> None:
    """Refuse columns whose names differ from those that the clusterer was fitted on."""
    known = getattr(fitted, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise DataError(
            f"clusterer was fitted on the columns {', '.join(map(repr, known))}, but it is explained on "
            f"{', '.join(map(repr, names))}: give the same columns in the same order (cluster_columns)"
        )


def _fitted(
    clusterer: Any, X: Any, sample_weight: NDArray[np.float64] | None, n_threads: int
) -> tuple[Any, NDArray[np.bool_] | None, tuple[str, ...]]:
    """Return a fitted clusterer (the one given if it is fitted, else a clone), the rows that it saw, and notes."""
    if is_fitted(clusterer):
        return clusterer, None, ()
    clusterer = unfitted(clusterer)
    if sample_weight is None:
        return fit_clusterer(clusterer, X, n_threads), None, ()
    counted = sample_weight > 0
    if counted.all():
        seen = None
    else:
        seen, sample_weight = counted, sample_weight[counted]
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        X = frame.filter(counted.tolist()).to_native() if isinstance(frame, nw.DataFrame) else np.asarray(X)[counted]
    weighted, without = _weighted_steps(clusterer)
    notes: tuple[str, ...] = ()
    if without and not (sample_weight == sample_weight[0]).all():
        notes = (f"{' and '.join(without)} took no weights: each row counted once there",)
    return fit_clusterer(clusterer, X, n_threads, **dict.fromkeys(weighted, sample_weight)), seen, notes


def _weighted_steps(clusterer: Any) -> tuple[list[str], list[str]]:
    """Return the arguments by which the ``fit`` of a clusterer takes weights, and the kinds of steps without any.

    Where scikit-learn routes arguments to the steps of a Pipeline, they get what they request; a step that says nothing
    of weights is made to request them if it can.
    """
    steps = list(_steps(clusterer))
    takes = [has_fit_parameter(step, "sample_weight") for _, step in steps]
    if not (isinstance(clusterer, Pipeline) and get_config()["enable_metadata_routing"]):
        weighted = [f"{path}sample_weight" for (path, _), takes_any in zip(steps, takes, strict=True) if takes_any]
    else:
        for step in clusterer.get_params().values():
            requests = step.get_metadata_routing().fit.requests if has_fit_parameter(step, "sample_weight") else {}
            if "sample_weight" in requests and requests["sample_weight"] is None:
                step.set_fit_request(sample_weight=True)
        takes = [bool(get_routing_for_object(step).consumes("fit", ["sample_weight"])) for _, step in steps]
        weighted = ["sample_weight"] if any(takes) else []
    return weighted, [type(step).__name__ for (_, step), takes_any in zip(steps, takes, strict=True) if not takes_any]


def _steps(clusterer: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the steps of a Pipeline that are fitted, or the clusterer, each behind the path of its parameters."""
    if not isinstance(clusterer, Pipeline):
        yield path, clusterer
        return
    for name, step in clusterer.steps:
        if hasattr(step, "fit") and not is_fitted(step):  # "passthrough" has none, and what needs none is fitted
            yield from _steps(step, f"{path}{name}__")


def fit_clusterer(clusterer: Any, X: Any, n_threads: int = 1, **weights: Any) -> Any:
    """Fit a clusterer. The result is that of its ``fit``, except for the last bits of products in KMeans."""
    if not isinstance(clusterer, KMeans):
        return clusterer.fit(X, **weights)
    with single_threaded_blas():
        if type(clusterer) is KMeans and isinstance(X, np.ndarray) and set(weights) <= {"sample_weight"}:
            return fit_kmeans(clusterer, X, weights.get("sample_weight"), n_threads)
        return clusterer.fit(X, **weights)


def _take_over(
    encoding: Encoding,
    fitted: Any,
    sample_weight: NDArray[np.float64] | None,
    seen: NDArray[np.bool_] | None,
    names: Sequence[str] | None,
    *,
    holds_distances: bool,
    explains_noise: bool,
    n_threads: int,
) -> Reference:
    """Return the centers of a fitted clusterer if it has some for this space, else its labels."""
    X = encoding.X_cluster
    given = _known_labels(fitted, len(X), seen)
    centers = getattr(fitted, "cluster_centers_", None)
    if centers is None:
        centers = getattr(fitted, "means_", None)  # of a mixture
    centers = np.asarray([] if centers is None else centers)
    if len(centers) and _is_matrix(centers, X.shape[1]):
        _check_names(fitted, names)
        reference = _from_centers(
            encoding,
            centers,
            sample_weight,
            _predicted(fitted, X, centers),
            holds_distances=holds_distances,
            n_threads=n_threads,
        )
        if given is None or not given.noise.any():
            return reference
        labels = np.where(given.noise, np.int32(UNLABELLED), reference.labels)
        if explains_noise:
            return _from_labels(encoding, _noisy(labels, ~given.seen), sample_weight, n_threads)
        given.warn_of_noise(fitted)
        return replace(reference, labels=labels, notes=given.notes)
    if given is None:
        given = _predicted_labels(fitted, X, names)
    notes: tuple[str, ...] = ()
    if given.noise[given.seen].all():
        raise DataError(f"{type(fitted).__name__} marks every row as noise, so there is no cluster to explain")
    if explains_noise and given.noise.any():
        labelling = _noisy(np.where(given.noise, UNLABELLED, given.labels), ~given.seen)
    else:
        labelling = Labelling.of(given.labels, given.noise | ~given.seen)
        notes = given.notes
        given.warn_of_noise(fitted)
    reference = _from_labels(encoding, labelling, sample_weight, n_threads)
    if len(centers):
        notes = (
            f"the centers of {type(fitted).__name__} have {centers.shape[-1]} columns, the clustered table has "
            f"{X.shape[1]}: its labels are explained instead",
            *notes,
        )
    return replace(reference, notes=notes)


def _noisy(labels: NDArray[Any], absent: NDArray[np.bool_]) -> Labelling:
    """Return labels among which -1 is noise."""
    return Labelling.of(labels, absent).with_noise()


@dataclass(frozen=True, eq=False)
class _GivenLabels:
    """Labels of a fitted clusterer, one per row.

    `seen` are the rows that it was fitted on or that it predicted. `noise` are the rows among them that it labels -1,
    where its other labels are 0, 1, … as scikit-learn numbers them.
    """

    labels: NDArray[Any]
    seen: NDArray[np.bool_]
    noise: NDArray[np.bool_]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, fitted: Any, given: NDArray[Any], seen: NDArray[np.bool_]) -> _GivenLabels:
        labels = np.zeros(len(seen), dtype=given.dtype)
        labels[seen] = given
        noise = np.zeros(len(seen), dtype=bool)
        notes: tuple[str, ...] = ()
        if given.dtype.kind == "i" and (given == UNLABELLED).any():
            known = np.setdiff1d(given, [UNLABELLED])
            if np.array_equal(known, np.arange(len(known))):
                noise[seen] = given == UNLABELLED
        n_noise = int(np.count_nonzero(noise))
        if n_noise:
            by = type(fitted).__name__
            notes = (f"excluded from fitting: {n_noise:,} of {len(given):,} rows, marked as noise by {by}",)
        return cls(labels, seen, noise, notes)

    def warn_of_noise(self, fitted: Any) -> None:
        """Warn of the rows that are left out of the fit because they are noise, if any are."""
        n_noise = int(np.count_nonzero(self.noise))
        if n_noise:
            warnings.warn(
                ShallowRulesWarning(
                    f"{type(fitted).__name__} calls {n_noise:,} of {counted(int(self.seen.sum()), 'row')} noise; they "
                    "are left out of the fit and of its figures",
                    remedy=("; to give them rules of their own, use ", OptionName("noise", "cluster")),
                ),
                stacklevel=2,
            )


def _known_labels(fitted: Any, n_rows: int, seen: NDArray[np.bool_] | None) -> _GivenLabels | None:
    """Return the labels from fitting, if they are of these rows."""
    given = getattr(fitted, "labels_", None)
    if seen is None:
        seen = np.ones(n_rows, dtype=bool)
    if given is None or np.shape(given) != (np.count_nonzero(seen),):
        return None
    return _GivenLabels.of(fitted, np.asarray(given), seen)


def _predicted_labels(fitted: Any, X: NDArray[Any], names: Sequence[str] | None) -> _GivenLabels:
    """Ask a clusterer without centers for the labels of the rows."""
    if hasattr(fitted, "predict"):
        _check_names(fitted, names)
        with _names_checked():
            return _GivenLabels.of(fitted, np.asarray(fitted.predict(X)), np.ones(len(X), dtype=bool))
    if hasattr(fitted, "labels_"):
        raise DataError(
            f"the clusterer has labels for {counted(len(fitted.labels_), 'row')}, the table has {len(X)}: "
            "it must have been fitted on the same rows"
        )
    raise OptionError(
        f"clusterer={fitted!r} has neither cluster_centers_ nor labels_ after fitting, nor predict; "
        "give a scikit-learn clusterer, an array of centers, or one label per row"
    )


def _predicted(fitted: Any, X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32] | None:
    """Return the labels of a clusterer with centers; None if each row simply belongs to its nearest center.

    Mixtures, whose components have shapes, and bisecting k-means, which descends its own tree, label rows differently.
    """
    if isinstance(fitted, KMeans | MiniBatchKMeans) or not hasattr(fitted, "predict"):
        return None
    k = len(centers)
    with _names_checked():
        # Compiled code wants rows and centers in one type.
        labels = np.asarray(fitted.predict(X.astype(centers.dtype, copy=False)))
    if labels.shape != (len(X),) or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise OptionError(f"clusterer={fitted!r} has {k} centers, but predicts labels other than 0 to {k - 1}")
    return labels.astype(np.int32)


def label_notes(names: Sequence[str], absent: int, n_rows: int) -> tuple[str, ...]:
    """Return the notes on given labels, which `absent` of the rows lack."""
    notes = []
    if absent:
        notes.append(f"excluded from fitting: {absent:,} of {n_rows:,} rows, without a given label")
    others = [name for name in names if name != str(UNLABELLED)]  # of a labelling with noise, no name is -1
    if len(others) == len(names) - 1 and others == [str(i) for i in range(len(others))]:
        notes.append(
            "the label -1 is explained as a cluster like any other; if it marks noise, leave it empty, or have it "
            "explained as noise"
        )
    return tuple(notes)


# Centers and labels ------------------------------------------------------------------------------


def _is_matrix(centers: Any, n_columns: int) -> bool:
    return np.ndim(centers) == 2 and np.shape(centers)[1] == n_columns


def read_centers(centers: Any, n_columns: int) -> NDArray[np.float64]:
    """Return given centers, shape (k, n_columns); OptionError for anything else."""
    try:
        read: NDArray[np.float64] = np.ascontiguousarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        shown = f"={centers!r}" if isinstance(centers, str | Real) else f" (of type {type(centers).__name__})"
        raise OptionError(
            f"clusterer{shown} is neither a clusterer nor an array of centers or labels; "
            "give a scikit-learn clusterer, numbers of shape (k, columns), or one label per row"
        ) from None
    if not _is_matrix(read, n_columns) or not len(read):
        raise OptionError(
            f"clusterer gives centers of shape {read.shape}, but the table has {counted(n_columns, 'column')}: "
            "centers need one row per cluster and one column per column of the table"
        )
    if not np.isfinite(read).all():
        raise OptionError("clusterer gives centers that are not finite numbers")
    return read


def _from_centers(
    encoding: Encoding,
    centers: Any,
    sample_weight: NDArray[np.float64] | None,
    labels: NDArray[np.int32] | None = None,
    *,
    holds_distances: bool,
    n_threads: int,
) -> Reference:
    """Return the clustering by given centers: by its own labels, or those of the nearest center."""
    X = encoding.X_cluster
    centers = read_centers(centers, X.shape[1])
    labelled = labels is not None
    distances = None
    if labels is None:
        if holds_distances and keeps_all_distances(X, len(centers)):
            distances = np.empty((len(centers), len(X)))
        labels = nearest_labels(X, centers, n_threads, distances)
    explain_centers = centers
    if not encoding.one_space:
        ranges = encoding.explain_ranges
        explain_centers = _means(encoding.X_explain, labels, centers, X, sample_weight, n_threads, ranges)
    classes = tuple(range(len(centers)))
    held = None if distances is None else HeldDistances(distances)
    return Reference(centers, explain_centers, labels, tuple(map(str, classes)), classes, labelled, distances=held)


def _from_labels(
    encoding: Encoding, given: Labelling, sample_weight: NDArray[np.float64] | None, n_threads: int
) -> Reference:
    """Return the clustering by given labels, its centers the means of their rows."""
    X = encoding.X_cluster
    counted = given.labels >= 0
    if sample_weight is not None:
        counted &= sample_weight > 0
    used = np.unique(given.labels[counted])
    if not len(used):
        raise DataError("no row with a label has a positive weight, so there is no clustering to explain")
    # A label whose rows all have weight 0 is left out.
    number = np.full(len(given.names) + 1, UNLABELLED, dtype=np.int32)  # the last entry, index -1, stays UNLABELLED
    number[used] = np.arange(len(used))
    labels = number[given.labels]
    centers = group_means(X, labels, len(used), sample_weight, n_threads, encoding.cluster_ranges)
    explain_centers = centers
    if not encoding.one_space:
        ranges = encoding.explain_ranges
        explain_centers = group_means(encoding.X_explain, labels, len(used), sample_weight, n_threads, ranges)
    names = tuple(given.names[i] for i in used)
    classes = classes_of_labels(None if given.numbers is None else [given.numbers[i] for i in used], len(used))
    noise = given.noise and used[-1] == len(given.names) - 1
    return Reference(centers, explain_centers, labels, names, classes, labelled=True, noise=bool(noise))


def classes_of_labels(numbers: Sequence[int] | None, k: int) -> tuple[int, ...]:
    """Return a number for each given label: its own in `numbers` if these are whole."""
    if numbers is None:
        return tuple(range(k))
    if all(map(is_label, numbers)):
        return tuple(numbers)
    why = f"contain {NO_CLUSTER}, which marks rows without a cluster" if NO_CLUSTER in numbers else "go beyond 64 bits"
    warnings.warn(
        f"the given labels {why}: the clusters are numbered from 0 to {k - 1} instead, in the order of the labels, "
        "which are kept as their names",
        ShallowRulesWarning,
        stacklevel=2,
    )
    return tuple(range(k))
