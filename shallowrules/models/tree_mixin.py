"""The methods for a fit that scikit-learn's clusterers and decision trees offer, by the same names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from shallowrules.clustering.clusterers import last_step
from shallowrules.fitting.data import GivenTable
from shallowrules.trees.tree import Tree

__all__ = ["TreeMixin"]


class TreeMixin(TransformerMixin, ABC):
    """A tree's answers for new rows: leaf, cluster, path, and the distances to the means of the clusters."""

    impute: str | None
    clusterer_: Any
    classes_: NDArray[Any]
    tree_: Tree
    _clustered_centers: NDArray[np.float64]

    @abstractmethod
    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit the model, which is returned."""

    @abstractmethod
    def _model_columns(self, X: Any) -> tuple[GivenTable, NDArray[Any]]:
        """Return new rows, read, and their model columns."""

    @abstractmethod
    def _new_rows(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return new rows in the model columns, and in the space that was clustered."""

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf (a node of ``tree_``) that each row reaches, shape (n_samples,)."""
        _, columns = self._model_columns(X)
        return self.tree_.apply(columns)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of each row, one of `classes_`, shape (n_samples,).

        Several threads may call it on one model at the same time, but not while one of them fits that model: fit
        another, and replace this one by it. A `transformer` of yours must allow it too.
        """
        _, columns = self._model_columns(X)
        return self.classes_[self.tree_.predict(columns)]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of each row to the mean of each cluster of the tree, in the space that was clustered.

        The nearest mean need not be that of the row's own cluster: the tree assigns by its thresholds, so
        ``classes_[transform(X).argmin(axis=1)]`` differs from ``predict(X)`` in some rows.

        Parameters
        ----------
        X : array-like, dataframe, Table or mapping of columns, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, k)
            Column i is cluster ``classes_[i]``; for one without a leaf it is the distance to its reference center.
            After ``set_output(transform="pandas")``, or "polars", a frame with the names of `get_feature_names_out`.
        """
        distances: NDArray[np.float64] = cdist(self._new_rows(X)[1], self._clustered_centers)
        return distances

    def fit_transform(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[np.float64]:
        """Fit, and return the distances of the training rows, as `transform` does."""
        distances: NDArray[np.float64] = self.fit(X, sample_weight=sample_weight).transform(X)
        return distances

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: the name of the class, and one of `classes_`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Only compared with the names of the columns of X.

        Returns
        -------
        ndarray of str objects, shape (k,)
            "explainablekmeans0", "explainablekmeans1", …
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([f"{type(self).__name__.lower()}{label}" for label in self.classes_], dtype=object)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes of ``tree_`` that each row passes, its leaf among them.

        Returns
        -------
        sparse csr_matrix of int64, shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        return self.tree_.decision_path(self._model_columns(X)[1])

    def get_depth(self) -> int:
        """Return the depth of the tree: edges from the root to the deepest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def n_iter_(self) -> int:
        """Iterations of the fitted clusterer; if it does not count them, there is no such attribute."""
        check_is_fitted(self)
        return int(last_step(self.clusterer_).n_iter_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute == "median"
        return tags
