"""PMML, scored by pypmml, which runs PMML4S in the system's Java."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.context import is_exact_in_doubles
from shallowrules.labelling.answers import Answers
from shallowrules.rules import DOUBLE_EXACT, RuleSet
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.engines.spark import BRIEF_JAVA, JAVA
from shallowrules.verification.runners.base import CLUSTER, Form, Labels, as_given

__all__ = ["open_models", "run_pmml"]

WHAT = "scoring PMML"
ROWS_AT_ONCE = 5000
NO_PREDICTION = (None, "", -(2**63))
"""The engine's value for no cluster, by the type of the prediction."""


@contextmanager
def run_pmml(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Start the engine and read the document."""
    text = export(rules, "pmml", cluster_column=CLUSTER)
    with open_models() as read:
        yield {"PMML": Form(partial(_scored, rules, read(text)), partial(_told_apart, rules))}


@contextmanager
def open_models() -> Iterator[Any]:
    """Start the engine, or use the one of this process; yield the function that makes a model from a document."""
    try:
        pypmml = import_module("pypmml")
    except ImportError:
        raise MissingExtraError(WHAT, "pypmml", "engines") from None
    if shutil.which("java") is None:
        raise MissingExtraError(WHAT, "Java", command=JAVA)
    with ExitStack() as opened:
        if pypmml.PMMLContext._active_pmml_context is None:
            opened.enter_context(_own_java(pypmml))
        yield pypmml.Model.fromString


@contextmanager
def _own_java(pypmml: Any) -> Iterator[None]:
    """Start a Java for pypmml, and end it: pypmml would lose track of one that it started, and leave it running."""
    py4j, jvm = import_module("py4j.java_gateway"), import_module("pypmml.jvm")
    gateway = jvm.Py4jGateway()
    try:
        port, process = py4j.launch_gateway(
            classpath=gateway.classpath,
            javaopts=[*gateway.java_opts, *BRIEF_JAVA],
            die_on_exit=True,
            return_proc=True,
        )
    except Exception as error:
        raise EngineError("pypmml", "start", str(error)) from error
    try:
        parameters = py4j.GatewayParameters(port=port, auto_convert=True)
        jvm.Py4jGateway._gateway = py4j.JavaGateway(gateway_parameters=parameters)
        jvm.Py4jGateway._jvm = jvm.Py4jGateway._gateway.jvm
        pypmml.PMMLContext(gateway_instance=gateway)
        try:
            yield
        finally:
            pypmml.PMMLContext.shutdown()
    finally:
        process.stdin.close()
        process.wait()


def _told_apart(rules: RuleSet, table: Table) -> NDArray[np.bool_]:
    """Return the rows without large whole numbers near large thresholds: PMML4S compares these as doubles."""
    rows = np.ones(table.n_rows, dtype=bool)
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        if column.is_whole and not is_exact_in_doubles(rules, feature):
            values = column.read(table[column.name])
            rows &= values.absent | (np.abs(values.numbers().astype(np.float64)) < DOUBLE_EXACT)
    return rows


def _scored(rules: RuleSet, model: Any, table: Table) -> Labels:
    columns = {rules.columns[feature].name: rules.columns[feature] for feature in rules.tested_columns}
    given = Table(tuple(as_given(columns[column.name], column) for column in table.columns), table.n_rows)
    rows = [dict(zip(given.names, values, strict=True)) for values in python_rows(given)]
    labels, understood = np.full(table.n_rows, NO_CLUSTER, dtype=np.int64), Answers(rules).cluster
    in_json = [place for place, row in enumerate(rows) if all(map(_is_read_from_json, row.values()))]
    for start in range(0, len(in_json), ROWS_AT_ONCE):
        places = in_json[start : start + ROWS_AT_ONCE]
        predicted = json.loads(model.predict(json.dumps([rows[place] for place in places])))
        labels[places] = [understood(_cluster(each)) for each in predicted]
    for place in set(range(len(rows))).difference(in_json):
        labels[place] = understood(_cluster(model.predict(rows[place])))
    return labels


def _is_read_from_json(value: Any) -> bool:
    """Return whether the engine gets a value from JSON unchanged, which takes a fraction of the time.

    JSON has no NaN and no infinity, and the engine turns null into a number or false, and some large numbers into
    doubles.
    """
    if isinstance(value, int | float):
        return abs(value) < DOUBLE_EXACT  # False for NaN
    return value is not None


def _cluster(prediction: Mapping[str, Any]) -> int | None:
    [cluster, *_] = prediction.values()
    return None if cluster in NO_PREDICTION or cluster != cluster else int(cluster)
