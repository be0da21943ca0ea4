"""Models and rules that are pickled, stored by joblib or skops, and those that an earlier version stored."""

from __future__ import annotations

import json
import pickle
import runpy
from importlib.util import find_spec

import joblib
import numpy as np
import pytest
from conftest import ROOT

from shallowrules import ExplainableKMeans, RuleSet, __version__
from shallowrules.errors import RulesFormatError
from shallowrules.rules.documents import pickled

FOLDER = ROOT / "tests" / "pickles"
STORED = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*") if path.suffix != ".json")
MAKE = runpy.run_path(str(FOLDER / "make.py"))


@pytest.fixture
def frame():
    """Return the table that the stored models were fitted on."""
    return MAKE["frame"]()


@pytest.mark.parametrize("name", STORED)
# The stored scalers and clusterers are those of another version of scikit-learn one day.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_what_an_earlier_version_stored_is_read(name, frame):
    path = FOLDER / name
    stored = joblib.load(path) if path.suffix == ".joblib" else pickle.loads(path.read_bytes())
    labels = json.loads(path.with_name("labels.json").read_text())[path.stem]
    X = frame[MAKE["columns"](path.stem)]
    rules = stored if isinstance(stored, RuleSet) else stored.rules_
    np.testing.assert_array_equal(rules.assign(X), labels)
    assert RuleSet.from_json(rules.to_json()) == rules
    assert len(rules.explain(X)) == len(X)
    if stored is not rules:
        np.testing.assert_array_equal(stored.predict(X), labels)
        assert np.isfinite(stored.transform(X)).all()
        assert stored.category_weight_ == stored.encoder_.category_weight
        assert stored.noise == "drop"
        assert repr(stored).startswith("ExplainableKMeans(")
        np.testing.assert_array_equal(stored.fit(X).labels_, stored.predict(X))


def test_there_are_stored_ones_of_each_kind():
    assert len(STORED) >= 10


@pytest.mark.parametrize("name", ["own", "clusterer", "categories"])
def test_a_pickle_gives_the_same_model(name, frame):
    X = frame[MAKE["columns"](name)]
    model = MAKE["models"]()[name].fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    assert again.rules_ == model.rules_
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_a_model_that_is_not_fitted_is_pickled():
    again = pickle.loads(pickle.dumps(ExplainableKMeans(5, noise="cluster")))
    assert again.get_params() == ExplainableKMeans(5, noise="cluster").get_params()


@pytest.mark.parametrize("of_rules", [False, True], ids=["model", "rules"])
@pytest.mark.parametrize("library", [pickle, joblib], ids=lambda library: library.__name__)
def test_a_pickle_of_a_later_format_is_refused(of_rules, library, frame, tmp_path, monkeypatch, words):
    model = MAKE["models"]()["categories"].fit(frame)
    path = tmp_path / "stored"
    with monkeypatch.context() as later, path.open("wb") as stream:
        later.setattr(pickled, "FORMAT", pickled.FORMAT + 1)
        later.setattr(pickled, "version", lambda name: "9.1.0")
        library.dump(model.rules_ if of_rules else model, stream)
    with path.open("rb") as stream, pytest.raises(RulesFormatError, match=r"9\.1\.0.*rules\.json") as refused:
        library.load(stream)
    assert __version__ in str(refused.value)
    words(str(refused.value).replace(__version__, "VERSION"))


@pytest.mark.parametrize("lost", ["encoder_", "rules_", "_clustered_centers"])
def test_a_pickle_that_lacks_a_part_is_refused(lost, frame):
    state = MAKE["models"]()["categories"].fit(frame).__getstate__()
    del state[lost]
    model = ExplainableKMeans(7)
    with pytest.raises(RulesFormatError, match="this pickle, of format 2, cannot be read: fit again"):
        model.__setstate__(state)
    assert vars(model) == vars(ExplainableKMeans(7))


def test_rules_of_the_first_format_that_lack_a_part_are_refused(frame):
    rules = MAKE["models"]()["own"].fit(frame[["months", "amount"]]).rules_
    state = {name: value for name, value in vars(rules).items() if name != "clusters"}
    with pytest.raises(RulesFormatError, match=r"of format 1, cannot be read|written by shallowrules 0\.1\.0, and"):
        RuleSet.__new__(RuleSet).__setstate__(state)


@pytest.mark.parametrize("kind", [ExplainableKMeans, RuleSet], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "state",
    [
        {},
        None,
        {pickled.STAMP: (2, __version__)},
        {pickled.STAMP: None, "document": "{}", "tree_": None},
        {pickled.STAMP: (2, __version__, 0), "document": "{}", "tree_": None},
        {pickled.STAMP: (2, __version__), "document": "{", "tree_": None},
    ],
    ids=str,
)
def test_a_damaged_pickle_is_refused(kind, state):
    with pytest.raises(RulesFormatError, match=r"^this pickle.* cannot (be read|read it): fit again.*rules\.json"):
        kind.__new__(kind).__setstate__(state)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("skops") is None, reason="skops is not installed: pip install 'shallowrules[engines]'")
@pytest.mark.parametrize("name", ["own", "clusterer", "categories"])
def test_skops_stores_a_model_with_the_types_that_the_page_names(name, frame):
    import skops.io

    X = frame[MAKE["columns"](name)]
    model = MAKE["models"]()[name].fit(X)
    page = (ROOT / "docs" / "registry.md").read_text(encoding="utf-8")
    stored = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=stored)
    assert types == [
        "shallowrules.encoding.encoder.Encoder",
        "shallowrules.encoding.encoder.ModelColumn",
        "shallowrules.models.estimator.ExplainableKMeans",
        "shallowrules.rules.model.RuleSet",
        "shallowrules.trees.tree.Tree",
    ]
    assert all(f'"{kind}"' in page for kind in types)
    again = skops.io.loads(stored, trusted=types)
    assert again.rules_ == model.rules_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
