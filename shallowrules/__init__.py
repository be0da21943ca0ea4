"""Explain a clustering by a shallow decision tree; write its rules as SQL, Python and Markdown.

>>> from shallowrules import ExplainableKMeans, export
>>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit([[1.0], [2.0], [11.0], [12.0], [31.0]])
>>> print(export(model.rules_, "sql", style="case", dialect="postgres"))  # doctest: +SKIP

Importing the package imports none of its parts: each name is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallowrules.exporters import check_exporter as check_exporter
    from shallowrules.exporters import export as export
    from shallowrules.exporters import exporter_names as exporter_names
    from shallowrules.fitting.describing import rules_of_tree as rules_of_tree
    from shallowrules.models.choosing import ClusterCounts as ClusterCounts
    from shallowrules.models.choosing import compare_cluster_counts as compare_cluster_counts
    from shallowrules.models.estimator import ExplainableKMeans as ExplainableKMeans
    from shallowrules.models.pricing import RuleEdit as RuleEdit
    from shallowrules.models.pricing import edit_rules as edit_rules
    from shallowrules.models.tradeoff import TradeoffPath as TradeoffPath
    from shallowrules.models.tradeoff import fit_to_goal as fit_to_goal
    from shallowrules.models.tradeoff import tradeoff_path as tradeoff_path
    from shallowrules.rules import RuleSet as RuleSet
    from shallowrules.tables.table import Table as Table
    from shallowrules.trees.tree import Tree as Tree

    __version__: str

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

__all__ = ["__version__", *_HOMES]

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
