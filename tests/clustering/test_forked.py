"""A child that is forked after a fit with several threads continues with one, and finds the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.slow,
]

PARENT = """
import multiprocessing, os, sys, threading
from contextlib import nullcontext
import numpy as np
from shallowrules import ExplainableKMeans
from shallowrules.clustering.blas import single_threaded_blas
from shallowrules.partitions import TableParts
from shallowrules.tables.table import Table

random = np.random.default_rng(0)
X = random.normal(size=(120_000, 4)) + 4 * random.integers(0, 3, (120_000, 1))

def fit(n_jobs):
    return ExplainableKMeans(3, random_state=0, n_jobs=n_jobs).fit(X)

model = fit(2)

def check(what):
    if what == "predict":
        same = model.predict(X) == model.labels_
    elif what == "score":
        same = np.isclose(model.score(X), -model.inertia_)
    elif what == "apply in a thread":
        found = []
        worker = threading.Thread(target=lambda: found.append(model.predict(X)))
        worker.start()
        worker.join()
        same = found[0] == model.labels_
    elif what == "fit_partitions":
        parts = TableParts([Table.of(X[:50_000]), Table.of(X[50_000:])], 2)
        centers = model.reference_centers_
        same = ExplainableKMeans(n_jobs=2).fit_partitions(parts, centers=centers).predict(X) == model.labels_
    else:
        same = fit({"fit": 2, "fit with n_jobs=None": None, "fit with all cores": -1}[what]).labels_ == model.labels_
    assert np.all(same), what

if __name__ == "__main__":
    way, *work = sys.argv[1:]
    for what in work:
        if way == "multiprocessing":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                pool.map(check, [what] * 4)
            continue
        with single_threaded_blas() if way == "os.fork while k-means runs" else nullcontext():
            child = os.fork()
            if not child:
                check(what)
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, (what, status)
"""

WORK = ("predict", "score", "fit", "fit with n_jobs=None", "fit with all cores", "fit_partitions", "apply in a thread")


@pytest.mark.parametrize(
    ("way", "work"), [("os.fork", WORK), ("os.fork while k-means runs", ["fit"]), ("multiprocessing", ["fit"])]
)
def test_a_forked_child_does_not_hang(way, work, tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), way, *work]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    subprocess.run(command, env=environment, check=True, timeout=300)
