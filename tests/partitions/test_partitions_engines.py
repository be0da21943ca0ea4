"""Tables in parts held by Dask and Spark: their workers do the work, and the rows are those of the whole table."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest

from shallowrules import ExplainableKMeans, export
from shallowrules.errors import DataError, OptionError
from shallowrules.partitions import Part, open_partitions
from shallowrules.trees.parts.node_passes import sum_bins

pytestmark = pytest.mark.services

ROWS = 1000


@dataclass
class Totals:
    """Rows, sums by column, and the NumPy types that arrived."""

    n_rows: int
    sums: tuple[float, ...]
    dtypes: frozenset

    def merged(self, other: Totals) -> Totals:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Totals(self.n_rows + other.n_rows, sums, self.dtypes | other.dtypes)


def totals(part: Part, state: int) -> Totals:
    """Whole numbers, so that sums do not depend on the order."""
    sums = tuple(float(np.sum(c.values)) if c.is_numeric else float(np.sum(c.values == "a")) for c in part.columns)
    return Totals(part.n_rows * state, sums, frozenset((c.name, c.type, c.values.dtype.str) for c in part.columns))


def refuse(part: Part, state: str) -> Totals:
    if (part["amount"].values == state).any():
        raise DataError(f"there is {state}")
    return totals(part, 1)


def kill_once(part: Part, marker: str) -> Totals:
    """End the worker's process the first time that this is called."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return totals(part, 1)
    os._exit(1)


def wait_and_add_up(part: Part, state: int) -> Totals:
    """Take long enough for the client or its cluster to go away meanwhile."""
    time.sleep(2)
    return totals(part, state)


@dataclass
class KilledOnce:
    """A function of a part whose worker ends the first time that it is called."""

    function: Any
    marker: str

    def __call__(self, part: Part, state: Any) -> Any:
        kill_once(part, self.marker)
        return self.function(part, state)


def a_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "amount": rng.integers(0, 100, ROWS).astype(np.float64),
            "age": rng.integers(0, 90, ROWS),
            "kind": rng.choice(["a", "b"], ROWS),
        }
    )


def expected(frame: pd.DataFrame) -> tuple[float, ...]:
    return float(frame.amount.sum()), float(frame.age.sum()), float((frame.kind == "a").sum())


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark(running) -> Iterator[object]:
    """Return a session of the Spark that other tests of this process use too: a process has one."""
    running("spark")
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.getOrCreate().newSession()
    session.sparkContext.addPyFile(__file__)  # the functions below are found by their module
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.sparkContext, "pythonExec", sys.executable)
        yield session


def test_a_dataframe_of_dask_with_an_empty_partition(client):
    dataframe = pytest.importorskip("dask.dataframe")
    frame = a_frame()
    pieces = [frame.iloc[:0], frame.iloc[:300], frame.iloc[300:]]
    with open_partitions(dataframe.from_map(lambda i: pieces[i], [0, 1, 2], meta=frame.iloc[:0])) as parts:
        assert parts.types == {"amount": "float", "age": "integer", "kind": "text"}
        found = parts.map_reduce(totals, 1)
        assert (found.n_rows, found.sums) == (ROWS, expected(frame))
        with pytest.raises(DataError, match="partition [12]: there is 7"):
            parts.map_reduce(refuse, 7)


def test_an_array_of_dask_is_cut_by_rows_alone(client):
    array = pytest.importorskip("dask.array")
    values = np.arange(3000.0).reshape(1000, 3)
    with open_partitions(array.from_array(values, chunks=(300, 2)), exclude=["x1"]) as parts:
        found = parts.map_reduce(totals, 2)
        assert parts.names == ["x0", "x2"]
        assert (found.n_rows, found.sums) == (2000, (values[:, 0].sum(), values[:, 2].sum()))
    with (
        pytest.raises(DataError, match="1 dimension"),
        open_partitions(array.ones(5)),
    ):
        pass


