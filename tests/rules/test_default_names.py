"""Names that the rules themselves give to clusters."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from rulesets import make_rules, rule_sets
from sklearn.datasets import load_iris

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError
from shallowrules.rules import RuleSet
from shallowrules.rules.conditions import both, is_empty
from shallowrules.rules.words.default_names import _tell_apart, default_names


def names_of(rules: RuleSet) -> dict[int, str]:
    """Return the default names of any rules, as `fit` gives them."""
    bare = [replace(cluster, name=str(cluster.index)) for cluster in rules.clusters]
    ordered = sorted(rules.rules, key=lambda rule: (-rule.weight, rule.leaf))
    return default_names(rules.nodes, ordered, bare)


@given(rule_sets())
def test_every_name_is_short_different_and_can_be_shown(rules: RuleSet) -> None:
    found = names_of(rules)
    assert len(set(found.values())) == len(found)
    assert not set(found.values()) & {str(cluster.index) for cluster in rules.clusters}
    for name in found.values():
        assert name.strip() == name != ""
        assert name.isprintable()
        assert len(name) < 400
    named = rules.with_names(found)
    assert RuleSet.from_dict(named.to_dict()) == named
    assert names_of(named) == found


def telco() -> pd.DataFrame:
    """Return a table of services, charges, and a flag of 0 and 1."""
    rng = np.random.default_rng(0)
    service = rng.choice(["Fiber optic", "DSL", "No"], 900)
    charges = np.where(service == "Fiber optic", rng.choice([900.0, 5200.0], 900), 500) + rng.normal(0, 90, 900)
    return pd.DataFrame({"InternetService": service, "TotalCharges": charges, "senior": rng.integers(0, 2, 900)})


def test_conditions_in_words() -> None:
    table = telco().drop(columns="senior")
    rules = ExplainableKMeans(4, scale="minmax", random_state=0).fit(table).rules_
    assert {cluster.name for cluster in rules.clusters} == {
        "Fiber optic, low TotalCharges",
        "Fiber optic, high TotalCharges",
        "DSL",
        "InternetService No",
    }
    assert all(cluster.named_by_rules and not cluster.is_named for cluster in rules.clusters)
    assert "Fiber optic, low TotalCharges" in str(rules)


def test_flags_bands_and_truth_values() -> None:
    rng = np.random.default_rng(1)
    age = np.repeat([10, 30, 50, 70], 100) + rng.integers(-3, 4, 400)
    table = pd.DataFrame({"age": age, "senior": (age > 60).astype(int), "member": age < 20})
    by_age = ExplainableKMeans(4, random_state=0, cluster_columns=["age"]).fit(table).rules_
    assert {cluster.name for cluster in by_age.clusters} == {
        "low age",
        "high age",
        *(cluster.name for cluster in by_age.clusters if " to " in cluster.name),
    }
    assert sum(" to " in cluster.name for cluster in by_age.clusters) == 2
    three = ExplainableKMeans(3, random_state=0, cluster_columns=["age"]).fit(table[table["age"] < 60]).rules_
    assert {cluster.name for cluster in three.clusters} == {"low age", "medium age", "high age"}
    for column, wanted in (("senior", {"senior", "no senior"}), ("member", {"member", "no member"})):
        model = ExplainableKMeans(2, random_state=0, cluster_columns=[column], scale="minmax").fit(table)
        assert {cluster.name for cluster in model.rules_.clusters} == wanted


NUMBERS = [("x", "float"), ("y", "float"), ("kind", "text")]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ((0, 5, (1, 3, 0, 1), 0), {0: "low y or high x", 1: "low x, high y"}),
        ((0, 5, (1, 3, 0, 1), (1, 3, 0, 2)), {0: "low y", 1: "low x, high y", 2: "high x, high y"}),
        ((2, "Bonn", 0, (2, "Kiel", 0, 1)), {0: "Bonn or Kiel", 1: "one more"}),
        (
            (0, 5, (1, 3, 0, (2, "Bonn", 0, 1)), (1, 4, 0, 1)),
            {0: "y <= 3; or 2 other rules", 1: "high x, y > 4; or low x, y > 3, one more"},
        ),
    ],
)
def test_a_cluster_of_several_rules_has_a_name_that_is_true_of_all_of_them(tree, expected) -> None:
    assert names_of(make_rules(NUMBERS, tree)) == expected


def test_low_means_one_threshold_or_the_threshold_is_said() -> None:
    rules = make_rules(NUMBERS, (2, "Bonn", (0, 60.4, 0, 1), (0, 30, 2, (0, 60.4, 3, 4))))
    assert names_of(rules) == {
        0: "Bonn, x <= 60.4",
        1: "Bonn, x > 60.4",
        2: "one more, x <= 30",
        3: "one more, x 30 to 60.4",
        4: "one more, x > 60.4",
    }
    assert names_of(make_rules(NUMBERS, (0, 30, 0, (0, 60, 1, 2)))) == {0: "low x", 1: "medium x", 2: "high x"}
    overlapping = make_rules(NUMBERS, (2, "Bonn", (0, 60, 0, (1, 1, 1, 2)), (1, 5, 3, (0, 30, 3, 4))))
    assert names_of(overlapping)[0] == "Bonn, x <= 60"


def test_equal_rules_have_equal_names_whatever_the_order_of_rows_and_parts(tmp_path) -> None:
    table = telco()
    model = ExplainableKMeans(5, scale="minmax", random_state=0).fit(table)
    again = ExplainableKMeans(clusterer=model.reference_centers_, scale="minmax").fit(table.iloc[::-1])
    parts = ExplainableKMeans(clusterer=model.reference_centers_, scale="minmax")
    table.to_parquet(tmp_path / "table.parquet")
    parts.fit_partitions(tmp_path / "table.parquet")
    assert [c.name for c in parts.rules_.clusters] == [c.name for c in again.rules_.clusters]


def test_given_labels_keep_their_names_and_one_cluster_its_number() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    rules = ExplainableKMeans(clusterer=y).fit(X).rules_
    assert [cluster.name for cluster in rules.clusters] == ["0", "1", "2"]
    [cluster] = ExplainableKMeans(1).fit(X).rules_.clusters
    assert (cluster.name, cluster.named_by_rules) == ("0", False)


def test_a_person_may_take_any_name_and_default_ones_give_way() -> None:
    X = load_iris(as_frame=True).data
    rules = ExplainableKMeans(3, random_state=0).fit(X).rules_
    taken = rules.clusters[1].name
    named = rules.with_names({0: taken})
    assert named.clusters[0].name == taken
    assert named.clusters[0].is_named
    assert named.clusters[1].name == f"{taken} (1)"
    assert named.clusters[1].named_by_rules
    with pytest.raises(DataError, match="would both be called"):
        rules.with_names({0: "a", 1: "a"})


@given(rule_sets(max_depth=4))
def test_what_is_common_to_several_rules_tells_them_from_all_others(rules):
    """The rules of any two clusters in one: its name holds for no row of the others, or it names both."""
    for first, second in combinations([cluster.index for cluster in rules.clusters], 2):
        merged = [replace(rule, cluster=first) if rule.cluster == second else rule for rule in rules]
        parts = _tell_apart(rules.nodes, merged)[first]
        if len(parts) > 1:
            continue
        for rule in merged:
            if rule.cluster != first:
                own = {condition.feature: condition for condition in rule.conditions}
                assert any(c.feature in own and is_empty(both(c, own[c.feature])) for c in parts[0])
