"""The emitted Python functions, side by side with those of others for the same tree, in one process.

    python benchmarks/functions.py            # make_blobs, 1,000,000 x 10, std 5, k = 3, 10 and 50
    python benchmarks/functions.py --quick    # tiny tables: shows that it runs, and nothing else

The tree is taken as a scikit-learn classifier, node by node. ``assign_cluster`` labels dicts of floats; m2cgen's
function of the classifier gets a list made from the same dict, which is timed, and gives scores, whose maximum is not
taken here. ``assign_clusters`` labels the columns; ``predict`` gets the array in its preferred form, single precision.
Ratios are of CPU time, the lowest of several alternating rounds; below 1, the emitted code is faster. In C, Go and Java
the functions of a row are measured in one program each (`compiled.py`), beside m2cgen's of the tree as a regressor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import m2cgen
import numpy as np
from compiled import compare_compiled, compiled_languages
from measuring import Target, log
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree as FittedTree

from shallowrules import ExplainableKMeans, export
from shallowrules.rules import Cut, Leaf, RuleSet

ROWS, COLUMNS, CLUSTERS = 1_000_000, 10, (3, 10, 50)
QUICK_ROWS = 2_000
DICTS = 100_000
ROUNDS = 5
LIMIT = Target("≤", 1.0)
COMPILED_LIMIT = Target("≤", 1.2)


def as_classifier(rules: RuleSet, n_features: int) -> DecisionTreeClassifier:
    """Return the tree of rules over numbers as a fitted classifier: the same nodes, thresholds and clusters."""
    labels = [cluster.index for cluster in rules.clusters]
    classifier = DecisionTreeClassifier().fit(np.zeros((2 * len(labels), n_features)), labels * 2)
    tree = FittedTree(n_features, np.array([len(labels)], dtype=np.intp), 1)
    nodes = np.zeros(len(rules.nodes), dtype=tree.__getstate__()["nodes"].dtype)
    values = np.zeros((len(nodes), 1, len(labels)))
    for place, node in enumerate(rules.nodes):
        if isinstance(node, Leaf):
            nodes[place]["left_child"] = nodes[place]["right_child"] = -1
            nodes[place]["feature"], nodes[place]["threshold"] = -2, -2.0
            values[place, 0, labels.index(node.cluster)] = 1.0
        else:
            assert isinstance(node, Cut)
            nodes[place]["left_child"], nodes[place]["right_child"] = node.left, node.right
            nodes[place]["feature"], nodes[place]["threshold"] = node.column, node.threshold
        nodes[place]["n_node_samples"] = nodes[place]["weighted_n_node_samples"] = 1
    depth = max(rule.depth for rule in rules)
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    classifier.tree_ = tree
    return classifier


def as_regressor(rules: RuleSet, n_features: int) -> DecisionTreeRegressor:
    """Return the same tree as a regressor, which gives the number of the cluster."""
    classifier, labels = as_classifier(rules, n_features), np.array([cluster.index for cluster in rules.clusters])
    state = classifier.tree_.__getstate__()
    tree = FittedTree(n_features, np.array([1], dtype=np.intp), 1)
    state["values"] = labels[state["values"].argmax(axis=2)].astype(np.float64)[:, :, np.newaxis]
    tree.__setstate__(state)
    regressor = DecisionTreeRegressor().fit(np.zeros((2, n_features)), [0, 1])
    regressor.tree_ = tree
    return regressor


def module_of(text: str) -> dict[str, Any]:
    """Return the names that a module defines."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "<module>", "exec"), namespace)
    return namespace


def least(rounds: int, *runs: Callable[[], Any]) -> list[float]:
    """Return the lowest CPU time of each, in alternating rounds."""
    found = [float("inf")] * len(runs)
    for _ in range(rounds):
        for place, run in enumerate(runs):
            start = time.process_time()
            run()
            found[place] = min(found[place], time.process_time() - start)
    return found


def compare_rows(rules: RuleSet, X: NDArray[np.float64], names: list[str]) -> dict[str, float]:
    """Return the time of each style divided by that of m2cgen's function, on dicts."""
    classifier = as_classifier(rules, X.shape[1])
    score = module_of(m2cgen.export_to_python(classifier))["score"]
    rows = [dict(zip(names, values, strict=True)) for values in X[:DICTS].tolist()]
    expected = rules.assign(dict(zip(names, X[:DICTS].T, strict=True))).tolist()
    assert np.array_equal(classifier.classes_[[int(np.argmax(score(list(row.values())))) for row in rows]], expected)

    def theirs() -> None:
        for row in rows:
            score([row[name] for name in names])

    runs: dict[str, Callable[[], None]] = {}
    for style in ("nested", "ordered", "flat"):
        assign = module_of(export(rules, "python", style=style))["assign_cluster"]
        assert [assign(row) for row in rows] == expected

        def ours(assign: Callable[[Any], Any] = assign) -> None:
            for row in rows:
                assign(row)

        runs[style] = ours
    *times, other = least(ROUNDS, *runs.values(), theirs)
    return {style: spent / other for style, spent in zip(runs, times, strict=True)}


def compare_columns(rules: RuleSet, X: NDArray[np.float64], names: list[str]) -> float:
    """Return the time of the function of columns divided by that of the classifier's predict, on all rows."""
    classifier = as_classifier(rules, X.shape[1])
    assign = module_of(export(rules, "python", vectorized=True))["assign_clusters"]
    columns = dict(zip(names, np.ascontiguousarray(X.T), strict=True))
    single = X.astype(np.float32)
    assert np.array_equal(assign(columns), rules.assign(columns))
    ours, theirs = least(ROUNDS, lambda: assign(columns), lambda: classifier.predict(single))
    return ours / theirs


def main(arguments: list[str] | None = None) -> int:
    """Print the ratios; return 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny tables")
    quick = parser.parse_args(arguments).quick
    met = True
    heads = "".join(f"{name:>8}" for name in compiled_languages())
    print(
        f"{'k':>4} {'depth':>6} {'nested':>8} {'ordered':>8} {'flat':>8}   by m2cgen    {'columns':>8}   by predict"
        f"{heads}{'   by m2cgen' if heads else ''}"
    )
    for k in CLUSTERS:
        log(f"k = {k}")
        X, _ = make_blobs(QUICK_ROWS if quick else ROWS, COLUMNS, centers=k, cluster_std=5.0, random_state=0)
        clusterer = KMeans(k, n_init=1, random_state=0).fit(X)
        rules = ExplainableKMeans(clusterer=clusterer).fit(X).rules_
        names = [column.name for column in rules.columns]
        by_row = compare_rows(rules, X, names)
        by_column = compare_columns(rules, X, names)
        compiled = compare_compiled(rules, as_regressor(rules, X.shape[1]), X[:DICTS], names)
        figures = " ".join(f"{by_row[style]:8.2f}" for style in ("nested", "ordered", "flat"))
        depth = max(rule.depth for rule in rules)
        others = "".join(f"{ratio:8.2f}" for ratio in compiled.values())
        print(f"{k:>4} {depth:>6} {figures}                {by_column:8.2f}             {others}")
        met &= all(COMPILED_LIMIT.verdict(ratio) == COMPILED_LIMIT.verdict(0.0) for ratio in compiled.values())
        met &= LIMIT.verdict(by_row["nested"]) == LIMIT.verdict(by_column) == LIMIT.verdict(0.0)
    print(f"asked for: nested and columns {LIMIT}, languages {COMPILED_LIMIT}")
    return 0 if quick or met else 1


if __name__ == "__main__":
    sys.exit(main())
