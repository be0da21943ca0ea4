"""Explain a clustering by a shallow decision tree; write its rules as SQL, Python and Markdown.

>>> from shallowrules import ExplainableKMeans, export
>>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit([[1.0], [2.0], [11.0], [12.0], [31.0]])
>>> print(export(model.rules_, "sql", style="case", dialect="postgres"))  # doctest: +SKIP

Importing the package imports none of its parts: each name is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallowrules.exporters import check_exporter, export, exporter_names
    from shallowrules.fitting.describing import rules_of_tree
    from shallowrules.models.choosing import ClusterCounts, compare_cluster_counts
    from shallowrules.models.estimator import ExplainableKMeans
    from shallowrules.models.pricing import RuleEdit, edit_rules
    from shallowrules.models.tradeoff import TradeoffPath, fit_to_goal, tradeoff_path
    from shallowrules.rules import RuleSet
    from shallowrules.tables.table import Table
    from shallowrules.trees.tree import Tree

    __version__: str

__all__ = [
    "ClusterCounts",
    "ExplainableKMeans",
    "RuleEdit",
    "RuleSet",
    "Table",
    "TradeoffPath",
    "Tree",
    "__version__",
    "check_exporter",
    "compare_cluster_counts",
    "edit_rules",
    "export",
    "exporter_names",
    "fit_to_goal",
    "rules_of_tree",
    "tradeoff_path",
]

_HOMES = {
    "ClusterCounts": "models.choosing",
    "ExplainableKMeans": "models.estimator",
    "RuleEdit": "models.pricing",
    "RuleSet": "rules",
    "Table": "tables.table",
    "TradeoffPath": "models.tradeoff",
    "Tree": "trees.tree",
    "check_exporter": "exporters",
    "compare_cluster_counts": "models.choosing",
    "edit_rules": "models.pricing",
    "export": "exporters",
    "exporter_names": "exporters",
    "fit_to_goal": "models.tradeoff",
    "rules_of_tree": "fitting.describing",
    "tradeoff_path": "models.tradeoff",
}
"""The module of each public name."""

if not TYPE_CHECKING:  # a type checker reads the imports above, and reports a name that is not among them

    def __getattr__(name: str) -> object:
        """Load a public name on first use."""
        if name == "__version__":
            from importlib.metadata import version

            value = version("shallowrules")
        elif name in _HOMES:
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
