"""Rules as data: conditions, the tree in raw columns and units, its figures, matching, and the JSON document."""

from shallowrules.rules.columns import RuleColumn, format_value
from shallowrules.rules.conditions import Between, Condition, ConditionVisitor, NoneOf, OneOf
from shallowrules.rules.documents.path_document import PathTree, RulePath
from shallowrules.rules.earlier import Clustering, Flow
from shallowrules.rules.figures import Cluster, Statistics
from shallowrules.rules.model import RuleSet
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node, Rule
from shallowrules.rules.words.changes import ChangedRows, Changes, RuleChange, changes_between, match_clusters
from shallowrules.rules.words.contrasts import Contrast
from shallowrules.rules.words.explaining import Explanation, Move, Step
from shallowrules.rules.words.naming import ClusterNames, read_names
from shallowrules.tables.conversion import (
    DOUBLE_EXACT,
    FALSE_TEXTS,
    GRAMMAR,
    INT64,
    PLAIN,
    TRUE_TEXTS,
    Conversion,
    Number,
)
from shallowrules.tables.values import Value

__all__ = [
    "DOUBLE_EXACT",
    "FALSE_TEXTS",
    "GRAMMAR",
    "INT64",
    "PLAIN",
    "TRUE_TEXTS",
    "Between",
    "ChangedRows",
    "Changes",
    "Cluster",
    "ClusterNames",
    "Clustering",
    "Condition",
    "ConditionVisitor",
    "Contrast",
    "Conversion",
    "Cut",
    "Explanation",
    "Flow",
    "Leaf",
    "Membership",
    "Move",
    "Node",
    "NoneOf",
    "Number",
    "OneOf",
    "PathTree",
    "Rule",
    "RuleChange",
    "RuleColumn",
    "RulePath",
    "RuleSet",
    "Statistics",
    "Step",
    "Value",
    "changes_between",
    "format_value",
    "match_clusters",
    "read_names",
]
