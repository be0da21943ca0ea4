"""Options of a fit: declared once, seen alike by the estimator, its documentation, the command line and settings."""

from __future__ import annotations

import inspect
import json
import re

import pytest
from commandline import call
from sklearn.datasets import load_iris

from shallowrules import ExplainableKMeans
from shallowrules.cli.options.fitting import fit_options, method_options
from shallowrules.encoding.scaling import SCALES
from shallowrules.encoding.weighing import AUTO, CATEGORY_WEIGHT
from shallowrules.fitting.options import FIT_OPTIONS, Choice

X = load_iris(as_frame=True).data

# An option beside the one that it is not for.
IDLE = [
    ({"method": "imm"}, {"refine": "thorough"}),
    ({"method": "exgreedy"}, {"tradeoff": 0.5}),
    ({"method": "imm"}, {"base": "imm"}),
    ({"method": "exgreedy"}, {"max_leaves": 9}),
    ({"refine": "full"}, {"budget": 7}),
]
EACH_IDLE = pytest.mark.parametrize(("beside", "idle"), IDLE, ids=str)


def typed(options):
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.to_csv("t.csv", index=False)
    return tmp_path


def test_signature_and_documentation_of_the_estimator_are_as_declared():
    signature = inspect.signature(ExplainableKMeans).parameters
    documentation = inspect.getdoc(ExplainableKMeans)
    for name, option in FIT_OPTIONS.items():
        assert signature[name].default == option.default
        [documented] = re.findall(rf"^{name} : (.*)$", documentation, re.MULTILINE)
        if isinstance(option.kind, Choice):
            assert set(re.findall(r'"(\w+)"', documented.split("}")[0])) == set(option.kind.values)


def test_the_command_line_has_each():
    def command():
        pass

    options = {option.name: option for option in fit_options(method_options(command)).__click_params__}
    assert FIT_OPTIONS.keys() - options.keys() == {"n_clusters"}  # it is -k there
    for name, option in FIT_OPTIONS.items():
        if isinstance(option.kind, Choice):
            assert set(options[name].type.choices) - {"none", "auto"} == set(option.kind.values) - {"none"}


def test_scales_and_weights_are_those_that_there_are():
    assert {None, *FIT_OPTIONS["scale"].kind.values} == set(SCALES)
    weight = FIT_OPTIONS["category_weight"]
    assert (weight.default, weight.kind.word) == (CATEGORY_WEIGHT, AUTO)


@EACH_IDLE
def test_the_command_line_refuses_what_does_not_apply(beside, idle, table):
    done = call("fit", "t.csv", "-k", 3, *typed(beside | idle))
    assert done.exit_code == 2
    assert " ".join(typed(idle)[:1]) in done.stderr
    assert " ".join(typed(beside)) in done.stderr


@EACH_IDLE
def test_settings_with_what_does_not_apply_are_refused(beside, idle, table):
    options = {"clusters": 3} | beside | {name: str(v) if name == "budget" else v for name, v in idle.items()}
    settings = {"format": "shallowrules-settings/1", "options": options, "write": ["markdown"]}
    (table / "s.json").write_text(json.dumps(settings))
    done = call("fit", "t.csv", "--settings", "s.json")
    assert done.exit_code == 2
    assert typed(idle)[0] in done.stderr


@EACH_IDLE
def test_the_estimator_ignores_what_does_not_apply(beside, idle):
    without, with_idle = (ExplainableKMeans(3, random_state=0, **given).fit(X) for given in (beside, beside | idle))
    assert with_idle.rules_ == without.rules_


@pytest.mark.parametrize("method", ["imm", "exgreedy", "exkmc"])
def test_no_refinement_goes_with_every_method(method, table):
    assert call("fit", "t.csv", "-k", 3, "--method", method, "--refine", "none").exit_code == 0
