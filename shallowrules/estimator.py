"""Where pickles made before the estimator moved to `shallowrules.models` look for it."""

from shallowrules.models.estimator import ExplainableKMeans

__all__ = ["ExplainableKMeans"]
