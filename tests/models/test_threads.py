"""`n_jobs`: the threads that OpenMP gives KMeans, under the same limits. Results do not depend on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from shallowrules import ExplainableKMeans, RuleSet
from shallowrules._kernel import openmp_enabled
from shallowrules.errors import OptionError
from shallowrules.fitting import regions
from shallowrules.tables.table import Table


def threads_of_fit(n_jobs: int | None = None) -> int:
    """Return the number of threads that a fit passes to the kernel."""
    given = []
    find_unique_rows = regions.find_unique_rows

    def spy(*arguments):
        given.append(arguments[-1])
        return find_unique_rows(*arguments)

    regions.find_unique_rows = spy
    try:
        ExplainableKMeans(clusterer=np.array([[0.0], [3.0]]), n_jobs=n_jobs).fit(np.arange(4.0)[:, None])
    finally:
        regions.find_unique_rows = find_unique_rows
    [n_threads] = given
    return n_threads


def in_a_new_process(omp_num_threads: int, first: str = "") -> int:
    """Return the threads of a fit in a new process that runs some code first."""
    code = f"import os, sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); {first}\n"
    code += "import test_threads; print(test_threads.threads_of_fit())"
    environment = {**os.environ, "OMP_NUM_THREADS": str(omp_num_threads)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def in_a_worker(_: int) -> tuple[int, int]:
    """Return the process and the threads of a fit in it."""
    return os.getpid(), threads_of_fit()


@pytest.fixture
def four_cores(monkeypatch):
    """Make scikit-learn and joblib see four cores, and OpenMP allow as many."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")  # beyond it, scikit-learn counts cores
    monkeypatch.setattr("shallowrules.models.parameters.cpu_count", lambda: 4)
    with threadpool_limits(4, user_api="openmp"):
        yield


def test_by_default_openmp_decides(four_cores):
    assert threads_of_fit() == 4


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit_of_threadpoolctl_holds(four_cores, limit):
    with threadpool_limits(limit):
        assert threads_of_fit() == limit
    assert threads_of_fit() == 4


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 3])
def test_omp_num_threads_holds(limit):
    assert in_a_new_process(limit) == limit


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_cores_that_the_process_may_not_use_do_not_count():
    # OpenMP reads the variable when it starts. Where it is gone afterwards, scikit-learn counts the cores too.
    start = "from sklearn.utils import _openmp_helpers; del os.environ['OMP_NUM_THREADS']"
    pin = f"os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])"
    assert in_a_new_process(8, f"{start}; {pin}") == 1


@pytest.mark.slow
def test_workers_of_joblib_share_the_cores():
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(in_a_worker)(i) for i in range(2))
    assert {inside for _, inside in found} == {max(1, joblib.cpu_count() // 2)}
    assert os.getpid() not in [process for process, _ in found]


@pytest.mark.slow
def test_workers_of_joblib_keep_the_limit_that_is_set_for_them():
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=3):
        found = joblib.Parallel()(joblib.delayed(in_a_worker)(i) for i in range(2))
    assert {inside for _, inside in found} == {3}


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (7, 7), (-1, 4), (-2, 3), (-4, 1), (-9, 1)])
def test_numbers_are_read_as_joblib_reads_them(four_cores, n_jobs, expected):
    with threadpool_limits(1):
        assert threads_of_fit(n_jobs) == expected


def test_below_zero_it_counts_as_joblib_does():
    assert [threads_of_fit(n) for n in (-1, -2)] == [joblib.effective_n_jobs(n) for n in (-1, -2)]


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_other_values_are_refused(n_jobs):
    with pytest.raises(OptionError, match="n_jobs must be None or a whole number that is not 0"):
        threads_of_fit(n_jobs)


def test_results_do_not_depend_on_threads():
    X = make_blobs(40_000, 5, centers=9, cluster_std=4.0, random_state=0)[0]  # enough rows that threads share a node
    models = [ExplainableKMeans(clusterer=X[:9], n_jobs=n_jobs).fit(X) for n_jobs in (None, 1, 2, -1, 7)]
    with threadpool_limits(1):
        models.append(ExplainableKMeans(clusterer=X[:9]).fit(X))
    for model in models[1:]:
        assert model.rules_ == models[0].rules_
        np.testing.assert_array_equal(model.tree_.threshold, models[0].tree_.threshold)
        np.testing.assert_array_equal(model.labels_, models[0].labels_)


# --- several threads, one model


@pytest.fixture
def threads_that_alternate():
    """Let Python change between threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def mixed_rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of numbers, integers, texts, truth values and dates, with gaps in one column."""
    draw = np.random.default_rng(seed)
    group = draw.integers(4, size=n_rows)
    return pd.DataFrame(
        {
            "amount": np.where(draw.random(n_rows) < 0.1, np.nan, draw.normal(5 * group)),
            "visits": draw.poisson(3 * (group + 1)),
            "region": np.array(["north", "south", "east", "west"])[(group + (draw.random(n_rows) < 0.1)) % 4],
            "member": group > 1,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(200 * group + draw.integers(100, size=n_rows), "D"),
        }
    )


@pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared table"])
def test_threads_predict_and_assign_at_the_same_time(threads_that_alternate, shared):
    n_threads = 8
    model = ExplainableKMeans(5, scale="standard", impute="median", n_jobs=2, random_state=0).fit(mixed_rows(400, 0))
    frames = [mixed_rows(50 if i % 2 else 20_000, 0 if shared else i) for i in range(n_threads)]
    expected = [(model.predict(frame), model.rules_.assign(frame)) for frame in frames]
    assert len(np.unique(expected[0][0])) == 5
    for _ in range(3):
        rules = RuleSet.from_json(model.rules_.to_json())  # nothing is computed yet
        tables = {len(frame): Table.of(frame) for frame in frames} if shared else {}
        start = threading.Barrier(n_threads)

        def answers(frame, rules=rules, tables=tables, start=start):
            rows = tables.get(len(frame), frame)
            start.wait()
            return [(model.predict(rows), rules.assign(rows)) for _ in range(3)]

        with ThreadPoolExecutor(n_threads) as pool:
            found = list(pool.map(answers, frames))
        for each, wanted in zip(found, expected, strict=True):
            for answer in each:
                np.testing.assert_array_equal(answer, wanted)


# --- k-means


def blas_threads() -> list[int]:
    """Return the threads of each BLAS that is loaded."""
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def three_blas_threads():
    with threadpool_limits(3, user_api="blas"):
        yield blas_threads()


class SpyingKMeans(KMeans):
    """Remembers how many threads BLAS had."""

    def fit(self, X, y=None, sample_weight=None):
        self.threads_ = blas_threads()
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("weight", [None, np.arange(60) % 3])
def test_blas_has_one_thread_while_kmeans_runs_and_then_what_it_had(three_blas_threads, weight):
    X = make_blobs(60, 2, random_state=0)[0]
    model = ExplainableKMeans(clusterer=SpyingKMeans(3, n_init=1)).fit(X, sample_weight=weight)
    assert model.clusterer_.threads_ == [1] * len(three_blas_threads)
    assert blas_threads() == three_blas_threads


def test_blas_gets_back_its_threads_when_kmeans_fails(three_blas_threads):
    with pytest.raises(ValueError, match="n_init"):
        ExplainableKMeans(clusterer=KMeans(2, n_init=-1)).fit(np.arange(8.0)[:, None])
    assert blas_threads() == three_blas_threads


class WaitingKMeans(SpyingKMeans):
    """Says when it begins, and waits until it may end."""

    def __init__(self, n_clusters=8, begun=None, end=None):
        super().__init__(n_clusters, n_init=1)
        self.begun, self.end = begun, end

    def fit(self, X, y=None, sample_weight=None):
        self.begun.set()
        assert self.end.wait(60)
        return super().fit(X, y, sample_weight)

    def __sklearn_clone__(self):
        return self


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_fits_that_overlap_leave_blas_as_it_was(first_ends_first):
    before = blas_threads()
    X = make_blobs(60, 2, random_state=0)[0]
    clusterers = [WaitingKMeans(3, threading.Event(), threading.Event()) for _ in range(2)]
    threads = [
        threading.Thread(target=ExplainableKMeans(clusterer=clusterer, n_jobs=1).fit, args=(X,))
        for clusterer in clusterers
    ]
    for thread, clusterer in zip(threads, clusterers, strict=True):
        thread.start()
        assert clusterer.begun.wait(60)
    for i in (0, 1) if first_ends_first else (1, 0):
        clusterers[i].end.set()
        threads[i].join()
    assert [clusterer.threads_ for clusterer in clusterers] == [[1] * len(before)] * 2
    assert blas_threads() == before
    with threadpool_limits(3, user_api="blas"):  # this thread may set limits again
        assert blas_threads() == [3] * len(before)
    assert blas_threads() == before


def test_a_limit_that_another_thread_holds_is_left_to_it(three_blas_threads):
    X = make_blobs(60, 2, random_state=0)[0]
    thread = threading.Thread(target=ExplainableKMeans(clusterer=KMeans(3), n_jobs=1).fit, args=(X,))
    thread.start()
    thread.join()
    assert blas_threads() == three_blas_threads


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_clustering_is_that_of_kmeans_alone(seed):
    random = np.random.default_rng(seed)
    n_rows, n_columns, k = (20_000, 16, 12) if seed == 0 else random.integers([100, 1, 1], [2000, 30, 9])
    X = random.normal(size=(n_rows, n_columns)) + random.integers(0, 4, (n_rows, 1))
    alone = KMeans(k, n_init=10 if n_rows < 5000 else 1, random_state=seed)
    model = ExplainableKMeans(k, clusterer=clone(alone), refine="none").fit(X)
    alone.fit(X)
    # A product that BLAS divides among its threads may differ in the last bits.
    np.testing.assert_allclose(model.clusterer_.cluster_centers_, alone.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.clusterer_.labels_, alone.labels_)
    np.testing.assert_allclose(model.clusterer_.inertia_, alone.inertia_, rtol=1e-9)


@pytest.mark.skipif(not openmp_enabled(), reason="built without OpenMP")
@pytest.mark.parametrize("told", [None, "active"])
def test_a_thread_that_waits_sleeps_unless_told_otherwise(told):
    code = "import os, shallowrules._kernel; print(os.environ.get('OMP_WAIT_POLICY'))"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_DISPLAY_ENV": "true"} if told is None else {"OMP_DISPLAY_ENV": "true", "OMP_WAIT_POLICY": told}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(told)
    said = re.findall(r"OMP_WAIT_POLICY\s*=\s*'(\w+)'", done.stderr)
    assert said == ["PASSIVE" if told is None else "ACTIVE"]
