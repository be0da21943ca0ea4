"""The contract with other programs: the public names, their types, and the cost of importing them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shallowrules

ROOT = Path(__file__).resolve().parents[2]

PUBLIC = [
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

# Type-checked, never run: what a caller writes, and what mypy has to think of it.
USAGE = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from shallowrules import (
    ClusterCounts, ExplainableKMeans, RuleEdit, RuleSet, TradeoffPath, Tree, check_exporter, compare_cluster_counts,
    edit_rules, export, exporter_names, fit_to_goal, rules_of_tree, tradeoff_path
)
from sklearn.tree import DecisionTreeClassifier

X = np.zeros((10, 2))
model = ExplainableKMeans(3, method="exgreedy", tradeoff=0.1, scale="minmax", random_state=0, n_jobs=2)
assert_type(model.fit(X, sample_weight=np.ones(10)), ExplainableKMeans)
assert_type(model.rules_, RuleSet)
assert_type(model.tree_, Tree)
assert_type(model.n_leaves_, int)
cost: float = model.inertia_ + model.reference_inertia_ + model.normalized_cost_ + model.wad_ + model.waes_
labels: NDArray[np.int32] = model.rules_.assign(X)
assert_type(model.rules_.assign({"x0": 1.0, "x1": None}), int)
assert_type(model.rules_.assign({"x0": X[:, 0], "x1": X[:, 1]}), NDArray[Any])
assert_type(model.rules_.explain_row({"x0": 1.0, "x1": np.float32(2)}).to_dict(), dict[str, Any])
figure: float = model.rules_.summary()["cost"]
assert_type(model.transform(X), NDArray[np.float64])
assert_type(model.fit_transform(X, sample_weight=np.ones(10)), NDArray[np.float64])
assert_type(model.get_depth() + model.get_n_leaves() + model.n_iter_, int)
conditions = model.rules_.to_frame("polars")
for rule in model.rules_:
    print(rule, rule.cluster, rule.conditions)
text: str = model.rules_.to_json("rules.json")
rules: RuleSet = RuleSet.from_json("rules.json")
assert_type(export(rules, "sql", dialect="postgres", table="customers"), str)
names: list[str] = exporter_names()
check_exporter(object)
assert_type(fit_to_goal(model, X, max_cost=1.1, max_conditions=3), ExplainableKMeans)
path: TradeoffPath = tradeoff_path(model, X, tradeoffs=[0, 0.03])
assert_type(path.select(max_cost=1.1), ExplainableKMeans)
figures: dict[str, NDArray[np.float64]] = path.table()
counts: ClusterCounts = compare_cluster_counts(model, X, range(2, 5))
assert_type(counts.model, ExplainableKMeans)
edited: RuleEdit = edit_rules(rules, model, X, replacements=["x0: 1 -> 2"], merge=[(0, 1)])
assert_type(edited.after, RuleSet)
cart = Tree.from_sklearn(DecisionTreeClassifier().fit(X, labels))
assert_type(rules_of_tree(cart, X, reference=labels), RuleSet)
ExplainableKMeans(3, method="exkmc", max_leaves=9, base="imm")
"""


def test_the_public_names_are_these():
    assert sorted(shallowrules.__all__) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(shallowrules, name)] == []


def test_public_names_are_loaded_on_first_use():
    code = (
        "import sys, shallowrules\n"
        f"assert set({PUBLIC!r}) <= set(dir(shallowrules))\n"
        "assert not [name for name in sys.modules if name.startswith('shallowrules.')]\n"
        "assert not {'numpy', 'sklearn', 'scipy', 'jinja2'} & set(sys.modules)\n"
        "assert shallowrules.RuleSet is shallowrules.RuleSet is sys.modules['shallowrules.rules'].RuleSet\n"
        "assert not hasattr(shallowrules, 'Rules')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_version_is_that_of_the_metadata():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert shallowrules.__version__ == declared


@pytest.mark.builds
@pytest.mark.parametrize(
    ("added", "complaint"),
    [
        ("", None),
        ("export(3, 'sql')", 'No overload variant of "export" matches argument types "int", "str"'),
        ("ExplainableKMeans(3, 'exshallow')", "Too many positional arguments"),
        ("import shallowrules; shallowrules.Rules", 'Module has no attribute "Rules"'),
    ],
    ids=["as documented", "a wrong type", "an option by position", "a name that is not there"],
)
def test_usage_type_checks(tmp_path, added, complaint):
    sample = tmp_path / "usage.py"
    sample.write_text(USAGE + added)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", sample],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode == 0) == (complaint is None), checked.stdout + checked.stderr
    assert (complaint or "") in checked.stdout


@pytest.mark.builds
@pytest.mark.parametrize(
    ("added", "complaint"), [("", "0 errors"), ("export(3, 'sql')", "reportCallIssue")], ids=["as documented", "wrong"]
)
def test_usage_type_checks_in_pyright(tmp_path, added, complaint):
    pytest.importorskip("pyright")
    sample = tmp_path / "usage.py"
    sample.write_text(USAGE + added)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, sample]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert complaint in checked.stdout, checked.stdout + checked.stderr


# Makes what comes with an extra impossible to import, as where it is not installed.
WITHOUT_EXTRAS = """
import sys

EXTRAS = "click rich duckdb matplotlib sqlalchemy pandas polars pyarrow xlsxwriter".split()

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())

import shallowrules

model = shallowrules.ExplainableKMeans(2, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
assert model.predict([[0.5], [5.5]]).tolist() == model.labels_[[0, 2]].tolist()
assert all(shallowrules.export(model.rules_, name) for name in shallowrules.exporter_names() if name != "xlsx")
try:
    shallowrules.export(model.rules_, "xlsx")
except shallowrules.errors.MissingExtraError as error:
    assert "pip install 'shallowrules[xlsx]'" in str(error), error
else:
    raise AssertionError("the workbook was written without XlsxWriter")
"""


@pytest.mark.builds
def test_estimator_rules_and_exporters_work_without_extras():
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
