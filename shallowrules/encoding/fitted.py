"""Whether an estimator of scikit-learn is fitted, and a clone of it that can be fitted without a target."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from shallowrules.errors import OptionError

__all__ = ["is_fitted", "unfitted"]


def is_fitted(estimator: Any) -> bool:
    """Return whether every part of an estimator that needs a fit has one.

    scikit-learn checks only the last step of a Pipeline, and a step that never needs a fit counts as fitted there.

    Raises
    ------
    TypeError
        If it is not an estimator.
    OptionError
        If it is a class.
    """
    if isinstance(estimator, FrozenEstimator):
        return is_fitted(estimator.estimator)
    if isinstance(estimator, Pipeline | FeatureUnion):
        parts = estimator.steps if isinstance(estimator, Pipeline) else estimator.transformer_list
        return all(is_fitted(step) for _, step in parts if step is not None and not isinstance(step, str))
    if isinstance(estimator, type):
        raise OptionError(f"{estimator.__name__} is a class: give an object of it, {estimator.__name__}(...)")
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def unfitted(estimator: Any) -> Any:
    """Return a clone; OptionError if the estimator, or a part of it, learns from a target.

    NotFittedError for a FrozenEstimator, which has to be fitted already.
    """
    if isinstance(estimator, FrozenEstimator):
        raise NotFittedError(
            f"the {type(estimator.estimator).__name__} in a FrozenEstimator is not fitted: fit it first, or give it "
            "without FrozenEstimator"
        )
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if hasattr(part, "__sklearn_tags__") and not isinstance(part, type) and get_tags(part).target_tags.required:
            raise OptionError(
                f"{type(part).__name__} learns from a target y, and a clustering has none: leave it out, or pass "
                "it already fitted"
            )
    return clone(estimator)