@pytest.mark.parametrize("n_workers", [1, 2])  # where one died alone, what it had been sent is on no other
def test_the_work_of_a_worker_that_dies_is_done_by_another(tmp_path, n_workers):
    distributed = pytest.importorskip("distributed")
    dataframe = pytest.importorskip("dask.dataframe")
    frame = a_frame()
    with (
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
        open_partitions(dataframe.from_pandas(frame, npartitions=6)) as parts,
    ):
        found = parts.map_reduce(kill_once, str(tmp_path / "killed"))
    assert (tmp_path / "killed").exists()
    assert (found.n_rows, found.sums) == (ROWS, expected(frame))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_dataframe_of_spark(spark):
    frame = a_frame()
    with open_partitions(
        spark.createDataFrame(pyarrow.Table.from_pandas(frame)).repartition(7), columns=["amount", "age", "kind"]
    ) as parts:
        assert parts.types == {"amount": "float", "age": "integer", "kind": "text"}
        found = parts.map_reduce(totals, 1)
        assert (found.n_rows, found.sums) == (ROWS, expected(frame))
        with pytest.raises(DataError, match=r"partition \d+: there is 7"):
            parts.map_reduce(refuse, 7)
    with (
        pytest.raises(DataError, match="no column 'size'"),
        open_partitions(spark.createDataFrame(pyarrow.Table.from_pandas(frame)), columns=["size"]),
    ):
        pass


CENTERS = np.array([[10.0, 20.0], [80.0, 20.0], [50.0, 70.0]])


def check_fit(source: object, frame: pd.DataFrame) -> None:
    """Compare a fit of parts with one of the whole table."""
    model = ExplainableKMeans(refine="none", clusterer=CENTERS, cluster_columns=["amount", "age"])
    expected = model.fit(frame).rules_
    for memory in (None, 1):  # all rows are collected, or none
        assert model.fit_partitions(source, memory=memory).rules_.to_json() == expected.to_json()


def test_a_fit_on_dask(client):
    dataframe = pytest.importorskip("dask.dataframe")
    check_fit(dataframe.from_pandas(a_frame(), npartitions=5), a_frame())


def test_a_fit_goes_on_where_a_worker_dies_while_the_tree_grows(client, tmp_path, monkeypatch):
    dataframe = pytest.importorskip("dask.dataframe")
    frame, marker = a_frame(), tmp_path / "killed"
    model = ExplainableKMeans(refine="none", clusterer=CENTERS, cluster_columns=["amount", "age"])
    with open_partitions(dataframe.from_pandas(frame, npartitions=6)) as parts:
        all_parts = parts.map_reduce

        def map_reduce(function: Any, state: Any) -> Any:
            return all_parts(KilledOnce(function, str(marker)) if function is sum_bins else function, state)

        monkeypatch.setattr(parts, "map_reduce", map_reduce)
        found = model.fit_partitions(parts, memory=1).rules_
    assert marker.exists()
    assert found.to_json() == model.fit(frame).rules_.to_json()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_fit_on_spark(spark):
    check_fit(spark.createDataFrame(pyarrow.Table.from_pandas(a_frame())).repartition(3), a_frame())


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_centers_of_a_model_of_spark(spark):
    clustering = pytest.importorskip("pyspark.ml.clustering")
    feature = pytest.importorskip("pyspark.ml.feature")
    frame = a_frame()[["amount", "age"]]
    of_spark = spark.createDataFrame(pyarrow.Table.from_pandas(frame))
    rows = feature.VectorAssembler(inputCols=["amount", "age"], outputCol="features").transform(of_spark)
    fitted = clustering.KMeans(k=3, seed=1).fit(rows)
    model = ExplainableKMeans(refine="none").fit_partitions(of_spark, centers=fitted)
    centers = np.array(fitted.clusterCenters())
    assert model.rules_.to_json() == ExplainableKMeans(refine="none", clusterer=centers).fit(frame).rules_.to_json()


def test_a_client_that_goes_away_ends_the_work_with_a_word():
    distributed = pytest.importorskip("distributed")
    dataframe = pytest.importorskip("dask.dataframe")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        with client.as_current(), open_partitions(dataframe.from_pandas(a_frame(), npartitions=4)) as parts:
            timer = threading.Timer(0.5, client.close)
            timer.start()
            with pytest.raises(DataError, match="went away before the work on the table was done"):
                parts.map_reduce(wait_and_add_up, 1)
            timer.join()
            with pytest.raises(DataError, match="went away"):
                parts.map_reduce(totals, 1)
        client.close()


