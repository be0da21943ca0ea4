"""Documents of format ``shallowrules/1``, in which an operator said what a node does.

Everything else is as in version 2. A node was ``{"column", "operator", "value", "left", "right"}``: ``<=`` a number,
``=`` a category, or ``in`` a list of categories, which were the first of an order; or it was a leaf.
"""

from __future__ import annotations

from typing import Any

from shallowrules.errors import RulesFormatError

__all__ = ["FORMAT", "upgrade"]

FORMAT = "shallowrules/1"

SPLIT = ("column", "operator", "value", "left", "right")


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 with its nodes as version 2 has them.

    Raises
    ------
    RulesFormatError
        If a node is not one of version 1.
    """
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        return document
    return {**document, "nodes": [_upgrade_node(node, f"nodes[{i}]") for i, node in enumerate(nodes)]}


def _upgrade_node(node: Any, where: str) -> Any:
    if not isinstance(node, dict):
        return node
    if "cluster" in node:
        return {**node, "kind": "leaf"}
    lacking = [name for name in SPLIT if name not in node]
    if lacking:
        raise RulesFormatError(f"{where} lacks {', '.join(lacking)}")
    rest = {name: node[name] for name in ("column", "left", "right")}
    value = node["value"]
    match node["operator"]:
        case "<=":
            return {**rest, "kind": "cut", "threshold": value}
        case "=":
            return {**rest, "kind": "membership", "values": [value]}
        case "in":
            return {**rest, "kind": "membership", "values": value, "ordered": True}
    raise RulesFormatError(f"{where}.operator is {node['operator']!r}, not one of the operators <=, = and in")
