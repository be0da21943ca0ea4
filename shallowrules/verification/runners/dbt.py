"""The model of dbt: rendered by Jinja, as dbt does, and run as a query; dbt itself is not started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment

from shallowrules.exporters import export
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.verification.engines import Engine
from shallowrules.verification.runners.base import CLUSTER, EngineLabeller
from shallowrules.verification.runners.sql import TABLE, answer_each_row

__all__ = ["run_dbt"]

MODEL = "clusters"


def run_dbt(rules: RuleSet, engine: Engine, answers: Answers) -> Mapping[str, EngineLabeller]:
    """Return the function that asks an engine for the clusters that the model gives; it always has their numbers."""
    options: dict[str, Any] = {"dialect": engine.dialect, "table": TABLE, "model": MODEL, "cluster_column": CLUSTER}
    files: Any = export(rules, "dbt", **options)
    # As dbt makes its environment; `ref` gives the table's name in the engine.
    functions = {"config": lambda **settings: "", "ref": engine.quote}
    query = Environment(extensions=["jinja2.ext.do"]).from_string(files[f"models/{MODEL}.sql"]).render(functions)
    label = answer_each_row(query, engine, Answers(rules).cluster, answers.foreign)
    return {f"dbt, {engine.dialect}, model rendered by Jinja": label}
