"""The way of a table through one fit: prepare, grow, finish. Plain functions on plain data.

`prepare` decides how a table is clustered and clusters it, `grow` grows trees that follow the clustering, and
`finish` makes one of them a `Fit`: thresholds, labels, rules, figures. `Measuring` measures rules that were not grown
from the table. `shallowrules.estimator`, `shallowrules.tradeoff` and `shallowrules.pricing` call these.
"""

from shallowrules.pipeline.data import FitData, FitParameters, GivenTable
from shallowrules.pipeline.finishing import Fit, finish
from shallowrules.pipeline.given_rules import Measuring
from shallowrules.pipeline.growing import grow
from shallowrules.pipeline.preparing import choose_columns, is_whole, prepare, to_clustered_space

__all__ = [
    "Fit",
    "FitData",
    "FitParameters",
    "GivenTable",
    "Measuring",
    "choose_columns",
    "finish",
    "grow",
    "is_whole",
    "prepare",
    "to_clustered_space",
]