def test_a_cluster_that_goes_away_ends_the_work_with_a_word():
    distributed = pytest.importorskip("distributed")
    dataframe = pytest.importorskip("dask.dataframe")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    client = distributed.Client(cluster, set_as_default=False)
    with client.as_current(), open_partitions(dataframe.from_pandas(a_frame(), npartitions=4)) as parts:
        timer = threading.Timer(0.5, cluster.close)
        timer.start()
        with pytest.raises(DataError, match="went away before the work on the table was done"):
            parts.map_reduce(wait_and_add_up, 1)
        timer.join()
        with pytest.raises(DataError, match="went away"):
            parts.map_reduce(totals, 1)
    client.close()


def test_the_centers_of_a_model_of_dask_ml(client):
    array = pytest.importorskip("dask.array")
    clustering = pytest.importorskip("dask_ml.cluster")
    X = a_frame()[["amount", "age"]].to_numpy(dtype=float)
    of_dask = array.from_array(X, chunks=(300, 2))
    fitted = clustering.KMeans(n_clusters=3, random_state=0).fit(of_dask)
    model = ExplainableKMeans(refine="none").fit_partitions(of_dask, centers=fitted)
    expected = ExplainableKMeans(refine="none", clusterer=fitted.cluster_centers_).fit(X)
    assert model.rules_.to_json() == expected.rules_.to_json()


def labelled_frame() -> tuple[pd.DataFrame, ExplainableKMeans]:
    """Return rows to label, some of them with values missing or unknown, and a model of others."""
    frame = a_frame()
    model = ExplainableKMeans(4, random_state=0).fit(frame[:800])
    odd = frame.copy()
    odd.loc[::7, "amount"] = np.nan
    odd.loc[::11, "kind"] = None
    odd.loc[::13, "kind"] = "other"
    return odd, model


def test_labels_of_a_dataframe_of_dask():
    dataframe = pytest.importorskip("dask.dataframe")
    from shallowrules.dask import assign

    frame, model = labelled_frame()
    frame.index = frame.index[::-1]
    pieces = [frame[:0], frame[:300], frame[300:]]
    of_dask = dataframe.from_map(lambda i: pieces[i], [0, 1, 2], meta=frame[:0])
    labels = assign(of_dask, model.rules_)
    found = labels.compute()
    np.testing.assert_array_equal(found, model.rules_.assign(frame))
    assert (labels.dtype, found.dtype, found.name) == (np.int32, np.int32, "cluster")
    np.testing.assert_array_equal(found.index, frame.index)
    added = of_dask.assign(cluster=labels).compute()
    np.testing.assert_array_equal(added.cluster, found)
    with pytest.raises(DataError, match="'amount', which the table does not have"):
        assign(of_dask.drop(columns="amount"), model.rules_)
    with pytest.raises(OptionError, match="table is a DataFrame: give a dataframe or an array of Dask"):
        assign(frame, model.rules_)


def test_labels_of_an_array_of_dask():
    array = pytest.importorskip("dask.array")
    from shallowrules.dask import assign

    X = np.random.default_rng(0).normal(size=(1000, 4))
    model = ExplainableKMeans(5, random_state=0).fit(X)
    X[::9, 2] = np.nan
    found = assign(array.from_array(X, chunks=(300, 3)), model.rules_)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.compute(), model.rules_.assign(X))
    with pytest.raises(DataError, match="over 4 columns, and the array has the shape"):
        assign(array.from_array(X[:, :3]), model.rules_)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_labels_of_a_dataframe_of_spark_by_the_exported_expression(spark):
    from pyspark.sql.functions import expr

    frame, model = labelled_frame()
    frame["row"] = np.arange(len(frame))
    of_spark = spark.createDataFrame(pyarrow.Table.from_pandas(frame))
    labelled = of_spark.withColumn("cluster", expr(export(model.rules_, "sql", dialect="spark", style="case")))
    found = {row.row: -1 if row.cluster is None else row.cluster for row in labelled.select("row", "cluster").collect()}
    assert [found[i] for i in range(len(frame))] == model.rules_.assign(frame).tolist()
