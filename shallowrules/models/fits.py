"""The fit of a model, step by step: a table read and clustered, and the attributes that a grown tree gives."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from shallowrules.errors import DataError, counted
from shallowrules.fitting.finishing import Fit, finish
from shallowrules.fitting.parts import PartsData
from shallowrules.fitting.preparing import prepare
from shallowrules.fitting.refitting import IsWithin, go_on, judge
from shallowrules.fitting.searching import more_rules_notes
from shallowrules.fitting.whole import TableData
from shallowrules.models.arguments import read_measure, read_rows, read_weights
from shallowrules.models.parameters import fit_parameters
from shallowrules.models.reporting import log_of
from shallowrules.rules.figures import normalized_cost
from shallowrules.tables.labels import NO_CLUSTER, label_type
from shallowrules.tables.order import warn_of_other_order
from shallowrules.tables.table import frame_of
from shallowrules.trees.grown_tree import GrownTree

__all__ = ["NOT_OF_ALL_TABLES", "fitted", "prepare_fit", "unfitted"]

Model = TypeVar("Model", bound=BaseEstimator)

NOT_OF_ALL_TABLES = ("feature_names_in_", "labels_", "reference_labels_")
"""Attributes that some tables do not set: those of an earlier fit go."""


def unfitted(model: Model, **parameters: Any) -> Model:
    """Return a new model with the same parameters, except those given.

    Unlike `sklearn.base.clone` it keeps the fit of a clusterer that is given fitted.
    """
    again: Model = type(model)(**{**model.get_params(deep=False), **parameters})
    again.on_progress, again.on_best = model.on_progress, model.on_best
    again.prices_more_rules = model.prices_more_rules
    if hasattr(model, "_sklearn_output_config"):  # of set_output
        again._sklearn_output_config = dict(model._sklearn_output_config)
    return again


def prepare_fit(model: Model, X: Any, y: Any, sample_weight: ArrayLike | None, measure: Any = None) -> TableData:
    """Check parameters and input as scikit-learn does, and cluster the table. The model is not changed.

    Parameters are those of `ExplainableKMeans.fit`.
    """
    parameters = fit_parameters(model)
    given = read_rows(copy.copy(model), X, reset=True)
    others = {"clusterer": parameters.clusterer, "sample_weight": sample_weight, "measure": measure}
    for name, other in others.items():
        frame_of(other, name)  # which refuses a query without rows
    warn_of_other_order(X, **others)
    n_rows = given.table.n_rows
    if y is not None and hasattr(y, "__len__") and len(y) != n_rows:
        raise DataError(f"y has {counted(len(y), 'entry', 'entries')}, X has {counted(n_rows, 'row')}")
    weight = None
    if sample_weight is not None:
        weight = read_weights(sample_weight, n_rows)
        if (weight < 0).any():
            raise DataError(
                f"Negative values in data passed to `sample_weight`: {counted(int((weight < 0).sum()), 'row')}"
            )
    added_up = None if measure is None else read_measure(measure, given.table)
    return prepare(given, parameters, weight, log_of(model), added_up)


def fitted(model: Model, data: TableData | PartsData, grown: GrownTree, within: IsWithin | None = None) -> Model:
    """Finish a grown tree and make it the fit of the model, which is returned.

    An earlier fit is replaced as a whole, in one step at the end, or not at all. `within` is a goal that the tree is
    to keep to.
    """
    judgement = None
    if model.earlier is not None:
        judgement = judge(data, grown, model.tradeoff, log_of(model), within)
        grown = judgement.tree
    if model.prices_more_rules:
        grown = replace(grown, notes=(*grown.notes, *more_rules_notes(data, grown, model.tradeoff)))
    fit = finish(data, grown, model.tradeoff)
    if judgement is not None:
        data, fit = go_on(data, fit, judgement)
    log_note = log_of(model, is_note=True)
    for note in fit.rules.statistics.notes:
        log_note(note)
    for message, category in fit.warnings:
        warnings.warn(message, category, stacklevel=3)
    kept = {name: value for name, value in vars(model).items() if name not in NOT_OF_ALL_TABLES}
    model.__dict__ = {**kept, **_attributes(data, fit)}
    return model


def _attributes(data: TableData | PartsData, fit: Fit) -> dict[str, Any]:
    """Return all attributes that a fit sets."""
    reference, statistics = data.reference, fit.rules.statistics
    classes = np.array(reference.classes, dtype=label_type(reference.classes))
    attributes = {
        "encoder_": fit.encoder,
        "scaler_": fit.encoder.scaler,
        "category_weight_": fit.encoder.category_weight,
        "tree_": fit.tree,
        "classes_": classes,
        "rules_": fit.rules,
        "n_leaves_": fit.tree.n_leaves,
        "wad_": statistics.wad,
        "waes_": statistics.waes,
        "inertia_": statistics.cost,
        "normalized_cost_": normalized_cost(statistics.cost, statistics.reference_cost),
        "cluster_centers_": fit.cluster_centers[:, [column.kind != "code" for column in fit.encoder.columns]],
        "reference_centers_": reference.centers,
        "reference_inertia_": statistics.reference_cost,
        "_cluster_columns": data.cluster_columns,
        "_clustered_centers": fit.clustered_centers,
    }
    if isinstance(data, PartsData):
        names = data.rows.roles.columns
        own = {"n_features_in_": len(names), "feature_names_in_": np.array(names, dtype=object), "clusterer_": None}
        return attributes | own
    attributes |= {
        "n_features_in_": len(data.given.table.columns),
        "clusterer_": data.clusterer,
        "labels_": classes[fit.labels],
        "reference_labels_": np.append(classes, classes.dtype.type(NO_CLUSTER))[reference.labels],
    }
    if data.given.feature_names is not None:
        attributes["feature_names_in_"] = data.given.feature_names
    return attributes
