"""The way of a table through one fit: prepare, grow, finish. Plain functions on plain data.

`prepare` decides how a table is clustered and clusters it, `grow` grows trees that follow the clustering, and
`finish` makes one of them a `Fit`: thresholds, labels, rules, figures. `Measuring` measures rules that were not grown
from the table. `parts` does the same for a table in parts. `shallowrules.models` calls these.
"""

from shallowrules.fitting.data import FitData, FitParameters, GivenTable
from shallowrules.fitting.finishing import Fit, finish
from shallowrules.fitting.given_rules import Measuring
from shallowrules.fitting.growing import grow
from shallowrules.fitting.preparing import choose_columns, is_whole, prepare, to_clustered_space

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
