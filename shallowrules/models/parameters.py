"""The parameters of a model, checked: what a fit works with."""

from __future__ import annotations

import numpy as np
from joblib import cpu_count
from sklearn.base import BaseEstimator
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from shallowrules.errors import OptionError, OptionName
from shallowrules.fitting.data import FitParameters
from shallowrules.fitting.options import FIT_OPTIONS, GAIN, applied_options
from shallowrules.fitting.preparing import is_whole
from shallowrules.rules import RuleSet
from shallowrules.trees.thorough import Budget

__all__ = ["fit_parameters", "thread_count"]

MAX_THREADS = 64
"""The most threads that `n_jobs` may ask for, unless there are more cores."""


def fit_parameters(model: BaseEstimator) -> FitParameters:
    """Return the parameters of a model; OptionError for one that is not known or not allowed."""
    options = applied_options({name: getattr(model, name) for name in FIT_OPTIONS})
    Budget.of(model.budget)
    if model.transformer is not None:
        if not (model.scale is model.impute is model.missing is None):
            raise OptionError("transformer does what scale, impute and missing do: leave these at None")
        if not (model.cluster_columns is model.explain_columns is None):
            raise OptionError(
                "transformer chooses the columns, which are clustered and explained: leave cluster_columns and "
                "explain_columns at None, or put it in a Pipeline in front of the clusterer"
            )
    if isinstance(model.keep, str) or not all(isinstance(text, str) for text in model.keep):
        raise OptionError(
            OptionName("keep"), f" must be a list of conditions such as 'income <= 40', not {model.keep!r}"
        )
    if len(model.keep) and model.method == "exkmc":
        raise OptionError(OptionName("keep"), " does not apply to ", OptionName("method", "exkmc"))
    if model.earlier is not None and not isinstance(model.earlier, RuleSet):
        raise OptionError(OptionName("earlier"), f" must be a RuleSet, not {model.earlier!r}")
    if not isinstance(model.rescale, bool):
        raise OptionError(OptionName("rescale"), f" must be True or False, not {model.rescale!r}")
    GAIN.check("min_gain", model.min_gain)
    state = model.random_state
    is_seed = is_whole(state) and 0 <= state < 2**32
    if not (state is None or is_seed or isinstance(state, np.random.RandomState)):
        raise OptionError(
            OptionName("random_state"),
            f" must be None, a whole number from 0 to 2**32 - 1 or a RandomState, not {state!r}",
        )
    others = FitParameters.__dataclass_fields__.keys() - options.keys() - {"n_threads"}
    given = options | {name: getattr(model, name) for name in others}
    return FitParameters(**given, n_threads=thread_count(model.n_jobs))


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads for `n_jobs`, which `ExplainableKMeans` documents."""
    if n_jobs is None:
        # Asked of scikit-learn, so that growing gets as many as the k-means before it. It counts physical cores: two
        # threads of one core share the arithmetic and the cache that both kinds of work are made of.
        return int(_openmp_effective_n_threads())
    if not is_whole(n_jobs) or n_jobs == 0:
        raise OptionError(f"n_jobs must be None or a whole number that is not 0, not {n_jobs!r}")
    n_cores, wanted = int(cpu_count()), int(n_jobs)
    return max(1, n_cores + 1 + wanted) if wanted < 0 else min(wanted, max(n_cores, MAX_THREADS))
