"""Explain a clustering by a shallow decision tree; write its rules as SQL, Python and Markdown.

>>> from shallowrules import ExplainableKMeans, export
>>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit([[1.0], [2.0], [11.0], [12.0], [31.0]])
>>> print(export(model.rules_, "sql", style="case", dialect="postgres"))  # doctest: +SKIP
"""

from importlib.metadata import version

from shallowrules.estimator import ExplainableKMeans
from shallowrules.exporters import check_exporter, export, exporter_names
from shallowrules.rules import RuleSet
from shallowrules.table import Table
from shallowrules.tradeoff import TradeoffPath, fit_to_goal, tradeoff_path
from shallowrules.tree import Tree

__all__ = [
    "ExplainableKMeans",
    "RuleSet",
    "Table",
    "TradeoffPath",
    "Tree",
    "__version__",
    "check_exporter",
    "export",
    "exporter_names",
    "fit_to_goal",
    "tradeoff_path",
]

__version__ = version("shallowrules")
