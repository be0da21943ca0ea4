"""Clusterers of scikit-learn: fitted alone or behind the transformers of a Pipeline, and their labels of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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

from shallowrules.clustering import forked  # noqa: F401 - a fork may come at any time once a clustering was made
from shallowrules.clustering.blas import single_threaded_blas
from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.clustering.starts import fit_kmeans
from shallowrules.encoding.fitted import is_fitted, unfitted
from shallowrules.errors import DataError, OptionError, OptionName, ShallowRulesWarning, counted

__all__ = [
    "check_names",
    "fit_clusterer",
    "fitted_clusterer",
    "has_transformers",
    "into_space",
    "known_labels",
    "last_step",
    "predicted_centers",
    "predicted_labels",
    "split_pipeline",
]


def into_space(clusterer: Any, X_cluster: NDArray[Any], source: Any = None) -> NDArray[Any]:
    """Return rows in the space that a fitted clusterer clusters: after the transformers of a Pipeline.

    Parameters
    ----------
    clusterer : fitted estimator or None
    X_cluster : ndarray of float, shape (n_rows, n_clustered)
        The rows as they are clustered without a transformer.
    source : array-like or dataframe of shape (n_rows, n_columns), optional
        What a Pipeline takes, if not `X_cluster`.

    Returns
    -------
    ndarray of float32 or float64, shape (n_rows, n_components)
        `X_cluster` itself if the clusterer has no transformers.
    """
    transformers, _ = split_pipeline(clusterer)
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


def has_transformers(clusterer: Any) -> bool:
    """Return whether a clusterer is a Pipeline with transformers in front."""
    return bool(split_pipeline(clusterer)[0])


def split_pipeline(clusterer: Any) -> tuple[list[Any], Any]:
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
    return split_pipeline(clusterer)[1]


@contextmanager
def _names_checked() -> Iterator[None]:
    """Silence scikit-learn's warning that a matrix has no names: `check_names` compares them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def check_names(fitted: Any, names: Sequence[str] | None) -> None:
    """Refuse columns whose names differ from those that the clusterer was fitted on."""
    known = getattr(fitted, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise DataError(
            f"clusterer was fitted on the columns {', '.join(map(repr, known))}, but it is explained on "
            f"{', '.join(map(repr, names))}: give the same columns in the same order (cluster_columns)"
        )


def fitted_clusterer(
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


@dataclass(frozen=True, eq=False)
class ClustererLabels:
    """Labels of a fitted clusterer, one per row.

    `seen` are the rows that it was fitted on or that it predicted. `noise` are the rows among them that it labels -1,
    where its other labels are 0, 1, … as scikit-learn numbers them.
    """

    labels: NDArray[Any]
    seen: NDArray[np.bool_]
    noise: NDArray[np.bool_]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, fitted: Any, given: NDArray[Any], seen: NDArray[np.bool_]) -> ClustererLabels:
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


def known_labels(fitted: Any, n_rows: int, seen: NDArray[np.bool_] | None) -> ClustererLabels | None:
    """Return the labels from fitting, if they are of these rows."""
    given = getattr(fitted, "labels_", None)
    if seen is None:
        seen = np.ones(n_rows, dtype=bool)
    if given is None or np.shape(given) != (np.count_nonzero(seen),):
        return None
    return ClustererLabels.of(fitted, np.asarray(given), seen)


def predicted_labels(fitted: Any, X: NDArray[Any], names: Sequence[str] | None) -> ClustererLabels:
    """Ask a clusterer without centers for the labels of the rows."""
    if hasattr(fitted, "predict"):
        check_names(fitted, names)
        with _names_checked():
            return ClustererLabels.of(fitted, np.asarray(fitted.predict(X)), np.ones(len(X), dtype=bool))
    if hasattr(fitted, "labels_"):
        raise DataError(
            f"the clusterer has labels for {counted(len(fitted.labels_), 'row')}, the table has {len(X)}: "
            "it must have been fitted on the same rows"
        )
    raise OptionError(
        f"clusterer={fitted!r} has neither cluster_centers_ nor labels_ after fitting, nor predict; "
        "give a scikit-learn clusterer, an array of centers, or one label per row"
    )


def predicted_centers(fitted: Any, X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32] | None:
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
