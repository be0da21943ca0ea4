"""A fit that is watched: stages and notes in the log, bars in a notebook, and progress."""

from __future__ import annotations

import logging
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from shallowrules import ExplainableKMeans, tradeoff_path


def test_verbose_reports_the_stages(six_groups, capsys):
    ExplainableKMeans(3, random_state=0, verbose=1).fit(six_groups)
    assert "growing" in capsys.readouterr().out


def test_stages_and_notes_are_logged_whatever_verbose_says(caplog, capsys):
    X = make_blobs(600, 4, centers=6, random_state=0)[0]
    with caplog.at_level(logging.INFO, logger="shallowrules"):
        models = [ExplainableKMeans(3, round_within=0.01, random_state=0, verbose=verbose).fit(X) for verbose in (0, 1)]
    assert capsys.readouterr().out == ""  # logging shows it
    assert {(record.name, record.levelname) for record in caplog.records} == {("shallowrules", "INFO")}
    lines = [record.getMessage() for record in caplog.records]
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert "growing a tree for 3 clusters" in lines
    assert models[0].rules_.statistics.notes
    assert all(lines.count(note) == 2 for note in models[0].rules_.statistics.notes)


def test_what_logging_would_not_show_is_printed(six_groups, caplog, capsys, monkeypatch):
    logger = logging.getLogger("shallowrules")
    with caplog.at_level(logging.WARNING):
        ExplainableKMeans(3, random_state=0, verbose=1).fit(six_groups)
    assert "[ExplainableKMeans] growing a tree for 3 clusters" in capsys.readouterr().out
    with caplog.at_level(logging.WARNING):
        type("Segments", (ExplainableKMeans,), {})(3, random_state=0, verbose=1).fit(six_groups)
    assert "[Segments] growing a tree for 3 clusters" in capsys.readouterr().out
    assert not caplog.records
    with caplog.at_level(logging.INFO, logger="shallowrules"), monkeypatch.context() as patch:
        patch.setattr(logger, "propagate", False)  # nothing handles it
        ExplainableKMeans(3, random_state=0, verbose=1).fit(six_groups)
        assert "growing a tree for 3 clusters" in capsys.readouterr().out
        ExplainableKMeans(3, random_state=0).fit(six_groups)
    assert capsys.readouterr() == ("", "")
    assert not logger.handlers
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_a_notebook_shows_a_bar_if_verbose(verbose, six_groups, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    shell = SimpleNamespace(kernel=object(), config={})  # tqdm asks for its config, and takes it for a terminal
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    model = ExplainableKMeans(3, random_state=0, verbose=verbose).fit(six_groups)
    assert ("growing: 100%|" in capsys.readouterr().err) == bool(verbose)
    shares = []
    model.on_progress = shares.append  # in place of the bar
    model.fit(six_groups)
    assert shares[-1] == 1.0
    assert capsys.readouterr().err == ""


def test_outside_a_notebook_there_is_no_bar(six_groups, capsys, monkeypatch):
    for shell in (None, SimpleNamespace()):  # no IPython, and IPython in a terminal
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        ExplainableKMeans(3, random_state=0, verbose=2).fit(six_groups)
    assert capsys.readouterr().err == ""


def test_fit_does_not_warn(six_groups):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ExplainableKMeans(6, random_state=0).fit(pd.DataFrame(six_groups, columns=list("abcd")))


def test_progress_can_be_watched(capsys):
    X = np.random.default_rng(0).normal(size=(100_000, 10))
    model = ExplainableKMeans(clusterer=X[:12].copy(), verbose=2)
    shares = []
    model.on_progress = shares.append
    model.fit(X)
    assert len(shares) > 1
    assert all(0 < share <= 1 + 1e-9 for share in shares)
    assert shares[-1] == 1.0
    assert "growing a tree for 12 clusters" in capsys.readouterr().out
    assert clone(model).on_progress is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [{}, {"method": "imm"}, {"method": "exkmc"}, {"method": "exkmc", "max_leaves": 3}]
)
def test_progress_is_a_share_where_there_is_one_cluster(parameters):
    # So large that growing polls; of few values, or planning cuts takes seconds.
    X = np.random.default_rng(0).normal(size=(100_000, 50)).round(1)
    model = ExplainableKMeans(clusterer=X[:1].copy(), n_jobs=1, **parameters)
    shares = []
    model.on_progress = shares.append
    model.fit(X)
    assert shares == [1.0]
    if "method" not in parameters:
        tradeoff_path(model, X, tradeoffs=[0.0, 0.1])
        assert shares == [1.0, 1.0]


@pytest.mark.parametrize("method", ["exshallow", "exgreedy", "imm", "exkmc"])
def test_progress_ends_with_1_even_for_the_smallest_table(method, six_groups):
    model = ExplainableKMeans(6, method=method, random_state=0)
    shares = []
    model.on_progress = shares.append
    for _ in range(2):
        model.fit(six_groups)
        assert shares.pop() == 1.0
